"""Is everything there? What a user should see before asking for help."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from importlib import metadata, util
from typing import NamedTuple

from pidlib.io.embedded import EMBEDDED, look

NEEDED = ("torch", "transformers", "datasets", "peft", "safetensors", "numpy", "scipy")
ATTACKS = ("textattack", "nltk", "lemminflect", "sentence-transformers", "symspellpy")


class Finding(NamedTuple):
    """One thing that was looked at."""

    name: str
    state: str
    told: str


def examine() -> list[Finding]:
    """Look at versions, the embedded models, words for attacks and data; nothing is changed."""
    python = ".".join(map(str, sys.version_info[:3]))
    return [
        Finding("Python", "ok" if sys.version_info >= (3, 11) else "broken", python),
        *map(_package, NEEDED),
        _tried("extra attacks", _attacks, "missing"),
        *(
            _tried(f"model {model.name}", partial(look, model), absent="missing")
            for model in EMBEDDED.values()
        ),
        _tried("adapters", _adapters),
        _tried("controls", _controls),
        _tried("data folder", _data, "missing", "missing"),
        _tried("WordNet", _wordnet, "missing", "missing"),
        Finding("device", "ok", _device()),
    ]


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _package(name: str) -> Finding:
    from packaging.requirements import Requirement

    version = _version(name)
    wanted = next((r for r in metadata.requires("pidlib") or [] if r.startswith(name)), name)
    if version is None or util.find_spec(name.replace("-", "_")) is None:
        return Finding(name, "broken", f"not installed; pip install '{wanted}'")
    if not Requirement(wanted).specifier.contains(version, prereleases=True):
        return Finding(name, "broken", f"{version}, but pidlib needs {wanted}; install that")
    return Finding(name, "ok", version)


def _attacks() -> str:
    versions = {name: _version(name) for name in ATTACKS}
    if absent := [name for name, version in versions.items() if not version]:
        raise ImportError(f"pip install 'pidlib[attacks]' ({absent[0]})")
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
    from pidlib.io.files import check_sha256
    from pidlib.models import ADAPTERS, adapters, training_record

    if not adapters():
        raise FileNotFoundError("no adapter came with pidlib; install it again")
    for name in adapters():
        expected = training_record(name)["adapter"]["sha256"]
        check_sha256(ADAPTERS / name / "adapter_model.safetensors", expected)
    return f"{', '.join(adapters())}: checksums as they should be"


def _controls() -> str:
    from pidlib.estimation.pretrained import CONTROLS, controls, load_controller

    for name in controls():
        load_controller(CONTROLS / name)
    return f"{', '.join(controls()) or 'none'}: checksums as they should be"


def _data() -> str:
    from pidlib.data.nli import data_folder

    names = sorted(path.stem for path in data_folder().glob("*.jsonl"))
    return f"{len(names)} files: {', '.join(names)}"


def _wordnet() -> str:
    from pidlib.attacks.synonyms import WordNetCandidates

    WordNetCandidates()
    return "found (PSO on real data takes its words from it)"


def _device() -> str:
    import torch

    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"processor, {torch.get_num_threads()} threads"
