"""Verdicts on exercises: run an answer on cases; print what came out, the case, and a hint."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Generator
from functools import wraps
from typing import Any

import numpy as np

WIDTH = 80  # characters of a line that a page shows whole
NEAR = 1e-6, 1e-9  # relative and absolute difference that counts as none
SHOWN = 4  # entries of an array that a line shows; a larger one is named by its shape

Answer = Callable[..., Any]
Cases = Generator[tuple[Any, Any], None, str]


def exercise(hint: str) -> Callable[[Callable[[Answer], Cases]], Callable[[Any], None]]:
    """Make an exercise of a generator: it yields what is wanted and given, and returns praise."""

    def decorate(cases: Callable[[Answer], Cases]) -> Callable[[Any], None]:
        @wraps(cases)
        def check(answer: Any) -> None:
            asked: list[str] = []

            def noted(*arguments: Any) -> Any:
                """The answer; what it was last asked is kept, as it was before the call."""
                asked[:] = map(_short, arguments)
                return answer(*arguments) if callable(answer) else answer

            verdict, seen = _verdict(cases(noted))
            print(verdict)
            if not verdict.startswith("right"):
                _say(f"hint: {hint}")
            if seen:
                given = f"given {', '.join(asked)}; " if asked else ""
                _say(f"the case: {given}{seen}")

        return check

    return decorate


def _say(text: str) -> None:
    print(textwrap.fill(text, WIDTH, subsequent_indent=" " * 6))


def _verdict(cases: Cases) -> tuple[str, str]:
    """What to say of the first case that is not as wanted, or of all; and what came out there."""
    while True:
        try:
            wanted, given = next(cases)
            if given is None or given is Ellipsis:
                return "not yet: nothing is returned", ""
            right, alike = _compared(given, wanted)
        except StopIteration as end:
            return f"right: {end.value}", ""
        except Exception as error:  # noqa: BLE001 - a reader's function may raise anything
            return f"not yet: {type(error).__name__}: {error}", ""
        if right:
            continue
        if alike:
            return f"not yet: right value, wrong shape: {_form(given)}, not {_form(wanted)}", ""
        return "not yet: a test case comes out differently", _difference(given, wanted)


def _compared(given: Any, wanted: Any) -> tuple[bool, bool]:
    """Whether an answer is right; and whether its numbers are, in whatever shape."""
    if isinstance(wanted, tuple):
        if len(given) != len(wanted):
            return False, False
        pairs = [_compared(*pair) for pair in zip(given, wanted, strict=True)]
        return all(right for right, _ in pairs), all(alike for _, alike in pairs)
    value, goal = np.asarray(given, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
    alike = value.size == goal.size and np.allclose(value.ravel(), goal.ravel(), *NEAR)
    return alike and value.shape == goal.shape, alike


def _difference(given: Any, wanted: Any) -> str:
    """What came out beside what is wanted; of two large arrays the first entry that differs."""
    if isinstance(wanted, tuple) and isinstance(given, tuple) and len(given) == len(wanted):
        pairs = enumerate(zip(given, wanted, strict=True), 1)
        place, pair = next((k, pair) for k, pair in pairs if not _compared(*pair)[0])
        return f"value {place} of {len(wanted)}: {_difference(*pair)}"
    place = ""
    if np.size(wanted) > SHOWN and np.shape(given) == np.shape(wanted):
        value, goal = np.asarray(given, dtype=np.float64), np.asarray(wanted, dtype=np.float64)
        at = tuple(map(int, np.argwhere(~np.isclose(value, goal, *NEAR))[0]))
        place, given, wanted = f"entry [{', '.join(map(str, at))}]: ", value[at], goal[at]
    return f"{place}wanted {_short(wanted)}, came out {_short(given)}"


def _form(value: Any) -> str:
    """An answer's shape in words."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_form, value))})"
    shape = np.shape(value)
    return f"an array of shape {shape}" if shape else "a number"


def _short(value: Any) -> str:
    """A value in a few characters: numbers in full, large arrays by their shape."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_short, value))})"
    if callable(value):
        return f"the function {getattr(value, '__name__', '')}".strip()
    if isinstance(value, str):
        return repr(value)
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        return type(value).__name__
    if array.size > SHOWN:
        return f"array {array.shape}"
    numbers = ", ".join(f"{number:.6g}" for number in array.ravel())
    return f"[{numbers}]" if array.shape else numbers
