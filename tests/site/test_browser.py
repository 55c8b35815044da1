"""Every page in a real browser: wide and narrow, light and dark, with all other hosts refused."""

from __future__ import annotations

import json
import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from itertools import product

import numpy as np
import pytest

import shape
from contents import pages
from pidlib.theory.plants import Plant, respond

PAGES = pages()
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
FLAGS += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]  # no other host is reached
WIDE, NARROW, NARROWEST = 1280, 390, 360
# Each page is opened once in each width, and turned to the other theme there.
VIEWS = [(WIDE, "light"), (NARROW, "dark")]
OTHER = {"light": "dark", "dark": "light"}

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium: see tests/QUARANTINES.md"),
]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def base(site):
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        started = running.chromium.launch(executable_path=BROWSER, headless=True, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module", params=VIEWS, ids=[f"{w}-{theme}" for w, theme in VIEWS])
def view(request, browser):
    width, theme = request.param
    context = browser.new_context(
        viewport={"width": width, "height": 900},
        has_touch=width < 600,
        permissions=["clipboard-read", "clipboard-write"],
    )
    context.add_init_script(f"localStorage.mode = localStorage.theme = '{theme}'")
    context.set_default_timeout(30_000)
    yield context, width, theme
    context.close()


class Opened:
    """A page in the browser, and what went wrong on it so far."""

    def __init__(self, context, own: str):
        self.page, self.own, self.wrong = context.new_page(), own, []
        page, wrong = self.page, self.wrong
        page.on("request", self.guard)
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("requestfailed", self.failed)
        page.on("console", lambda m: m.type == "error" and wrong.append(f"console: {m.text}"))
        page.on("response", lambda r: r.status >= 400 and wrong.append(f"{r.status}: {r.url}"))

    def guard(self, request):
        if not request.url.startswith((self.own, "data:", "blob:")):
            self.wrong.append(f"asked for {request.url}")

    def failed(self, request):
        # what is still on its way when the reader leaves a page is given up, and no fault
        if request.failure != "net::ERR_ABORTED":
            self.wrong.append(f"failed: {request.url}")

    def go(self, name: str):
        """Open a page and wait until its figures and its mathematics are drawn."""
        self.page.goto(f"{self.own}{name}.html", wait_until="load")
        self.page.add_style_tag(content="* { transition: none !important; }")
        for box in self.page.query_selector_all(".book-plotly"):
            box.scroll_into_view_if_needed()
        self.page.wait_for_function(
            "() => [...document.querySelectorAll('.book-plotly')].every(b => b.dataset.drawn)"
            " && [...document.querySelectorAll('article .math')]"
            ".every(m => m.querySelector('mjx-container'))"
        )
        return self.page

    def turn(self, theme: str):
        """Show a theme, as the page's own button does."""
        root = "document.documentElement.dataset"
        if self.page.evaluate(f"{root}.theme") != theme:
            self.page.evaluate(f"{root}.theme = '{theme}'")
            self.page.wait_for_timeout(100)


@pytest.fixture(scope="module", params=PAGES)
def leaf(request, view, base):
    """One page of the book, opened once for all tests of it."""
    opened = Opened(view[0], base)
    opened.name = request.param
    opened.go(request.param)
    yield opened
    opened.page.close()


@pytest.fixture
def opened(view, base):
    """A page not opened yet."""
    fresh = Opened(view[0], base)
    yield fresh
    fresh.page.close()


def test_page_is_drawn_and_asks_nobody(leaf, view):
    _, _, theme = view
    page = leaf.page
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert page.locator("mjx-merror").count() == 0
    for box in page.query_selector_all(".book-plotly"):
        assert box.query_selector(".main-svg"), "a plotly figure is empty"
        assert box.evaluate(DRAWN_LINES), "a plotly figure has axes and no line"
    assert page.evaluate(RAW_TEX) == []
    assert leaf.wrong == []


def test_pictures_lead_on_the_chapters_on_models(leaf, view):
    if view[1] == WIDE:
        assert shape.faults(leaf.name, leaf.page.evaluate(shape.MEASURE)) == []


# what plotly draws for a trace: a path, a mark, a bar or a text
DRAWN_LINES = "b => b.querySelector('.trace path, .point, .js-line, .gl-canvas') !== null"
RAW_TEX = r"""() => {
  const found = [], words = document.createTreeWalker(
    document.querySelector("article"), NodeFilter.SHOW_TEXT);
  while (words.nextNode()) {
    const at = words.currentNode.parentElement;
    if (at.closest("pre, code, script, noscript, style, svg, mjx-container")) continue;
    const text = words.currentNode.textContent;
    if (/\$[^$]*[\\_^{][^$]*\$|\\[(\[]|\\(frac|sum|top|alpha|lambda|mathcal|begin)\b/.test(text))
      found.push(text.trim().slice(0, 60));
  }
  return found;
}"""


def test_nothing_is_wider_than_the_screen(leaf, view):
    _, width, _ = view
    page = leaf.page
    over = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert page.evaluate(over) <= 0
    if width == NARROW:
        page.set_viewport_size({"width": NARROWEST, "height": 900})
        page.wait_for_timeout(100)
        assert page.evaluate(over) <= 0
        page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate(CUT_MATHEMATICS) == []
    if width == WIDE:
        assert page.evaluate(SCROLLED_EQUATIONS) == []


# a formula within a line cannot be scrolled; a displayed one can, which only a telephone should need
CUT_MATHEMATICS = """() => [...document.querySelectorAll("article span.math")].filter((e) => {
  const line = e.closest("p, li, td, th, dd, dt, h1, h2, h3, figcaption, div");
  return e.getBoundingClientRect().right > line.getBoundingClientRect().right + 1;
}).map((e) => e.parentElement.textContent.slice(0, 60))"""
SCROLLED_EQUATIONS = """() => [...document.querySelectorAll("mjx-container[display=true]")]
  .filter((e) => e.scrollWidth > e.clientWidth + 1)
  .map((e) => (e.closest("[id]") || e).id)"""


def test_text_stands_out_from_its_ground(leaf, view):
    _, _, theme = view
    for shown in (theme, OTHER[theme]):  # the next test begins with the theme that is left
        leaf.turn(shown)
        assert {shown: leaf.page.evaluate(CONTRAST)} == {shown: []}


CONTRAST = """() => {
  const parse = (c) => (c.match(/[\\d.]+/g) || []).map(Number);
  const lum = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((s, v, k) => s + v * [0.2126, 0.7152, 0.0722][k], 0);
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = parse(getComputedStyle(e).backgroundColor);
      if (c.length === 3 || c[3] >= 0.99) return c;
    }
    return [255, 255, 255];
  };
  const low = [];
  // a letter of a figure may stand on a filled shape, such as a cell of a heat map
  const filled = new Map();
  const shapes = (svg) => {
    if (!filled.has(svg)) filled.set(svg, [...svg.querySelectorAll("path")]
      .filter((p) => !p.closest("defs, [id*='-text_']"))
      .map((p) => [p.getBoundingClientRect(), getComputedStyle(p)])
      .filter(([, s]) => /^rgb\\(/.test(s.fill) && +s.opacity * +s.fillOpacity > 0.99)
      .map(([box, s]) => [box, parse(s.fill)]));
    return filled.get(svg);
  };
  const behind = (e) => {
    const at = e.getBoundingClientRect(), x = at.x + at.width / 2, y = at.y + at.height / 2;
    const under = shapes(e.closest("svg")).filter(([box]) => box.left <= x && x <= box.right
      && box.top <= y && y <= box.bottom && box.width > at.width);
    return under.length ? under.pop()[1] : ground(e);
  };
  const say = (e, colour, text, on = ground(e)) => {
    const a = lum(parse(colour)), b = lum(on);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(`${ratio.toFixed(2)} ${e.tagName}.${e.className}: ` +
      text.trim().slice(0, 30));
  };
  for (const e of document.querySelectorAll(
      "article p, article li, article td, article th, article h1, article h2, article figcaption," +
      "article a, article summary, article pre, article pre span, article code, .bd-sidebar a," +
      ".book-dials span, .book-dials output, .bd-sidebar p, footer p, footer a")) {
    if (!e.textContent.trim() || !e.getClientRects().length || e.closest(".MathJax")) continue;
    say(e, getComputedStyle(e).color, e.textContent);
  }
  for (const e of document.querySelectorAll("article svg text")) {
    if (e.textContent.trim()) say(e, getComputedStyle(e).fill, e.textContent);
  }
  // matplotlib's letters are shapes
  for (const e of document.querySelectorAll('.book-svg svg [id*="-text_"] > g')) {
    const fill = getComputedStyle(e).fill;
    if (/^rgb\\(/.test(fill)) say(e, fill, e.parentElement.id, behind(e));
  }
  return [...new Set(low)].slice(0, 10);
}"""


def test_axe_finds_nothing_serious(leaf, view):
    """Rules of colour in both themes of the wide page; all others there and on the narrow one."""
    from axe_playwright_python.base import AXE_FILE_PATH

    _, width, theme = view
    page = leaf.page
    page.evaluate(AXE_FILE_PATH.read_text())
    page.evaluate(LIGHTEN)
    colour = {"type": "rule", "values": ["color-contrast", "link-in-text-block"]}
    asked = {OTHER[theme]: {"runOnly": colour}, theme: {}}
    if width != WIDE:
        asked = {theme: {"rules": {"color-contrast": {"enabled": False}}}}
    for shown, rules in asked.items():
        leaf.turn(shown)
        found = page.evaluate(AXE, {"resultTypes": ["violations"], **rules})
        assert {shown: found} == {shown: []}
    page.evaluate("window.restore()")


# Axe's time grows with the elements. Drawn letters of mathematics and of pictures, which it cannot
# judge, and the coloured words of programs, which the test of contrast judges, are set aside.
LIGHTEN = """() => {
  const heavy = [...document.querySelectorAll("mjx-container, .book-svg svg, article pre")];
  const kept = heavy.map((e) => [e, [...e.childNodes]]);
  for (const [e] of kept) e.replaceChildren(e.matches("pre") ? e.textContent : "");
  window.restore = () => kept.forEach(([e, nodes]) => e.replaceChildren(...nodes));
}"""
AXE = """async (options) => (await axe.run(document, options)).violations
  .filter((v) => ["serious", "critical"].includes(v.impact))
  .map((v) => `${v.id}: ` + v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join("; "))"""


OPEN_AROUND = """(box) => {
  for (let e = box.parentElement; e; e = e.parentElement) if (e.tagName === "DETAILS") e.open = true;
}"""


def test_solutions_unfold_by_mouse_and_by_keyboard(leaf, view):
    page = leaf.page
    folded = page.query_selector_all("article details:not([hidden] *)")
    for place, box in enumerate(folded):
        title = box.query_selector("summary")
        body = box.query_selector(":scope > :not(summary)")
        box.evaluate(OPEN_AROUND)  # a fold may stand in a fold
        assert not body.is_visible()
        if place % 2:
            title.click()
        else:
            title.focus()
            title.press("Enter")
        assert body.is_visible() and body.inner_text().strip()
        box.evaluate("e => e.open = false")
    if leaf.name.startswith("notebooks/"):
        assert folded, "a chapter has exercises, and they have solutions"


def test_every_cell_can_be_copied(leaf, view):
    page = leaf.page
    cells = page.query_selector_all("article .cell_input .highlight")
    assert [c for c in cells if not c.query_selector("button.copybtn")] == []
    for cell in cells[:1]:
        source = cell.query_selector("pre").text_content()
        cell.query_selector("button.copybtn").evaluate("b => b.click()")
        assert page.evaluate("navigator.clipboard.readText()").strip() == source.strip()


def test_arrow_keys_and_mouse_move_every_slider_to_its_stored_picture(leaf):
    page = leaf.page
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
            shows_what_is_stored(page, box, stored, dials, dial, slider)
            long, tall = (dial.bounding_box()[side] for side in ("width", "height"))
            end = 0 if int(dial.input_value()) == places - 1 else places - 1
            dial.click(position={"x": long - 4 if end else 4, "y": tall / 2})
            assert int(dial.input_value()) == end
            shows_what_is_stored(page, box, stored, dials, dial, slider)


def test_lists_show_the_picture_that_is_chosen(leaf):
    page = leaf.page
    for box in page.query_selector_all(".book-plotly:has(.book-dials select)"):
        stored = json.loads(box.query_selector("script").text_content())
        sliders = stored["layout"]["sliders"]
        lists = box.query_selector_all(".book-dials select")
        assert len(lists) == len(sliders)
        for chosen, slider in zip(lists, sliders, strict=True):
            labels = [step["label"] for step in slider["steps"]]
            assert chosen.evaluate("s => [...s.options].map(o => o.label)") == labels
            chosen.select_option(label=labels[-1])
            page.wait_for_timeout(60)
            wanted = stored["layout"]["meta"]["pictures"][place(lists, sliders)]["r"]
            shown = box.query_selector(".js-plotly-plot").evaluate("d => d.data.map(t => [...t.r])")
            assert shown == wanted


def shows_what_is_stored(page, box, stored, dials, dial, slider):
    label = slider["steps"][int(dial.input_value())]["label"]
    assert dial.get_attribute("aria-valuetext").endswith(label)
    page.wait_for_timeout(60)
    assert drawn(box) == pytest.approx(picture(stored, dials), abs=1e-9)


def drawn(box) -> list[float]:
    """Numbers that plotly shows now."""
    lines = box.query_selector(".js-plotly-plot").evaluate("d => d.data.map(t => [...t.x, ...t.y])")
    return [number for line in lines for number in line]


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
        page.wait_for_timeout(60)
        gains = [float(word.text_content()) for word in words]
        run = respond(Plant(), *gains, push=0.5, push_from=15, duration=30)
        shown = np.clip(run.output[::5], -1, 3)
        assert drawn(box)[len(shown) :] == pytest.approx(shown.ravel().tolist(), abs=1e-3)
    assert opened.wrong == []


@pytest.mark.parametrize("name", ["book/intro", "book/fifteen-minutes"])
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
    page = opened.go("book/fifteen-minutes")
    colour = "document.querySelector('.js-plotly-plot')._fullLayout.font.color"
    svg = "getComputedStyle(document.querySelector('.book-svg')).color"
    before = page.evaluate(f"[{colour}, {svg}]")
    opened.turn(OTHER[page.evaluate("document.documentElement.dataset.theme")])
    page.wait_for_function(f"{colour} !== '{before[0]}'")
    assert page.evaluate(svg) != before[1]
    assert opened.wrong == []


def test_the_button_turns_the_theme_and_the_next_page_keeps_it(browser, base):
    context = browser.new_context(viewport={"width": WIDE, "height": 900}, color_scheme="light")
    opened = Opened(context, base)
    page = opened.go("book/intro")
    theme = "document.documentElement.dataset.theme"
    button = page.locator(".theme-switch-button:visible").first
    for _ in range(3):  # light, dark and the system's choice take turns
        if page.evaluate(theme) == "dark":
            break
        button.click()
    assert page.evaluate(theme) == "dark"
    opened.go("book/notation")
    assert page.evaluate(theme) == "dark"
    assert opened.wrong == []
    context.close()


def test_next_and_previous_lead_through_the_book(opened):
    page = opened.go(PAGES[0])
    page.click(".right-next")
    page.wait_for_url(f"**/{PAGES[1]}.html")
    page.click(".left-prev")
    page.wait_for_url(f"**/{PAGES[0]}.html")
    assert opened.wrong == []


@pytest.mark.parametrize("from_file", [False, True], ids=["served", "opened as a file"])
def test_search_finds_riccati(view, base, site, from_file):
    opened = Opened(view[0], site.as_uri() + "/" if from_file else base)
    page = opened.page
    page.goto(f"{opened.own}search.html?q=Riccati")
    page.wait_for_selector("#search-results .search-summary:has-text('found')")
    found = page.locator("#search-results ul.search a").evaluate_all("all => all.map(a => a.href)")
    assert any("03_riccati.html" in url for url in found), found
    page.locator("#search-results ul.search a[href*='03_riccati']").first.click()
    assert page.text_content("article h1").startswith("3. Riccati")
    assert opened.wrong == []
    page.close()


def test_the_search_field_opens_by_keyboard_and_finds(opened, base):
    page = opened.go("book/glossary")
    page.keyboard.press("Control+k")
    page.locator("dialog[open] input[type=search]").fill("Riccati")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search.html?q=Riccati*")
    page.wait_for_selector("#search-results ul.search a")
    assert opened.wrong == []
