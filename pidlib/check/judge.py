"""Verdicts on exercises: run an answer on cases, print what came out, and a hint."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Generator
from functools import wraps
from typing import Any

import numpy as np

WIDTH = 80  # characters of a line that a page shows whole

Answer = Callable[..., Any]
Cases = Generator[tuple[Any, Any], None, str]


def exercise(hint: str) -> Callable[[Callable[[Answer], Cases]], Callable[[Any], None]]:
    """Make an exercise of a generator: it yields what is wanted and given, and returns praise."""

    def decorate(cases: Callable[[Answer], Cases]) -> Callable[[Any], None]:
        @wraps(cases)
        def check(answer: Any) -> None:
            verdict = _verdict(cases(answer if callable(answer) else lambda *_: answer))
            print(verdict)
            if not verdict.startswith("right"):
                print(textwrap.fill(f"hint: {hint}", WIDTH, subsequent_indent=" " * 6))

        return check

    return decorate


def _verdict(cases: Cases) -> str:
    """What to say of the first case that is not as wanted, or of all."""
    while True:
        try:
            wanted, given = next(cases)
            if given is None or given is Ellipsis:
                return "not yet: nothing is returned"
            if isinstance(wanted, tuple):
                right = len(given) == len(wanted) and all(map(_close, given, wanted))
            else:
                right = _close(given, wanted)
        except StopIteration as end:
            return f"right: {end.value}"
        except Exception as error:  # noqa: BLE001 - a reader's function may raise anything
            return f"not yet: {type(error).__name__}: {error}"
        if not right:
            return "not yet: a test case comes out differently"


def _close(given: Any, wanted: Any) -> bool:
    value, goal = np.asarray(given, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    return value.shape == goal.shape and bool(np.allclose(value, goal, rtol=1e-6, atol=1e-9))
