"""Steering: controls that push the states of a language model towards a concept, at a size to choose.

All controls add u_t to the state x_t. They differ in what they know: `u_t` fixed beforehand
(addition, PID over layers), or made of the state that is measured (half-space, regulator, feedback).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from pidlib.data.batches import encode
from pidlib.hooks import find_blocks
from pidlib.tokens import after_first

Instead = Callable[[int, Tensor, Tensor | None], Tensor]


@dataclass(frozen=True, eq=False)
class Steering:
    """A push on the states of some blocks.

    Attributes
    ----------
    push : callable of t and x_t (B, l, d)
        Gives u_t, of a shape that broadcasts to that of x_t.
    layers : sequence of int, the blocks before which it pushes
    skip_first : int
        Positions at the beginning of a text that are left alone: at the first one the states of
        language models are a hundred times as long as elsewhere.

    Examples
    --------
    >>> from pidlib import load_model
    >>> model, tokenizer = load_model("minilm-nli")
    >>> inputs = tokenizer("a dog runs", return_tensors="pt")
    >>> with Steering(lambda t, x: 0.1 * x, layers=[0, 1]).attached(model):
    ...     logits = model(**inputs).logits

    Source: our departure; paper Eq. (1) with another control.
    """

    push: Callable[[int, Tensor], Tensor]
    layers: Sequence[int]
    skip_first: int = 1

    def __repr__(self) -> str:
        """Name and states on one line."""
        return (
            f"<Steering: states {', '.join(map(str, self.layers))}, skip_first {self.skip_first}>"
        )

    @contextmanager
    def attached(
        self, model: nn.Module, instead: Instead | None = None, private: bool = False
    ) -> Iterator[nn.Module]:
        """Push for as long as the context lasts; `instead` gives what is added for u_t.

        A model that is controlled already is refused. A `private` push acts on calls of this thread or
        task alone.
        """

        def control(t: int, x: Tensor, mask: Tensor | None) -> Tensor:
            u = self.push(t, x).to(x).expand_as(x)
            u = u if mask is None else u * mask
            return x + (u if instead is None else instead(t, u, mask))

        how = {"skip_first": self.skip_first, "private": private}
        with find_blocks(model).control(control, list(self.layers), **how):
            yield model


def concept_states(
    model: Any, tokenizer: Any, texts: Sequence[str], last: bool = False, skip_first: int = 1
) -> Tensor:
    """Mean state of every text before each block, or that of its last token.

    Parameters
    ----------
    model, tokenizer : a language model in evaluation mode, and its tokenizer
    texts : N strings, of more than `skip_first` tokens
    last : bool, the last token's state in place of the mean of all
    skip_first : int, positions at the beginning that do not count

    Returns
    -------
    (T, N, d) float tensor, of x_0 to x_{T-1}

    Raises
    ------
    ValueError
        No text, or one of at most `skip_first` tokens.

    Examples
    --------
    >>> from pidlib import load_model
    >>> concept_states(*load_model("minilm-nli"), ["a dog runs", "a cat sleeps"]).shape
    torch.Size([6, 2, 384])

    Source: differences of such means steer in Turner et al. (2023) and Rimsky et al. (2024).
    """
    inputs = encode(tokenizer, [{"text": text} for text in texts])
    counted = after_first(inputs["attention_mask"] != 0, skip_first)
    if short := [text for text, n in zip(texts, counted.sum(1), strict=True) if not n]:
        raise ValueError(
            f"{short[0]!r} has no token after the first {skip_first}; give longer texts"
        )
    if last:
        ends = counted.shape[1] - 1 - counted.flip(1).int().argmax(1)
        counted = torch.nn.functional.one_hot(ends, counted.shape[1]).bool()
    weights = counted / counted.sum(1, keepdim=True)
    with torch.no_grad(), find_blocks(model).reading() as states:
        model(**inputs)
    return torch.stack([torch.einsum("bl,bld->bd", weights, x) for x in states[:-1]])
