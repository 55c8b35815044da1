#!/usr/bin/env bash
# jupyterlab-myst 2.7.0 (for JupyterLab 4)
#
# Behaviour: the extension draws Markdown cells. But it brings a style sheet
# whose rules for <details> and <summary> are bound to no class of its own:
# they hold for the whole page. So a table that a code cell shows in a
# <details> loses the triangle that says that it can be opened, and is padded
# otherwise, though no Markdown of MyST is near it.
#
# Guess, before the look: what an extension for Markdown cells styles is inside
# Markdown cells; the outputs of code cells stay as they are.
#
# Outcome: a rule for all "details > summary" takes the marks away (list-style
# none, and the marker itself display none).
#
# Date: 2026-11-30
# Hurts: who shows folded tables as HTML from a cell: readers with the extension
# see a line of text, and do not know that it opens. A rule bound to
# .jp-OutputArea brings the marks back.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install --no-deps jupyterlab-myst==2.7.0
look <<'PY'
import re
import sys
from pathlib import Path

static = Path(sys.prefix) / "share/jupyter/labextensions/jupyterlab-myst/static"
rule = re.compile(r"([^{}\"'`;\\]*\bsummary[^{}]*)\{([^{}]*)\}")
everywhere = {}
for script in static.glob("*.js"):
    for selectors, body in rule.findall(script.read_text(encoding="utf-8", errors="replace")):
        for selector in selectors.split(","):
            if re.fullmatch(r"details ?> ?summary(::[\w-]+)?", selector.strip()):
                everywhere.setdefault(selector.strip(), body)
for selector, body in sorted(everywhere.items()):
    print(selector, "{", body, "}")
assert "list-style:none" in everywhere["details>summary"]
assert "display:none" in everywhere["details>summary::marker"]
PY
