"""Write book/claims.md from the paper's tables and our result files.

python tools/claims.py          write it
python tools/claims.py --check  fail when it is not as it would be written
"""

from __future__ import annotations

import sys
from pathlib import Path

from experiments.measured import claims_page

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "book" / "claims.md"


def main() -> int:
    """Door of the command line."""
    page = claims_page(ROOT / "book" / "results")
    if "--check" in sys.argv[1:]:
        if not PAGE.is_file() or PAGE.read_text(encoding="utf-8") != page:
            print("book/claims.md is not up to date: run python tools/claims.py")
            return 1
        return 0
    PAGE.write_text(page, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
