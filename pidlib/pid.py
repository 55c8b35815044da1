"""PID control of a transformer's hidden states: fit, attach, look into, keep."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Sized
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal, Self

import torch
from pydantic import BaseModel
from torch import Tensor, nn
from tqdm import tqdm

from pidlib import laws
from pidlib.bases import Card, Eigenbases, Origin, layout
from pidlib.controller import Controller, free_blocks
from pidlib.data.batches import MAX_LENGTH, batches, input_device, positions_of, whole_number
from pidlib.data.labels import label_names
from pidlib.data.rows import as_rows, stream_rows
from pidlib.diagnosis import Diagnosis
from pidlib.fitting import Accumulators, learn
from pidlib.gain import Gain
from pidlib.hooks import Control, check_model
from pidlib.io.checkpoints import Checkpoint
from pidlib.io.pretrained import Layout
from pidlib.io.strict_json import is_number, told
from pidlib.theory.subspaces import rank_for

PUBLISHED = {
    ("distilbert", 6): 4,
    ("roberta", 12): 2,
    ("roberta", 24): 5,
    ("bert", 24): 3,
    ("opt", 24): 6,
}
"""Blocks k whose outputs the published code controls besides the embedding: x_0, ..., x_k."""


class _Settings(BaseModel, extra="forbid"):
    scheme: str
    variance: float
    c: float | Literal["inf"]
    law: str
    gains: str | dict[str, float]
    layers: Literal["published"] | list[int] | None
    skip_first: int = 0  # cards of before have none


class _Card(Card):
    settings: _Settings


@dataclass(frozen=True, eq=False, repr=False)
class PIDController(Controller):
    """A feedback that pulls hidden states towards where clean text leaves them.

    Made by `fit`, `from_batches` or `from_pretrained`, and changed by `retune`.

    Attributes
    ----------
    bases : Eigenbases, learnt from clean text
    scheme : str, the terms used, for example "P-D"
    variance : float, share that each subspace holds, above 0 and at most 1
    c : float, control cost, from 0 (full correction) to infinity (none)
    law : {"averaged", "exact-gain", "residual"}, see `pidlib.laws`
    gains : "normalised" (sum 1), "paper" (0.5 each) or mapping of term to float
    layers : None, "published" or tuple of int
        Controlled states: all, those of the published code, or these.
    skip_first : int
        Positions at the beginning of each text that are left out of fit and control: at the first one
        the states of language models are a hundred times as long as elsewhere, and would be most of what
        a subspace holds. Real tokens are counted in `attention_mask`, so padding on either side, a cache
        and a prompt in parts change nothing; where no mask is given, by `cache_position`, or the length
        of the cache.
    allow_expanding : bool, whether states may grow; not kept by `save_pretrained`

    Examples
    --------
    >>> from pidlib import load_model, load_nli
    >>> rows = load_nli("captions", split="train", n=8)
    >>> PIDController.fit(*load_model("minilm-nli"), rows).controlled
    (0, 1, 2, 3, 4, 5)

    Source: Propositions 1 and 2, Algorithm 1. Departure: the paper names neither c nor layers; by
    default c = 0.001, the published code's value, and all T states.
    """

    FORMAT = "pidlib-controller"
    _CARD = _Card

    bases: Eigenbases
    scheme: str = "P-D"
    variance: float = 0.99
    c: float = 1e-3
    law: str = "averaged"
    gains: str | Mapping[str, float] = "normalised"
    layers: str | tuple[int, ...] | None = None
    skip_first: int = 0
    allow_expanding: bool = False

    def __post_init__(self) -> None:
        """Check every setting against the bases."""
        settings = {name: getattr(self, name) for name in DEFAULTS}
        checked = _checked(settings, self.bases.values, self.depth, self.origin.model_type)
        for name, value in checked.items():
            object.__setattr__(self, name, value)

    @classmethod
    def fit(
        cls,
        model: nn.Module,
        tokenizer: Any,
        rows: Any,
        *,
        scheme: str = scheme,
        variance: float = variance,
        c: float = c,
        law: str = law,
        gains: str | Mapping[str, float] = gains,
        layers: str | Sequence[int] | None = layers,
        skip_first: int = skip_first,
        allow_expanding: bool = allow_expanding,
        batch_size: int = 32,
        max_length: int = MAX_LENGTH,
        correct_only: bool = True,
        progress: bool | None = None,
        **options: Any,
    ) -> Self:
        """Fit a controller on clean text, in one pass.

        Parameters
        ----------
        model, tokenizer
            A sequence classifier of transformers in evaluation mode, and its tokenizer; with
            `correct_only=False` any model, such as a language model.
        rows : iterable of mappings with `premise`, `hypothesis` (or `text`) and `label`
            A data set, a slice of one, a data frame; the label a number or a name. With
            `correct_only=False` labels are not read, and plain texts do.
            A stream (`datasets.load_dataset(..., streaming=True)`) is read once and never held.
        scheme, variance, c, law, gains, layers, skip_first, allow_expanding
            Settings of the class; `retune` changes all but `skip_first` without a new fit.
        batch_size, max_length : int, rows per batch and tokens per row
        correct_only : bool, use only rows that the model classifies correctly
        progress : bool, optional, show a bar on standard error; by default on a terminal
        options
            What `from_batches` takes besides: `blocks`, `terms`, `keep`, `checkpoint`, `merge`.

        Raises
        ------
        ValueError
            A setting out of range, a model in training mode or with a controller attached, no rows,
            rows of another kind, labels that do not fit, more tokens in a row than the model has
            positions, no row classified correctly, states with NaN.

        Warns
        -----
        UserWarning
            Fewer tokens than a state has directions: the subspaces hold these tokens and no more.

        Source: section 3.1, Algorithm 1. Departure: the temporal mode is not applied, for it mixes
        positions across padding and undoes causality.
        """
        whole_number("batch_size", batch_size, 1)
        check_model(model)
        names = label_names(model.config) if correct_only else None
        held = isinstance(rows, Sized)
        rows = as_rows(rows, names) if held else stream_rows(rows, names)
        stream = batches(
            tokenizer, rows, batch_size, max_length, input_device(model), positions_of(model)
        )
        total = -(-len(rows) // batch_size) if held else None
        hidden = None if progress is None else not progress  # None: where nobody would see it
        return cls.from_batches(
            model,
            tqdm(stream, "fit", total, leave=False, unit="batch", disable=hidden),
            correct_only=correct_only,
            scheme=scheme,
            variance=variance,
            c=c,
            law=law,
            gains=gains,
            layers=layers,
            skip_first=skip_first,
            allow_expanding=allow_expanding,
            **options,
        )

    @classmethod
    def from_batches(
        cls,
        model: nn.Module,
        stream: Iterable[Any],
        *,
        blocks: str | nn.ModuleList | None = None,
        terms: str | None = None,
        keep: float = 1.0,
        correct_only: bool = True,
        checkpoint: Checkpoint | None = None,
        merge: Callable[[Accumulators], None] | None = None,
        **settings: Any,
    ) -> Self:
        """Fit on batches made elsewhere, for example of images.

        Parameters
        ----------
        model, blocks
            As for `pidlib.find_blocks`.
        stream : iterable of mappings, such as a `DataLoader` of torch gives
            Arguments of the forward, `labels` (B,) among them; or objects with `inputs`, `labels`
            and, to name rows in errors, `indices` (B,).
        terms : str, optional
            Bases to learn besides P; by default those of the scheme. "PID" lets `retune` choose any.
        keep : float, share of variance up to which eigenvectors are kept
        correct_only : bool, use only rows that the model classifies correctly
        checkpoint, merge : Checkpoint, callable, optional
            Keeps the sums now and then; adds the sums of other processes.
        settings
            Of the class: `scheme`, `variance`, `c`, `law`, `gains`, `layers`, `skip_first`,
            `allow_expanding`.
        """
        found = free_blocks(model, blocks)
        rank_for(torch.ones(1), keep)  # what is wrong is refused before the model runs
        kind = getattr(getattr(found.model, "config", None), "model_type", "")
        settings = DEFAULTS | _known(settings)
        terms = laws.parse_scheme(settings["scheme"] if terms is None else terms)
        learnt = "".join(sorted({"P", *terms.split("-")}, key="PID".index))
        settings = _checked(settings, learnt, found.depth, kind)
        skip = settings["skip_first"]
        how = (learnt, keep, correct_only, blocks is not None, checkpoint, merge, skip)
        return cls(learn(found, stream, *how), **settings)

    def retune(self, **settings: Any) -> Self:
        """Return a controller with other settings and the same bases, without a new fit."""
        return replace(self, **_known(settings))

    @property
    def origin(self) -> Origin:
        """The model and the text of the fit."""
        return self.bases.origin

    @cached_property
    def controlled(self) -> tuple[int, ...]:
        """Controlled states t, rising."""
        return _layers(self.layers, self.origin.depth, self.origin.model_type)

    @cached_property
    def weights(self) -> dict[str, float]:
        """Gain of each term, where it is above 0."""
        return {i: g for i, g in laws.parse_gains(self.scheme, self.gains).items() if g > 0}

    def projections(self, t: int, terms: Iterable[str]) -> dict[str, Tensor]:
        """Q^i_t of each term, (d, d) float64."""
        return {i: self.bases.projection(i, t, self.variance) for i in terms}

    @cached_property
    def feedback(self) -> dict[int, dict[str, Gain]]:
        """Gain matrices by controlled state: one, or for "residual" one for each term."""
        weights, gains = self.weights, {}
        if not weights or math.isinf(self.c):
            return {}
        for t in self.controlled:
            offs = self.projections(t, weights)
            if self.law == "residual":
                share = float(laws.strengths(self.depth, self.c)[t])
                kinds = {i: Gain.of_projection(offs[i], share * weights[i]) for i in weights}
            else:
                gain = laws.static_gain(offs, weights, self.law, t, self.depth, self.c)
                kinds = {self.scheme: gain}
            gains[t] = {i: gain for i, gain in kinds.items() if not gain.is_zero}
        return {t: kinds for t, kinds in gains.items() if kinds}

    @property
    def hooked(self) -> list[int]:
        """Blocks to hook: those with a gain, and for a law with memory all before them."""
        if self.law == "residual":
            return list(range(max(self.feedback, default=-1) + 1))
        return list(self.feedback)

    def begin(self) -> Control:
        """Make the law anew, for one forward call of the model."""
        if self.law == "residual":
            return laws.Residual(
                self.feedback, sorted({i for of in self.feedback.values() for i in of})
            )
        return laws.Static({t: next(iter(kinds.values())) for t, kinds in self.feedback.items()})

    def diagnose(self) -> Diagnosis:
        """Ranks, clean bias, size of the control and alpha_t by state, from what the fit learnt."""
        return Diagnosis.of(self)

    def summary(self) -> str:
        """Return settings and fit on one line."""
        origin = self.origin
        return (
            f"{self.scheme} control, {self.law} law, variance {self.variance:g}, c = {self.c:g}"
            + (f", without the first {self.skip_first} of each text; " if self.skip_first else "; ")
            + f"fitted on {origin.tokens} tokens of {origin.correct} correct rows out of "
            f"{origin.rows}"
        )

    def _contents(self) -> dict[str, Any]:
        settings = {name: getattr(self, name) for name in _Settings.model_fields}
        c = "inf" if math.isinf(self.c) else float(self.c)
        settings |= {"variance": float(self.variance), "c": c}
        if isinstance(self.gains, Mapping):
            settings["gains"] = dict(self.gains)
        terms = "".join(self.bases.values)
        return {"settings": settings, "tensors": self.bases.tensors(), "terms": terms}

    @classmethod
    def _layout(cls, record: _Card) -> Layout:
        return layout(record.tensors.terms, record.origin)

    @classmethod
    def _built(cls, record: _Card, tensors: Mapping[str, Tensor], allow_expanding: bool) -> Self:
        settings = record.settings.model_dump() | {"c": float(record.settings.c)}
        bases = Eigenbases.of_tensors(tensors, record.tensors.terms, record.origin)
        controller = cls(bases, **settings, allow_expanding=allow_expanding)
        for t in controller.controlled:
            for term in controller.weights:  # refuses a variance that too few were kept for
                bases.basis(term, t, controller.variance)
        return controller


DEFAULTS = {field.name: field.default for field in fields(PIDController) if field.name != "bases"}
"""Settings of a controller, as they are when left out."""


def _known(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, if all are known by name."""
    if unknown := sorted(set(settings) - set(DEFAULTS)):
        raise TypeError(f"unknown settings {unknown}; known: {list(DEFAULTS)}")
    return settings


