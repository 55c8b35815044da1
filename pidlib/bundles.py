"""A fitted controller as a folder: one JSON card and one safetensors file."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from pidlib.files import check_sha256, write_json, write_tensors

SCHEMA, CARD = 1, "controller.json"


class Bundle(NamedTuple):
    """What a folder holds.

    Attributes
    ----------
    tensors : dict of str to tensor
    about, origin : dict
        Settings and shapes; the model and the text of the fit.

    Source: ours.
    """

    tensors: dict[str, Tensor]
    about: dict[str, Any]
    origin: dict[str, Any]


def write_bundle(
    folder: Path,
    tensors: Mapping[str, Tensor],
    kind: str,
    about: Mapping[str, Any],
    origin: Mapping[str, Any],
) -> None:
    """Write a folder, whole or not at all.

    The card names the tensors' file, whose own name holds its sha256, and is put in place
    last: a reader sees the old controller or the new one, never half of one.

    Parameters
    ----------
    folder : Path
        Made when missing; an older controller in it is replaced.
    tensors : mapping of str to tensor
    kind : str
        What the folder holds; `read_bundle` refuses another.
    about, origin : mapping
        What JSON can hold.

    Raises
    ------
    ValueError
        The folder is a file.

    Source: ours.
    """
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; give the name of a folder")
    draft = folder / "bases.safetensors.draft"
    try:
        total = write_tensors(draft, tensors)
        name = f"bases-{total[:16]}.safetensors"
        os.replace(draft, folder / name)
    finally:
        for left in (draft, draft.with_name(draft.name + ".partial")):
            left.unlink(missing_ok=True)
    rest = dict(about)
    settings, terms = rest.pop("settings"), rest.pop("terms")
    write_json(
        folder / CARD,
        {
            "format": kind,
            "schema": SCHEMA,
            "settings": settings,
            "origin": dict(origin),
            "tensors": {"file": name, "sha256": total, "terms": terms},
            **rest,
        },
    )
    for old in folder.glob("bases-*.safetensors"):
        if old.name != name:
            old.unlink()


def kind_of(folder: Path) -> str:
    """What a folder says it holds.

    Raises
    ------
    FileNotFoundError, ValueError
        No card there, or a foreign one.

    Source: ours.
    """
    return _card(Path(folder))["format"]


def read_bundle(folder: Path, kind: str) -> Bundle:
    """Read what `write_bundle` wrote.

    Raises
    ------
    FileNotFoundError
        No controller there, or its tensors are missing.
    ValueError
        A foreign, truncated or changed file.

    Source: ours.
    """
    folder = Path(folder)
    card = _card(folder)
    with foreign(folder):
        if card["format"] != kind:
            raise KeyError("format")
        record = card["tensors"]
        file = folder / Path(record["file"]).name
        check_sha256(file, record["sha256"])
        rest = {k: v for k, v in card.items() if k not in ("format", "schema", "origin", "tensors")}
        about = rest | {"settings": card["settings"], "terms": record["terms"]}
        origin = dict(card["origin"])
    try:
        return Bundle(load_file(file), about, origin)
    except SafetensorError as error:
        raise ValueError(f"the tensors of {str(folder)!r} cannot be read ({error})") from None


@contextmanager
def foreign(folder: Path) -> Iterator[None]:
    """Turn what a foreign card causes into one clear error."""
    try:
        yield
    except (KeyError, TypeError, AttributeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{CARD} in {str(folder)!r} is not a controller of pidlib ({error!r})"
        ) from None


def _card(folder: Path) -> dict[str, Any]:
    path = folder / CARD
    if not path.is_file():
        raise FileNotFoundError(f"no {CARD} in {str(folder)!r}; save_pretrained(folder) writes it")
    with foreign(folder):
        card = json.loads(path.read_text(encoding="utf-8"))
        if not card["format"].startswith("pidlib-"):
            raise KeyError("format")
    if card.get("schema") != SCHEMA:
        raise ValueError(f"schema {card.get('schema')}, this version reads {SCHEMA}")
    return card
