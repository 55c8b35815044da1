"""Tiny random models of every architecture and a tiny tokenizer, made in memory."""

import io
import os
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from copy import deepcopy
from types import SimpleNamespace

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
if "PYTEST_XDIST_WORKER" in os.environ:  # the workers share the cores: threads would only wait
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import pytest
import torch
from hypothesis import settings

# A busy machine is no defect: no test fails because one example took long.
settings.register_profile("pidlib", settings(), deadline=None)
settings.load_profile("pidlib")

WORDS = "a the dog cat man child runs sleeps sits eats in on park house red two big small".split()
VOCABULARY = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *WORDS]
KINDS = ("bert", "distilbert", "roberta", "opt", "gpt2", "llama", "vit")
TEXT_KINDS = KINDS[:-1]
DEPTH, WIDTH = 3, 16
SIZES = {
    "vocab_size": len(VOCABULARY), "hidden_size": WIDTH, "num_hidden_layers": DEPTH,
    "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 40,
    "pad_token_id": 0,
}  # fmt: skip
ONE_HEAD = {"num_key_value_heads": 1, "head_dim": 8}
SIDES = {f"{part}_{name}": n for part in ("encoder", "decoder") for name, n in
         {"attention_heads": 2, "ffn_dim": 24}.items()}  # fmt: skip
OWN = {  # what a kind needs beside the sizes
    "bart": SIDES, "distilbert": {"hidden_dim": 24}, "gemma": ONE_HEAD, "gemma2": ONE_HEAD,
    "llama": {"num_key_value_heads": 2}, "opt": {"ffn_dim": 24, "word_embed_proj_dim": WIDTH},
    "qwen3": ONE_HEAD, "t5": {"d_kv": 8, "d_ff": 24, "decoder_start_token_id": 0},
    "vit": {"image_size": 8, "patch_size": 4, "num_channels": 1},
}  # fmt: skip


def drawn(make, *given, seed=0, **more):
    """A model with random weights in evaluation mode, whatever was drawn before."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return make(*given, **more).eval()


def make_config(kind, **changes):
    """Settings of a small model of any kind."""
    import transformers as tf

    names = tf.AutoConfig.for_model(kind).attribute_map  # what a kind calls otherwise
    wanted = {names.get(k, k): v for k, v in (SIZES | OWN.get(kind, {}) | changes).items()}
    return tf.AutoConfig.for_model(kind, **wanted)


def make_model(kind, attention="sdpa", seed=0, depth=DEPTH, **changes):
    """A random sequence (or image) classifier in evaluation mode."""
    import transformers as tf

    from pidlib.data.labels import LABELS

    how = {"attn_implementation": attention}
    ours = how | {"num_hidden_layers": depth, "id2label": dict(enumerate(LABELS))}
    ours |= {"init_std" if kind == "opt" else "initializer_range": 0.25}
    config = make_config(kind, **ours | changes)
    auto = tf.AutoModelForImageClassification if kind == "vit" else None
    auto = auto or tf.AutoModelForSequenceClassification
    return drawn(auto.from_config, config, seed=seed, **how)


def make_writer(kind, **changes):
    """A random language model in evaluation mode."""
    import transformers as tf

    return drawn(tf.AutoModelForCausalLM.from_config, make_model(kind, **changes).config)


def make_tokenizer(side="right"):
    """A tokenizer of whole words, [CLS] first [SEP] second [SEP]."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    ids = {word: k for k, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    special = [("[CLS]", 1), ("[SEP]", 2)]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=special
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        unk_token="[UNK]",
        padding_side=side,
        model_input_names=["input_ids", "attention_mask"],
    )


def make_rows(count=60, seed=0):
    """Random pairs of short sentences; labels are random too."""
    draw = torch.Generator().manual_seed(seed)

    def sentence():
        length = int(torch.randint(2, 7, (), generator=draw))
        picks = torch.randint(len(WORDS), (length,), generator=draw)
        return " ".join(WORDS[k] for k in picks)

    return [
        {
            "premise": sentence(),
            "hypothesis": sentence(),
            "label": int(torch.randint(3, (), generator=draw)),
        }
        for _ in range(count)
    ]


