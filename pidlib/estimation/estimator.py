"""The control that estimates: each state becomes the best linear guess of its clean form."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from pidlib.bases import Origin, check_origin
from pidlib.controller import Feedback, is_controlled
from pidlib.data.batches import MAX_LENGTH
from pidlib.data.perturbations import Perturb, described
from pidlib.estimation.layerwise import RULES, Estimate, Fit, fit_estimates, measured
from pidlib.estimation.terminal import EPOCHS, RATE, descend
from pidlib.gain import TOLERANCE, Gain
from pidlib.hooks import Control, find_blocks, fingerprint
from pidlib.io.checkpoints import Checkpoint
from pidlib.io.hub import folder_of
from pidlib.io.model_card import card, write_card
from pidlib.io.pretrained import Layout, read_bundle, refused, write_bundle
from pidlib.io.strict_json import COUNT, NUMBER, OBJECT, TEXT, check_fields
from pidlib.laws import Static

EXPANSION = 16.0
"""Largest singular value that the map of an estimate may have."""

TERMINAL = "terminal"
MEASURED = 600  # rows that tell how well the maps of the terminal cost estimate states
FORMAT = "pidlib-estimator"


@dataclass(frozen=True, eq=False)
class Estimator(Feedback):
    """A feedback that makes of each state the best linear estimate of its clean form.

    Made by `fit` or `from_pretrained`. Attached like any controller.

    Attributes
    ----------
    estimates : dict of int to Estimate
        Maps by state; each was fitted with those before it in place.
    origin : Origin
        The model and the text of the fit.
    rho : float
        Perturbed words for each clean one in the fit.
    rule : {"regression", "wiener", "terminal"}
        The first two: see `pidlib.estimation.layerwise.fit_estimates`. The third: `pidlib.estimation.terminal`.
    text : str
        What changed the text.

    Examples
    --------
    >>> import torch
    >>> from pidlib import load_model, load_nli
    >>> from pidlib.data.perturbations import RandomEdits
    >>> model, tokenizer = load_model("minilm-nli")
    >>> rows = load_nli("captions", split="train", n=40)
    >>> estimator = Estimator.fit(model, tokenizer, rows, RandomEdits("typos"), layers=[0])
    >>> inputs = tokenizer("A dog runs.", "An animal moves.", return_tensors="pt")
    >>> with torch.no_grad(), estimator.attached(model):
    ...     logits = model(**inputs).logits
    >>> logits.shape
    torch.Size([1, 3])

    Source: ours; Wiener 1949.
    """

    estimates: Mapping[int, Estimate]
    origin: Origin
    rho: float
    rule: str
    text: str = ""

    @classmethod
    def fit(
        cls,
        model: nn.Module,
        tokenizer: Any,
        rows: Sequence[Mapping[str, Any]],
        perturbed: Perturb,
        layers: Sequence[int] | None = None,
        rho: float | None = None,
        rule: str = "regression",
        *,
        seed: int = 0,
        batch_size: int = 64,
        max_length: int = MAX_LENGTH,
        blocks: str | nn.ModuleList | None = None,
        epochs: int = EPOCHS,
        rate: float = RATE,
        report: Callable[[str], None] = lambda _: None,
        checkpoint: Checkpoint | None = None,
    ) -> Estimator:
        """Fit on clean text and random changes of it; labels are not used.

        Parameters
        ----------
        model, tokenizer, rows
            As for `PIDController.fit`.
        perturbed : callable
            What changes a row: `pidlib.data.perturbations.RandomEdits`, or a function (row,
            random) that returns the changed row.
        layers : sequence of int, optional
            States to correct; all T when left out.
        rho : float, optional
            Perturbed words for each clean one; 1 for the rule "terminal" and 0.5 for the others
            when left out.
        rule, seed, batch_size, max_length
            See `pidlib.estimation.layerwise.fit_estimates`; for the rule "terminal" `pidlib.estimation.terminal`.
        blocks : str or torch.nn.ModuleList, optional
            Where the blocks are, for an architecture that pidlib does not know.
        epochs, rate, report, checkpoint
            For the rule "terminal": see `pidlib.estimation.terminal.descend`.

        Returns
        -------
        Estimator

        Raises
        ------
        ValueError
            As `fit_estimates` or `descend`; a controller is attached to the model.
        """
        found = find_blocks(model, blocks)
        if is_controlled(found):
            raise ValueError("a controller is attached; fit on the uncontrolled model")
        if not isinstance(rows, Sized):
            raise ValueError(
                f"the rule {rule!r} reads its rows several times, and these are a stream; give a "
                "list, such as list(rows.take(2000))"
            )
        if rho is None:
            rho = 1.0 if rule == TERMINAL else 0.5
        chosen = list(range(found.depth)) if layers is None else list(layers)
        if not chosen:
            raise ValueError("there are no layers to correct: give at least one, such as [0]")
        settings = {"seed": seed, "max_length": max_length, "blocks": blocks}
        if rule == TERMINAL:
            maps = descend(
                model, tokenizer, rows, perturbed, chosen, rho, epochs, rate, report=report,
                checkpoint=checkpoint, **settings,
            )  # fmt: skip
            few = [rows[k] for k in range(min(len(rows), MEASURED))]
            made = measured(model, tokenizer, few, perturbed, maps, **settings)
        elif rule in RULES:
            settings["batch_size"] = batch_size
            made = fit_estimates(model, tokenizer, rows, perturbed, chosen, rho, rule, **settings)
        else:
            raise ValueError(f"unknown rule {rule!r}; choose one of {(*RULES, TERMINAL)}")
        first = made[min(made)]
        origin = Origin(
            model_type=getattr(getattr(model, "config", None), "model_type", None) or "",
            architecture=type(model).__name__,
            depth=found.depth,
            width=len(first.b),
            block_list=None if blocks is None else found.names[0].rpartition(".")[0],
            blocks=tuple(fingerprint(found)),
            rows=len(rows),
            correct=len(rows),
            tokens=first.fit.words,
            truncated=0,
        )
        return cls(made, origin, float(rho), rule, described(perturbed))

    def up_to(self, t: int) -> Estimator:
        """Correct the states up to x_t only, without a new fit.

        Each map was fitted with the maps before it in place, so only later ones can go.

        Parameters
        ----------
        t : int
            Last state that is corrected.

        Returns
        -------
        Estimator

        Raises
        ------
        ValueError
            No map would be left; a rule that fits all maps together.
        """
        if self.rule == TERMINAL and t < max(self.estimates):
            raise ValueError(
                "the rule 'terminal' fits all maps together, so none can go; fit again with "
                f"layers={[s for s in self.controlled if s <= t]}"
            )
        kept = {s: one for s, one in self.estimates.items() if s <= t}
        if not kept:
            raise ValueError(f"no state up to {t} is corrected; the first is {min(self.estimates)}")
        return replace(self, estimates=kept)

    def carried_to(self, model: nn.Module) -> Estimator:
        """Return the same maps for another model with states of the same number and width.

        Attaching refuses every model but that of the fit. This says that the maps are meant
        for another one all the same: one that was trained with them in place, say.

        Parameters
        ----------
        model : torch.nn.Module
            It stays as it is.

        Returns
        -------
        Estimator

        Raises
        ------
        ValueError
            Another number of blocks, or states of another width.

        Examples
        --------
        >>> from pidlib import load_model
        >>> from pidlib.estimation.pretrained import load_control
        >>> model, _ = load_model("minilm-nli")
        >>> other, _ = load_model("minilm-nli-a2t")
        >>> with load_control("minilm-nli-terminal", model).carried_to(other).attached(other):
        ...     pass
        """
        found, origin = find_blocks(model, self.origin.block_list), self.origin
        if found.depth != origin.depth or found.width not in (None, origin.width):
            raise ValueError(
                f"the maps are of {origin.depth} states of width {origin.width}; the model has "
                f"{found.depth} of width {found.width}: fit on this model"
            )
        return replace(self, origin=replace(origin, blocks=tuple(fingerprint(found))))

    @property
    def sha256(self) -> str:
        """Hash of the maps, 64 hexadecimal digits."""
        digest = hashlib.sha256()
        for t in self.controlled:
            digest.update(f"{t}\n".encode())
            for part in (self.estimates[t].A, self.estimates[t].b):
                digest.update(part.detach().cpu().float().contiguous().numpy().data)
        return digest.hexdigest()

    def cuts(self) -> Iterator[Estimator]:
        """All depths that need no new fit, from the shallowest to the whole.

        Yields
        ------
        Estimator
        """
        whole = self.controlled[-1:] if self.rule == TERMINAL else self.controlled
        yield from map(self.up_to, whole)

    @property
    def controlled(self) -> tuple[int, ...]:
        """Corrected states t, rising."""
        return tuple(sorted(self.estimates))

    @cached_property
    def feedback(self) -> dict[int, dict[str, Gain]]:
        """Gain by corrected state."""
        return {t: {"estimate": self.estimates[t].gain} for t in self.controlled}

    @property
    def hooked(self) -> list[int]:
        """Blocks to hook."""
        return list(self.controlled)

    def begin(self) -> Control:
        """Make the law, for one forward call of the model.

        Returns
        -------
        Control
            A function of the block's number, its input and the mask.
        """
        return Static({t: kinds["estimate"] for t, kinds in self.feedback.items()})

    def diagnose(self) -> list[dict[str, float]]:
        """How well each state is estimated, as rows of a table.

        Returns
        -------
        list of dict
            By state: root mean squares over words, as shares of the spread of clean states:
            `change` that a perturbation makes, what is `left` of it, and what `clean` text
            pays. Of the rule "terminal" on the first rows only, 600 at most.
        """
        rows = []
        for t in self.controlled:
            fit = self.estimates[t].fit
            shares = {"change": fit.before, "left": fit.after, "clean": fit.clean}
            size = fit.size or float("nan")
            rows.append({"t": t} | {k: (max(v, 0.0) / size) ** 0.5 for k, v in shares.items()})
        return rows

    def summary(self) -> str:
        """Return settings and fit on one line.

        Returns
        -------
        str
        """
        told = ", ".join(map(str, self.controlled))
        if self.rule == TERMINAL:
            name, words = "Terminal control", ""
        else:
            name, words = f"Wiener control ({self.rule})", f"{self.origin.tokens} words of "
        return (
            f"{name} of the states {told}, rho {self.rho:g}; fitted on {words}{self.origin.rows} "
            f"rows, {self.text}"
        )

    def save_pretrained(self, folder: str | Path) -> None:
        """Write it to a folder: JSON and safetensors, whole or not at all.

        What is written is A - I and b in single precision, in which models run.

        Parameters
        ----------
        folder : path
            Made if it is not there.
        """
        eye = torch.eye(self.origin.width, dtype=torch.float64)
        tensors = {f"{t}.step": (one.A - eye).float() for t, one in self.estimates.items()}
        tensors |= {f"{t}.b": one.b.float() for t, one in self.estimates.items()}
        fits = {str(t): one.fit._asdict() for t, one in self.estimates.items()}
        about = {
            "settings": {"rho": self.rho, "rule": self.rule, "text": self.text},
            "terms": "",
            "fits": fits,
        }
        write_bundle(Path(folder), tensors, FORMAT, about, asdict(self.origin))
        write_card(Path(folder), card(self.summary(), self.origin, self.diagnose()))

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, allow_expanding: bool = False, revision: str | None = None
    ) -> Estimator:
        """Read one from a folder.

        Parameters
        ----------
        folder : path
        allow_expanding : bool
            Take maps that expand more than fitted ones do; see `check_map`.
        revision : str, optional
            Branch, tag or commit on the hub.

        Returns
        -------
        Estimator

        Raises
        ------
        FileNotFoundError
            No controller there.
        ValueError
            A foreign, truncated or changed file; maps with NaN or infinite entries; a map
            whose largest singular value is above 16, unless asked for.
        """
        folder = folder_of(folder, revision)
        bundle = read_bundle(folder, FORMAT, _layout)
        origin, settings = Origin.of(bundle.origin), bundle.about["settings"]
        eye = torch.eye(origin.width, dtype=torch.float64)
        made = {}
        for key, fit in bundle.about["fits"].items():
            step, b = (bundle.tensors[f"{key}.{name}"].double() for name in ("step", "b"))
            made[int(key)] = Estimate(eye + step, b, Fit(**fit))
            with refused(folder):
                check_map(eye + step, b, int(key), allow_expanding)
        return cls(made, origin, float(settings["rho"]), settings["rule"], settings["text"])


def _layout(about: Mapping[str, Any], origin: Mapping[str, Any]) -> Layout:
    """Check the card and tell which tensors belong to it."""
    check_origin(origin)
    rule = (f"one of {(*RULES, TERMINAL)}", lambda v: v in (*RULES, TERMINAL))
    rho = ("a number of at least 0", lambda v: NUMBER[1](v) and v >= 0)
    check_fields(about["settings"], {"rho": rho, "rule": rule, "text": TEXT}, "settings")
    check_fields(about, {"fits": OBJECT}, "the card", others=True)
    fits, d = about["fits"], origin["width"]
    if not fits:
        raise ValueError("the controller is incomplete: it has no maps; fit it again")
    states = {str(t) for t in range(len(origin["blocks"]))}
    strange = [key for key in fits if key not in states]
    if strange:
        raise ValueError(f"there is a map of the state {strange[0]!r} of {len(states)}")
    for key, fit in fits.items():
        kinds = {name: COUNT if name == "words" else NUMBER for name in Fit._fields}
        check_fields(fit, kinds, f"the fit of state {key}")
    return {f"{key}.step": ("F32", (d, d)) for key in fits} | {
        f"{key}.b": ("F32", (d,)) for key in fits
    }


def check_map(A: Tensor, b: Tensor, t: int, allow_expanding: bool) -> None:
    """Refuse a map x -> A x + b that is not finite or that expands beyond `EXPANSION`."""
    if not (A.isfinite().all() and b.isfinite().all()):
        raise ValueError(f"the map of state {t} has NaN or infinite entries")
    if not allow_expanding and is_beyond(A, EXPANSION):
        norm = float(torch.linalg.matrix_norm(A.double(), 2))
        raise ValueError(
            f"the map of state {t} expands by {norm:.3g} (largest singular value; fitted ones "
            f"stay below {EXPANSION:g}); pass allow_expanding=True if that is wanted"
        )


def is_beyond(A: Tensor, most: float) -> bool:
    """Whether the largest singular value of a matrix exceeds a bound by more than rounding."""
    scaled = A.double() / (most * (1 + TOLERANCE))
    eye = torch.eye(len(scaled), dtype=torch.float64)
    return bool(torch.linalg.cholesky_ex(eye - scaled.T @ scaled).info)
