"""Recorded trial of two classifiers of pictures under control: spoilt pictures, and attacks."""

from __future__ import annotations

import copy
import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from experiments.beyond.image_training import keep_model, new_model, train
from experiments.beyond.strong_attacks import withstood
from experiments.experiment import Experiment, Report, once
from experiments.fields import counted, packed
from pidbook.attacks.gradient import pgd
from pidbook.data.images import CLOTHES, corrupted, image_batches, load_fashion
from pidbook.evaluation.trial_results import pack, unpack
from pidbook.image_models import load_image_model
from pidlib.attacks.attacker import weights_sha256
from pidlib.estimation.estimator import Estimator
from pidlib.evaluation.accuracy import under
from pidlib.evaluation.placebos import Placebo
from pidlib.pid import PIDController

STRENGTHS = {
    "noise": (0.1, 0.2, 0.3, 0.4),
    "blur": (0.7, 1.0, 1.5, 2.0),
    "salt and pepper": (0.05, 0.1, 0.2, 0.3),
    "rotation": (15.0, 30.0, 45.0, 60.0),
    "shift": (1.0, 2.0, 3.0, 4.0),
}
LEARNT = ("noise", "blur")  # what the estimate and its rival learn from; the others are new to them
ALIKE = [CLOTHES.index(name) for name in ("T-shirt", "pullover", "coat", "shirt")]
PLACEBOS = (("noise", 0), ("rotation", 0), ("negative", 0))
ESTIMATE, RIVAL = "estimate", "fine-tuned"
PAPER = {"P 99 %": ("P", 0.99), "P 95 %": ("P", 0.95), "P-D 99 %": ("PD", 0.99), "P-D 95 %": ("PD", 0.95)}  # fmt: skip
ATTACKED = ("none", "P-D 99 %", ESTIMATE, RIVAL)  # adaptively
FEW = 500  # pictures; a smaller trial has one strength of each way to spoil, and no rival
SEARCHED = ATTACKED[:3]  # by the strong attacks as well, which are slow


class Judged(NamedTuple):
    """A model and what hangs on it."""

    model: nn.Module
    control: Any = None

    def right(self, images: Tensor, labels: Tensor) -> np.ndarray:
        """Right answers, (N,) bool."""
        with torch.inference_mode(), self.attached():
            parts = [self.model(part).logits.argmax(1) for part in images.split(250)]
        return (torch.cat(parts) == labels).numpy()

    def attached(self) -> Any:
        """The control in place, if there is one."""
        return under(self.control, self.model)


