"""The card of a controller's folder: what a reader sees first, on disk or on a hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pidlib.io.assets import ASSETS
from pidlib.io.files import whole

NAME = "README.md"
MARK = "<!-- Written by pidlib; without this line it is left alone. -->"


def card(summary: str, origin: Any, rows: Sequence[Mapping[str, Any]]) -> str:
    """Markdown that tells what a controller is, what it was fitted on and how to use it."""
    names = list(rows[0]) if rows else []
    cells = [names, ["---"] * len(names)]
    cells += [[f"{v:.4g}" if isinstance(v, float) else str(v) for v in r.values()] for r in rows]
    table = "\n".join("| " + " | ".join(line) + " |" for line in cells if line)
    kind = origin.model_type or "transformer"
    text = (ASSETS / "card.md").read_text(encoding="utf-8")
    return text.format(mark=MARK, summary=summary, origin=origin, kind=kind, table=table)


def write_card(folder: Path, text: str) -> None:
    """Write the card, unless somebody has put their own in its place."""
    path = Path(folder) / NAME
    if path.is_file() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        return
    with whole(path) as partial:
        partial.write_text(text, encoding="utf-8")
