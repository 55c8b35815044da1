"""What the command line does: fit, evaluate, attack, diagnose. Each returns what it found."""

from __future__ import annotations

from dataclasses import asdict, fields
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import track

from pidlib.attacks.attack import attack as attack_rows
from pidlib.attacks.outcomes import attack_table, read_outcomes
from pidlib.attacks.synonyms import words_for
from pidlib.cli.processes import Processes, begin_part, device, merge_parts, part_of, processes
from pidlib.cli.settings import ESTIMATED, AttackSettings, EvaluateSettings, FitSettings, Settings
from pidlib.controller import Controller
from pidlib.data.batches import batches, input_device
from pidlib.data.nli import fingerprint, load_nli
from pidlib.data.perturbations import RandomEdits
from pidlib.estimation.estimator import Estimator
from pidlib.estimation.pretrained import controls, load_control, load_controller
from pidlib.evaluation.accuracy import right_answers, under
from pidlib.evaluation.statistics import Proportion, compare
from pidlib.fitting import Accumulators
from pidlib.io.checkpoints import Checkpoint
from pidlib.io.pretrained import CARD
from pidlib.models import load_model
from pidlib.pid import PIDController
from pidlib.settings import ControlSettings


def run_fit(settings: FitSettings, out: Path, replace: bool = False) -> dict[str, Any]:
    """Fit a controller and write it to a folder.

    A fit that was broken off goes on where it stopped: its sums are kept beside the folder, in
    `OUT.unfinished`, until the controller is whole. (The law "wiener" begins again: it is short.)
    """
    if (Path(out) / CARD).is_file() and not replace:
        raise FileExistsError(
            f"a controller is in {str(out)!r} already; pass --replace, or another"
        )
    started, team = perf_counter(), processes()
    model, tokenizer = load_model(settings.model, device())
    rows = load_nli(settings.data, split=settings.split, n=settings.n)
    common = _part(settings, "batch_size", "max_length")
    part = f".{team.rank}-of-{team.count}" if team.count > 1 else ""
    checkpoint = Checkpoint(
        Path(out).with_name(f"{Path(out).name}.unfinished{part}"),
        {"data": fingerprint(rows), **common, "part": part},
        settings.every,
    )
    if settings.law in ESTIMATED:
        if team.count > 1:
            raise ValueError(f"the law {settings.law!r} is fitted by one process; start one")
        if settings.layers == "published":
            raise ValueError(
                f"no layers are published for the law {settings.law!r}; give a list, such as [0, 1]"
            )
        rule = _part(settings, "rho", "layers", "skip_first", "rank")
        rule["rule"] = ESTIMATED[settings.law]
        edits = RandomEdits(settings.mix, source=words_for(settings.mix, settings.resources))
        controller = Estimator.fit(
            model, tokenizer, rows, edits, **rule, checkpoint=checkpoint, **common
        )
    else:
        stream = team.share(batches(tokenizer, rows, **common, device=input_device(model)))
        total = -(-len(rows) // settings.batch_size // team.count)
        console = Console(stderr=True, quiet=not team.first)
        controller = PIDController.from_batches(
            model,
            track(stream, "fit", total, console=console, transient=True),
            checkpoint=checkpoint,
            merge=Accumulators.all_reduce if team.count > 1 else None,
            correct_only=settings.correct_only,
            **_part(settings, *(setting.name for setting in fields(ControlSettings))),
        )
    if team.first:
        controller.save_pretrained(out)
    team.wait()
    checkpoint.clear()
    return {
        "settings": asdict(settings),
        "summary": controller.summary(),
        "folder": str(out),
        "data_sha256": fingerprint(rows),
        "rows": controller.diagnose().records(),
        **_effort(team, started),
    }


def run_evaluate(settings: EvaluateSettings) -> dict[str, Any]:
    """Count right answers with no control and, where one is given, under it."""
    started, team = perf_counter(), processes()
    model, tokenizer = load_model(settings.model, device())
    rows = load_nli(settings.data, split=_split(settings), n=settings.n)
    control = controller_of(settings.control, model)
    places = list(team.share(range(len(rows))))

    def judged() -> np.ndarray:
        part = rows.select(places)
        bits = right_answers(model, tokenizer, part, settings.batch_size) if places else []
        return team.together(np.array(bits, dtype=bool), places, len(rows))

    answers = {"none": judged()}
    if control is not None:
        with control.attached(model):
            answers["control"] = judged()
    counts = {}
    for name, bits in answers.items():
        share = Proportion(int(bits.sum()), len(bits))
        low, high = share.interval()
        counts[name] = {"right": share.right, "n": share.n, "low": low, "high": high}
    result = {
        "settings": asdict(settings),
        "data_sha256": fingerprint(rows),
        "counts": counts,
        **_effort(team, started),
    }
    if control is not None:
        gain = compare(answers["none"], answers["control"])
        low, high = gain.interval()
        result["control"] = control.summary()
        result["gain"] = {"won": gain.won, "lost": gain.lost, "low": low, "high": high, "p": gain.p}
    return result


def run_attack(settings: AttackSettings, log: Path) -> dict[str, Any]:
    """Attack rows, with no control or under one; go on where an earlier run stopped."""
    started, team = perf_counter(), processes()
    model, tokenizer = load_model(settings.model, device())
    most = None if settings.n is None else settings.start + settings.n
    rows = load_nli(settings.data, split=_split(settings), n=most)
    if settings.start >= len(rows):
        raise ValueError(f"start is {settings.start}; {settings.data!r} has {len(rows)} rows")
    ids = list(range(settings.start, len(rows)))
    control = controller_of(settings.control, model)
    summary = None if control is None else control.summary()
    mine, part = ids, Path(log)
    if len(ids) < team.count:
        raise ValueError(f"{len(ids)} rows for {team.count} processes; give each at least one")
    if team.count > 1:
        mine, part = list(team.share(ids)), part_of(log, team)
        begin_part(log, part, mine)
    with under(control, model):
        outcomes = attack_rows(
            model,
            tokenizer,
            rows.select(mine),
            ids=mine,
            log=part,
            data=settings.data,
            about=None if control is None else {"control": summary},
            progress=team.first,
            **_part(settings, "recipe", "resources", "seed", "max_length", "budget"),
        )
    if team.count > 1:
        team.wait()
        if team.first:
            merge_parts(log, team.count)
        team.wait()
        chosen = set(ids)
        outcomes = [o for o in read_outcomes(log).outcomes if o.id in chosen]
    return {
        "settings": asdict(settings),
        "control": summary,
        "log": str(log),
        "counts": attack_table(outcomes)._asdict(),
        **_effort(team, started),
    }


def run_diagnose(folder: Path) -> dict[str, Any]:
    """Look into a controller that was kept, without its model."""
    controller = load_controller(folder)
    return {"summary": controller.summary(), "rows": controller.diagnose().records()}


def controller_of(name: str | None, model: Any) -> Controller | None:
    """Return a controller by its folder, or one that ships by its name."""
    if name is None:
        return None
    if name in controls():
        return load_control(name, model)
    if not Path(name).is_dir():
        raise FileNotFoundError(
            f"no controller {name!r}: give a folder that `fit` wrote, or one of {controls()}"
        )
    return load_controller(name)


def _part(settings: Settings, *names: str) -> dict[str, Any]:
    """Some of the settings."""
    return {name: getattr(settings, name) for name in names}


def _effort(team: Processes, started: float) -> dict[str, Any]:
    return {"processes": team.count, "seconds": round(perf_counter() - started, 1)}


def _split(settings: Settings) -> str | None:
    """Captions are judged on their test split, unless told otherwise."""
    return "test" if settings.data == "captions" and not settings.split else settings.split
