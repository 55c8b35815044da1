"""Rows of text as everything here takes them: one mapping a row, of whatever kind they were given."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from itertools import islice
from typing import Any

from pidlib.data.labels import LABELS, check_labels
from pidlib.io.strict_json import shorten

NEEDED = "'premise' and 'hypothesis', 'text' and 'text_pair', or 'text' for a single sentence"


def as_rows(rows: Any, names: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return rows of any common kind as one dict a row, with `premise` and `hypothesis`, or `text`.

    Parameters
    ----------
    rows : iterable of mappings or of str, mapping of columns, or data frame
        A `datasets.Dataset`, a slice of one (a mapping of columns), a pandas data frame, a list of
        dicts or of single sentences. `text` with `text_pair` is a pair too.
    names : sequence of str, optional
        Names of the labels in our order. Each row then needs one of these labels, as a number, a
        tensor of one number, or a name; without names labels are not checked.

    Returns
    -------
    list of dict, copies; of labels that were tensors or names, the numbers

    Raises
    ------
    ValueError
        No rows, another kind of rows, no text, or a label that is missing or none of the names;
        the row is named, and what would be right.

    Examples
    --------
    >>> as_rows({"text": ["A man rides.", "A dog."], "label": ["neutral", 0]}, ["no", "neutral"])
    [{'text': 'A man rides.', 'label': 1}, {'text': 'A dog.', 'label': 0}]
    """
    found = list(stream_rows(rows, names))
    if not found:
        raise ValueError("there are no rows: give at least one example")
    return found


def stream_rows(rows: Any, names: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the rows as `as_rows` returns them, each when it is asked for."""
    source = _one_by_one(rows)
    limit = len(source) if isinstance(source, Sized) else None  # not every data set ends its loop
    for place, row in enumerate(islice(source, limit)):
        yield _row(row, place, names, hasattr(rows, "rename_column"))


def text_keys(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the keys of a row's texts: of a pair, or of a single sentence."""
    pair = ("premise", "hypothesis")
    return pair if all(key in row for key in pair) else ("text",)


def _one_by_one(rows: Any) -> Iterable[Any]:
    """The rows one by one, of a data frame or a mapping of columns too."""
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):  # pandas, and what is like it
        return rows.to_dict("records")
    if isinstance(rows, str | bytes):
        raise ValueError(
            f"the rows are one {type(rows).__name__}, {shorten(rows)}; give a list of rows"
        )
    if not isinstance(rows, Mapping):
        return rows
    columns = {key: rows[key] for key in rows}
    if any(isinstance(column, str) for column in columns.values()):
        raise ValueError(f"the rows are one mapping, {shorten(dict(rows))}; give a list: [row]")
    if any(hasattr(column, "column_names") for column in columns.values()):
        name = next(iter(columns))
        raise ValueError(f"the rows are several splits, {list(columns)}; give one: rows[{name!r}]")
    lengths = {key: len(c) if isinstance(c, Sized) else None for key, c in columns.items()}
    if len(set(lengths.values())) != 1 or None in lengths.values():
        raise ValueError(f"the rows are a mapping of columns of unlike lengths, {lengths}")
    return [dict(zip(columns, of, strict=True)) for of in zip(*columns.values(), strict=True)]


def _row(row: Any, place: int, names: Sequence[str] | None, columned: bool) -> dict[str, Any]:
    """One row as a dict of its own, checked."""
    if isinstance(row, str):
        row = {"text": row}
    if not isinstance(row, Mapping):
        raise ValueError(
            f"row {place} is a {type(row).__name__}, {shorten(row)}; give mappings, such as "
            "[{'premise': p, 'hypothesis': h, 'label': y} for p, h, y in rows]"
        )
    row = dict(row)
    if row.get("text_pair") is not None and "premise" not in row and "text" in row:
        row |= {"premise": row.pop("text"), "hypothesis": row.pop("text_pair")}
    keys = text_keys(row)
    if keys[0] not in row:
        mend = ": rename a column, rows.rename_column('sentence', 'text')" if columned else ""
        raise ValueError(f"row {place} has the keys {sorted(row)}; it needs {NEEDED}{mend}")
    for key in keys:
        if not isinstance(row[key], str):
            raise ValueError(
                f"{key!r} of row {place} is a {type(row[key]).__name__}, {shorten(row[key])}; give a str"
                + (", one a row" if isinstance(row[key], Sized) else "")
            )
    if names is not None or "label" in row:
        label = row.get("label")
        label = _number(label, place) if hasattr(label, "item") else label
        row["label"] = _label(label, place, names)
    return row


def _number(label: Any, place: int) -> Any:
    """The one number of a tensor or of numpy."""
    try:
        return label.item()
    except (ValueError, RuntimeError):
        raise ValueError(
            f"the label of row {place} is a {type(label).__name__} of the shape "
            f"{tuple(label.shape)}; give one number"
        ) from None


def _label(label: Any, place: int, names: Sequence[str] | None) -> Any:
    """The label as a number, checked where the names are known."""
    known = list(LABELS if names is None else names)
    if isinstance(label, str) and label.strip().lower() in known:
        return known.index(label.strip().lower())
    if names is None:
        return label
    if label is None or label != label:  # NaN, of a data frame
        raise ValueError(
            f"row {place} has no label; give each row its true one, a number or one of {known} "
            "(a fit with correct_only=False reads none)"
        )
    return check_labels([label], len(known), [place])[0]
