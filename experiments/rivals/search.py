"""A beam over the words of a list, against anything that answers; it stops where an answer falls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pidlib.evaluation.exact import LEVELS, WIDTH, Choices, Margins, grown


class Searched(NamedTuple):
    """What a search did to one text.

    Attributes
    ----------
    clean : bool, whether the answer to the text as written is right
    held : tuple of bool, right under the texts met, by `LEVELS`; "one word" is exact
    worst : str, the text met at which the margin is least
    asked : int, texts answered
    """

    clean: bool
    held: tuple[bool, ...]
    worst: str
    asked: int


def searched(
    of: Choices, margins: Margins, guide: Margins | None = None, first: int = 16
) -> Searched:
    """Change a further word in each step, of the `WIDTH` most harmful texts of the last one.

    Every swap of one word is met. A guide, such as the margins of the model without the rival,
    says in which order the texts of a step are asked; the order saves answers and decides nothing
    but which wrong answer is met first. `first` texts are asked at once, then twice as many.
    """
    lowest, worst = float(margins([of.text])[0]), of.text
    asked, held = 1, []
    if lowest <= 0:
        return Searched(False, (False,) * len(LEVELS), worst, asked)
    kept = [(0,) * len(of.sizes)]
    for _ in of.sizes:
        wider = grown(kept, of.sizes)
        texts = [of.written(choice) for choice in wider]
        order = range(len(texts)) if guide is None else np.argsort(guide(texts), kind="stable")
        wider, texts = [wider[k] for k in order], [texts[k] for k in order]
        values, size = [], first
        while len(values) < len(texts) and (not values or min(values) > 0):
            values += margins(texts[len(values) : len(values) + size]).tolist()
            size *= 2
        asked += len(values)
        if min(values) < lowest:
            lowest, worst = min(values), texts[int(np.argmin(values))]
        held.append(min(values) > 0)
        if not held[-1]:
            break
        kept = [wider[k] for k in np.argsort(values, kind="stable")[:WIDTH]]
    return Searched(True, tuple(all(held[:k]) for k in (1, 2, len(held))), worst, asked)