def make_inputs(kind, batch=4, length=9, seed=1, side="right"):
    """A batch of random inputs; rows of a text batch differ in length."""
    draw = torch.Generator().manual_seed(seed)
    if kind == "vit":
        return {"pixel_values": torch.randn(batch, 1, 8, 8, generator=draw)}
    ids = torch.randint(4, len(VOCABULARY), (batch, length), generator=draw)
    mask = torch.ones(batch, length, dtype=torch.long)
    for k in range(batch):
        empty = slice(length - k, None) if side == "right" else slice(0, k)
        mask[k, empty] = 0
    return {"input_ids": ids * mask, "attention_mask": mask}


def make_reader(labels=3, **changes):
    """A random BERT of two blocks that reads real words, with the tokenizer of MiniLM."""
    import transformers as tf

    from pidlib.data.labels import LABELS
    from pidlib.io.embedded import embedded_folder

    size = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
    names = {"id2label": dict(enumerate(LABELS))} if labels == 3 else {"num_labels": labels}
    config = tf.BertConfig(**size | {"intermediate_size": 24} | names | changes)
    model = drawn(tf.BertForSequenceClassification, config)
    return model, tf.AutoTokenizer.from_pretrained(embedded_folder())


def answer(model, inputs, control=None):
    """Logits, without gradients; under a control, if one is given."""
    from pidlib.evaluation.accuracy import under

    with torch.no_grad(), under(control, model):
        return model(**inputs).logits


def states(model, inputs, control=None):
    """States, their mask and the logits, without gradients; under a control, if one is given."""
    from pidlib.evaluation.accuracy import under
    from pidlib.hooks import read_states

    with torch.no_grad(), under(control, model):
        return read_states(model, inputs)


def answered(model, kind="bert", count=1, side="right"):
    """Batches with the model's own answers as labels."""
    made = [make_inputs(kind, seed=seed, side=side) for seed in range(1, count + 1)]
    return [SimpleNamespace(inputs=of, labels=answer(model, of).argmax(-1)) for of in made]


def fit(model, rows=12, **settings):
    """A control fitted on random rows, their labels left out."""
    from pidlib.pid import PIDController

    settings = {"correct_only": False} | settings
    return PIDController.fit(model, make_tokenizer(), make_rows(rows), **settings)


def hooks_left(model):
    """Hooks on any module of a model."""
    kinds = ("_forward_pre_hooks", "_forward_hooks", "_forward_hooks_always_called")
    return sum(len(getattr(module, kind)) for module in model.modules() for kind in kinds)


def refusals(cases, error=ValueError):
    """A test that each call is refused with the words beside it."""

    @pytest.mark.parametrize(("call", "says"), cases)
    def test(call, says):
        with pytest.raises(error, match=says):
            call()

    return test


def printed(code, **environment):
    """What a Python of its own prints, which may print no error."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True, text=True, env=os.environ | environment,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return done.stdout


def typed(door, *words):
    """Exit code, standard output and standard error of a command line."""
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit) as stop:
        patch.setattr(sys, "argv", ["typed", *map(str, words)])
        with redirect_stdout(out), redirect_stderr(err):
            door.main()
    return stop.value.code or 0, out.getvalue(), err.getvalue()


def write_wordnet(folder, senses):
    """Files in WordNet's format; by part of speech, each sense with its words and its ties."""
    licence = "  1 This is the licence, indented as in WordNet.  \n"
    for part in ("noun", "verb", "adj", "adv"):
        places = [0] * len(own := senses.get(part, []))
        for _ in range(2):  # the first round tells how long the lines are
            text, index = licence, licence
            for k, (words, ties) in enumerate(own):
                forms = "".join(f"{word} 0 " for word in words.split())
                told = [(tie, places[to]) for tie, ends in ties.items() for to in ends]
                links = "".join(f"{tie} {to:08d} {part[0]} 0000 " for tie, to in told)
                count = f"{len(words.split()):02x}"
                line = f"06 {part[0]} {count} {forms}{len(told):03d} {links}| a meaning  \n"
                for word in words.replace("(a)", "").split():
                    index += f"{word} {part[0]} 1 0 1 0 {len(text):08d}  \n"
                places[k], text = len(text), text + f"{len(text):08d} {line}"
        (folder / f"data.{part}").write_text(text)
        (folder / f"index.{part}").write_text(index)
    return folder


