"""Write book/claims.md from the paper's tables and our result files.

python tools/claims.py          write it
python tools/claims.py --check  fail when it is not as it would be written
"""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path

from contents import ROOT, table
from experiments.claims import VERDICTS, claims
from measured import measured

# classes of the page
KINDS = dict(zip(VERDICTS, ("holds", "partly", "fails", "open"), strict=True))
PAGE = ROOT / "book" / "claims.md"
OPENING = """\
# Claims

The paper makes {} claims about its results. This page recomputes each from the paper's own \
tables (`experiments/claims.py`). The verdict sets the paper's words against the paper's tables; \
it is none on the method.

Differences are in percentage points. *Unpaired noise* takes the two accuracies of a pair as \
independent, since the paper prints no counts.
"""
OURS = """\
## The same questions, asked of our models

Ours are other and smaller models, so these numbers neither confirm nor refute the paper's. They \
say whether the pattern turns up again.
"""


def claims_page(folder: Path) -> str:
    """Lay out the page of claims in MyST."""
    every, ours = claims(), measured(folder)
    count = Counter(claim.verdict for claim in every)
    said: dict[tuple[str, str], list[int]] = {}
    for claim in every:
        text, page = ours[claim.slug]
        link = f"[{page[0]}](../notebooks/{page[1]}.ipynb)" if page else ""
        said.setdefault((text.rstrip("."), link), []).append(claim.number)
    recomputed = [
        {
            "": f"[{claim.number}]{{#claim-{claim.number}}}",
            "the paper says": f"{claim.said} ({claim.where})",
            "its tables say": claim.recomputed,
            "so it": f"[{claim.verdict}]{{.{KINDS[claim.verdict]}}}",
        }
        for claim in every
    ]
    asked = [
        {
            "claims": ", ".join(map(str, numbers)),
            "what we measured": text.replace("|", "\\|"),
            "chapter": link,
        }
        for (text, link), numbers in said.items()
        if link
    ]
    verdicts = [{"verdict": verdict, "claims": count[verdict]} for verdict in VERDICTS]
    parts = [OPENING.format(len(every)), table(verdicts), fitted(recomputed), OURS, fitted(asked)]
    # gains as mathematics, and the minus sign before numbers
    page = re.sub(r"K_[PID](?: = (?:K_[PID]|[\d.]*\d))*", r"$\g<0>$", "\n\n".join(parts) + "\n")
    return re.sub(r"(?<![\w.)-])-(?=\d)", "−", page)


def fitted(rows: list[dict]) -> str:
    """A table as wide as its page."""
    return f":::{{container}} fits\n{table(rows)}\n:::"


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
