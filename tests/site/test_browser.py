"""Every page in a real browser: wide and narrow, light and dark, with all other hosts refused."""

from __future__ import annotations

import json
import os
import shutil
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from notebooks import pages

PAGES = pages()
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
VIEWS = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]

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
def playwright():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="module", params=VIEWS, ids=[f"{w}-{theme}" for w, theme in VIEWS])
def view(request, playwright, tmp_path_factory):
    width, theme = request.param
    context = playwright.chromium.launch_persistent_context(
        str(tmp_path_factory.mktemp("profile")),
        executable_path=BROWSER,
        headless=True,
        args=FLAGS,
        viewport={"width": width, "height": 900},
        has_touch=width < 600,
    )
    context.add_init_script(f"localStorage.mode = localStorage.theme = '{theme}'")
    context.set_default_timeout(20_000)
    yield context, width, theme
    context.close()


@pytest.fixture
def opened(view, base):
    """A function that opens a page, and the list of what went wrong on it."""
    context, *_ = view
    page, wrong = context.new_page(), []

    def guard(route):
        if route.request.url.startswith((base, "data:", "blob:")):
            route.continue_()
        else:
            wrong.append(f"asked for {route.request.url}")
            route.abort()

    page.route("**/*", guard)
    page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
    page.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
    page.on(
        "console",
        lambda message: message.type == "error" and wrong.append(f"console: {message.text}"),
    )
    page.on(
        "response",
        lambda answer: answer.status >= 400 and wrong.append(f"{answer.status}: {answer.url}"),
    )

    def go(name: str):
        page.goto(f"{base}{name}.html", wait_until="load")
        for box in page.query_selector_all(".book-plotly"):
            box.scroll_into_view_if_needed()
        page.wait_for_function(
            "() => [...document.querySelectorAll('.book-plotly')].every(b => b.dataset.drawn)"
            " && document.querySelectorAll('article .math').length"
            " <= document.querySelectorAll('article mjx-container').length"
        )
        return page

    yield go, wrong
    page.close()


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
  for (const e of document.querySelectorAll(
      "article p, article li, article td, article th, article h1, article h2, article figcaption," +
      "article a, article pre, article pre span, article code, .bd-sidebar a")) {
    if (!e.textContent.trim() || !e.getClientRects().length || e.closest(".MathJax")) continue;
    const a = lum(parse(getComputedStyle(e).color)), b = lum(ground(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) low.push(`${ratio.toFixed(2)} ${e.tagName}.${e.className}: ` +
      e.textContent.trim().slice(0, 30));
  }
  return [...new Set(low)].slice(0, 10);
}"""


@pytest.mark.parametrize("name", PAGES)
def test_page(view, opened, name):
    _, width, theme = view
    go, wrong = opened
    page = go(name)
    assert page.evaluate("document.documentElement.dataset.theme") == theme
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.locator("mjx-merror").count() == 0
    for box in page.query_selector_all(".book-plotly"):
        assert box.query_selector(".main-svg"), "a plotly figure is empty"
    assert page.evaluate(CONTRAST) == []
    assert wrong == []


def test_arrow_keys_move_every_slider_to_its_stored_picture(opened, site):
    go, wrong = opened
    moved = 0
    for name in PAGES:
        if '"sliders":[' not in (site / f"{name}.html").read_text():
            continue
        page = go(name)
        for box in page.query_selector_all(".book-plotly:has(.book-dials)"):
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
                label = slider["steps"][int(dial.input_value())]["label"]
                assert dial.get_attribute("aria-valuetext").endswith(label)
                page.wait_for_timeout(60)
                assert drawn(box) == pytest.approx(picture(stored, dials), abs=1e-9)
                moved += 1
    assert moved, "no page has a slider"
    assert wrong == []


def drawn(box) -> list[float]:
    """Numbers that plotly shows now."""
    lines = box.query_selector(".js-plotly-plot").evaluate("d => d.data.map(t => [...t.x, ...t.y])")
    return [number for line in lines for number in line]


def picture(stored: dict, dials: list) -> list[float]:
    """Numbers that the notebook stored for this position of the sliders."""
    sliders = stored["layout"]["sliders"]
    at = [int(dial.input_value()) for dial in dials]
    if len(sliders) == 1:
        wanted = sliders[0]["steps"][at[0]]["args"][0]
    else:
        place = 0
        for value, slider in zip(at, sliders, strict=True):
            place = place * len(slider["steps"]) + value
        wanted = stored["layout"]["meta"]["pictures"][place]
    places = wanted.get("x", [trace["x"] for trace in stored["data"]])
    both = zip(places, wanted["y"], strict=True)
    return [number for x, y in both for number in [*x, *y]]


def test_figures_follow_the_theme(opened):
    go, wrong = opened
    page = go("notebooks/10_robustness")
    colour = "document.querySelector('.js-plotly-plot')._fullLayout.font.color"
    svg = "getComputedStyle(document.querySelector('.book-svg')).color"
    before = page.evaluate(f"[{colour}, {svg}]")
    theme = page.evaluate("document.documentElement.dataset.theme")
    other = "dark" if theme == "light" else "light"
    page.evaluate(f"document.documentElement.dataset.theme = '{other}'")
    page.wait_for_function(f"{colour} !== '{before[0]}'")
    assert page.evaluate(svg) != before[1]
    assert wrong == []
