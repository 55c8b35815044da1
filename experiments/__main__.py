"""Command line: `python -m experiments list | run`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pidlib.cli.app import AsJson, run_app, say, show

app = typer.Typer(
    help="What produces the recorded evidence of the book.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
Results = Annotated[Path, typer.Option(help="Folder of result files.")]
Runs = Annotated[Path, typer.Option(help="Folder of unfinished runs.")]
RESULTS, RUNS = Path("book/results"), Path("runs")


@app.command("run")
def run_config(
    config: Annotated[
        str, typer.Argument(help="A name in experiments/configs, or the path of a TOML file.")
    ],
    results: Results = RESULTS,
    runs: Runs = RUNS,
    only: Annotated[
        str | None,
        typer.Option(
            help="One part of a trial: an attack (for one condition: comma, its name), or judge."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run an experiment and write its result file; it goes on where it stopped.

    Example: PIDLIB_DATA_DIR=data python -m experiments run trial-snli-test-minilm-nli
    """
    from experiments.experiment import read_experiment
    from experiments.run_trial import record
    from pidbook.evaluation.trial_results import gains_over_none, proportions

    experiment = read_experiment(config)
    result = record(experiment, results, runs, say, config, only)
    rows = []
    for condition, sets in proportions(result).items() if "attacks" in result else ():
        gains = {} if condition == "none" else gains_over_none(result, condition)
        for key, share in sets.items():
            gain = str(gains.get(key, ""))
            rows.append({"condition": condition, "set": key, "right": str(share), "gain": gain})
    show(result, as_json, rows)


@app.command("list")
def list_names(as_json: AsJson = False) -> None:
    """List the experiments; one that is frozen was measured once, and names its last commit.

    Example: python -m experiments list
    """
    from experiments.experiment import frozen, known_names

    said = dict.fromkeys(known_names(), "can be run here")
    said |= {name: f"frozen at {commit}" for name, commit in frozen().items()}
    rows = [{"name": name, "state": said[name]} for name in sorted(said)]
    show({"experiments": rows}, as_json, rows)


def main() -> None:
    """Door of the command line."""
    run_app(app)


if __name__ == "__main__":
    main()
