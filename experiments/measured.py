"""What our recorded trials say of the paper's claims, and the page that sets both side by side."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pidlib.evaluation.accuracy import Paired, bootstrap, compare
from pidlib.evaluation.claims import ATTACKS, VERDICTS, claims
from pidlib.evaluation.contrast import RESULT, heard
from pidlib.evaluation.fair_trial import FairTrial
from pidlib.evaluation.paper import TRAININGS, recorded_trials
from pidlib.evaluation.results import read_result
from pidlib.evaluation.trial_results import answers, control_name, gains_over_none, proportions

PD = control_name("PD", 0.99)
SETS = tuple(name.lower() for name in ATTACKS)
ROBUSTNESS = ("Robustness", "../notebooks/10_robustness.ipynb")
SCHEMES = ("Schemes", "../notebooks/12_schemes.ipynb")
ANLI = ("ANLI", "../notebooks/11_anli.ipynb")
TRIAL = ("A fair trial", "../notebooks/17_fair_trial.ipynb")
STATES = ("States", "../notebooks/08_states.ipynb")
WORDS = ("Attacks", "../notebooks/09_attacks.ipynb")
THEOREM = ("The error theorem", "../notebooks/05_error_theorem.ipynb")
ASSUMPTIONS = ("Assumptions", "../notebooks/06_assumptions.ipynb")
PMP = ("Analytic or iterative", "../notebooks/13_analytic_or_iterative.ipynb")
REAL = ("Theorem 1 on a real model", "../notebooks/15_theorem_on_models.ipynb")
COST = ("What control costs", "../notebooks/14_cost.ipynb")
DECODERS = ("Decoders", "../notebooks/16_decoders.ipynb")
LATER = "Not measured yet: it needs {}."

Results = Mapping[tuple[str, str], Mapping[str, Any]]


def _gains(results: Results, data: str, training: str, control: str = PD) -> dict[str, float]:
    """Gain over no control in points, by set."""
    found = gains_over_none(results[data, training], control)
    return {key: 100 * pair.gain for key, pair in found.items()}


def _mean(results: Results, data: str, training: str, control: str = PD) -> float:
    found = _gains(results, data, training, control)
    return float(np.mean([found[key] for key in SETS]))


def _line(results: Results, data: str, training: str, control: str = PD) -> str:
    found = _gains(results, data, training, control)
    attacked = ", ".join(f"{found[key]:+.1f}" for key in SETS)
    return f"attacks {attacked}; no attack {found['clean']:+.1f}"


def _one(results: Results) -> str:
    trial = FairTrial.from_result(results["snli-test", "standard"], "textfooler")
    noise = 100 * trial.beyond("noise")[0]
    return (
        f"MiniLM, SNLI, standard: {_line(results, 'snli-test', 'standard')}. Of the gain on "
        f"TextFooler, {noise:.1f} points are beyond what noise of the same size gains"
    )


def _hears(folder: Path) -> str:
    """What P-D control gets right where a word changes the meaning: what "no attack" leaves out."""
    return f"Where one word changes the meaning it gets {heard(read_result(folder / RESULT), PD)}"


def _mnli(results: Results) -> str:
    lines = [f"{t}: {_line(results, 'mnli-matched', t)}" for t in TRAININGS]
    return "MiniLM, MNLI, never trained on: " + "; ".join(lines)


def _harder(results: Results) -> str:
    means = {d: np.mean([_mean(results, d, t) for t in TRAININGS])
             for d in ("snli-test", "mnli-matched")}  # fmt: skip
    return "mean attacked gain: SNLI {:+.1f}, MNLI {:+.1f}".format(*means.values())


def _cells(results: Results) -> str:
    rise = clear = total = 0
    for data in ("snli-test", "mnli-matched"):
        for training in TRAININGS:
            found = gains_over_none(results[data, training], PD)
            for key in SETS:
                total += 1
                rise += found[key].gain > 0
                clear += found[key].gain > 0 and found[key].p < 0.05
    return f"{rise} of {total} attacked cells rise, {clear} with p < 0.05 (McNemar), in transfer"


def _by_training(results: Results) -> str:
    told = [
        f"{t} {np.mean([_mean(results, d, t) for d in ('snli-test', 'mnli-matched')]):+.1f}"
        for t in TRAININGS
    ]
    return f"mean attacked gain over SNLI and MNLI: {', '.join(told)}"


def _schemes(results: Results) -> str:
    best, told = Counter(), []
    for training in TRAININGS:
        shares = proportions(results["snli-test", training])
        for key in SETS:
            values = {s: shares[control_name(s, 0.99)][key].value for s in ("P", "PI", "PD", "PID")}
            best[max(values, key=values.get)] += 1
    for scheme in ("PD", "PI", "PID"):
        gap = [
            _mean(results, "snli-test", t, control_name(scheme, 0.99))
            - _mean(results, "snli-test", t, control_name("P", 0.99))
            for t in TRAININGS
        ]
        told.append(f"{'-'.join(scheme)} {np.mean(gap):+.1f}")
    return (
        f"at equal total gain, over P, attacked SNLI: {', '.join(told)}; P-D is the highest in "
        f"{best['PD']} of {sum(best.values())} cells"
    )


def _over_p(results: Results) -> str:
    steps = []
    for training in TRAININGS:
        result = results["snli-test", training]
        for key in SETS:
            p, pd = (answers(result, control_name(s, 0.99), key) for s in ("P", "PD"))
            steps.append(pd.astype(float) - p)
    rows = np.concatenate(steps)
    low, high = bootstrap(rows)
    return (
        f"P-D over P at equal total gain, 12 cells of SNLI, {len(rows):,} answers: "
        f"{100 * rows.mean():+.2f} [{100 * low:+.2f}, {100 * high:+.2f}]"
    )


def _between(first: tuple[dict, str], second: tuple[dict, str], key: str) -> Paired:
    """Compare two conditions of two results on the rows that both judged."""
    bits = [answers(result, condition, key) for result, condition in (first, second)]
    shared = min(len(b) for b in bits)
    return compare(bits[0][:shared], bits[1][:shared])


def _against_training(results: Results) -> str:
    told = []
    held = results["snli-test", "standard"], PD
    for other in ("AT", "FreeLB"):
        base = results["snli-test", other], "none"
        gap = np.mean([100 * _between(base, held, k).gain for k in SETS])
        told.append(f"against {other} {gap:+.1f}")
    return (
        "SNLI, rows judged by both, standard with P-D in transfer, less the robust base: "
        f"{', '.join(told)}"
    )


def _unforeseen(results: Results) -> str:
    one, other = ((results["snli-test", t], "none") for t in ("standard", "AT"))
    told = ", ".join(f"{k} {100 * _between(one, other, k.lower()).gain:+.1f}" for k in ATTACKS)
    return f"SNLI, rows judged by both, base models, AT less standard: {told}"


def _thresholds(results: Results) -> str:
    told = []
    for v in (0.99, 0.95):
        name = control_name("PD", v)
        shares = proportions(results["snli-test", "standard"])[name]
        attacked = 100 * np.mean([shares[k].value for k in SETS])
        told.append(
            f"{100 * v:g} %: {attacked:.1f} attacked, {100 * shares['clean'].value:.1f} clean"
        )
    return f"SNLI, P-D: {'; '.join(told)}"


def _anli(folder: Path) -> str:
    told = []
    for one in ("r1", "r2", "r3"):
        pair = gains_over_none(read_result(folder / f"trial-anli-{one}-dev-minilm-nli.json"), PD)
        told.append(f"{one} {pair['clean']}")
    return f"MiniLM, at chance on these sets: {'; '.join(told)}"


def _cost(folder: Path) -> str:
    taken = read_result(folder / "bench.json")["counts"]["control"]
    sizes = ", ".join(f"{c['model']} {100 * (c['ours']['value'] - 1):.1f}" for c in _large(folder))
    return (
        f"MiniLM, P-D, all states: {100 * (taken['ratio'] - 1):.1f} % more time "
        f"({100 * (taken['low'] - 1):.1f} to {100 * (taken['high'] - 1):.1f}). Random weights at "
        f"the paper's sizes, published states, in %: {sizes}"
    )


def _large(folder: Path) -> list[dict[str, Any]]:
    """Timings of the published states at the larger batch."""
    cells = read_result(folder / "bench-cost.json")["counts"]["sizes"]
    return [c for c in cells if c["layers"] == "published" and c["batch"] > 1]


def _sweeps(folder: Path) -> str:
    cells = _large(folder)
    told = ", ".join(f"{c['model']} {c['pmp']['value']:.1f}" for c in cells)
    return f"{cells[0]['sweeps']} sweeps of our solver, as multiples of the base time: {told}"


def _decoder(folder: Path) -> str:
    result = read_result(folder / "trial-captions-minilm-opt.json")
    gains = gains_over_none(result, PD)
    attacked = ", ".join(f"{100 * gains[key].gain:+.1f}" for key in SETS)
    n = result["data"]["n"]
    return (
        f"a small decoder on captions, n = {n}, transfer: attacks {attacked}; no attack "
        f"{100 * gains['clean'].gain:+.1f}"
    )


def _pmp(folder: Path, thresholds: tuple[int, ...]) -> str:
    """Accuracies of the analytic and the optimised control on the same rows."""
    result = read_result(folder / "pmp-snli-test-minilm-nli.json")
    told = []
    for threshold in thresholds:
        parts = []
        for name, of in (
            ("analytic", f"averaged {threshold} relaxed"),
            ("PMP, same loss", f"PMP {threshold} relaxed"),
            ("PMP, running loss", f"PMP {threshold} running"),
        ):
            shares = proportions(result)[of]
            attacked = 100 * np.mean([shares[k].value for k in SETS])
            parts.append(f"{name} {100 * shares['clean'].value:.1f} and {attacked:.1f}")
        told.append(f"{threshold} %: {'; '.join(parts)}")
    n = result["data"]["n"]
    return f"SNLI, {n} rows, P-D, clean and mean attacked accuracy. {'. '.join(told)}"


def measured(folder: Path) -> dict[int, tuple[str, tuple[str, str] | None]]:
    """What we measured of each claim, and the page that shows it."""
    results = recorded_trials(folder)
    made: dict[int, tuple[str | Callable[[Results], str], tuple[str, str] | None]] = {
        1: (lambda r: f"{_one(r)}. {_hears(folder)}", TRIAL),
        2: (lambda r: f"{_one(r)}. {_hears(folder)}", ROBUSTNESS), 3: (_mnli, ROBUSTNESS), 4: (_harder, ROBUSTNESS),
        5: (_cells, ROBUSTNESS), 7: (_by_training, ROBUSTNESS), 8: (_by_training, ROBUSTNESS),
        6: ("Nothing to measure: it is a matter of print.", None),
        9: (lambda _: _decoder(folder), DECODERS), 10: (lambda _: _decoder(folder), DECODERS),
        11: (lambda _: _decoder(folder), DECODERS), 12: (lambda _: _decoder(folder), DECODERS),
        13: (lambda _: _anli(folder), ANLI), 14: (lambda _: _anli(folder), ANLI),
        15: (lambda _: _anli(folder), ANLI),
        16: (_schemes, SCHEMES), 17: (_over_p, SCHEMES), 18: (_schemes, SCHEMES),
        19: (_schemes, SCHEMES),
        20: ("On captions, part of the step from P to P-D is the larger total gain.", SCHEMES),
        21: (lambda _: _pmp(folder, (99,)), PMP), 22: (lambda _: _pmp(folder, (90, 85)), PMP),
        23: (lambda _: _cost(folder), COST), 24: (lambda _: _sweeps(folder), COST),
        25: ("On MiniLM the error of the theorem grows with the layers that an attack passes, and on "
             "residual networks with their depth; one model has one depth.", REAL),
        26: ("The ranks of MiniLM at 99 % are most of its 384 directions.", STATES),
        27: ("The ranks of MiniLM at 99 % are most of its 384 directions, D's the most.", STATES),
        28: ("A replaced word is far off from the start; the other words follow.", WORDS),
        29: ("The error stands out more than clean states do; most of it lies inside.", WORDS),
        30: (_against_training, ROBUSTNESS), 31: (_unforeseen, ROBUSTNESS),
        32: (_cells, ROBUSTNESS),
        33: (lambda r: f"{_one(r)}. {_hears(folder)}", ROBUSTNESS),
        34: (lambda r: f"MiniLM, SNLI, AT: {_line(r, 'snli-test', 'AT')}", ROBUSTNESS),
        35: (_mnli, ROBUSTNESS), 36: (_mnli, ROBUSTNESS),
        37: ("With the averaged law every scheme is at most one matrix a block; P alone, in its "
             "thin form, is cheaper still.", COST),
        38: (_thresholds, SCHEMES),
        39: ("Theorem 1 holds to rounding on thousands of synthetic systems.", THEOREM),
    }  # fmt: skip
    return {k: _tell(what, page, results) for k, (what, page) in sorted(made.items())}


def _tell(
    what: str | Callable[[Results], str], page: tuple[str, str] | None, results: Results
) -> tuple[str, tuple[str, str] | None]:
    """Text and page; where a trial is missing, say so."""
    if isinstance(what, str):
        return what, page
    try:
        return what(results), page
    except (KeyError, FileNotFoundError):
        return LATER.format("a trial that is not recorded"), None


def claims_page(folder: Path) -> str:
    """Lay out the page of claims in MyST."""
    found, ours = claims(), measured(folder)
    count = Counter(claim.verdict for claim in found)
    lines = [
        "# Claims",
        "",
        f"The paper makes {len(found)} claims about its results. For each, this page gives what "
        "the paper's own tables say when they are recomputed (`pidlib.evaluation.claims`, tested), what we "
        "measured on our model (`experiments.measured`, from the result files), and where to look. "
        "The verdict is on the paper's words against the paper's tables. It is not a verdict on "
        "the method.",
        "",
        "Our model is another one (MiniLM, 6 blocks), so our numbers neither confirm nor refute "
        "the paper's; they say whether the pattern turns up again. Differences are in percentage "
        "points. *Unpaired noise* takes the two accuracies of a pair as independent, since the "
        "paper prints no counts.",
        "",
        "| verdict | claims |",
        "|---|---|",
        *(f"| {verdict} | {count[verdict]} |" for verdict in VERDICTS),
        "",
        "| number | claim | verdict |",
        "|---|---|---|",
        *(f"| [{c.number}](#claim-{c.number}) | {c.said} | {c.verdict} |" for c in found),
        "",
    ]
    for claim in found:
        text, page = ours[claim.number]
        link = f" See [{page[0]}]({page[1]})." if page else ""
        lines += [
            f"(claim-{claim.number})=",
            f"## {claim.number}. {claim.said}",
            "",
            f"*{claim.where}.* **Verdict: {claim.verdict}.**",
            "",
            f"- The paper's tables: {claim.recomputed}.",
            f"- Measured here: {text.rstrip('.')}.{link}",
            "",
        ]
    return _typeset("\n".join(lines))


def _typeset(page: str) -> str:
    """Gains as mathematics, and the minus sign before numbers."""
    page = re.sub(r"K_[PID](?: = (?:K_[PID]|[\d.]*\d))*", lambda found: f"${found[0]}$", page)
    return re.sub(r"(?<![\w.)-])-(?=\d)", "−", page)
