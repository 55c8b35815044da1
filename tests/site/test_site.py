"""Every page is there, whole, and asks no other host for anything."""

import json
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from urllib.parse import unquote, urlsplit

import nbformat
import pytest
from bs4 import BeautifulSoup
from PIL import Image

from book import SITE
from contents import MOVED, ROOT, in_toc, pages
from experiments.budget import grid_budget
from frontpage import SOURCES
from hero import SWITCH, TRIAL, chosen
from pidbook.evaluation.adaptive_trials import RESULTS as ADAPTIVE, adaptive_trials
from pidbook.evaluation.beside_paper import measured, with_fewer_words
from pidbook.evaluation.contrast import RESULT
from pidbook.evaluation.recorded_trial import recorded_trial
from pidbook.evaluation.results import read_result
from pidbook.evaluation.trial_results import answers, gains_over_none, unpack
from sources import RESULTS, files_of

PAGES = pages()
NOTEBOOKS = [page for page in PAGES if page.startswith("notebooks/")]
each_page = pytest.mark.parametrize("page", PAGES)
# what a browser fetches by itself; a link for the reader to follow may lead anywhere
FETCHED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
LARGEST = 1_500_000
FIGURES = ".book-svg, .book-plotly"
SWAPS = "exact, all words"
SHARED = "proof-content"  # sphinx-proof gives it to the body of every theorem

pytestmark = pytest.mark.site


@cache
def soup(page: str) -> BeautifulSoup:
    return BeautifulSoup((SITE / f"{page}.html").read_text(), "lxml")


@cache
def ids(page: str) -> Counter[str]:
    """How often each id stands on a page."""
    return Counter(tag["id"] for tag in soup(page).find_all(id=True))


@each_page
def test_page_is_built_small_with_one_title(site, page):
    assert (site / f"{page}.html").stat().st_size < LARGEST
    assert len(soup(page).select("article h1")) == 1
    assert soup(page).title.text.strip()
    assert soup(page).html["lang"] == "en"


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
            if unquote(url.fragment) not in ids(name):
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
    figures, mute = [cell.select(FIGURES) for cell in cells], []
    for at, shown in enumerate(figures):
        for figure in shown:
            end = next((k for k in range(at + 1, len(cells)) if not figures[k]), at)
            near = cells[max(at - 1, 0) : end + 1]
            text = " ".join(t.get_text() for c in near for t in c.select(".cell_output pre, td"))
            if has_data(figure) and len(re.findall(r"\d+\.?\d*", text)) < 4:
                mute.append(figure["aria-label"][:60])
    assert mute == []


def has_data(figure) -> bool:
    """Whether a figure shows numbers: a diagram has no axis."""
    return "book-plotly" in figure["class"] or bool(figure.find(id=re.compile("tick_1$")))


def test_the_axes_of_a_drawing_are_seen():
    assert has_data(soup("notebooks/01_dynamics").select_one(".book-svg"))


@each_page
def test_ids_are_unique(site, page):
    assert [name for name, count in ids(page).items() if count > 1 and name != SHARED] == []


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


def test_notebooks_to_download_are_whole_but_for_their_outputs(site):
    paths = sorted((site / "_sources" / "notebooks").glob("*.ipynb"))
    assert [path.name for path in paths] == sorted(p.name for p in ROOT.glob("notebooks/*.ipynb"))
    for path in paths:
        given, stored = (
            json.loads(p.read_text(encoding="utf-8"))["cells"]
            for p in (path, ROOT / "notebooks" / path.name)
        )
        assert [cell["source"] for cell in given] == [cell["source"] for cell in stored]
        assert not any(cell.get("outputs") for cell in given)


def test_the_whole_site_is_light(site):
    weights = site / "_static" / "live"  # loaded on one page, when the reader asks
    files = [path for path in site.rglob("*") if path.is_file() and weights not in path.parents]
    assert sum(path.stat().st_size for path in files) < 40_000_000


def tables(page: str) -> list[list[list[str]]]:
    """Cells of the bodies of a page's tables of numbers."""
    return [
        [[cell.get_text(strip=True) for cell in row.select("th, td")] for row in body.select("tr")]
        for body in soup(page).select("article :is(table.table, table.book-table) tbody")
    ]


def test_the_front_page_opens_with_a_pair_that_the_record_holds(site):
    result = read_result(RESULTS / "showcase-captions-minilm-nli.json")
    page = soup("book/intro").select_one(".hero")
    example = chosen(result["examples"])
    assert example["premise"] in page.get_text()
    shown = [[b.get_text() for b in panel.select("li b")] for panel in page.select(".hero-panel")]
    recorded = [example["after"].get(name, example["adaptive after"]) for name in SWITCH]
    assert shown == [[f"{100 * share:.0f} %" for share in shares] for shares in recorded]
    ticked = [
        [li.span.get_text().split()[0] for li in panel.select("li") if "✓" in li.get_text()]
        for panel in page.select(".hero-panel")
    ]
    assert ticked == [[example["label"]]] * len(shown)
    counts = result["counts"]
    back = [counts["right"][name] for name in ("P-D 99 %", "P-D 99 %: noise 0")]
    for number in (counts["turned"], *back, counts["adaptive turned"]):
        assert str(number) in page.get_text()


