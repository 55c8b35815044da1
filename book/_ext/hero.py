"""The front page's opening: one swapped word, and a switch between the recorded conditions."""

from __future__ import annotations

from html import escape

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from bookfigures import recorded
from pidlib.data.labels import LABELS
from provenance import box

RESULT = "showcase-captions-minilm-nli.json"
TRIAL, RECIPE = "trial-snli-test-minilm-nli.json", "textfooler"
PD, TERMINAL, ENCODING, AGAIN = "P-D 99 %", "Terminal both", "encoding", "adaptive"
NOISE = f"{PD}: noise 0"
SWITCH = {  # by condition: its button, and what is said beneath the answer
    "none": ("No control", "Nearly the same word. The answer flips."),
    PD: ("The paper's control", "The paper's control brings the right answer back."),
    NOISE: ("A random push as long", "So does a random push of the same length."),
    AGAIN: ("The paper's control, adaptive attack", "Another word, and it flips again."),
}


class Hero(SphinxDirective):
    """Three numbers; the example, its four answers; the counts of all examples like it."""

    def run(self):
        trial, result = recorded(self.env, *(names := [TRIAL, RESULT]))
        html = hero(chosen(result["examples"]), result["counts"], result["data"]["n"])
        parts = turn(trial), f"{html}{box(names, 'make book')}"
        return [nodes.raw(text=part, format="html") for part in parts]


def on_same_pairs(trial: dict) -> list:
    """Right answers to text as written, attacked, attacked under control, and attacked adaptively."""
    from pidbook.evaluation import ADAPTIVE, answers  # slow to import

    kinds = ("none", "clean"), ("none", RECIPE), (PD, RECIPE), (PD, ADAPTIVE + RECIPE)
    bits = [answers(trial, *of) for of in kinds]
    return [of[: len(bits[-1])] for of in bits]


def before_and_after(trial: dict) -> list[tuple[float, str]]:
    """Points that the paper's control gains on the same pairs: in transfer, and under the adaptive attack."""
    from pidlib.evaluation import compare  # slow to import

    _, bare, *under = on_same_pairs(trial)
    ends, pairs = "{:.1f}\u00a0to\u00a0{:.1f}", [compare(bare, bits) for bits in under]
    return [(100 * p.gain, ends.format(*(100 * end for end in p.interval()))) for p in pairs]


def pushed(trial: dict, n: int) -> tuple[float, str]:
    """Points that random pushes of the control's length gain on the same pairs, and the interval."""
    from pidbook.evaluation import TEXTS, push_gains  # slow to import

    row = push_gains(trial, PD, rows=n).set_index("text").loc[TEXTS[RECIPE]]
    return row["gain"], f"{row['low']:.1f}\u00a0to\u00a0{row['high']:.1f}"


def turn(trial: dict) -> str:
    """What the control gains, what a random push does, and what the adaptive attack leaves."""
    clean, bare, held, seen = on_same_pairs(trial)
    before, after = before_and_after(trial)
    cards = {
        "before": (before, "points gained by the control, on texts found without it"),
        "push": (
            pushed(trial, len(bare)),
            "points gained by a random push of the same length, on these texts",
        ),
        "after": (
            after,
            "points gained by the control, once the attack searches on the controlled model",
        ),
    }
    shown = []
    for kind, ((gain, ends), said) in cards.items():
        bar = f'<i style="width:{100 * max(gain, 0) / before[0]:.1f}%"></i>'
        number = f"<b>{gain:+.1f}</b><em>95 % interval {ends}</em>".replace("-", "\N{MINUS SIGN}")
        shown.append(f'<span class="{kind}">{bar}{number} {said}</span>')
    small = (
        f"Accuracy of our model MiniLM (23 million weights) on {len(seen):,} pairs of SNLI, a public "
        f"collection. TextFooler, an attack that swaps words for synonyms, brings it from "
        f"{100 * clean.mean():.1f} % down to {100 * bare.mean():.1f} %. The same texts give "
        f"{100 * held.mean():.1f} % under control. If TextFooler searches on the controlled model "
        f"itself, {100 * seen.mean():.1f} % are left."
    )
    return f'<p class="hero-turn">{"".join(shown)}<small>{small}</small></p>'


