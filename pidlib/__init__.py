"""PID control of the hidden states of pretrained transformers.

The files beside this one are the method, the folders the rest, one subject each. Names here are
loaded on first use, so that `pidlib.theory` and `pidlib.evaluation` do without transformers.
"""

from __future__ import annotations

from importlib import import_module

__version__ = "0.1.0"

_HOMES = {
    "Estimator": "pidlib.estimation.estimator",
    "PIDController": "pidlib.pid",
    "Pontryagin": "pidlib.pontryagin",
    "RandomEdits": "pidlib.data.perturbations",
    "attack": "pidlib.attacks.attack",
    "fair_trial": "pidlib.evaluation.fair_trial",
    "find_blocks": "pidlib.hooks",
    "load_controller": "pidlib.estimation.pretrained",
    "load_model": "pidlib.models",
    "load_nli": "pidlib.data.nli",
    "read_states": "pidlib.hooks",
    "training_record": "pidlib.models",
}

__all__ = [*_HOMES, "__version__"]


def __getattr__(name: str):
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'pidlib' has no attribute {name!r}; public names: {__all__}")


def __dir__() -> list[str]:
    return sorted(__all__)
