"""The card of a controller's folder: what a reader sees first, on disk or on a hub."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

NAME = "README.md"
MARK = "<!-- Written by pidlib; without this line it is left alone. -->"


def card(summary: str, origin: Any, rows: Sequence[Mapping[str, Any]]) -> str:
    """Markdown that tells what a controller is, what it was fitted on and how to use it."""
    kind = origin.model_type or "transformer"
    names = list(rows[0]) if rows else []
    table = [names, ["---"] * len(names), *([_told(row[k]) for k in names] for row in rows)]
    return f"""---
library_name: pidlib
tags:
- pidlib
- hidden-state-control
- {kind}
---
{MARK}

# A control of hidden states

{summary}.

Fitted on a `{origin.architecture}` of {origin.depth} blocks of width {origin.width}, on
{origin.tokens} tokens of {origin.rows} rows. A model with other weights refuses it: the
fingerprint of every block is kept.

```python
from pidlib import load_controller

controller = load_controller("this folder, or owner/name on the hub")
with controller.attached(model):
    logits = model(**inputs).logits
```

## What it does to each state

{chr(10).join("| " + " | ".join(line) + " |" for line in table if line)}

## What it does not promise

Control moves clean text as well. A gain on text that was found against the model without control
is no protection from an attacker who knows of the control: put it on trial with
`pidlib.fair_trial` before you rely on it.
"""


def write_card(folder: Path, text: str) -> None:
    """Write the card, unless somebody has put their own in its place."""
    path = Path(folder) / NAME
    if path.is_file() and MARK not in path.read_text(encoding="utf-8", errors="replace"):
        return
    partial = path.with_name(f"{NAME}.partial")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _told(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
