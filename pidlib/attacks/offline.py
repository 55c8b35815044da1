"""TextAttack and the embedded encoder without the network, from `assets`; stock downloads corpora."""

from __future__ import annotations

import logging
import os
import sys
import warnings
from functools import cache
from types import ModuleType
from typing import Any

from pidlib.io.assets import ASSETS, _private, cache_folder

CACHES = (
    "TA_CACHE_DIR", "HF_HOME", "XDG_CACHE_HOME", "TFHUB_CACHE_DIR", "PYTORCH_TRANSFORMERS_CACHE",
)  # fmt: skip
MARKER = "post_install_check_3"  # its presence tells TextAttack not to download


@cache
def load_textattack() -> ModuleType:
    """Import TextAttack (5 to 15 seconds) quietly and offline; leave the environment as it was."""
    try:
        import nltk
    except ModuleNotFoundError as problem:
        raise ModuleNotFoundError(
            "attacks need TextAttack; in pidlib's checkout, install it with: "
            'pip install ".[attacks]" (which takes transformers below 5)'
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


@cache
def sentence_encoder() -> Any:
    """Return the embedded MiniLM as a sentence-transformers model on the CPU."""
    from sentence_transformers import SentenceTransformer

    from pidlib.io.embedded import embedded_folder

    return SentenceTransformer(str(embedded_folder()), device="cpu")