@pytest.mark.parametrize("page", NOTEBOOKS)
@pytest.mark.parametrize("kind", ["figcaption .caption-number", ".eqno"])
def test_what_a_page_shows_unfolded_has_the_first_numbers(site, page, kind):
    numbers = soup(page).select(f"article {kind}")
    folded = [bool(number.find_parent("details")) for number in numbers]
    order = [int(re.search(r"\.(\d+)", number.get_text())[1]) for number in numbers]
    seen = [n for n, hidden in zip(order, folded, strict=True) if not hidden]
    rest = [n for n, hidden in zip(order, folded, strict=True) if hidden]
    assert [*seen, *rest] == list(range(1, len(order) + 1))


def test_old_addresses_lead_to_the_new(site):
    for old, new in MOVED.items():
        page = BeautifulSoup((site / f"{old}.html").read_text(), "lxml")
        assert page.a["href"] == f"../{new}.html" and (site / f"{new}.html").is_file()


def test_a_link_to_the_book_shows_a_picture(site):
    image = soup("book/intro").find("meta", property="og:image")["content"]
    with Image.open(site / "book" / image) as picture:
        assert picture.size == (1200, 630)
    assert all(soup(page).find("meta", attrs={"name": "description"}) for page in PAGES)


def test_every_chapter_has_a_card_with_its_picture(site):
    cards = soup("book/intro").select("a.card-link")
    chapters = [page.removeprefix("notebooks/") for page in NOTEBOOKS]
    assert [card["href"].split("/")[-1].removesuffix(".html") for card in cards] == chapters
    for card in cards:
        assert (site / "book" / card.img["src"]).is_file() and card.span.get_text()


def test_the_paper_redrawn_holds_every_table_of_the_paper(site):
    page = soup("book/paper-redrawn")
    tables = [h.parent for h in page.select("article h3")]
    numbers = [re.match(r"Table (\d):", section.h3.get_text())[1] for section in tables]
    assert "".join(numbers) == "891234567"
    first, *_, together, last = page.select("article > section > section")
    assert together.h2.get_text().startswith("Taken together")
    for section in (first, *tables):
        assert section.select(".book-svg, .book-plotly"), section
    boxes = last.select(".from-chapter")
    for box, number in zip(boxes, numbers, strict=True):
        assert box.select_one(".book-table-title").get_text().startswith(f"Table {number}:")
        assert not box.select_one("table td").find_parent("details")  # open
    links = [a["href"] for section in tables for a in section.select("figcaption a.internal")]
    assert {f"#numbers-{number}" for number in numbers} <= set(links)


def table_of(page: str, first: str) -> BeautifulSoup:
    """The table of a page whose first cell is this."""
    bodies = soup(page).select("article :is(table.table, table.book-table) tbody")
    return next(b for b in bodies if b.select_one("th, td").get_text(strip=True) == first)


