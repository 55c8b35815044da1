"""Exact robustness: all that a list of words allows, and searches inside it."""

from itertools import product

import numpy as np
import pytest
import torch

from pidlib import PIDController, load_model, load_nli
from pidlib.attacks import candidates
from pidlib.data import encode
from pidlib.data.labels import label_order
from pidlib.evaluation.accuracy import right_answers, scores, under
from pidlib.evaluation.exact import (
    Choices,
    choices,
    exact_robustness,
    falling,
    verdict,
)


def drawn(seed, places=4, words=3):
    """Choices over letters, and a margin with interactions: harms do not add up."""
    random = np.random.default_rng(seed)
    letters = [tuple(f"{chr(97 + k)}{j}" for j in range(words)) for k in range(places)]
    text = " ".join(word for word, *_ in letters)
    spans = tuple((3 * k, 3 * k + 2) for k in range(places))
    single = {w: random.normal(0, 0.4) for words in letters for w in words[1:]}
    pair = {
        (a, b): random.normal(0, 0.4)
        for k, first in enumerate(letters)
        for later in letters[k + 1 :]
        for a in first[1:]
        for b in later[1:]
    }

    def margin(text):
        present = text.split()
        both = sum(v for (a, b), v in pair.items() if a in present and b in present)
        return 1.0 + sum(single.get(word, 0.0) for word in present) + both

    of = Choices(text, spans, tuple(letters))
    return of, lambda texts: np.array([margin(text) for text in texts])


def brute(of, margins, most):
    """Whether all texts with at most so many words changed are right."""
    texts = [
        of.written(choice)
        for choice in product(*map(range, of.sizes))
        if sum(k > 0 for k in choice) <= most
    ]
    return bool((margins(texts) > 0).all())


@pytest.mark.parametrize("seed", range(30))
def test_the_verdict_is_that_of_trying_every_text(seed):
    of, margins = drawn(seed)
    outcome = verdict(of, margins)
    assert outcome.texts == 81
    assert outcome.exact == tuple(brute(of, margins, most) for most in (1, 2, 4))
    for search in (outcome.greedy, outcome.beam):  # what a search meets is among all texts
        assert all(met or not every for met, every in zip(search, outcome.exact, strict=True))
        assert sorted(search, reverse=True) == list(search)


def test_above_the_cap_a_right_answer_is_open_and_a_wrong_one_is_not():
    kinds = set()
    for seed in range(30):
        of, margins = drawn(seed)
        whole, capped = verdict(of, margins).exact, verdict(of, margins, cap=10).exact
        assert capped[:2] == whole[:2]
        assert capped[2] in (None, False) and (capped[2] is None or not whole[2])
        kinds.add(capped[2])
    assert kinds == {None, False}


def test_choices_come_once_each_the_most_harmful_first():
    random, sizes = np.random.default_rng(0), (3, 1, 4, 2)
    loss = {(k, j): random.normal() for k, n in enumerate(sizes) for j in range(1, n)}
    order = list(falling(sizes, loss))
    assert sorted(order) == sorted(product(*map(range, sizes)))
    sums = [sum(loss.get(pair, 0.0) for pair in enumerate(choice)) for choice in order]
    assert np.all(np.diff(sums) < 1e-9)


def test_a_text_without_candidates_is_right_if_it_is_right_as_written():
    of = Choices("of the", (), ())
    assert verdict(of, lambda texts: np.ones(len(texts))).exact == (True,) * 3
    wrong = verdict(of, lambda texts: -np.ones(len(texts)))
    assert not wrong.clean and wrong.exact == wrong.greedy == wrong.beam == (False,) * 3


def test_candidates_keep_case_and_part_of_speech_and_leave_stop_words():
    class Source:
        name, sha256 = "own", ""

        def synonyms(self, word):
            return {"dogs": ("hounds", "happily", "dogs"), "in": ("inside",)}.get(word, ())

    of = choices("Dogs sit in rain.", Source())
    assert of.words == (("Dogs", "Hounds"),)
    assert [of.written((k,)) for k in (0, 1)] == ["Dogs sit in rain.", "Hounds sit in rain."]


def test_a_real_model_agrees_with_its_own_answers():
    model, tokenizer = load_model("minilm-nli")
    source, rows = candidates("lexicon"), load_nli("captions", split="test", n=4)
    for row in rows:
        of = choices(row["hypothesis"], source, most=2)
        every = [of.written(choice) for choice in product(*map(range, of.sizes))]
        answers = right_answers(model, tokenizer, [{**row, "hypothesis": text} for text in every])
        outcome = exact_robustness(model, tokenizer, row, source, most=2)
        assert outcome.texts == len(every) and outcome.exact[2] == bool(answers.all())

        def one_by_one(texts, row=row):
            asked = [encode(tokenizer, [{**row, "hypothesis": text}]) for text in texts]
            with torch.inference_mode():
                logits = np.concatenate([model(**inputs).logits.numpy() for inputs in asked])
            return logits[:, row["label"]] - np.delete(logits, row["label"], 1).max(1)

        assert outcome == verdict(of, one_by_one)


def test_scores_are_the_models_own():
    model, tokenizer = load_model("minilm-nli")
    rows = list(load_nli("captions", split="test", n=24))
    fitted = PIDController.fit(model, tokenizer, rows, scheme="PD")
    for control in (None, fitted):
        with under(control, model), torch.inference_mode():
            own = model(**encode(tokenizer, rows)).logits[:, label_order(model.config)].numpy()
            assert np.abs(scores(model, tokenizer, rows) - own).max() < 1e-5
    assert not any(module._forward_pre_hooks for module in model.modules())
