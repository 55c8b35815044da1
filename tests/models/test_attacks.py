"""Attacks on a small random model: same seeds, same outcomes; text rebuilt to the letter."""

import random
from collections import OrderedDict
from copy import deepcopy

import numpy as np
import pytest
import torch

from pidbook.evaluation.fewer_words import GREEDY, reached
from pidlib.attacks.attack import RECIPES, attack, explain
from pidlib.attacks.attacker import Engine, seeded
from pidlib.attacks.components import parts_of
from pidlib.attacks.outcomes import attack_table, transfer_rows
from pidlib.attacks.synonyms import WordNetCandidates, candidates, words_for
from pidlib.attacks.victim import Victim
from pidlib.data.edits import COLUMNS, rebuild, word_spans
from pidlib.evaluation.accuracy import predict
from pidlib.hooks import find_blocks
from pidlib.io.assets import word_list
from tests.conftest import printed, write_wordnet

PAIRS = [
    ("A man in a red jacket is playing a guitar.", "A man is playing music on the street."),
    ("Two children run across a wet field.", "Two kids are quickly running outside."),
    ("A woman sits on a bench with her dog.", "The lady is sleeping at home."),
    ("A boy is jumping into the water.", "A child jumps near a small boat."),
    ("A girl reads a large book in the kitchen.", "A girl isn't reading 'the' book, she's asleep."),
    ("A dog chases a ball in the garden.", "The angry dog is in a car."),
]


@pytest.fixture(scope="module")
def victim(tiny):
    """Return a tiny BERT with large random weights, so that each word matters."""
    size = {"hidden_size": 32, "num_attention_heads": 4, "intermediate_size": 64}
    return tiny.reader(**size, initializer_range=0.3)


@pytest.fixture(scope="module")
def rows(victim):
    """Rows labelled by the model itself, but for the last, which it has wrong."""
    found = [{"premise": a, "hypothesis": b} for a, b in PAIRS]
    answers = predict(*victim, found)
    labelled = [{**row, "label": int(k)} for row, k in zip(found, answers, strict=True)]
    labelled[-1]["label"] = (labelled[-1]["label"] + 1) % 3
    return labelled


@pytest.fixture(scope="module", params=RECIPES)
def attacked(request, victim, rows):
    return request.param, attack(*victim, rows, request.param, "lexicon", seed=1)


def test_statuses_agree_with_the_models_answers(attacked, victim, rows):
    _, outcomes = attacked
    moved = transfer_rows(rows, outcomes)
    answers = predict(*victim, moved)
    for row, answer in zip(moved, answers, strict=True):
        right = answer == row["label"]
        assert right == (row["kind"] == "failed"), row
    table = attack_table(outcomes)
    assert table.skipped == 1 and outcomes[-1].status == "skipped"
    assert outcomes[-1].edits == ()
    assert table.succeeded >= 1


def test_only_what_may_change_does(attacked, rows):
    recipe, outcomes = attacked
    kept = set(word_list("nltk/corpora/stopwords/english"))
    seen = []
    for row, outcome in zip(rows, outcomes, strict=True):
        for column, word, replacement in outcome.edits:
            old = row[column][slice(*word_spans(row[column])[word])]
            assert old.lower() not in kept and old != replacement
            seen.append(column)
    assert len(seen) >= 2
    assert recipe == "textbugger" or set(seen) == {"hypothesis"}


def test_again_in_parts_and_in_another_order_the_same(attacked, victim, rows):
    recipe, outcomes = attacked
    order = [5, 0, 2]
    parts = attack(*victim, [rows[k] for k in order], recipe, "lexicon", seed=1, ids=order)
    assert parts == [outcomes[k] for k in order]


def test_random_states_are_left_as_they_were(victim, rows):
    def states():
        return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

    before = states()
    attack(*victim, rows[:1], "textbugger", "lexicon")
    assert states() == before


def test_the_seed_matters_to_textbugger(victim, rows):
    def run(seed):
        return attack(*victim, rows, "textbugger", "lexicon", seed=seed)

    first = run(1)
    assert any(run(seed) != first for seed in (2, 3))


