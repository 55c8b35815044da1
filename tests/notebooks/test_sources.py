"""Files are followed through the code of a chapter, and a change of one is seen."""

import ast
import re

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from contents import in_toc
from notebooks import normalise
from sources import RESULTS, STAMP, TRAININGS, TRIALS, Reader, files_of, stale, stamp

READ = 'a = read_result(RESULTS / "a.json")\nb = read_result(RESULTS / "b.json")'


def shown(*cells: str) -> set[str]:
    """Patterns behind what the last of some cells shows, without their backslashes."""
    reader = Reader()
    return {p.replace("\\", "") for p in [reader.run(ast.parse(c)) for c in cells][-1]}


FLOWS = [
    ("draw(a)", {"a.json"}),
    ("draw(1)", set()),
    ("x = a['counts']\ndraw(x)", {"a.json"}),
    ("x = 2 * a['counts']", set()),
    ("x = a\nx = 1\ndraw(x)", set()),
    ("x, y = pair(a)\ndraw(y)", {"a.json"}),
    ("rows = []\nrows.append(a)\ndraw(rows)", {"a.json"}),
    ("rows = {}\nrows['k'] = b\ndraw(rows)", {"b.json"}),
    ("x = 0\nx += a\ndraw(x)", {"a.json"}),
    ("for k, v in a.items():\n    print(v)", {"a.json"}),
    ("draw([f(k) for k in a])", {"a.json"}),
    ("draw([a for a in range(3)])", set()),
    ("draw(lambda a: a)", set()),
    ("draw(lambda c: b)", {"b.json"}),
    ("def f(a):\n    return a\ndraw(f(b))", {"b.json"}),
    ("def f(c):\n    x = b\n    return x + c\ndraw(f(1))", {"b.json"}),
    ("n = a['data']['n']\ndraw(n)", set()),
    ("with open(a) as f:\n    draw(f)", {"a.json"}),
    ("draw(read_result(RESULTS / f'trial-{one}.json'))", {"trial-[^-/]+.json"}),
    ("draw(read_outcomes(R / 'attacks' / f'c-{r}.jsonl'))", {"attacks/c-[^-/]+.jsonl"}),
    ("draw(stored_rows(t, 'c', r, R, 'm'))", {"attacks/c-m-[^-/]+.jsonl"}),
    ("t = recorded_trials(R)\ndraw(t['snli-test', 'AT'])", {"trial-snli-test-minilm-nli-a2t.json"}),
]  # fmt: skip


@pytest.mark.parametrize(("code", "files"), FLOWS)
def test_files_go_where_names_go(code, files):
    assert shown(READ, code) == files


def test_what_recorded_trials_reads_is_known_here():
    from pidbook.evaluation import paper as reports

    assert TRAININGS == reports.TRAININGS
    names = {f"trial-{d}-{m}.json" for d in reports.DATA for m in reports.TRAININGS.values()}
    found = {p.name for p in RESULTS.glob("*.json") if re.fullmatch(TRIALS, p.name)}
    assert found == names & {p.name for p in RESULTS.glob("*.json")} and found


@pytest.fixture
def made(tmp_path):
    """A notebook that draws from one of two files."""
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text("{}")
    code = '%matplotlib inline\na = read_result(RESULTS / "a.json")\ndraw(a)'
    return new_notebook(cells=[new_markdown_cell("# A"), new_code_cell(code)]), tmp_path


def test_a_stamp_is_kept_and_a_changed_file_is_seen(made):
    notebook, folder = made
    assert files_of(notebook, folder) == {1: ["a.json"]}
    assert stale(notebook, folder) == ["no stamp for a.json"]
    stamp(notebook, folder, run=False)
    assert stale(normalise(notebook), folder) == []
    (folder / "b.json").write_text("[]")  # not drawn from
    assert stale(notebook, folder) == []
    (folder / "a.json").write_text("[]")
    changed = ["a.json has changed since the outputs were drawn from it"]
    assert stale(notebook, folder) == changed
    stamp(notebook, folder, run=False)  # nothing was run: the old stamp stays
    assert stale(notebook, folder) == changed
    stamp(notebook, folder, run=True)
    assert stale(notebook, folder) == []


def test_a_file_that_is_gone_and_one_that_is_read_no_more_are_seen(made):
    notebook, folder = made
    stamp(notebook, folder, run=True)
    (folder / "a.json").unlink()
    assert "which is not there" in stale(notebook, folder)[0]
    notebook.cells[1].source = 'draw(read_result(RESULTS / "b.json"))'
    found = stale(notebook, folder)
    assert found == ["no stamp for b.json", "a stamp for a.json, which it does not read"]
    stamp(notebook, folder, run=False)
    assert list(notebook.metadata[STAMP]) == ["b.json"] and stale(notebook, folder) == []


def figures() -> dict[str, list[str]]:
    """Files behind every named figure of the book."""
    found = {}
    for path in in_toc():
        notebook = nbformat.read(path, as_version=4)
        drawn = files_of(notebook)
        for place, cell in enumerate(notebook.cells):
            name = cell.metadata.get("mystnb", {}).get("figure", {}).get("name")
            if name:
                found[name] = drawn.get(place, [])
    return found


def test_figures_of_the_book_come_from_the_files_they_should():
    found = figures()
    trials = found["fig-robustness-table-8"]  # one data set, three trainings
    assert len(trials) == 3 and all(name.startswith("trial-snli") for name in trials)
    assert found["fig-trial-snli"] == ["trial-snli-test-minilm-nli.json"]
    assert found["fig-cost-table-5"] == ["bench-cost.json"]
    assert found["fig-decoders-table-1"] == ["trial-snli-test-smollm2-nli.json"]
    assert len(found["fig-models-profile"]) == 4  # stored attacks, by recipe
    wiener = "wiener-snli-test-minilm-nli"
    assert found["fig-wiener-adaptive"] == [f"{wiener}-encoded.json", f"{wiener}.json"]
    theory = [name for name in found if name.startswith(("fig-gains", "fig-riccati"))]
    assert all(found[name] == [] for name in theory)
