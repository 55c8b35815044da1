"""Tables in the paper's layout, the paper's values and ours in one."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pidlib.evaluation.results import is_stale, paper_table, read_result
from pidlib.evaluation.trial_results import ADAPTIVE, gains_over_none, proportions

ATTACKS = {
    "None": "clean",
    "A2T": "a2t",
    "PSO": "pso",
    "TextBugger": "textbugger",
    "TextFooler": "textfooler",
}
TRAININGS = {"standard": "minilm-nli", "AT": "minilm-nli-a2t", "FreeLB": "minilm-nli-freelb"}
DATA = ("snli-test", "sick-test", "mnli-matched")
OURS = "MiniLM (ours)"


def recorded_trials(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Read the trials that were recorded on real data, by data set and training.

    Parameters
    ----------
    folder : Path
        Holds files `trial-DATA-MODEL.json`; those that are missing are left out.

    Returns
    -------
    dict of (data, training) to result
        For example `["snli-test", "AT"]`.

    Raises
    ------
    ValueError
        A result of another adapter than the one that ships: it is stale.
    """
    found = {}
    for data in DATA:
        for training, name in TRAININGS.items():
            path = Path(folder) / f"trial-{data}-{name}.json"
            if path.is_file():
                result = read_result(path)
                if stale := is_stale(result, model=name):
                    raise ValueError(f"{path.name} is stale: {stale[0]}; record it again")
                found[data, training] = result
    return found


def robustness_rows(
    table: str, results: Mapping[str, Mapping[str, Any]], control: str = "P-D 99 %"
) -> list[dict[str, str]]:
    """Lay out base and controlled accuracy as the paper's Tables 8 and 9 do.

    Parameters
    ----------
    table : {"snli", "mnli"}
        The paper's table.
    results : mapping of str to result
        Our recorded trials by training ("standard", "AT", "FreeLB").
    control : str
        The control of ours that is shown.

    Returns
    -------
    list of dict
        One row a training and model: accuracy in percent, base / controlled, by attack.

    Source: Tables 8 and 9.
    """
    value = {
        (r["training"], r["model"], r["attack"], r["method"]): r["accuracy"]
        for r in paper_table(table)
    }
    models = list(dict.fromkeys(model for _, model, _, _ in value))
    rows = []
    for training in TRAININGS:
        for model in models:
            cells = {
                attack: f"{value[training, model, attack, 'base']:.2f}/"
                f"{value[training, model, attack, 'controlled']:.2f}"
                for attack in ATTACKS
            }
            rows.append({"training": training, "model": model, **cells})
        if training in results:
            shares = proportions(results[training])
            cells = {
                attack: f"{100 * shares['none'][key].value:.1f}/"
                f"{100 * shares[control][key].value:.1f}"
                for attack, key in ATTACKS.items()
            }
            rows.append({"training": training, "model": OURS, **cells})
    return rows


def scheme_rows(
    results: Mapping[str, Mapping[str, Any]], variance: float = 0.99
) -> list[dict[str, Any]]:
    """Lay out the accuracy of each scheme as the paper's Table 3 does.

    Parameters
    ----------
    results : mapping of str to result
        Our recorded trials by training.
    variance : float
        Our threshold.

    Returns
    -------
    list of dict
        One row a training, model and attack: accuracy in percent by scheme, and which is
        the highest.

    Source: Table 3.
    """
    schemes = ("P", "P-I", "P-D", "P-I-D")
    value = {
        (r["training"], r["model"], r["attack"], r["method"]): r["accuracy"]
        for r in paper_table("ablation")
    }
    models = list(dict.fromkeys(model for _, model, _, _ in value))
    rows = []
    for training in TRAININGS:
        for model in models:
            for attack in list(ATTACKS)[1:]:
                cells = {s: value[training, model, attack, s] for s in schemes}
                rows.append(_best(training, model, attack, cells))
        if training in results:
            shares = proportions(results[training])
            for attack, key in list(ATTACKS.items())[1:]:
                cells = {s: 100 * shares[f"{s} {100 * variance:g} %"][key].value for s in schemes}
                rows.append(_best(training, OURS, attack, cells))
    return rows


def adaptive_gains(
    result: Mapping[str, Any], control: str
) -> dict[str, tuple[float, float, float, int]]:
    """Gains of a control in points: on clean text, and against attackers who see it."""
    gains, found = gains_over_none(result, control), {}
    for attack, key in ATTACKS.items():
        pair = gains.get(key if attack == "None" else ADAPTIVE + key)
        if pair is None:
            raise ValueError(f"{result['name']} has no adaptive {attack} against {control!r}")
        low, high = pair.interval()
        found[attack] = (100 * pair.gain, 100 * low, 100 * high, pair.n)
    return found


def _best(training: str, model: str, attack: str, cells: Mapping[str, float]) -> dict[str, Any]:
    top = max(cells.values())
    names = [name for name, cell in cells.items() if cell > top - 1e-9]
    row = {"training": training, "model": model, "attack": attack, **cells}
    return row | {"highest": " = ".join(names)}
