"""Numbers of figures and equations on pages that are no chapters: from 1 on each, A.1 in appendices."""

from __future__ import annotations

from string import ascii_uppercase

APPENDIX = "notebooks/9"


def renumber(app, env) -> None:
    """Count each such page by itself; without this one count runs on through all of them."""
    appendices = sorted(name for name in env.found_docs if name.startswith(APPENDIX))
    for name, kinds in env.toc_fignumbers.items():
        letter = [ascii_uppercase[appendices.index(name)]] if name in appendices else []
        for numbers in kinds.values():
            loose = [label for label, number in numbers.items() if len(number) == 1]
            numbers |= {label: (*letter, k) for k, label in enumerate(loose, 1)}


def setup(app):
    # after the environment is stored, which has to keep Sphinx's own count: else these pages
    # would look changed in each build
    app.connect("env-check-consistency", renumber)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
