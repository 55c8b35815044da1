"""What a trial sets beside subspaces: controls that were chosen, and the rivals of control."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments.fine_tuning import choose_fine_tuning
from experiments.spelling import NormalisedTokenizer, SpellingNormaliser
from pidlib.attacks.attacker import weights_sha256
from pidlib.data.edits import COLUMNS, word_spans
from pidlib.data.perturbations import RandomEdits
from pidlib.estimation.estimator import TERMINAL, Estimator
from pidlib.estimation.selection import RHOS, choose
from pidlib.io.files import write_json

WIENER = "wiener"
ESTIMATED_ON = {WIENER: 1200, TERMINAL: 6000}
STRENGTHS = {WIENER: RHOS, TERMINAL: (1.0,)}
RULES = {WIENER: "regression", TERMINAL: TERMINAL}
RIVALS = ("fine-tuned", "spelling")
IN_LOOP = "fine-tuned-in-loop"  # only with a control, which is in place during the training
TUNED_ON = ESTIMATED_ON[TERMINAL]


@dataclass(frozen=True)
class Contender:
    """One model on trial, with what stands before it and what hangs on it."""

    model: Any
    tokenizer: Any
    control: Any = None
    told: str | None = None

    def on(self) -> AbstractContextManager:
        """Attach the control, if there is one, for as long as the context lasts."""
        return nullcontext() if self.control is None else self.control.attached(self.model)


def estimating(
    scheme: str,
    mix: str,
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    held: Sequence[Mapping[str, Any]],
    source: Any,
    folder: Path,
    about: Mapping[str, Any],
    report: Callable[[str], None] = print,
) -> Estimator | None:
    """Choose an estimating control on held-out rows, once; it is kept in a folder."""
    want = {**about, "rows": len(rows), "held": len(held), "rhos": list(STRENGTHS[scheme])}
    place = folder / "selection.json"
    kept = json.loads(place.read_text(encoding="utf-8")) if place.is_file() else None
    if kept is None or kept["of"] != want:
        found = choose(
            model,
            tokenizer,
            rows,
            held,
            RandomEdits(mix, source=source),
            rhos=STRENGTHS[scheme],
            rule=RULES[scheme],
            seed=about["seed"],
            report=report,
        )
        if found.estimator is not None:
            found.estimator.save_pretrained(folder)
        kept = {"of": want, "tried": [one._asdict() for one in found.tried]}
        kept |= {"chosen": found.estimator is not None}
        write_json(place, kept)  # last: the choice is whole
    return Estimator.from_pretrained(folder) if kept["chosen"] else None


def rival(
    name: str,
    model: Any,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    held: Sequence[Mapping[str, Any]],
    source: Any,
    folder: Path,
    seed: int = 0,
    control: Estimator | None = None,
    report: Callable[[str], None] = print,
) -> Contender | None:
    """Make a rival of control: a fine-tuned copy of the model, or a spelling normaliser."""
    if control is not None and name == "spelling":
        raise ValueError("the normaliser learns nothing that a control could be in the loop of")
    if name == "spelling":
        told = f"spelling normalised, symspellpy {version('symspellpy')}"
        return Contender(model, NormalisedTokenizer(tokenizer, _mended(rows)), None, told)
    if name != "fine-tuned":
        raise ValueError(f"unknown rival {name!r}; known: {list(RIVALS)}")
    perturbed = RandomEdits("both", source=source)
    found = choose_fine_tuning(
        model, tokenizer, rows, held, perturbed, folder, seed=seed, control=control, report=report
    )
    write_json(folder / "selection.json", [one._asdict() for one in found.tried])
    if found.model is None:
        return None
    told = f"fine-tuned on {len(rows)} rows, rate {found.chosen.rate:g}"
    told = f"{told}, {weights_sha256(found.model)[:8]}"
    return Contender(found.model, tokenizer, control and control.carried_to(found.model), told)


def _mended(rows: Sequence[Mapping[str, Any]]) -> SpellingNormaliser:
    seen: Counter[str] = Counter()
    for k in range(len(rows)):
        seen.update(_words(rows[k][c] for c in COLUMNS if isinstance(rows[k].get(c), str)))
    return SpellingNormaliser(known={word for word, times in seen.items() if times > 1})


def _words(found: Iterable[str]) -> Iterable[str]:
    return (text[a:b].lower() for text in found for a, b in word_spans(text))
