"""Typed records from JSON: what does not fit its type is refused with a ValueError that says why."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from pidlib.io.strict_json import shorten

Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]

_adapter = cache(TypeAdapter)


def read_record(kind: Any, record: Any) -> Any:
    """Make a pydantic type of what `parse_json` gave, strictly: no value is changed to fit."""
    try:
        text = json.dumps(record)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    with explained():
        return _adapter(kind).validate_json(text, strict=True)


@contextmanager
def explained(known: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Turn pydantic's errors into one line: the first value that does not fit, and what is right.

    Known are fields by name; the line ends with what pydantic's `Field` says of the one that is wrong.
    """
    try:
        yield
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"])) or "it"
        if first["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
            hint = f"; known: {list(known)}" if known else ""
            raise ValueError(f"unknown {shorten(place)}{hint}") from None
        if isinstance(cause := first.get("ctx", {}).get("error"), ValueError):  # it names the value
            raise ValueError(str(cause)) from None
        if first["type"] == "missing":
            raise ValueError(f"{place} is missing") from None
        rule = first["msg"].replace("Input should be", "it has to be")
        about = getattr((known or {}).get(place), "description", None)
        hint = f". {about}" if about else ""
        raise ValueError(f"{place} is {shorten(first['input'])}; {rule}{hint}") from None
