"""Files written whole or not at all, and their checksums."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Yield where to write a file; it is put in its place, its mode by the umask, when all went well."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    try:
        partial.unlink(missing_ok=True)  # left by a process that was killed
        partial.touch()
        mode = partial.stat().st_mode
        yield partial
        partial.chmod(mode)  # safetensors writes files that only their owner can read
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write JSON whole or not at all."""
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    with whole(Path(path)) as partial:
        partial.write_text(text + "\n", encoding="utf-8")


def as_json(value: Any) -> Any:
    """Return a value as a JSON file gives it back: tuples are lists, keys are strings."""
    return json.loads(json.dumps(value))


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """Write a safetensors file whole or not at all; return its sha256."""
    from safetensors.torch import save_file  # torch is slow, and a checksum needs none

    with whole(Path(path)) as partial:
        save_file({k: v.contiguous() for k, v in tensors.items()}, partial, {"format": "pt"})
    return sha256(path)


def sha256(path: Path) -> str:
    """Sha256 of a file, as 64 hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_sha256(path: Path, expected: str) -> None:
    """Refuse a file whose sha256 is not the expected one."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"{path.name} is missing in the folder {path.parent.name}")
    total = sha256(path)
    if total != expected:
        raise ValueError(
            f"checksum mismatch: {path.name} has sha256 {total}, expected {expected}; "
            "install, download or make it again"
        )
