"""Classifiers of pictures: a small convolutional network, and a ViT from a folder."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import torch
from safetensors.torch import load_file
from torch import Tensor, nn


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