def test_front_page_shows_what_is_no_longer_heard(site):
    sets = (SWAPS, "clean", "edited")
    tried, encoded, trial, result = (read_result(RESULTS / name) for name in (*SOURCES, RESULT))
    bare = {k: v for r in (tried, trial, result) for k, v in r["counts"]["none"].items()}
    names = {"P-D 99 %": trial, "Terminal both": trial, "encoding": encoded}
    changes = [
        {k: c for r in (tried, result) for k, c in gains_over_none(r, name).items()}
        | {"clean": gains_over_none(whole, name)["clean"]}
        for name, whole in names.items()
    ]
    shown = table_of("book/intro", "every swap tried").select("tr")
    for key, row in zip(sets, shown, strict=True):
        level, *lost, n = [cell.get_text() for cell in row.select("th, td")][1:]
        assert level == f"{100 * bare[key]['right'] / bare[key]['n']:.1f} %"
        gains = [f"{100 * change[key].gain:+.1f}".replace("-", "−") for change in changes]
        assert [text.split(" [")[0] for text in lost] == gains
        assert n == ", ".join(dict.fromkeys(f"{change[key].n:,}" for change in changes))
    # the words beneath it
    gained = [change[SWAPS].interval()[0] > 0 for change in changes]
    assert gained == [False, True, True] and [c[SWAPS].n for c in changes] == [1000, 500, 1000]
    fair = read_result(RESULTS / TRIAL)
    recipes = fair["configuration"]["recipes"]
    attacked = [recorded_trial(fair, recipe) for recipe in recipes]
    assert sum(one.beyond("noise")[1] > 0 for one in attacked) == 3  # of the four
    first, second = (
        measured(fair, name, rows=1000).query("threat == 'transfer'").set_index("text")["gain"]
        for name in ("P-D 99 %", "second")
    )
    assert (second >= first).sum() == 3  # of the four, as the summary says
    seen = gains_over_none(trial, "Terminal both")
    assert sum(seen[f"adaptive {recipe}"].interval()[0] > 0 for recipe in recipes) == 3
    text = " ".join(soup("book/intro").select_one("article").get_text().split())
    assert f"it loses {-100 * changes[0]['edited'].gain:.0f} points of accuracy" in text
    of = [result["counts"][name]["edited"] for name in ("P-D 99 %", "none")]
    wrong = [100 - 100 * count["right"] / count["n"] for count in of]
    assert f"still says so {wrong[0]:.0f} times of 100, the bare model {wrong[1]:.0f} times" in text
    of = tried["counts"]["Terminal both"][SWAPS]
    bare = 100 * answers(tried, "none", SWAPS)[: of["n"]].mean()  # on the same pairs
    said = f"keeps only {100 * of['right'] / of['n']:.0f} pairs of 100 right, where the bare"
    assert f"{said} model keeps {bare:.0f}" in text
    assert all(change["edited"].interval()[1] < 0 for change in changes[:2])  # as the title says


def test_front_page_tells_how_often_each_answers_entailment(site):
    text = " ".join(soup("book/intro").select_one("article").get_text().split())
    answered = read_result(RESULTS / "answers-snli-test-minilm-nli.json")
    clean = {name: of["clean"] for name, of in answered["counts"].items()}
    kinds = [sum(row) for row in clean["none"].values()]
    assert max(kinds) - min(kinds) < 0.02 * sum(kinds)  # a third of each
    said = {
        name: f"{100 * sum(row[0] for row in of.values()) / sum(kinds):.0f}"
        for name, of in clean.items()
    }
    assert said["noise 0"] == said["noise 1"]
    assert (
        f"On {sum(kinds):,} clean pairs, a third of each kind, it says entailment "
        f"{said['P-D 99 %']} times of 100; the bare model does so {said['none']} times, "
        f"and a random push {said['noise 0']}."
    ) in text
    assert f"D alone says entailment {said['D 99 %']} times of 100, and P {said['P 99 %']}" in text


def test_front_page_counts_the_adaptive_attacks(site):
    text = " ".join(soup("book/intro").select_one("article").get_text().split())
    trials = adaptive_trials({name: read_result(RESULTS / f"{name}.json") for name in ADAPTIVE})
    assert f"Of {len(trials)} tests one shows a gain" in text
    assert f"Corrected for all {len(trials)} tests it would be hollow" in text
    limits = {"1 word": 1, "2 words": 2, "3 words": 3}
    few = with_fewer_words(read_result(RESULTS / TRIAL), "P-D 99 %", limits, 1000)
    few = few.query("who == 'control, adaptive'")
    corrected = len(few) * few["p"].min()
    best = few.loc[few["p"].idxmin()]
    assert best["group"] == "TextBugger" and best["row"] == "1 word"
    said = f"TextBugger with one word: {best['gain']:+.1f} points, p = {corrected:.4f}."
    assert said.replace("= 0.", "= .") in text
    assert corrected < 0.05 < len(few) * few["p"].nsmallest(2).iloc[1]
    assert len(trials) * few["p"].min() > 0.05  # corrected over all
    assert list(trials[trials["shown"]]["trial"]) == ["TextBugger, 1 word"]
    assert f"the best estimate is a gain of {trials.iloc[-1]['gain']:.0f} points" in text


def test_front_page_and_readme_tell_of_swaps_that_keep_the_meaning(site):
    text = " ".join(soup("book/intro").select_one("article").get_text().split())
    result = read_result(RESULTS / "kept-meaning-minilm-nli.json")
    lists, n = result["lists"], result["data"]["n"]
    bare = {key: answers(result, "none", key) for key in ("clean", "read", "judged")}
    swapped = {key: unpack(bits, n) for key, bits in lists["rows with a swap"].items()}
    at_risk = {key: (bits & bare["clean"]).sum() for key, bits in swapped.items()}
    same, passed = result["readings"]["swaps"]["SS"], lists["judged"]
    assert f"On {n:,} new pairs" in text
    lost = {key: (bare["clean"] & ~bare[key]).sum() for key in bare}
    said = (
        f"For {at_risk['read']} right answers of the bare model there is a swap that both readers"
    )
    flipped = f"Only {lost['read']} of these answers flip"
    assert f"{said} call the same in meaning. {flipped}" in text
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert f"call {same} of {passed:,} the same" in readme
    assert f"{lost['read']} of the {at_risk['read']} right answers that have one turn" in readme


