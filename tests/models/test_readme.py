"""README.md and book/how-to-run.md are typed in, block by block, as a reader would.

The README's Python in an installed wheel, all else in the checkout and in this process. Numbers are
made small and what needs a graphics card is moved to the processor by the table below; nothing else
is changed. What takes hours is parsed by the real command line. A block that is not known here fails.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import zipfile
from email import message_from_string
from pathlib import Path
from typing import NamedTuple

import pytest
import typer
from accelerate.commands.launch import launch_command_parser
from typer.testing import CliRunner

import experiments.__main__ as experiments
import pidlib.cli.app as pidlib
from contents import ROOT
from experiments.experiment import read_experiment
from pidlib.models import adapters

WEIGHTS = "adapter_model.safetensors"
INDEX = "https://download.pytorch.org/whl/cpu"  # of builds without CUDA
PAGES = ("README.md", "book/how-to-run.md")
FENCE = re.compile(r"^(`{3,})([^\n`]*)\n(.*?)^\1`*[ ]*$", re.M | re.S)
NOT_CODE = {"bibtex", "{grid-budget}", "{peers}"}  # an entry to copy; directives of the site
PYTHON = ".venv/bin/python"
APPS = {"pidlib": pidlib.app, "experiments": experiments.app}
COMMANDS = {name: typer.main.get_command(app).commands for name, app in APPS.items()}
PARSED = {"run"}  # hours
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = {".", *(f".[{name}]" for name in PROJECT["optional-dependencies"])}
OWN = "mine.toml"  # a reader's configuration
FOREIGN = ("PIDLIB_DATA_DIR", "RANK")  # what a reader's environment lacks
# What is typed in place of what is printed. Each must stand in the page's blocks exactly once.
SMALL = {
    "README.md": {
        "n=2000": "n=60",
        "n=500": "n=2",
    },
    "book/how-to-run.md": {
        '"label": 1}, ...]': '"label": 1}, *more_rows]',
        'device="cuda"': 'device="cpu"',
        "fit pd-99 --n 2000": "fit pd-99 --n 60",
        "--control pd-99 --n 1000\n": "--control pd-99 --n 20\n",
        "--recipe textfooler --n 200": "--recipe textfooler --n 1",
        "/folder/with/files": "files",
        "8000": "0",
        "server.serve_forever()": "server.server_close()",  # see test_serving.py
    },
}
MORE_ROWS = [  # what the three dots stand for
    {"text": f"A {adjective} {noun}.", "label": int(adjective == "fine")}
    for noun in ("story", "scene", "song", "play", "joke", "book")
    for adjective in ("fine", "dull")
]
TYPED = """
import json, sys, pidlib
blocks, space = json.load(sys.stdin), {}
for page, line, code in blocks:
    exec(compile("\\n" * line + code, page, "exec"), space)
print("typed", len(blocks), pidlib.__file__)
"""


class Block(NamedTuple):
    """A fenced block: its page, the line of its fence, its language and what stands in it."""

    page: str
    line: int
    language: str
    code: str


def blocks_of(page: str) -> list[Block]:
    """Blocks of a page in order; AssertionError for a fence that is not read here."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = list(FENCE.finditer(text))
    fences = re.findall(r"^[ >\t]*(?:`{3}|~{3})", text, re.M)
    assert len(fences) == 2 * len(found), f"{page}: {len(fences)} fences, {len(found)} blocks"
    return [Block(page, text[: m.start()].count("\n") + 1, m[2].strip(), m[3]) for m in found]


def small_blocks(page: str) -> list[Block]:
    """Blocks of a page with the table's small numbers."""
    blocks = [of for of in blocks_of(page) if "onnxruntime" not in of.code]  # see test_export.py
    for printed, typed in SMALL[page].items():
        count = sum(block.code.count(printed) for block in blocks)
        assert count == 1, f"{page}: {printed!r} stands in {count} places; SMALL wants it once"
        blocks = [block._replace(code=block.code.replace(printed, typed)) for block in blocks]
    return blocks


