"""Directives that print recorded results of the reliability and how-to pages as tables."""

from __future__ import annotations

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from bookfigures import recorded
from contents import RESULTS, table
from provenance import box


def faults(result):
    """What was killed, how often, and what was lost."""
    heads = {
        "work": "job",
        "kills": "kills",
        "with work on disk": "inside",
        "most in a row": "most_in_a_row",
        "ends": "finished",
        "ends like the run nobody killed": "equal",
    }
    rows = [
        {head: job[key] for head, key in heads.items()}
        | {"lost or counted twice": ", ".join(job["lost"]) or "nothing"}
        for job in result["counts"]
    ]
    kills = sum(job["kills"] for job in result["counts"])
    lost = sum(len(job["lost"]) for job in result["counts"])
    return rows, f"In all {kills} kills; lost or counted twice: {lost or 'nothing'}."


def stream_memory(result):
    """Memory of a fit against the text that it has read."""
    peaks, n = result["stream"]["megabytes"], result["stream"]["sequences"]
    rows = [
        {
            "sequences read": f"{round(n * k / len(peaks)):,}",
            "most memory so far, MB": f"{peak:,.0f}",
        }
        for k, peak in enumerate(peaks, 1)
    ]
    rise = 100 * (peaks[-1] / peaks[0] - 1)
    return rows, f"From the first mark to the last the process grows by {rise:.1f} %."


def two_processes(result):
    """Time of an attack by one process and by two."""
    times, rows = result["attack"], []
    for timed, key in (("the attack alone", "attack"), ("with the start of Python", "seconds")):
        alone, shared = (sum(times[key][k]) / len(times[key][k]) for k in ("1", "2"))
        cells = (timed, f"{alone:.1f}", f"{shared:.1f}", f"{alone / shared:.2f}")
        heads = ("timed", "one process, s", "two, s", "times as fast")
        rows.append(dict(zip(heads, cells, strict=True)))
    same = "the same outcomes" if times["equal"] else "**other** outcomes"
    return rows, f"{times['rows']} rows by {times['recipe']}, one thread a process; {same}."


def grid_budget(*results):
    """What the paper's grid of attacks would cost."""
    from experiments.budget import grid_budget

    costs = grid_budget(RESULTS)
    rows = [
        {
            "model": cost.model,
            "trainings × data sets": cost.grids,
            "texts read, millions": f"{cost.forwards / 1e6:.2f}",
            "hours in the model": f"{cost.model_hours:.1f}",
            "hours in the search, at most": f"{cost.search_hours:.1f}",
        }
        for cost in costs
    ]
    total = sum(cost.model_hours + cost.search_hours for cost in costs)
    return rows, f"In all about {total:.0f} hours on two processor cores."


def peers(result):
    """What one push costs by each library, and P-D control beside."""
    counts = result["counts"]
    small, large = (counts["models"][name] for name in ("minilm-nli", "smollm2"))
    rows = []
    for name, there in large["ways"].items():
        here, told = small["ways"][name], f"{name} {counts['peers'].get(name, '')}".strip()
        cells = [told]
        for cost, parts in ((here, ("forward",)), (there, ("forward", "token"))):
            if "cannot" in cost:
                cells += ["cannot"] + [""] * len(parts)
            else:
                cells += [f"{1e3 * cost['again']:.2f}"]
                cells += [_share(cost[part]) for part in parts]
        heads = ("", "MiniLM: attach, ms", "a batch", "SmolLM2: attach, ms", "a batch ", "a token")
        rows.append(dict(zip(heads, cells, strict=True)))
    again = counts["again"]
    names = " and ".join(name.replace("minilm-nli", "MiniLM") for name in again)
    taken = " and ".join(f"{1e3 * of['again']:.1f}" for of in again.values())
    times = " and ".join(f"{of['hash_over_again']:.0f}" for of in again.values())
    first = [found["ways"]["P-D control"]["first"] for found in (small, large)]
    return rows, (
        f"P-D control takes {first[0]:.2f} s on MiniLM and {first[1]:.2f} s on SmolLM2 to attach "
        f"for the first time. To attach a controller again takes {taken} ms on {names}; to hash the "
        f"weights of their blocks takes {times} times as long."
    )


def _share(cost):
    """A ratio of times and its interval."""
    return f"{cost['value']:.2f} ({cost['low']:.2f} to {cost['high']:.2f})"


def portable(result):
    """Cells and tests that came out otherwise under the arithmetic of other processors."""
    counted = {"cells": "cells", "cells that differ": "cells_differ"}
    counted |= {"tests": "tests", "tests that differ": "tests_differ"}
    rows = [
        {key: line[key] for key in ("setting", "routines", "threads")}
        | {head: f"{line[key]:,}" if line["run"] else "not run" for head, key in counted.items()}
        for line in result["counts"]
    ]
    return rows, f"The outputs of {result['uncompared']} cells hold times and are not compared."


TABLES = {
    "faults": (faults, "bench-faults.json"),
    "stream-memory": (stream_memory, "bench-scale.json"),
    "two-processes": (two_processes, "bench-scale.json"),
    "grid-budget": (grid_budget, "trial-snli-test-minilm-nli.json", "bench-cost.json"),
    "peers": (peers, "bench-peers.json"),
    "portable": (portable, "bench-portable.json"),
}


class Recorded(SphinxDirective):
    """A table from result files, a sentence, and where the numbers come from."""

    def run(self):
        make, *files = TABLES[self.name]
        rows, words = make(*recorded(self.env, *files))
        line = nodes.raw(text=box(files, "make book"), format="html")
        return [*self.parse_text_to_nodes(f"{table(rows)}\n\n{words}"), line]


def setup(app):
    for name in TABLES:
        app.add_directive(name, Recorded)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
