"""What a controller does to clean text, as a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from tabulate import tabulate
from torch import Tensor

from pidlib.laws import strengths


@dataclass(frozen=True)
class LayerDiagnosis:
    """One state of a controller, on clean text (Table 7).

    Attributes
    ----------
    t, controlled : int, bool
    ranks, bias : dict of term to int, float; bias is E||Q^i x||^2 / E||x||^2
    weighted_bias : float, sum of K_i times the bias of term i
    size : float, sqrt(E||u||^2 / E||x||^2) without feedback; for "residual" a bound
    alpha : float, alpha_t(1), what is left of a direction off every subspace
    forms : tuple of str, "dense", or "thin m" with m columns
    """

    t: int
    controlled: bool
    ranks: dict[str, int]
    bias: dict[str, float]
    weighted_bias: float
    size: float
    alpha: float
    forms: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """A controller, state by state; `print` shows it as a table.

    Attributes
    ----------
    rows : tuple of LayerDiagnosis
    summary, width : str, int
    """

    rows: tuple[LayerDiagnosis, ...]
    summary: str
    width: int

    @classmethod
    def of(cls, controller: Any) -> Diagnosis:
        """Look into a `PIDController`, from what its fit learnt."""
        alpha = 1.0 - strengths(controller.depth, controller.c)
        bases, variance, rows = controller.bases, controller.variance, []
        for t in range(controller.depth):
            moment, kinds = bases.moment(t), controller.feedback.get(t, {})
            total, offs = float(moment.trace()), controller.projections(t, bases.values)
            bias = {i: float((q * moment).sum()) / total for i, q in offs.items()}
            rows.append(
                LayerDiagnosis(
                    t=t,
                    controlled=t in controller.feedback,
                    ranks={i: bases.rank(i, t, variance) for i in offs},
                    bias=bias,
                    weighted_bias=sum((g * bias[i] for i, g in controller.weights.items()), 0.0),
                    size=_size(controller, t, moment),
                    alpha=float(alpha[t]),
                    forms=tuple(gain.form for gain in kinds.values()),
                )
            )
        return cls(tuple(rows), controller.summary(), controller.origin.width)

    def records(self) -> list[dict[str, Any]]:
        """Return the rows as flat dictionaries, for a table or a data frame."""
        return [
            {"t": row.t, "controlled": "yes" if row.controlled else "no"}
            | {f"rank {i}": rank for i, rank in row.ranks.items()}
            | {f"bias {i}": bias for i, bias in row.bias.items()}
            | {"bias": row.weighted_bias, "|u|/|x|": row.size, "alpha": row.alpha}
            | {"product": " ".join(row.forms) or "-"}
            for row in self.rows
        ]

    def __str__(self) -> str:
        """Table with the summary above it."""
        records = self.records()
        lines = [{head: _text(value) for head, value in record.items()} for record in records]
        right = ("right",) * len(lines[0])
        table = tabulate(lines, "keys", "plain", colalign=right, disable_numparse=True)
        return "\n".join([self.summary, f"ranks out of {self.width}", table])


def _text(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.4f}" if value >= 1e-4 or value == 0 else f"{value:.1e}"


def _size(controller: Any, t: int, moment: Tensor) -> float:
    """Root mean square of u_t over that of x_t; for "residual" a bound on it."""
    kinds, total = controller.feedback.get(t, {}), float(moment.trace())
    if controller.law != "residual":
        matrices = [gain.matrix() for gain in kinds.values()]
        return sum(math.sqrt(float((k @ moment * k).sum()) / total) for k in matrices)
    share = float(strengths(controller.depth, controller.c)[t])
    weights, variance, values = controller.weights, controller.variance, controller.bases.values
    rest = {i: values[i][t][controller.bases.rank(i, t, variance) :] for i in kinds}
    return sum(share * weights[i] * math.sqrt(float(v.sum()) / total) for i, v in rest.items())


class Records(list):
    """Rows of a table that need no other form."""

    def records(self) -> list[dict[str, Any]]:
        """Return the rows."""
        return list(self)
