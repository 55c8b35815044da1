"""PID control of a transformer's hidden states: fit, attach, look into, keep."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pidlib.bases import Eigenbases, Origin, load, save
from pidlib.controller import Feedback, is_controlled
from pidlib.data.batches import MAX_LENGTH, batches, input_device
from pidlib.diagnosis import Diagnosis, LayerDiagnosis
from pidlib.fitting import Accumulators, learn
from pidlib.gain import Gain
from pidlib.hooks import Blocks, Control, find_blocks
from pidlib.io.checkpoints import Checkpoint
from pidlib.io.hub import folder_of
from pidlib.io.model_card import card, write_card
from pidlib.io.pretrained import refused
from pidlib.io.strict_json import is_number, told
from pidlib.laws import (
    LAWS,
    Residual,
    Static,
    check_overshoot,
    parse_gains,
    parse_scheme,
    static_gain,
    strengths,
)
from pidlib.theory.subspaces import rank_for

PUBLISHED = {
    ("distilbert", 6): 4,
    ("roberta", 12): 2,
    ("roberta", 24): 5,
    ("bert", 24): 3,
    ("opt", 24): 6,
}
"""Blocks k whose outputs the published code controls besides the embedding: x_0, ..., x_k."""


@dataclass(frozen=True, eq=False)
class PIDController(Feedback):
    """A feedback that pulls hidden states towards where clean text leaves them.

    Made by `fit`, `from_batches` or `from_pretrained`, and changed by `retune`.

    Attributes
    ----------
    bases : Eigenbases
        What was learnt from clean text.
    scheme : str
        Terms used, for example "P-D".
    variance : float
        Share of variance that each subspace holds, above 0 and at most 1.
    c : float
        Control cost, from 0 (full correction) to infinity (none).
    law : {"averaged", "exact-gain", "residual"}
        See `pidlib.laws`.
    gains : "normalised", "paper" or mapping of term to float
        See `pidlib.laws.parse_gains`.
    layers : None, "published" or tuple of int
        Controlled states: all, those of the published code, or these.
    allow_expanding : bool
        Whether gains may be so large that states grow (`pidlib.io.strict_json`). Not kept by
        `save_pretrained`: who reads the controller has to ask too.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from transformers import BertConfig, BertForSequenceClassification
    >>> names = {0: "entailment", 1: "neutral", 2: "contradiction"}
    >>> config = BertConfig(vocab_size=9, hidden_size=8, num_hidden_layers=2, id2label=names,
    ...                     num_attention_heads=2, intermediate_size=8)
    >>> model = BertForSequenceClassification(config).eval()
    >>> inputs = {"input_ids": torch.tensor([[1, 5, 4, 2], [1, 6, 7, 2]])}
    >>> batch = SimpleNamespace(inputs=inputs, labels=model(**inputs).logits.argmax(-1))
    >>> controller = PIDController.from_batches(model, [batch], scheme="PD", variance=0.8)
    >>> print(controller.summary())
    P-D control, averaged law, variance 0.8, c = 0.001; fitted on 8 tokens of 2 correct rows out of 2
    >>> base = model(**inputs).logits
    >>> with controller.attached(model):
    ...     controlled = model(**inputs).logits
    >>> torch.equal(controlled, base), torch.equal(model(**inputs).logits, base)
    (False, True)

    Source: Propositions 1 and 2, Algorithm 1. Departure: the paper names neither c nor
    layers; by default c = 0.001, the published code's value, and all T states.
    """

    bases: Eigenbases
    scheme: str = "P-D"
    variance: float = 0.99
    c: float = 1e-3
    law: str = "averaged"
    gains: str | Mapping[str, float] = "normalised"
    layers: str | tuple[int, ...] | None = None
    allow_expanding: bool = False

    def __post_init__(self) -> None:
        """Check every setting against the bases."""
        object.__setattr__(self, "scheme", parse_scheme(self.scheme))
        missing = [i for i in self.scheme.split("-") if i not in self.bases.values]
        if missing:
            raise ValueError(
                f"scheme {self.scheme!r} needs the bases of {missing}; fitted were "
                f"{list(self.bases.values)}: fit again with terms='PID'"
            )
        if isinstance(self.gains, Mapping) and not all(map(is_number, self.gains.values())):
            raise ValueError(f"gains {told(self.gains)} are not finite numbers of at least 0")
        gains = parse_gains(self.scheme, self.gains)
        if self.law not in LAWS:
            raise ValueError(
                f"unknown law {self.law!r}; choose one of {LAWS} (maps learnt from random changes "
                "of text: pidlib.Estimator.fit)"
            )
        if not isinstance(self.c, int | float) or not is_number(self.c) or self.c < 0:
            raise ValueError(
                f"c is {told(self.c)}; give a control cost of at least 0, such as 1e-3"
            )
        if self.c == 0:
            object.__setattr__(self, "c", 0.0)  # -0.0 is no cost that a gain can be made of
        if not is_number(self.variance):
            raise ValueError(f"variance is {told(self.variance)}; give a share, such as 0.99")
        rank_for(self.bases.values["P"][0], self.variance)  # refuses a variance out of range
        _ = self.controlled  # refuses layers that do not exist
        shares = strengths(self.depth, self.c)[list(self.controlled)]
        share = float(shares.max()) if len(shares) else 0.0
        # The exact gain removes at most the whole of a direction, whatever its weight.
        check_overshoot(gains, share, self.allow_expanding or self.law == "exact-gain")
        if self.layers not in (None, "published"):
            object.__setattr__(self, "layers", self.controlled)

    @classmethod
    def fit(
        cls,
        model: nn.Module,
        tokenizer: Any,
        rows: Iterable[Mapping[str, Any]],
        scheme: str = "PD",
        variance: float = 0.99,
        c: float = 1e-3,
        law: str = "averaged",
        gains: str | Mapping[str, float] = "normalised",
        layers: str | Sequence[int] | None = None,
        *,
        batch_size: int = 32,
        max_length: int = MAX_LENGTH,
        blocks: str | nn.ModuleList | None = None,
        terms: str = "PID",
        keep: float = 1.0,
        correct_only: bool = True,
        checkpoint: Checkpoint | None = None,
    ) -> PIDController:
        """Fit a controller on clean text, in one pass.

        Parameters
        ----------
        model : transformers.PreTrainedModel
            Sequence classifier in evaluation mode.
        tokenizer : transformers.PreTrainedTokenizerBase
        rows : iterable of mappings
            Keys `premise`, `hypothesis` (or `text`) and `label`. A stream, such as
            `datasets.load_dataset(..., streaming=True)`, is read once and never held.
        scheme, variance, c, law, gains, layers
            See the class; all of them can be changed later by `retune`.
        batch_size, max_length : int
            Rows per batch; tokens per row.
        blocks : str or torch.nn.ModuleList, optional
            Where the blocks are, for an architecture that pidlib does not know.
        terms : str
            Bases to learn, at least those of the scheme.
        keep : float
            Share of variance up to which eigenvectors are kept (`pidlib.fitting.learn`).
        correct_only : bool
            Use only rows that the model classifies correctly.
        checkpoint : Checkpoint, optional
            Keeps what was learnt so far now and then, so that a fit that was broken off goes on.

        Returns
        -------
        PIDController

        Raises
        ------
        ValueError
            A setting out of range, a model in training mode
            or with a controller attached, no rows, a label out of range, no row classified
            correctly, states with NaN, or label names that say nothing.

        Source: section 3.1, Algorithm 1. Departure: the temporal mode is not applied, for it
        mixes positions across padding and undoes causality.
        """
        where = input_device(model)
        stream = batches(tokenizer, rows, batch_size, max_length, where)
        return cls.from_batches(
            model,
            stream,
            blocks=blocks,
            terms=terms,
            keep=keep,
            correct_only=correct_only,
            checkpoint=checkpoint,
            scheme=scheme,
            variance=variance,
            c=c,
            law=law,
            gains=gains,
            layers=layers,
        )

    @classmethod
    def from_batches(
        cls,
        model: nn.Module,
        stream: Iterable[Any],
        *,
        blocks: str | nn.ModuleList | None = None,
        terms: str = "PID",
        keep: float = 1.0,
        correct_only: bool = True,
        checkpoint: Checkpoint | None = None,
        merge: Callable[[Accumulators], None] | None = None,
        **settings: Any,
    ) -> PIDController:
        """Fit on batches made elsewhere, for example of images.

        Parameters
        ----------
        model : torch.nn.Module
            In evaluation mode.
        stream : iterable
            Objects with `inputs` (mapping of arguments of the forward) and `labels` (B,).
        blocks, terms, keep, correct_only
            As for `fit`.
        checkpoint : Checkpoint, optional
            Keeps the sums now and then, so that a fit that was broken off goes on.
        merge : callable, optional
            Adds the sums of other processes, see `pidlib.fitting.learn`.
        settings
            `scheme`, `variance`, `c`, `law`, `gains`, `layers`.

        Returns
        -------
        PIDController

        Source: as `fit`.
        """
        found = find_blocks(model, blocks)
        if is_controlled(found):
            raise ValueError("a controller is attached; fit on the uncontrolled model")
        _check_early(found, terms, keep, settings)
        name = None if blocks is None else found.names[0].rpartition(".")[0]
        bases = learn(found, stream, terms, keep, correct_only, name, checkpoint, merge)
        return cls(bases, **settings)

    def retune(self, **settings: Any) -> PIDController:
        """Return a controller with other settings and the same bases, without a new fit.

        Parameters
        ----------
        settings
            Any of `scheme`, `variance`, `c`, `law`, `gains`, `layers`, `allow_expanding`.

        Returns
        -------
        PIDController
        """
        known = {"scheme", "variance", "c", "law", "gains", "layers", "allow_expanding"}
        unknown = set(settings) - known
        if unknown:
            raise TypeError(f"unknown settings {sorted(unknown)}")
        return replace(self, **settings)

    @property
    def origin(self) -> Origin:
        """The model and the text of the fit."""
        return self.bases.origin

    @cached_property
    def controlled(self) -> tuple[int, ...]:
        """Controlled states t, rising."""
        origin = self.bases.origin
        return _layers(self.layers, origin.depth, origin.model_type)

    @cached_property
    def feedback(self) -> dict[int, dict[str, Gain]]:
        """Gain matrices by controlled state: one, or for "residual" one for each term."""
        gains = {i: g for i, g in parse_gains(self.scheme, self.gains).items() if g > 0}
        made: dict[int, dict[str, Gain]] = {}
        if not gains or math.isinf(self.c):
            return made
        for t in self.controlled:
            offs = {i: self.bases.projection(i, t, self.variance) for i in gains}
            if self.law == "residual":
                share = float(strengths(self.depth, self.c)[t])
                made[t] = {i: Gain.of_projection(offs[i], share * gains[i]) for i in gains}
            else:
                gain = static_gain(offs, gains, self.law, t, self.depth, self.c)
                made[t] = {self.scheme: gain}
            made[t] = {i: gain for i, gain in made[t].items() if not gain.is_zero}
        return {t: kinds for t, kinds in made.items() if kinds}

    @property
    def hooked(self) -> list[int]:
        """Blocks to hook: those with a gain, and for a law with memory all before them."""
        if not self.feedback:
            return []
        if self.law == "residual":
            return list(range(max(self.feedback) + 1))
        return list(self.feedback)

    def begin(self) -> Control:
        """Make the law anew, for one forward call of the model.

        Returns
        -------
        callable (t, x, mask) -> tensor or None
            See `pidlib.hooks.Blocks.control`; for the controlled states, and for the
            residual law all before them.
        """
        if self.law == "residual":
            terms = {i for kinds in self.feedback.values() for i in kinds}
            return Residual(self.feedback, sorted(terms))
        return Static({t: next(iter(kinds.values())) for t, kinds in self.feedback.items()})

    def diagnose(self) -> Diagnosis:
        """Look into the controller, state by state, from what the fit learnt.

        Returns
        -------
        Diagnosis
            Ranks, clean bias, size of the control on clean text and alpha_t.

        Source: Table 7 (ranks); ours (clean bias).
        """
        gains = parse_gains(self.scheme, self.gains)
        alpha = 1.0 - strengths(self.depth, self.c)
        rows = []
        for t in range(self.depth):
            moment = self.bases.moment(t)
            total = float(moment.trace())
            ranks = {i: self.bases.rank(i, t, self.variance) for i in self.bases.values}
            offs = {i: self.bases.projection(i, t, self.variance) for i in self.bases.values}
            bias = {i: float((q * moment).sum()) / total for i, q in offs.items()}
            rows.append(
                LayerDiagnosis(
                    t=t,
                    controlled=t in self.feedback,
                    ranks=ranks,
                    bias=bias,
                    weighted_bias=sum(gains[i] * bias[i] for i in gains),
                    size=self._size(t, moment),
                    alpha=float(alpha[t]),
                    forms=tuple(gain.form for gain in self.feedback.get(t, {}).values()),
                )
            )
        return Diagnosis(tuple(rows), self.summary(), self.bases.origin.width)

    def _size(self, t: int, moment: Tensor) -> float:
        """Root mean square of u_t over that of x_t; for "residual" a bound on it."""
        kinds, total = self.feedback.get(t, {}), float(moment.trace())
        if self.law != "residual":
            matrices = [gain.matrix() for gain in kinds.values()]
            return sum(math.sqrt(float((k @ moment * k).sum()) / total) for k in matrices)
        share = float(strengths(self.depth, self.c)[t])
        gains = parse_gains(self.scheme, self.gains)
        rest = {i: self.bases.values[i][t][self.bases.rank(i, t, self.variance) :] for i in kinds}
        return sum(share * gains[i] * math.sqrt(float(v.sum()) / total) for i, v in rest.items())

    def summary(self) -> str:
        """Return settings and fit on one line.

        Returns
        -------
        str
        """
        origin = self.bases.origin
        return (
            f"{self.scheme} control, {self.law} law, variance {self.variance:g}, c = {self.c:g}; "
            f"fitted on {origin.tokens} tokens of {origin.correct} correct rows out of "
            f"{origin.rows}"
        )

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the controller to a folder: JSON and safetensors, whole or not at all.

        Beside them stands a card for readers, README.md; one that was written by hand stays.

        Parameters
        ----------
        folder : path
            Made when missing.
        """
        gains = self.gains if isinstance(self.gains, str) else dict(self.gains)
        layers = list(self.layers) if isinstance(self.layers, tuple) else self.layers
        settings = {
            "scheme": self.scheme,
            "variance": float(self.variance),
            "c": "inf" if math.isinf(self.c) else float(self.c),
            "law": self.law,
            "gains": gains,
            "layers": layers,
        }
        save(self.bases, settings, Path(folder))
        write_card(Path(folder), card(self.summary(), self.origin, self.diagnose().records()))

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, allow_expanding: bool = False, revision: str | None = None
    ) -> PIDController:
        """Read a controller that `save_pretrained` wrote.

        The folder may come from anybody: it holds JSON and plain numbers, no code runs, and
        nothing outside it is read.

        Parameters
        ----------
        folder : path
            Or `owner/name` on HuggingFace's hub, where there is no folder of that name.
        allow_expanding : bool
            Take a controller under which states may grow; see `pidlib.io.strict_json`.
        revision : str, optional
            Branch, tag or commit on the hub.

        Returns
        -------
        PIDController

        Raises
        ------
        FileNotFoundError
            No controller there.
        ValueError
            A foreign, truncated or changed file; entries that are NaN or infinite, bases that
            are not orthonormal; a control under which states may grow, unless asked for.
        """
        folder = folder_of(folder, revision)
        bases, settings = load(folder)
        settings["c"] = float(settings["c"])
        with refused(folder):
            found = cls(bases, **settings, allow_expanding=allow_expanding)
            found._check_reach()
        return found

    def _check_reach(self) -> None:
        """Refuse a variance for which too few directions were kept."""
        terms = [i for i, gain in parse_gains(self.scheme, self.gains).items() if gain > 0]
        ranks = {
            (i, t): self.bases.rank(i, t, self.variance) for i in terms for t in self.controlled
        }
        check_reach(ranks, {i: self.bases.vectors[i].shape[-1] for i in terms})


