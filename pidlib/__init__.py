"""PID control of the hidden states of pretrained transformers.

The public names are loaded on first use, so that the mathematics modules
(`gains`, `riccati`, `systems`, `subspaces`) import without transformers.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "PIDController": "pidlib.controller",
    "attack": "pidlib.attacks",
    "fair_trial": "pidlib.fair_trials",
    "load_model": "pidlib.models",
    "load_nli": "pidlib.data",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pidlib' has no attribute {name!r}; public names: {__all__}")


def __dir__() -> list[str]:
    return sorted(__all__)
