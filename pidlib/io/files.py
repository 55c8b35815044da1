"""Files written whole or not at all, and their checksums."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file


def write_json(path: Path, value: Any) -> None:
    """Write JSON whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    text = json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False)
    partial.write_text(text + "\n", encoding="utf-8")
    os.replace(partial, path)


def write_tensors(path: Path, tensors: Mapping[str, torch.Tensor]) -> str:
    """Write a safetensors file whole or not at all; return its sha256."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    save_file({k: v.contiguous() for k, v in tensors.items()}, partial, {"format": "pt"})
    os.replace(partial, path)
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
    seen = sha256(path)
    if seen != expected:
        raise ValueError(
            f"checksum mismatch: {path.name} has sha256 {seen}, expected {expected}; "
            "install, download or make it again"
        )
