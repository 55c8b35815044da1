"""What fills the chapters of the built site: pictures, printed text, code; measured in a browser.

python tools/shape.py [PAGE...]            a table; exit 1 where a chapter is not in its form
python tools/shape.py --pictures FOLDER    the pages as pictures too: wide and narrow, light and dark
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import product
from pathlib import Path

from tabulate import tabulate

from book import SITE
from contents import pages

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"]
FLAGS += ["--disable-background-networking", "--disable-component-update", "--disable-sync"]
FLAGS += ["--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"]  # no other host is reached
WIDE, NARROW = 1280, 390
LONGEST = 12  # lines that a cell prints, rows that a table shows unfolded
REDRAWN = "book/paper-redrawn"  # shows the paper's tables whole
# A figure counts up to 600 pixels; what is folded counts nowhere.
MEASURE = """() => {
  const page = document.querySelector("article.bd-article");
  const seen = (e) => e.getClientRects().length && !e.closest("details:not([open]) > :not(summary)");
  const height = (query, most = Infinity) => [...page.querySelectorAll(query)].filter(seen)
    .filter((e) => !e.parentElement.closest(query))
    .reduce((sum, e) => sum + Math.min(e.getBoundingClientRect().height, most), 0);
  const lines = [...page.querySelectorAll("div.cell")].map((cell) =>
    [...cell.querySelectorAll(".cell_output pre")].filter(seen)
      .reduce((sum, e) => sum + e.textContent.trimEnd().split("\\n").length, 0));
  return {
    all: page.getBoundingClientRect().height,
    drawn: height(".book-svg, .book-plotly, .front-figure, figure img, .hero", 600),
    printed: height(".highlight pre, .cell_output pre"),
    tables: height(".book-table-box, table.table"),
    rows: Math.max(0, ...[...page.querySelectorAll(".book-table")].filter(seen)
      .map((e) => e.querySelectorAll("tbody tr").length)),
    lines: Math.max(0, ...lines),
  };
}"""


@contextmanager
def browser() -> Iterator:
    """A browser that reaches no other host."""
    from playwright.sync_api import sync_playwright

    if BROWSER is None:
        sys.exit("There is no Chromium: run tools/debian.sh chromium")
    with sync_playwright() as running:
        started = running.chromium.launch(executable_path=BROWSER, args=FLAGS)
        yield started
        started.close()


def opened(context, name: str, site: Path = SITE):
    """A page whose figures and mathematics are drawn."""
    page = context.new_page()
    page.goto((site / f"{name}.html").as_uri(), wait_until="load")
    page.eval_on_selector_all("img[loading]", "(all) => all.forEach((e) => (e.loading = 'eager'))")
    for box in page.query_selector_all(".book-plotly"):
        box.scroll_into_view_if_needed()
    page.wait_for_function(
        "() => [...document.querySelectorAll('.book-plotly')].every(b => b.dataset.drawn)"
        " && [...document.images].every((e) => e.complete)"
        " && [...document.querySelectorAll('article .math')]"
        ".every(m => m.querySelector('mjx-container'))"
    )
    page.evaluate("window.scrollTo(0, 0)")
    return page


def faults(name: str, shape: dict[str, float]) -> list[str]:
    """Where a chapter departs from the form of the book."""
    wrong = []
    if shape["lines"] > LONGEST:
        wrong.append(f"a cell prints {shape['lines']:.0f} lines, at most {LONGEST}")
    if shape["rows"] > LONGEST and name != REDRAWN:
        wrong.append(f"a table shows {shape['rows']:.0f} rows, at most {LONGEST}: fold it")
    return wrong


def take(context_of, name: str, folder: Path) -> None:
    """A page as four pictures."""
    for width, theme in product((WIDE, NARROW), ("light", "dark")):
        page = opened(context_of(width, theme), name)
        page.screenshot(path=folder / f"{Path(name).name}-{width}-{theme}.png", full_page=True)
        page.close()


def main() -> int:
    """Door of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*")
    parser.add_argument("--pictures", type=Path)
    given = parser.parse_args()
    wanted = [Path(page).stem for page in given.pages]
    every = [name for name in pages() if not wanted or Path(name).name in wanted]
    rows, wrong = [], []
    with browser() as chromium:

        @cache
        def context_of(width: int, theme: str):
            context = chromium.new_context(viewport={"width": width, "height": 900})
            context.add_init_script(f"localStorage.mode = localStorage.theme = '{theme}'")
            return context

        for name in every:
            page = opened(context_of(WIDE, "light"), name)
            shape = page.evaluate(MEASURE)
            page.close()
            if given.pictures:
                given.pictures.mkdir(parents=True, exist_ok=True)
                take(context_of, name, given.pictures)
            share = {k: f"{shape[k] / shape['all']:.0%}" for k in ("drawn", "tables", "printed")}
            rows.append(
                {"page": name, "pixels": round(shape["all"])} | share | {"lines": shape["lines"]}
            )
            wrong += [f"{name}: {text}" for text in faults(name, shape)]
    print(tabulate(rows, headers="keys", colalign=("left", *["right"] * 5)))
    print("\n".join(wrong))
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
