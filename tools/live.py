"""What the live page needs: the model and two controls in 8 bits, as scripts, and their manifest.

python tools/live.py FOLDER    write them there

A page opened as a file may not read other files, but it may load scripts. So every part is a script
that hands over a text, the bytes in base64.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import sys
import zlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from contents import BUILD, ROOT, write_whole

CACHE = Path(os.environ.get("BOOK_LIVE", BUILD / "live"))
STEMS = ("pidlib", "tools/live.py")  # what the parts are made from
PART = 3 * 2**19  # bytes of a part; of 3 bytes base64 makes 4 letters, so none is left over
LENGTH = 128  # tokens that the page reads
RUN = 96  # numbers that share a scale; with 384 six answers of 600 turn under a control, not two
ROWS = 1000  # captions that the P-D control is fitted on
PIECES = {  # parts of a block, and what the page calls them
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "gather",
    "attention.output.LayerNorm": "norm1",
    "intermediate.dense": "widen",
    "output.dense": "narrow",
    "output.LayerNorm": "norm2",
}


class Blob:
    """Bytes that grow by named arrays; each begins at a multiple of 4."""

    def __init__(self) -> None:
        self.bytes, self.arrays = bytearray(), {}

    def add(self, name: str, values: Any, kind: str) -> None:
        """Append an array of a kind that numpy knows."""
        array = np.ascontiguousarray(values, dtype=kind)
        self.bytes.extend(bytes(-len(self.bytes) % 4))
        self.arrays[name] = [kind, len(self.bytes), array.size]
        self.bytes.extend(array.tobytes())

    def vector(self, name: str, values: Tensor) -> None:
        """Append floats as they are: there are few."""
        self.add(name, values.detach().numpy(), "float32")

    def matrix(self, name: str, values: Tensor, run: int = RUN) -> None:
        """Append a matrix in 8 bits: each run of numbers has a scale, so that its largest is 127."""
        values = values.detach().double().reshape(-1, run)
        scales = values.abs().amax(1).clamp(min=1e-12) / 127
        self.add(name, (values / scales[:, None]).round().numpy(), "int8")
        self.vector(f"{name}.scale", scales)


def layers(depth: int) -> dict[str, str]:
    """Names of the model's layers, and what the page calls them."""
    names = {"bert.embeddings.LayerNorm": "norm0", "bert.pooler.dense": "pooler"}
    names["classifier"] = "classifier"
    for t in range(depth):
        names |= {f"bert.encoder.layer.{t}.{k}": f"{t}.{v}" for k, v in PIECES.items()}
    return names


def model_into(blob: Blob, model: Any, tokenizer: Any) -> None:
    """Append the classifier and its vocabulary."""
    words = sorted(tokenizer.get_vocab().items(), key=lambda word: word[1])
    assert [place for _, place in words] == list(range(len(words)))
    letters = "\n".join(word for word, _ in words).encode()
    blob.add("vocabulary", np.frombuffer(letters, np.uint8), "uint8")
    parts = model.state_dict()
    of = "bert.embeddings."
    blob.matrix("words", parts[f"{of}word_embeddings.weight"], model.config.hidden_size)
    places = parts[f"{of}position_embeddings.weight"][:LENGTH]
    kinds = parts[f"{of}token_type_embeddings.weight"]
    blob.matrix("places", places)
    blob.matrix("kinds", kinds)
    for there, here in layers(model.config.num_hidden_layers).items():
        weight = parts[f"{there}.weight"]
        (blob.vector if weight.dim() == 1 else blob.matrix)(f"{here}.weight", weight)
        blob.vector(f"{here}.bias", parts[f"{there}.bias"])


def controls(model: Any, tokenizer: Any) -> dict[str, Any]:
    """The two controllers of the page."""
    from pidlib import PIDController, load_nli
    from pidlib.estimation.pretrained import load_control

    rows = load_nli("captions", split="train", n=ROWS)
    settings = {"scheme": "PD", "variance": 0.99, "c": 1e-3}
    return {
        "pd": PIDController.fit(model, tokenizer, rows, **settings),
        "terminal": load_control("minilm-nli-terminal", model),
    }


def control_into(blob: Blob, name: str, controller: Any) -> None:
    """Append u = b - K x of every state; K's diagonal, far larger than the rest, is kept apart."""
    for t, kinds in controller.feedback.items():
        (gain,) = kinds.values()
        matrix = gain.matrix()
        blob.vector(f"{name}.{t}.diagonal", matrix.diagonal())
        blob.matrix(f"{name}.{t}", matrix - matrix.diagonal().diag())
        offset = torch.zeros(len(matrix)) if gain.offset is None else gain.offset
        blob.vector(f"{name}.{t}.offset", offset)


def synonyms() -> list[list[str]]:
    """The words of the captions that mean the same, in groups."""
    from pidlib.data import Lexicon

    lexicon = Lexicon.load()
    groups = {tuple(sorted([word, *lexicon.synonyms(word)])) for word in lexicon.words}
    return [list(group) for group in sorted(groups) if len(group) > 1]


def make(folder: Path) -> None:
    """Write the parts and their manifest."""
    from pidlib import load_model

    model, tokenizer = load_model("minilm-nli")
    blob = Blob()
    model_into(blob, model, tokenizer)
    for name, controller in controls(model, tokenizer).items():
        control_into(blob, name, controller)
    manifest = {
        "depth": model.config.num_hidden_layers,
        "width": model.config.hidden_size,
        "heads": model.config.num_attention_heads,
        "length": LENGTH,
        "labels": [model.config.id2label[k] for k in range(3)],
        "bytes": len(blob.bytes),
        "parts": list(parts_into(folder, blob.bytes)),
        "arrays": blob.arrays,
        "synonyms": synonyms(),
    }
    text = json.dumps(manifest, separators=(",", ":"))
    write_whole(folder / "manifest.js", f"const liveManifest = {text};\n")


def parts_into(folder: Path, content: bytes) -> Iterable[dict[str, Any]]:
    """Write the parts; yield what the page must know of each: its name, letters and checksum."""
    for place, start in enumerate(range(0, len(content), PART)):
        piece = bytes(content[start : start + PART])
        name, letters = f"part-{place:02}.js", base64.b64encode(piece).decode()
        write_whole(folder / name, f'livePart({place},"{letters}");\n')
        yield {"file": name, "start": start, "bytes": len(piece), "sum": zlib.adler32(piece)}


def live_parts(target: Path, build: Callable[[Path], None] = make) -> None:
    """Put the parts into a site; they are made anew only when the library has changed."""
    from book import changed, fingerprint

    key = fingerprint(STEMS, ROOT)
    if changed(CACHE / "stamp", key):
        shutil.rmtree(CACHE, ignore_errors=True)
        build(CACHE)
        write_whole(CACHE / "stamp", key)
    shutil.copytree(CACHE, target, dirs_exist_ok=True, ignore=shutil.ignore_patterns("stamp"))


if __name__ == "__main__":
    live_parts(Path(sys.argv[1]))
