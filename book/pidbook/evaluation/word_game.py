"""Attacks that count their questions: by margin, by its gradient, or by the control's running loss.

The paper's last section: what a control makes small, an attack may make large. All searches here
play one game: words of `choices`, and at most so many texts answered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from pidlib.data.batches import encode, input_device
from pidlib.evaluation.exact import Choice, Choices, changed, changing, falling, one_more_change
from pidlib.hooks import find_blocks
from pidlib.pid import PIDController
from pidlib.theory.inputs import number
from pidlib.tokens import token_mask

OBJECTIVES = ("margin", "running loss")
PASS = 2  # questions that a gradient counts as: a forward and a backward


class SearchResult(NamedTuple):
    """What a search met.

    Attributes
    ----------
    fell : int or None, questions asked when an answer was wrong first; None if none was
    choice : tuple of int, the last text asked, as words of `Choices`
    queries : int, questions asked
    """

    fell: int | None
    choice: Choice
    queries: int


class _Over(Exception):
    """The answer is wrong, or no question is left."""


class WordGame:
    """A row, the words that may stand in it, and a model that answers, with its control attached.

    Parameters
    ----------
    model, tokenizer : a classifier in evaluation mode, with a control attached or not
    row : mapping with `label`, and `premise` and `hypothesis`, or `text`
    of : Choices, of the hypothesis or text
    controller : PIDController, optional
        Whose subspaces the running loss measures; it need not be the control that is attached.
    budget : int, questions that may be asked

    Examples
    --------
    >>> from pidlib import load_model, load_nli
    >>> from pidlib.attacks import candidates
    >>> from pidlib.evaluation import choices
    >>> row, (model, tokenizer) = load_nli("captions")[0], load_model("minilm-nli")
    >>> game = WordGame(model, tokenizer, row, choices(row["hypothesis"], candidates("lexicon")))
    >>> len(game.slopes(game.none)) == sum(size - 1 for size in game.of.sizes)
    True

    Source: paper, section "Discussion and Future Works". Departure: the paper gives no algorithm.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        row: Mapping[str, Any],
        of: Choices,
        controller: PIDController | None = None,
        budget: int = 48,
    ) -> None:
        number("budget", budget, "at least 1")
        self.model, self.tokenizer, self.row, self.of = model, tokenizer, row, of
        self.column = changing(row)
        self.budget, self.queries, self.fell = budget, 0, None
        self.none: Choice = (0,) * len(of.sizes)
        self.last, self.memory = self.none, {}
        depth = find_blocks(model).depth
        self.off = None if controller is None else [
            controller.projections(t, "P")["P"].float() for t in range(depth)
        ]  # fmt: skip

    def ask(self, wanted: Sequence[Choice], objective: str = "margin") -> np.ndarray:
        """How far the attack is with each text (large: nearer to a wrong answer, or a larger loss)."""
        unseen = [c for c in dict.fromkeys(wanted) if c not in self.memory]
        unseen = unseen[: self.budget - self.queries]
        if unseen:
            for choice, margin, loss in zip(unseen, *self.values(unseen), strict=True):
                self.queries += 1
                self.last = choice
                self.memory[choice] = -float(margin), float(loss)
                if margin <= 0:
                    self.fell = self.queries
                    raise _Over
        if any(c not in self.memory for c in wanted):
            raise _Over
        return np.array([self.memory[c][OBJECTIVES.index(objective)] for c in wanted])

    def values(self, wanted: Sequence[Choice]) -> tuple[np.ndarray, np.ndarray]:
        """Margin and running loss of texts, (N,) each, asked by nobody: no question is counted."""
        with torch.no_grad():
            values = self._values(self._inputs([self.of.written(c) for c in wanted]))
        return values[0].numpy(), values[1].numpy()

    def slopes(self, at: Choice, objective: str = "margin") -> dict[tuple[int, int], float]:
        """Gain of every swap (word, candidate) of a text, foretold by a gradient; two questions."""
        self._count(PASS)
        own = self.vectors[range(len(at)), list(at)]
        gradient = self._gradient(at, objective)
        gains = torch.einsum("wjd,wd->wj", self.vectors - own[:, None], gradient)
        return {
            (k, j): float(gains[k, j])
            for k, size in enumerate(self.of.sizes) for j in range(1, size)
        }  # fmt: skip

    def without(self) -> np.ndarray:
        """Margin with each changing word left out, (words,); a question each, and never a fall."""
        self._count(len(self.none))
        texts = [self.of.text[:a].rstrip() + self.of.text[b:] for a, b in self.of.spans]
        with torch.no_grad():
            return self._values(self._inputs(texts))[0].numpy()

    def steepness(self) -> np.ndarray:
        """Size of the margin's slope at each changing word, (words,); two questions."""
        self._count(PASS)
        tokens = self._member(self.none).sum(1).clamp(min=1)
        return (self._gradient(self.none, "margin").abs().sum(1) / tokens).numpy()

    def _count(self, questions: int) -> None:
        if self.queries + questions > self.budget:
            raise _Over
        self.queries += questions

    def _inputs(self, texts: Sequence[str]) -> dict[str, Tensor]:
        rows = [{**self.row, self.column: text} for text in texts]
        return encode(self.tokenizer, rows, device=input_device(self.model))

    def _values(self, inputs: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Logit of the label less the best other, and the running loss, of each text."""
        with find_blocks(self.model).reading() as states:
            logits = self.model(**inputs).logits.float()
        own = logits[:, self.row["label"]]
        others = logits.index_fill(1, torch.tensor([self.row["label"]]), -torch.inf)
        margin, loss = own - others.max(1).values, torch.zeros_like(own)
        if self.off is not None:
            mask = token_mask(inputs.get("attention_mask"), states[0])
            for x, Q in zip(states[:-1], self.off, strict=True):
                squares = (x @ Q).square().sum(-1) * mask
                loss = loss + squares.sum(1) / mask.sum(1)
        return margin, loss

    def _gradient(self, at: Choice, objective: str, shift: Tensor | None = None) -> Tensor:
        """Derivative of an objective by what is added to each changing word, (words, d)."""
        inputs, member = self._inputs([self.of.written(at)]), self._member(at)
        added = torch.zeros(len(self.of.sizes), self.vectors.shape[-1])
        added = (added if shift is None else shift).detach().requires_grad_(True)
        with torch.enable_grad(), self._shifted(member.T @ added):
            margin, loss = self._values(inputs)
            value = -margin if objective == "margin" else loss
            return torch.autograd.grad(value.sum(), added)[0]

    def _shifted(self, by: Tensor) -> AbstractContextManager:
        """Add vectors (l, d) to the embeddings of a text's tokens, while the context lasts."""
        table = self.model.get_input_embeddings()
        return table.register_forward_hook(lambda _m, _a, output: output + by)

    def _member(self, at: Choice) -> Tensor:
        """Which tokens belong to each changing word, (words, l)."""
        text, spans, moved = self.of.written(at), [], 0
        for (a, b), words, k in zip(self.of.spans, self.of.words, at, strict=True):
            spans.append((a + moved, a + moved + len(words[k])))
            moved += len(words[k]) - (b - a)
        row = {**self.row, self.column: text}
        pair = (row["premise"], text) if self.column == "hypothesis" else (text,)
        given = self.tokenizer(*pair, truncation=True, return_offsets_mapping=True)
        side = len(pair) - 1
        return torch.tensor([
            [float(s == side and a < end and b > start)
             for s, (a, b) in zip(given.sequence_ids(), given["offset_mapping"], strict=True)]
            for start, end in spans
        ])  # fmt: skip

    @cached_property
    def vectors(self) -> Tensor:
        """Mean embedding of each candidate's tokens, (words, most candidates, d); 0 where none is."""
        table = self.model.get_input_embeddings().weight.detach()
        vectors = torch.zeros(len(self.of.sizes), max(self.of.sizes, default=1), table.shape[1])
        for k, words in enumerate(self.of.words):
            for j, word in enumerate(words):
                ids = self.tokenizer(word, add_special_tokens=False)["input_ids"]
                vectors[k, j] = table[ids].mean(0)
        return vectors

    def relaxed(self, steps: int, rate: float, temperature: float, seed: int) -> Tensor:
        """Log-odds of the candidates, (words, most): found by gradient through mixed words."""
        source, sizes = torch.Generator().manual_seed(seed), torch.tensor(self.of.sizes)
        theirs = torch.arange(self.vectors.shape[1])[None] < sizes[:, None]
        theta = torch.zeros(theirs.shape)
        own = self.vectors[:, :1]
        for _ in range(steps):
            self._count(PASS)
            noise = -torch.empty(theta.shape).exponential_(generator=source).log()
            logits = ((theta + noise) / temperature).masked_fill(~theirs, -torch.inf)
            shares = logits.softmax(1)
            mixed = torch.einsum("wj,wjd->wd", shares, self.vectors - own)
            slope = torch.einsum(
                "wd,wjd->wj", self._gradient(self.none, "margin", mixed), self.vectors - own
            )
            theta = theta + rate * shares * (slope - (shares * slope).sum(1, keepdim=True))
        return theta.masked_fill(~theirs, -torch.inf)


def search_words(game: WordGame, search: str, **settings: Any) -> SearchResult:
    """Ask a game's model until an answer is wrong or no question is left.

    Parameters
    ----------
    game : WordGame, that nobody has asked yet
    search : str in `SEARCHES`
    settings : of the search, such as `width`

    Returns
    -------
    SearchResult

    Raises
    ------
    ValueError
        A search that is not known.

    Examples
    --------
    >>> from pidlib import load_model, load_nli
    >>> from pidlib.attacks import candidates
    >>> from pidlib.evaluation import choices
    >>> row, (model, tokenizer) = load_nli("captions")[0], load_model("minilm-nli")
    >>> words = choices(row["hypothesis"], candidates("lexicon"))
    >>> search_words(WordGame(model, tokenizer, row, words, budget=12), "beam").queries <= 12
    True

    Source: `gradient list` after Ebrahimi et al. (2018), `relaxation` after Guo et al. (2021);
    `deletion greedy` is TextFooler's search and TextBugger's, `gradient greedy` A2T's, `swarm`
    PSO's, as TextAttack has them. Departure: all go by the margin, not by a probability.
    """
    if search not in SEARCHES:
        raise ValueError(f"unknown search {search!r}; known: {list(SEARCHES)}")
    try:
        game.ask([game.none])
        if game.of.sizes:
            SEARCHES[search](game, **settings)
    except _Over:
        pass
    return SearchResult(game.fell, game.last, game.queries)


def _random(game: WordGame, seed: int = 0) -> None:
    source = np.random.default_rng(seed)
    for _ in range(20 * game.budget):  # drawn again where it was met
        game.ask([tuple(int(source.integers(size)) for size in game.of.sizes)])


def _greedy(game: WordGame) -> None:
    """Word after word; which first, the margin's fall under the candidate nearest to it says."""
    first = [changed(game.none, (k, 1)) for k in range(len(game.none))]
    _climb(game, -game.ask(first))


def _climb(game: WordGame, rank: np.ndarray) -> None:
    """Word after word, the lowest rank first, the most harmful candidate each."""
    choice = game.none
    for k in np.argsort(rank, kind="stable"):
        tried = [choice, *(changed(choice, (int(k), j)) for j in range(1, game.of.sizes[k]))]
        choice = tried[int(game.ask(tried).argmax())]


def _swarm(game: WordGame, size: int = 4, rounds: int = 10, seed: int = 0) -> None:
    """Particles turn word by word towards the best texts that were met; some swap a word more."""
    random, fastest = np.random.default_rng(seed), 3.0
    kept = [_neighbour(game, game.none, random) for _ in range(size)]
    own, best = list(kept), max(kept, key=lambda c: game.memory[c][0])
    speed = random.uniform(-fastest, fastest, (size, 1)).repeat(len(game.none), 1)
    for done in np.arange(rounds) / rounds:
        inertia = 0.8 - 0.6 * done
        for k in range(size):
            pulls = [np.where(np.equal(kept[k], c), -fastest, fastest) for c in (own[k], best)]
            speed[k] = inertia * speed[k] + (1 - inertia) * sum(pulls)
            stays = 1 / (1 + np.exp(-speed[k]))
            for elite, chance in ((own[k], inertia), (best, 1 - inertia)):
                if random.random() < chance:
                    turned = np.where(random.random(len(stays)) < stays, kept[k], elite)
                    kept[k] = tuple(turned.tolist())
        game.ask(kept)
        for k in range(size):
            if random.random() < 1 - 2 * np.count_nonzero(kept[k]) / len(kept[k]):
                kept[k] = _neighbour(game, kept[k], random)
        own = [max(pair, key=lambda c: game.memory[c][0]) for pair in zip(own, kept, strict=True)]
        best = max([best, *kept], key=lambda c: game.memory[c][0])


def _neighbour(game: WordGame, choice: Choice, random: np.random.Generator) -> Choice:
    """The best swap of a word, the word drawn by what its swap gains."""
    start, best = game.ask([choice])[0], [choice] * len(choice)
    gains = np.zeros(len(choice))
    for k, size in enumerate(game.of.sizes):
        if choice[k] == 0:
            swaps = [changed(choice, (k, j)) for j in range(1, size)]
            values = game.ask(swaps)
            best[k], gains[k] = swaps[int(values.argmax())], max(values.max() - start, 0)
    total = gains.sum()
    return best[int(random.choice(len(best), p=gains / total if total else None))]


def _beam(game: WordGame, width: int = 3, objective: str = "margin") -> None:
    kept = [game.none]
    while wanted := one_more_change(kept, game.of.sizes):
        values = game.ask(wanted, objective)
        kept = [wanted[k] for k in np.argsort(-values, kind="stable")[:width]]


def _gradient_list(game: WordGame) -> None:
    """One gradient; then all texts, the most harmful first were its gains to add up."""
    for choice in islice(falling(game.of.sizes, game.slopes(game.none)), game.budget):
        game.ask([choice])


def _gradient_beam(
    game: WordGame, width: int = 2, asked: int = 6, objective: str = "margin"
) -> None:
    """A gradient for each text that is kept; the swaps that it ranks first are asked."""
    kept = [game.none]
    while kept:
        ranked: dict[Choice, float] = {}
        for choice in kept:
            base = game.memory[choice][OBJECTIVES.index(objective)]
            for (k, j), gain in game.slopes(choice, objective).items():
                if choice[k] == 0:
                    ranked[changed(choice, (k, j))] = base + gain
        wanted = sorted(ranked, key=lambda c: -ranked[c])[:asked]
        values = game.ask(wanted, objective)
        kept = [wanted[k] for k in np.argsort(-values, kind="stable")[:width]]


def _relaxation(
    game: WordGame, steps: int = 8, rate: float = 10.0, temperature: float = 1.0, seed: int = 0
) -> None:
    """Candidates' odds by gradient; then texts drawn by these odds, the likeliest first."""
    theta = game.relaxed(steps, rate, temperature, seed)
    source = torch.Generator().manual_seed(seed)
    game.ask([tuple(theta.argmax(1).tolist())])
    for _ in range(20 * game.budget):
        noise = -torch.empty(theta.shape).exponential_(generator=source).log()
        game.ask([tuple((theta + noise).argmax(1).tolist())])


SEARCHES: dict[str, Callable[..., None]] = {
    "random": _random,
    "greedy": _greedy,
    "deletion greedy": lambda game: _climb(game, game.without()),
    "gradient greedy": lambda game: _climb(game, -game.steepness()),
    "swarm": _swarm,
    "beam": _beam,
    "gradient list": _gradient_list,
    "gradient beam": _gradient_beam,
    "relaxation": _relaxation,
    "running loss": lambda game, **of: _gradient_beam(game, objective="running loss", **of),
}
