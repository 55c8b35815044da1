"""Recorded answers as tidy tables: a row for each control and each set of rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pidbook.evaluation.trial_results import ADAPTIVE, RESTARTED, WIDENED, answers
from pidlib.evaluation.statistics import Paired, compare, conclude

if TYPE_CHECKING:
    import pandas as pd

CLEAN = "clean"
THREATS = {ADAPTIVE: "adaptive", RESTARTED: "restarted", WIDENED: "widened"}


def accuracy_table(result: Mapping[str, Any]) -> pd.DataFrame:
    """Return right answers: columns control, set, threat, attack, n, right, accuracy (in %)."""
    import pandas as pd

    rows = [
        {"control": control, "set": key, **_threat(key), "n": count["n"], "right": count["right"]}
        for control, sets in result["counts"].items()
        for key, count in sets.items()
    ]
    table = pd.DataFrame(rows)
    table["accuracy"] = 100 * table["right"] / table["n"]
    return table


def gains_table(
    result: Mapping[str, Any], over: str = "none", rows: int | None = None
) -> pd.DataFrame:
    """Return paired comparisons of every control with one condition, row by row.

    Parameters
    ----------
    result : mapping, with answers of each row
    over : str, the condition that the others are compared with
    rows : int, optional; only so many rows, the first

    Returns
    -------
    DataFrame
        control, set, threat, attack, n, right; then in points gain, low and high (95 %, unadjusted);
        won and lost (rows), p (exact McNemar), and answer, the word of `conclude` over all sets of
        one control and threat.
    """
    import pandas as pd

    if over not in result["examples"]:
        raise ValueError(f"no condition {over!r}; there are {sorted(result['examples'])}")
    records = []
    for control in result["examples"]:
        if control == over:
            continue
        pairs: dict[str, Paired] = {}
        for key in result["examples"][control]:
            bare = key.removeprefix(ADAPTIVE)
            if bare not in result["examples"][over]:
                continue
            found = answers(result, control, key)[:rows]
            pairs[key] = compare(answers(result, over, bare)[: len(found)], found)
        words = _words(pairs)
        for key, pair in pairs.items():
            low, high = pair.interval()
            records.append(
                {
                    "control": control,
                    "set": key,
                    **_threat(key),
                    "n": pair.n,
                    "right": int(answers(result, control, key)[:rows].sum()),
                    "gain": 100 * pair.gain,
                    "low": 100 * low,
                    "high": 100 * high,
                    "won": pair.won,
                    "lost": pair.lost,
                    "p": pair.p,
                    "answer": words[key],
                }
            )
    return pd.DataFrame(records)


def _words(pairs: Mapping[str, Paired]) -> dict[str, str]:
    """The word for each set, corrected over the sets of one threat."""
    words: dict[str, str] = {}
    for threat in {_threat(key)["threat"] for key in pairs}:
        words |= conclude({key: p for key, p in pairs.items() if _threat(key)["threat"] == threat})
    return words


def _threat(key: str) -> dict[str, str]:
    """Threat and attack of a set by its name."""
    for prefix, threat in THREATS.items():
        if key.startswith(prefix):
            return {"threat": threat, "attack": key.removeprefix(prefix)}
    if key == CLEAN:
        return {"threat": CLEAN, "attack": ""}
    return {"threat": "transfer", "attack": key}


def over_bare(
    result: Mapping[str, Any],
    defences: Mapping[str, str],
    sets: Mapping[str, str],
    n: int | None = None,
    bare: Mapping[str, Any] | None = None,
    together: str = "defence",
) -> pd.DataFrame:
    """Compare defences with the bare model on the same pairs, under the names of a page.

    Parameters
    ----------
    result : mapping, with answers of each row
    defences, sets : mapping of str to str; a condition or set of the result, and its name
    n : int, optional; only the first n pairs
    bare : mapping, optional; the result with the bare model, if another
    together : "defence" or "text", as for `in_points`

    Returns
    -------
    DataFrame, as from `in_points`
    """
    pairs = {}
    for name, defence in defences.items():
        for key, text in sets.items():
            right = answers(result, name, key)[:n]
            without = answers(bare or result, "none", key.removeprefix(ADAPTIVE))
            pairs[defence, text] = compare(without[: len(right)], right)
    return in_points(pairs, together)


def in_points(pairs: Mapping[tuple[str, str], Paired], together: str = "defence") -> pd.DataFrame:
    """Return comparisons of (defence, text) as rows: gain, 95 % interval, word after Holm.

    Parameters
    ----------
    pairs : mapping
    together : "defence" or "text"
        Holm's correction runs over the texts of one defence, or over the defences of one text.

    Returns
    -------
    DataFrame
        defence, text, n, won, lost; then in points gain, low and high; and answer.
    """
    import pandas as pd

    place = ("defence", "text").index(together)
    words: dict[tuple[str, str], str] = {}
    for one in dict.fromkeys(key[place] for key in pairs):
        words |= conclude({key: pair for key, pair in pairs.items() if key[place] == one})
    rows = []
    for (defence, text), pair in pairs.items():
        low, high = pair.interval()
        row = {"defence": defence, "text": text, "n": pair.n, "won": pair.won, "lost": pair.lost}
        row |= {"gain": 100 * pair.gain, "low": 100 * low, "high": 100 * high}
        rows.append(row | {"answer": words[defence, text]})
    return pd.DataFrame(rows)
