"""The paper's tables ship whole, and its claims are recomputed from them."""

import json
from collections import Counter

import pytest

from experiments.claims import FAILS, HOLDS, OPEN, PARTLY, VERDICTS, claims
from experiments.paper_cells import gain, pmp_gap
from pidbook.evaluation import paper_table
from pidbook.evaluation.paper import TABLES

# Counted by hand in the LaTeX source, table by table: numbers and red numbers.
COUNTED = {
    "opt": (20, 10),
    "anli": (12, 4),
    "ablation": (192, 48),
    "pmp": (135, 55),
    "wall_time": (12, 0),
    "theorem_error": (12, 0),
    "ranks": (42, 0),
    "snli": (120, 40),
    "mnli": (120, 43),
}


def test_every_number_of_the_papers_tables_is_there():
    tables = json.loads(TABLES.read_text(encoding="utf-8"))
    assert [k for k in tables if not k.startswith("_")] == list(COUNTED)
    for name, (numbers, red) in COUNTED.items():
        rows = paper_table(name)
        values = ("accuracy", "seconds", "abs_error", "rank", "full_dim", "embedding_error")
        assert sum(row.get(key) is not None for row in rows for key in values) == numbers, name
        assert sum(bool(row.get("highlighted")) for row in rows) == red, name
    assert sum(n for n, _ in COUNTED.values()) == 665
    with pytest.raises(ValueError, match="unknown table 'imdb'.*snli"):
        paper_table("imdb")


def test_sums_over_the_tables():
    """Means that a separate count of the LaTeX gives."""
    assert gain("snli").mean() == pytest.approx(5.95, abs=0.006)
    assert gain("mnli").mean() == pytest.approx(5.02, abs=0.006)
    assert gain(("snli", "mnli")).mean() == pytest.approx(5.49, abs=0.006)
    assert gain("snli", attacks=["None"]).mean() == pytest.approx(-0.54, abs=0.006)
    for threshold, mean in ((0.99, -1.99), (0.95, -0.58), (0.9, 9.46), (0.85, 15.16)):
        assert pmp_gap(threshold).mean() == pytest.approx(mean, abs=0.006)


def test_verdicts_are_those_of_an_independent_audit():
    found = {claim.number: claim for claim in claims()}
    assert list(found) == list(range(1, 40))
    assert {claim.verdict for claim in found.values()} == set(VERDICTS)
    assert {n for n, c in found.items() if c.verdict == FAILS} == {8, 10, 17, 21, 32}
    assert {n for n, c in found.items() if c.verdict == OPEN} == {20, 29, 37, 39}
    assert {n for n, c in found.items() if c.verdict == HOLDS} == {
        2, 4, 7, 9, 13, 14, 15, 19, 22, 23, 24, 31, 34, 36,
    }  # fmt: skip
    assert Counter(c.verdict for c in found.values())[PARTLY] == 16


COUNTED_APART = [
    (1, "+8.42, +5.12, +15.53, +17.04; no attack -1.19"),
    (5, "95 of 96 attacked cells rise, mean +5.49; 72 outside"),
    (15, "mean 1.0783, Student's t over the six sets [0.0563, 2.1004]"),
    (16, "highest in 33 of 48 cells, by more than a point in 20, outside unpaired noise in 16"),
    (17, "1.552 [0.983, 2.121]"),
    (18, "P-I over P in 5 of 48, -0.81"),
    (24, "DistilBERT 9.77 times"),
    (26, "316.7"),
    (30, "against FreeLB +4.41 (25 of 32 cells)"),
    (32, "47 of 48 cells rise; 11 of the 48"),
]


@pytest.mark.parametrize(("number", "told"), COUNTED_APART)
def test_numbers_that_a_separate_count_gave(number, told):
    assert told in claims()[number - 1].recomputed


def test_what_is_not_recorded_is_said_so(tmp_path):
    from claims import claims_page
    from measured import measured

    texts = measured(tmp_path)
    assert set(texts) == {claim.slug for claim in claims()}
    text, page = texts["distilbert_snli"]
    assert text.startswith("Not measured yet") and page is None
    assert texts["simulated"][1] is not None  # needs no trial
    page = claims_page(tmp_path)
    assert page.count("{#claim-") == 39 and page.count("| does not hold | 5 |") == 1
    assert page.count("[does not hold]{.fails}") == 5


def test_measured_text_follows_the_recorded_trials():
    from contents import ROOT
    from measured import measured
    from pidbook.evaluation.results import read_result
    from pidbook.evaluation.trial_results import gains_over_none

    folder = ROOT / "book" / "results"
    result = read_result(folder / "trial-snli-test-minilm-nli.json")
    gain = gains_over_none(result, "P-D 99 %")
    told = measured(folder)["distilbert_snli"][0]
    assert f"no attack {100 * gain['clean'].gain:+.1f}" in told
    assert f"{100 * gain['textfooler'].gain:+.1f};" in told
