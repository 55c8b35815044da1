"""The rivals by name, each with the settings that are tried."""

from __future__ import annotations

from functools import cached_property
from typing import Any

from experiments.rivals.answers import Rival, plain
from experiments.rivals.denoising import Denoiser, FirstStates, diffused, trained_denoiser
from experiments.rivals.encoding import CHOSEN, encoded, encoding_of
from experiments.rivals.states import noisy, purified
from experiments.rivals.words import BOTH, HYPOTHESIS, masked, substituted
from experiments.rows import fit_rows
from pidbook.estimation.spelling import normaliser_of
from pidlib.attacks.synonyms import candidates
from pidlib.models import load_model

GRIDS: dict[str, tuple[Any, ...]] = {
    "AdvFooler": (0.1, 0.2, 0.3),
    "RanMASK": ("hypothesis 0.2", "hypothesis 0.3", "hypothesis 0.4", "both 0.2"),
    "SAFER": (2, 5),
    "encoding": ("ppdb 2", "ppdb 4", "wordnet 2", "wordnet 4", "common 8"),
    "spelling and encoding": (CHOSEN,),
    "PURE": ("3 1", "3 2", "6 1", "6 2"),
    "DiffuseDef": (2, 5, 10, 20),
}
COSTLY = ("AdvFooler", "RanMASK", "SAFER")  # every draw is a forward pass
KNOWN = 6000  # rows whose words a corrector knows, as in the other trials
DRAWN = (*COSTLY, "DiffuseDef")  # an answer is taken over draws


class Families:
    """Makes rivals; what they share is made once."""

    def __init__(self, data: str, model: str, resources: str, learnt_on: int, seed: int) -> None:
        self.data, self.resources, self.seed = data, resources, seed
        self.learnt_on = [dict(row) for row in fit_rows(data, learnt_on)]  # nobody is judged on it
        self.model, self.tokenizer = load_model(model)
        self.bare = plain(self.model, self.tokenizer)

    def rival(self, family: str, setting: Any, more: int = 0) -> Rival:
        """One rival under a setting; `more` is added to the seed of its draws."""
        model, seed = (self.model, self.tokenizer), self.seed + more
        if family == "AdvFooler":
            return noisy(*model, setting, seed)
        if family == "RanMASK":
            place, _, share = setting.partition(" ")
            return masked(*model, float(share), BOTH if place == "both" else HYPOTHESIS, seed)
        if family == "SAFER":
            return substituted(*model, candidates(self.resources), setting, seed=seed)
        if family == "encoding":
            return encoded(*model, encoding_of(setting, self.learnt_on, self.resources))
        if family == "spelling and encoding":
            encoding = encoding_of(setting, self.learnt_on, self.resources)
            return encoded(*model, encoding, normaliser_of(fit_rows(self.data, KNOWN)))
        if family == "PURE":
            state, rank = map(int, setting.split())
            return purified(*model, state, rank)
        if family == "DiffuseDef":
            return diffused(self.states, self.denoiser, setting, seed)
        raise ValueError(f"no rival {family!r}; known: {list(GRIDS)}")

    @cached_property
    def states(self) -> FirstStates:
        """Last states of rows."""
        return FirstStates(self.model, self.tokenizer)

    @cached_property
    def denoiser(self) -> Denoiser:
        """The denoiser, trained once."""
        return trained_denoiser(self.states(self.learnt_on), self.seed)