def parse_command(words: list[str]) -> str:
    """Parse what stands after `-m`, run nothing, and return the name of the command."""
    known, (command, *more) = COMMANDS[words[0]], words[1:]
    if command != "--help":
        given = known[command].make_context(command, list(more)).params
        if command == "run" and given["config"] != OWN:
            read_experiment(given["config"])
    return command


def plan(block: Block) -> list[tuple[str, list[str]]]:
    """How each command of a shell block is treated: make, set or run, and its words.

    What is not known here, and a mistake in an option, fails.
    """
    found = []
    for line in block.code.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["make"]:
            rule = rf"^{words[1]}:"  # make takes a folder's name too, and does nothing
            assert re.search(rule, (ROOT / "Makefile").read_text(), re.M), f"{block}: {line}"
            found.append(("make", words[1:]))
        elif words[:1] == ["export"]:
            found.append(("set", words[1].split("=", 1)))
        elif words[:2] == ["pip", "install"]:
            assert words[2:] == ["torch", "--index-url", INDEX] or set(words[2:]) <= EXTRAS
        elif words[:2] == ["accelerate", "launch"]:
            asked = launch_command_parser().parse_args(words[2:])
            assert asked.module
            parse_command([asked.training_script, *asked.training_script_args])
        elif words:
            assert words[:2] == [PYTHON, "-m"], f"{block}: {line}"
            if parse_command(words[2:]) not in PARSED:
                found.append(("run", words[2:]))
    return found


def environment(home: Path) -> dict[str, str]:
    """A reader's environment in which pidlib is the one in a folder, without a network."""
    kept = {k: v for k, v in os.environ.items() if k not in FOREIGN}
    quiet = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}
    return kept | quiet | {"PYTHONPATH": str(home), "PYTHONWARNINGS": "ignore"}


def call(words, folder: Path, home: Path, **more) -> str:
    """Run a process; its standard output, or a failure with all that it wrote."""
    given = {"cwd": folder, "env": environment(home), "capture_output": True, "text": True} | more
    done = subprocess.run([str(word) for word in words], check=False, timeout=600, **given)
    assert done.returncode == 0, f"{words[:6]} ended with {done.returncode}\n{done.stderr[-3000:]}"
    return done.stdout


def python_blocks(page: str) -> list[Block]:
    """Python blocks of a page with the table's small numbers; there is at least one."""
    blocks = [block for block in small_blocks(page) if block.language == "python"]
    assert blocks
    return blocks


