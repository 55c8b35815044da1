"""The fit that several chapters use: made once, then read from the cache."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pidlib
from pidlib.io.assets import ASSETS, cache_folder
from pidlib.io.files import sha256

ROWS = 2000


def captions_controller(**settings) -> pidlib.PIDController:
    """Return MiniLM's controller of the first 2,000 training captions, with settings of its class."""
    return pidlib.PIDController.from_pretrained(captions_folder()).retune(**settings)


def captions_folder() -> Path:
    """Return the folder of that fit, of all three terms, and make it where it is not there.

    It is made again when the code of the method, the adapter or the captions are others.
    """
    from filelock import FileLock

    folder = cache_folder() / f"captions-{ROWS}-{_sources_sha256()[:12]}"
    with FileLock(f"{folder}.lock"):
        if not (folder / "controller.json").is_file():
            model, tokenizer = pidlib.load_model("minilm-nli")
            rows = pidlib.load_nli("captions", split="train", n=ROWS)
            pidlib.PIDController.fit(model, tokenizer, rows, terms="PID").save_pretrained(folder)
    return folder


def _sources_sha256() -> str:
    """Hash of what the fit is made from: the files of the method, the adapter, the captions."""
    method = Path(pidlib.__file__).parent.glob("*.py")
    adapter = ASSETS.glob("adapters/minilm-nli/adapter_model.safetensors")
    files = sorted([*method, *adapter, *ASSETS.glob("captions-*")])
    return hashlib.sha256("".join(map(sha256, files)).encode()).hexdigest()
