"""Pictures of chapter 7, Pontryagin's principle."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from pidbook.figures import ATTACKER, ESTIMATE, INK, OURS, PAPER, Table, name_ends, reach, table

# --- Plans after some sweeps --------------------------------------------------------------------

Paths = Mapping[int, np.ndarray]  # by number of sweeps: what each layer sees, (T,)


def plans(paths: Paths, best: np.ndarray, pushes: np.ndarray) -> Figure:
    """The disturbance that each layer sees after some gradient steps; the best pushes, (T,)."""
    fig = Figure(figsize=(5.6, 4.9), layout="constrained")
    upper, lower = fig.subplots(2, 1, sharex=True, height_ratios=(2.2, 1))
    highest = max(path.max() for path in paths.values())
    upper.set(title="the search", ylim=reach((0, 1.1 * highest), *paths.values()))
    _paths(upper, paths, best, OURS)
    upper.tick_params(labelbottom=True)
    k = min(4, len(best) - 1)
    upper.text(k - 0.1, best[k] - 0.02, "best", color=INK, ha="right", va="top")
    layers = range(len(pushes))
    lower.bar(layers, pushes, color=INK, alpha=0.6)
    lower.set(title="the best plan", xlabel="layer", ylabel="push")
    lower.set(xlim=(-0.5, len(pushes) - 0.5), xticks=_ticks(layers))
    lower.grid(visible=False)
    return fig


def basic(paths: Paths, best: np.ndarray) -> Figure:
    """The disturbance that each layer sees after some sweeps of the basic recipe."""
    fig = Figure(figsize=(5.6, 3.2), layout="constrained")
    plot = fig.add_subplot(xlabel="layer", xlim=(-0.5, len(best) - 0.5))
    plot.set_xticks(_ticks(range(len(best))))
    _paths(plot, paths, best, ATTACKER, name="best")
    return fig


def _ticks(layers: range) -> range:
    """Numbers of the layers, not of all in a deep network."""
    return layers[:: 1 + len(layers) // 17]


def _paths(plot: Axes, paths: Paths, best: np.ndarray, ink: str, name: str = "_best") -> None:
    """Paths by number of sweeps, the later the darker, on the broad path of the best plan."""
    layers = range(len(best))
    plot.plot(layers, best, color=INK, linewidth=5, alpha=0.4, label=name)
    words = {0: "no push", 1: "1 sweep"}
    for (sweeps, path), shade in zip(paths.items(), np.linspace(0.65, 1, len(paths)), strict=True):
        label = words.get(sweeps, f"{sweeps} sweeps")
        plot.plot(layers, path, color=ink, alpha=shade, label=label)
    name_ends(plot)
    plot.set_ylabel("disturbance seen")


def plans_table(costs: Mapping[int, float], best: float) -> Table:
    """What the plans cost, by number of sweeps."""
    rows = [{"sweeps": n, "cost": paid, "times best": paid / best} for n, paid in costs.items()]
    return table(rows, f"Cost of the plans; the best: {best:.2f}", 2, folded=True)


# --- The sweep ----------------------------------------------------------------------------------


def sweep() -> Figure:
    """Three layers: the states forward, the costates back, and the slopes."""
    fig = Figure(figsize=(5.8, 2.6))
    plot = fig.add_subplot(xlim=(-0.9, 11.6), ylim=(-1.6, 3.7))
    for t in range(4):
        _put(plot, 3.5 * t, 2, f"$x_{t}$", fontsize=14)
        _put(
            plot,
            3.5 * t + (t == 3) * 0.4,
            0,
            f"$p_{t}$" if t < 3 else "$p_3 = 0$",
            OURS,
            fontsize=14,
        )
    for t in range(3):
        here = 3.5 * t
        plus = here + 1.15
        layer = here + 2.3
        _box(plot, layer, 2, rf"$\theta_{t}$", INK)
        _box(plot, layer, 0, rf"$\theta_{t}^{{\top}}$", OURS)
        for y, ink in ((2, INK), (0, OURS)):
            plot.plot(plus, y, "o", color=ink, fillstyle="none", markersize=13)
            _put(plot, plus, y, "+", ink, fontsize=12)
            for start, end in (
                (here + 0.4, plus - 0.3),
                (plus + 0.3, layer - 0.45),
                (layer + 0.45, here + 3.15),
            ):
                places = (start, y), (end, y)
                _arrow(plot, *(places if y else places[::-1]), ink)
        _put(plot, plus, 3.4, f"$u_{t}$", fontsize=14)
        _arrow(plot, (plus, 3.05), (plus, 2.4), INK)
        _arrow(plot, (plus, 1.6), (plus, 0.4), OURS)
        _put(plot, plus + 0.75, 1, rf"$-Q_{t}\,v_{t}$", OURS, fontsize=13)
        _put(plot, here, -1.25, rf"$c\,u_{t} - p_{t}$", fontsize=13)
        _arrow(plot, (here, -0.35), (here, -0.85), OURS)
    plot.set_axis_off()
    return fig


def _put(plot: Axes, x: float, y: float, words: str, ink: str = INK, **style) -> None:
    plot.text(x, y, words, color=ink, ha="center", va="center", **style)


def _box(plot: Axes, x: float, y: float, words: str, ink: str) -> None:
    _put(plot, x, y, words, ink, fontsize=13)
    across = x + np.array([-0.45, 0.45, 0.45, -0.45, -0.45])
    along = y + np.array([-0.4, -0.4, 0.4, 0.4, -0.4])
    plot.plot(across, along, color=ink, linewidth=1)


def _arrow(plot: Axes, start: Sequence[float], end: Sequence[float], ink: str) -> None:
    shape = dict(arrowstyle="-|>", color=ink, shrinkA=0, shrinkB=0, mutation_scale=12)
    plot.annotate("", end, start, arrowprops=shape)


# --- A moved input ------------------------------------------------------------------------------


def moved(costs: Mapping[str, Mapping[str, float]]) -> Figure:
    """Cost of the plan and of the feedback, for each input."""
    fig = Figure(figsize=(5.6, 2.2))
    plot = fig.add_subplot(xlabel="cost")
    every = [cost for paid in costs.values() for cost in paid.values()]
    plot.set_xlim(reach((0, 2.4), 1.2 * np.array(every)))
    plot.xaxis.set_major_locator(MaxNLocator(4, integer=True))
    places = np.arange(len(costs))
    for shift, name, ink in ((-0.2, "plan", OURS), (0.2, "feedback", ESTIMATE)):
        values = [paid[name] for paid in costs.values()]
        bars = plot.barh(places + shift, values, 0.36, color=ink)
        labels = [f"{name}: {value:.2f}" for value in values]
        plot.bar_label(bars, labels, padding=5, color=ink, fontsize=11)
    plot.set_yticks(places, list(costs))
    plot.invert_yaxis()
    plot.grid(visible=False)
    return fig


def moved_table(costs: Mapping[str, Mapping[str, float]]) -> Table:
    """Cost of the plan and of the feedback, for each input."""
    rows = [{"input": name} | dict(paid) for name, paid in costs.items()]
    return table(rows, "Cost of the plan and of the feedback", digits=2, folded=True)


# --- The printed costates -----------------------------------------------------------------------


def printed(excess: Mapping[str, np.ndarray], shown: int = 81) -> Figure:
    """Excess cost in % against sweeps, (systems, sweeps) each; broad, the median."""
    shown = min(shown, excess["exact"].shape[1])
    fig = Figure(figsize=(5.6, 4))
    plot = fig.add_subplot(xlabel="sweeps", ylabel="excess cost, %")
    for runs, ink in ((excess["exact"], OURS), (excess["printed"], PAPER)):
        plot.plot(runs[:, :shown].T, color=ink, linewidth=0.8, alpha=0.5)
        plot.plot(np.median(runs, axis=0)[:shown], color=ink, linewidth=3.5)
    ticks = (0.01, 0.1, 1, 10, 100, 1000)
    _, highest = reach((0.01, 1000), *(runs[:, :shown] for runs in excess.values()))
    plot.set(yscale="log", xlim=(0, shown - 1), ylim=(0.01, highest), yticks=ticks)
    plot.xaxis.set_major_locator(MaxNLocator(9, integer=True))
    plot.set_yticklabels([f"{tick:g}" for tick in ticks])
    plot.text(shown - 2, 70, "printed costates", color=PAPER, ha="right")
    plot.text(shown - 2, 0.4, "all later losses counted", color=OURS, ha="right")
    return fig


def printed_table(percentages: Mapping[str, Sequence[float]]) -> Table:
    """Median and largest of each."""
    rows = []
    for name, values in percentages.items():
        rows.append({"%": name, "median": np.median(values), "most": np.max(values)})
    systems = max(len(values) for values in percentages.values())
    return table(rows, f"After the last sweep, {systems} systems, in %", 0, folded=True)


# --- The maximum condition ----------------------------------------------------------------------


def maximum(
    grid: np.ndarray, cost: np.ndarray, hamiltonian: np.ndarray, valleys: Sequence[int]
) -> Figure:
    """Cost and Hamiltonian over the first control, (n,) each; valleys: their places, best first."""
    if len(valleys) != 2:
        raise ValueError(
            f"number of valleys of the cost: {len(valleys)}; the picture needs two, "
            "as with the layer's size near 4.9 and the first state near 3.6"
        )
    best, second = valleys
    top = hamiltonian.argmax()
    wide = slice(best - 700, best + 4300)
    fig = Figure(figsize=(5.6, 5.2))
    upper, lower = fig.subplots(2, 1, sharex=True)
    for plot, y, ink in ((upper, cost, OURS), (lower, hamiltonian, ATTACKER)):
        plot.plot(grid[wide], y[wide], color=ink)
        plot.plot(grid[best], y[best], "o", color=INK)
        plot.axvline(grid[best], color=INK, linewidth=1, linestyle=":")
    upper.plot(grid[second], cost[second], "o", color=INK, fillstyle="none")
    for k, shift in ((best, 0.45), (second, 0)):
        below = dict(va="top", ha="center", color=INK)
        upper.text(grid[k] + shift, cost[k] - 0.2, f"{cost[k]:.4f}", **below)
    _close_up(lower, grid, hamiltonian, best)
    lower.plot(grid[top], hamiltonian[top], "D", color=ATTACKER)
    words = "the maximum: the\nbasic recipe jumps here"
    lower.text(-0.8, -3.5, words, color=ATTACKER, ha="right", va="center")
    upper.set(ylim=reach((5.3, 9), cost[best], cost[second]), ylabel="cost J")
    lower.set(
        xlabel="first control u₀",
        ylabel="Hamiltonian H₀",
        ylim=reach((-7.2, -3), hamiltonian[best], hamiltonian[top]),
    )
    return fig


def maximum_table(
    grid: np.ndarray, cost: np.ndarray, hamiltonian: np.ndarray, valleys: Sequence[int]
) -> Table:
    """Cost and Hamiltonian at the two valleys of the cost and at the Hamiltonian's maximum."""
    places = {"best control": valleys[0], "second valley": valleys[1]}
    places["maximum of the Hamiltonian"] = hamiltonian.argmax()
    rows = [
        {"": name, "u₀": float(grid[k]), "J": float(cost[k]), "H₀": float(hamiltonian[k])}
        for name, k in places.items()
    ]
    return table(rows, "Cost and Hamiltonian at three first controls", digits=2, folded=True)


