"""PID control of a transformer's hidden states: fit, attach, look into, keep."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Sized
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Annotated, Any, Literal, Self

import torch
from pydantic import BeforeValidator
from torch import Tensor, nn
from tqdm import tqdm

from pidlib import laws
from pidlib.bases import ControllerCard, Eigenbases, FitRecord, layout
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
from pidlib.io.strict_json import shorten
from pidlib.settings import TERMS, ControlSettings, parse_gains, parse_scheme
from pidlib.theory.subspaces import rank_for

PUBLISHED = {
    ("distilbert", 6): 4,
    ("roberta", 12): 2,
    ("roberta", 24): 5,
    ("bert", 24): 3,
    ("opt", 24): 6,
}
"""Blocks k whose outputs the published code controls besides the embedding: x_0, ..., x_k."""


_NAMES = [setting.name for setting in fields(ControlSettings)]
_FIRST = {"scheme", "variance", "c", "law", "gains", "layers"}


def _whole(settings: Any) -> Any:
    """Refuse a card that lacks a setting which the cards of all versions hold."""
    missing = sorted(_FIRST - set(settings)) if isinstance(settings, dict) else []
    if missing:
        raise ValueError(f"the settings {missing} are missing")
    return settings


class _Card(ControllerCard):
    settings: Annotated[ControlSettings, BeforeValidator(_whole)]


@dataclass(frozen=True, eq=False, repr=False)
class PIDController(Controller, ControlSettings):
    """A feedback that pulls hidden states towards where clean text leaves them.

    Made by `fit`, `from_batches` or `from_pretrained`, and changed by `retune`. Its other attributes,
    such as `c`, are its settings: those of `pidlib.settings.ControlSettings`.

    Attributes
    ----------
    bases : Eigenbases, learnt from clean text
    allow_expanding : bool, whether states may grow; not kept by `save_pretrained`

    Examples
    --------
    >>> from pidlib import load_model, load_nli
    >>> rows = load_nli("captions", split="train", n=8)
    >>> PIDController.fit(*load_model("minilm-nli"), rows).controlled
    (0, 1, 2, 3, 4, 5)

    Source: Propositions 1 and 2, Algorithm 1.
    """

    FORMAT = "pidlib-controller"
    _CARD = _Card

    bases: Eigenbases
    allow_expanding: bool = field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        """Check every setting, by itself and against the bases."""
        given = {name: getattr(self, name) for name in _NAMES}
        settings = ControlSettings.of(**given)
        origin = self.origin
        _check(settings, self.bases.values, origin.depth, origin.model_type, self.allow_expanding)
        for name in _NAMES:
            object.__setattr__(self, name, getattr(settings, name))

    @classmethod
    def fit(
        cls,
        model: nn.Module,
        tokenizer: Any,
        rows: Any,
        *,
        scheme: str = ControlSettings.scheme,
        variance: float = ControlSettings.variance,
        c: float = ControlSettings.c,
        law: str = ControlSettings.law,
        gains: str | Mapping[str, float] = ControlSettings.gains,
        layers: str | Sequence[int] | None = ControlSettings.layers,
        skip_first: int = ControlSettings.skip_first,
        allow_expanding: bool = False,
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
        scheme, variance, c, law, gains, layers, skip_first
            See `pidlib.settings.ControlSettings`; `retune` changes all but `skip_first` without a new fit.
        allow_expanding : bool, whether states may grow
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
        allow_expanding: bool = False,
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
        allow_expanding : bool, whether states may grow
        settings
            Those of `pidlib.settings.ControlSettings`.
        """
        found = free_blocks(model, blocks)
        rank_for(torch.ones(1), keep)  # what is wrong is refused before the model runs
        kind = getattr(getattr(found.model, "config", None), "model_type", "")
        chosen = ControlSettings.of(**_known(settings))
        terms = parse_scheme(chosen.scheme if terms is None else terms)
        learnt = "".join(sorted({"P", *terms.split("-")}, key=TERMS.index))
        _check(chosen, learnt, found.depth, kind, allow_expanding)
        how = (learnt, keep, correct_only, blocks is not None, checkpoint, merge, chosen.skip_first)
        return cls(learn(found, stream, *how), allow_expanding=allow_expanding, **asdict(chosen))

    def retune(self, **settings: Any) -> Self:
        """Return a controller with other settings and the same bases, without a new fit."""
        return replace(self, **_known(settings))

    @property
    def origin(self) -> FitRecord:
        """The model and the text of the fit."""
        return self.bases.origin

    @cached_property
    def controlled(self) -> tuple[int, ...]:
        """Controlled states t, rising."""
        return _layers(self.layers, self.origin.depth, self.origin.model_type)

    @cached_property
    def weights(self) -> dict[str, float]:
        """Gain of each term, where it is above 0."""
        return {i: g for i, g in parse_gains(self.scheme, self.gains).items() if g > 0}

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
            return laws.ResidualLaw(
                self.feedback, sorted({i for of in self.feedback.values() for i in of})
            )
        return laws.StaticLaw({t: next(iter(kinds.values())) for t, kinds in self.feedback.items()})

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
        settings = {name: getattr(self, name) for name in _NAMES}
        if math.isinf(self.c):
            settings["c"] = "inf"  # JSON has no infinity
        if isinstance(self.gains, Mapping):
            settings["gains"] = {term: float(gain) for term, gain in self.gains.items()}
        terms = "".join(self.bases.values)
        return {"settings": settings, "tensors": self.bases.tensors(), "terms": terms}

    @classmethod
    def _layout(cls, record: _Card) -> Layout:
        return layout(record.tensors.terms, record.origin)

    @classmethod
    def _built(cls, record: _Card, tensors: Mapping[str, Tensor], allow_expanding: bool) -> Self:
        bases = Eigenbases.of_tensors(tensors, record.tensors.terms, record.origin)
        controller = cls(bases, allow_expanding=allow_expanding, **asdict(record.settings))
        for t in controller.controlled:
            for term in controller.weights:  # refuses a variance that too few were kept for
                bases.basis(term, t, controller.variance)
        return controller


