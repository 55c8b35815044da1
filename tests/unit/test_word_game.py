"""Attacks with counted questions: what a question is, what a gradient foretells, what a search finds."""

import pytest
import torch

from pidbook.evaluation.word_game import SEARCHES, WordGame, search_words
from pidlib import PIDController, load_model, load_nli
from pidlib.attacks.synonyms import candidates
from pidlib.data.batches import encode
from pidlib.evaluation.exact import choices
from pidlib.hooks import find_blocks


@pytest.fixture(scope="module")
def parts():
    model, tokenizer = load_model("minilm-nli")
    rows = [dict(row) for row in load_nli("captions", n=60)]
    source = candidates("lexicon")
    fitting = [row for row in rows if len(choices(row["hypothesis"], source).sizes) >= 3]
    controller = PIDController.fit(model, tokenizer, rows, scheme="P")
    return model, tokenizer, fitting[0], choices(fitting[0]["hypothesis"], source), controller


def game(parts, **settings):
    model, tokenizer, row, of, controller = parts
    return WordGame(model, tokenizer, row, of, controller, **settings)


@pytest.mark.parametrize("search", SEARCHES)
@pytest.mark.parametrize("budget", [1, 5, 20])
def test_no_search_asks_more_than_its_budget(parts, search, budget):
    played = game(parts, budget=budget)
    asked = search_words(played, search)
    assert asked.queries == played.queries <= budget and len(played.memory) <= budget
    assert asked.fell is None or asked.fell == asked.queries


def test_a_text_is_asked_once_and_a_gradient_counts_two(parts):
    played = game(parts)
    first = played.ask([played.none])
    assert played.ask([played.none, played.none]).tolist() == [*first, *first]
    assert played.queries == 1
    played.slopes(played.none)
    assert played.queries == 3


@pytest.mark.parametrize("objective", ["margin", "running loss"])
def test_a_gradient_is_the_difference_quotient(parts, objective):
    played = game(parts)
    inputs = played._inputs([played.of.text])
    gradient = played._gradient(played.none, objective)
    member, step = played._member(played.none), 1e-2 * gradient / gradient.norm()
    values = []
    for sign in (1, -1):
        with torch.no_grad(), played._shifted(member.T @ (sign * step)):
            margin, loss = played._values(inputs)
            values.append(float(-margin if objective == "margin" else loss))
    assert (values[0] - values[1]) / 2 == pytest.approx(float((gradient * step).sum()), rel=0.05)


def test_the_running_loss_is_what_lies_off_the_subspace(parts):
    model, tokenizer, row, _, controller = parts
    played = game(parts)
    played.ask([played.none])
    with torch.no_grad(), find_blocks(model).reading() as states:
        model(**encode(tokenizer, [row]))
    wanted = sum(
        float((x[0] @ controller.projections(t, "P")["P"].float()).square().sum(-1).mean())
        for t, x in enumerate(states[:-1])
    )
    assert played.memory[played.none][1] == pytest.approx(wanted, rel=1e-4)


def test_the_gradient_passes_through_an_attached_control(parts):
    bare = game(parts)._gradient(game(parts).none, "margin")
    with parts[-1].attached(parts[0]):
        held = game(parts)._gradient(game(parts).none, "margin")
    assert not torch.allclose(bare, held, rtol=1e-2)


def test_tokens_of_a_changed_text_belong_to_its_words(parts):
    played = game(parts)
    changed = tuple(size - 1 for size in played.of.sizes)
    ids = played._inputs([played.of.written(changed)])["input_ids"][0]
    for k, row in enumerate(played._member(changed)):
        tokens = ids[row.bool()]
        assert parts[1].decode(tokens).replace(" ", "") == played.of.words[k][-1].lower()


def test_leaving_words_out_is_asked_word_by_word_and_turns_nothing(parts):
    played = game(parts)
    (a, b), of = played.of.spans[0], played.of
    with torch.no_grad():
        text = of.text[:a].rstrip() + of.text[b:]
        wanted = float(played._values(played._inputs([text]))[0])
    margins = played.without()
    assert played.queries == len(of.sizes) == len(margins) and played.fell is None
    assert margins[0] == pytest.approx(wanted, abs=1e-3)
    steep = played.steepness()
    assert played.queries == len(of.sizes) + 2 and (steep > 0).all()


@pytest.mark.parametrize("search", ["deletion greedy", "gradient greedy"])
def test_a_greedy_search_changes_words_in_the_order_of_its_rank(parts, search):
    played, twin = game(parts, budget=10**4), game(parts)
    rank = twin.without() if search == "deletion greedy" else -twin.steepness()
    search_words(played, search)
    first = next(k for c in list(played.memory)[1:] for k, j in enumerate(c) if j)
    assert first == int(rank.argmin())


def test_a_swarm_is_the_same_again_and_starts_from_the_best_swap_of_each_word(parts):
    runs = [game(parts, budget=40) for _ in range(2)]
    for played in runs:
        search_words(played, "swarm", size=3)
    assert list(runs[0].memory) == list(runs[1].memory)
    singles = sum(size - 1 for size in runs[0].of.sizes)
    changed = [sum(j > 0 for j in c) for c in runs[0].memory]
    assert changed[: 1 + singles] == ([0] + [1] * singles)[: len(changed)]


def test_wrong_settings_are_named(parts):
    with pytest.raises(ValueError, match="unknown search 'luck'"):
        search_words(game(parts), "luck")
    with pytest.raises(ValueError, match="budget is 0"):
        game(parts, budget=0)
