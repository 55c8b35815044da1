"""What a trial consists of: data, attacks, controls, and what to compare them with."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from pidbook.evaluation.trial_results import ADAPTIVE, CONTROLS, control_name
from pidlib.attacks.attack import RECIPES
from pidlib.io.files import as_json

JUDGE = "judge"  # the part of a trial that comes after the attacks


def all_known(what: str, values: Collection[Any], known: Collection[Any]) -> None:
    """Refuse a value that is none of those known, by name."""
    for value in values:
        if value not in known:
            raise ValueError(f"unknown {what} {value!r}; known: {list(known)}")


class Cell(NamedTuple):
    """One attack of a trial: whether it sees the control ("" or "adaptive "), and the recipe."""

    chance: str
    recipe: str

    @property
    def name(self) -> str:
        """Name of the attack in result files."""
        return self.chance + self.recipe


@dataclass(frozen=True)
class Trial:
    """One model on one data set: every attack, every control, and what to compare them with."""

    data: str = "captions"
    model: str = "minilm-nli"
    n: int = 1000
    swarm: int = 1000
    clean: int = 2000
    recipes: tuple[str, ...] = RECIPES
    resources: str = "lexicon"
    controls: tuple[tuple[str, float], ...] = CONTROLS
    placebos: tuple[tuple[str, float], ...] = (("PD", 0.99), ("PD", 0.95))
    adaptive: tuple[tuple[str, float], ...] = ()
    adaptive_n: int = 1000
    second: str | None = "minilm-nli-second"
    c: float = 1e-3
    fitted_on: int = 2000
    seed: int = 0
    __pydantic_config__ = {"extra": "forbid", "strict": True, "allow_inf_nan": False}

    def __post_init__(self) -> None:
        if not 1 <= self.n <= self.clean:
            raise ValueError(f"n = {self.n} and clean = {self.clean}; need 1 <= n <= clean")
        if self.data == "snli-validation":
            raise ValueError("subspaces are fitted on snli-validation; judge on another file")
        all_known("recipe", self.recipes, RECIPES)
        for pair in (*self.placebos, *self.adaptive):
            if pair not in self.controls:
                raise ValueError(f"{pair} is not among the controls {self.controls}")

    @property
    def name(self) -> str:
        """Stem of the result file."""
        return f"trial-{self.data}-{self.model}"

    @property
    def configuration(self) -> dict[str, Any]:
        """All that decides the outcome besides data and model, as JSON holds it."""
        return as_json(asdict(self))

    @property
    def attacked_controls(self) -> list[str]:
        """Names of the controls that are attacked by themselves."""
        return [control_name(*pair) for pair in self.adaptive]

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The attacks, adaptive ones included; each can be run by itself."""
        chances = ("", ADAPTIVE) if self.adaptive else ("",)
        return tuple(Cell(chance, recipe) for chance in chances for recipe in self.recipes)

    @property
    def parts(self) -> tuple[str, ...]:
        """The attacks by name, and the verdict."""
        return (*(cell.name for cell in self.cells), JUDGE)

    def attacked(self, cell: Cell) -> int:
        """Rows that an attack takes."""
        most = self.swarm if cell.recipe == "pso" else self.n
        return min(most, self.adaptive_n if cell.chance else self.n, self.n)
