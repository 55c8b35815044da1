"""Command line: `python -m pidlib fit | evaluate | attack | diagnose | doctor`.

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
from tabulate import tabulate

from pidlib.settings import ControlSettings

app = typer.Typer(
    help="PID control of the hidden states of pretrained transformers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
console = Console(stderr=True, highlight=False)
STOPPED = 130
LAWS = "averaged, exact-gain, residual, wiener or terminal."
MIXES = "typos, synonyms, both or words, for wiener and terminal."
ROWS_OF_FIT = "Rows that the model classifies correctly, or all: what a language model needs."


def option(text: str, default: Any = None, *flags: str) -> Any:
    """An option that is None where it is not given; its help shows what then holds."""
    return typer.Option(*flags, help=text, show_default=False if default is None else str(default))


def setting(name: str) -> Any:
    """The option of a setting of the control."""
    field = ControlSettings.__pydantic_fields__[name]
    return option(field.description, field.default)


Config = Annotated[Path | None, option("TOML file; options win over it.", None, "--config")]
Model = Annotated[
    str | None, option("An adapter that ships, smollm2, a folder, or owner/name.", "minilm-nli")
]
Data = Annotated[str | None, option("captions, snli-test, FILE.jsonl or owner/name.", "captions")]
Split = Annotated[str | None, option("train, validation or test, where there are any.")]
Control = Annotated[str | None, option("Folder of a controller, or one that ships.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON and no table.")]


def print_version(asked: bool) -> None:
    """Print the version and stop, where that was asked."""
    if asked:
        from pidlib import __version__

        print(f"pidlib {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=print_version, is_eager=True),
    ] = False,
) -> None:
    """Take what is asked of no command."""


def say(text: str) -> None:
    """Print a line on standard error."""
    console.print(text, soft_wrap=True, markup=False)


def show(result: dict[str, Any], as_json: bool, rows: list[dict[str, Any]], head: str = "") -> None:
    """Print a command's result: all of it as JSON, or a table. One process of several does."""
    if os.environ.get("RANK", "0") != "0":
        return
    if as_json:
        print(json.dumps(result, indent=1, ensure_ascii=False))
    elif rows:
        table = tabulate(rows, headers="keys", tablefmt="plain", floatfmt=".4f", missingval="-")
        print(head, table, sep="\n" * bool(head))


