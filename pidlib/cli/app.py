"""Command line: `python -m pidlib fit | evaluate | attack | diagnose | doctor`.

Standard output holds the result, as a table or with `--json` as JSON; all else goes to standard
error. Exit codes: 0 done, 1 the doctor found something broken, 2 a mistake of the user (named
on one line), 130 stopped by Ctrl-C (the same command goes on where it stopped).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Annotated, Any, NoReturn

import typer
from rich.console import Console

app = typer.Typer(
    help="PID control of the hidden states of pretrained transformers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console(stderr=True, highlight=False)
STOPPED = 130
MISTAKE = typer.BadParameter.__mro__[2]  # ClickException of the click that typer brings along

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


def say(text: str) -> None:
    """Print a line on standard error."""
    console.print(text, soft_wrap=True, markup=False)


def show(found: dict[str, Any], as_json: bool, rows: list[dict[str, Any]], told: str = "") -> None:
    """Print what a command found: all of it as JSON, or a table. One process of several does."""
    if os.environ.get("RANK", "0") != "0":
        return
    if as_json:
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return
    from pidlib.figures.tables import print_table

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
    from pidlib.cli import commands
    from pidlib.cli.settings import FitSettings

    changes = dict(
        model=model, data=data, split=split, n=n, scheme=scheme, variance=variance, c=c, law=law,
        mix=mix, rho=rho, batch_size=batch_size, every=every,
    )  # fmt: skip
    found = commands.fit(FitSettings.read(config, changes), out, replace)
    show(found, as_json, found["rows"], found["summary"])


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
    from pidlib.cli import commands
    from pidlib.cli.settings import EvaluateSettings

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
    show(found, as_json, rows, found.get("control", ""))


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
    from pidlib.cli import commands
    from pidlib.cli.settings import AttackSettings

    changes = dict(
        model=model, data=data, split=split, n=n, start=start, recipe=recipe, resources=resources,
        control=control, budget=budget, seed=seed,
    )  # fmt: skip
    found = commands.attack(AttackSettings.read(config, changes), log)
    show(found, as_json, [found["counts"]], found["control"] or "")


@app.command()
def diagnose(
    folder: Annotated[Path, typer.Argument(help="Folder of a controller.")],
    as_json: AsJson = False,
) -> None:
    """Look into a controller, state by state.

    Example: python -m pidlib diagnose pd-99
    """
    from pidlib.cli import commands

    found = commands.diagnose(folder)
    show(found, as_json, found["rows"], found["summary"])


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Look whether everything is there: versions, checksums, words for attacks, data.

    Example: python -m pidlib doctor
    """
    from pidlib.cli.doctor import examine

    found = [one._asdict() for one in examine()]
    show({"findings": found}, as_json, found)
    if any(one["state"] == "broken" for one in found):
        raise typer.Exit(1)


def run(commands: typer.Typer) -> NoReturn:
    """Run a command line; a user's mistake prints one line and exits with 2."""
    try:
        code = commands(standalone_mode=False)
    except (ValueError, FileNotFoundError, FileExistsError, ImportError) as error:
        say(f"error: {error}")
        raise SystemExit(2) from None
    except MISTAKE as error:  # of the command line itself
        error.show()
        raise SystemExit(2) from None
    if code == STOPPED:  # typer's own answer to Ctrl-C
        say("stopped; the same command goes on where it stopped")
    raise SystemExit(code or 0)


def main() -> None:
    """Door of the command line."""
    run(app)