def _checked(
    settings: Mapping[str, Any], terms: Collection[str], depth: int, model_type: str
) -> dict[str, Any]:
    """Settings as they are kept, for bases of some terms; what is wrong is refused."""
    scheme = laws.parse_scheme(settings["scheme"])
    gains, law, layers, c = (settings[name] for name in ("gains", "law", "layers", "c"))
    missing = [i for i in scheme.split("-") if i not in terms]
    if missing:
        raise ValueError(
            f"scheme {scheme!r} needs the bases of {missing}; fitted were "
            f"{sorted(terms, key='PID'.index)}: fit again with terms='PID'"
        )
    if isinstance(gains, Mapping) and not all(map(is_number, gains.values())):
        raise ValueError(f"gains {told(gains)} are not finite numbers of at least 0")
    if law not in laws.LAWS:
        raise ValueError(
            f"unknown law {law!r}; choose one of {laws.LAWS} (maps learnt from random changes "
            "of text: pidlib.Estimator.fit)"
        )
    if not isinstance(c, int | float) or not is_number(c) or c < 0:
        raise ValueError(f"c is {told(c)}; give a control cost of at least 0, such as 1e-3")
    if not is_number(settings["variance"]):
        raise ValueError(f"variance is {told(settings['variance'])}; give a share, such as 0.99")
    rank_for(torch.ones(1), settings["variance"])  # refuses one out of range
    skip = settings["skip_first"]
    if type(skip) is not int or skip < 0:
        raise ValueError(f"skip_first is {told(skip)}; give a number of positions, such as 1")
    controlled = _layers(layers, depth, model_type)
    shares = laws.strengths(depth, c)[list(controlled)]
    share = float(shares.max()) if len(shares) else 0.0
    # The exact gain removes at most the whole of a direction, whatever its weight.
    may_expand = settings["allow_expanding"] or law == "exact-gain"
    laws.check_overshoot(laws.parse_gains(scheme, gains), share, may_expand)
    layers = layers if layers in (None, "published") else controlled
    return {**settings, "scheme": scheme, "c": c + 0.0, "layers": layers}  # no -0.0


def _layers(layers: str | Sequence[int] | None, depth: int, model_type: str) -> tuple[int, ...]:
    """Check the controlled states that a user chose; each once, rising."""
    if layers is None:
        return tuple(range(depth))
    if layers == "published":
        if (model_type, depth) not in PUBLISHED:
            known = ", ".join(f"{kind} of {T} blocks" for kind, T in PUBLISHED)
            raise ValueError(
                f"the published code has no choice of layers for {model_type!r} of {depth} blocks; "
                f"it has one for {known}: give a list of states instead, such as layers=[0, 1]"
            )
        return tuple(range(PUBLISHED[model_type, depth] + 1))
    chosen = [layers] if isinstance(layers, str | int) else list(layers)
    wrong = [t for t in chosen if isinstance(t, bool | str) or t not in range(depth)]
    if wrong or isinstance(layers, str | int):
        raise ValueError(
            f"unknown layer {(wrong or chosen)[0]!r}; give None for all, 'published', or a list of "
            f"states from 0 (the embedding's output) to {depth - 1} (the last block's input)"
        )
    return tuple(sorted({int(t) for t in chosen}))
