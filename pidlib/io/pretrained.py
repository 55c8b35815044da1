"""A fitted controller as a folder: one JSON card and one safetensors file."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file
from torch import Tensor

from pidlib.io.files import sha256, write_json, write_tensors
from pidlib.io.strict_json import HASH, OBJECT, TEXT, check_fields, read_json, told

SCHEMA, CARD = 1, "controller.json"
LARGEST_CARD = 1 << 22  # bytes; that of a model of 96 blocks has about 30,000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,199}\.safetensors")

Layout = Mapping[str, tuple[str, tuple[int | None, ...]]]
"""For each tensor its number type, as safetensors names it, and its shape; None: any size."""


class Bundle(NamedTuple):
    """What a folder holds."""

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
    """What a folder says it holds."""
    return _card(Path(folder))["format"]


def read_bundle(
    folder: Path, kind: str, layout: Callable[[dict[str, Any], dict[str, Any]], Layout]
) -> Bundle:
    """Read what `write_bundle` wrote.

    Nothing but the card and one file beside it is opened, and no tensor is read before the
    names, number types and shapes of all are known to be those of the card.
    """
    folder = Path(folder)
    card = _card(folder)
    with foreign(folder):
        if card["format"] != kind:
            raise ValueError(
                f"it holds a {told(card['format'])}, not a {kind}; pidlib.load_controller reads either"
            )
        record = card.get("tensors")
        check_fields(record, {"file": TEXT, "sha256": HASH, "terms": TEXT}, "tensors")
        check_fields(card, {"settings": OBJECT, "origin": OBJECT}, "the card", others=True)
        origin = card["origin"]
        rest = {k: v for k, v in card.items() if k not in ("format", "schema", "origin", "tensors")}
        about = rest | {"terms": record["terms"]}
        expected = layout(about, origin)
        name = record["file"]
        if not _NAME.fullmatch(name) or ".." in name:
            raise ValueError(
                f"the tensors' file is {told(name)}; it has to be the plain name of a .safetensors "
                "file in the same folder"
            )
        file = _inside(folder, name)
    if not file.is_file():
        raise FileNotFoundError(f"{name} is missing in {str(folder)!r}; save the controller again")
    seen = sha256(file)
    if seen != record["sha256"]:
        raise ValueError(
            f"checksum mismatch in {str(folder)!r}: {name} has sha256 {seen}, expected "
            f"{record['sha256']}; save or download the controller again"
        )
    try:
        _check_layout(file, expected)
        return Bundle(load_file(file), about, origin)
    except (SafetensorError, ValueError) as error:
        raise ValueError(f"the tensors of {str(folder)!r} cannot be used: {error}") from None


@contextmanager
def foreign(folder: Path) -> Iterator[None]:
    """Turn what a foreign card causes into one clear error."""
    try:
        yield
    except ValueError as error:
        raise ValueError(
            f"{CARD} in {str(folder)!r} is not a controller of pidlib: {error}"
        ) from None
    except (LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as error:
        raise ValueError(
            f"{CARD} in {str(folder)!r} is not a controller of pidlib ({error!r})"
        ) from None


@contextmanager
def refused(folder: Path) -> Iterator[None]:
    """Name the folder in errors about numbers and settings that cannot be used."""
    try:
        yield
    except (ValueError, TypeError, ArithmeticError) as error:
        raise ValueError(f"the controller in {str(folder)!r} is refused: {error}") from None


def _card(folder: Path) -> dict[str, Any]:
    path = folder / CARD
    if not path.is_file():
        raise FileNotFoundError(f"no {CARD} in {str(folder)!r}; save_pretrained(folder) writes it")
    with foreign(folder):
        card = read_json(_inside(folder, CARD), LARGEST_CARD)
        check_fields(card, {"format": TEXT}, "the card", others=True)
        if not card["format"].startswith("pidlib-"):
            raise ValueError(f"its format is {told(card['format'])}")
    schema = card.get("schema")
    if type(schema) is not int or schema != SCHEMA:
        raise ValueError(
            f"{CARD} in {str(folder)!r} has schema {told(schema)}, this version reads {SCHEMA}"
        )
    return card


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


def _check_layout(file: Path, expected: Layout) -> None:
    """Refuse a file of other tensors, from its header alone."""
    with safe_open(file, framework="pt") as opened:
        names = set(opened.keys())
        if names != set(expected):
            missing, extra = sorted(set(expected) - names), sorted(names - set(expected))
            raise ValueError(f"missing are {told(missing)}, unknown are {told(extra)}")
        slices = {name: opened.get_slice(name) for name in expected}
        seen = {name: (one.get_dtype(), tuple(one.get_shape())) for name, one in slices.items()}
    for name, (dtype, shape) in expected.items():
        has, sizes = seen[name]
        fit = len(sizes) == len(shape) and all(
            wanted in (None, size) for wanted, size in zip(shape, sizes, strict=True)
        )
        if has != dtype or not fit:
            told_shape = tuple("k" if size is None else size for size in shape)
            raise ValueError(
                f"the number types and shapes differ: {name} is {has} of {sizes}, and has to be "
                f"{dtype} of {told_shape}"
            )
