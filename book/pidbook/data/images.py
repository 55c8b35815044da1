"""Pictures with labels: Fashion-MNIST from a folder, batches of it, and pictures with corruptions."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import affine_grid, grid_sample

from pidlib.data.batches import Batch

FOLDER, VARIABLE = "/usr/share/datasets/fashion-mnist", "FASHION_MNIST_DIR"
SPLITS = {"train": "train", "test": "t10k"}
CLOTHES = (
    "T-shirt", "trousers", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot",
)  # fmt: skip
CORRUPTIONS = ("noise", "blur", "salt and pepper", "rotation", "shift")
_HEADS = {2049: 1, 2051: 3}  # magic number of an IDX file of bytes, and its dimensions


def load_fashion(
    split: str = "test", n: int | None = None, start: int = 0, folder: str | Path | None = None
) -> tuple[Tensor, Tensor]:
    """Load pictures of Fashion-MNIST and their labels, in the order of the file.

    Parameters
    ----------
    split : {"train", "test"}
    n, start : int
        How many, all when left out, and how many before them are passed over.
    folder : path, optional
        That holds `t10k-images-idx3-ubyte.gz` and the like; by default what `FASHION_MNIST_DIR`
        names, else where Debian's package `dataset-fashion-mnist` puts it.

    Returns
    -------
    images, labels : (N, 1, 28, 28) float tensor from 0 to 1, and (N,) int64 tensor, see `CLOTHES`

    Raises
    ------
    FileNotFoundError
        The files are not there; the message says how to get them.
    ValueError
        An unknown split, a file that is not of pictures and labels, or too few of them.

    Examples
    --------
    >>> load_fashion("test", 2, folder="book/results/vision")[0].shape
    torch.Size([2, 1, 28, 28])

    Source: Xiao, Rasul & Vollgraf 2017.
    """
    if split not in SPLITS:
        raise ValueError(f"unknown split {split!r}; known: {list(SPLITS)}")
    place = Path(folder or os.environ.get(VARIABLE) or FOLDER)
    name = place / SPLITS[split]
    images, labels = (_read(Path(f"{name}-{k}-ubyte.gz")) for k in ("images-idx3", "labels-idx1"))
    stop = len(images) if n is None else start + n
    if images.ndim != 3 or labels.shape != images.shape[:1] or stop > len(images):
        raise ValueError(
            f"{place} holds {images.shape} pictures and {labels.shape} labels; {stop} are wanted"
        )
    chosen = torch.from_numpy(images[start:stop].astype(np.float32) / 255)
    return chosen[:, None], torch.from_numpy(labels[start:stop].astype(np.int64))


def _read(path: Path) -> np.ndarray:
    """Bytes of a gzipped IDX file, shaped."""
    if not path.is_file():
        raise FileNotFoundError(
            f"there is no {path.name} in {path.parent}: `make fashion` (as root, on Debian) "
            f"installs the package dataset-fashion-mnist; or name the folder in {VARIABLE}"
        )
    raw = gzip.decompress(path.read_bytes())
    ranks = _HEADS.get(int.from_bytes(raw[:4], "big"), 0)
    shape = tuple(np.frombuffer(raw, ">i4", ranks, 4)) if len(raw) > 16 else ()
    if not ranks or len(raw) != 4 + 4 * ranks + int(np.prod(shape)):
        raise ValueError(f"{path.name} is no IDX file of bytes")
    return np.frombuffer(raw, np.uint8, offset=4 + 4 * ranks).reshape(shape)


def image_batches(images: Tensor, labels: Tensor, size: int = 250) -> Iterator[Batch]:
    """Yield pictures as batches, in their order, for `PIDController.from_batches`.

    Parameters
    ----------
    images, labels : (N, 1, h, w) and (N,) tensors
    size : int, pictures in a batch

    Yields
    ------
    Batch

    Examples
    --------
    >>> [len(b.labels) for b in image_batches(torch.zeros(5, 1, 28, 28), torch.zeros(5), 3)]
    [3, 2]
    """
    for part in torch.arange(len(images)).split(size):
        yield Batch(part.numpy(), {"pixel_values": images[part]}, labels[part], 0)


def corrupted(images: Tensor, kind: str, strength: float, seed: int = 0) -> Tensor:
    """Corrupt pictures; strength 0 leaves them as they are.

    Parameters
    ----------
    images : (N, 1, h, w) float tensor from 0 to 1
    kind : one of `CORRUPTIONS`
    strength : float
        noise: standard deviation, in units of full brightness; blur: standard deviation of the
        Gaussian, in pixels; salt and pepper: share of pixels made black or white; rotation:
        degrees, to either side; shift: pixels, in any direction.
    seed : int

    Returns
    -------
    (N, 1, h, w) float tensor from 0 to 1

    Examples
    --------
    >>> dark = torch.zeros(1, 1, 28, 28)
    >>> bool((corrupted(dark, "salt and pepper", 0.2) > 0).float().mean() < 0.15)
    True

    Source: after Hendrycks & Dietterich 2019, our own strengths.
    """
    if kind not in CORRUPTIONS:
        raise ValueError(f"unknown corruption {kind!r}; known: {CORRUPTIONS}")
    if not 0 <= strength < float("inf"):
        raise ValueError(f"strength is {strength!r}; give a number of at least 0")
    random = torch.Generator().manual_seed(seed)
    if strength == 0:
        return images.clone()
    if kind == "noise":
        return (images + strength * torch.randn(images.shape, generator=random)).clamp(0, 1)
    if kind == "blur":
        from scipy.ndimage import gaussian_filter  # slow to import

        return torch.from_numpy(gaussian_filter(images.numpy(), (0, 0, strength, strength)))
    if kind == "salt and pepper":
        drawn = torch.rand(images.shape, generator=random)
        return torch.where(drawn < strength, (drawn < strength / 2).to(images), images)
    turns = torch.rand(len(images), generator=random)
    if kind == "rotation":
        return _moved(images, torch.deg2rad(strength * (2 * (turns < 0.5).float() - 1)), 0.0)
    return _moved(images, 2 * torch.pi * turns, strength)


def _moved(images: Tensor, angles: Tensor, pixels: float) -> Tensor:
    """Pictures turned by their angles, or moved so many pixels into their directions."""
    cos, sin, nothing = angles.cos(), angles.sin(), torch.zeros_like(angles)
    if pixels:  # grid coordinates span 2 over the picture
        step, one = 2 * pixels / images.shape[-1], nothing + 1
        rows: Sequence = ((one, nothing, step * cos), (nothing, one, step * sin))
    else:
        rows = ((cos, -sin, nothing), (sin, cos, nothing))
    theta = torch.stack([torch.stack(row, -1) for row in rows], 1)
    grid = affine_grid(theta, list(images.shape), align_corners=False)
    return grid_sample(images, grid, align_corners=False).clamp(0, 1)
