"""Models by name: the embedded one, a local folder, or one on a hub."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from pidlib.data.labels import LABELS
from pidlib.io.embedded import EMBEDDED, MINILM, SMOLLM2, Embedded, embedded_folder
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
    elif Path(name).is_dir() or "/" in name:
        model = transformers.AutoModelForSequenceClassification.from_pretrained(name)
        tokenizer = load_tokenizer(name)
        if model.config.pad_token_id is None:
            model.config.pad_token_id = tokenizer.pad_token_id
    else:
        known = [*(adapters() or ["minilm-nli"]), "smollm2"]
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


class ResidualCNN(nn.Module):
    """A small convolutional network whose blocks all take and give states of one shape.

    A stem makes 7 x 7 positions of a picture; each block adds two convolutions of its normalised
    state to it. Between blocks the picture is a list of positions, (B, 49, channels), as a vision
    transformer has it, so the state of each position is controlled alike.

    Parameters
    ----------
    depth, channels, classes : int

    Examples
    --------
    >>> ResidualCNN(depth=2, channels=8)(torch.zeros(3, 1, 28, 28)).logits.shape
    torch.Size([3, 10])
    """

    def __init__(self, depth: int = 6, channels: int = 32, classes: int = 10) -> None:
        super().__init__()
        settings = {"num_hidden_layers": depth, "hidden_size": channels, "num_labels": classes}
        names = {k: f"class {k}" for k in range(classes)}
        self.config = SimpleNamespace(model_type="residual-cnn", id2label=names, **settings)
        half = channels // 2
        self.stem = nn.Sequential(
            nn.Conv2d(1, half, 3, 2, 1), nn.ReLU(), nn.Conv2d(half, channels, 3, 2, 1)
        )
        self.blocks = nn.ModuleList(_Convolutions(channels) for _ in range(depth))
        self.norm = nn.LayerNorm(channels)
        self.head = nn.Linear(channels, classes)

    def forward(self, pixel_values: Tensor) -> SimpleNamespace:
        """Logits (B, classes) of pictures (B, 1, h, w), as the attribute `logits`."""
        x = self.stem(pixel_values).flatten(2).transpose(1, 2)
        for block in self.blocks:
            x = block(x)
        return SimpleNamespace(logits=self.head(self.norm(x).mean(1)))


class _Convolutions(nn.Module):
    """x + two convolutions of the normalised x, over positions (B, side^2, channels)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)
        self.first, self.second = (nn.Conv2d(channels, channels, 3, 1, 1) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        side = round(x.shape[1] ** 0.5)
        h = self.norm(x).transpose(1, 2).unflatten(2, (side, side))
        return x + self.second(self.first(h).relu()).flatten(2).transpose(1, 2)


def load_image_model(folder: str | Path) -> nn.Module:
    """Load a classifier of pictures from a folder, in evaluation mode.

    Parameters
    ----------
    folder : path
        A ViT saved there by transformers, or a `ResidualCNN` that the experiment `vision` saved.

    Returns
    -------
    torch.nn.Module, in single precision; its forward takes `pixel_values` and gives `logits`

    Raises
    ------
    FileNotFoundError
        There is no `config.json` in the folder.

    Examples
    --------
    >>> load_image_model("book/results/vision/cnn").config.num_hidden_layers
    6

    Source: our departure, the paper controls models of language only.
    """
    settings = json.loads((Path(folder) / "config.json").read_text(encoding="utf-8"))
    if settings["model_type"] != "residual-cnn":
        import transformers  # slow, and only who loads a model needs it

        kind = transformers.ViTForImageClassification
        return kind.from_pretrained(folder, dtype=torch.float32).eval()
    model = ResidualCNN(settings["num_hidden_layers"], settings["hidden_size"])
    weights = load_file(Path(folder) / "model.safetensors")
    model.load_state_dict({name: weight.float() for name, weight in weights.items()})
    return model.eval()
