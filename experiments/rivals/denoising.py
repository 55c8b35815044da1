"""A small denoiser of the last state, before the head; and the density of that state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from experiments.rivals.answers import BATCH, Rival, Rows, combined, generator
from pidlib.data.batches import batches, input_device, texts
from pidlib.data.labels import label_order

STEPS, WIDTH = 20, 512  # levels of noise; width of the denoiser
_UPDATES, _ROWS, _RATE = 600, 256, 1e-3


class FirstStates:
    """Last states (N, d) of the first token, which the head reads, and the head; each text once."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model, self.tokenizer = model, tokenizer
        self.memory: dict[tuple[str, ...], Tensor] = {}

    def __call__(self, rows: Rows) -> Tensor:
        """The states of rows."""
        keys = [tuple(column[0] for column in texts([row]) if column) for row in rows]
        unseen = {key: row for key, row in zip(keys, rows, strict=True) if key not in self.memory}
        new, device = list(unseen.values()), input_device(self.model)
        with torch.inference_mode():
            for batch in batches(self.tokenizer, new, BATCH, device=device) if new else ():
                states = self.model.base_model(**batch.inputs).last_hidden_state[:, 0]
                for place, state in zip(batch.indices, states.float(), strict=True):
                    self.memory[list(unseen)[place]] = state
        return torch.stack([self.memory[key] for key in keys])

    @torch.inference_mode()
    def logits(self, states: Tensor) -> np.ndarray:
        """Logits (N, labels) that the head gives to states (N, d)."""
        pooled = self.model.base_model.pooler(states[:, None])
        order = label_order(self.model.config)
        return self.model.classifier(pooled)[:, order].float().numpy()

    def doubt(self, rows: Rows) -> np.ndarray:
        """One less the probability of each answer (N,): what any detector has to beat."""
        return 1.0 - combined(self.logits(self(rows))[:, None]).max(1)


class Denoiser(nn.Module):
    """Predicts the noise in a standardised state (N, d) at a level of noise, 1 to `STEPS`."""

    def __init__(self, d: int) -> None:
        super().__init__()
        self.level = nn.Embedding(STEPS + 1, 32)
        self.layers = nn.Sequential(
            nn.Linear(d + 32, WIDTH), nn.GELU(), nn.Linear(WIDTH, WIDTH), nn.GELU()
        )
        self.last = nn.Linear(WIDTH, d)
        # of the squared state, what is left at each level: from almost all to a third
        self.register_buffer("kept", torch.linspace(1.0, 0.34, STEPS + 1))
        self.register_buffer("mean", torch.zeros(d))
        self.register_buffer("spread", torch.ones(d))

    def forward(self, x: Tensor, level: Tensor) -> Tensor:
        """The noise (N, d) in noisy states (N, d), at levels (N,)."""
        return self.last(self.layers(torch.cat([x, self.level(level)], -1)))

    def noised(self, z: Tensor, level: Tensor, noise: Tensor) -> Tensor:
        """Standardised states (N, d) with noise at levels (N,)."""
        kept = self.kept[level][:, None]
        return kept.sqrt() * z + (1 - kept).sqrt() * noise

    @torch.inference_mode()
    @torch.autocast("cpu", enabled=False)
    def denoised(self, x: Tensor, noise: Tensor, start: int) -> Tensor:
        """States (N, d) after noise of level `start` and as many steps back, without new noise."""
        z = self.noised((x - self.mean) / self.spread, torch.full((len(x),), start), noise)
        for level in range(start, 0, -1):
            here, next_ = self.kept[level], self.kept[level - 1]
            noise = self(z, torch.full((len(x),), level))
            clean = (z - (1 - here).sqrt() * noise) / here.sqrt()
            z = next_.sqrt() * clean + (1 - next_).sqrt() * noise
        return z * self.spread + self.mean


@torch.autocast("cpu", enabled=False)
def trained_denoiser(states: Tensor, seed: int = 0, updates: int = _UPDATES) -> Denoiser:
    """A denoiser that has learnt from clean states (N, d)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        denoiser = Denoiser(states.shape[1])
    states = states.clone()  # made under inference, where nothing can learn
    denoiser.mean.copy_(states.mean(0))
    denoiser.spread.copy_(states.std(0).clamp_min(1e-6))
    z, source = (states - denoiser.mean) / denoiser.spread, torch.Generator().manual_seed(seed)
    steps = torch.optim.AdamW(denoiser.parameters(), lr=_RATE)
    for _ in range(updates):
        chosen = torch.randint(len(z), (_ROWS,), generator=source)
        level = torch.randint(1, STEPS + 1, (_ROWS,), generator=source)
        noise = torch.randn(_ROWS, z.shape[1], generator=source)
        loss = (denoiser(denoiser.noised(z[chosen], level, noise), level) - noise).square().mean()
        steps.zero_grad()
        loss.backward()
        steps.step()
    return denoiser.eval()


def diffused(states: FirstStates, denoiser: Denoiser, start: int, seed: int = 0) -> Rival:
    """After DiffuseDef (ACL 2025), our reading: noise on the last state, then steps of a denoiser.

    Departures: the first token's state alone, which is all that this head reads, so the denoiser
    is two layers and no transformer; trained on clean states of a model that stays as it is; steps
    without new noise; probabilities, not states, are averaged over draws.
    """

    def draw(rows: Rows, draws: int) -> np.ndarray:
        x = states(rows).repeat_interleave(draws, 0)
        sources = [generator(row, seed, k) for row in rows for k in range(draws)]
        noise = torch.stack([torch.randn(x.shape[1], generator=source) for source in sources])
        return states.logits(denoiser.denoised(x, noise, start)).reshape(len(rows), draws, -1)

    return Rival(f"after DiffuseDef, our reading: {start} of {STEPS} steps", draw)


class Density:
    """After RDE (Yoo et al., 2022), our reading: how unusual a state is for the class answered.

    Principal components of the last states of clean text, then a Gaussian for each class by the
    minimum covariance determinant (`robust`), or by Ledoit and Wolf's shrinkage. Departure: linear
    components, where the original takes those of a kernel.
    """

    def __init__(self, states: FirstStates, rows: Rows, d: int, robust: bool, seed: int = 0):
        from sklearn.covariance import LedoitWolf, MinCovDet
        from sklearn.decomposition import PCA

        self.states = states
        x = states(rows)
        answers = states.logits(x).argmax(1)
        d = min(d, int(np.unique(answers, return_counts=True)[1].min()) // 2)  # no singular class
        self.components = PCA(d, svd_solver="full").fit(x.double().numpy())
        z = self.components.transform(x.double().numpy())
        fit = MinCovDet(random_state=seed) if robust else LedoitWolf()
        self.classes: Mapping[int, tuple[np.ndarray, np.ndarray]] = {}
        for label in np.unique(answers):
            fit.fit(z[answers == label])
            self.classes[int(label)] = fit.location_.copy(), fit.covariance_.copy()

    def score(self, rows: Rows) -> np.ndarray:
        """Negative log density (N,) of rows: higher is more suspect."""
        from scipy.stats import multivariate_normal  # slow to import

        x = self.states(rows)
        answers = self.states.logits(x).argmax(1)
        z = self.components.transform(x.double().numpy())
        scores = np.zeros(len(z))
        for label in np.unique(answers):
            those = answers == label
            scores[those] = -multivariate_normal(*self.classes[int(label)]).logpdf(z[those])
        return scores
