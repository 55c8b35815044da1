"""Command line: `python -m pidlib train | reproduce | bench`."""

from __future__ import annotations

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


def _say(text: str) -> None:
    console.print(text, soft_wrap=True, markup=False)


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
) -> None:
    """Fine-tune the embedded MiniLM with LoRA on captions and, where present, SNLI and SICK.

    Example: PIDLIB_DATA_DIR=data python -m pidlib train --name minilm-nli-a2t
    """
    from pidlib.adapters import make_adapter
    from pidlib.training import LoraSettings

    make_adapter(name, runs, LoraSettings(epochs=epochs), n, _say, target)


@app.command()
def reproduce(
    experiment: Annotated[str, typer.Argument(help="Which one: trial, wiener or pmp.")] = "trial",
    data: Annotated[str, typer.Option(help="captions, or a file such as snli-test.")] = "captions",
    model: Annotated[str, typer.Option(help="Name of an adapter.")] = "minilm-nli",
    n: Annotated[int, typer.Option(min=1, help="Rows attacked by each recipe.")] = 1000,
    clean: Annotated[int, typer.Option(min=1, help="Rows judged without attack.")] = 2000,
    swarm: Annotated[int, typer.Option(min=1, help="Rows attacked by PSO, at most.")] = 1000,
    attacks: Annotated[bool, typer.Option(help="Attack, or only judge the clean rows.")] = True,
    adaptive: Annotated[
        int,
        typer.Option(
            min=0, help="Rows of attacks that see the control: P-D at 99 %, for wiener each."
        ),
    ] = 0,
    placebos: Annotated[bool, typer.Option(help="Judge placebos of P-D control too.")] = True,
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
        str, typer.Option(help="Random edits that closed forms learn from, for wiener.")
    ] = "typos,synonyms,both",
    estimated_on: Annotated[
        str, typer.Option(help="Data that estimating controls learn from; the same by default.")
    ] = "",
    sweeps: Annotated[int, typer.Option(min=1, help="Of the solver, for pmp.")] = 20,
    results: Annotated[Path, typer.Option(help="Folder of result files.")] = RESULTS,
    runs: Annotated[Path, typer.Option(help="Folder of unfinished runs.")] = RUNS,
    seed: int = 0,
) -> None:
    """Run an experiment of the book and write its result file.

    Example: PIDLIB_DATA_DIR=data python -m pidlib reproduce trial --data snli-test
    """
    from pidlib.attacks import RECIPES
    from pidlib.contenders import RIVALS, WIENER
    from pidlib.estimator import TERMINAL
    from pidlib.experiments import Running, Trial, gains_over_none, proportions, run_trial

    if experiment == "pmp":
        from pidlib.optima import OptimaTrial, run_optima

        run_optima(OptimaTrial(data, model, n=n, sweeps=sweeps), results, runs, _say)
        return
    if experiment not in ("trial", "wiener"):
        raise typer.BadParameter(f"unknown experiment {experiment!r}; known: trial, wiener, pmp")
    changes: dict[str, Any] = {}
    if experiment == "wiener":
        estimators = (*((WIENER, mix) for mix in mixes.split(",")), (TERMINAL, "both"))
        plain = (("PD", 0.99), ("PD", 0.95))
        changes = {
            "kind": "wiener",
            "controls": plain,
            "estimators": estimators,
            "estimated_on": estimated_on,
            "rivals": () if estimated_on else RIVALS,
            "restarts": bool(adaptive),
            "placebos": estimators if placebos else (),
            "adaptive": (*plain, *estimators) if adaptive else (),
        }
    trial = Trial(
        data,
        model,
        n=n,
        swarm=swarm,
        clean=max(n, clean),
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
        _ = running.judge() if part == "judge" else running.attack(part, name or None)
        return
    result = run_trial(trial, results, runs, _say)
    for control, sets in proportions(result).items():
        for key, share in sets.items():
            change = "" if control == "none" else f"  {gains_over_none(result, control)[key]}"
            print(f"{control:20} {key:20} {share}{change}")


@app.command()
def bench(
    results: Annotated[Path, typer.Option(help="Folder of result files.")] = RESULTS,
    quick: Annotated[bool, typer.Option(help="Fewer repeats.")] = False,
    sizes: Annotated[bool, typer.Option(help="Only the paper's model sizes.")] = False,
    fit: Annotated[bool, typer.Option(help="Only the fit, against the stored SVD.")] = False,
) -> None:
    """Measure theory, fit, control and attack, each against what it is compared with."""
    from pidlib.cost_benchmarks import run_cost_benchmark
    from pidlib.fit_benchmarks import run_fit_benchmark

    if fit or sizes:
        if fit:
            run_fit_benchmark(results, quick=quick, report=_say)
        if sizes:
            run_cost_benchmark(results, quick=quick, report=_say)
        return
    from pidlib.benchmarks import run_benchmarks
    from pidlib.theory_benchmarks import run_theory_benchmark

    run_theory_benchmark(results, quick=quick, report=_say)
    run_benchmarks(results, quick=quick, report=_say)
    run_fit_benchmark(results, quick=quick, report=_say)
    run_cost_benchmark(results, quick=quick, report=_say)


def main() -> None:
    """Run the command line; a user's mistake prints one line and exits with 2."""
    try:
        app(standalone_mode=True)
    except (ValueError, FileNotFoundError) as error:
        _say(f"error: {error}")
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