def test_front_page_counts_the_claims(site):
    page = soup("book/claims")
    assert [mark["id"] for mark in page.select("span[id^=claim-]")] == [
        f"claim-{number}" for number in range(1, 40)
    ]
    kinds = {"holds": "holds", "partly": "holds in part", "fails": "does not hold"}
    kinds["open"] = "cannot be checked"
    rows = table_of("book/claims", "holds").select("tr")
    told = dict([cell.get_text(strip=True) for cell in row.select("td")] for row in rows)
    count = {words: len(page.select(f"td span.{kind}")) for kind, words in kinds.items()}
    assert {words: int(number) for words, number in told.items()} == count
    holds, partly, fails, open_ = count.values()
    said = f"{holds} hold, {partly} hold in part, {fails} do not hold and {open_} cannot be checked"
    assert said in " ".join(soup("book/intro").get_text().split())


def test_front_page_adds_up_the_reading_times_of_the_chapters(site):
    minutes = 0
    for path in in_toc():
        said = [c.source for c in nbformat.read(path, as_version=4).cells]
        minutes += int(re.search(r"About (\d+) minutes to read", "\n".join(said))[1])
    told = re.search(r"the whole book about (\d+)(½?) hours", soup("book/intro").get_text())
    assert abs(60 * int(told[1]) + (30 if told[2] else 0) - minutes) <= 15


@pytest.mark.parametrize("page", NOTEBOOKS)
def test_every_figure_drawn_from_result_files_says_so(site, page):
    notebook = nbformat.read(ROOT / f"{page}.ipynb", as_version=4)
    drawn, wanted = files_of(notebook), []
    for place, cell in enumerate(notebook.cells):
        shown = "remove-output" not in cell.metadata.get("tags", [])  # else drawn for another page
        if shown and cell.metadata.get("mystnb", {}).get("figure") and place in drawn:
            wanted.append(drawn[place])
    lines = soup(page).select("article .book-provenance")
    assert len(lines) == len(wanted)
    for line, names in zip(lines, wanted, strict=True):
        assert line.find_previous("figure") is not None
        text = line.get_text()
        for name in (name for name in names if name.endswith(".json")):
            result = read_result(RESULTS / name)
            told = [name, result["command"], result["data"]["name"], result["date"]]
            told += [f"n = {result['data']['n']}"] if result["data"]["n"] else []
            told += [f"seed {result['seed']}", f"torch {result['versions']['torch']}"]
            assert [one for one in told if one not in text] == []
        assert f"tools/notebooks.py run {page}.ipynb" in text


def test_reliability_page_shows_the_recorded_faults_and_scale(site):
    faults = read_result(RESULTS / "bench-faults.json")["counts"]
    table = next(t for t in tables("book/reliability") if t[0][0] == faults[0]["job"])
    for one, row in zip(faults, table, strict=True):
        numbers = [one[k] for k in ("kills", "inside", "most_in_a_row", "finished", "equal")]
        assert row == [one["job"], *map(str, numbers), ", ".join(one["lost"]) or "nothing"]
    text = soup("book/reliability").get_text()
    assert f"In all {sum(one['kills'] for one in faults)} kills" in text
    scale = read_result(RESULTS / "bench-scale.json")
    peaks = scale["stream"]["megabytes"]
    table = next(t for t in tables("book/reliability") if len(t) == len(peaks))
    assert [row[1] for row in table] == [f"{peak:,.0f}" for peak in peaks]
    one, two = (sum(scale["attack"]["attack"][k]) for k in ("1", "2"))
    table = next(t for t in tables("book/reliability") if t[0][0] == "the attack alone")
    assert table[0][3] == f"{one / two:.2f}"


def test_how_to_run_shows_what_other_libraries_cost(site):
    ways = read_result(RESULTS / "bench-peers.json")["counts"]["models"]["smollm2"]["ways"]
    table = next(t for t in tables("book/how-to-run") if t[0][0].startswith("pidlib"))
    for row, (name, cost) in zip(table, ways.items(), strict=True):
        assert row[0].startswith(name.split()[0])
        assert row[-1].startswith(f"{cost['token']['value']:.2f} ")


def test_how_to_run_estimates_the_grid(site):
    found = grid_budget(RESULTS)
    table = next(t for t in tables("book/how-to-run") if t[0][0] == found[0].model)
    assert [row[3] for row in table] == [f"{one.model_hours:.1f}" for one in found]
    hours = sum(one.model_hours + one.search_hours for one in found)
    assert f"about {hours:.0f} hours" in soup("book/how-to-run").get_text()
