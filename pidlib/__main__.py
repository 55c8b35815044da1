"""Command line: `python -m pidlib fit | evaluate | attack | diagnose | doctor | train | ...`.

Standard output holds the result, as a table or with `--json` as JSON; all else goes to standard
error. Exit codes: 0 done, 1 the doctor found something broken, 2 a mistake of the user (named
on one line), 130 stopped by Ctrl-C (the same command goes on where it stopped).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

app = typer.Typer(
    help="PID control of the hidden states of pretrained transformers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console(stderr=True, highlight=False)
RESULTS = Path("book/results")
RUNS = Path("runs")
STOPPED = 130
_MISTAKE = typer.BadParameter.__mro__[2]  # click's ClickException, which typer does not export


Config = Annotated[
    Path | None, typer.Option("--config", help="TOML file of settings; options win over it.")
]
Model = Annotated[str | None, typer.Option(help="An adapter that ships, a folder, or owner/name.")]
Data = Annotated[str | None, typer.Option(help="captions, snli-test, FILE.jsonl or owner/name.")]
Split = Annotated[str | None, typer.Option(help="train, validation or test, where there are any.")]
Rows = Annotated[int | None, typer.Option(help="Rows, the first.")]
Control = Annotated[str | None, typer.Option(help="Folder of a controller, or one that ships.")]
Batch = Annotated[int | None, typer.Option(help="Rows at a time.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and no table.")]


def _say(text: str) -> None:
    console.print(text, soft_wrap=True, markup=False)


def _listed(told: str) -> list[str]:
    """Words between commas; "none" is none."""
    return [] if told.strip() in ("", "none") else [word.strip() for word in told.split(",")]


def _show(found: dict[str, Any], as_json: bool, rows: list[dict[str, Any]], told: str = "") -> None:
    """Print what a command found: all of it as JSON, or a table. One process of several does."""
    if os.environ.get("RANK", "0") != "0":
        return
    if as_json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return
    from pidlib.tables import print_table

    if told:
        print(told)
    if rows:
        print_table(rows, digits=4)


@app.command()
def fit(
    out: Annotated[Path, typer.Argument(help="Folder that receives the controller.")],
    config: Config = None,
    model: Model = None,
    data: Data = None,
    split: Split = None,
    n: Rows = None,
    scheme: Annotated[str | None, typer.Option(help="P, PI, PD or PID.")] = None,
    variance: Annotated[float | None, typer.Option(help="Share that subspaces keep.")] = None,
    c: Annotated[float | None, typer.Option(help="Price of control.")] = None,
    law: Annotated[
        str | None, typer.Option(help="averaged, exact-gain, residual, wiener or terminal.")
    ] = None,
    mix: Annotated[
        str | None, typer.Option(help="typos, synonyms, both or words, for wiener and terminal.")
    ] = None,
    rho: Annotated[float | None, typer.Option(help="Weight of changed text, for those.")] = None,
    batch_size: Batch = None,
    every: Annotated[
        float | None, typer.Option(help="Seconds between two writings of an unfinished fit.")
    ] = None,
    replace: Annotated[bool, typer.Option(help="Replace a controller that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a controller on text and write it to a folder.

    Example: python -m pidlib fit pd-99 --n 2000 --scheme PD --variance 0.99
    """
    from pidlib import commands
    from pidlib.settings import FitSettings

    changes = dict(
        model=model, data=data, split=split, n=n, scheme=scheme, variance=variance, c=c, law=law,
        mix=mix, rho=rho, batch_size=batch_size, every=every,
    )  # fmt: skip
    found = commands.fit(FitSettings.read(config, changes), out, replace)
    _show(found, as_json, found["rows"], found["summary"])


@app.command()
def evaluate(
    config: Config = None,
    model: Model = None,
    data: Data = None,
    split: Split = None,
    n: Rows = None,
    control: Control = None,
    batch_size: Batch = None,
    as_json: AsJson = False,
) -> None:
    """Count right answers without control and under one.

    Example: python -m pidlib evaluate --control pd-99 --n 1000
    """
    from pidlib import commands
    from pidlib.settings import EvaluateSettings

    changes = dict(model=model, data=data, split=split, n=n, control=control, batch_size=batch_size)
    found = commands.evaluate(EvaluateSettings.read(config, changes))
    rows = [
        {
            "condition": name,
            "right": f"{one['right']}/{one['n']}",
            "accuracy": one["right"] / one["n"],
            "low": one["low"],
            "high": one["high"],
        }
        for name, one in found["counts"].items()
    ]
    _show(found, as_json, rows, found.get("control", ""))


