"""Verdicts on exercises: run an answer on cases, print what came out, and a hint."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Any

import numpy as np

WIDTH = 80  # characters of a line that a page shows whole


def judge(answer: Any, cases: Iterator[tuple[tuple, Any]], hint: str, praise: str) -> None:
    """Print the verdict on a function, or on a number, over test cases."""
    for arguments, wanted in cases:
        try:
            got = answer(*arguments) if callable(answer) else answer
            if got is None or got is Ellipsis:
                _say("not yet: nothing is returned", hint)
                return
            if isinstance(wanted, tuple):
                right = len(got) == len(wanted) and all(map(_close, got, wanted))
            else:
                right = _close(got, wanted)
        except Exception as error:  # noqa: BLE001 - a reader's function may raise anything
            _say(f"not yet: {type(error).__name__}: {error}", hint)
            return
        if not right:
            _say("not yet: a test case comes out differently", hint)
            return
    print(f"right: {praise}")


def _say(verdict: str, hint: str) -> None:
    print(verdict)
    print(textwrap.fill(f"hint: {hint}", WIDTH, subsequent_indent=" " * 6))


def _close(got: Any, wanted: Any) -> bool:
    value, goal = np.asarray(got, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    return value.shape == goal.shape and bool(np.allclose(value, goal, rtol=1e-6, atol=1e-9))
