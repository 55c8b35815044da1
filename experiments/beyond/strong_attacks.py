"""The strong attacks of a well-kept library, on what withstood the plain one."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from torch import Tensor, nn

APGD_STEPS, QUERIES = 30, 150


class _Logits(nn.Module):
    """A model whose forward gives logits, as attack libraries want it."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, images: Tensor) -> Tensor:
        return self.model(images).logits


def withstood(
    model: nn.Module, images: Tensor, labels: Tensor, epsilon: float, before: np.ndarray, seed: int
) -> dict[str, np.ndarray]:
    """What is right after each attack in turn, each made on what withstood those before it.

    AutoPGD on the cross-entropy, AutoPGD on the ratio of differences of logits, and Square, which
    sees no gradient: three of AutoAttack's four (FAB is left out). Of the Adversarial Robustness Toolbox.
    """
    try:
        from art.attacks.evasion import AutoProjectedGradientDescent, SquareAttack
        from art.estimators.classification import PyTorchClassifier
    except ImportError as error:
        raise ImportError(
            "the strong attacks are of the package adversarial-robustness-toolbox: "
            'pip install "adversarial-robustness-toolbox==1.20.1"'
        ) from error
    warnings.filterwarnings("ignore", module="art")
    classifier = PyTorchClassifier(
        _Logits(model).eval(), nn.CrossEntropyLoss(), tuple(images.shape[1:]),
        model.config.num_labels, clip_values=(0.0, 1.0), device_type="cpu",
    )  # fmt: skip
    sizes = {"eps": epsilon, "batch_size": 100, "verbose": False}
    apgd = sizes | {"eps_step": 2 * epsilon, "max_iter": APGD_STEPS, "nb_random_init": 1}
    attacks = {
        loss: AutoProjectedGradientDescent(classifier, loss_type=loss, norm=np.inf, **apgd)
        for loss in ("cross_entropy", "difference_logits_ratio")
    }
    sizes["max_iter"] = QUERIES
    attacks["square"] = SquareAttack(classifier, norm=np.inf, nb_restarts=1, **sizes)
    right, after = before.copy(), {}
    np.random.seed(seed)  # the library draws from numpy's global source
    torch.manual_seed(seed)
    for name, attack in attacks.items():
        left = np.flatnonzero(right)
        if len(left):
            x, y = images[left].numpy(), labels[left].numpy()
            moved = np.clip(attack.generate(x, y=y), x - epsilon, x + epsilon)
            with torch.inference_mode():
                answers = model(torch.from_numpy(moved.clip(0, 1).astype(np.float32))).logits
            right[left] = (answers.argmax(1) == labels[left]).numpy()
        after[f"after {name}"] = right.copy()
    return after | {"all": right}
