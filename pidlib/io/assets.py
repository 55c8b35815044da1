"""What ships beside the code: word lists; and a folder for what is computed."""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

ASSETS = Path(__file__).parents[1] / "assets"


def cache_path() -> Path:
    """Where the cache has its place: `$XDG_CACHE_HOME/pidlib`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pidlib"


def cache_folder() -> Path:
    """Folder for what may be recomputed: the cache, or, where it cannot be written, a temporary one."""
    folder = cache_path()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return _temporary_folder()


@cache
def _temporary_folder() -> Path:
    """Return one folder for the whole process: what was made in it is there the next time."""
    return Path(tempfile.mkdtemp(prefix="pidlib-"))


def _private(folder: Path) -> Path:
    """The folder, or a copy that nobody else can write: NLTK reads no other."""
    parts = (folder, *folder.rglob("*"))
    if not any(part.stat().st_mode & 0o022 for part in parts):
        return folder
    copy = cache_folder() / folder.name
    shutil.copytree(folder, copy, dirs_exist_ok=True, copy_function=shutil.copyfile)
    for part in (copy, *copy.rglob("*")):
        part.chmod(0o700 if part.is_dir() else 0o600)
    return copy


@cache
def word_list(name: str) -> tuple[str, ...]:
    """Words of one of the lists in `assets`, one a line, `#` starting a comment."""
    text = (ASSETS / name).read_text(encoding="utf-8")
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return tuple(line for line in lines if line)
