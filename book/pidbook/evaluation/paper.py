"""Tables in the paper's layout, the paper's values and ours in one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

from pidbook.evaluation.results import is_stale, read_result
from pidbook.evaluation.trial_results import proportions

ATTACKS = {
    "None": "clean",
    "A2T": "a2t",
    "PSO": "pso",
    "TextBugger": "textbugger",
    "TextFooler": "textfooler",
}
TRAININGS = {"standard": "minilm-nli", "AT": "minilm-nli-a2t", "FreeLB": "minilm-nli-freelb"}
MODELS = ("DistilBERT", "RoBERTa-base", "BERT-large", "RoBERTa-large")
DATA = ("snli-test", "sick-test", "mnli-matched")
OURS = "MiniLM (ours)"
TABLES = Path(__file__).with_name("paper_tables.json")
SCHEMES = ("P", "P-I", "P-D", "P-I-D")
_FIRST = {"opt": "dataset", "pmp": "variance_threshold"}  # what else but the training tells apart


def paper_table(name: str) -> list[dict]:
    """Records of one of the paper's tables, one number each.

    Parameters
    ----------
    name : str
        `opt`, `anli`, `ablation`, `pmp`, `wall_time`, `theorem_error`, `ranks`, `snli` or `mnli`:
        Tables 1 to 9 in the order of the LaTeX.

    Returns
    -------
    list of dict

    Examples
    --------
    >>> len(paper_table("snli"))
    120

    Source: Tables 1 to 9.
    """
    tables = json.loads(TABLES.read_text(encoding="utf-8"))
    names = [key for key in tables if not key.startswith("_")]
    if name not in names:
        raise ValueError(f"unknown table {name!r}; known: {names}")
    return tables[name]["rows"]


@cache
def accuracy(table: str) -> dict[tuple, float]:
    """Accuracies that the paper prints, by training (or what `_FIRST` says), model, attack, method."""
    fields = (_FIRST.get(table, "training"), "model", "attack", "method")
    return {tuple(row[field] for field in fields): row["accuracy"] for row in paper_table(table)}


def recorded_trials(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """Read the trials that were recorded on real data; refuse those of another adapter than ours.

    Parameters
    ----------
    folder : Path, where files `trial-DATA-MODEL.json` are

    Returns
    -------
    dict of (data, training) to result, such as `["snli-test", "AT"]`
    """
    trials = {}
    for data, (training, name) in product(DATA, TRAININGS.items()):
        path = Path(folder) / f"trial-{data}-{name}.json"
        if path.is_file():
            trials[data, training] = result = read_result(path)
            if stale := is_stale(result, model=name):
                raise ValueError(f"{path.name} is stale: {stale[0]}; record it again")
    return trials


def scheme_rows(results: Mapping[str, Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Lay out the accuracy of each scheme in percent, and the highest, as the paper's Table 3 does.

    Parameters
    ----------
    results : mapping of training to our recorded trial

    Returns
    -------
    list of dict, a row for each training, model and attack
    """
    value, rows = accuracy("ablation"), []
    attacks = dict(list(ATTACKS.items())[1:])
    for training in TRAININGS:
        cells = {
            (model, attack): {s: value[training, model, attack, s] for s in SCHEMES}
            for model, attack in product(MODELS, attacks)
        }
        if training in results:
            shares = proportions(results[training])
            cells |= {
                (OURS, attack): {s: 100 * shares[f"{s} 99 %"][key].value for s in SCHEMES}
                for attack, key in attacks.items()
            }
        for (model, attack), cell in cells.items():
            top = max(cell.values()) - 1e-9
            highest = " = ".join(scheme for scheme, share in cell.items() if share > top)
            row = {"training": training, "model": model, "attack": attack}
            rows.append(row | cell | {"highest": highest})
    return rows
