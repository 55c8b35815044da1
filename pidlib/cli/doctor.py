"""Is everything there? What a user should see before asking for help."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Callable
from functools import partial
from importlib import metadata, util
from pathlib import Path
from typing import NamedTuple

from pidlib.io.assets import ASSETS
from pidlib.io.embedded import EMBEDDED, presence
from pidlib.io.files import check_sha256

NEEDED = ("torch", "transformers", "datasets", "peft", "safetensors", "numpy", "scipy")
NEWEST_TESTED = {"torch": "2.14.1", "transformers": "5.24.0"}  # by tools/canary.py
ATTACKS = ("textattack", "nltk", "lemminflect", "sentence-transformers")


class Finding(NamedTuple):
    """One thing that was looked at: ok, broken, untested, or optional and not here."""

    name: str
    state: str
    told: str


def examine() -> list[Finding]:
    """Look at versions, the embedded models, words for attacks and data; nothing is changed.

    Torch is not imported, unless there is a graphics card to name: it takes seconds.
    """
    python = ".".join(map(str, sys.version_info[:3]))
    return [
        Finding("Python", "ok" if sys.version_info >= (3, 11) else "broken", python),
        *map(_package, NEEDED),
        _tried("extra attacks", _attacks, "optional"),
        *(
            _tried(f"model {model.name}", partial(presence, model), absent="optional")
            for model in EMBEDDED.values()
        ),
        _tried("adapters", _adapters),
        _tried("controls", _controls),
        _tried("data folder", _data, "optional", "optional"),
        _tried("WordNet", _wordnet, "optional", "optional"),
        Finding("device", "ok", _device()),
    ]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _package(name: str) -> Finding:
    from packaging.requirements import Requirement
    from packaging.version import Version

    version = _version(name)
    wanted = next((r for r in metadata.requires("pidlib") or [] if r.startswith(name)), name)
    if version is None or util.find_spec(name.replace("-", "_")) is None:
        return Finding(name, "broken", f"not installed; pip install '{wanted}'")
    if not Requirement(wanted).specifier.contains(version, prereleases=True):
        return Finding(name, "broken", f"{version}, but pidlib needs {wanted}; install that")
    newest = NEWEST_TESTED.get(name, version)
    if Version(Version(version).public) > Version(newest):
        told = f"{version}, newer than {newest}, the newest that was tested"
        return Finding(name, "untested", told)
    return Finding(name, "ok", version)


def _attacks() -> str:
    versions = {name: _version(name) for name in ATTACKS}
    if absent := [name for name, version in versions.items() if not version]:
        raise ImportError(
            f"{absent[0]} is not here; for attacks, in pidlib's checkout: "
            'pip install ".[attacks]" (which takes transformers below 5)'
        )
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def _tried(
    name: str, look: Callable[[], str], wrong: str = "broken", absent: str = "broken"
) -> Finding:
    """What a look finds; its state where a file is absent, and where it is wrong."""
    try:
        return Finding(name, "ok", look())
    except (ValueError, ImportError, FileNotFoundError) as error:
        state = absent if isinstance(error, FileNotFoundError) else wrong
        return Finding(name, state, str(error))


def _adapters() -> str:
    found = []
    for path in sorted((ASSETS / "adapters").glob("*/adapter_model.safetensors")):
        record = json.loads(path.with_name("training.json").read_text(encoding="utf-8"))
        check_sha256(path, record["adapter"]["sha256"])
        found.append(path.parent.name)
    if not found:
        raise FileNotFoundError("no adapter came with pidlib; install it again")
    return f"{', '.join(found)}: checksums as they should be"


def _controls() -> str:
    found = []
    for path in sorted((ASSETS / "controls").glob("*/controller.json")):
        tensors = json.loads(path.read_text(encoding="utf-8"))["tensors"]
        check_sha256(path.with_name(tensors["file"]), tensors["sha256"])
        found.append(path.parent.name)
    return f"{', '.join(found) or 'none'}: checksums as they should be"


def _data() -> str:
    from pidlib.data.nli import data_folder

    names = sorted(path.stem for path in data_folder().glob("*.jsonl"))
    return f"{len(names)} files: {', '.join(names)}"


def _wordnet() -> str:
    from pidlib.attacks.wordnet import wordnet_folder

    return f"in {wordnet_folder()} (PSO on real data takes its words from it)"


def _device() -> str:
    if shutil.which("nvidia-smi") or any(Path("/dev").glob("nvidia*")):
        import torch

        if torch.cuda.is_available():
            return torch.cuda.get_device_name()
    return f"processor, {os.cpu_count()} cores"
