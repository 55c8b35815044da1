"""Mathematics that the control computes with: gains, subspaces, estimates; no transformers."""

from pidlib._doors import lazy_door

__getattr__, __dir__, __all__ = lazy_door(__name__, __file__)
