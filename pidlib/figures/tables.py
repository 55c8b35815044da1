"""Tables in print: the numbers beneath a figure, as text that a test can compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import binomtest


def print_table(rows: Sequence[Mapping[str, Any]], digits: int = 3) -> None:
    """Print rows as a table, numbers rounded and right-aligned.

    Parameters
    ----------
    rows : sequence of mappings with the same columns
    digits : int, decimal places of floats

    Examples
    --------
    >>> print_table([{"layer": 0, "rank": 323}, {"layer": 1, "rank": 292}])
    layer  rank
        0   323
        1   292
    """
    if not rows:
        raise ValueError("there are no rows to print: give at least one")
    heads = list(rows[0])
    cells = [[_text(row[head], digits) for head in heads] for row in rows]
    numeric = [not isinstance(rows[0][head], str) for head in heads]
    widths = [max(len(v) for v in column) for column in zip(heads, *cells, strict=True)]
    for line in (heads, *cells):
        parts = zip(line, widths, numeric, strict=True)
        print("  ".join(v.rjust(w) if n else v.ljust(w) for v, w, n in parts).rstrip())


def print_counts(counts: Mapping[str, tuple[int, int]], header: str = "right") -> None:
    """Print counts k of n with their percentage and 95 % Wilson interval.

    Parameters
    ----------
    counts : mapping of str to (k, n)
    header : str, of the column of k

    Examples
    --------
    >>> print_counts({"base": (81, 100)})
    what  right    n     %  95 % interval
    base     81  100  81.0  72.2 to 87.5
    """
    rows = []
    for name, (k, n) in counts.items():
        if not 0 <= k <= n or n < 1:  # not every scipy refuses that
            raise ValueError(f"{k} of {n} ({name}) make no proportion")
        low, high = binomtest(int(k), int(n)).proportion_ci(method="wilson")
        row = {"what": name, header: int(k), "n": int(n), "%": 100 * k / n}
        rows.append(row | {"95 % interval": f"{100 * low:.1f} to {100 * high:.1f}"})
    print_table(rows, digits=1)


def _text(value: Any, digits: int) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.{digits}f}"
    return str(value)
