"""What `make lab` does before and when it opens JupyterLab."""

import json
import os
import shlex
import shutil
import subprocess
import sys
import time

import nbformat
import pytest
from nbformat.sign import NotebookNotary

import shape
from contents import ROOT

CHAPTERS = {
    "05_error_theorem.ipynb": "Corollary 1 ",
    "14_what_gains.ipynb": "Most pairs still fall",
}
NO_MARKUP = r"""() => ![...document.querySelectorAll(".jp-MarkdownCell")].some(
    cell => /:::|\{(eq|cite|prf)|^\([a-z][\w-]+\)=?$/m.test(cell.innerText))"""


def told(words):
    """The line of `make lab` with these words, as it would be typed here."""
    lines = subprocess.run(["make", "-n", "lab"], cwd=ROOT, capture_output=True, text=True).stdout
    [line] = [line for line in lines.splitlines() if words in line]
    return line.replace(".venv/bin/python", sys.executable)


def test_make_lab_trusts_every_chapter(tmp_path):
    command = told(" jupyter trust ")
    notary = NotebookNotary(data_dir=str(tmp_path))
    chapters = [nbformat.read(path, as_version=4) for path in ROOT.glob("notebooks/*.ipynb")]
    assert len(chapters) > 10 and not any(map(notary.check_signature, chapters))
    env = os.environ | {"JUPYTER_DATA_DIR": str(tmp_path)}
    subprocess.run(command, shell=True, cwd=ROOT, env=env, check=True, capture_output=True)
    assert all(map(notary.check_signature, chapters))


@pytest.fixture
def lab(tmp_path):
    """Address of JupyterLab as `make lab` opens it, on copies of some chapters."""
    shutil.copytree(ROOT / "tools" / "lab", tmp_path / "tools" / "lab")
    settings = tmp_path / "tools" / "lab" / "overrides.json"
    all_cells = {"@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"}}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | all_cells))
    (tmp_path / "notebooks").mkdir()
    for name in ("README.md", *(f"notebooks/{name}" for name in CHAPTERS)):
        shutil.copy(ROOT / name, tmp_path / name)
    command = [*shlex.split(told(" jupyter lab ")), "--no-browser", "--allow-root"]
    places = {f"JUPYTER_{name}_DIR": str(tmp_path / name) for name in ("CONFIG", "RUNTIME", "DATA")}
    env = os.environ | places
    with open(tmp_path / "log", "w") as log:
        server = subprocess.Popen(command, cwd=tmp_path, env=env, stdout=log, stderr=log)
    try:
        end = time.monotonic() + 120
        while not (found := list(tmp_path.glob("RUNTIME/jpserver-*.json"))):
            assert server.poll() is None and time.monotonic() < end, (tmp_path / "log").read_text()
            time.sleep(0.1)
        said = json.loads(found[0].read_text())
        yield f"http://127.0.0.1:{said['port']}/lab/tree/notebooks/{{}}?reset&token={said['token']}"
    finally:
        server.terminate()
        server.wait(60)


@pytest.mark.skipif(shape.BROWSER is None, reason="no Chromium: see tests/QUARANTINES.md")
def test_lab_shows_captions_and_no_markup(lab):
    with shape.browser() as started:
        for name, words in CHAPTERS.items():
            chapter = nbformat.read(ROOT / "notebooks" / name, as_version=4)
            figures = [cell.metadata.get("mystnb", {}).get("figure", {}) for cell in chapter.cells]
            names = [figure["name"] for figure in figures if "name" in figure]
            page = started.new_page()
            page.set_default_timeout(60_000)
            page.goto(lab.format(name))
            page.locator(".book-caption").nth(len(names) - 1).wait_for()
            page.locator(".myst").get_by_text(words).first.wait_for()
            page.wait_for_function(NO_MARKUP)
            assert not page.get_by_text("get notified about official").count()  # asks nobody
            captions = page.locator(".book-caption").all_inner_texts()
            assert all(f"({of})" in text for of, text in zip(names, captions, strict=True))
            assert not any("{.measured}" in text for text in captions)
            page.close()
