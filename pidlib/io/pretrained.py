"""A fitted controller as a folder: one JSON card and one safetensors file."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from pidlib.io.files import check_sha256, write_json, write_tensors
from pidlib.io.records import Hash
from pidlib.io.strict_json import read_json, shorten

SCHEMA, CARD = 1, "controller.json"
LARGEST_CARD = 1 << 22  # bytes; that of a model of 96 blocks has about 30,000
_OWN = re.compile(r"bases-[0-9a-f]{16}\.safetensors")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.safetensors")

Layout = Mapping[str, tuple[str, tuple[int | None, ...]]]
"""For each tensor its number type, as safetensors names it, and its shape; None: any size."""


class TensorFile(BaseModel, extra="forbid"):
    """What a card says of the file of tensors beside it."""

    file: str
    sha256: Hash
    terms: str


def write_folder(
    folder: Path, kind: str, settings: Any, origin: Any, tensors: Mapping[str, Tensor],
    terms: str = "", **more: Any,
) -> None:  # fmt: skip
    """Write a folder, whole or not at all.

    The card names the tensors' file, whose own name holds its sha256, and is put in place
    last: a reader sees the old controller or the new one, never half of one.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file; give the name of a folder")
    draft = folder / "bases.safetensors.draft"
    try:
        total = write_tensors(draft, tensors)
        name = f"bases-{total[:16]}.safetensors"
        os.replace(draft, folder / name)
    finally:
        draft.unlink(missing_ok=True)
    card = {"format": kind, "schema": SCHEMA, "settings": settings, "origin": origin}
    card["tensors"] = {"file": name, "sha256": total, "terms": terms}
    write_json(folder / CARD, card | more)
    for old in folder.iterdir():
        if _OWN.fullmatch(old.name) and old.name != name:
            old.unlink()


def read_card(folder: Path) -> dict[str, Any]:
    """Read the card of a folder, whatever the method of its controller."""
    path = folder / CARD
    if not path.is_file():
        raise FileNotFoundError(f"no {CARD} in {str(folder)!r}; save_pretrained(folder) writes it")
    with foreign(folder):
        card = read_json(_inside(folder, CARD), LARGEST_CARD)
        if not isinstance(card, dict) or not str(card.get("format")).startswith("pidlib-"):
            raise ValueError("its format is none of pidlib's")
        schema = card.get("schema")
        if type(schema) is not int or schema != SCHEMA:
            raise ValueError(f"it has schema {shorten(schema)}, this version reads {SCHEMA}")
    return card


def read_tensors(folder: Path, record: TensorFile, layout: Layout) -> dict[str, Tensor]:
    """Read the tensors that a card names.

    Nothing but that file is opened, and no tensor is read before the names, number types and
    shapes of all are known to be those of the layout.
    """
    name = record.file
    with foreign(folder):
        if not _NAME.fullmatch(name) or ".." in name:
            raise ValueError(
                f"the tensors' file is {shorten(name)}; it has to be the plain name of a .safetensors "
                "file in the same folder"
            )
        file = _inside(folder, name)
    check_sha256(file, record.sha256)
    try:
        _check_layout(file, layout)
        return load_file(file)
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"the tensors of {str(folder)!r} cannot be used: {error}") from None


@contextmanager
def foreign(folder: Path) -> Iterator[None]:
    """Name the card in errors about what it says."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        raise ValueError(
            f"{CARD} in {str(folder)!r} is not a controller of pidlib: {error}"
        ) from None


@contextmanager
def refused(folder: Path) -> Iterator[None]:
    """Name the folder in errors about numbers and settings that cannot be used."""
    try:
        yield
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ValueError(f"the controller in {str(folder)!r} is refused: {error}") from None


def _inside(folder: Path, name: str) -> Path:
    """Path of a file in a folder; refused where it is a link to a file elsewhere."""
    try:
        place = (folder / name).resolve()
    except RuntimeError:  # a link to itself
        raise ValueError(f"{name} is a link that leads nowhere") from None
    if place.parent != folder.resolve():
        raise ValueError(
            f"{name} is a link to a file outside the folder; copy the file itself into the folder"
        )
    return folder / name


def _check_layout(file: Path, layout: Layout) -> None:
    """Refuse a file of other tensors, from its header alone."""
    with safe_open(file, framework="pt") as opened:
        names = set(opened.keys())
        if names != set(layout):
            missing, extra = sorted(set(layout) - names), sorted(names - set(layout))
            raise ValueError(f"missing are {shorten(missing)}, unknown are {shorten(extra)}")
        for name, (dtype, shape) in layout.items():
            part = opened.get_slice(name)
            sizes, pairs = tuple(part.get_shape()), zip(shape, part.get_shape(), strict=False)
            fits = len(sizes) == len(shape) and all(w in (None, size) for w, size in pairs)
            if part.get_dtype() != dtype or not fits:
                raise ValueError(
                    f"the number types and shapes differ: {name} is {part.get_dtype()} of {sizes}, "
                    f"and has to be {dtype} of {tuple(size or 'k' for size in shape)}"
                )
