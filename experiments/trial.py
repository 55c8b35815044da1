"""What a trial consists of: data, attacks, controls, and what to compare them with."""

from __future__ import annotations

from dataclasses import dataclass

from datasets import Dataset

from experiments.adapters import HELD_OUT
from experiments.rivals import IN_LOOP, RIVALS, WIENER
from pidlib.attacks.attack import RECIPES
from pidlib.attacks.synonyms import SOURCES
from pidlib.data.nli import hold_out, load_nli
from pidlib.data.perturbations import MIXES
from pidlib.estimation.estimator import TERMINAL
from pidlib.evaluation.trial_results import ADAPTIVE, CONTROLS, RESTARTED, WIDENED, control_name

RANDOM = ("pso", "textbugger")  # recipes that another seed changes
WITH = " + "  # between a rival and the control that it works with


@dataclass(frozen=True)
class Trial:
    """One model on one data set: every attack, every control, and what to compare them with."""

    data: str = "captions"
    model: str = "minilm-nli"
    n: int = 1000
    swarm: int = 1000
    clean: int = 2000
    after: int = 0
    recipes: tuple[str, ...] = RECIPES
    resources: str = "lexicon"
    controls: tuple[tuple[str, float], ...] = CONTROLS
    placebos: tuple[tuple[str, float], ...] = (("PD", 0.99), ("PD", 0.95))
    adaptive: tuple[tuple[str, float], ...] = ()
    adaptive_n: int = 1000
    estimators: tuple[tuple[str, str], ...] = ()
    estimated_on: str = ""
    words_from: str = ""
    rivals: tuple[str, ...] = ()
    restarts: bool = False
    wide: bool = False
    kind: str = "trial"
    label: str = ""
    second: str | None = "minilm-nli-second"
    c: float = 1e-3
    fitted_on: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.n <= self.clean:
            raise ValueError(f"n = {self.n} and clean = {self.clean}; need 1 <= n <= clean")
        if self.after < 0:
            raise ValueError(f"after = {self.after}; it must be at least 0")
        unknown = [name for name in self.recipes if name not in RECIPES]
        if unknown:
            raise ValueError(f"unknown recipe {unknown[0]!r}; known: {list(RECIPES)}")
        if self.data == "snli-validation":
            raise ValueError("subspaces are fitted on snli-validation; judge on another file")
        for scheme, mix in self.estimators:
            if scheme not in (WIENER, TERMINAL) or mix not in MIXES:
                raise ValueError(
                    f"unknown estimating control {(scheme, mix)}; give {WIENER!r} or {TERMINAL!r}, "
                    f"and a mix of {list(MIXES)}"
                )
        chosen = [control_name(*pair) for pair in self.estimators]
        paired = (*RIVALS, IN_LOOP)
        rivals = (*RIVALS, *(f"{name}{WITH}{one}" for name in paired for one in chosen))
        others = [name for name in self.rivals if name not in rivals]
        if others:
            raise ValueError(f"unknown rival {others[0]!r}; known: {list(rivals)}")
        if self.words_from not in ("", *SOURCES):
            raise ValueError(f"unknown words_from {self.words_from!r}; known: {list(SOURCES)}")
        if self.label and not self.label.replace("-", "").isalnum():
            raise ValueError(f"label {self.label!r}: give letters, digits and hyphens")
        if self.wide and self.resources != "ppdb":
            raise ValueError(f"resources {self.resources!r} have no wide form; 'ppdb' has")
        known = (*self.controls, *self.estimators)
        for pair in (*self.placebos, *self.adaptive):
            if pair not in known:
                raise ValueError(f"{pair} is not among the controls {known}")

    @property
    def name(self) -> str:
        """Stem of the result file."""
        label = f"-{self.label}" if self.label else ""
        return f"{self.kind}-{self.rows}-{self.model}{self.origin}{label}"

    @property
    def choice(self) -> str:
        """Folder of what was chosen on held-out rows; other rows to judge do not change it."""
        return f"{self.kind}-{self.data}-{self.model}{self.origin}"

    @property
    def rows(self) -> str:
        """Name of the rows that are judged."""
        return f"{self.data}-after-{self.after}" if self.after else self.data

    @property
    def origin(self) -> str:
        """What names tell of other text and other words that estimating controls learnt from."""
        text = f"-on-{self.estimated_on}" if self.estimated_on else ""
        return text + (f"-with-{self.words_from}" if self.words_from else "")

    @property
    def command(self) -> str:
        """What to type to run it again."""
        told = [f"--data {self.data} --model {self.model} --n {self.n} --clean {self.clean}"]
        if self.swarm < self.n:
            told.append(f"--swarm {self.swarm}")
        if self.after:
            told.append(f"--after {self.after}")
        if self.adaptive:  # without it, rivals are attacked on all rows
            told.append(f"--adaptive {self.adaptive_n}")
        if self.restarts:
            told.append("--restarts")
        if self.wide:
            told.append("--wide")
        if self.estimated_on:
            told.append(f"--estimated-on {self.estimated_on}")
        if self.words_from:
            told.append(f"--words-from {self.words_from}")
        mixes = [mix for scheme, mix in self.estimators if scheme == WIENER]
        estimating = self.kind == WIENER  # that experiment's options
        if estimating and mixes != list(MIXES):
            told.append(f"--mixes {','.join(mixes) or 'none'}")
        ends = [mix for scheme, mix in self.estimators if scheme == TERMINAL]
        if estimating and ends != ["both"]:
            told.append(f"--terminals {','.join(ends) or 'none'}")
        seen = [f"{v:g}" for scheme, v in self.adaptive if (scheme, v) not in self.estimators]
        if estimating and self.adaptive and seen != ["0.99", "0.95"]:
            told.append(f"--thresholds {','.join(seen) or 'none'}")
        usual = () if self.origin else usual_rivals(self.estimators)
        if estimating and self.rivals != usual:
            told.append(f"--rivals '{','.join(self.rivals) or 'none'}'")
        if self.label:
            told.append(f"--label {self.label}")
        if not self.recipes:
            told.append("--no-attacks")
        if not self.placebos:
            told.append("--no-placebos")
        if self.seed:
            told.append(f"--seed {self.seed}")
        return " ".join([f"python -m pidlib reproduce {self.kind}", *told])

    @property
    def cells(self) -> tuple[str, ...]:
        """Names of the attacks, adaptive ones included; each can be run by itself."""
        seen = [f"{ADAPTIVE}{r}" for r in self.recipes if self.adaptive or self.rivals]
        more = [f"{RESTARTED}{r}" for r in self.recipes if self.restarts and r in RANDOM]
        wide = [f"{WIDENED}{r}" for r in self.recipes if self.wide]
        return (*self.recipes, *seen, *more, *wide)

    def attacked(self, cell: str) -> int:
        """Rows that an attack takes."""
        most = self.swarm if cell.endswith("pso") else self.n
        return min(most, self.n, self.n if cell in self.recipes else self.adaptive_n)


def usual_rivals(estimators: tuple[tuple[str, str], ...]) -> tuple[str, ...]:
    """Rivals of a trial of estimating controls: each alone, and two together with a control.

    A corrector mends misspellings, so it goes with the controls that know synonyms.
    """
    wanted = ((WIENER, "words"), (TERMINAL, "both"))
    mended = [f"spelling{WITH}{control_name(*pair)}" for pair in wanted if pair in estimators]
    return (*RIVALS, *mended)


def fit_rows(data: str, n: int) -> Dataset:
    """Return the pairs that subspaces are fitted on when a model is judged on `data`.

    Captions: the training split. All else: SNLI's validation file without the held-out
    pairs, as in the training.
    """
    if data == "captions":
        return load_nli("captions", split="train", n=n)
    kept, _ = hold_out(load_nli("snli-validation"), HELD_OUT)
    return kept.select(range(min(n, len(kept))))


def held_rows(data: str) -> Dataset:
    """Rows that settings are chosen on: neither fitted on nor tested on."""
    if data == "captions":
        return load_nli("captions", split="validation", n=HELD_OUT)
    return hold_out(load_nli("snli-validation"), HELD_OUT)[1]