@app.command()
def attack(
    log: Annotated[Path, typer.Argument(help="File of outcomes; an unfinished one goes on.")],
    config: Config = None,
    model: Model = None,
    data: Data = None,
    split: Split = None,
    n: Rows = None,
    start: Annotated[int | None, typer.Option(help="First row.")] = None,
    recipe: Annotated[str | None, typer.Option(help="a2t, pso, textbugger or textfooler.")] = None,
    resources: Annotated[str | None, typer.Option(help="lexicon, ppdb or stock.")] = None,
    control: Control = None,
    budget: Annotated[int | None, typer.Option(help="Most queries an example.")] = None,
    seed: Annotated[int | None, typer.Option(help="Of the search.")] = None,
    as_json: AsJson = False,
) -> None:
    """Attack rows, the model as it is or under a control that the attacker sees.

    Example: python -m pidlib attack outcomes.jsonl --recipe textfooler --n 200 --control pd-99
    """
    from pidlib import commands
    from pidlib.settings import AttackSettings

    changes = dict(
        model=model, data=data, split=split, n=n, start=start, recipe=recipe, resources=resources,
        control=control, budget=budget, seed=seed,
    )  # fmt: skip
    found = commands.attack(AttackSettings.read(config, changes), log)
    _show(found, as_json, [found["counts"]], found["control"] or "")


@app.command()
def diagnose(
    folder: Annotated[Path, typer.Argument(help="Folder of a controller.")],
    as_json: AsJson = False,
) -> None:
    """Look into a controller, state by state.

    Example: python -m pidlib diagnose pd-99
    """
    from pidlib import commands

    found = commands.diagnose(folder)
    _show(found, as_json, found["rows"], found["summary"])


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Look whether everything is there: versions, checksums, words for attacks, data.

    Example: python -m pidlib doctor
    """
    from pidlib.doctor import examine

    found = [one._asdict() for one in examine()]
    _show({"findings": found}, as_json, found)
    if any(one["state"] == "broken" for one in found):
        raise typer.Exit(1)


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
    from pidlib.adapters import make_adapter
    from pidlib.training import LoraSettings

    record = make_adapter(name, runs, LoraSettings(epochs=epochs), n, _say, target, every)
    _show(record, as_json, record["measured"])


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
    from pidlib.attacks import RECIPES
    from pidlib.contenders import WIENER
    from pidlib.estimator import TERMINAL
    from pidlib.experiments import Running, Trial, gains_over_none, proportions, run_trial
    from pidlib.trials import usual_rivals

    if experiment == "pmp":
        from pidlib.optima import OptimaTrial, run_optima

        found = run_optima(OptimaTrial(data, model, n=n, sweeps=sweeps), results, runs, _say)
        _show(found, as_json, [])
        return
    if experiment == "contrast":
        from pidlib.contrast_trial import ContrastTrial, run_contrast

        rows = {"data": "snli-test" if data == "captions" else data, "after": after or 3000}
        found = run_contrast(ContrastTrial(model=model, seed=seed, **rows), results, runs, _say)
        _show(found, as_json, [])
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
        running = Running(trial, results, runs, _say)
        if name and name not in running.contenders():
            raise typer.BadParameter(f"no {name!r}; known: {list(running.contenders())}")
        found = running.judge() if part == "judge" else running.attack(part, name or None)
        _show(found or {}, as_json, [])
        return
    result = run_trial(trial, results, runs, _say)
    rows = []
    for control, sets in proportions(result).items():
        gains = {} if control == "none" else gains_over_none(result, control)
        for key, share in sets.items():
            change = str(gains.get(key, ""))
            rows.append({"control": control, "set": key, "right": str(share), "gain": change})
    _show(result, as_json, rows)


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
    from pidlib.benchmarks import run_benchmarks
    from pidlib.cost_benchmarks import run_cost_benchmark
    from pidlib.faults import run_faults
    from pidlib.fit_benchmarks import run_fit_benchmark
    from pidlib.scale_benchmarks import run_scale_benchmark
    from pidlib.theory_benchmarks import run_theory_benchmark

    part, runs = {"results": results, "report": _say}, {}
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
    _show(runs, as_json, [])


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
    from pidlib.budgets import grid_budget

    rows = [one._asdict() for one in grid_budget(results, n, times)]
    _show({"n": n, "models": rows}, as_json, rows)


def main() -> None:
    """Run the command line; a user's mistake prints one line and exits with 2."""
    try:
        code = app(standalone_mode=False)
    except (ValueError, FileNotFoundError, FileExistsError, ImportError) as error:
        _say(f"error: {error}")
        raise SystemExit(2) from None
    except _MISTAKE as error:  # of the command line itself
        error.show()
        raise SystemExit(2) from None
    if code == STOPPED:  # typer's own answer to Ctrl-C
        _say("stopped; the same command goes on where it stopped")
    raise SystemExit(code or 0)


if __name__ == "__main__":
    main()
