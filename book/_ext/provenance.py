"""Under every figure drawn from result files: where its numbers come from, and how to redraw it.

A chapter whose stored outputs were drawn from other files than those that are there is an error:
the strict build fails.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

import nbformat
from docutils import nodes
from sphinx.util import logging

from contents import RESULTS
from sources import files_of, stale

LOGGER = logging.getLogger(__name__)
RUN = ".venv/bin/python tools/notebooks.py run"


def box(names: list[str], redraw: str, folder: Path = RESULTS) -> str:
    """The provenance of what was drawn from some files, and the command that redraws it."""
    lines = "".join(f"<li>{item(name, names, folder)}.</li>" for name in groups(names))
    drawn = code(names[0]) if len(names) == 1 else f"{len(names)} recorded files"
    return (
        f'<details class="book-provenance"><summary>Data: {drawn}'
        f"</summary><ul>{lines}</ul><p>To redraw: {code(redraw)}.</p></details>"
    )


def groups(names: list[str]) -> list[str]:
    """Results one by one; the logs of attacks on one model and data set as one."""
    log = r"-(adaptive-.*|[^-]+)\.jsonl$"
    return list(dict.fromkeys(re.sub(log, "-*.jsonl", name) for name in names))


def item(name: str, names: list[str], folder: Path) -> str:
    """What one file, or one group of logs, says of itself."""
    from experiments.experiment import frozen  # all three are slow to import, for few pages
    from pidbook.evaluation.results import read_result
    from pidlib.attacks.outcomes import read_outcomes

    if not name.endswith(".jsonl"):
        result = read_result(folder / name)
        data, commit = result["data"], frozen().get(name.removesuffix(".json"))
        at = f", frozen at commit {code(commit[:12])}" if commit else ""
        return (
            f"{code(name)}: {circumstances(result, data.get('name'), data.get('n'))}. "
            f"Recorded by {code(result['command'])}{at}"
        )
    start, end = name.split("*")
    logs = [read_outcomes(folder / n) for n in names if n.startswith(start) and n.endswith(end)]
    trial = read_result(folder / f"trial-{start.removeprefix('attacks/').rstrip('-')}.json")
    header = logs[0].header
    recipes = ", ".join(log.header["configuration"]["recipe"] for log in logs)
    run = {"versions": header["made"]["versions"], "date": trial["date"]}
    run["seed"] = header["configuration"]["seed"]
    sizes = [len(log.outcomes) for log in logs]
    n = f"{sizes[0]} each" if len(set(sizes)) == 1 < len(sizes) else " + ".join(map(str, sizes))
    return (
        f"The model, run on the attacked text of {code(name)} ({recipes}): "
        f"{circumstances(run, header['configuration']['data'], n)}. "
        f"Recorded by {code(trial['command'])}"
    )


def circumstances(run: dict, data: str, n: object) -> str:
    """Data, n, seed, versions and date in one line."""
    libraries = ", ".join(f"{name} {run['versions'][name]}" for name in ("torch", "transformers"))
    many = f", n = {n}" if n else ""  # timings of random weights have no rows
    return escape(f"{data}{many} · seed {run['seed']} · {libraries} · {run['date']}")


def code(text: str) -> str:
    return f"<code>{escape(text)}</code>"


def add_lines(app, doctree):
    """Put the lines under the figures of a chapter; say what is stale."""
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    notebook, here = nbformat.read(path, as_version=4), path.relative_to(app.srcdir)
    wrong = stale(notebook)
    for text in wrong:
        LOGGER.warning("stale provenance: %s; run: %s %s", text, RUN, here, location=str(here))
    if wrong:
        return
    drawn = files_of(notebook)
    for name in sorted({name for names in drawn.values() for name in names}):
        app.env.note_dependency(str(RESULTS / name))
    for cell in list(doctree.findall(nodes.container)):
        figures = list(cell.findall(nodes.figure)) if cell.get("nb_element") == "cell_code" else []
        if figures and cell["cell_index"] in drawn:
            text = box(drawn[cell["cell_index"]], f"{RUN} {here}")
            figures[-1].parent.append(nodes.raw(text=text, format="html"))


def setup(app):
    app.connect("doctree-read", add_lines)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
