"""Recorded trials in the frame of the paper's tables: accuracies, and gains with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from pidbook.evaluation.fewer_words import GREEDY, answers_within
from pidbook.evaluation.paper import paper_table
from pidbook.evaluation.tidy import gains_table
from pidbook.evaluation.trial_results import answers
from pidlib.evaluation import bootstrap, compare

TEXTS = {  # sets of a trial, as the paper names its texts
    "clean": "clean",
    "a2t": "A2T",
    "pso": "PSO",
    "textbugger": "TextBugger",
    "textfooler": "TextFooler",
}
RECIPES = tuple(TEXTS)[1:]


def published(name: str) -> pd.DataFrame:
    """A table of the paper: accuracy in % without control and with it, a row a text."""
    rows = pd.DataFrame(paper_table(name)).replace({"attack": {"None": "clean"}})
    keys = ["dataset", "training", "model", "attack"]
    wide = rows.pivot_table("accuracy", keys, "method", sort=False).reset_index()
    wide["gain"] = wide["controlled"] - wide["base"]
    return wide.rename(columns={"attack": "text"})


def measured(
    result: Mapping[str, Any],
    control: str = "P-D 99 %",
    over: str = "none",
    rows: int | None = None,
) -> pd.DataFrame:
    """A trial of ours likewise, with interval and verdict; the first `rows` of each set."""
    if control not in result["examples"]:
        raise ValueError(f"no {control!r} on record; there are {sorted(result['examples'])}")
    both = [over, control]
    only_these = {
        "examples": {name: result["examples"][name] for name in both},
        "counts": {name: result["counts"][name] for name in both},
    }
    table = gains_table(only_these, over=over, rows=rows)
    table["text"] = table["set"].str.removeprefix("adaptive ").map(TEXTS)
    table["controlled"] = 100 * table["right"] / table["n"]
    table["base"] = table["controlled"] - table["gain"]
    return table


def without_adaptive(trials: Mapping[str, Any], rows: int | None = None) -> pd.DataFrame:
    """Clean text and transfer, of a trial a training."""
    tables = {name: measured(trial, rows=rows) for name, trial in trials.items()}
    table = pd.concat(tables, names=["training"]).reset_index("training")
    return table[table["threat"] != "adaptive"].assign(model="MiniLM (ours)")


def random_push(result: Mapping[str, Any], control: str, recipe: str) -> np.ndarray:
    """Share of two draws of a random push as long as the control's that a row survives."""
    return np.mean([answers(result, f"{control}: noise {k}", recipe) for k in (0, 1)], axis=0)


def push_gains(
    result: Mapping[str, Any],
    control: str,
    rows: int | None = None,
    texts: Iterable[str] = RECIPES,
) -> pd.DataFrame:
    """Gain of a random push over the bare model, a row a text: "clean", or an attack in transfer."""
    records = []
    for text in texts:
        steps = random_push(result, control, text) - answers(result, "none", text)
        low, high = bootstrap(steps[:rows])
        record = {"text": TEXTS[text], "gain": 100 * steps[:rows].mean()}
        records.append(record | {"low": 100 * low, "high": 100 * high})
    return pd.DataFrame(records)


def leads_over_push(result: Mapping[str, Any], control: str) -> pd.DataFrame:
    """Right answers under a control less those under random pushes of its length, in transfer."""
    records = []
    for recipe in RECIPES:
        lead = answers(result, control, recipe) - random_push(result, control, recipe)
        low, high = bootstrap(lead)
        record = {"text": TEXTS[recipe], "gain": 100 * lead.mean()}
        records.append(record | {"low": 100 * low, "high": 100 * high})
    return pd.DataFrame(records)


def with_fewer_words(
    trial: Mapping[str, Any], control: str, limits: Mapping[str, int], rows: int
) -> pd.DataFrame:
    """Gains over the bare model under each greedy attack, by the words that it may change.

    limits: name to number of words. Columns group (attack), row (limit), who, bare (accuracy in %
    of the bare model), gain, low, high, p.
    """
    records = []
    for recipe in GREEDY:
        for limit, most in limits.items():
            bare = answers_within(trial, "none", "transfer", recipe, most, rows)
            for threat in ("transfer", "adaptive"):
                right = answers_within(trial, control, threat, recipe, most, rows)
                pair = compare(bare, right)
                low, high = pair.interval()
                record = {"group": TEXTS[recipe], "row": limit, "who": f"control, {threat}"}
                record |= {"bare": 100 * bare.mean(), "gain": 100 * pair.gain}
                records.append(record | {"low": 100 * low, "high": 100 * high, "p": pair.p})
    return pd.DataFrame(records)
