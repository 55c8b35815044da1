"""Attacks: by words, with recipes, components, synonyms, outcomes; on pictures, by the gradient."""

from pidlib._doors import lazy_door

__getattr__, __dir__, __all__ = lazy_door(__name__, __file__)
