"""Is everything there? What a user should see before asking for help."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from importlib import metadata
from typing import NamedTuple

NEEDED = ("torch", "transformers", "datasets", "peft", "safetensors", "numpy", "scipy")
OPTIONAL = {"attacks": ("textattack", "nltk", "lemminflect", "sentence-transformers", "symspellpy")}


class Finding(NamedTuple):
    """One thing that was looked at."""

    name: str
    state: str
    told: str


def examine() -> list[Finding]:
    """Look at the installation: versions, the embedded model, words for attacks, data.

    Nothing is downloaded and nothing is changed.
    """
    found = [_python(), *map(_package, NEEDED)]
    for extra, names in OPTIONAL.items():
        absent = [name for name in names if not _version(name)]
        found.append(
            Finding(f"extra {extra}", "missing", f"pip install 'pidlib[{extra}]' ({absent[0]})")
            if absent
            else Finding(f"extra {extra}", "ok", ", ".join(f"{n} {_version(n)}" for n in names))
        )
    found += [
        _tried("embedded model", _embedded, "broken", absent="missing"),  # an extra of its own
        _tried("adapters", _adapters, "broken"),
        _tried("controls", _controls, "broken"),
        _tried("data folder", _data, "missing"),
        _tried("WordNet", _wordnet, "missing"),
        _device(),
    ]
    return found


def _python() -> Finding:
    told = ".".join(map(str, sys.version_info[:3]))
    return Finding("Python", "ok" if sys.version_info >= (3, 11) else "broken", told)


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


def _package(name: str) -> Finding:
    seen = _version(name)
    wanted = next((r for r in metadata.requires("pidlib") or [] if r.startswith(name)), name)
    if seen is None or importlib.util.find_spec(name.replace("-", "_")) is None:
        return Finding(name, "broken", f"not installed; pip install '{wanted}'")
    from packaging.requirements import Requirement

    if not Requirement(wanted).specifier.contains(seen, prereleases=True):
        return Finding(name, "broken", f"{seen}, but pidlib needs {wanted}; install that")
    return Finding(name, "ok", seen)


def _tried(
    name: str, look: Callable[[], str], otherwise: str, absent: str | None = None
) -> Finding:
    try:
        return Finding(name, "ok", look())
    except FileNotFoundError as error:
        return Finding(name, absent or otherwise, str(error))
    except (ValueError, ImportError) as error:
        return Finding(name, otherwise, str(error))


def _embedded() -> str:
    from pidlib.models import BASE, base_folder

    base_folder(check=True)
    return f"{BASE}, checksum as it should be"


def _adapters() -> str:
    from pidlib.io.files import check_sha256
    from pidlib.models import ADAPTERS, adapters, training_record

    names = adapters()
    if not names:
        raise FileNotFoundError("no adapter came with pidlib; install it again")
    for name in names:
        expected = training_record(name)["adapter"]["sha256"]
        check_sha256(ADAPTERS / name / "adapter_model.safetensors", expected)
    return f"{', '.join(names)}: checksums as they should be"


def _controls() -> str:
    from pidlib.estimation.estimator import Estimator
    from pidlib.estimation.pretrained import CONTROLS, controls

    for name in controls():
        Estimator.from_pretrained(CONTROLS / name)
    return f"{', '.join(controls()) or 'none'}: checksums as they should be"


def _data() -> str:
    from pidlib.data.nli import data_folder

    names = sorted(path.stem for path in data_folder().glob("*.jsonl"))
    return f"{len(names)} files: {', '.join(names)}"


def _wordnet() -> str:
    from pidlib.attacks.synonyms import WordNetCandidates

    WordNetCandidates()
    return "found (PSO on real data takes its words from it)"


def _device() -> Finding:
    import torch

    if torch.cuda.is_available():
        return Finding("device", "ok", torch.cuda.get_device_name())
    return Finding("device", "ok", f"processor, {torch.get_num_threads()} threads")
