"""TextAttack and the embedded sentence encoder, without the network.

Imported as it stands, TextAttack downloads NLTK corpora, fails without them, and points
every cache folder of the process elsewhere. Here it gets what it needs from `assets`.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

ASSETS = Path(__file__).parent / "assets"
CACHES = (
    "TA_CACHE_DIR", "HF_HOME", "XDG_CACHE_HOME", "TFHUB_CACHE_DIR", "PYTORCH_TRANSFORMERS_CACHE",
)  # fmt: skip
MARKER = "post_install_check_3"  # its presence tells TextAttack not to download


def cache_folder() -> Path:
    """Folder for what may be recomputed: `$XDG_CACHE_HOME/pidlib`, or a temporary one.

    Source: ours.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "pidlib"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK):
            return folder
    except OSError:
        pass
    return Path(tempfile.mkdtemp(prefix="pidlib-"))


@cache
def load_textattack() -> ModuleType:
    """Import TextAttack quietly, offline, and leave the environment as it was.

    The import takes 5 to 15 seconds, so it waits until an attack is built.

    Returns
    -------
    module

    Raises
    ------
    ModuleNotFoundError
        Names the extra to install.

    Source: TextAttack 0.3.11. Departure: its first import downloads NLTK corpora and
    sets HF_HOME and XDG_CACHE_HOME for the whole process; here neither happens.
    """
    try:
        import nltk
    except ModuleNotFoundError as problem:
        raise ModuleNotFoundError(
            "attacks need TextAttack; install it with: pip install 'pidlib[attacks]'"
        ) from problem
    # Imported first, so that their own cache folders are already settled.
    import datasets  # noqa: F401
    import transformers  # noqa: F401

    _offer_function_words(nltk)
    before = {name: os.environ.get(name) for name in CACHES}
    if "textattack" not in sys.modules and "TA_CACHE_DIR" not in os.environ:
        folder = cache_folder() / "textattack"
        folder.mkdir(exist_ok=True)
        (folder / MARKER).touch()
        os.environ["TA_CACHE_DIR"] = str(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import textattack
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
    logging.getLogger("textattack.shared.utils.install").setLevel(logging.ERROR)
    return textattack


def _offer_function_words(nltk: Any) -> None:
    """Put our function words where NLTK looks last, when its own list is absent."""
    try:
        nltk.data.find("corpora/stopwords")
    except LookupError:
        nltk.data.path.append(str(_private(ASSETS / "nltk")))


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
    """Words of one of the lists in `assets`, one a line, `#` starting a comment.

    Examples
    --------
    >>> "the" in word_list("nltk/corpora/stopwords/english")
    True

    Source: ours.
    """
    text = (ASSETS / name).read_text(encoding="utf-8")
    lines = (line.split("#")[0].strip() for line in text.splitlines())
    return tuple(line for line in lines if line)


@cache
def sentence_encoder() -> Any:
    """Return the embedded MiniLM as a sentence-transformers model on the CPU.

    Raises
    ------
    FileNotFoundError, ValueError
        The package is missing, or its weights are not the official ones (sha256).

    Source: Reimers & Gurevych 2019; all-MiniLM-L6-v2.
    """
    from pidlib.models import base_folder

    folder = base_folder(check=True)
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu")
