"""Blocks of a transformer as matrices: mean Jacobians around clean text, and the errors they predict.

An error e_t[j] of token j goes through block t as

    e_{t+1}[j] = J_jj e_t[j] + sum_{k != j} J_jk e_t[k] + (second order).

The mean A_t of J_jj over tokens and texts is what a control of single tokens can know of the block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from pidbook.analysis.jacobians import block_functions, push_forward
from pidlib.data.batches import batches, input_device
from pidlib.hooks import find_blocks
from pidlib.theory.inputs import number


def _signs(shape: Sequence[int], source: torch.Generator) -> Tensor:
    return torch.randint(0, 2, tuple(shape), generator=source).float() * 2 - 1


def mean_jacobians(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    draws: int = 4,
    seed: int = 0,
    batch_size: int = 32,
) -> Tensor:
    """Average the derivative of a token's new state by its old one, by products with random signs.

    For signs v, independent between tokens, E[(J v)[j] v[j]^T] = J_jj: what comes from other tokens
    has mean 0. Least squares of (J v)[j] on v[j] takes that mean with less noise.

    Parameters
    ----------
    model, tokenizer : a model in evaluation mode, and its tokenizer
    rows : sequence of mappings, clean text; its tokens times `draws` must exceed d
    draws, seed : int, products a row, and of their signs
    batch_size : int

    Returns
    -------
    (T, d, d) float64 tensor, A_0 to A_{T-1}

    Raises
    ------
    ValueError
        A model in training mode, fewer than one draw, too few tokens.

    Examples
    --------
    >>> from pidlib import load_model, load_nli
    >>> rows = load_nli("captions", split="train", n=32)
    >>> mean_jacobians(*load_model("minilm-nli"), rows, draws=1).shape
    torch.Size([6, 384, 384])

    Source: our departure, for the linearisation that the paper's last section leaves open; random
    signs after Hutchinson (1990).
    """
    number("draws", draws, "at least 1")
    source, n, sums = torch.Generator().manual_seed(seed), 0, None
    for batch in batches(tokenizer, rows, batch_size, device=input_device(model)):
        states, functions, mask = block_functions(model, batch.inputs)
        T, d = len(functions), states[0].shape[-1]
        sums = torch.zeros(2, T, d, d, dtype=torch.float64) if sums is None else sums
        for t, (x, block) in enumerate(zip(states[:-1], functions, strict=True)):
            v = torch.stack([_signs(x.shape, source).to(x) for _ in range(draws)]) * mask[..., None]
            for seen, given in zip(push_forward(block, x, v)[:, mask], v[:, mask], strict=True):
                sums[0, t] += (given.T @ given).cpu().double()
                sums[1, t] += (seen.T @ given).cpu().double()
        n += draws * int(mask.sum())
    if sums is None or n <= sums.shape[-1]:
        raise ValueError(f"{n} products of tokens; give more rows or draws")
    return torch.linalg.solve(sums[0], sums[1].mT).mT


def explained_shares(
    model: Any, inputs: Mapping[str, Any], mean: Tensor, draws: int = 2, seed: int = 0
) -> tuple[Tensor, Tensor]:
    """Tell how much of |J v|^2, v random signs, one matrix explains, and how much any diagonal could.

    Parameters
    ----------
    model, inputs : a model in evaluation mode, and arguments of its forward: fresh texts
    mean : (T, d, d) tensor, of `mean_jacobians`
    draws, seed : int

    Returns
    -------
    (own, diagonal) : tuple of (T,) tensors
        Shares explained by A_t for all tokens, and by the J_jj of each token of each text. What
        `diagonal` leaves is what tokens say to each other.

    Source: our departure. Signs of whole tokens, flipped at random, tell the diagonal: for such w,
    w_j (J v w)_j has the mean J_jj v_j.
    """
    states, functions, mask = block_functions(model, inputs)
    source, shares = torch.Generator().manual_seed(seed), []
    for x, block, A in zip(states[:-1], functions, mean, strict=True):
        sums = torch.zeros(3, dtype=torch.float64)
        for _ in range(draws):
            v = _signs(x.shape, source).to(x) * mask[..., None]
            flip = _signs((*x.shape[:2], 1), source).to(x)
            y, other = (push_forward(block, x, of) * mask[..., None] for of in (v, v * flip))
            terms = y * y, (y - v @ A.to(x).T) ** 2, y * other * flip
            sums += torch.stack([term.double().sum() for term in terms]).cpu()
        shares.append(torch.stack([1 - sums[1] / sums[0], sums[2] / sums[0]]))
    own, diagonal = torch.stack(shares, 1)
    return own, diagonal


class PredictedErrors(NamedTuple):
    """Errors of changed texts over depth, and what linear models make of the first one.

    Attributes
    ----------
    true : (N, T + 1) tensor, |e_t| over all tokens of each text
    size : dict of str to (N, T + 1) tensor, predicted |e_t|
    missed : dict of str to (N, T + 1) tensor, |prediction - e_t|
        Predictions from e_0: "constant", blocks that change nothing; "text", each text's Jacobians
        at its clean states; and one of each set of matrices given.

    Source: Theorem 1 without control is |e_t| = |e_0|.
    """

    true: Tensor
    size: dict[str, Tensor]
    missed: dict[str, Tensor]


def predicted_errors(
    model: Any,
    inputs: Mapping[str, Any],
    changed: Mapping[str, Any],
    means: Mapping[str, Tensor],
    removed: Tensor | None = None,
) -> PredictedErrors:
    """Follow the errors of changed texts through the blocks, and through their linear models.

    Parameters
    ----------
    model : a model in evaluation mode
    inputs, changed : mappings of str to tensor
        Arguments of the forward for clean texts and their changed forms, token for token.
    means : mapping of str to (T, d, d) tensor, such as of `mean_jacobians`
    removed : (T, d, d) tensor, optional
        A control of the changed text, x_t - removed_t x_t; its errors are from the clean states
        without control, and the linear models take it off the error alone.

    Returns
    -------
    PredictedErrors

    Raises
    ------
    ValueError
        Texts of other lengths than their changed forms.

    Source: paper Eq. (1), linearised.
    """
    states, functions, mask = block_functions(model, inputs)
    moved, blocks, other = block_functions(model, changed)
    if mask.shape != other.shape or not torch.equal(mask, other):
        raise ValueError(
            "changed texts have other lengths; give pairs of the same length in tokens"
        )
    real, y = mask[..., None], moved[0]
    true = [(y - states[0]) * real]
    paths = {name: [true[0]] for name in ("constant", "text", *means)}
    for t, (x, function, block) in enumerate(zip(states[:-1], functions, blocks, strict=True)):
        keep = torch.eye(x.shape[-1], dtype=x.dtype)
        keep = (keep if removed is None else keep - removed[t]).T.to(x)
        y = block(y @ keep)
        true.append((y - states[t + 1]) * real)
        for name, path in paths.items():
            e = path[-1] @ keep
            if name == "text":
                e = push_forward(function, x, e) * real
            elif name in means:
                e = e @ means[name][t].to(e).T
            path.append(e)

    def sizes(path: Sequence[Tensor]) -> Tensor:
        return torch.stack([e.flatten(1).norm(dim=1) for e in path], 1)

    missed = {
        name: sizes([e - f for e, f in zip(path, true, strict=True)])
        for name, path in paths.items()
    }
    return PredictedErrors(sizes(true), {name: sizes(of) for name, of in paths.items()}, missed)


def answer_weights(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    batch_size: int = 32,
) -> tuple[Tensor, Tensor]:
    """Weigh errors of a token's state by what they do to the logits, to first order.

    With C_t[j] (labels, d) the derivative of the centred logits by the state x_t[j], an error e of
    that token alone moves them by C_t[j] e, and its terminal cost is |C_t[j] e|^2 / 2.

    Parameters
    ----------
    model, tokenizer : a sequence classifier in evaluation mode, and its tokenizer
    rows : sequence of mappings, clean text
    batch_size : int

    Returns
    -------
    (weights, shares) : (T, d, d) float64 tensor, (T,) tensor
        Mean of C_t[j]^T C_t[j] over tokens and texts; and the share of its trace that is left if
        the mean of C_t[j] over tokens and texts is taken before the square.

    Source: our departure: a terminal cost, which the paper does not have.
    """
    blocks, n, squares, means = find_blocks(model), 0, 0, 0
    for batch in batches(tokenizer, rows, batch_size, device=input_device(model)):
        states: list[Tensor] = []

        def note(t: int, x: Tensor, _mask: Tensor | None, states: list = states) -> Tensor:
            states.append(x if t else x.detach().requires_grad_())
            return states[-1]

        with torch.enable_grad(), blocks.control(note, private=True):
            logits = model(**batch.inputs).logits
            centred = logits - logits.mean(1, keepdim=True)
            slopes = [
                torch.autograd.grad(of.sum(), states, retain_graph=True) for of in centred.unbind(1)
            ]
        mask = batch.inputs["attention_mask"].bool()
        C = torch.stack([torch.stack([s[mask] for s in of]) for of in slopes], 2).cpu()
        flat = C.flatten(1, 2).double()  # single precision would leave negative eigenvalues
        squares = squares + flat.mT @ flat
        means, n = means + C.sum(1).double(), n + C.shape[1]
    weights, mean = squares / n, means / n
    return weights, (mean**2).sum((1, 2)) / weights.diagonal(dim1=1, dim2=2).sum(1)
