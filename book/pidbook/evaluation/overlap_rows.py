"""Pairs whose words overlap whatever the answer, made from templates in the manner of HANS."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

PEOPLE = (
    "doctor", "lawyer", "judge", "artist", "student", "teacher", "actor", "senator", "baker",
    "tourist",
)  # fmt: skip
DID = ("slept", "arrived", "danced", "waited", "left")
ACTED = ("saw", "thanked", "helped", "called", "followed")
WAS = {"saw": "seen", "thanked": "thanked", "helped": "helped", "called": "called"}
WAS |= {"followed": "followed"}
TEMPLATES = {  # premise, a hypothesis that it entails, and one that it does not
    "prepositional phrase": ("The {a} near the {b} {did}.", "The {a} {did}.", "The {b} {did}."),
    "relative clause": (
        "The {a} that the {b} {acted} {did}.", "The {a} {did}.", "The {b} {did}."
    ),
    "passive": (
        "The {a} was {was} by the {b}.", "The {b} {acted} the {a}.", "The {a} {acted} the {b}."
    ),
    "conjunction": (
        "The {a} and the {b} {acted} the {c}.", "The {a} {acted} the {c}.", "The {a} {acted} the {b}."
    ),
    "condition": (
        "The {a} {did} although the {b} {acted} the {c}.",
        "The {a} {did}.",
        "The {a} {acted} the {c}.",
    ),
}  # fmt: skip


def overlap_pairs(n: int, seed: int = 0) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return n pairs that are entailed and the same n with a hypothesis that is not.

    Each hypothesis holds words of the premise only. Rows have `premise`, `hypothesis`, `label` (0,
    entailment, for both: of the second it is not true) and `kind`, the template.

    Source: after McCoy et al. 2019; the templates are ours.
    """
    random = np.random.default_rng(seed)
    filled = [
        (kind, a, b, c, did, acted)
        for kind in TEMPLATES
        for (a, b, c), did, acted in product(_threes(), DID, ACTED)
    ]
    kept, lost = [], []
    per_kind = -(-n // len(TEMPLATES))
    for kind in TEMPLATES:
        own = [entry[1:] for entry in filled if entry[0] == kind]
        for place in random.choice(len(own), per_kind, replace=False):
            a, b, c, did, acted = own[place]
            words = {"a": a, "b": b, "c": c, "did": did, "acted": acted, "was": WAS[acted]}
            premise, entailed, other = (text.format(**words) for text in TEMPLATES[kind])
            row = {"premise": premise, "label": 0, "kind": kind}
            kept.append(row | {"hypothesis": entailed})
            lost.append(row | {"hypothesis": other})
    return kept[:n], lost[:n]


def _threes() -> list[tuple[str, str, str]]:
    """All ordered choices of three people."""
    return [three for three in product(PEOPLE, repeat=3) if len(set(three)) == 3]
