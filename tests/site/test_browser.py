"""Every page in a real browser: wide and narrow, light and dark, with all other hosts refused.

A page is loaded once, wide and dark; the other views are made of it by resizing and by its themes.
What the tests ask of it stands in checks.js.
"""

import json
import re
import time
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from axe_playwright_python.base import AXE_FILE_PATH

import shape
from contents import pages
from pidbook.theory.plants import Plant, respond

PAGES = pages()
CHECKS = Path(__file__).with_name("checks.js").read_text(encoding="utf-8")
AXE = AXE_FILE_PATH.read_text(encoding="utf-8")
WIDE, NARROW, NARROWEST = 1280, 390, 360
HEIGHT = 900
LIGHT, DARK = "light", "dark"
VIEWS = [(WIDE, DARK), (WIDE, LIGHT), (NARROW, LIGHT), (NARROW, DARK)]
COLOUR = ("color-contrast", "link-in-text-block")  # rules of axe that `pale` of checks.js judges
STILL = "* { transition: none !important; }"

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shape.BROWSER is None, reason="no Chromium: see tests/QUARANTINES.md"),
]


class Opened:
    """A page in the browser, and what went wrong on it so far."""

    def __init__(self, context, own: str):
        self.page, self.own, self.wrong = context.new_page(), own, []
        self.page.set_default_timeout(120_000)  # a busy machine is no defect
        self.page.on("request", self.guard)
        self.page.on("requestfailed", self.failed)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("console", self.told)
        self.page.on("response", self.answered)

    def guard(self, request):
        if not request.url.startswith((self.own, "data:", "blob:")):
            self.wrong.append(f"asked for {request.url}")

    def failed(self, request):
        # what is still on its way when the reader leaves a page is given up, and no fault
        if request.failure != "net::ERR_ABORTED":
            self.wrong.append(f"failed: {request.url}")

    def told(self, message):
        if message.type == "error":
            self.wrong.append(f"console: {message.text}")

    def answered(self, response):
        if response.status >= 400:
            self.wrong.append(f"{response.status}: {response.url}")

    def go(self, name: str):
        """Open a page and wait until its figures and its mathematics are drawn."""
        self.page.goto(f"{self.own}{name}.html", wait_until="load")
        self.page.add_style_tag(content=STILL)
        self.page.evaluate(CHECKS)
        self.page.evaluate("checks.ready()")
        return self.page

    def turn(self, theme: str):
        """Show a theme, as the page's own button does."""
        self.page.evaluate("theme => checks.turn(theme)", theme)

    def check(self, *names: str) -> list[str]:
        """What checks.js finds wrong."""
        return self.page.evaluate(f"[{', '.join(f'...checks.{name}()' for name in names)}]")

    def axe(self, **options) -> list[str]:
        """Serious and critical violations that axe finds."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(AXE)
        return self.page.evaluate("options => checks.violations(options)", options)


class Leaf(Opened):
    """A page of the book, shown in each view."""

    def __init__(self, context, own: str):
        super().__init__(context, own)
        self.devtools, self.width = context.new_cdp_session(self.page), 0
        self.page.goto(f"{own}genindex.html")  # of the site: it may keep what a reader chose

    def open(self, name: str, width: int, theme: str):
        """Load a page for a width, with a theme that the reader chose before."""
        self.page.evaluate(f"localStorage.mode = localStorage.theme = '{theme}'")
        self.resize(width)
        self.name, self.loaded = name, width
        self.go(name)

    def resize(self, width: int):
        """Give the window another width; a narrow one is touched by fingers."""
        self.page.set_viewport_size({"width": width, "height": HEIGHT})
        touch = {"enabled": width < WIDE, "maxTouchPoints": 1}
        self.devtools.send("Emulation.setTouchEmulationEnabled", touch)
        if width != self.width:  # the theme waits 300 ms before it lets keys reach what scrolls
            self.page.wait_for_timeout(400)
        self.width = width

    def show(self, width: int, theme: str):
        """Show a view. Plotly lays a figure out for the width at loading, so it is loaded again."""
        if width != self.loaded and self.page.query_selector(".book-plotly"):
            self.open(self.name, width, theme)
        self.resize(width)
        self.turn(theme)


@pytest.fixture(scope="module")
def tab(browser, base):
    """The tab in which the pages are opened one after the other."""
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    yield Leaf(context, base)
    context.close()


@pytest.fixture(
    scope="module", params=[pytest.param(n, marks=pytest.mark.xdist_group(n)) for n in PAGES]
)
def leaf(request, tab):
    """One page of the book, loaded once for all tests of it, which stay in one worker."""
    tab.wrong.clear()
    tab.open(request.param, WIDE, DARK)
    return tab


@pytest.fixture(scope="module")
def views(leaf) -> dict[tuple[int, str], dict[str, list[str]]]:
    """What is wrong in each view of a page."""
    found = {}
    for width, theme in VIEWS:
        leaf.show(width, theme)
        outline = ["wide", "cut", "tables"] + ["scrolled"] * (width == WIDE)
        found[width, theme] = {
            "drawn": leaf.check("empty"), "width": leaf.check(*outline), "text": leaf.check("pale")
        }  # fmt: skip
    leaf.page.set_viewport_size({"width": NARROWEST, "height": HEIGHT})
    found[NARROWEST, theme] = {"width": leaf.check("wide")}
    leaf.resize(NARROW)
    return found


def faults(views, kind: str) -> dict[tuple[int, str], list[str]]:
    """The views in which something of a kind is wrong."""
    return {view: found[kind] for view, found in views.items() if found.get(kind)}


def test_page_is_drawn_and_asks_nobody(leaf):
    assert leaf.page.evaluate("document.documentElement.dataset.theme") == DARK
    assert leaf.check("empty", "raw") == []
    assert leaf.wrong == []


def test_no_page_shows_long_printouts_or_tables(leaf):
    assert shape.faults(leaf.name, leaf.page.evaluate(shape.MEASURE)) == []


def test_every_fold_unfolds(leaf):
    """All by one look; one of each kind by mouse and by keyboard."""
    page = leaf.page
    assert leaf.check("folded") == []
    for fold in page.evaluate_handle("checks.kinds()").get_properties().values():
        title, body = fold.query_selector("summary"), fold.query_selector(":scope > :not(summary)")
        title.click()
        assert body.is_visible() and body.inner_text().strip()
        title.press("Enter")
        assert not body.is_visible()
    if leaf.name.startswith("notebooks/"):
        # a chapter has exercises, and they have solutions
        assert page.query_selector("article details")


def test_every_cell_can_be_copied(leaf):
    assert leaf.check("uncopied") == []
    page = leaf.page
    if cell := page.query_selector("article .cell_input .highlight"):
        source = cell.query_selector("pre").text_content()
        page.evaluate("navigator.clipboard.writeText('')")
        cell.query_selector("button.copybtn").evaluate("b => b.click()")
        page.wait_for_function("async () => await navigator.clipboard.readText() !== ''")
        assert page.evaluate("navigator.clipboard.readText()").strip() == source.strip()


def test_axe_finds_nothing_serious(leaf):
    """All rules but those of colour; `test_axe_finds_nothing_serious_in_any_view` has them all."""
    leaf.show(WIDE, LIGHT)
    off = {rule: {"enabled": False} for rule in COLOUR}
    assert leaf.axe(rules=off) == []


def test_every_dial_moves_a_figure_to_its_stored_picture(leaf):
    leaf.show(WIDE, LIGHT)
    move_sliders(leaf.page)
    choose_from_lists(leaf.page)


def test_every_view_is_drawn_and_fits_the_screen(views):
    assert faults(views, "drawn") == {}
    assert faults(views, "width") == {}


def test_text_stands_out_from_its_ground_in_every_view(views):
    assert faults(views, "text") == {}


def test_every_dial_of_a_narrow_page_moves_a_figure_to_its_stored_picture(leaf):
    leaf.show(NARROW, DARK)
    move_sliders(leaf.page)
    choose_from_lists(leaf.page)
    assert leaf.wrong == []  # on a page loaded narrow, too


def move_sliders(page):
    """Move each slider by an arrow key and by the mouse; the figure must show what is stored."""
    for box in page.query_selector_all(".book-plotly:has(.book-dials input)"):
        stored = json.loads(box.query_selector("script").text_content())
        sliders = stored["layout"]["sliders"]
        dials = box.query_selector_all(".book-dials input[type=range]")
        assert len(dials) == len(sliders)
        for dial, slider in zip(dials, sliders, strict=True):
            places = len(slider["steps"])
            at = int(dial.input_value())
            assert at == slider.get("active", 0)
            dial.focus()
            dial.press("ArrowRight" if at + 1 < places else "ArrowLeft")
            assert int(dial.input_value()) == (at + 1 if at + 1 < places else at - 1)
            shows_what_is_stored(box, stored, dials, dial, slider)
            long, tall = (dial.bounding_box()[side] for side in ("width", "height"))
            end = 0 if int(dial.input_value()) == places - 1 else places - 1
            dial.click(position={"x": long - 4 if end else 4, "y": tall / 2})
            assert int(dial.input_value()) == end
            shows_what_is_stored(box, stored, dials, dial, slider)


def choose_from_lists(page):
    """Choose the last entry of each list; the figure must show what is stored."""
    for box in page.query_selector_all(".book-plotly:has(.book-dials select)"):
        stored = json.loads(box.query_selector("script").text_content())
        sliders = stored["layout"]["sliders"]
        lists = box.query_selector_all(".book-dials select")
        assert len(lists) == len(sliders)
        for chosen, slider in zip(lists, sliders, strict=True):
            labels = [step["label"] for step in slider["steps"]]
            assert chosen.evaluate("s => [...s.options].map(o => o.label)") == labels
            chosen.select_option(label=labels[-1])
            wanted = stored["layout"]["meta"]["pictures"][place(lists, sliders)]["r"]
            shows(box, [number for trace in wanted for number in trace], "r")


def shows_what_is_stored(box, stored, dials, dial, slider):
    label = slider["steps"][int(dial.input_value())]["label"]
    assert dial.get_attribute("aria-valuetext").endswith(label)
    shows(box, picture(stored, dials))


def shows(box, wanted: list[float], axes: str = "xy", start: int = 0, within: float = 1e-9):
    """Fail unless plotly comes to show these numbers, from a place on."""
    read = f"(d) => d.data.flatMap((t) => [...'{axes}'].flatMap((axis) => [...t[axis]]))"
    for _ in range(100):
        shown = box.query_selector(".js-plotly-plot").evaluate(read)[start:]
        if shown == pytest.approx(wanted, abs=within):
            return
        time.sleep(0.05)
    assert shown == pytest.approx(wanted, abs=within)


def picture(stored: dict, dials: list) -> list[float]:
    """Numbers that the notebook stored for this position of the sliders."""
    sliders = stored["layout"]["sliders"]
    if len(sliders) == 1:
        wanted = sliders[0]["steps"][int(dials[0].input_value())]["args"][0]
    else:
        wanted = stored["layout"]["meta"]["pictures"][place(dials, sliders)]
    places = wanted.get("x", [trace["x"] for trace in stored["data"]])
    both = zip(places, wanted["y"], strict=True)
    return [number for x, y in both for number in [*x, *y]]


def place(inputs: list, sliders: list) -> int:
    """Which of the stored pictures the sliders or lists ask for."""
    at = 0
    for each, slider in zip(inputs, sliders, strict=True):
        at = at * len(slider["steps"]) + int(each.input_value())
    return at


@pytest.mark.long
@pytest.mark.parametrize("theme", [LIGHT, DARK])
@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_axe_finds_nothing_serious_in_any_view(leaf, width, theme):
    leaf.show(width, theme)
    assert leaf.axe() == []


@pytest.fixture
def opened(request, browser, base):
    """A page not opened yet, in a context of its own; wide, or as a test asks."""
    width = getattr(request, "param", WIDE)
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT}, has_touch=width < WIDE, color_scheme=LIGHT
    )
    yield Opened(context, base)
    context.close()


def test_some_page_has_sliders(site):
    assert [name for name in PAGES if '"sliders":[' in (site / f"{name}.html").read_text()]


def test_the_sliders_of_the_plant_show_what_pidlib_computes(opened):
    page = opened.go("notebooks/01_dynamics")
    box = page.query_selector_all(".book-plotly:has(.book-dials)")[-1]
    dials = box.query_selector_all(".book-dials input[type=range]")
    words = box.query_selector_all(".book-dials output")
    for keys in product(("ArrowRight", "ArrowLeft"), repeat=len(dials)):
        for dial, key in zip(dials, keys, strict=True):
            dial.focus()
            dial.press(key)
        gains = [float(word.text_content()) for word in words]
        run = respond(Plant(), *gains, push=-0.5, push_from=15, duration=30)
        output = np.clip(run.output[::3], -1, 3).ravel().tolist()
        shows(box, output, start=len(output), within=1e-3)
    assert opened.wrong == []


@pytest.mark.parametrize("name", ["notebooks/05_error_theorem", "notebooks/11_schemes"])
def test_a_chapter_prints(opened, name):
    page = opened.go(name)
    page.emulate_media(media="print")
    shown = """query => [...document.querySelectorAll(query)]
        .filter(e => e.getClientRects().length).map(e => e.outerHTML.slice(0, 99))"""
    nowhere = (
        ".bd-header-article, .bd-sidebar-primary, .prev-next-area, .copybtn, .modebar, summary"
    )
    assert page.evaluate(shown, nowhere) == []  # what only a screen can use
    assert page.evaluate(shown, "article details:not([open]) :is(h1, h2, h3)") == []
    headings = [h.inner_text().strip("#") for h in page.query_selector_all("article h2")]
    assert len(headings) > 5
    page.set_viewport_size({"width": 794, "height": 1123})  # A4
    whole = "all => all.every(e => e.scrollWidth <= e.clientWidth)"
    assert page.eval_on_selector_all("article .cell_input pre", whole)  # no line is cut
    pdf = page.pdf(format="A4", outline=True, tagged=True)
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", pdf)) > 3
    titles = re.findall(rb"/Title \(((?:[^()\\]|\\.)*)\)", pdf)  # those without a formula
    assert "What to remember" in " ".join(title.decode("latin-1") for title in titles)


@pytest.mark.parametrize("name", ["book/intro", "book/paper-redrawn"])
def test_figures_have_a_still_without_javascript(browser, base, name):
    context = browser.new_context(
        viewport={"width": NARROW, "height": 900}, java_script_enabled=False
    )
    page = context.new_page()
    page.goto(f"{base}{name}.html", wait_until="load")
    for box in page.query_selector_all(".book-plotly"):
        still, words = box.query_selector("svg").bounding_box(), box.inner_text()
        assert 200 < still["width"] <= NARROW and still["height"] > 150
        spec = json.loads(box.query_selector("script").text_content())
        assert all(trace["name"] in words for trace in spec["data"])
        dials = spec["layout"]["sliders"]
        assert all(dial["steps"][dial["active"]]["label"] in words for dial in dials)
    context.close()


def test_figures_follow_the_theme(opened):
    page = opened.go("book/paper-redrawn")
    colour = "document.querySelector('.js-plotly-plot')._fullLayout.font.color"
    svg = "getComputedStyle(document.querySelector('.book-svg')).color"
    before = page.evaluate(f"[{colour}, {svg}]")
    opened.turn(DARK)
    after = page.evaluate(f"[{colour}, {svg}]")
    assert after[0] != before[0] and after[1] != before[1]
    assert opened.wrong == []


def test_the_button_turns_the_theme_and_the_next_page_keeps_it(opened):
    page = opened.go("book/intro")
    theme = "document.documentElement.dataset.theme"
    button = page.locator(".theme-switch-button:visible").first
    for _ in range(3):  # light, dark and the system's choice take turns
        if page.evaluate(theme) == DARK:
            break
        button.click()
    assert page.evaluate(theme) == DARK
    opened.go("book/notation")
    assert page.evaluate(theme) == DARK
    assert opened.wrong == []


@pytest.mark.parametrize(
    ("opened", "from_file"),
    [(WIDE, False), (NARROW, True)],
    indirect=["opened"],
    ids=["served, wide", "opened as a file, narrow"],
)
def test_search_finds_riccati(opened, site, from_file):
    if from_file:
        opened.own = site.as_uri() + "/"
    page = opened.page
    page.goto(f"{opened.own}search.html?q=Riccati")
    page.wait_for_selector("#search-results .search-summary:has-text('found')")
    found = page.locator("#search-results ul.search a").evaluate_all("all => all.map(a => a.href)")
    assert any("03_riccati.html" in url for url in found), found
    page.locator("#search-results ul.search a[href*='03_riccati']").first.click()
    assert page.text_content("article h1").startswith("3. Riccati")
    assert opened.wrong == []


FAULTS = {  # a check of checks.js, a word of what it says, and what is done to a page
    "pale text": ("pale", "Pale", "add(`<p style='color: #888'>Pale.</p>`)"),
    "text seen through": ("pale", "Pale", "add(`<p style='opacity: .5'>Pale.</p>`)"),
    "text on a ground of its colour": (
        "pale", "Pale", "add(`<p style='color: #fff; background: rgb(0 0 0 / 30%)'>Pale.</p>`)"
    ),
    "pale text in a fold": ("pale", "Pale", "body.innerHTML = `<i style='color: #888'>Pale.</i>`"),
    "pale text outside the article": (
        "pale", "Pale", "find('footer').innerHTML = `<i style='color: #888'>Pale.</i>`"
    ),
    "a pale word of a program": (
        "pale", "I.k", "find('pre').innerHTML += `<i class='k' style='color: #888'>for</i>`"
    ),
    "a pale letter of a drawing": (
        "pale", "text_", "find('.book-svg svg [id*=-text_] > g').style.fill = '#888'"
    ),
    "a pale letter of plotly": (
        "pale", "text", "find('.book-plotly svg text').style.fill = '#888'"
    ),
    "a link that looks like text": (
        "pale", "a link", "add(`<p>See <a href='#' style='all: unset'>there</a>.</p>`)"
    ),
    "what is too wide": ("wide", "wider", "add(`<div style='width: 5000px'>wide</div>`)"),
    "a formula that is cut": (
        "cut", "is cut", "find('p > span.math').style.paddingLeft = '3000px'"
    ),
    "an equation to be scrolled": (
        "scrolled", "equation",
        "find('mjx-container[display=true]').innerHTML = `<div style='width: 3000px'>x</div>`",
    ),
    "a wrong formula": (
        "empty", "formula", "find('.math').append(document.createElement('mjx-merror'))"
    ),
    "an empty figure": ("empty", "empty", "find('.js-plotly-plot').remove()"),
    "a figure without a line": (
        "empty", "no line",
        "find('.book-plotly').querySelectorAll('.trace, .point').forEach((e) => e.remove())",
    ),
    "a formula not set": ("raw", "x_0", "add('<p>so $x_0$ is</p>')"),
    "an open fold": ("folded", "open at first", "fold.open = true"),
    "a fold without content": ("folded", "or empty", "body.remove()"),
    "a fold with nothing in it": ("folded", "does not show", "body.replaceChildren()"),
    "a fold with hidden content": ("folded", "does not show", "body.style.visibility = 'hidden'"),
    "a fold that no mouse reaches": ("folded", "of reach", "title.style.pointerEvents = 'none'"),
    "a fold that no keyboard reaches": ("folded", "of reach", "title.inert = true"),
    "a cell without its button": ("uncopied", "no button", "find('.copybtn').remove()"),
    "a picture without words": ("axe", "image-alt", "add(`<img src='data:,'>`)"),
    "a button without a name": ("axe", "button-name", "add('<button></button>')"),
    "pale text, seen by axe": (
        "axe", "color-contrast", "add(`<p style='color: #888'>Pale.</p>`)"
    ),
}  # fmt: skip
PLANT = """(fault) => {
  const spoilt = ["article", "footer"].map((name) => document.querySelector(name));
  const kept = spoilt.map((e) => e.cloneNode(true));
  window.mend = () => spoilt.forEach((e, k) => e.replaceWith(kept[k]));
  const find = (query) => document.querySelector(`article ${query}, footer:is(${query})`);
  const add = (html) => spoilt[0].insertAdjacentHTML("beforeend", html);
  const fold = find("details:has(> summary)");
  const [title, body] = [":is", ":not"].map((is) => fold.querySelector(`:scope > ${is}(summary)`));
  eval(fault);
}"""


@pytest.fixture(scope="module")
def spoilt(browser, base):
    """A page with everything that the checks look at, cut down to one of each kind."""
    context = browser.new_context(viewport={"width": WIDE, "height": HEIGHT}, color_scheme=LIGHT)
    opened = Opened(context, base)
    page = opened.go("notebooks/01_dynamics")
    for kind in (".book-svg", ".book-plotly", "details", "div.cell"):
        page.evaluate(
            f"document.querySelectorAll('article {kind}').forEach((e, k) => k > 3 && e.remove())"
        )
    yield opened
    context.close()


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_found(spoilt, name):
    check, said, fault = FAULTS[name]
    spoilt.page.evaluate(PLANT, fault)
    found = spoilt.axe() if check == "axe" else spoilt.check(check)
    spoilt.page.evaluate("mend()")
    assert [text for text in found if said in text], found