def _known(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings, if all are known by name."""
    known = [*_NAMES, "allow_expanding"]
    if unknown := sorted(set(settings) - set(known)):
        raise TypeError(f"unknown settings {unknown}; known: {known}")
    return settings


def _check(
    settings: ControlSettings, terms: Collection[str], depth: int, kind: str, allow_expanding: bool
) -> None:
    """Refuse what does not fit bases of some terms, or a model of some depth and kind."""
    missing = [i for i in settings.scheme.split("-") if i not in terms]
    if missing:
        raise ValueError(
            f"scheme {settings.scheme!r} needs the bases of {missing}; fitted were "
            f"{sorted(terms, key=TERMS.index)}: fit again with terms='PID'"
        )
    controlled = _layers(settings.layers, depth, kind)
    shares = laws.strengths(depth, settings.c)[list(controlled)]
    share = float(shares.max()) if len(shares) else 0.0
    # The exact gain removes at most the whole of a direction, whatever its weight.
    may_expand = allow_expanding or settings.law == "exact-gain"
    laws.check_overshoot(parse_gains(settings.scheme, settings.gains), share, may_expand)


def _layers(
    layers: Literal["published"] | tuple[int, ...] | None, depth: int, model_type: str
) -> tuple[int, ...]:
    """Controlled states of a model, rising; refuse those that it has not."""
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
    wrong = [t for t in layers if t not in range(depth)]
    if wrong:
        raise ValueError(
            f"unknown layer {shorten(wrong[0])}; give None for all, 'published', or a list of states "
            f"from 0 (the embedding's output) to {depth - 1} (the last block's input)"
        )
    return layers