def test_resume_attacks_only_what_is_missing(victim, rows, tmp_path, monkeypatch):
    log, done, real = tmp_path / "log.jsonl", [], Engine.attack
    settings = {"recipe": "textfooler", "resources": "lexicon", "log": log, "data": "pairs"}
    whole = attack(*victim, rows, **settings)
    content = log.read_bytes()
    lines = content.splitlines(keepends=True)
    log.write_bytes(b"".join(lines[:4]) + lines[4][:20])  # torn while writing the fourth
    monkeypatch.setattr(
        Engine, "attack", lambda self, row, key: done.append(key) or real(self, row, key)
    )
    assert attack(*victim, rows, **settings) == whole
    assert done == [3, 4, 5] and log.read_bytes() == content
    other = {**rows[0], "premise": "Another text."}
    for given, more, message in (
        ([other], {}, "another text for row 0"),
        (rows, {"seed": 9}, "seed: 0 there, 9 now"),
        (rows, {"about": {"controller": "P"}}, "about"),
    ):
        with pytest.raises(ValueError, match=message):
            attack(*victim, given, **settings, **more)
    assert log.read_bytes() == content


def test_other_weights_or_a_hook_refuse_to_resume(victim, rows, tmp_path):
    model, tokenizer = deepcopy(victim[0]), victim[1]
    log = tmp_path / "log.jsonl"
    attack(model, tokenizer, rows[:1], log=log)
    with model.bert.encoder.layer[0].register_forward_pre_hook(lambda *_: None):
        with pytest.raises(ValueError, match="hooked"):
            attack(model, tokenizer, rows[:1], log=log)
    with torch.no_grad():
        model.classifier.bias.add_(0.01)
    with pytest.raises(ValueError, match="weights_sha256"):
        attack(model, tokenizer, rows[:1], log=log)


def test_wrapper_counts_distinct_texts_orders_labels_and_ignores_dropout(victim):
    model, tokenizer = deepcopy(victim[0]), victim[1]
    one = Victim(model, tokenizer)
    texts = [PAIRS[0], PAIRS[1], PAIRS[0]]
    seen = one(texts)
    assert one.forwards == 2 and torch.equal(seen[0], seen[2])
    assert torch.allclose(seen.sum(1), torch.ones(3), atol=1e-6)
    one.forget()
    assert one.forwards == 0
    assert torch.allclose(Victim(model.train(), tokenizer)(texts), seen, atol=1e-6)
    assert model.training
    model.config.id2label = {0: "contradiction", 1: "entailment", 2: "neutral"}
    again = Victim(model.eval(), tokenizer)(texts)
    assert torch.allclose(again, seen[:, [1, 2, 0]], atol=1e-6)


def test_same_outcomes_as_the_stock_wrapper(victim, rows):
    from pidlib.attacks import recipes

    victim = deepcopy(victim)
    for module in victim[0].modules():  # stock gradients come with dropout, ours without
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
        if hasattr(module, "dropout_prob"):
            module.dropout_prob = 0.0
    assert tuple(recipes.RECIPES) == RECIPES
    stock = recipes.ta.models.wrappers.HuggingFaceModelWrapper(*victim)
    for recipe, build in recipes.RECIPES.items():
        told = []
        for wrapper in (stock, recipes.Victim(*victim)):
            search = build(wrapper, parts_of("lexicon", recipe))
            for key, row in enumerate(rows[:2]):
                with seeded(0, key):
                    example = OrderedDict((c, row[c]) for c in COLUMNS if c in row)
                    result = search.attack(example, row["label"])
                text = result.perturbed_result.attacked_text.text
                told.append((type(result).__name__, text, int(result.num_queries)))
        assert told[:2] == told[2:]
        assert sum(queries for _, _, queries in told[2:]) > 2


def test_explanation_is_the_attack_told_step_by_step(attacked, victim, rows):
    recipe, outcomes = attacked
    key = next(k for k, o in enumerate(outcomes) if o.status == "succeeded")
    told = explain(*victim, rows[key], recipe, "lexicon", seed=1, id=key)
    assert told.outcome == outcomes[key]
    label = rows[key]["label"]
    assert max(range(3), key=told.probabilities.__getitem__) == label
    assert told.steps[-1].text == rebuild(rows[key], outcomes[key].edits)["hypothesis"]
    assert max(range(3), key=told.steps[-1].probabilities.__getitem__) != label
    falls = [fall for _, fall in told.importance]
    assert falls == sorted(falls, reverse=True)
    right = [told.probabilities[label], *(step.probabilities[label] for step in told.steps)]
    assert all(after < before for before, after in zip(right, right[1:], strict=False))


