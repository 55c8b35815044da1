"""Recorded trial of steering: controls of a language model at equal size, with placebos."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from experiments.beyond.concept import OPPOSITE, TARGET, prompts
from experiments.beyond.steering_laws import GRIDS, LOG, SteeringLaws
from experiments.experiment import Experiment, Report, all_known, once
from pidbook.analysis import steering_of_size, steering_size
from pidbook.evaluation.results import configuration_hash
from pidlib.data.batches import batches, encode
from pidlib.data.nli import load_nli
from pidlib.evaluation.accuracy import under
from pidlib.evaluation.placebos import Placebo
from pidlib.io.embedded import SMOLLM2

ROTATED, REVERSED = ("addition", "half-space", "LQR, Jacobians", "feedback"), tuple(GRIDS)


@dataclass(frozen=True)
class SteeringTrial(Experiment):
    """Laws that steer, each at its best setting, at equal sizes; gain in log-odds, loss on other text."""

    model: str = "smollm2"
    loss_on: str = "snli-test"
    n: int = 100
    sizes: tuple[float, ...] = (0.001, 0.0025, 0.005, 0.01)
    size: float = 0.0025
    laws: tuple[str, ...] = tuple(GRIDS)
    seeds: int = 5
    shuffles: int = 5
    subjects: int = 16
    linearised: int = 48
    seed: int = 0

    def __post_init__(self) -> None:
        if self.size not in self.sizes:
            raise ValueError(f"size {self.size} is not among the sizes {self.sizes}")
        all_known("law", self.laws, GRIDS)

    @property
    def name(self) -> str:
        """Stem of the result file."""
        return f"steering-{self.model}"

    def run(self, results: Path, runs: Path, report: Report) -> dict[str, Any]:
        """Choose a setting for every law, then judge laws and placebos."""
        running = RunningSteering(self, runs, report)
        examples = {"none": running.judged("none", lambda: None)}
        chosen = {law: running.chosen(law) for law in self.laws}
        for law in self.laws:
            for size in self.sizes:
                key = f"{law}, {size:g}"
                examples[key] = running.judged(key, lambda law=law, s=size: running.control(law, s))
        for key, make in running.placebos():
            examples[key] = running.judged(key, make)
        texts = running.loss_rows
        return {
            "data": {"name": self.loss_on, "n": len(texts), "sha256": configuration_hash(texts)},
            "model": {"name": self.model, "sha256": SMOLLM2.packages[0][2]},
            "counts": {"prompts": len(running.prompts["test"]), "texts": len(texts)},
            "selection": chosen,
            "examples": examples,
        }


class RunningSteering(SteeringLaws):
    """A trial under way."""

    def __init__(self, trial: SteeringTrial, runs: Path, report: Report) -> None:
        super().__init__(trial, runs, report)
        test = prompts("test")
        per = len(test) // 6  # prompts go by template, then by subject
        test = [text for k, text in enumerate(test) if k % per < self.trial.subjects]
        self.prompts = {"validation": prompts("validation"), "test": test}
        ids = [
            self.tokenizer([f" {word}" for word in words], add_special_tokens=False)["input_ids"]
            for words in (TARGET, OPPOSITE)
        ]
        self.scored = [sorted({first for first, *_ in of}) for of in ids]  # first tokens of words

    @cached_property
    def loss_rows(self) -> list[dict[str, Any]]:
        """Sentences that have nothing to do with the concept."""
        first = dict.fromkeys(row["premise"] for row in load_nli(self.trial.loss_on))
        return [{"text": text} for text in first if 6 <= len(text.split()) <= 16][: self.trial.n]

    @cached_property
    def sized_on(self) -> dict[str, Tensor]:
        """Prompts on which sizes are measured: of the search, not of the trial."""
        return encode(self.tokenizer, [{"text": text} for text in self.prompts["validation"][::2]])

    def sized(self, family: Callable, size: float, bracket: tuple[float, float]) -> Any:
        """The control of a family that has a size on prompts of the search."""
        return steering_of_size(self.model, self.sized_on, family, size, bracket)

    def control(self, law: str, size: float, sign: int = 1) -> Any:
        """A law at its chosen setting and a size."""
        family, bracket = self.family(law, self.chosen(law)["setting"])
        return self.sized(lambda s: family(s, sign=sign), size, bracket)

    def chosen(self, law: str) -> dict[str, Any]:
        """The setting with the largest gain on held-out prompts, at the size of the trial."""

        def search() -> dict[str, Any]:
            base, tried = self.log_odds(None, "validation").mean(), []
            for setting in GRIDS[law]:
                try:
                    family, bracket = self.family(law, setting)
                    control = self.sized(family, self.trial.size, bracket)
                    gain = float((self.log_odds(control, "validation") - base).mean())
                except ValueError:  # no strength has this size
                    gain = None
                tried.append({"setting": setting, "gain": None if gain is None else round(gain, 3)})
                self.report(f"{law} {setting}: {gain}")
            best = max((of for of in tried if of["gain"] is not None), key=lambda of: of["gain"])
            return {"tried": tried, "setting": best["setting"]}

        path = self.folder / f"search {law}.json"
        return once(path, {"grid": GRIDS[law], "size": self.trial.size}, search)

    def placebos(self) -> list[tuple[str, Callable[[], Any]]]:
        """What is as large and knows nothing, or pushes the other way."""
        trial, of = self.trial, GRIDS["addition"][0]
        if "addition" in trial.laws:
            of = self.chosen("addition")["setting"]
        source = np.random.default_rng(trial.seed)
        half = np.repeat([True, False], len(self.target))

        def added(**how: Any) -> Callable[[], Any]:
            return lambda: self.sized(self._addition(of, **how), trial.size, LOG)

        def rotated(law: str) -> Callable[[], Any]:
            return lambda: Placebo(self.control(law, trial.size), "rotation", trial.seed)

        orders = [source.permutation(half) for _ in range(trial.shuffles)]
        return [
            *((f"random direction {k}", added(seed=k)) for k in range(trial.seeds)),
            *((f"shuffled labels {k}", added(labels=order)) for k, order in enumerate(orders)),
            *((f"{law}: rotated", rotated(law)) for law in ROTATED if law in trial.laws),
            *((f"{law}: reversed", partial(self.control, law, trial.size, -1))
              for law in REVERSED if law in trial.laws),
        ]  # fmt: skip

    def log_odds(self, control: Any, part: str) -> np.ndarray:
        """Log-odds of a word of the target's mood against one of the opposite, after each prompt."""
        values = np.zeros(len(self.prompts[part]))
        rows = [{"text": text} for text in self.prompts[part]]
        with torch.inference_mode(), under(control, self.model):
            for batch in batches(self.tokenizer, rows, 16):
                logits = self.model(**batch.inputs).logits
                mask = batch.inputs["attention_mask"]
                ends = mask.shape[1] - 1 - mask.flip(1).argmax(1)
                last = logits[torch.arange(len(ends)), ends].double()
                good, bad = (last[:, ids].logsumexp(1) for ids in self.scored)
                values[batch.indices] = (good - bad).numpy()
        return values

    def losses(self, control: Any) -> np.ndarray:
        """Mean loss a token, in nats, of each neutral text."""
        values = np.zeros(len(self.loss_rows))
        with torch.inference_mode(), under(control, self.model):
            for batch in batches(self.tokenizer, self.loss_rows, 16):
                ids, mask = batch.inputs["input_ids"], batch.inputs["attention_mask"][:, 1:]
                seen = self.model(**batch.inputs).logits[:, :-1].float().log_softmax(-1)
                of = -seen.gather(2, ids[:, 1:, None])[..., 0] * mask
                values[batch.indices] = (of.sum(1) / mask.sum(1)).numpy()
        return values

    def judged(self, key: str, make: Callable[[], Any]) -> dict[str, Any]:
        """Log-odds after every prompt and loss on every text under a control, computed once."""

        def judge() -> dict[str, Any]:
            try:
                control = make()
            except ValueError as error:  # a law that cannot be so large, or so small
                self.report(f"{key}: {error}")
                return {"size": None}
            bare = control.controller if isinstance(control, Placebo) else control
            on = encode(self.tokenizer, [{"text": t} for t in self.prompts["test"]])
            size = 0.0 if bare is None else steering_size(self.model, on, bare)
            odds, loss = self.log_odds(control, "test"), self.losses(control)
            self.report(
                f"{key}: size {size:.4f}, log-odds {odds.mean():+.2f}, loss {loss.mean():.3f}"
            )
            return {"size": round(size, 5), "log_odds": odds.round(3).tolist(),
                    "loss": loss.round(4).tolist()}  # fmt: skip

        about = {"key": key, "trial": configuration_hash(self.trial.configuration)}
        if not key.startswith(("none", "random", "shuffled")):
            law = max(filter(key.startswith, GRIDS), key=len)
            about["setting"] = self.chosen(law)["setting"]
        return once(self.folder / f"{key.replace(':', '')}.json", about, judge)