def _close_up(plot: Axes, grid: np.ndarray, values: np.ndarray, k: int) -> None:
    """The curve near place k, in a corner."""
    near = slice(k - 450, k + 250)
    inset = plot.inset_axes((0.62, 0.13, 0.33, 0.3))
    inset.plot(grid[near], values[near], color=ATTACKER)
    inset.plot(grid[k], values[k], "o", color=INK)
    inset.axvline(grid[k], color=INK, linewidth=1, linestyle=":")
    inset.set(xticks=(-3.7, -3.3), ylim=(values[near].min() - 0.02, values[near].max() + 0.02))
    inset.grid(visible=False)
    inset.tick_params(labelsize=9.5)
    inset.set_title("around the dot", fontsize=11)


# --- A plan and feedbacks -----------------------------------------------------------------------


def residual(costs: np.ndarray, ignored: float, along: float, shown: int = 25) -> Figure:
    """What sweeps and two feedbacks cost beyond the last sweep, in %."""
    if min(ignored, along) <= costs[-1]:
        words = f"after {len(costs) - 1} sweeps the plans still cost more than a feedback"
        raise ValueError(f"{words}; take more sweeps, or a smaller step")
    fig = Figure(figsize=(5.6, 3.4), layout="constrained")
    plot = fig.add_subplot(xlabel="sweeps", ylabel="excess cost, %", yscale="log")
    excess = 100 * (costs / costs[-1] - 1)
    plot.plot(np.where(excess > 0, excess, np.nan)[:shown], "-o", markersize=4, color=OURS)
    lines = {"feedback, bend ignored": (ignored, "-"), "feedback, mean slope": (along, "--")}
    # the upper name stands above its line at the right, the lower beneath it at the left
    places = ((shown - 0.8, 1.15, dict(ha="right", va="bottom")), (-0.2, 0.85, dict(va="top")))
    for (name, (cost, dash)), (x, lift, where) in zip(lines.items(), places, strict=True):
        level = 100 * (cost / costs[-1] - 1)
        plot.axhline(level, color=ESTIMATE, linestyle=dash)
        plot.text(x, lift * level, f"{name}: {level:.1f} %", color=ESTIMATE, **where)
    plot.text(3.5, 45, "gradient steps", color=OURS)
    plot.text(0.5, excess[0], f"no control: {excess[0]:.0f} %", color=INK, va="center")
    low = 0.7 * excess[:shown][excess[:shown] > 0].min()  # the last sweep has none
    plot.set(xlim=(-0.5, shown - 0.5), ylim=(low, 1.6 * excess.max()))
    plot.set_yticks((0.1, 1, 10, 100), ("0.1", "1", "10", "100"))
    plot.minorticks_off()
    return fig


def residual_table(costs: Mapping[str, float], best: float) -> Table:
    """What each costs, and how many times the best."""
    rows = [{"control": name, "cost": paid, "times": paid / best} for name, paid in costs.items()]
    return table(rows, "Cost of all inputs together, residual layers", 2, folded=True)