def test_no_dropout_in_gradients_and_nothing_left_behind(tiny, victim, rows):
    model, tokenizer = deepcopy(victim[0]).train(), victim[1]
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.5
    text = (rows[0]["premise"], rows[0]["hypothesis"])
    one, two = (Victim(model, tokenizer).get_grad(text)["gradient"] for _ in range(2))
    assert model.training and np.array_equal(one, two) and np.abs(one).max() > 0
    assert all(p.grad is None for p in model.parameters()) and tiny.hooks_left(model) == 0

    # against finite differences along a random direction of the first word's embedding
    model.eval()
    inputs = tokenizer([text], return_tensors="pt")
    label = model(**inputs).logits.argmax(-1)
    words = model.get_input_embeddings()(inputs["input_ids"]).detach()
    step = torch.zeros_like(words)
    step[0, 2] = torch.randn(words.shape[-1], generator=torch.Generator().manual_seed(0))
    rest = {k: v for k, v in inputs.items() if k != "input_ids"}

    def loss(size):
        with torch.no_grad():
            logits = model(inputs_embeds=words + size * step, **rest).logits
        return float(torch.nn.functional.cross_entropy(logits, label))

    slope = (loss(1e-2) - loss(-1e-2)) / 2e-2
    assert slope == pytest.approx(float((torch.from_numpy(one) * step[0]).sum()), rel=0.05)


def test_gradients_run_through_an_attached_control(victim, rows):
    text = (rows[0]["premise"], rows[0]["hypothesis"])
    one = Victim(*victim)
    free = one.get_grad(text)["gradient"]
    with find_blocks(victim[0]).control(lambda t, x, mask: 0.5 * x, layers=[0]):
        held = one.get_grad(text)["gradient"]
    assert not np.allclose(free, held, rtol=1e-2)
    assert one.forwards == 2


def test_a_budget_bounds_the_queries(victim, rows):
    for recipe in RECIPES:
        for budget in (2, 3, 7):
            outcomes = attack(*victim, rows[:3], recipe, "lexicon", budget=budget)
            assert all(o.queries <= budget for o in outcomes)


def test_pso_moves_several_words_and_is_told_step_by_step(victim):
    row = {"text": "The happy children are quickly running and jumping beside a large street."}
    row["label"] = int(predict(*victim, [row])[0])
    (outcome,) = attack(*victim, [row], "pso", "lexicon", seed=3)
    told = explain(*victim, row, "pso", "lexicon", seed=3)
    assert told.outcome == outcome and told.importance == ()
    if outcome.status == "succeeded":
        assert told.steps[-1].text == rebuild(row, outcome.edits)["text"]


def test_words_that_no_recipe_may_change(victim):
    row = {"premise": "The dog.", "hypothesis": "It was of the."}
    row["label"] = int(predict(*victim, [row])[0])
    for recipe in ("a2t", "pso", "textfooler"):
        (outcome,) = attack(*victim, [row], recipe, "lexicon")
        assert outcome.status == "failed" and outcome.edits == ()


@pytest.fixture(scope="module")
def little_wordnet(tmp_path_factory):
    """Two nouns of one meaning, a wider one, and adjectives."""
    senses = {
        "noun": [("animal", {}), ("dog hound", {"@": [0]})],
        "adj": [("happy", {"&": [1]}), ("glad cheerful(a)", {})],
    }
    return write_wordnet(tmp_path_factory.mktemp("wordnet"), senses)


def test_wordnet_gives_the_same_a_wider_and_a_similar_word(little_wordnet, monkeypatch):
    source = WordNetCandidates(little_wordnet)
    assert source.synonyms("dogs") == ("hounds", "animals")
    assert source.synonyms("happy") == ("cheerful", "glad")
    assert source.synonyms("hound") == ("dog", "animal")
    assert source.synonyms("qzxv") == ()
    monkeypatch.setenv("WNSEARCHDIR", str(little_wordnet))
    monkeypatch.setenv("PIDLIB_DATA_DIR", str(little_wordnet))
    assert candidates("ppdb", "pso").sha256 == source.sha256
    assert words_for("both", "wordnet").sha256 == source.sha256
    monkeypatch.setenv("WNSEARCHDIR", str(little_wordnet / "no"))
    with pytest.raises(FileNotFoundError, match="wordnet-base.*WNSEARCHDIR"):
        candidates("ppdb", "pso")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"recipe": "deepfool"}, r"unknown recipe 'deepfool'.*a2t.*textfooler"),
        ({"resources": "wordnet"}, r"unknown resources 'wordnet'.*lexicon.*ppdb.*stock"),
        ({"budget": 0}, "budget is 0.*at least 2"),
        ({"budget": 1}, "budget is 1"),
        ({"seed": -1}, "seed is -1"),
        ({"seed": 0.5}, "seed is 0.5"),
        ({"ids": [0, 0]}, "ids"),
        ({"ids": [-1, 0]}, "ids"),
        ({"ids": [0]}, "ids"),
    ],
)
def test_bad_input_is_named(victim, rows, change, told, tmp_path):
    settings = {"rows": rows[:2], "recipe": "textfooler", "resources": "lexicon"} | change
    with pytest.raises(ValueError, match=told):
        attack(*victim, **settings, log=tmp_path / "log.jsonl")
    assert not any(tmp_path.iterdir())


