"""Means beyond the paper: maps learnt from random changes of text."""

from pidlib._doors import lazy_door

__getattr__, __dir__, __all__ = lazy_door(__name__, __file__)
