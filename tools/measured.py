"""What our recorded trials say of the paper's claims, by the slug of the claim."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pidbook.evaluation.contrast import RESULT, contrast_accuracy
from pidbook.evaluation.paper import ATTACKS, TRAININGS, recorded_trials
from pidbook.evaluation.recorded_trial import recorded_trial
from pidbook.evaluation.results import read_result
from pidbook.evaluation.trial_results import answers, control_name, gains_over_none, proportions
from pidlib.evaluation.statistics import bootstrap, compare

Page = tuple[str, str]

PD = control_name("PD", 0.99)
SETS = tuple(ATTACKS.values())[1:]
DATA = ("snli-test", "mnli-matched")
ROBUSTNESS = ("10", "10_robustness")
SCHEMES = ("11", "11_schemes")
STATES = ("8", "08_states")
WORDS = ("9", "09_attacks")
COST = ("12", "12_cost")
LATER = "Not measured yet: it needs a trial that is not recorded"

SAID: dict[str, tuple[str, Page | None]] = {
    "red_marks": ("Nothing to measure: it is a matter of print.", None),
    "gain_search": (
        "On captions, part of the step from P to P-D is the larger total gain.", SCHEMES),
    "theorem_depth": (
        "On residual networks the theorem's error grows with depth. MPNet, of twelve layers, errs "
        "less than MiniLM, of six, in three readings of four.", COST),
    "p_rank": ("The ranks of MiniLM and MPNet at 99 % are most of their directions.", STATES),
    "id_ranks": (
        "The ranks of MiniLM and MPNet at 99 % are most of their directions, D's the most.", STATES),
    "error_depth": ("A replaced word is far off from the start; the other words follow.", WORDS),
    "error_detected": (
        "The error stands out more than clean states do; most of it lies inside.", WORDS),
    "same_cost": (
        "With the averaged law every scheme is at most one matrix a block; P alone, in its "
        "thin form, is cheaper still.", COST),
    "simulated": ("Theorem 1 holds to rounding on thousands of synthetic systems.", ("5", "05_error_theorem")),
}  # fmt: skip
_trials = cache(recorded_trials)
_COMPUTED: dict[str, tuple[Callable[[Path], str], Page]] = {}


def measured(folder: Path) -> dict[str, tuple[str, Page | None]]:
    """What we measured of each claim, and the page that shows it."""
    texts = dict(SAID)
    for slug, (compute, page) in _COMPUTED.items():
        try:
            texts[slug] = compute(folder), page
        except (KeyError, FileNotFoundError):
            texts[slug] = LATER, None
    return texts


def _of(slugs: str, page: Page) -> Callable:
    """Register what tells of some claims."""

    def register(compute: Callable[[Path], str]) -> Callable[[Path], str]:
        _COMPUTED.update(dict.fromkeys(slugs.split(), (compute, page)))
        return compute

    return register


def _results(folder: Path, data: str = "snli-test") -> list[dict[str, Any]]:
    """Trials on one data set, in the order of `TRAININGS`."""
    return [_trials(folder)[data, training] for training in TRAININGS]


def _mean(result: dict[str, Any], control: str = PD) -> float:
    """Mean gain over the attacks, in points."""
    gains = gains_over_none(result, control)
    return 100 * np.mean([gains[key].gain for key in SETS])


def _accuracies(result: dict[str, Any], control: str) -> tuple[float, float]:
    """Accuracy in percent on clean text, and its mean over the attacks."""
    shares = {key: 100 * share.value for key, share in proportions(result)[control].items()}
    return shares["clean"], float(np.mean([shares[key] for key in SETS]))


def _line(result: dict[str, Any], name: str = PD) -> str:
    gains = {key: f"{100 * pair.gain:+.1f}" for key, pair in gains_over_none(result, name).items()}
    return f"attacks {', '.join(gains[key] for key in SETS)}; no attack {gains['clean']}"


@_of("distilbert_snli roberta_snli distilbert_numbers", ROBUSTNESS)
def _standard(folder: Path) -> str:
    result = _trials(folder)["snli-test", "standard"]
    noise = 100 * recorded_trial(result, "textfooler").beyond("noise")[0]
    return (
        f"MiniLM, SNLI, standard: {_line(result)}. Of the gain on TextFooler, {noise:.1f} points "
        "are beyond what noise of the same size gains. Where one word changes the meaning it is right on "
        + contrast_accuracy(read_result(folder / RESULT), PD)
    )


@_of("mnli_trade_off distilbert_mnli robust_mnli", ROBUSTNESS)
def _mnli(folder: Path) -> str:
    lines = map(_line, _results(folder, "mnli-matched"))
    texts = (f"{training}: {line}" for training, line in zip(TRAININGS, lines, strict=True))
    return "MiniLM, MNLI, never trained on: " + "; ".join(texts)


@_of("mnli_harder", ROBUSTNESS)
def _harder(folder: Path) -> str:
    means = [np.mean([_mean(result) for result in _results(folder, data)]) for data in DATA]
    return "mean attacked gain: SNLI {:+.1f}, MNLI {:+.1f}".format(*means)


@_of("all_models snli_every_attack", ROBUSTNESS)
def _cells(folder: Path) -> str:
    results = [result for data in DATA for result in _results(folder, data)]
    gains = [gains_over_none(result, PD)[key] for result in results for key in SETS]
    rise = [pair for pair in gains if pair.gain > 0]
    clear = sum(pair.p < 0.05 for pair in rise)
    said = f"{len(rise)} of {len(gains)} attacked cells rise, {clear} with p < 0.05 (McNemar)"
    return f"{said}, in transfer"


@_of("standard_gains_most mean_gains", ROBUSTNESS)
def _by_training(folder: Path) -> str:
    means = {t: np.mean([_mean(_trials(folder)[data, t]) for data in DATA]) for t in TRAININGS}
    texts = (f"{training} {mean:+.1f}" for training, mean in means.items())
    return f"mean attacked gain over SNLI and MNLI: {', '.join(texts)}"


@_of("pd_best more_terms pd_over_pid", SCHEMES)
def _schemes(folder: Path) -> str:
    names = [control_name(scheme, 0.99) for scheme in ("P", "PI", "PD", "PID")]
    cells = [(proportions(result), key) for result in _results(folder) for key in SETS]
    shares = np.array([[of[name][key].value for name in names] for of, key in cells])
    p, pi, pd, pid = 100 * shares.mean(0)
    return (
        f"at equal total gain, over P, attacked SNLI: P-D {pd - p:+.1f}, P-I {pi - p:+.1f}, P-I-D "
        f"{pid - p:+.1f}; P-D is the highest in {(shares.argmax(1) == 2).sum()} of {len(cells)} "
        "cells"
    )


@_of("pd_over_p", SCHEMES)
def _over_p(folder: Path) -> str:
    p, pd = (
        np.concatenate([answers(r, control, key) for r in _results(folder) for key in SETS])
        for control in (control_name("P", 0.99), PD)
    )
    rows = pd.astype(float) - p
    low, high = bootstrap(rows)
    return (
        f"P-D over P at equal total gain, 12 cells of SNLI, {len(rows):,} answers: "
        f"{100 * rows.mean():+.2f} [{100 * low:+.2f}, {100 * high:+.2f}]"
    )


def _gaps(folder: Path, first: tuple[str, str], second: tuple[str, str]) -> dict[str, float]:
    """Second less first (training, condition) in points by attack, on rows of SNLI both judged."""
    gaps = {}
    for name, key in list(ATTACKS.items())[1:]:
        a, b = (answers(_trials(folder)["snli-test", t], c, key) for t, c in (first, second))
        shared = min(len(a), len(b))
        gaps[name] = 100 * compare(a[:shared], b[:shared]).gain
    return gaps


@_of("over_training", ROBUSTNESS)
def _against_training(folder: Path) -> str:
    texts = []
    for other in ("AT", "FreeLB"):
        gaps = _gaps(folder, (other, "none"), ("standard", PD))
        texts.append(f"against {other} {np.mean(list(gaps.values())):+.1f}")
    return (
        "SNLI, rows judged by both, standard with P-D in transfer, less the robust base: "
        + ", ".join(texts)
    )


@_of("unforeseen", ROBUSTNESS)
def _unforeseen(folder: Path) -> str:
    gaps = _gaps(folder, ("standard", "none"), ("AT", "none"))
    texts = ", ".join(f"{name} {gap:+.1f}" for name, gap in gaps.items())
    return f"SNLI, rows judged by both, base models, AT less standard: {texts}"


_of("distilbert_at", ROBUSTNESS)(
    lambda folder: f"MiniLM, SNLI, AT: {_line(_trials(folder)['snli-test', 'AT'])}"
)


@_of("threshold", SCHEMES)
def _thresholds(folder: Path) -> str:
    result, texts = _trials(folder)["snli-test", "standard"], []
    for v in (0.99, 0.95):
        clean, attacked = _accuracies(result, control_name("PD", v))
        texts.append(f"{100 * v:g} %: {attacked:.1f} attacked, {clean:.1f} clean")
    return f"SNLI, P-D: {'; '.join(texts)}"


@_of("anli_declines anli_grows anli_mean", ROBUSTNESS)
def _anli(folder: Path) -> str:
    texts = []
    for k in ("r1", "r2", "r3"):
        pair = gains_over_none(read_result(folder / f"trial-anli-{k}-dev-minilm-nli.json"), PD)
        texts.append(f"{k} {pair['clean']}")
    return f"MiniLM, at chance on these sets: {'; '.join(texts)}"


def _sizes(folder: Path) -> list[dict[str, Any]]:
    """Timings of the published states at the larger batch."""
    cells = read_result(folder / "bench-cost.json")["counts"]["sizes"]
    return [cell for cell in cells if cell["layers"] == "published" and cell["batch"] > 1]


@_of("analytic_time", COST)
def _cost(folder: Path) -> str:
    control = read_result(folder / "bench.json")["counts"]["control"]
    more, low, high = (100 * (control[key] - 1) for key in ("ratio", "low", "high"))
    sizes = (f"{c['model']} {100 * (c['ours']['value'] - 1):.1f}" for c in _sizes(folder))
    return (
        f"MiniLM, P-D, all states: {more:.1f} % more time ({low:.1f} to {high:.1f}). Random "
        f"weights at the paper's sizes, published states, in %: {', '.join(sizes)}"
    )


@_of("pmp_time", COST)
def _sweeps(folder: Path) -> str:
    cells = _sizes(folder)
    times = ", ".join(f"{cell['model']} {cell['pmp']['value']:.1f}" for cell in cells)
    return f"{cells[0]['sweeps']} sweeps of our solver, as multiples of the base time: {times}"


@_of("opt_attacks opt_snli opt_clean opt_mnli", ROBUSTNESS)
def _decoder(folder: Path) -> str:
    result = read_result(folder / "trial-snli-test-smollm2-nli.json")
    lines = (f"{scheme}: {_line(result, f'{scheme} 99 %')}" for scheme in ("P", "P-D"))
    return f"SmolLM2 on SNLI, n = {result['data']['n']}, transfer. {'. '.join(lines)} (at chance)"


def _pmp(folder: Path, *thresholds: int) -> str:
    """Accuracies of the analytic and the optimised control on the same rows."""
    result, texts = read_result(folder / "pmp-snli-test-minilm-nli.json"), []
    for threshold in thresholds:
        parts = []
        for name, condition in (
            ("analytic", f"averaged {threshold} relaxed"),
            ("PMP, same loss", f"PMP {threshold} relaxed"),
            ("PMP, running loss", f"PMP {threshold} running"),
        ):
            parts.append("{} {:.1f} and {:.1f}".format(name, *_accuracies(result, condition)))
        texts.append(f"{threshold} %: {'; '.join(parts)}")
    n = result["data"]["n"]
    return f"SNLI, {n} rows, P-D, clean and mean attacked accuracy. {'. '.join(texts)}"


_of("pmp_at_99", SCHEMES)(lambda folder: _pmp(folder, 99))
_of("pmp_below", SCHEMES)(lambda folder: _pmp(folder, 90, 85))
