"""What a trial consists of: data, attacks, controls, and what to compare them with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from experiments.experiment import Experiment, all_known
from pidbook.evaluation.trial_results import ADAPTIVE, CONTROLS, RESTARTED, WIDENED, control_name
from pidlib.attacks.attack import RECIPES
from pidlib.attacks.synonyms import SOURCES
from pidlib.data.perturbations import MIXES
from pidlib.estimation.estimator import TERMINAL

WIENER = "wiener"
RIVALS = ("fine-tuned", "spelling", "encoding", "spelling and encoding")
IN_LOOP = "fine-tuned-in-loop"  # only with a control, which is in place during the training
WITH = " + "  # between a rival and the control that it works with
RANDOM = ("pso", "textbugger")  # recipes that another seed changes
JUDGE = "judge"  # the part of a trial that comes after the attacks


class Cell(NamedTuple):
    """One attack of a trial: which chance of the attacker, and the recipe."""

    chance: str
    recipe: str

    @property
    def name(self) -> str:
        """Name of the attack in result files."""
        return self.chance + self.recipe

    @property
    def again(self) -> bool:
        """Whether it attacks what withstood an attack."""
        return self.chance in (RESTARTED, WIDENED)


@dataclass(frozen=True)
class Trial(Experiment):
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
    placebos: tuple[tuple[str, float | str], ...] = (("PD", 0.99), ("PD", 0.95))
    adaptive: tuple[tuple[str, float | str], ...] = ()
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
        if self.data == "snli-validation":
            raise ValueError("subspaces are fitted on snli-validation; judge on another file")
        all_known("recipe", self.recipes, RECIPES)
        estimating = [(rule, mix) for rule in (WIENER, TERMINAL) for mix in MIXES]
        all_known("estimating control", self.estimators, estimating)
        chosen = [control_name(*pair) for pair in self.estimators]
        paired = [f"{rival}{WITH}{name}" for rival in (*RIVALS, IN_LOOP) for name in chosen]
        all_known("rival", self.rivals, (*RIVALS, *paired))
        all_known("words_from", (self.words_from,), ("", *SOURCES))
        known = (*self.controls, *self.estimators)
        for pair in (*self.placebos, *self.adaptive):
            if pair not in known:
                raise ValueError(f"{pair} is not among the controls {known}")
        if self.label and not self.label.replace("-", "").isalnum():
            raise ValueError(f"label {self.label!r}: give letters, digits and hyphens")
        if self.wide and self.resources != "ppdb":
            raise ValueError(f"resources {self.resources!r} have no wide form; 'ppdb' has")

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
    def cells(self) -> tuple[Cell, ...]:
        """The attacks, adaptive ones included; each can be run by itself."""
        recipes = {
            "": self.recipes,
            ADAPTIVE: self.recipes if self.adaptive or self.rivals else (),
            RESTARTED: [r for r in self.recipes if self.restarts and r in RANDOM],
            WIDENED: self.recipes if self.wide else (),
        }
        return tuple(Cell(chance, r) for chance, of in recipes.items() for r in of)

    @property
    def parts(self) -> tuple[str, ...]:
        """The attacks by name, and the verdict."""
        return (*(cell.name for cell in self.cells), JUDGE)

    def attacked(self, cell: Cell) -> int:
        """Rows that an attack takes."""
        most = self.swarm if cell.recipe == "pso" else self.n
        return min(most, self.adaptive_n if cell.chance else self.n, self.n)
