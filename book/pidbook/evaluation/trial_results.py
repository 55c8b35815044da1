"""Read what a trial recorded: attacked rows, right answers, gains."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pidlib.attacks.outcomes import read_outcomes, transfer_rows
from pidlib.evaluation.statistics import Paired, Proportion, compare

if TYPE_CHECKING:
    from datasets import Dataset

CONTROLS = tuple((scheme, v) for v in (0.99, 0.95) for scheme in ("P", "PI", "PD", "PID"))
ADAPTIVE = "adaptive "  # before a recipe: the attack saw the controlled model
RESTARTED = "restarted "  # the same, and again with another seed where it failed
WIDENED = "widened "  # again, with twice the candidates, where it failed


def log_name(data_and_model: str, attack: str, control: str = "") -> str:
    """File of an attack's outcomes; `attack` may begin with who sees it, `control` is the one seen."""
    return "-".join([data_and_model, *attack.split(), *re.findall(r"[\w-]+", control)]) + ".jsonl"


def stored_rows(rows: Dataset, data: str, recipe: str, results: Path, model: str) -> list[dict]:
    """Attacked rows, in the order of their ids, rebuilt from the outcomes that a trial stored.

    Parameters
    ----------
    rows : datasets.Dataset, those that were attacked; others are refused
    data, recipe, model : str, as in the name of the result file
    results : Path, folder of the result files

    Returns
    -------
    list of dict
    """
    path = results / "attacks" / log_name(f"{data}-{model}", recipe)
    if not path.is_file():
        start = f"{data}-{model}-"
        known = [of.stem.removeprefix(start) for of in path.parent.glob(f"{start}*.jsonl")]
        raise FileNotFoundError(
            f"no attack {recipe!r} on {data}, {model}; on record: {sorted(known)}"
        )
    outcomes = sorted(read_outcomes(path).outcomes, key=lambda o: o.id)
    if [o.id for o in outcomes] != list(range(len(outcomes))):
        raise ValueError(f"{path.name} is not whole; finish the attack first")
    return transfer_rows(rows, outcomes)


def proportions(result: Mapping[str, Any]) -> dict[str, dict[str, Proportion]]:
    """Counts of a result as proportions, by condition and set.

    Parameters
    ----------
    result : mapping

    Returns
    -------
    dict of dict of Proportion
    """
    return {
        name: {key: Proportion(c["right"], c["n"]) for key, c in sets.items()}
        for name, sets in result["counts"].items()
    }


def answers(result: Mapping[str, Any], condition: str, key: str) -> np.ndarray:
    """Right answers of one condition on one set of a result.

    Parameters
    ----------
    result : mapping
    condition, key : str

    Returns
    -------
    (N,) bool array
    """
    sets = result["examples"].get(condition)
    if sets is None:
        raise ValueError(f"no condition {condition!r}; there are {sorted(result['examples'])}")
    if key not in sets:
        raise ValueError(f"no set {key!r} under {condition!r}; there are {sorted(sets)}")
    return unpack(sets[key], result["counts"][condition][key]["n"])


def gains_over_none(result: Mapping[str, Any], control: str) -> dict[str, Paired]:
    """Compare a condition with no control, row by row, for each set; adaptive as recipe by recipe.

    Parameters
    ----------
    result : mapping
    control : str

    Returns
    -------
    dict of str to Paired
    """
    pairs = {}
    for key in result["examples"].get(control) or [answers(result, control, "")]:
        bits = answers(result, control, key)
        pairs[key] = compare(answers(result, "none", key.removeprefix(ADAPTIVE))[: len(bits)], bits)
    return pairs


def pack(bits: np.ndarray) -> str:
    """True and false answers as hexadecimal digits, eight to the byte."""
    return np.packbits(np.asarray(bits, bool)).tobytes().hex()


def unpack(text: str, n: int) -> np.ndarray:
    """True and false answers out of hexadecimal digits, eight to the byte.

    Parameters
    ----------
    text : str
    n : int

    Returns
    -------
    (n,) bool array

    Examples
    --------
    >>> unpack("a0", 3).tolist()
    [True, False, True]
    """
    if len(text) != 2 * -(-n // 8):
        raise ValueError(f"{len(text)} digits cannot hold {n} answers")
    return np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8), count=n).astype(bool)


def control_name(scheme: str, variance: float | str) -> str:
    """Name of a control in result files and figures.

    Parameters
    ----------
    scheme, variance : str, float, or the rule and the mix of an estimate

    Returns
    -------
    str

    Examples
    --------
    >>> control_name("PD", 0.99), control_name("wiener", "typos")
    ('P-D 99 %', 'Wiener typos')
    """
    if scheme in ("wiener", "terminal"):
        return f"{scheme.capitalize()} {variance}"
    return f"{'-'.join(scheme.replace('-', ''))} {100 * variance:g} %"
