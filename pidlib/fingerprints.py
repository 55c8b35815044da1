"""Which model is this? Hashes of the blocks' weights."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence

import torch
from torch import nn

from pidlib.blocks import Blocks

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def fingerprint(found: Blocks) -> list[dict[str, str]]:
    """Sha256 of each block's weights, as they are in each of three number types.

    A copy of the model in half precision is thus known for what it is, and any other
    change of any weight is seen.

    Parameters
    ----------
    found : Blocks

    Returns
    -------
    list of T dicts
        Number type to 64 hexadecimal digits.

    Examples
    --------
    >>> from pidlib.blocks import find_blocks
    >>> net = nn.Module()
    >>> net.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    >>> found = find_blocks(net, "layers")
    >>> known = fingerprint(found)
    >>> with torch.no_grad():
    ...     _ = net.layers[1].bias.add_(1e-3)
    >>> changed_blocks(found, known)
    ['layers.1']

    Source: ours.
    """
    return [{name: _digest(m, dtype) for name, dtype in DTYPES.items()} for m in found.modules]


def changed_blocks(found: Blocks, known: Sequence[Mapping[str, str]]) -> list[str]:
    """Names of the blocks whose weights differ from a fingerprint.

    Each block is compared in its own number type; double precision as single.

    Parameters
    ----------
    found : Blocks
    known : sequence of T dicts
        See `fingerprint`.

    Returns
    -------
    list of str

    Examples
    --------
    See `fingerprint`.

    Source: ours.
    """
    changed = []
    for name, module, sums in zip(found.names, found.modules, known, strict=True):
        own = next((str(p.dtype).removeprefix("torch.") for p in module.parameters()), "")
        own = own if own in DTYPES else "float32"
        if _digest(module, DTYPES[own]) != sums[own]:
            changed.append(name)
    return changed


def _digest(module: nn.Module, dtype: torch.dtype) -> str:
    digest = hashlib.sha256()
    for name, weight in sorted(_weights(module)):
        digest.update(f"{name} {tuple(weight.shape)}\n".encode())
        plain = weight.detach().to("cpu", dtype).contiguous().reshape(-1)
        digest.update(plain.view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _weights(module: nn.Module) -> Iterator[tuple[str, torch.Tensor]]:
    """Weights by name; those that accelerate keeps in memory or on disk are fetched from there."""
    for name, weight in module.named_parameters():
        if weight.is_meta:
            from accelerate.utils import align_module_device

            owner, _, own = name.rpartition(".")
            with align_module_device(module.get_submodule(owner), "cpu"):
                weight = getattr(module.get_submodule(owner), own).detach().clone()
        yield name, weight
