"""Exercises on language models under control."""

from __future__ import annotations

import numpy as np

from pidbook.check.judge import Answer, Cases, exercise


@exercise("softmax of each row, then the sum over words of p (log p - log q), summed over the rows")
def divergence(answer: Answer) -> Cases:
    """Check a function (logits p, logits q), both (tokens, words) -> sum of KL(p || q) over tokens."""
    random = np.random.default_rng(0)
    for shape in ((1, 3), (4, 7)):
        a, b = random.normal(size=(2, *shape))
        log_p, log_q = (x - np.log(np.exp(x).sum(-1, keepdims=True)) for x in (a, b))
        yield float((np.exp(log_p) * (log_p - log_q)).sum()), answer(a, b)
        yield 0.0, answer(a, a + 5.0)
    return "adding a number to all logits changes nothing"


@exercise("first sum over the texts, then divide: one minus what is left over what there was")
def share_won(answer: Answer) -> Cases:
    """Check a function (gaps without control, with it), each (texts,) -> share of the gap won back."""
    for bare, held in (
        ([2.0, 2.0], [1.0, 1.0]),
        ([4.0, 1.0], [1.0, 2.0]),
        ([1.0, 3.0], [2.0, 4.0]),
    ):
        yield 1 - sum(held) / sum(bare), answer(np.array(bare), np.array(held))
    return "a text with hardly any gap would dominate a mean of ratios"


@exercise(
    "count the real tokens from the left with a cumulative sum; keep those beyond the first k"
)
def later_tokens(answer: Answer) -> Cases:
    """Check a function (mask, k) -> mask without the first k real tokens of each row."""
    mask = np.array([[0, 0, 1, 1, 1], [1, 1, 1, 0, 0], [0, 1, 0, 0, 0]])
    for k in (0, 1, 2):
        yield ((mask.cumsum(1) > k) & (mask > 0)).astype(int).tolist(), answer(mask, k)
    return "padding on either side, and rows that are shorter than k"
