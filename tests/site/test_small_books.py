"""Books of one chapter, built strictly: launch buttons, and provenance that is stale."""

import shutil

import nbformat
import pytest
import yaml
from bs4 import BeautifulSoup
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from book import plain, sphinx
from contents import ROOT, environment
from notebooks import normalise, write
from sources import stamp

ADDRESS = "https://github.com/owner/name"

pytestmark = pytest.mark.site


def chapter() -> nbformat.NotebookNode:
    """A chapter with one figure, drawn from a result file of the book."""
    figure = {
        "figure": {"name": "fig-a", "caption": "A."},
        "image": {"alt": "A line that rises steadily."},
    }
    svg = '<svg xmlns="http://www.w3.org/2000/svg"/>'
    cell = new_code_cell(
        'draw(read_result(RESULTS / "bench-fit.json"))',
        execution_count=1,
        outputs=[new_output("display_data", data={"image/svg+xml": svg, "text/plain": "<Figure>"})],
        metadata={"mystnb": figure},
    )
    notebook = normalise(new_notebook(cells=[new_markdown_cell("# A chapter"), cell]))
    stamp(notebook, run=True)
    return notebook


def built(root, notebook, **changes) -> int:
    """Exit status of a build of one chapter with the book's own settings."""
    config = yaml.safe_load((ROOT / "_config.yml").read_text()) | changes
    config["sphinx"]["local_extensions"] = {"bookassets": str(ROOT / "book/_ext")}
    (root / "_config.yml").write_text(yaml.safe_dump(config))
    toc = {"format": "jb-book", "root": "book/intro", "chapters": [{"file": "notebooks/01_a"}]}
    (root / "_toc.yml").write_text(yaml.safe_dump(toc))
    shutil.copytree(ROOT / "book/_static", root / "book/_static")
    shutil.copyfile(ROOT / "book/references.bib", root / "book/references.bib")
    (root / "book/intro.md").write_text("# A book\n")
    (root / "notebooks").mkdir()
    write(notebook, root / "notebooks/01_a.ipynb")
    return sphinx([], environment() | {"BOOK_STORED_OUTPUTS": "1"}, root)


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    """A book that was built, with an address of its repository."""
    root = tmp_path_factory.mktemp("sound")
    config = yaml.safe_load((ROOT / "_config.yml").read_text())
    assert built(root, chapter(), repository=config["repository"] | {"url": ADDRESS}) == 0
    return root


def test_with_an_address_the_buttons_lead_to_the_chapter(sound):
    site = sound / "_build/html"
    page = BeautifulSoup((site / "notebooks/01_a.html").read_text(), "lxml")
    links = [a["href"] for a in page.select(".dropdown-launch-buttons a[href]")]
    assert links == [
        "https://mybinder.org/v2/gh/owner/name/main?urlpath=lab/tree/notebooks/01_a.ipynb",
        "https://colab.research.google.com/github/owner/name/blob/main/notebooks/01_a.ipynb",
    ]
    icons = [img["src"] for img in page.select(".dropdown-launch-buttons img")]
    assert icons and all((site / "notebooks" / icon).resolve().is_file() for icon in icons)
    assert len(page.select(".book-provenance")) == 1
    other = BeautifulSoup((site / "book/intro.html").read_text(), "lxml")
    assert not other.select(".dropdown-launch-buttons")  # no notebook, nothing to launch
    for name, source in ((page, "notebooks/01_a.ipynb"), (other, "book/intro.md")):
        addresses = [a["href"] for a in name.select(".dropdown-source-buttons a[href]")]
        assert f"{ADDRESS}/edit/main/{source}" in addresses
        assert any(address.startswith(f"{ADDRESS}/issues/new") for address in addresses)


def test_a_stale_figure_stops_the_build(tmp_path, capfd):
    notebook = chapter()
    notebook.metadata["results"]["bench-fit.json"] = "0" * 64
    status, told = built(tmp_path, notebook), "".join(capfd.readouterr())
    assert status != 0
    assert "bench-fit.json has changed since the outputs were drawn from it" in told
    assert "run: .venv/bin/python tools/notebooks.py run notebooks/01_a.ipynb" in told
    page = BeautifulSoup((tmp_path / "_build/html/notebooks/01_a.html").read_text(), "lxml")
    assert not page.select(".dropdown-launch-buttons, .dropdown-source-buttons")  # no address


@pytest.mark.long
def test_plain_sphinx_builds_the_same_pages(sound, capfd):
    twin, sources = sound / "_build/html", set(sound.iterdir())
    (twin / "book/more.html").write_text("a page that plain Sphinx does not make")
    status, told = plain(sound, twin), "".join(capfd.readouterr())
    assert status == 1
    assert "Not built: []; built by one of the two only: ['book/more.html']" in told, told
    assert f"{len(list(twin.rglob('*.html')))} by Jupyter Book" in told
    assert set(sound.iterdir()) == sources  # conf.py stands in the copy
    text = (sound / "_build/plain/notebooks/01_a.html").read_text()
    assert len(BeautifulSoup(text, "lxml").select(".book-svg")) == 1
