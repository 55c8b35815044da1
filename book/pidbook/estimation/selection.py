"""Choose the strength and the depth of an estimating control on held-out text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from pidlib.data.perturbations import Perturb, perturbed_rows
from pidlib.estimation.estimator import TERMINAL, Estimator
from pidlib.evaluation.accuracy import right_answers

RHOS = (0.5, 1.0, 2.0)
LOSS = 0.01


class TrialSetting(NamedTuple):
    """One setting on held-out rows."""

    rho: float
    last: int
    clean: float
    perturbed: float


class Selection(NamedTuple):
    """What was chosen, out of what; it need not help, so compare it with the first of those tried.

    Attributes
    ----------
    estimator : Estimator, or None where no setting keeps the clean loss small
    tried : tuple of Tried, the first of no control
    chosen : Tried
    """

    estimator: Estimator | None
    tried: tuple[TrialSetting, ...]
    chosen: TrialSetting


def best_affordable(tried: Sequence[Any], loss: float = LOSS) -> Any:
    """Of settings that lose at most `loss` of the first's clean share, the best; or else the first."""
    affordable = [one for one in tried[1:] if tried[0].clean - one.clean <= loss + 1e-12]
    return max(affordable, key=lambda one: one.perturbed, default=tried[0])


def choose(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    held: Sequence[Mapping[str, Any]],
    perturbed: Perturb,
    rhos: Sequence[float] = RHOS,
    loss: float = LOSS,
    rule: str = "regression",
    seed: int = 0,
    report: Callable[[str], None] = lambda _: None,
) -> Selection:
    """Fit for several rho and cut each at every depth; judge on held-out rows.

    Of the settings that lose at most `loss` of clean accuracy on the held-out rows, the one
    with the most right answers on their perturbed form is taken. No attacked text is used.

    Parameters
    ----------
    model, tokenizer, perturbed, rule, seed, report
        As for `Estimator.fit`; the held-out rows get other draws.
    rows, held : sequence of mappings, text of the fit, and labelled rows that are not among it
    rhos, loss : sequence of float, and float from 0 to 1

    Returns
    -------
    Selection
    """
    if not rhos or len(held) == 0:
        raise ValueError(f"rhos {list(rhos)}, {len(held)} held-out rows: give at least one of each")
    sets = held, [row for row, _ in perturbed_rows(held, perturbed, seed + 1)]

    def judged(rho: float, last: int) -> TrialSetting:
        shares = (float(right_answers(model, tokenizer, part).mean()) for part in sets)
        return TrialSetting(rho, last, *shares)

    tried, controls = [judged(0.0, -1)], [None]
    for rho in rhos:
        settings = {"rho": rho, "rule": rule, "seed": seed, "report": report}
        whole = Estimator.fit(model, tokenizer, rows, perturbed, **settings)
        # Maps of the terminal rule are fitted together, so none can go.
        lasts = whole.controlled[-1:] if rule == TERMINAL else whole.controlled
        for control in map(whole.up_to, lasts):
            with control.attached(model):
                tried.append(judged(float(rho), control.controlled[-1]))
            controls.append(control)
            _, last, clean, changed = tried[-1]
            report(f"rho {rho:g}, x_0 to x_{last}: clean {clean:.3f}, perturbed {changed:.3f}")
    chosen = best_affordable(tried, loss)
    return Selection(controls[tried.index(chosen)], tuple(tried), chosen)
