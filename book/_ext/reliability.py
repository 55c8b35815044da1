"""Directives that print recorded results of the reliability and how-to pages as tables."""

from __future__ import annotations

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from frontpage import parsed, table
from provenance import RESULTS, box


class Recorded(SphinxDirective):
    """A table from result files, and where its numbers come from."""

    files: tuple[str, ...] = ()
    redraw = "make book"

    def run(self):
        for name in self.files:
            self.env.note_dependency(str(RESULTS / name))
        made = parsed(self, self.lines())
        return [*made, nodes.raw(text=box(list(self.files), self.redraw), format="html")]

    def lines(self) -> list[str]:
        """Markdown of the table."""
        raise NotImplementedError


class Faults(Recorded):
    """What was killed, how often, and what was lost."""

    files = ("bench-faults.json",)

    def lines(self):
        from pidlib.evaluation.results import read_result

        found = read_result(RESULTS / self.files[0])["counts"]
        rows = [
            {
                "work": one["job"],
                "kills": str(one["kills"]),
                "with work on disk": str(one["inside"]),
                "most in a row": str(one["most_in_a_row"]),
                "ends": str(one["finished"]),
                "ends like the run nobody killed": str(one["equal"]),
                "lost or counted twice": ", ".join(one["lost"]) or "nothing",
            }
            for one in found
        ]
        kills = sum(one["kills"] for one in found)
        lost = sum(len(one["lost"]) for one in found)
        told = f"In all {kills} kills; lost or counted twice: {lost or 'nothing'}."
        return [*table(rows), "", told]


class Stream(Recorded):
    """Memory of a fit against the text that it has read."""

    files = ("bench-scale.json",)

    def lines(self):
        from pidlib.evaluation.results import read_result

        found = read_result(RESULTS / self.files[0])["stream"]
        peaks, n = found["megabytes"], found["sequences"]
        marks = [round(n * (k + 1) / len(peaks)) for k in range(len(peaks))]
        rows = [
            {"sequences read": f"{m:,}", "most memory so far, MB": f"{p:,.0f}"}
            for m, p in zip(marks, peaks, strict=True)
        ]
        rise = 100 * (peaks[-1] / peaks[0] - 1)
        told = f"From the first mark to the last the process grows by {rise:.1f} %."
        return [*table(rows), "", told]


class TwoProcesses(Recorded):
    """Time of an attack by one process and by two."""

    files = ("bench-scale.json",)

    def lines(self):
        from pidlib.evaluation.results import read_result

        found = read_result(RESULTS / self.files[0])["attack"]
        rows = []
        for told, key in (("the attack alone", "attack"), ("with the start of Python", "seconds")):
            one, two = (sum(found[key][k]) / len(found[key][k]) for k in ("1", "2"))
            rows.append(
                {
                    "timed": told,
                    "one process, s": f"{one:.1f}",
                    "two, s": f"{two:.1f}",
                    "times as fast": f"{one / two:.2f}",
                }
            )
        same = "the same outcomes" if found["equal"] else "**other** outcomes"
        told = f"{found['rows']} rows by {found['recipe']}, one thread a process; {same}."
        return [*table(rows), "", told]


class Budget(Recorded):
    """What the paper's grid of attacks would cost."""

    files = ("trial-snli-test-minilm-nli.json", "bench-cost.json")

    def lines(self):
        from experiments.benchmarks.budget import grid_budget

        found = grid_budget(RESULTS)
        rows = [
            {
                "model": one.model,
                "trainings × data sets": str(one.grids),
                "texts read, millions": f"{one.forwards / 1e6:.2f}",
                "hours in the model": f"{one.model_hours:.1f}",
                "hours in the search, at most": f"{one.search_hours:.1f}",
            }
            for one in found
        ]
        total = sum(one.model_hours + one.search_hours for one in found)
        return [*table(rows), "", f"In all about {total:.0f} hours on two processor cores."]


HEADS = {
    "cells": "cells",
    "cells that differ": "cells_differ",
    "tests": "tests",
    "tests that differ": "tests_differ",
}


class Portable(Recorded):
    """Cells and tests that came out otherwise under the arithmetic of other processors."""

    files = ("bench-portable.json",)

    def lines(self):
        from pidlib.evaluation.results import read_result

        result = read_result(RESULTS / self.files[0])
        rows = [self.cells(line) for line in result["counts"]]
        words = f"The outputs of {result['uncompared']} cells hold times and are not compared."
        return [*table(rows), "", words]

    @staticmethod
    def cells(line):
        """One setting as a row of the table."""
        about = {"setting": line["setting"], "routines": line["routines"]}
        about["threads"] = str(line["threads"])
        if not line["run"]:
            return about | dict.fromkeys(HEADS, "not run")
        return about | {head: f"{line[key]:,}" for head, key in HEADS.items()}


def setup(app):
    app.add_directive("faults", Faults)
    app.add_directive("stream-memory", Stream)
    app.add_directive("two-processes", TwoProcesses)
    app.add_directive("grid-budget", Budget)
    app.add_directive("portable", Portable)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