@app.command("fit")
def fit_command(
    context: typer.Context,
    out: Annotated[Path, typer.Argument(help="Folder that receives the controller.")],
    config: Config = None,
    model: Model = None,
    data: Data = None,
    split: Split = None,
    n: Annotated[int | None, option("Rows, the first.", 2000)] = None,
    scheme: Annotated[str | None, setting("scheme")] = None,
    variance: Annotated[float | None, setting("variance")] = None,
    c: Annotated[float | None, setting("c")] = None,
    law: Annotated[str | None, option(LAWS, ControlSettings.law)] = None,
    skip_first: Annotated[int | None, setting("skip_first")] = None,
    correct_only: Annotated[
        bool | None, option(ROWS_OF_FIT, "--correct-only", "--correct-only/--all-rows")
    ] = None,
    rank: Annotated[int | None, option("Rank of the terminal law's maps.")] = None,
    mix: Annotated[str | None, option(MIXES, "both")] = None,
    rho: Annotated[float | None, option("Weight of changed text, for those.")] = None,
    batch_size: Annotated[int | None, option("Rows at a time.", 32)] = None,
    every: Annotated[float | None, option("Seconds between two savings.", 20.0)] = None,
    replace: Annotated[bool, typer.Option(help="Replace a controller that is there.")] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a controller on text and write it to a folder.

    Example: python -m pidlib fit pd-99 --n 2000 --scheme PD --variance 0.99

    A language model: python -m pidlib fit p-smollm2 --model smollm2 --all-rows --skip-first 1
    """
    from pidlib.cli import commands
    from pidlib.cli.settings import FitSettings

    try:
        result = commands.run_fit(FitSettings.read(config, context.params), out, replace)
    except ValueError as error:  # what the library names is an argument in Python
        raise ValueError(str(error).replace("correct_only=False", "--all-rows")) from error
    show(result, as_json, result["rows"], result["summary"])


@app.command("evaluate")
def evaluate_command(
    context: typer.Context,
    config: Config = None,
    model: Model = None,
    data: Data = None,
    split: Split = None,
    n: Annotated[int | None, option("Rows, the first.", 1000)] = None,
    control: Control = None,
    batch_size: Annotated[int | None, option("Rows at a time.", 64)] = None,
    as_json: AsJson = False,
) -> None:
    """Count right answers without control and under one.

    Example: python -m pidlib evaluate --control pd-99 --n 1000
    """
    from pidlib.cli import commands
    from pidlib.cli.settings import EvaluateSettings

    result = commands.run_evaluate(EvaluateSettings.read(config, context.params))
    rows = [
        {"condition": name, "right": f"{of['right']}/{of['n']}", "accuracy": of["right"] / of["n"]}
        | {"low": of["low"], "high": of["high"]}
        for name, of in result["counts"].items()
    ]
    show(result, as_json, rows, result.get("control", ""))


@app.command("attack")
def attack_command(
    context: typer.Context,
    log: Annotated[Path, typer.Argument(help="File of outcomes; an unfinished one goes on.")],
    config: Config = None,
    model: Model = None,
    data: Data = None,
    split: Split = None,
    n: Annotated[int | None, option("Rows, the first.", 100)] = None,
    start: Annotated[int | None, option("First row.", 0)] = None,
    recipe: Annotated[
        str | None, option("a2t, pso, textbugger or textfooler.", "textfooler")
    ] = None,
    resources: Annotated[str | None, option("lexicon, ppdb or stock.", "lexicon")] = None,
    control: Control = None,
    budget: Annotated[int | None, option("Most queries an example.")] = None,
    seed: Annotated[int | None, option("Of the search.", 0)] = None,
    as_json: AsJson = False,
) -> None:
    """Attack rows, the model as it is or under a control that the attacker sees.

    Example: python -m pidlib attack outcomes.jsonl --recipe textfooler --n 200 --control pd-99
    """
    from pidlib.cli import commands
    from pidlib.cli.settings import AttackSettings

    result = commands.run_attack(AttackSettings.read(config, context.params), log)
    show(result, as_json, [result["counts"]], result["control"] or "")


@app.command("diagnose")
def diagnose_command(
    folder: Annotated[Path, typer.Argument(help="Folder of a controller.")],
    as_json: AsJson = False,
) -> None:
    """Look into a controller, state by state.

    Example: python -m pidlib diagnose pd-99
    """
    from pidlib.cli import commands

    result = commands.run_diagnose(folder)
    show(result, as_json, result["rows"], result["summary"])


@app.command("doctor")
def doctor_command(as_json: AsJson = False) -> None:
    """Look whether everything is there: versions, checksums, words for attacks, data.

    Example: python -m pidlib doctor
    """
    from pidlib.cli.doctor import examine

    findings = [finding._asdict() for finding in examine()]
    show({"findings": findings}, as_json, [])
    width = max(len(finding["name"]) for finding in findings)
    for of in [] if as_json else findings:
        print(f"{of['name']:<{width}}  {of['state']:<8}  {of['told']}")
    if any(finding["state"] == "broken" for finding in findings):
        raise typer.Exit(1)


def run_app(commands: typer.Typer) -> None:
    """Run a command line; a user's mistake prints one line and exits with 2."""
    try:
        commands()
    except (ValueError, FileNotFoundError, FileExistsError, ImportError) as error:
        say(f"error: {error}")
        raise SystemExit(2) from None
    except SystemExit as stop:
        if stop.code == STOPPED:  # typer's own answer to Ctrl-C
            say("stopped; the same command goes on where it stopped")
        raise


def main() -> None:
    """Door of the command line."""
    run_app(app)
