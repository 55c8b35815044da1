"""What the trials of the six open questions recorded, row by row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pidbook.data import CORRUPTIONS
from pidbook.evaluation.results import Names
from pidbook.evaluation.trial_results import answers, unpack
from pidlib.evaluation import bootstrap, compare


def difference(
    before: np.ndarray,
    after: np.ndarray,
    scale: float = 1,
    sources: Sequence[int] | None = None,
) -> dict[str, float]:
    """Mean over rows of `after` less `before`, times a scale, with its 95 % interval.

    Of right answers the interval is Tango's, of other numbers a bootstrap's; with the source of
    each row, sources are resampled, not rows.
    """
    steps = np.asarray(after, float) - before
    if sources is not None:
        by_source = pd.Series(steps).groupby(list(sources)).agg(["sum", "size"]).to_numpy()
        n = len(by_source)
        drawn = np.random.default_rng(0).multinomial(n, [1 / n] * n, 10_000) @ by_source
        low, high = np.percentile(drawn[:, 0] / drawn[:, 1], [2.5, 97.5])
    elif after.dtype == bool:
        low, high = compare(before, after).interval()
    else:
        low, high = bootstrap(steps)
    return {"gain": scale * steps.mean(), "low": scale * low, "high": scale * high}


def mean_right(result: Mapping[str, Any], control: str, sets: Sequence[str]) -> np.ndarray:
    """Of each row, the share of some sets in which a control answers rightly."""
    return np.mean([answers(result, control, key) for key in sets], axis=0)


def corrupted_sets(result: Mapping[str, Any]) -> list[str]:
    """Names of the sets of corrupted pictures of a trial."""
    return [key for key in result["examples"]["none"] if key.rpartition(" ")[0] in CORRUPTIONS]


def contrast_sources(contrast: Mapping[str, Any]) -> list[int]:
    """Which pair of SNLI each of the 200 contrast pairs of the Jacobians' trial was made from."""
    return [edit[0] for edit in contrast["edits"] if edit[0] >= 3000][:200]


def right_after(
    attack: Mapping[str, Any], search: str, model: str = "none", questions: int = 48
) -> np.ndarray:
    """Whether each row is still right after so many questions of an attack, (200,)."""
    budget = attack["configuration"]["budget"]
    if questions > budget:
        raise ValueError(f"{questions} questions; on record are at most {budget}")
    recorded = attack["examples"][model]
    searches = attack["configuration"]["searches"]
    if search not in searches:  # the record of a model has other names, too
        raise ValueError(f"no search {search!r}; there are {searches}")
    turned_at = np.array(recorded[search], dtype=float)  # the question; nan: never
    return unpack(recorded["clean"], 200) & ~(turned_at <= questions)


def notices(fairness: Mapping[str, Any], contender: str, known: bool = True) -> np.ndarray:
    """Whether an answer is no longer "entailed" once one of two persons is swapped, (pairs,).

    Pairs all of whose words the fit knows, or those with others.
    """
    recorded = Names(fairness["answers"] | fairness["rules"])
    digits = recorded[contender]["contrast"]  # one a pair; 0: entailed
    given = np.array(list(digits))
    return (given != "0")[np.array(list(fairness["size"]["contrast, known"])) == str(int(known))]


def steered(
    steering: Mapping[str, Any], law: str, what: str = "log_odds", over: str = "none"
) -> np.ndarray:
    """Change of log-odds or loss by a steering law over another one, of each text."""
    examples = steering["examples"]
    return np.array(examples[law][what]) - np.array(examples[over][what])


def steered_at_harm(steering: Mapping[str, Any], law: str, harm: float = 0.1) -> np.ndarray:
    """Log-odds that a steering law wins in each text at one mean harm, between its strengths."""
    names = [f"{law}, {size:g}" for size in steering["configuration"]["sizes"]]
    harms = [steered(steering, name, "loss").mean() for name in names]
    won = np.array([steered(steering, name) for name in names])
    return np.array([np.interp(harm, harms, of_text) for of_text in won.T])


def six_pairs(
    jacobians: Mapping[str, Any],
    contrast: Mapping[str, Any],
    attack: Mapping[str, Any],
    pictures: Mapping[str, Any],
    fairness: Mapping[str, Any],
    steering: Mapping[str, Any],
) -> pd.DataFrame:
    """An idea of the paper beside its rival in each of six trials, a row a trial.

    Columns question, counted (what, with its unit), idea, rival (names), of_idea, of_rival
    (numbers), digits (as many as are shown), gain, low, high (idea less rival, and its interval).
    """
    laws = ("PD, 0.001", "LQR running, P-D, 0.001", "learnt gains, equal total")
    sets = ("clean", "textfooler", "contrast")
    right = {}
    for law in laws:
        right[law] = np.concatenate([answers(jacobians, law, key) for key in sets])
    pairs = [*range(200), *range(200), *contrast_sources(contrast)]
    at_first = right_after(attack, "random", questions=0)
    turned = {
        search: at_first & ~right_after(attack, search)
        for search in ("running loss", "gradient beam")
    }
    corrupted = corrupted_sets(pictures)
    named = {law: mean_right(pictures, law, corrupted) for law in ("none", "P-D 99 %")}
    seen = {
        law: notices(fairness, law) for law in ("word by word, rank 4", "one canonical version")
    }
    pushed = {law: steered_at_harm(steering, law) for law in ("addition", "feedback")}
    trials = [
        # question, counted, names of (idea, rival), numbers of (idea, rival), scale, digits
        ["Measured blocks in the formula", "right answers of 600",
         ("measured blocks", "the paper’s formula"),
         (right["LQR running, P-D, 0.001"], right["PD, 0.001"]), 600, 0],
        ["Weights by search", "right answers of 600",
         ("searched weights", "the paper’s weights"),
         (right["learnt gains, equal total"], right["PD, 0.001"]), 600, 0],
        ["A new attack", f"answers turned wrong, of {at_first.sum()}",
         ("by the paper’s loss", "by the usual search"),
         (turned["running loss"], turned["gradient beam"]), 200, 0],
        ["Bad pictures", "named rightly, %",
         ("the paper’s control", "no control"),
         (named["P-D 99 %"], named["none"]), 100, 1],
        ["Fairness, second test", "swaps of one person noticed, of 221",
         ("erase gender from each word", "rewrite the words first"),
         (seen["word by word, rank 4"], seen["one canonical version"]), 221, 0],
        ["Steering", "log-odds of good words, at equal harm",
         ("the paper’s feedback", "adding one vector"),
         (pushed["feedback"], pushed["addition"]), 1, 2],
    ]  # fmt: skip
    rows = []
    for question, counted, (idea, rival), (of_idea, of_rival), scale, digits in trials:
        row = {"question": question, "counted": counted, "idea": idea, "rival": rival}
        row |= {"of_idea": scale * of_idea.mean(), "of_rival": scale * of_rival.mean()}
        row["digits"] = digits
        row |= difference(of_rival, of_idea, scale, pairs if scale == 600 else None)
        rows.append(row)
    return pd.DataFrame(rows)
