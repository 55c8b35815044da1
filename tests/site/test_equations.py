"""The mathematics modules and the pages name the same equations; every erratum is gathered."""

import inspect
import re
from collections import Counter

import nbformat
import pytest

import library
from contents import ROOT, in_toc, prose
from pidbook import theory

LABELS = (
    r"\$\$\s*\(([a-z][\w-]*)\)",  # $$ ... $$ (label)
    r"^\s*:label:\s*(\S+)",  # theorems and {math} blocks
)
NAMED = re.compile(r"equations?\s+((?:[a-z0-9]+(?:-[a-z0-9]+)+)(?:,\s*[a-z0-9]+(?:-[a-z0-9]+)+)*)")


def texts() -> dict[str, str]:
    """Text of every page, by name."""
    pages = {path.stem: path.read_text() for path in (ROOT / "book").glob("*.md")}
    return pages | {path.stem: prose(path) for path in in_toc()}


def labels() -> set[str]:
    return {
        label
        for text in texts().values()
        for pattern in LABELS
        for label in re.findall(pattern, text, re.M)
    }


def named(docstring: str) -> list[str]:
    """Labels of equations that the Source line names."""
    source = re.search(r"^Source:.*", docstring, re.M | re.S)
    found = NAMED.findall(re.sub(r"\s+", " ", source[0])) if source else []
    return [label for group in found for label in re.split(r",\s*", group)]


def test_mathematics_names_equations_of_the_book():
    known, wrong = labels(), []
    book = {name: getattr(theory, name) for name in theory.__all__}
    for name, value in (library.offered("theory") | book).items():
        labels_named = named(inspect.cleandoc(value.__doc__))
        if not labels_named:
            wrong.append(f"{name} names no equation")
        wrong += [f"{name}: no page has {x}" for x in labels_named if x not in known]
    assert wrong == []


def test_what_is_no_equation_would_be_seen():
    assert named("Do.\n\nSource: Proposition 1; equations riccati-recursion,\n    no-such.") == [
        "riccati-recursion",
        "no-such",
    ]
    assert named("Do.\n\nSource: ours.") == []
    assert "no-such" not in labels() and "riccati-recursion" in labels()


BOX = re.compile(r":::+\{admonition\} Errat(?:a|um)\b.*?\n(.*?)\n\n", re.S)


def boxes() -> list[tuple[str, str]]:
    """(chapter, name) of every box that corrects the paper; the name is empty if it has none."""
    found = []
    for stem, text in texts().items():
        for head in BOX.findall(text):
            name = re.search(r"^:name:\s*(\S+)", head, re.M)
            found.append((stem, name[1] if name else ""))
    return found


def test_every_erratum_is_named_once_and_gathered():
    names = Counter(name for _, name in boxes())
    assert names and all(name.startswith("errata-") for name in names), boxes()
    assert [name for name, count in names.items() if count > 1] == []
    gathered = re.findall(r"\{ref\}`[^`<]*<(errata-[\w-]+)>`", texts()["errata"])
    assert set(gathered) == set(names)


@pytest.mark.parametrize("path", in_toc(), ids=[path.stem for path in in_toc()])
def test_every_erratum_stands_at_the_end_and_is_flagged_or_shown(path):
    cells = nbformat.read(path, as_version=4).cells
    prose = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    for box in BOX.finditer(prose):
        name = re.search(r"^:name:\s*(\S+)", box[1], re.M)[1]
        heading = re.findall(r"^## (.+)$", prose[: box.start()], re.M)[-1]
        assert heading == "Where the paper differs", name
        at = next(k for k, cell in enumerate(cells) if f":name: {name}" in cell.source)
        after = next((c for c in cells[at + 1 :] if c.cell_type == "code"), None)
        shown = after is not None and after.outputs and "check." not in after.source
        assert shown or prose.count(name) > 1, f"{name} has no flag in place and no cell after it"


def glossary() -> dict[str, str]:
    """Entries of the glossary by their first term."""
    body = re.search(r"```\{glossary\}\n(.*?)\n```", texts()["glossary"], re.S)[1]
    entries = re.split(r"\n\n(?=\S)", body)
    return {entry.split("\n")[0]: entry for entry in entries}


def test_glossary_is_in_order_and_leads_to_chapters():
    terms = [re.sub(r"[^a-z0-9]", "", term.lower()) for term in glossary()]
    assert terms == sorted(terms)
    lost = [
        t for t, text in glossary().items() if "../notebooks/" not in text and "{term}" not in text
    ]
    assert lost == []
