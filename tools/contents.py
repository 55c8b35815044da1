"""Which pages and chapters the book has, in its order, and what every tool does with files."""

from __future__ import annotations

import datetime
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

import nbformat
import yaml

from pidlib.io.files import whole

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT))  # where experiments are: they are not installed
BUILD = ROOT / "_build"
RESULTS = ROOT / "book" / "results"
FIGURES = ("image/svg+xml", "image/png", "application/vnd.plotly.v1+json")
"""Outputs of a cell that are drawn."""


MOVED = {  # old address of a page: where it stands now
    "book/fifteen-minutes": "book/intro",
    "book/open-questions": "notebooks/16_open_questions",
    "notebooks/11_anli": "notebooks/10_robustness",
    "notebooks/12_analytic_or_iterative": "notebooks/12_cost",
    "notebooks/12_schemes": "notebooks/11_schemes",
    "notebooks/13_analytic_or_iterative": "notebooks/12_cost",
    "notebooks/13_cost": "notebooks/12_cost",
    "notebooks/14_cost": "notebooks/12_cost",
    "notebooks/14_theorem_on_models": "notebooks/12_cost",
    "notebooks/15_decoders": "notebooks/10_robustness",
    "notebooks/15_theorem_on_models": "notebooks/12_cost",
    "notebooks/16_decoders": "notebooks/10_robustness",
    "notebooks/16_fair_trial": "notebooks/10_robustness",
    "notebooks/17_fair_trial": "notebooks/10_robustness",
    "notebooks/17_wiener": "notebooks/13_wiener",
    "notebooks/18_estimate_on_trial": "notebooks/14_what_gains",
    "notebooks/18_wiener": "notebooks/13_wiener",
    "notebooks/19_estimate_on_trial": "notebooks/14_what_gains",
    "notebooks/19_language_model": "notebooks/15_language_model",
    "notebooks/20_every_swap": "notebooks/14_what_gains",
    "notebooks/20_how_far_it_carries": "notebooks/14_what_gains",
    "notebooks/21_vision": "notebooks/16_open_questions",
    "notebooks/22_model_jacobians": "notebooks/16_open_questions",
    "notebooks/23_optimal_attack": "notebooks/16_open_questions",
    "notebooks/24_fairness": "notebooks/16_open_questions",
    "notebooks/25_steering": "notebooks/16_open_questions",
    "notebooks/90_tucker": "notebooks/02_subspaces",
    "notebooks/91_trial_in_full": "notebooks/14_what_gains",
}


def number(stem: str) -> str:
    """Number of a chapter before its title."""
    return f"{int(stem[:2])} "


def in_toc(root: Path = ROOT) -> list[Path]:
    """Notebooks that _toc.yml names, in its order."""
    return [root / f"{name}.ipynb" for name in pages(root) if name.startswith("notebooks/")]


def pages(root: Path = ROOT) -> list[str]:
    """All pages that _toc.yml names, the root first, pages beneath others included."""
    toc = yaml.safe_load((root / "_toc.yml").read_text())

    def beneath(entry: dict) -> list[str]:
        inner = entry.get("parts", []) + entry.get("chapters", []) + entry.get("sections", [])
        return [entry[k] for k in ("root", "file") if k in entry] + [
            page for part in inner for page in beneath(part)
        ]

    return beneath(toc)


def cells(path: Path, *kinds: str) -> list[nbformat.NotebookNode]:
    """Cells of a notebook of some kinds, "code" or "markdown"."""
    notebook = nbformat.read(path, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type in kinds]


def code(path: Path) -> list[str]:
    """Sources of the code cells of a notebook."""
    return [cell.source for cell in cells(path, "code")]


def prose(path: Path) -> str:
    """Text of a notebook."""
    return "\n\n".join(cell.source for cell in cells(path, "markdown"))


def environment() -> dict[str, str]:
    """The reader's environment without what could change a page."""
    kept = {k: v for k, v in os.environ.items() if k != "PIDLIB_DATA_DIR"}
    offline = {"HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    return kept | offline | {"HF_HUB_DISABLE_PROGRESS_BARS": "1", "PYTHONHASHSEED": "0"}


def write_whole(path: Path, text: str) -> None:
    """Write whole or not at all."""
    with whole(path) as part:
        part.write_text(text, encoding="utf-8")


def read_record(path: Path) -> dict[str, Any]:
    """What a JSON file holds; nothing where there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def add_record(path: Path, key: str, value: Any) -> None:
    """Put one entry into a JSON file; the others stay as they were."""
    records = read_record(path) | {key: value}
    ordered = dict(sorted(records.items(), key=lambda entry: natural(entry[0])))
    write_whole(path, json.dumps(ordered, indent=1) + "\n")


def natural(name: str) -> list[tuple[int, str]]:
    """Order in which 3.9 comes before 3.11."""
    return [(int(part or 0), rest) for part, rest in re.findall(r"(\d*)(\D*)", name)]


def today() -> str:
    """The date, in UTC."""
    return datetime.datetime.now(datetime.UTC).date().isoformat()


def table(rows: list[dict[str, Any]]) -> str:
    """Markdown of a table whose columns are the keys."""
    lines = [list(rows[0]), ["---"] * len(rows[0]), *(list(row.values()) for row in rows)]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)
