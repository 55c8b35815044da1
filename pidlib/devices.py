"""Where a model wants its inputs, also when its weights lie elsewhere until they are needed."""

from __future__ import annotations

import torch
from torch import nn


def input_device(model: nn.Module) -> torch.device:
    """Return the device that a model's inputs have to be on.

    Where accelerate keeps the weights in memory or on disk, they have no device of their own
    between two calls; its hooks know where they run.

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    torch.device

    Examples
    --------
    >>> input_device(nn.Linear(2, 2))
    device(type='cpu')

    Source: ours.
    """
    own = next(model.parameters()).device
    if own.type != "meta":
        return own
    hooks = (getattr(module, "_hf_hook", None) for module in model.modules())
    found = (getattr(hook, "execution_device", None) for hook in hooks)
    device = next((one for one in found if one is not None), "cpu")
    return torch.device("cuda", device) if isinstance(device, int) else torch.device(device)
