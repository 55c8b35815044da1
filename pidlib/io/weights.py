"""Checksums of the weights that a module computes with: taken whole once, then looked at by samples."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

SAMPLE = 64  # entries of a tensor that are looked at again, evenly spread

_LOOKED_AT: WeakKeyDictionary[nn.Module, _Look] = WeakKeyDictionary()
_LOCK = threading.Lock()


def weights_sha256(module: nn.Module, dtype: torch.dtype) -> str:
    """Return the sha256 of a module's weights in a number type, by what it computes with.

    Of a layer with adapters of peft that is the base with the active ones added, merged or not; an
    adapter that is not active does not count. Quantised weights are hashed as they are stored. Weights
    that were looked at before are not read again as long as each tensor has its place in memory, its
    version, its type and shape, and the same values at 64 places: what changes a few entries behind
    torch's back (through `.data` or a view of numpy) and none of these may be missed, an edit of a
    whole tensor is not. Weights kept by accelerate elsewhere are read each time.
    """
    with _LOCK:
        look, now = _LOOKED_AT.get(module), _Look.of(module)
        if now is None or look is None or not look.same(now):
            look = now or _Look((), b"")
            if now is not None:
                _LOOKED_AT[module] = now
        if dtype not in look.digests:
            look.digests[dtype] = _digest(module, dtype)
        return look.digests[dtype]


@dataclass
class _Look:
    """What was seen of a module's tensors, and the checksums that they had then."""

    tensors: tuple
    values: bytes  # of the samples
    digests: dict[torch.dtype, str] = field(default_factory=dict)

    @classmethod
    @torch.no_grad()
    def of(cls, module: nn.Module) -> _Look | None:
        """Look at every tensor; None where some are not in memory, or hide what they hold."""
        tensors: list[tuple] = []
        samples: dict[tuple, list[Tensor]] = {}
        for part in _parts_of(module):
            if _is_tuned(part):
                tensors.append(_tuning(part))
            for name, weight in part._parameters.items():
                if weight is None:
                    continue
                if weight.is_meta or type(weight) not in (nn.Parameter, Tensor):
                    return None
                version = None if weight.is_inference() else weight._version
                kind = weight.dtype, weight.device
                place = weight.data_ptr(), version, weight.shape, weight.stride()
                tensors.append((name, *kind, *place))
                samples.setdefault(kind, []).append(_sample(weight))
        return cls(tuple(tensors), _values(samples))

    def same(self, other: _Look) -> bool:
        """Whether another look saw the same."""
        return self.tensors == other.tensors and self.values == other.values


def _parts_of(module: nn.Module) -> Iterator[nn.Module]:
    """All modules within one in torch's order, itself first, but several times faster: without names."""
    stack = [module]
    while stack:
        part = stack.pop()
        yield part
        if part._modules:
            stack.extend(of for of in reversed(part._modules.values()) if of is not None)


def first_weight(module: nn.Module) -> nn.Parameter | None:
    """The first of a module's parameters, if it has any."""
    weights = (of for part in _parts_of(module) for of in part._parameters.values())
    return next((weight for weight in weights if weight is not None), None)


def _sample(weight: Tensor) -> Tensor:
    """Some entries of a weight."""
    n = weight.numel()
    if weight.is_contiguous():
        return weight.as_strided((min(n, SAMPLE),), (max(1, n // SAMPLE),))
    return weight.reshape(-1)[:: max(1, n // SAMPLE)]


def _values(samples: dict[tuple, list[Tensor]]) -> bytes:
    """Entries of all samples, by type and device, as bytes."""
    joined = (torch.cat(kind).cpu().view(torch.uint8) for kind in samples.values())
    return b"".join(part.numpy().tobytes() for part in joined)


def _digest(module: nn.Module, dtype: torch.dtype) -> str:
    digest = hashlib.sha256()
    for name, weight in sorted(_effective(module), key=lambda pair: pair[0]):
        digest.update(f"{name} {tuple(weight.shape)}\n".encode())
        for part in _stored(name, weight, dtype):
            digest.update(part.contiguous().reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()


def _stored(name: str, weight: Tensor, dtype: torch.dtype) -> Iterator[Tensor]:
    """A weight on the processor in a number type; of a quantised one the tensors within, as they are."""
    if type(weight.data) is Tensor:
        yield weight.detach().to("cpu", dtype)
    elif hasattr(weight, "__tensor_flatten__"):
        for inner in weight.__tensor_flatten__()[0]:
            part = getattr(weight, inner).detach()
            yield from _stored(f"{name}.{inner}", part, part.dtype)
    else:
        raise ValueError(
            f"the weight {name!r} is a {type(weight.data).__name__}, whose numbers cannot be read, so a "
            "controller could not tell the model again; fit on the model before it is quantised"
        )


def _effective(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """Weights by name, the active adapters added; what accelerate keeps elsewhere is fetched."""
    tuned = {path: part for path, part in module.named_modules() if _is_tuned(part)}
    for name, weight in module.named_parameters():
        if not any(name.startswith(f"{path}.") for path in tuned):
            yield name, _fetched(module, name, weight)
    for path, layer in tuned.items():
        yield from _adapted(path, layer)


def _fetched(module: nn.Module, name: str, weight: Tensor) -> Tensor:
    """A weight, fetched from where accelerate keeps it."""
    if not weight.is_meta:
        return weight
    from accelerate.utils import align_module_device

    owner, _, own = name.rpartition(".")
    with align_module_device(module.get_submodule(owner), "cpu"):
        return getattr(module.get_submodule(owner), own).detach().clone()


def _is_tuned(part: nn.Module) -> bool:
    """Whether a layer carries adapters of peft."""
    return "base_layer" in part._modules and "merged_adapters" in vars(part)


def _tuning(layer: Any) -> tuple:
    """Which adapters act in a layer, which are merged into it, and how strongly."""
    scaling = tuple(sorted(getattr(layer, "scaling", {}).items()))
    return tuple(_active(layer)), tuple(layer.merged_adapters), scaling


def _active(layer: Any) -> list[str]:
    """Adapters that act in a layer beside its base."""
    return [] if layer.disable_adapters else [*layer.active_adapters]


def _adapted(path: str, layer: Any) -> Iterator[tuple[str, Tensor]]:
    """Weights of a layer with adapters: of LoRA one sum, of other kinds the parts that act."""
    acting = [name for name in _active(layer) if name not in layer.merged_adapters]
    base = dict(layer.base_layer.named_parameters())
    plain = hasattr(layer, "get_delta_weight") and not getattr(layer, "lora_variant", None)
    for name, weight in base.items():
        if name == "weight" and plain and type(weight.data) is Tensor and not weight.is_meta:
            with torch.no_grad():
                for adapter in acting:
                    if adapter in getattr(layer, "lora_A", ()):
                        weight = weight + layer.get_delta_weight(adapter)
        yield f"{path}.{name}", _fetched(layer.base_layer, name, weight)
    if not plain:
        for name, weight in layer.named_parameters():
            if set(name.split(".")) & set(acting) and not name.startswith("base_layer."):
                yield f"{path}.{name}", weight
