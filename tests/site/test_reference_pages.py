"""The pages that are made when the site is built show what they are made of."""

import inspect
import re

import pytest
from bs4 import BeautifulSoup

import api_pages
import chapters
import library
from contents import ROOT

pytestmark = pytest.mark.site
PAGES = sorted((ROOT / "book").glob("api-*.md"))
kept: dict[str, BeautifulSoup] = {}


def soup(site, name: str) -> BeautifulSoup:
    if name not in kept:
        kept[name] = BeautifulSoup((site / f"{name}.html").read_text(), "lxml")
    return kept[name]


@pytest.mark.parametrize("module", library.public())
def test_reference_shows_every_public_name(site, module):
    page = next(p for p in PAGES if module in re.findall(r"\{api\}(.*)", p.read_text())[0].split())
    shown = soup(site, f"book/{page.stem}").article
    text, lacking = shown.get_text(), []
    lacking += [name for name in library.constants(module) if name not in text]
    for name, value in library.offered(module).items():
        inner = {f"{name}.{n}": v for n, v in library.members(value).items()}
        for label, member in {name: value, **inner}.items():
            head = shown.find("dt", id=f"pidlib.{module}.{label}")
            if head is None:
                lacking.append(label)
                continue
            body = head.find_next_sibling("dd")
            bare = getattr(member, "__func__", member)
            if plain(library.summary(bare)) not in plain(body.get_text()):
                lacking.append(f"summary of {label}")
            if "Parameters\n---" in inspect.cleandoc(bare.__doc__):
                terms = " ".join(term.get_text() for term in body.select("dl.field-list strong"))
                names = {name.strip().lstrip("*") for name in re.split(r"[,\s]+", terms)}
                lacking += [f"{label}: {p}" for p in library.parameters(bare) if p not in names]
    assert lacking == []


def plain(text: str) -> str:
    """Letters and digits alone: quotes and dashes are set in type."""
    return re.sub(r"[\W_]+", "", text)


def test_overview_lists_every_module(site):
    text = soup(site, "book/api").article.get_text(" ")
    assert [module for module in library.public() if module not in text] == []
    assert all(name in text for name in library.front_door())


def links_of(site, page: str, name: str) -> list[str]:
    """Where the entry of a name leads to."""
    head = soup(site, f"book/{page}").find("dt", id=name)
    return [a["href"] for a in head.find_next_sibling("dd").find_all("a")]


def test_the_front_door_leads_to_its_entries(site):
    table = soup(site, "book/api").select("article table")[0]
    shown = {row.td.get_text(strip=True): row.td.a["href"] for row in table.select("tbody tr")}
    assert sorted(shown) == sorted(library.front_door())
    for name, address in library.front_door().items():
        assert shown[name].endswith(f"#{library.places()[address]}")


def test_an_entry_leads_to_chapters_equations_and_classes(site):
    links = links_of(site, "api-theory", "pidlib.theory.alphas")
    assert [x for x in links if x.endswith("notebooks/04_gains.html")]
    assert [x for x in links if x.endswith("04_gains.html#equation-gains-alpha")]
    assert "#pidlib.theory.Affine" in links_of(site, "api-theory", "pidlib.theory.wiener_map")


def test_text_of_docstrings_is_no_markup():
    text = 'x_0 * y_1 and x_ |d| of `a_b * c`, take "P-D" or "any word"'
    told = 'x_0 \\* y_1 and x\\_ \\|d\\| of `a_b * c`, take `"P-D"` or "any word"'
    assert api_pages.plain(text) == told
    linked = "`rate <pidlib.theory.rate>`"
    assert api_pages.plain("`pidlib.theory.gains.rate`") == linked.replace(
        "`r", "`pidlib.theory.gains.r", 1
    )
    assert api_pages.plain("`load_nli()`") == "`load_nli() <pidlib.data.load_nli>`"
    made = api_pages.source("Proposition 2; equations gains-alpha, no-such.")
    assert made == "Proposition 2; equations :eq:`gains-alpha`, no-such."
    assert api_pages.source("theorem-one") == ":prf:ref:`theorem-one`"


def test_exercises_are_listed_and_lead_to_their_place(site):
    rows = soup(site, "book/exercises").select("article table tbody tr")
    every = {task.name: task for one in chapters.chapters() for task in one.exercises}
    assert sorted(row.find_all("td")[-1].get_text(strip=True) for row in rows) == sorted(every)
    for row in rows:
        cells = row.find_all("td")
        task = every[cells[-1].get_text(strip=True)]
        assert cells[2].get_text().split(",")[0] == str(task.minutes)
        path, _, place = cells[0].a["href"].partition("#")
        assert path == f"../notebooks/{task.chapter}.html"
        section = soup(site, f"notebooks/{task.chapter}").find("section", id=place)
        heading = plain(section.find(re.compile("h[2-6]")).get_text())
        assert heading.endswith(plain(cells[0].get_text()))


def test_status_has_a_row_for_each_chapter(site):
    table = soup(site, "book/status").select("article table")[0]
    rows = [row.find_all("td") for row in table.select("tbody tr")]
    assert len(rows) == len(chapters.chapters())
    for cells, one in zip(rows, chapters.chapters(), strict=True):
        assert cells[0].a["href"] == f"../notebooks/{one.stem}.html"
        have = [int(cell.get_text()) for cell in cells[3:6]]
        assert have == [one.cells, one.figures, len(one.exercises)]
