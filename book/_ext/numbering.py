"""Numbers of figures and equations: what is folded counts last; pages outside chapters from 1 on."""

from __future__ import annotations

from docutils import nodes

FOLDS = {"dropdown", "tag_hide-cell", "tag_hide-output"}  # classes


def renumber(app, env) -> None:
    """What a page shows at once has its first numbers, what it folds the last.

    Pages outside chapters count by themselves: Sphinx lets one count run on through all of them.
    """
    for name, kinds in env.toc_fignumbers.items():
        hidden = folded(env.get_doctree(name)) if kinds else set()
        for numbers in kinds.values():
            labels = sorted(numbers, key=lambda label: (label in hidden, numbers[label]))
            prefix = next(iter(numbers.values()))[:-1]
            numbers |= {label: (*prefix, k) for k, label in enumerate(labels, 1)}


def folded(doctree: nodes.document) -> set[str]:
    """Names of what a page shows only when its reader unfolds it."""
    names, depth = set(), 0
    for node in doctree.findall():
        if isinstance(node, nodes.raw):
            depth += node.astext().count("<details") - node.astext().count("</details>")
        elif isinstance(node, nodes.Element):
            own = {*node.get("classes", ()), node.get("design_component")}
            inside = node.findall(nodes.Element) if own & FOLDS else [node] * (depth > 0)
            names.update(name for part in inside for name in part["ids"])
    return names


def setup(app):
    # after the environment is stored, which has to keep Sphinx's own count: else these pages
    # would look changed in each build
    app.connect("env-check-consistency", renumber)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
