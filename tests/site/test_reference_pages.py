"""The pages that are made when the site is built show what they are made of."""

from __future__ import annotations

import json
import re

import pytest
from bs4 import BeautifulSoup

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
    lacking = []
    for entry in library.offered(module):
        for one in (entry, *entry.members):
            head = shown.find("dt", id=f"pidlib.{module}.{one.name}")
            if head is None:
                lacking.append(one.name)
                continue
            summary = library.sections(one.doc)[""].split("\n\n")[0].replace("`", "")
            told = " ".join(head.find_next_sibling("dd").get_text().split())
            if plain(summary) not in plain(told):
                lacking.append(f"summary of {one.name}")
            terms = {c.text.lstrip("*") for c in head.find_next_sibling("dd").select("dl dt code")}
            lacking += [f"{one.name}: {p}" for p in one.parameters if p not in terms]
    assert lacking == []


def plain(text: str) -> str:
    """Letters and digits alone: quotes and dashes are set in type."""
    return re.sub(r"[\W_]+", "", text)


def test_overview_lists_every_module(site):
    text = soup(site, "book/api").article.get_text(" ")
    assert [module for module in library.public() if module not in text] == []
    assert all(name in text for name in library.doors())


def test_reference_leads_to_chapters(site):
    head = soup(site, "book/api-theory").find("dt", id="pidlib.theory.alphas")
    links = [a["href"] for a in head.find_next_sibling("dd").find_all("a")]
    assert [x for x in links if x.endswith("notebooks/04_gains.html")]


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


def test_status_lists_every_result_file_with_its_command(site):
    text = soup(site, "book/status").article.get_text()
    paths = list((ROOT / "book/results").glob("*.json"))
    assert paths
    for path in paths:
        assert path.name in text
        assert json.loads(path.read_text())["command"] in text
