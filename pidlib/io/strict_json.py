"""Strict reading of files that may come from anybody: refused with a ValueError that says why."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from reprlib import Repr
from typing import Any

_DIGITS = 19  # of the whole numbers that 64 bits hold

_short = Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60


def is_number(value: Any) -> bool:
    """Whether a value is a number, and no NaN, that a float can hold; infinity is one."""
    if isinstance(value, (str, bytes, bytearray)):  # float() would read them
        return False
    try:
        return not math.isnan(float(value))
    except (TypeError, ValueError, ArithmeticError, RuntimeError):
        return False


def shorten(value: Any) -> str:
    """Return a value as an error message shows it: cut where it is long."""
    return _short.repr(value)


def parse_json(text: str | bytes) -> Any:
    """Read JSON that has one meaning."""
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        value = _DECODER.decode(text)
        if "\\u" in text:  # an escape may be half a pair, which no file can hold again
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("a text in it holds half a surrogate pair") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text ({error.reason} at byte {error.start})") from None
    return value


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _integer(digits: str) -> int:
    value = int(digits) if len(digits) <= _DIGITS + 1 else 2**63
    if abs(value) >= 2**63:
        raise ValueError(f"the whole number {digits[:20]}... is too large for 64 bits")
    return value


def _real(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:20]} is too large")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) != len(pairs):
        twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise ValueError(f"the key {shorten(twice)} is given twice")
    return record


_DECODER = json.JSONDecoder(
    parse_constant=_constant, parse_int=_integer, parse_float=_real, object_pairs_hook=_object
)


def read_json(path: Path, most: int) -> Any:
    """Read a JSON file; see `parse_json`."""
    with Path(path).open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it is larger than {most} bytes")
    return parse_json(content)
