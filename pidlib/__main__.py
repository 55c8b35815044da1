"""Command line: `python -m pidlib train | reproduce | bench`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
    name: Annotated[str, typer.Option(help="Name of the adapter.")] = "minilm-nli",
    run: Annotated[Path | None, typer.Option(help="Folder of checkpoints.")] = None,
    target: Annotated[
        Path | None, typer.Option(help="Folder for the adapter; by default inside pidlib.")
    ] = None,
    epochs: Annotated[int, typer.Option(min=1)] = 5,
    n: Annotated[int | None, typer.Option(min=1, help="Rows of each source (a trial).")] = None,
    seed: int = 0,
) -> None:
    """Fine-tune the embedded MiniLM with LoRA on captions and, where present, SNLI and SICK.

    Example: PIDLIB_DATA_DIR=data python -m pidlib train --epochs 5
    """
    from pidlib.adapters import make_adapter
    from pidlib.training import LoraSettings

    settings = LoraSettings(epochs=epochs, seed=seed)
    make_adapter(name, run or RUNS / name, settings, n, _say, target)


@app.command()
def reproduce(
    experiment: Annotated[str, typer.Argument(help="Which one: transfer.")] = "transfer",
    data: Annotated[str, typer.Option(help="captions, or a file such as snli-test.")] = "captions",
    n: Annotated[int, typer.Option(min=1, help="Rows attacked by each recipe.")] = 500,
    clean: Annotated[int, typer.Option(min=1, help="Rows judged without attack.")] = 2000,
    resources: Annotated[
        str | None, typer.Option(help="lexicon or ppdb; by default what suits the data.")
    ] = None,
    results: Annotated[Path, typer.Option(help="Folder of result files.")] = RESULTS,
    runs: Annotated[Path, typer.Option(help="Folder of unfinished runs.")] = RUNS,
    seed: int = 0,
) -> None:
    """Run an experiment of the book and write its result file.

    Example: PIDLIB_DATA_DIR=data python -m pidlib reproduce transfer --data snli-test
    """
    from pidlib.experiments import TransferTrial, gains_over_none, proportions, run_transfer

    if experiment != "transfer":
        raise typer.BadParameter(f"unknown experiment {experiment!r}; known: transfer")
    resources = resources or ("lexicon" if data == "captions" else "ppdb")
    trial = TransferTrial(data, n, clean, resources=resources, seed=seed)
    result = run_transfer(trial, results, runs, _say)
    for control, sets in proportions(result).items():
        for key, share in sets.items():
            change = "" if control == "none" else f"  {gains_over_none(result, control)[key]}"
            print(f"{control:10} {key:12} {share}{change}")


@app.command()
def bench(
    results: Annotated[Path, typer.Option(help="Folder of result files.")] = RESULTS,
    quick: Annotated[bool, typer.Option(help="Fewer repeats.")] = False,
) -> None:
    """Measure theory, fit, control and attack, each against what it is compared with."""
    from pidlib.benchmarks import run_benchmarks
    from pidlib.theory_benchmarks import run_theory_benchmark

    run_theory_benchmark(results, quick=quick, report=_say)
    run_benchmarks(results, quick=quick, report=_say)


def main() -> None:
    """Run the command line; a user's mistake prints one line and exits with 2."""
    try:
        app(standalone_mode=True)
    except (ValueError, FileNotFoundError) as error:
        _say(f"error: {error}")
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
