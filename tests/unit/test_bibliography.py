"""The bibliography holds what the pages cite, whole, and nothing else."""

import re
from collections import Counter

import nbformat
import pytest

from contents import ROOT, in_toc

ENTRY = re.compile(r"^@(\w+)\{([^,\s]+),\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"^\s*(\w+)\s*=\s*\{(.*)\},?$", re.M)
CITED = re.compile(r"\{cite(?::\w+)?\}`([^`]+)`")
NEEDED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "book": {"author", "title", "publisher", "year"},
    "misc": {"author", "title", "howpublished", "year"},
}


def entries() -> list[tuple[str, str, dict[str, str]]]:
    """(kind, key, fields) of every entry."""
    text = (ROOT / "book" / "references.bib").read_text(encoding="utf-8")
    found = [(kind, key, dict(FIELD.findall(body))) for kind, key, body in ENTRY.findall(text)]
    assert len(found) == text.count("\n@") + text.startswith("@")
    return found


def cited() -> set[str]:
    """Keys that the pages cite."""
    texts = [path.read_text(encoding="utf-8") for path in (ROOT / "book").glob("*.md")]
    for path in in_toc():
        cells = nbformat.read(path, as_version=4).cells
        texts += [cell.source for cell in cells if cell.cell_type == "markdown"]
    return {
        key.strip() for text in texts for keys in CITED.findall(text) for key in keys.split(",")
    }


def test_every_entry_is_cited_and_every_citation_has_an_entry():
    keys = {key for _, key, _ in entries()}
    assert keys == cited()


def test_no_entry_and_no_work_is_there_twice():
    keys = Counter(key for _, key, _ in entries())
    titles = Counter(re.sub(r"\W", "", fields["title"]).lower() for *_, fields in entries())
    assert [name for name, count in (keys + titles).items() if count > 1] == []


@pytest.mark.parametrize(("kind", "key", "fields"), entries(), ids=[key for _, key, _ in entries()])
def test_entry_is_whole(kind, key, fields):
    assert NEEDED[kind] <= set(fields)
    assert re.fullmatch(r"1[89]\d\d|20\d\d", fields["year"])
    assert all(", " in name or name == "others" for name in fields["author"].split(" and "))
    if "pages" in fields:
        first, last = map(int, re.fullmatch(r"(\d+)--(\d+)", fields["pages"]).groups())
        assert first <= last
    if "volume" in fields:
        assert fields["volume"].isdigit()
    # Sphinx's style lowers what no brace keeps.
    assert not re.search(r"(?<![{\w])(?:BERT|NLI|NLP|PID|OPT|English)(?![}\w])", fields["title"])
