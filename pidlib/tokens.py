"""Which tokens of a forward call are real, by whatever arguments the call carries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

_TEXT = ("input_ids", "inputs_embeds")
_SOUND = ("input_features", "input_values")
_CACHES = ("cache", "past_key_values", "cache_params")


class Tokens(NamedTuple):
    """What a forward call says of its tokens.

    Attributes
    ----------
    mask : (B, n) tensor, nonzero at real tokens, earlier ones included; or (B, ..., l, n), which tokens
        each one attends to; or None where all are real
    length : int, positions of text that the call gives; None where that is not known
    before : int or 0-d tensor, tokens that its cache holds; None where there is none that tells
    places : (B, l) tensor, place of each token in its text, where nothing else tells it
    virtual : int, leading positions that are no text: the virtual tokens of peft
    shortened : callable of a length and a mask, the model's own mask of shorter states
    columns : int, positions told of; None where that is not known
    """

    mask: Tensor | None = None
    length: int | None = None
    before: int | Tensor | None = None
    places: Tensor | None = None
    virtual: int = 0
    shortened: Callable[[int, Tensor], Tensor] | None = None
    columns: int | None = None

    @classmethod
    def of(
        cls, part: nn.Module, given: Mapping[str, Any], virtual: int = 0, skip: int = 0
    ) -> Tokens:
        """What the arguments of a call of a model or a part tell; read before its cache grows."""
        mask, length = _plain(given.get("attention_mask")), text_length(given)
        if length is None and mask is not None and any(given.get(k) is not None for k in _SOUND):
            length = mask.shape[-1]
        before, places = None, None
        if skip if mask is None else mask.dim() > 2 or mask.shape[1] != length:
            before, places = _before(part, given)
            if before is None and places is None and mask is None:
                _check_cache(given)
        own = getattr(part, "_get_feature_vector_attention_mask", None)
        return cls(mask, length, before, places, virtual, own, columns(given))

    def counted(self, x: Tensor, skip: int = 0) -> Tensor:
        """Real tokens of a state x (B, l, d) but the first `skip` of each text, (B, l) bool.

        What a model adds to its input, such as padding up to a whole window, is no real token.
        """
        rows, states = x.shape[:2]
        length = self.length or states
        own = torch.arange(length, device=x.device)
        if self.mask is None:
            places = own + (0 if self.before is None else self.before)
            places = places if self.places is None else self.places.to(x.device)
            counted = (places >= self.virtual + skip).expand(rows, -1)
            return _fitted(counted, states)
        real = self._real(rows, length).to(x.device)
        n, missing = real.shape[1], 0
        if self.before is not None:  # not all columns need be there: a sliding window drops some
            before = torch.as_tensor(self.before, device=x.device)
            start = before.clamp(max=n - length)
            missing, own = before - start, own + start
        else:
            own = own + n - length
        if self.virtual:
            real = real & (torch.arange(n, device=x.device) >= self.virtual)
        if length > states:  # several positions in one state
            real = real[:, own]
            shorter = self.shortened and self.shortened(states, real.long()).bool()
            return after_first(_fitted(real if shorter is None else shorter, states), skip)
        counted = real & (real.cumsum(1) + missing > skip) if skip else real
        return _fitted(counted if n == length else counted[:, own], states)

    def _real(self, rows: int, length: int) -> Tensor:
        """Real tokens (B, n), earlier ones and those to come included."""
        mask = self.mask
        if mask.shape[0] != rows and mask.dim() == 2 or mask.shape[-1] < length:
            raise ValueError(
                f"attention_mask has the shape {tuple(mask.shape)}; give one entry per token, "
                f"({rows}, {length}), 1 for a real token and 0 for padding"
            )
        if mask.dim() == 2:
            return mask != 0
        # A real token is attended to by some token, at least by itself; padding by none.
        additive = mask.is_floating_point() and mask.dim() > 3
        attended = mask > torch.finfo(mask.dtype).min / 2 if additive else mask != 0
        return attended.flatten(1, -2).any(1).expand(rows, -1)


def text_length(given: Mapping[str, Any]) -> int | None:
    """Number of positions of the text among the arguments of a call."""
    text = next((given[name] for name in _TEXT if given.get(name) is not None), None)
    return None if text is None else text.shape[1]


def columns(given: Mapping[str, Any]) -> int | None:
    """Number of positions that the arguments of a call tell of; None where that is not known."""
    mask = _plain(given.get("attention_mask"))
    return text_length(given) if mask is None else mask.shape[-1]


def after_first(real: Tensor, skip: int) -> Tensor:
    """Real tokens (B, l) but the first few of each row."""
    return real & (real.cumsum(1) > skip) if skip else real


def token_mask(mask: Tensor | None, x: Tensor) -> Tensor:
    """Which tokens of a state (B, l, d) are real, (B, l), by the last l columns of `attention_mask`."""
    if mask is not None and mask.dim() != 2:
        raise ValueError(
            f"attention_mask has the shape {tuple(mask.shape)}; give one entry per token, "
            f"{tuple(x.shape[:2])}, 1 for a real token and 0 for padding"
        )
    return Tokens(mask).counted(x)


def _plain(mask: Any) -> Tensor | None:
    """The mask as one tensor; of several by type of layer that which sees farthest."""
    if isinstance(mask, Mapping):
        kinds = [of for of in mask.values() if of is not None]
        mask = mask.get("full_attention", kinds[0] if kinds else None)
    if mask is not None and not isinstance(mask, Tensor):
        raise ValueError(
            f"attention_mask is a {type(mask).__name__}, which does not tell real tokens from "
            "padding; give a tensor (rows, tokens), 1 for a real token and 0 for padding"
        )
    return mask


def _before(part: nn.Module, given: Mapping[str, Any]) -> tuple[int | Tensor | None, Tensor | None]:
    """How many tokens a cache holds; or the place of each token, where only that is told."""
    if getattr(getattr(part, "config", None), "is_encoder_decoder", False):
        return None, None  # the cache is the decoder's, the blocks are the encoder's
    if given.get("cache_position") is not None:
        return given["cache_position"][0], None
    for value in given.values():
        if hasattr(value, "get_seq_length"):
            return value.get_seq_length(), None
    places = given.get("position_ids")
    told = isinstance(places, Tensor) and places.dim() == 2
    return None, places if told else None


def _check_cache(given: Mapping[str, Any]) -> None:
    """Refuse a cache that does not tell its length."""
    strange = next((given[name] for name in _CACHES if given.get(name) is not None), None)
    if strange is not None:
        raise ValueError(
            f"the cache is a {type(strange).__name__}, which does not tell how many tokens it "
            "holds; give attention_mask, (rows, all tokens so far), or position_ids"
        )


def _fitted(real: Tensor, states: int) -> Tensor:
    """A mask (B, n) for so many states: those added behind are padding, of several in one the first."""
    n = real.shape[1]
    if n < states:
        return pad(real, (0, states - n))
    return real if n == states else real[:, torch.arange(states, device=real.device) * n // states]
