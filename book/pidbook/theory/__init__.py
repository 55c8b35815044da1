"""Mathematics of the chapters: systems, Riccati, Pontryagin, estimates, broken assumptions."""

from pidlib._doors import lazy_door

__getattr__, __dir__, __all__ = lazy_door(__name__, __file__)
