"""PID control of the hidden states of pretrained transformers.

The files beside this one are the method, the folders the rest, one subject each. Names are loaded
on first use, so that `pidlib.theory` and `pidlib.evaluation` do without transformers.
"""

from pidlib._doors import lazy_door

__version__ = "0.1.0"
__getattr__, __dir__, __all__ = lazy_door(__name__, __file__)
__all__ += ["__version__"]