def _layers(layers: str | Sequence[int] | None, depth: int, model_type: str) -> tuple[int, ...]:
    """Check the controlled states asked for; each once, rising."""
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


def _check_early(found: Blocks, terms: str, keep: float, settings: Mapping[str, Any]) -> None:
    """Refuse wrong settings before the model runs over the text."""
    blank = torch.ones(found.depth + 1, 1, dtype=torch.float64)
    rank_for(blank[0], keep)
    kind = getattr(getattr(found.model, "config", None), "model_type", "")
    origin = Origin(kind, "", found.depth, 1, None, (), 0, 0, 0, 0)
    values = dict.fromkeys(["P", *parse_scheme(terms).split("-")], blank)
    PIDController(Eigenbases(values, {}, origin), **settings)


def check_reach(ranks: Mapping[tuple[str, int], int], kept: Mapping[str, int]) -> None:
    """Refuse a control that needs more directions than were kept.

    Parameters
    ----------
    ranks : mapping of (term, state) to int
    kept : mapping of term to int

    Raises
    ------
    ValueError
    """
    for (term, t), rank in ranks.items():
        if rank > kept[term]:
            raise ValueError(
                f"it needs {rank} directions of {term} at state {t} and {kept[term]} were kept; "
                "fit again with a larger keep, or save it with a smaller variance"
            )
