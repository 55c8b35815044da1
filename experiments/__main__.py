"""Command line: `python -m experiments train | reproduce | bench | budget`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from pidlib.cli.app import AsJson, run, say, show

app = typer.Typer(
    help="What produces the recorded evidence of the book.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
RESULTS = Path("book/results")
RUNS = Path("runs")


def _listed(told: str) -> list[str]:
    """Words between commas; "none" is none."""
    return [] if told.strip() in ("", "none") else [word.strip() for word in told.split(",")]


@app.command()
def train(
    name: Annotated[
        str, typer.Option(help="minilm-nli, or with -a2t, -freelb or -second after it.")
    ] = "minilm-nli",
    runs: Annotated[Path, typer.Option(help="Folder of checkpoints.")] = RUNS,
    target: Annotated[
        Path | None, typer.Option(help="Folder for the adapter; by default inside pidlib.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1, help="Of the start's schedule.")] = 5,
    n: Annotated[int | None, typer.Option(min=1, help="Rows of each source (a trial).")] = None,
    every: Annotated[
        float, typer.Option(min=0, help="Seconds between two writings of unfinished training.")
    ] = 60.0,
    as_json: AsJson = False,
) -> None:
    """Fine-tune the embedded MiniLM with LoRA on captions and, where present, SNLI and SICK.

    Example: PIDLIB_DATA_DIR=data python -m pidlib train --name minilm-nli-a2t
    """
    from experiments.adapters import make_adapter
    from experiments.training import LoraSettings

    record = make_adapter(name, runs, LoraSettings(epochs=epochs), n, say, target, every)
    show(record, as_json, record["measured"])


@app.command()
def reproduce(
    experiment: Annotated[
        str, typer.Argument(help="Which one: trial, wiener, pmp or contrast.")
    ] = "trial",
    data: Annotated[str, typer.Option(help="captions, or a file such as snli-test.")] = "captions",
    model: Annotated[str, typer.Option(help="Name of an adapter.")] = "minilm-nli",
    n: Annotated[int, typer.Option(min=1, help="Rows attacked by each recipe.")] = 1000,
    clean: Annotated[int, typer.Option(min=1, help="Rows judged without attack.")] = 2000,
    swarm: Annotated[int, typer.Option(min=1, help="Rows attacked by PSO, at most.")] = 1000,
    after: Annotated[int, typer.Option(min=0, help="Rows of the data to pass over.")] = 0,
    attacks: Annotated[bool, typer.Option(help="Attack, or only judge the clean rows.")] = True,
    adaptive: Annotated[
        int,
        typer.Option(
            min=0, help="Rows of attacks that see the control: P-D at 99 %, for wiener each."
        ),
    ] = 0,
    placebos: Annotated[
        bool,
        typer.Option(help="Judge placebos of P-D control too; for wiener, of the last control."),
    ] = True,
    resources: Annotated[
        str | None, typer.Option(help="lexicon or ppdb; by default what suits the data.")
    ] = None,
    only: Annotated[
        str | None,
        typer.Option(
            help="Run one part and stop: an attack, 'adaptive' and an attack (for one control "
            "or rival: comma, its name), or judge."
        ),
    ] = None,
    mixes: Annotated[
        str, typer.Option(help="Random edits that closed forms learn from, for wiener; or none.")
    ] = "typos,synonyms,both,words",
    terminals: Annotated[
        str, typer.Option(help="Those that terminal costs learn from, for wiener; or none.")
    ] = "both",
    restarts: Annotated[
        bool, typer.Option(help="Attack what withstood a random recipe once more, for wiener.")
    ] = False,
    wide: Annotated[
        bool, typer.Option(help="Attack what withstood with twice the candidates, for wiener.")
    ] = False,
    thresholds: Annotated[
        str, typer.Option(help="Those of P-D control that are attacked, for wiener; or none.")
    ] = "0.99,0.95",
    rivals: Annotated[
        str | None,
        typer.Option(help="Rivals of control, for wiener, by comma, or none; by default all."),
    ] = None,
    estimated_on: Annotated[
        str, typer.Option(help="Data that estimating controls learn from; the same by default.")
    ] = "",
    words_from: Annotated[
        str, typer.Option(help="Source of words of their random edits; the attack's by default.")
    ] = "",
    label: Annotated[str, typer.Option(help="Last part of the result's name, for wiener.")] = "",
    sweeps: Annotated[int, typer.Option(min=1, help="Of the solver, for pmp.")] = 20,
    results: Annotated[Path, typer.Option(help="Folder of result files.")] = RESULTS,
    runs: Annotated[Path, typer.Option(help="Folder of unfinished runs.")] = RUNS,
    seed: int = 0,
    as_json: AsJson = False,
) -> None:
    """Run an experiment of the book and write its result file.

    Example: PIDLIB_DATA_DIR=data python -m pidlib reproduce trial --data snli-test
    """
    from experiments.record import Running, Trial, gains_over_none, proportions, run_trial
    from experiments.rivals import WIENER
    from experiments.trial import usual_rivals
    from pidlib.attacks.attack import RECIPES
    from pidlib.estimation.estimator import TERMINAL

    if experiment == "pmp":
        from experiments.pmp import OptimaTrial, run_optima

        found = run_optima(OptimaTrial(data, model, n=n, sweeps=sweeps), results, runs, say)
        show(found, as_json, [])
        return
    if experiment == "contrast":
        from experiments.contrast import ContrastTrial, run_contrast

        rows = {"data": "snli-test" if data == "captions" else data, "after": after or 3000}
        found = run_contrast(ContrastTrial(model=model, seed=seed, **rows), results, runs, say)
        show(found, as_json, [])
        return
    if experiment not in ("trial", "wiener"):
        known = "trial, wiener, pmp, contrast"
        raise typer.BadParameter(f"unknown experiment {experiment!r}; known: {known}")
    changes: dict[str, Any] = {}
    if experiment == "wiener":
        estimators = tuple(
            (rule, mix)
            for rule, told in ((WIENER, mixes), (TERMINAL, terminals))
            for mix in _listed(told)
        )
        plain = (("PD", 0.99), ("PD", 0.95))
        known = {f"{v:g}": (scheme, v) for scheme, v in plain}
        asked = _listed(thresholds)
        if odd := [one for one in asked if one not in known]:
            raise typer.BadParameter(f"unknown threshold {odd[0]!r}; known: {list(known)}")
        attacked = [known[one] for one in asked]
        usual = () if estimated_on or words_from else usual_rivals(estimators)
        changes = {
            "kind": "wiener",
            "controls": plain,
            "estimators": estimators,
            "estimated_on": estimated_on,
            "words_from": words_from,
            "label": label,
            "rivals": usual if rivals is None else tuple(_listed(rivals)),
            "restarts": restarts,
            "wide": wide,
            "placebos": estimators[-1:] if placebos else (),
            "adaptive": (*attacked, *estimators) if adaptive else (),
        }
    trial = Trial(
        data,
        model,
        n=n,
        swarm=swarm,
        clean=max(n, clean),
        after=after,
        recipes=RECIPES if attacks else (),
        resources=resources or ("lexicon" if data == "captions" else "ppdb"),
        adaptive_n=adaptive or n,
        second=None if model == "minilm-nli-second" else "minilm-nli-second",
        seed=seed,
        **{
            "placebos": (("PD", 0.99), ("PD", 0.95))[: 2 if attacks else 1] if placebos else (),
            "adaptive": (("PD", 0.99),) if adaptive else (),
            **changes,
        },
    )
    if only is not None:
        parts = (*trial.cells, "judge")
        part, _, name = only.partition(", ")
        if part not in parts:
            raise typer.BadParameter(f"no part {only!r} in this trial; known: {list(parts)}")
        running = Running(trial, results, runs, say)
        if name and name not in running.contenders():
            raise typer.BadParameter(f"no {name!r}; known: {list(running.contenders())}")
        found = running.judge() if part == "judge" else running.attack(part, name or None)
        show(found or {}, as_json, [])
        return
    result = run_trial(trial, results, runs, say)
    rows = []
    for control, sets in proportions(result).items():
        gains = {} if control == "none" else gains_over_none(result, control)
        for key, share in sets.items():
            change = str(gains.get(key, ""))
            rows.append({"control": control, "set": key, "right": str(share), "gain": change})
    show(result, as_json, rows)


@app.command()
def bench(
    results: Annotated[Path, typer.Option(help="Folder of result files.")] = RESULTS,
    quick: Annotated[bool, typer.Option(help="Fewer repeats.")] = False,
    sizes: Annotated[bool, typer.Option(help="Only the paper's model sizes.")] = False,
    fit: Annotated[bool, typer.Option(help="Only the fit, against the stored SVD.")] = False,
    scale: Annotated[
        bool, typer.Option(help="Only memory of a long fit, and an attack by two processes.")
    ] = False,
    faults: Annotated[
        int, typer.Option(min=0, help="Only faults: so many kills of long work, and what is lost.")
    ] = 0,
    as_json: AsJson = False,
) -> None:
    """Measure theory, fit, control and attack, each against what it is compared with.

    Example: python -m pidlib bench --sizes --results mine
    """
    from experiments.benchmarks.control import run_benchmarks
    from experiments.benchmarks.faults import run_faults
    from experiments.benchmarks.fit import run_fit_benchmark
    from experiments.benchmarks.scale import run_scale_benchmark
    from experiments.benchmarks.sizes import run_cost_benchmark
    from experiments.benchmarks.theory import run_theory_benchmark

    part, runs = {"results": results, "report": say}, {}
    if faults:
        runs["faults"] = run_faults(kills=faults, **part)
    part["quick"] = quick
    if scale:
        runs["scale"] = run_scale_benchmark(**part)
    every = not (faults or scale or fit or sizes)
    if every:
        runs["theory"] = run_theory_benchmark(**part)
        runs["control"] = run_benchmarks(**part)
    if fit or every:
        runs["fit"] = run_fit_benchmark(**part)
    if sizes or every:
        runs["sizes"] = run_cost_benchmark(**part)
    show(runs, as_json, [])


@app.command()
def budget(
    n: Annotated[int, typer.Option(min=1, help="Rows attacked in each part of the grid.")] = 1000,
    results: Annotated[Path, typer.Option(help="Folder of result files.")] = RESULTS,
    times: Annotated[
        Path | None, typer.Option(help="Folder with the bench-cost.json of another machine.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Estimate what the paper's whole grid of attacks costs, from what was measured.

    Example: python -m pidlib bench --sizes --results mine && python -m pidlib budget --times mine
    """
    from experiments.benchmarks.budget import grid_budget

    rows = [one._asdict() for one in grid_budget(results, n, times)]
    show({"n": n, "models": rows}, as_json, rows)


def main() -> None:
    """Door of the command line."""
    run(app)


if __name__ == "__main__":
    main()
