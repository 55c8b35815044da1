"""What a reader without JavaScript sees of a plotly figure: its first position, as a still."""

from __future__ import annotations

from io import StringIO
from typing import Any

import numpy as np

DASHES = {"dash": "--", "dot": ":", "dashdot": "-.", "longdash": "--"}
MARKS = {"square": "s", "triangle-up": "^", "diamond": "D", "x": "x", "cross": "P", "star": "*"}


def still(spec: dict[str, Any]) -> tuple[str, str]:
    """SVG of the lines and marks of a figure, flat or radar, and where its sliders stand."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    layout, radar = spec["layout"], spec["data"][0]["type"] == "scatterpolar"
    with rc_context({"svg.fonttype": "none", "font.size": 12}):  # letters as letters: a tenth
        fig = Figure(figsize=(5.6, 4.4), layout="constrained")
        plot = fig.add_subplot(projection="polar" if radar else None)
        for trace in spec["data"]:
            line, mode = trace.get("line", {}), trace.get("mode") or "lines"
            mark = trace.get("marker", {})
            x, y = (trace["theta"], trace["r"]) if radar else (trace["x"], trace["y"])
            if radar:  # closed already: the first name stands again at the end
                plot.set(theta_offset=np.pi / 2, theta_direction=-1, ylim=(0, 100))
                plot.set_xticks(turns := np.linspace(0, 2 * np.pi, len(x))[:-1], x[:-1])
                x = [*turns, 0]
            dash = DASHES.get(line.get("dash"), "-") if "lines" in mode else ""
            shape = MARKS.get(mark.get("symbol"), "o") if "markers" in mode else ""
            colour = line.get("color") or mark.get("color")
            plot.plot(x, y, color=colour, linestyle=dash, marker=shape, label=trace["name"])
        for way in () if radar else "xy":
            axis = layout.get(f"{way}axis", {})
            text = axis.get("title", {}).get("text", "")
            plot.set(**{f"{way}label": text, f"{way}scale": axis.get("type") or "linear"})
        fig.legend(loc="outside upper center", ncols=2)
        fig.savefig(out := StringIO(), format="svg", metadata={"Date": None})
    dials = [(d["currentvalue"]["prefix"], d["steps"][d["active"]]) for d in layout["sliders"]]
    return out.getvalue(), ", ".join(f"{prefix}{step['label']}" for prefix, step in dials)
