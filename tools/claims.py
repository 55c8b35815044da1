"""Write book/claims.md from the paper's tables and our result files.

python tools/claims.py          write it
python tools/claims.py --check  fail when it is not as it would be written
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from html import escape
from pathlib import Path

from contents import ROOT
from experiments.claims import VERDICTS, Claim, claims
from measured import measured

# classes of the page
KINDS = dict(zip(VERDICTS, ("holds", "partly", "fails", "open"), strict=True))
PAGE = ROOT / "book" / "claims.md"
OPENING = """\
# Claims

The paper makes {} claims about its results. For each, this page gives what the paper's own tables \
say when they are recomputed (`experiments/claims.py`, tested), what we measured on our model \
(`tools/measured.py`, from the result files), and where to look. The verdict is on the paper's \
words against the paper's tables. It is not a verdict on the method.

Our model is another one (MiniLM, 6 blocks), so our numbers neither confirm nor refute the \
paper's; they say whether the pattern turns up again. Differences are in percentage points. \
*Unpaired noise* takes the two accuracies of a pair as independent, since the paper prints no \
counts.
"""


def claims_page(folder: Path) -> str:
    """Lay out the page of claims in MyST."""
    every, ours = claims(), measured(folder)
    count = Counter(claim.verdict for claim in every)
    lines = [
        OPENING.format(len(every)),
        "| verdict | claims |",
        "|---|---|",
        *(f"| {verdict} | {count[verdict]} |" for verdict in VERDICTS),
        "",
        tiles(every),
        "",
    ]
    for claim in every:
        text, page = ours[claim.slug]
        link = f" See [{page[0]}](../notebooks/{page[1]}.ipynb)." if page else ""
        lines += [
            f"(claim-{claim.number})=",
            f"## {claim.number}. {claim.said}",
            "",
            f"*{claim.where}.* **Verdict:** [{claim.verdict}]{{.{KINDS[claim.verdict]}}}",
            "",
            f"- The paper's tables: {claim.recomputed}.",
            f"- Measured here: {text.rstrip('.')}.{link}",
            "",
        ]
    # gains as mathematics, and the minus sign before numbers
    page = re.sub(r"K_[PID](?: = (?:K_[PID]|[\d.]*\d))*", r"$\g<0>$", "\n".join(lines))
    return re.sub(r"(?<![\w.)-])-(?=\d)", "−", page)


def tiles(every: list[Claim]) -> str:
    """A tile for each claim, in the colour of its verdict, that leads to it."""
    lines = [
        f'<a class="tile {KINDS[c.verdict]}" href="#claim-{c.number}"><b>{c.number} · {c.verdict}</b>'
        f" {italic(escape(c.said))}</a>"
        for c in every
    ]
    return "\n".join(["```{raw} html", '<div class="tiles">', *lines, "</div>", "```"])


def italic(text: str) -> str:
    """The gains of a claim in a tile, which is HTML and holds no mathematics."""
    return re.sub(r"K_([PID])", r"<i>K</i><sub>\1</sub>", text)


def main() -> int:
    """Door of the command line."""
    page = claims_page(ROOT / "book" / "results")
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(page, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page:
        print("book/claims.md is not up to date: run python tools/claims.py")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