def test_stock_says_what_is_missing(victim, rows, monkeypatch):
    from pidlib.attacks import components as parts

    monkeypatch.setattr(parts, "find_spec", lambda name: None)
    for recipe, wanted in (("textfooler", "tensorflow_hub"), ("pso", "OpenHowNet")):
        with pytest.raises(FileNotFoundError, match=f"{wanted}.*lexicon"):
            attack(*victim, rows, recipe, resources="stock")


def test_ppdb_asks_for_its_folder(victim, rows, monkeypatch, tmp_path):
    monkeypatch.delenv("PIDLIB_DATA_DIR", raising=False)
    with pytest.raises(FileNotFoundError, match="PIDLIB_DATA_DIR"):
        attack(*victim, rows, resources="ppdb")
    monkeypatch.setenv("PIDLIB_DATA_DIR", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="ppdb-synonyms.txt"):
        attack(*victim, rows, resources="ppdb")


@pytest.mark.parametrize(("width", "words", "particles"), [(1, 5, 20), (2, 10, 40)])
def test_a_wide_source_gives_a_recipe_twice_as_many(width, words, particles):
    source = Many()
    source.width = width
    parts = parts_of(source, "textbugger")
    assert len(parts.synonyms(5)._get_replacement_words("dog")) == words
    assert parts.swarm == (particles, 10)


class Many:
    name = sha256 = "many"

    def synonyms(self, word):
        return tuple(f"{word}{k}" for k in range(30))


@pytest.mark.data
def test_ppdb_candidates_are_inflected_and_exclude_opposites(real_data):
    from pidlib.attacks.inflections import tags

    source = candidates("ppdb")
    assert "automobile" in source.synonyms("car")
    assert source.synonyms("qzxv") == () == source.synonyms("two words")
    for word in ("dogs", "running", "happy", "quickly", "man", "inside", "two"):
        for other in source.synonyms(word):
            assert {t for _, t in tags(other)} & {t for _, t in tags(word)}, (word, other)
    assert not {"woman", "boy"} & set(source.synonyms("man"))
    assert not {"outside", "outdoors"} & set(source.synonyms("inside"))
    assert not {"one", "three", "four"} & set(source.synonyms("two"))
    assert source.synonyms("dogs") == candidates("ppdb").synonyms("dogs")
    wide = candidates("ppdb-wide")
    assert set(source.synonyms("dogs")) <= set(wide.synonyms("dogs"))
    assert (wide.name, wide.sha256 == source.sha256) == ("ppdb-wide", False)
    near = candidates("ppdb", "a2t")
    assert near.sha256 != source.sha256
    for word in ("street", "happy", "running", "large"):
        assert set(near.synonyms(word)) <= set(source.synonyms(word))
    assert sum(len(near.synonyms(word)) for word in ("street", "happy", "large")) > 0


def test_textattack_loads_quietly_and_leaves_the_environment_alone(tmp_path, monkeypatch):
    code = (
        "import os; before = dict(os.environ)\n"
        "from pidlib.attacks.offline import CACHES, load_textattack\n"
        "load_textattack()\n"
        "import pidlib.attacks.recipes\n"
        "print([c for c in CACHES if os.environ.get(c) != before.get(c)])\n"
        "print(sorted(p.name for p in __import__('pathlib').Path.home().iterdir()))"
    )
    for name in ("TA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    told = printed(code, HOME=str(tmp_path), MPLCONFIGDIR=str(tmp_path / ".config"))
    changed, left = told.splitlines()
    assert changed == "[]" and set(eval(left)) <= {".cache", ".config"}


@pytest.mark.parametrize("recipe", GREEDY)
def test_a_limit_of_words_is_the_beginning_of_a_greedy_search(victim, rows, recipe):
    from textattack.constraints.overlap import MaxWordsPerturbed

    settings = dict(resources="lexicon", seed=1, max_length=64)
    free = [Engine(*victim, recipe, **settings).attack(row, k) for k, row in enumerate(rows)]
    for words in (1, 2):
        engine = Engine(*victim, recipe, **settings)
        engine.search.constraints.append(MaxWordsPerturbed(max_num_words=words))
        held = [engine.attack(row, k).status == "succeeded" for k, row in enumerate(rows)]
        assert held == reached(free, words).tolist()
    most = max(len(outcome.edits) for outcome in free if outcome.status == "succeeded")
    assert most > 1 or recipe != "textfooler"
