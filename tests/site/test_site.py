"""Every page is there, whole, and asks no other host for anything."""

from __future__ import annotations

import re
from itertools import pairwise
from urllib.parse import unquote, urlsplit

import pytest
import yaml
from bs4 import BeautifulSoup

from book import STORED
from notebooks import ROOT

TOC = yaml.safe_load((ROOT / "_toc.yml").read_text())
PAGES = [TOC["root"]] + [c["file"] for part in TOC["parts"] for c in part["chapters"]]
each_page = pytest.mark.parametrize("page", PAGES)
# what a browser fetches by itself; a link for the reader to follow may lead anywhere
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
LARGEST = 1_500_000
FIGURES = ".book-svg, .book-plotly"
SHARED = "proof-content"  # sphinx-proof gives it to the body of every theorem

pytestmark = pytest.mark.site
parsed: dict[str, BeautifulSoup] = {}


def soup(page: str) -> BeautifulSoup:
    if page not in parsed:
        parsed[page] = BeautifulSoup((STORED / f"{page}.html").read_text(), "lxml")
    return parsed[page]


@each_page
def test_page_is_built_with_one_title(site, page):
    assert len(soup(page).select("article h1")) == 1
    assert soup(page).title.text.strip()
    assert soup(page).html["lang"] == "en"


@each_page
def test_page_is_small_enough(site, page):
    assert (site / f"{page}.html").stat().st_size < LARGEST


@each_page
def test_page_fetches_only_from_its_own_site(site, page):
    asked = [
        tag[name]
        for kind, name in FETCHED.items()
        for tag in soup(page).find_all(kind)
        if tag.get(name) and (kind != "link" or "canonical" not in tag.get("rel", []))
    ]
    assert [url for url in asked if urlsplit(url).netloc] == []


@each_page
def test_inner_links_lead_somewhere(site, page):
    here = (site / f"{page}.html").parent
    dead = []
    for tag in soup(page).find_all("a", href=True):
        url = urlsplit(tag["href"])
        if url.scheme or url.netloc:
            continue
        target = (here / unquote(url.path)).resolve() if url.path else site / f"{page}.html"
        if not target.exists():
            dead.append(tag["href"])
        elif url.fragment and target.suffix == ".html":
            name = str(target.relative_to(site.resolve())).removesuffix(".html")
            if soup(name).find(id=unquote(url.fragment)) is None:
                dead.append(tag["href"])
    assert dead == []


@each_page
def test_every_picture_is_told_in_words(site, page):
    article = soup(page).find("article")
    mute = [tag["src"] for tag in article.find_all("img") if not tag.get("alt", "").strip()]
    for tag in article.select(".book-svg, .book-plotly"):
        if len(tag.get("aria-label", "")) < 20:
            mute.append(str(tag)[:80])
    for tag in article.select("svg[role=img]"):
        if not tag.find("title") or not tag.find("desc"):
            mute.append(str(tag)[:80])
    assert mute == []


@each_page
def test_headings_come_in_order(site, page):
    found = soup(page).find("article").find_all(re.compile("^h[1-6]$"))
    depths = [int(tag.name[1]) for tag in found]
    assert depths[0] == 1
    assert [b.get_text() for a, b in pairwise(found) if int(b.name[1]) > int(a.name[1]) + 1] == []


@each_page
def test_previous_and_next_follow_the_table_of_contents(site, page):
    here, at = (site / f"{page}.html").parent, PAGES.index(page)
    around = {".left-prev": at - 1, ".right-next": at + 1}
    for link, place in around.items():
        found = [(here / tag["href"]).resolve() for tag in soup(page).select(link)]
        wanted = [site.resolve() / f"{PAGES[place]}.html"] if 0 <= place < len(PAGES) else []
        assert found == wanted


@each_page
def test_outer_links_are_well_formed(site, page):
    bad = []
    for tag in soup(page).find("article").find_all("a", href=True):
        url = urlsplit(tag["href"])
        if url.scheme or url.netloc:
            host = re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+", url.netloc)
            if url.scheme != "https" or not host or re.search(r"[\s<>{}]", tag["href"]):
                bad.append(tag["href"])
    assert bad == []


@each_page
def test_numbers_of_every_figure_stand_beside_it(site, page):
    """In the output of its own cell or of the one before, or of the next that is no figure too."""
    cells = soup(page).find("article").select("div.cell")
    mute = []
    for at, cell in enumerate(cells):
        for figure in cell.select(FIGURES):
            end = next((k for k in range(at + 1, len(cells)) if not cells[k].select(FIGURES)), at)
            near = cells[max(at - 1, 0) : end + 1]
            text = " ".join(t.get_text() for c in near for t in c.select(".cell_output pre, td"))
            if has_data(figure) and len(re.findall(r"\d+\.?\d*", text)) < 4:
                mute.append(figure["aria-label"][:60])
    assert mute == []


def has_data(figure) -> bool:
    """Whether a figure shows numbers: a diagram has no axis."""
    return "book-plotly" in figure["class"] or bool(figure.find(id=re.compile("tick_1$")))


def test_a_diagram_is_told_from_a_figure():
    first, *_ = soup("notebooks/01_dynamics").select(".book-svg")
    box = BeautifulSoup(str(first), "lxml").select_one(".book-svg")
    assert has_data(box)
    for tag in box.find_all(id=re.compile("tick_")):
        tag.decompose()
    assert not has_data(box)


@each_page
def test_ids_are_unique(site, page):
    ids = [tag["id"] for tag in soup(page).find_all(id=True) if tag["id"] != SHARED]
    assert sorted({name for name in ids if ids.count(name) > 1}) == []


@each_page
def test_nothing_is_left_unresolved(site, page):
    text = soup(page).find("article").get_text(" ")
    assert "??" not in text
    assert not re.search(r"\{(numref|prf:ref|eq|cite|glue)", text)


def test_stylesheets_fetch_nothing_from_elsewhere(site):
    found = []
    for path in site.rglob("*.css"):
        found += re.findall(
            r"(?:@import|url\()\s*[\"']?((?:https?:)?//[^\"')\s]+)", path.read_text()
        )
    assert found == []


@pytest.mark.parametrize("name", ["plotly.min.js", "mathjax/tex-mml-chtml.js", "book.css"])
def test_local_copies_are_there(site, name):
    assert (site / "_static" / name).stat().st_size > 1000


def test_front_page_shows_numbers_of_the_chapter(site):
    table = soup("book/intro").find("article").find("table")
    cells = [cell.get_text(strip=True) for cell in table.select("tbody tr td:not(:first-child)")]
    assert len(cells) == 10  # clean and four attacks, base and controlled
    assert all(re.fullmatch(r"\d+(\.\d)?\s?%", cell) for cell in cells), cells