class _Tiny:
    """What tests need of tiny models, under one name."""

    kinds, text_kinds, depth, width = KINDS, TEXT_KINDS, DEPTH, WIDTH
    config, drawn = staticmethod(make_config), staticmethod(drawn)
    model, writer = staticmethod(make_model), staticmethod(make_writer)
    tokenizer = staticmethod(make_tokenizer)
    rows = staticmethod(make_rows)
    inputs = staticmethod(make_inputs)
    reader = staticmethod(make_reader)
    answer, states = staticmethod(answer), staticmethod(states)
    answered = staticmethod(answered)
    fit = staticmethod(fit)
    hooks_left = staticmethod(hooks_left)


@pytest.fixture(scope="session")
def tiny():
    """Factories such as tiny.model(kind) and tiny.rows(n), and what tests ask of models."""
    return _Tiny


@pytest.fixture(scope="session")
def minilm():
    """MiniLM and its tokenizer, which tests leave as they are."""
    from pidlib import load_model

    return load_model("minilm-nli")


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture(params=TEXT_KINDS)
def text_kind(request):
    return request.param


@pytest.fixture(params=["eager", "sdpa"])
def attention(request):
    return request.param


@pytest.fixture
def real_data():
    """Folder of the real files; skips, with the reason, where there is none."""
    from pathlib import Path

    folder = os.environ.get("PIDLIB_DATA_DIR")
    if not folder or not (Path(folder) / "snli-test.jsonl").is_file():
        pytest.skip("PIDLIB_DATA_DIR names no folder with the real files")
    return Path(folder)


@pytest.fixture(autouse=True, scope="session")
def adapters_are_read_once():
    """Merge each adapter of MiniLM once; who loads it gets a copy of its own."""
    import pidlib.models as models

    read, shipped = models.load_adapter, {}

    def copied(adapter):
        if adapter.parent != models.ADAPTERS or not adapter.name.startswith("minilm"):
            return read(adapter)
        if adapter not in shipped:
            shipped[adapter] = read(adapter)
        return deepcopy(shipped[adapter])

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(models, "load_adapter", copied)
        yield


FITS = {}  # of trials, by model, rows and settings


@pytest.fixture(scope="module")
def small_fits():
    """Trials fit their controls of subspaces on 60 rows, and once for the same rows and model."""
    import experiments.conditions as conditions
    from pidlib.attacks.attacker import victim_sha256
    from pidlib.data.nli import fingerprint
    from pidlib.pid import PIDController

    class Once:
        @staticmethod
        def fit(model, tokenizer, rows, **settings):
            key = victim_sha256(model), fingerprint(rows), str(settings)
            if key not in FITS:
                FITS[key] = PIDController.fit(model, tokenizer, rows, **settings)
            return FITS[key]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conditions, "PIDController", Once)
        yield


@pytest.fixture
def wordnet_files():
    """Folder of WordNet's files; skips, with the reason, where there is none."""
    from pidlib.attacks.wordnet import wordnet_folder

    try:
        return wordnet_folder()
    except FileNotFoundError as missing:
        pytest.skip(str(missing))


@pytest.fixture(autouse=True)
def gradients_stay_on():
    """A test that leaves gradients switched off fails itself, not the tests after it."""
    yield
    left_off = not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    assert not left_off, "gradients are still switched off after this test"


@pytest.hookimpl(tryfirst=True)  # before xdist reads the marks
def pytest_collection_modifyitems(items):
    """Tests of a file stay on one worker, but for those that name a group of their own."""
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.path.name))
