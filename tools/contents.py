"""Which pages and chapters the book has, in its order."""

from __future__ import annotations

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ("image/svg+xml", "image/png", "application/vnd.plotly.v1+json")
"""Outputs of a cell that are drawn."""


def in_toc(root: Path = ROOT) -> list[Path]:
    """Notebooks that _toc.yml names, in its order."""
    return [root / f"{name}.ipynb" for name in pages(root) if name.startswith("notebooks/")]


def pages(root: Path = ROOT) -> list[str]:
    """All pages that _toc.yml names, the root first, pages beneath others included."""
    toc = yaml.safe_load((root / "_toc.yml").read_text())

    def beneath(entry: dict) -> list[str]:
        inner = entry.get("parts", []) + entry.get("chapters", []) + entry.get("sections", [])
        return [entry[k] for k in ("root", "file") if k in entry] + [
            page for one in inner for page in beneath(one)
        ]

    return beneath(toc)
