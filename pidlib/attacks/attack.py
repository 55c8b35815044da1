"""Attacks on a classifier of text: four recipes, resumable, stored as edits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from warnings import warn

from pidlib.attacks.attacker import Engine, Explanation
from pidlib.attacks.outcomes import Outcome, OutcomeLog
from pidlib.attacks.synonyms import RESOURCES
from pidlib.data.batches import positions_of, token_lengths
from pidlib.data.edits import row_hash, word_spans
from pidlib.data.labels import label_names
from pidlib.data.perturbations import Candidates
from pidlib.data.rows import as_rows, text_keys
from pidlib.io.strict_json import shorten

RECIPES = ("a2t", "pso", "textbugger", "textfooler")


def attack(
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    recipe: str = "textfooler",
    resources: str | Candidates = "lexicon",
    seed: int = 0,
    *,
    ids: Sequence[int] | None = None,
    log: str | Path | None = None,
    data: str | None = None,
    about: Mapping[str, Any] | None = None,
    max_length: int = 256,
    budget: int | None = None,
    progress: bool = False,
) -> list[Outcome]:
    """Attack every row and return what became of it.

    Each row has its own random seed, made of `seed` and its id: a run in parts, resumed or in
    another order has the same outcomes. Raises ValueError for a setting out of range, ids that
    repeat or a log of another configuration, FileNotFoundError for resources that are not there.

    Parameters
    ----------
    model, tokenizer
        Sequence classifier with named labels. With a controller attached, the attacker sees
        the controlled model (an adaptive attack); without, the examples can be shown to a
        controlled model afterwards (a transfer attack, the paper's protocol).
    rows : rows of any kind that `PIDController.fit` takes, each with its label
        TextBugger changes premise and hypothesis, the other recipes only the hypothesis. A row
        without a word to change withstands, and a warning names it.
    recipe : str in `RECIPES`
    resources : str in `RESOURCES`, or Candidates; where synonyms come from
    seed, ids : int, and sequence of int (by default 0, 1, ...), the rows' places in their split
    log : path, optional; file of outcomes, taken up where it ends
    data, about : str and mapping, optional
        Name of the data, and what else must agree on resuming, such as a controller's settings.
    max_length : int, tokens a text; more is cut
    budget : int, optional; most queries an example, at least 2 (the first is for the text as it is)
    progress : bool, show a bar on standard error

    Returns
    -------
    list of Outcome

    Source: §3.1. Departure: resources, see `pidlib.attacks.recipes`.
    """
    rows, ids = _checked(model, rows, recipe, resources, seed, ids)
    if budget is not None and (isinstance(budget, bool) or budget < 2):
        raise ValueError(
            f"budget is {budget!r}; an attack needs at least 2 queries an example, one of "
            "them for the text as it is (None: no limit)"
        )
    token_lengths(tokenizer, rows, max_length, positions_of(model))  # refuses what is too long
    from tqdm.auto import tqdm  # speaks up in a notebook without widgets, so not before models

    engine = Engine(model, tokenizer, recipe, resources, seed, max_length, budget)
    file = None
    if log is not None:
        from pidlib.io.environment import machine, versions

        configuration = engine.configuration() | {"data": data, "about": dict(about or {})}
        file = OutcomeLog(log, configuration, {"versions": versions(), "machine": machine()})
    keyed, outcomes = list(zip(ids, rows, strict=True)), []
    for key, row in tqdm(keyed, recipe, unit="example", disable=not progress):
        outcome = file.done.get(key) if file else None
        if outcome is None:
            outcome = engine.attack(row, key)
            if file:
                file.append(outcome)
        elif outcome.row != row_hash(row):
            raise ValueError(f"{file.path.name} holds another text for row {key}; give another log")
        outcomes.append(outcome)
    wordless = [key for key, row in keyed if not word_spans(row[text_keys(row)[-1]])]
    if wordless:
        warn(
            f"no word could change in the rows {shorten(wordless)}; they stay as they are",
            stacklevel=2,
        )
    return outcomes


def explain(
    model: Any,
    tokenizer: Any,
    row: Mapping[str, Any],
    recipe: str = "textfooler",
    resources: str | Candidates = "lexicon",
    seed: int = 0,
    *,
    id: int = 0,
    max_length: int = 256,
) -> Explanation:
    """Attack one row and tell each step: the ranking of words, then each replacement.

    Parameters
    ----------
    model, tokenizer, recipe, resources, seed, max_length
        As for `attack`.
    row, id : mapping and int; with the same seed and id, the attack is the one of `attack`

    Returns
    -------
    Explanation

    Source: §3.1; the searches are TextAttack's.
    """
    (row,), _ = _checked(model, [row], recipe, resources, seed, [id])
    return Engine(model, tokenizer, recipe, resources, seed, max_length).explain(row, id)


def _checked(
    model: Any, rows: Any, recipe: str, resources: Any, seed: int, ids: Sequence[int] | None
) -> tuple[list[dict[str, Any]], list[int]]:
    """The rows with their labels as numbers, and their ids; what is wrong is refused."""
    if recipe not in RECIPES:
        raise ValueError(f"unknown recipe {recipe!r}; known: {list(RECIPES)}")
    if isinstance(resources, str) and resources not in RESOURCES:
        raise ValueError(f"unknown resources {resources!r}; known: {list(RESOURCES)}")
    if isinstance(seed, bool) or not isinstance(seed, int) or seed < 0:
        raise ValueError(f"seed is {seed!r}; it must be a whole number, at least 0")
    rows = as_rows(rows, label_names(model.config))
    ids = list(range(len(rows))) if ids is None else [int(k) for k in ids]
    if len(ids) != len(rows) or len(set(ids)) != len(ids) or min(ids) < 0:
        raise ValueError(f"{len(ids)} ids for {len(rows)} rows; give each its own, at least 0")
    return rows, ids