@dataclass(frozen=True)
class Vision(Experiment):
    """A small ViT or CNN, trained on Fashion-MNIST, under the paper's controls and an estimate.

    Controls are fitted on the `fitted_on` training pictures after the `trained_on` first ones, and
    judged on the first `n` test pictures. `epsilons` are in 255ths of full brightness. With fewer
    than 500 pictures the trial is a small one: fewer strengths, placebos and attacks, no rival.
    """

    network: Literal["vit", "cnn"] = "vit"
    epochs: float = 3.0
    rate: float = 2e-3
    trained_on: int = 55000
    fitted_on: int = 5000
    n: int = 600
    attacked: int = 250
    pairs: int = 300
    epsilons: tuple[int, ...] = (2, 4, 8, 16)
    searched: int = 8
    after: int = 2000  # test rows passed over for the pictures of like classes
    steps: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        if self.searched not in self.epsilons or not 0 < self.attacked <= self.n:
            raise ValueError(
                f"searched is {self.searched} and attacked {self.attacked}; give one of "
                f"{self.epsilons}, and a number from 1 to n = {self.n}"
            )

    @property
    def small(self) -> bool:
        """Whether this is a small trial."""
        return self.n < FEW

    @property
    def name(self) -> str:
        """Stem of the result file."""
        return f"vision-{self.network}"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Train, fit, judge every condition on every set, attack."""
        running = RunningVision(self, runs / self.name, report)
        right = {name: running.judged(name) for name in running.conditions}
        for name in SEARCHED if self.small else ATTACKED:
            right[name] |= running.resisted(name)
        kept = results / "vision" / self.network
        shutil.copytree(running.folder / "model", kept, dirs_exist_ok=True)
        controls = {n: c.control.summary() for n, c in running.conditions.items()
                    if hasattr(c.control, "summary")}  # fmt: skip
        return {
            "data": {"name": "fashion-mnist", "n": self.n, "sha256": running.sha256},
            "model": {"name": self.network, "sha256": weights_sha256(running.model)},
            "counts": counted(right),
            "controls": controls,
            "ranks": running.ranks(),
            "examples": packed(right),
            "seconds": sum(running.spent.values()),
        }  # fmt: skip


class RunningVision:
    """A trial under way: its model, its pictures, its controls."""

    def __init__(self, trial: Vision, folder: Path, report: Report) -> None:
        self.trial, self.folder, self.report = trial, folder, report
        self.spent: dict[str, float] = {}
        self.images, self.labels = load_fashion("test", trial.n)

    @property
    def sha256(self) -> str:
        """Hash of the pictures that are judged."""
        return hashlib.sha256(self.images.numpy().tobytes()).hexdigest()

    def _kept(self, name: str, make: Callable[[], nn.Module]) -> nn.Module:
        """A model, made once and kept."""
        keys = ("network", "epochs", "rate", "trained_on", "seed")
        about = {key: getattr(self.trial, key) for key in keys}

        def compute() -> dict[str, float]:
            started = time.process_time()
            keep_model(make(), self.folder / name)
            return {"seconds": time.process_time() - started}

        stored = once(self.folder / f"{name}.json", about, compute)
        self.spent[name] = stored["seconds"]
        return load_image_model(self.folder / name)

    def _trained(self, model: nn.Module, epochs: float, rate: float, **more: Any) -> nn.Module:
        images, labels = load_fashion("train", self.trial.trained_on)
        return train(model, images, labels, epochs, rate, self.trial.seed, self.report, **more)

    @cached_property
    def model(self) -> nn.Module:
        """The classifier."""

        def make() -> nn.Module:
            with torch.random.fork_rng(devices=[]):
                torch.manual_seed(self.trial.seed)
                fresh = new_model(self.trial.network)
            return self._trained(fresh, self.trial.epochs, self.trial.rate)

        return self._kept("model", make)

    @cached_property
    def rival(self) -> nn.Module:
        """A copy that goes on learning for half an epoch, every second batch spoilt."""

        def make() -> nn.Module:
            model = copy.deepcopy(self.model).float()
            return self._trained(model, 0.5, self.trial.rate / 4, change=_spoilt)

        return self._kept("rival", make)

    @cached_property
    def conditions(self) -> dict[str, Judged]:
        """All that is compared, by name."""
        trial = self.trial
        images, labels = load_fashion("train", trial.fitted_on, start=trial.trained_on)
        fitted = PIDController.from_batches(self.model, image_batches(images, labels), scheme="PID")
        controls: dict[str, Any] = {
            name: fitted.retune(scheme=scheme, variance=variance)
            for name, (scheme, variance) in PAPER.items()
        }
        parts = images[::2].split(250)  # half of them, each spoilt in one way
        spoilt = [(part, _spoilt(part, 2 * k + 1)) for k, part in enumerate(parts)]
        pairs = [({"pixel_values": x}, {"pixel_values": z}) for x, z in spoilt]
        controls[ESTIMATE] = Estimator.from_pairs(self.model, pairs, text="noise and blur")
        for name in ("P-D 99 %", ESTIMATE):
            for kind in PLACEBOS[:1] if trial.small else PLACEBOS:
                placebo = Placebo(controls[name], *kind)
                controls[f"{name}: {placebo.name}"] = placebo
        judged = {name: Judged(self.model, control) for name, control in controls.items()}
        rivals = {} if trial.small else {RIVAL: Judged(self.rival)}
        return {"none": Judged(self.model)} | judged | rivals

    def ranks(self) -> dict[str, list[int]]:
        """Rank of each state's subspace, by share of energy."""
        bases = self.conditions["P 99 %"].control.bases
        states = range(bases.origin.depth)
        return {str(v): [bases.rank("P", t, v) for t in states] for v in (0.99, 0.95)}

    @cached_property
    def sets(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Pictures with their labels: clean, spoilt, of like classes, and attacked without control."""
        sets = {"clean": (self.images, self.labels)}
        for kind, strengths in STRENGTHS.items():
            for strength in strengths[2:3] if self.trial.small else strengths:
                spoilt = corrupted(self.images, kind, strength, self.trial.seed)
                sets[f"{kind} {strength:g}"] = (spoilt, self.labels)
        sets |= self._alike()
        few = self.images[: self.trial.attacked], self.labels[: self.trial.attacked]
        for epsilon in self.trial.epsilons:
            moved = pgd(self.model, *few, epsilon / 255, self.trial.steps, self.trial.seed)
            sets[f"transfer {epsilon}"] = (moved, few[1])
        return sets

    def _alike(self) -> dict[str, tuple[Tensor, Tensor]]:
        """Garments most alike; and mixtures of two of them, once more of one, once of the other."""
        images, labels = load_fashion("test", start=self.trial.after)
        chosen = torch.isin(labels, torch.tensor(ALIKE)).nonzero()[:, 0][: self.trial.n]
        images, labels = images[chosen], labels[chosen]
        order = torch.randperm(
            len(chosen), generator=torch.Generator().manual_seed(self.trial.seed)
        )
        differ = order[labels != labels[order]], (labels != labels[order]).nonzero()[:, 0]
        a, b = (of[: self.trial.pairs] for of in differ)
        return {
            "alike": (images, labels),
            "nearer a": (0.7 * images[a] + 0.3 * images[b], labels[a]),
            "nearer b": (0.3 * images[a] + 0.7 * images[b], labels[b]),
        }

    def _once(self, name: str, what: str, compute: Callable[[], Mapping]) -> dict[str, np.ndarray]:
        """Right answers by set, computed once and kept."""
        about = self.trial.configuration | {"weights": weights_sha256(self.conditions[name].model)}

        def timed() -> dict[str, Any]:
            started = time.process_time()
            right = compute()
            bits = {key: [pack(of), len(of)] for key, of in right.items()}
            return {"right": bits, "seconds": time.process_time() - started}

        stored = once(self.folder / what / f"{name.replace(':', '')}.json", about, timed)
        self.spent[f"{what} {name}"] = stored["seconds"]
        right = {key: unpack(*of) for key, of in stored["right"].items()}
        self.report(f"{name}: { {key: round(float(of.mean()), 3) for key, of in right.items()} }")
        return right

    def judged(self, name: str) -> dict[str, np.ndarray]:
        """Right answers of one condition on every set."""
        condition = self.conditions[name]

        def judge() -> dict[str, np.ndarray]:
            sets = self.sets
            if isinstance(condition.control, Placebo):  # of each way to spoil one strength
                strengths = {f"{kind} {of[2]:g}" for kind, of in STRENGTHS.items()}
                spoilt = {key for key in sets if key.rpartition(" ")[0] in STRENGTHS}
                sets = {key: of for key, of in sets.items() if key not in spoilt - strengths}
            right = {key: condition.right(*of) for key, of in sets.items()}
            right["contrast"] = right.pop("nearer a") & right.pop("nearer b")
            return right

        return self._once(name, "judged", judge)

    def resisted(self, name: str) -> dict[str, np.ndarray]:
        """Right answers where the attack is made against the condition itself."""
        trial, condition = self.trial, self.conditions[name]
        few = self.images[: trial.attacked], self.labels[: trial.attacked]

        def attack() -> dict[str, np.ndarray]:
            right = {}
            for epsilon in trial.epsilons:
                with condition.attached():
                    moved = pgd(condition.model, *few, epsilon / 255, trial.steps, trial.seed + 1)
                right[f"adaptive {epsilon}"] = condition.right(moved, few[1])
            if name not in SEARCHED or trial.small:
                return right
            size = trial.searched
            # the attacker may also take what fools the bare model
            both = right[f"adaptive {size}"] & condition.right(*self.sets[f"transfer {size}"])
            with condition.attached():
                stood = withstood(condition.model, *few, size / 255, both, trial.seed)
            return right | {f"worst {size}": stood.pop("all")} | stood

        return self._once(name, "attacked", attack)


def _spoilt(images: Tensor, step: int) -> Tensor:
    """Every second batch spoilt, by turns in each way that is learnt and in each strength."""
    if step % 2 == 0:
        return images
    kind = LEARNT[step // 2 % len(LEARNT)]
    strength = STRENGTHS[kind][step // 4 % len(STRENGTHS[kind])]
    return corrupted(images, kind, strength, seed=step)