@pytest.fixture
def reader(folder, monkeypatch):
    """The folder where the reader sits, as this process's own, with a reader's environment."""
    monkeypatch.chdir(folder)
    for name in FOREIGN:
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture(scope="module")
def folder(tiny, tmp_path_factory):
    """Where the reader sits: two models, results, and a folder for data."""
    folder = tmp_path_factory.mktemp("reader")
    for name, labels in (("your-name/your-model", 2), ("owner/roberta-large-snli", 3)):
        for part in tiny.reader(labels):
            part.save_pretrained(folder / name)
    shutil.copytree(ROOT / "book" / "results", folder / "book" / "results")
    (folder / "files").mkdir()
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Folder with pidlib installed from a wheel, and the names of the files in the wheel."""
    place = tmp_path_factory.mktemp("wheel")
    source = place / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    shutil.copytree(ROOT / "pidlib", source / "pidlib")  # a build writes beside what it builds
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    common = ["--no-deps", "--no-index"]
    call([*pip, "wheel", source, *common, "--no-build-isolation", "-w", place], place, place)
    [wheel] = place.glob("*.whl")
    call([*pip, "install", *common, "--target", place / "site", wheel], place, place)
    with zipfile.ZipFile(wheel) as packed:
        return place / "site", set(packed.namelist())


def test_python_blocks_of_how_to_run(reader, capsys):
    space = {"more_rows": MORE_ROWS}
    for page, line, _, code in python_blocks("book/how-to-run.md"):
        exec(compile("\n" * line + code, page, "exec"), space)
    printed = capsys.readouterr().out
    assert f"out of {len(MORE_ROWS) + 1}" in printed and "Terminal control of" in printed


@pytest.mark.parametrize("page", PAGES)
def test_shell_blocks(page, reader, monkeypatch):
    for block in small_blocks(page):
        assert block.language in {"python", "bash", *NOT_CODE}, f"{block} is not known here"
        for how, words in plan(block) if block.language == "bash" else []:
            if how == "make":
                call(["make", "-n", *words], ROOT, ROOT)
            elif how == "set":
                assert (reader / words[1]).is_dir()
                monkeypatch.setenv(*words)
            else:
                done = CliRunner().invoke(APPS[words[0]], words[1:], catch_exceptions=False)
                assert done.exit_code == 0, f"{block}: {words}\n{done.output[-3000:]}"
    if page == "book/how-to-run.md":
        assert len((reader / "outcomes.jsonl").read_text().splitlines()) == 2  # head, one row


def test_commands_and_options_in_running_text():
    text = "\n".join((ROOT / page).read_text(encoding="utf-8") for page in PAGES)
    spans = re.findall(r"`([^`\n]+)`", re.sub(FENCE, "", text))
    commands = [shlex.split(span)[2:] for span in spans if span.startswith("python -m ")]
    assert {parse_command(words) for words in commands} > {"doctor", "run"}
    options = {
        option
        for commands in COMMANDS.values()
        for command in commands.values()
        for parameter in command.params
        for option in parameter.opts
    }
    named = {span.split()[0] for span in spans if re.match(r"--[a-z]", span)}
    assert {"--json", "--config"} < named <= options


def test_the_wheel_is_small_and_holds_every_asset_and_nothing_beside_the_library(site):
    home, names = site
    files = [path for path in (ROOT / "pidlib").rglob("*") if path.is_file()]
    ours = {str(p.relative_to(ROOT)) for p in files if "__pycache__" not in p.parts}
    kept = {name for name in names if ".dist-info/" not in name}
    recorded = set(adapters()) - {"minilm-nli"}  # only recorded results need their weights
    assert kept == ours - {f"pidlib/assets/adapters/{name}/{WEIGHTS}" for name in recorded}
    assert "pidlib/assets/lexicon.json" in kept
    [wheel] = home.parent.glob("*.whl")
    assert wheel.stat().st_size < 8e6
    [about] = (message_from_string(p.read_text()) for p in home.glob("pidlib-*/METADATA"))
    assert about["Author"] == "The pidlib authors" and about["License-Expression"] == "MIT"
    assert "Typing :: Typed" in about.get_all("Classifier")


def test_python_blocks_of_the_readme_in_an_installed_wheel(site, tmp_path):
    home, _ = site
    code = (
        "from pidlib.cli.doctor import examine\nprint({one.name: one.state for one in examine()})"
    )
    blocks = [*python_blocks("README.md"), Block("doctor", 0, "python", code)]
    sent = json.dumps([[block.page, block.line, block.code] for block in blocks])
    *printed, last = call([sys.executable, "-c", TYPED], tmp_path, home, input=sent).splitlines()
    assert last == f"typed {len(blocks)} {home / 'pidlib' / '__init__.py'}"
    printed = "\n".join(printed)
    assert "textfooler, n = 2; accuracy in %" in printed
    assert "'adapters': 'ok'" in printed and "'controls': 'ok'" in printed
    assert "broken" not in printed
    assert (tmp_path / "pd-controller" / "controller.json").is_file()


def test_the_installed_script_is_the_module(site, tmp_path):
    home, _ = site
    checkout = call([sys.executable, "-m", "pidlib", "--help"], tmp_path, ROOT)
    module = call([sys.executable, "-m", "pidlib", "--help"], tmp_path, home)
    script = call([home / "bin" / "pidlib", "--help"], tmp_path, home)
    assert checkout == module and {"fit", "attack", "doctor"} <= set(module.split())
    assert script.split() == module.replace("python -m pidlib", "pidlib", 1).split()


def test_the_experiments_are_a_module(reader):
    told = call([sys.executable, "-m", "experiments", "list"], reader, ROOT)
    assert "trial-snli-test-minilm-nli" in told