def right(shares: list[float] | None, example: dict) -> bool:
    """Whether an answer, given as probabilities, is the right one."""
    return shares is not None and LABELS[shares.index(max(shares))] == example["label"]


def chosen(examples: list[dict]) -> dict:
    """The first pair that each control brings back, and that turns when the attacker sees P-D."""
    for example in examples:
        after = example["after"]
        back = all(right(after[name], example) for name in (PD, NOISE, TERMINAL, ENCODING))
        seen = example["adaptive after"]
        if back and seen is not None and not right(seen, example):
            return example
    raise ValueError(f"{RESULT} holds no example for the front page; record more rows")


def hero(example: dict, counts: dict, n: int) -> str:
    """HTML of the switch: radio buttons and panels, no script."""
    words, first = example["hypothesis"].split(), example["before"]["none"]
    turned, back, seen = counts["turned"], counts["right"], counts["adaptive turned"]
    again = (
        f"An adaptive attack flips {seen} of the {turned} below. The other {turned - seen} are no gain, "
        "because all were picked as those on which the model without control fails."
    )
    panels = []
    for k, (name, (button, said)) in enumerate(SWITCH.items()):
        edit = example["adaptive edit"] if name == AGAIN else example["edit"]
        shares = example["adaptive after"] if name == AGAIN else example["after"][name]
        more = escape(again) if name == AGAIN else ""
        panels.append(
            f'<input type="radio" name="hero" id="hero-{k}"{" checked" * (k == 0)}><label for="hero-{k}">{escape(button)} {"✓" if right(shares, example) else "✗"}</label>'
            f'<div class="hero-panel">{sentence(words, edit)}{bars(shares, example)}<p class="hero-said">{escape(said)}</p>{f"<p>{more}</p>" * bool(more)}</div>'
        )
    return (
        '<section class="hero" aria-label="One swapped word">'
        '<p class="hero-title">One swapped word flips the answer. Does a control bring it back?</p><p>Does the hypothesis follow from the premise (entailment), contradict it, or neither (neutral)?</p>'
        f"<p><b>Premise.</b> {escape(example['premise'])}</p>"
        f"<p><b>Hypothesis.</b> {escape(example['hypothesis'])} <b>The model: {LABELS[first.index(max(first))]} {'✓' if right(first, example) else '✗'}</b></p>"
        f'<fieldset><legend>Who answers?</legend><div class="hero-switch">{"".join(panels)}</div></fieldset>'
        f'<div class="hero-counts"><p>A program wrote {n} pairs like this one. In {turned} of them a swap of one word flips the answer of the model without control. On these texts the paper’s control brings {back[PD]} of the {turned} answers back, and a random push of the same length {back[NOISE]}. Nobody judged whether the swaps keep the meaning.</p></div></section>'
    )


def sentence(words: list[str], edit: list) -> str:
    """The changed hypothesis, the old word struck out, the new word beside it."""
    _, place, new = edit
    mark = words[place][len(words[place].rstrip(".,;!?")) :]
    old = words[place].removesuffix(mark)
    swap = f"<del>{escape(old)}</del> <ins>{escape(new)}</ins>{escape(mark)}"
    parts = [*map(escape, words[:place]), swap, *map(escape, words[place + 1 :])]
    return f'<p class="hero-text"><b>One word swapped.</b> {" ".join(parts)}</p>'


def bars(shares: list[float], example: dict) -> str:
    """The three answers with their probabilities."""
    lines = []
    for label, share in zip(LABELS, shares, strict=True):
        kind = "good" if label == example["label"] else "bad"
        given = " given" * (share == max(shares))
        mark = " ✓" if kind == "good" else " ✗" * bool(given)  # the right one is always ticked
        lines.append(
            f'<li class="{kind}{given}"><span>{label}{mark}</span><i style="width:{100 * share:.1f}%"></i><b>{100 * share:.0f} %</b></li>'
        )
    return f'<ul class="hero-bars">{"".join(lines)}</ul>'


def setup(app):
    app.add_directive("hero", Hero)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
