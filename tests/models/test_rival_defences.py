"""Rivals of a control: what each does to a text or a state, and the trial that judges them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from experiments.rivals.answers import Rival, combined, margins, plain
from experiments.rivals.certified import group_choices, list_shifts, smoothed_verdicts
from experiments.rivals.denoising import STEPS, Denoiser, Density, FirstStates, trained_denoiser
from experiments.rivals.encoding import encoded
from experiments.rivals.judging import AGAIN, Judge
from experiments.rivals.states import noisy, purified, without_components
from experiments.rivals.trial import RivalsTrial, chosen
from experiments.rivals.words import masked, substituted
from pidbook.evaluation.trial_results import unpack
from pidlib.attacks import candidates
from pidlib.data.nli import load_nli
from pidlib.estimation.encoding import AgreedCandidates, SynonymEncoding, word_counts
from pidlib.estimation.preprocessing import NormalisedTokenizer
from pidlib.evaluation.accuracy import scores
from pidlib.evaluation.exact import Choices, searched, verdict
from pidlib.models import load_model

RESULTS = Path(__file__).resolve().parents[2] / "book" / "results"
MODEL, TOKENIZER = load_model("minilm-nli")
LEXICON = candidates("lexicon")
ROWS = [dict(row) for row in load_nli("captions").select(range(6))]


def test_draws_vote_or_are_averaged_and_equal_votes_are_parted():
    logits = np.log([[[0.9, 0.05, 0.05], [0.4, 0.5, 0.1], [0.45, 0.5, 0.05]]])
    assert combined(logits).argmax() == 0
    assert combined(logits, votes=True).argmax() == 1
    assert combined(logits[:, :2], votes=True).argmax() == 0  # one vote each: the surer
    assert combined(logits, votes=True).sum() == pytest.approx(1)
    assert margins(np.array([[0.5, 0.3, 0.2]]), [1]) == pytest.approx([-0.2])


@pytest.mark.parametrize("draws", [1, 3])
def test_random_rivals_answer_alike_whenever_they_are_asked(draws):
    for make in (
        lambda seed: noisy(MODEL, TOKENIZER, 0.3, seed),
        lambda seed: masked(MODEL, TOKENIZER, 0.3, seed=seed),
        lambda seed: substituted(MODEL, TOKENIZER, LEXICON, 3, seed=seed),
    ):
        first = make(0).draw(ROWS, draws)
        assert first.shape == (len(ROWS), draws, 3)
        again = make(0).draw(ROWS[::-1], 1)[::-1]  # in another batch, fewer draws
        np.testing.assert_allclose(again[:, 0], first[:, 0], atol=1e-4)
        assert not np.allclose(make(1).draw(ROWS, 1)[:, 0], first[:, 0], atol=1e-4)


def test_without_noise_or_rank_the_model_answers_as_it_is():
    bare = scores(MODEL, TOKENIZER, ROWS)
    np.testing.assert_allclose(noisy(MODEL, TOKENIZER, 0.0).draw(ROWS, 2)[:, 1], bare, atol=1e-4)
    one = purified(MODEL, TOKENIZER, 6, 1).draw(ROWS, 1)[:, 0]
    early = purified(MODEL, TOKENIZER, 0, 1).draw(ROWS, 1)[:, 0]
    assert not np.allclose(one, bare, atol=1e-2) and not np.allclose(one, early, atol=1e-2)
    states = FirstStates(MODEL, TOKENIZER)
    np.testing.assert_allclose(states.logits(states(ROWS)), bare, atol=1e-4)
    assert states.doubt(ROWS)[0] == pytest.approx(1 - torch.tensor(bare[0]).softmax(0).max())


def test_the_leading_components_of_the_real_tokens_are_gone():
    x = torch.randn(2, 7, 5, generator=torch.Generator().manual_seed(0))
    real = torch.ones(2, 7, dtype=torch.bool)
    real[1, 4:] = False
    out = without_components(x, real, 2)
    for b, n in ((0, 7), (1, 4)):
        own = x[b, :n] - x[b, :n].mean(0)
        _, _, directions = torch.linalg.svd(own, full_matrices=False)
        expected = x[b, :n] - own @ directions[:2].T @ directions[:2]
        torch.testing.assert_close(out[b, :n], expected, atol=1e-5, rtol=0)
    torch.testing.assert_close(out[1, 4:], x[1, 4:])


def test_masks_hide_their_share_and_leave_the_premise():
    seen = []

    def watching(*texts, **settings):
        seen.append(texts)
        return TOKENIZER(*texts, **settings)

    watching.mask_token = TOKENIZER.mask_token
    row = {"premise": "A man rides.", "hypothesis": "One two three four five six.", "label": 0}
    masked(MODEL, watching, 0.5).draw([row], 4)
    for premises, hypotheses in seen:
        assert set(premises) == {"A man rides."}
        assert {text.count("[MASK]") for text in hypotheses} == {3}


def test_words_of_a_group_are_written_alike_and_answered_alike():
    counts = word_counts(["a dog and a canine", "a dog runs"])
    encoding = SynonymEncoding(counts, LEXICON, 4)
    assert encoding("A Canine, a hound") == "A Dog, a dog" == encoding("A Dog, a hound")
    assert encoding.groups()["dog"] == ("dog", "canine")
    rows = [{"premise": "A dog runs.", "hypothesis": f"A {w} runs."} for w in ("dog", "hound")]
    first, second = encoded(MODEL, TOKENIZER, encoding).draw(rows, 1)
    assert np.array_equal(first, second)
    assert AgreedCandidates(LEXICON, LEXICON).synonyms("dog") == LEXICON.synonyms("dog")
    groups = {word: ("dog", "canine") for word in ("dog", "canine")}
    assert group_choices("A Dog, a cat.", groups).words == (("Dog", "Canine"),)


def test_a_corrector_comes_before_the_encoding():
    encoding = SynonymEncoding(word_counts(["a dog and a canine", "a dog runs"]), LEXICON, 4)

    def mended(text: str) -> str:
        return text.replace("huond", "hound")

    rows = [{"premise": "A dog runs.", "hypothesis": f"A {w} runs."} for w in ("dog", "huond")]
    first, second = encoded(MODEL, TOKENIZER, encoding, mended).draw(rows, 1)
    assert np.array_equal(first, second)
    nested = NormalisedTokenizer(NormalisedTokenizer(TOKENIZER, encoding), mended)
    assert nested("A huond runs.")["input_ids"] == TOKENIZER("A dog runs.")["input_ids"]


def test_the_beam_meets_all_single_swaps_and_a_guide_decides_nothing():
    words = tuple((f"w{k}", f"x{k}", f"y{k}") for k in range(4))
    text = " ".join(of[0] for of in words)
    of = Choices(text, tuple((3 * k, 3 * k + 2) for k in range(4)), words)
    fallen = 0
    for seed in range(30):
        random = np.random.default_rng(seed)
        harm = {w: h for own in words for w, h in zip(own, (0, *random.random(2)), strict=True)}
        limit = random.uniform(0.5, 3)

        def asked(texts, harm=harm, limit=limit):
            return np.array([limit - sum(harm[w] for w in text.split()) for text in texts])

        truth = verdict(of, asked)
        plainly = searched(of, asked)
        guided = searched(of, asked, guide=asked, first=1)
        assert plainly.held == guided.held == truth.exact  # harms that add up deceive no beam
        assert plainly.clean and guided.asked <= plainly.asked
        assert (asked([guided.worst])[0] <= 0) == (not guided.held[-1])
        fallen += not guided.held[-1]
    assert 5 < fallen < 30
    assert searched(of, lambda texts: -np.ones(len(texts))).asked == 1


def test_a_judge_keeps_each_set_and_goes_on_row_by_row(tmp_path):
    row = {"premise": "A dog runs.", "hypothesis": "A dog is outside.", "label": 0}
    asked = []

    def draw(rows, draws):
        asked.extend(rows)
        turned = [[0.0, 1.0, 0.0] if "hound" in of["hypothesis"] else [1.0, 0, 0] for of in rows]
        return np.repeat(np.array(turned)[:, None], draws, 1)

    rival, never = Rival("", draw), Rival("", lambda rows, draws: np.ones((len(rows), 1, 3)))
    sets = {"clean": [row], "contrast": [row], "searched": [row, {**row, "label": 1}]}
    judge = Judge(sets, LEXICON, 2, tmp_path)
    bits, texts = judge.judged("it", rival, {"a": 1}, again=rival)
    assert bits["clean"].tolist() == [True] and bits["contrast"].tolist() == [False]
    assert bits["one word"].tolist() == bits["all words"].tolist() == [False, False]
    assert bits[AGAIN].tolist() == [False, False]
    assert texts == 1 + 3 + 1  # the row, its three swaps; the other is wrong as it is
    log = tmp_path / "it searched.jsonl"
    whole = log.read_text()
    log.write_text("".join(whole.splitlines(keepends=True)[:2]))  # as if it had been cut off
    asked.clear()
    assert judge.judged("it", rival, {"a": 1}, again=rival)[1] == texts and len(asked) == 1
    assert log.read_text() == whole
    assert judge.judged("it", never, {"a": 1}, again=never)[1] == texts  # nobody is asked
    with pytest.raises(ValueError, match="other settings"):
        judge.judged("it", rival, {"a": 2})


def test_a_denoiser_learns_where_clean_states_lie():
    source = torch.Generator().manual_seed(0)
    basis = torch.randn(2, 12, generator=source)
    clean = torch.randn(400, 2, generator=source) @ basis
    denoiser = trained_denoiser(clean, 0, updates=150)
    noise = torch.randn(400, 12, generator=source)
    back = denoiser.denoised(clean, noise, STEPS // 2)
    level = torch.full((400,), STEPS // 2)
    z = (clean - denoiser.mean) / denoiser.spread
    noised = denoiser.noised(z, level, noise) * denoiser.spread + denoiser.mean
    assert (back - clean).norm() < 0.6 * (noised - clean).norm()
    assert torch.equal(Denoiser(12).noised(z, torch.zeros(400, dtype=torch.long), noise), z)


@pytest.mark.parametrize("robust", [True, False])
def test_the_density_is_low_far_from_all_clean_states(robust):
    class States:
        def __call__(self, rows):
            return torch.stack([row["x"] for row in rows])

        def logits(self, x):
            return np.stack([x[:, 0].numpy(), -x[:, 0].numpy()], 1)

    source = torch.Generator().manual_seed(0)
    rows = [{"x": torch.randn(4, generator=source)} for _ in range(200)]
    far = [{"x": 5 + row["x"]} for row in rows]
    density = Density(States(), rows, 3, robust)
    assert density.score(far).min() > np.median(density.score(rows))


def test_the_most_right_under_swaps_is_chosen_of_what_keeps_clean_answers():
    def tried(*pairs):
        return [{"setting": k, "clean": c, "swapped": s} for k, (c, s) in enumerate(pairs)]

    none = {"clean": 90, "swapped": 70}
    assert chosen(tried((89, 71), (88, 80), (95, 70)), none, 100) == {"chosen": 0, "passes": True}
    assert chosen(tried((80, 71), (88, 60)), none, 100) == {"chosen": 1, "passes": False}


def test_certificates_hold_in_groups_and_not_on_lists():
    one, every = list_shifts(ROWS, LEXICON, 3)
    assert (one <= every).all() and (every <= 1).all()
    groups = {word: ("man", "guy") for word in ("man", "guy")}
    answers = plain(MODEL, TOKENIZER).scores
    found = smoothed_verdicts(
        answers, ROWS, lambda text: group_choices(text, groups), np.zeros(len(ROWS))
    )
    assert found["whole"].all() and np.array_equal(found["certified"], found["smoothed"])
    assert not (found["truth"] & ~found["certified"]).any()  # the certificate is of the vote


def test_the_trial_counts_each_rival_beside_none(tmp_path):
    sizes = {"clean": 5, "contrast": 4, "transfer": 4, "searched": 2}
    trial = RivalsTrial(
        "captions",
        after=20,
        rivals=("RanMASK", "PURE"),
        learnt_on=40,
        held=4,
        draws=2,
        search_draws=1,
        fixed=sizes,
        drawn=sizes | {"clean": 3},
        detected=("textfooler",),
        fooled=5,
        certified=2,
        lists=3,
        groups="lexicon 2",
        controls=(),
        most=2,
        resources="lexicon",
        half=False,
    )
    result = trial.run(RESULTS, tmp_path, lambda _: None)
    assert list(result["counts"]) == ["none", "RanMASK x2", "RanMASK x1", "PURE"]
    rows = [load_nli("captions", split="test")[k] for k in range(20, 25)]
    bits = unpack(result["examples"]["none"]["clean"], 5)
    labels = [row["label"] for row in rows]
    assert np.array_equal(bits, scores(MODEL, TOKENIZER, rows).argmax(1) == labels)
    assert result["counts"]["RanMASK x2"]["clean"]["n"] == 3
    assert len(result["search"]["PURE"]["tried"]) == 4
    assert set(result["certificates"]["groups"]["none"]["counts"]) >= {"certified", "truth"}
    assert trial.run(RESULTS, tmp_path, pytest.fail) == result  # kept, not done again
    with pytest.raises(ValueError, match="unknown rival 'nobody'"):
        RivalsTrial(rivals=("nobody",))
