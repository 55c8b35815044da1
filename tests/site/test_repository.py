"""What the pages and files of the repository say of each other is true."""

import re
import zipfile

import nbformat
import pytest
import yaml

import book
import pidlib
from book import changed, fingerprint
from contents import RESULTS, ROOT
from pidbook.evaluation.contrast import RESULT
from pidbook.evaluation.recorded_trial import recorded_trial
from pidbook.evaluation.results import read_result
from pidlib.attacks.attack import RECIPES
from quick import CHAPTER, README, SVG, as_page, headline

TEXTS = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE-SUMMARY.md"]


def targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.M))


@pytest.mark.parametrize("name", ["README.md", "book/how-to-run.md", "book/intro.md"])
def test_commands_named_are_commands_of_the_makefile(name):
    named = set(re.findall(r"(?:`|^)make ([a-z]+)", (ROOT / name).read_text(), re.M))
    assert named and named <= targets()


@pytest.mark.parametrize("name", TEXTS)
def test_relative_links_lead_to_files(name):
    links = re.findall(r"\]\(([^)#\s]+)\)", (ROOT / name).read_text())
    inner = [link for link in links if not re.match(r"[a-z]+:", link)]
    assert [link for link in inner if not (ROOT / link).exists()] == []


def test_picture_of_the_readme_is_the_chapters():
    assert README.read_text() == headline(), "run: python tools/quick.py --readme"
    assert f"](book/_static/{README.name})" in (ROOT / "README.md").read_text()


def test_the_quick_page_shows_every_picture_and_what_it_says():
    cells = [c for c in nbformat.read(CHAPTER, 4).cells if c.get("outputs")]
    pictures = [o.data[SVG] for c in cells for o in c.outputs if SVG in o.get("data", {})]
    page = as_page(nbformat.v4.new_notebook(cells=cells))
    assert len(pictures) > 6 and all(picture in page for picture in pictures)
    assert "<h2>The control brings the first answer back, and not the second.</h2>" in page


def test_the_readme_says_what_was_counted_of_gains_and_deafness():
    text = (ROOT / "README.md").read_text()
    found = [
        recorded_trial(read_result(RESULTS / f"trial-{data}-minilm-nli.json"), recipe)
        for data in ("captions", "snli-test")
        for recipe in RECIPES
    ]
    of_snli = found[len(RECIPES) :]
    shares = [1 - one.beyond("noise")[0] / one.gain("transfer").gain for one in of_snli]
    least, most = (f"{100 * end(shares):.0f}" for end in (min, max))
    assert f"on all of SNLI it reaches, by attack, {least} to {most} % of such" in text
    assert not any(one.gain("adaptive").interval()[0] > 0 for one in found)
    counts = read_result(RESULTS / RESULT)["counts"]
    sets = ("ordinary", "counterfactual", "edited")
    heads = [f"of {counts['none'][key]['n']:,}" for key in sets]
    assert re.search(".*".join(heads), text)
    for name in ("none", "P-D 99 %", "Terminal both", "fine-tuned"):
        row = " | ".join(f"{counts[name][key]['right']:,}" for key in sets)
        assert f"| {row} |" in text, name


def test_every_skip_has_a_row():
    rows = (ROOT / "tests/QUARANTINES.md").read_text()
    skipping = [
        str(path.relative_to(ROOT))
        for path in sorted((ROOT / "tests").rglob("*.py"))
        if re.search(r"skipif\(|pytest\.skip\(|xfail|importorskip\(", path.read_text())
        and path.name != "test_repository.py"
    ]
    assert [name for name in skipping if f"`{name}`" not in rows] == []


def test_a_change_of_the_library_is_noticed(tmp_path):
    (tmp_path / "lib").mkdir()
    source = tmp_path / "lib" / "a.py"
    source.write_text("a = 1\n")
    before = fingerprint(("lib",), tmp_path)
    stamp = tmp_path / "stamp"
    assert changed(stamp, before)
    stamp.write_text(before)
    assert not changed(stamp, fingerprint(("lib",), tmp_path))
    source.write_text("a = 2\n")
    assert changed(stamp, fingerprint(("lib",), tmp_path))
    source.write_text("a = 1\n")
    source.rename(tmp_path / "lib" / "b.py")
    assert changed(stamp, fingerprint(("lib",), tmp_path))


def test_the_site_is_packed_whole(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(book, "ROOT", tmp_path)
    monkeypatch.setattr(book, "SITE", tmp_path / "html")
    assert book.dist() == 1 and "run make book first" in capsys.readouterr().out
    (tmp_path / "html/book").mkdir(parents=True)
    for name in ("index.html", "book/intro.html"):
        (tmp_path / "html" / name).write_text(name)
    assert book.dist() == 0
    with zipfile.ZipFile(tmp_path / "dist/book.zip") as packed:
        files = {name for name in packed.namelist() if not name.endswith("/")}
        assert files == {"index.html", "book/intro.html"}
        assert packed.read("book/intro.html") == b"book/intro.html"
    assert [path.name for path in (tmp_path / "dist").iterdir()] == ["book.zip"]


def test_the_citation_file_and_how_to_cite_name_the_same():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= cited.keys()  # the schema's
    assert cited["version"] == pidlib.__version__ and cited["license"] == "MIT"
    [paper] = cited["references"]
    bib = re.sub("[{}]", "", (ROOT / "book/references.bib").read_text())
    assert f"title = {paper['title']}," in bib and f"url = {paper['url']}" in bib
    text = (ROOT / "book/how-to-run.md").read_text().split("## How to cite")[1]
    text = re.sub(r"\s+", " ", re.sub(r"[{}]", "", text))
    names = [f"{author['family-names']}, {author['given-names']}" for author in paper["authors"]]
    told = [
        f"author = {' and '.join(names)},",
        *(f"{k} = {cited[k]}" for k in ("title", "version")),
    ]
    told += [str(paper[key]) for key in ("title", "journal", "year", "url")]
    assert [one for one in told if one not in text] == []
