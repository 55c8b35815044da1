r"""A certificate against swaps of words: an answer averaged over random synonyms cannot turn.

The smoothed answer to a text gives each label its share under random words: at each place k a word
drawn evenly from a set P(w_k) around the word w_k that stands there, the places independent. Let
the attacker write w'_k. Then the draw comes from P(w'_k), and the two draws differ in distribution
by the total variation

    d_k = 1 - |P(w_k) & P(w'_k)| / max(|P(w_k)|, |P(w'_k)|).

Both draws can be made one with chance 1 - d_k at place k (a coupling), and at all places with the
product of these. So the distributions of whole texts differ by at most

    q = 1 - prod_k (1 - d_k),

over the places that changed. No event, and so no label's share, moves by more than q: the share of
the right label falls by at most q, that of any other rises by at most q. If the first exceeds the
others by more than 2 q, the smoothed answer stays what it is. The bound asks nothing of the model.

With candidate lists q is large: a word's neighbours have other neighbours. If the sets are the
groups of a partition, all words of a group share one set, q = 0, and every smoothed answer holds
inside the groups, right or wrong.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np


def total_variation(first: Collection[str], second: Collection[str]) -> float:
    """Distance between even draws from two sets of words.

    Parameters
    ----------
    first, second : collections of str, not empty; a word counts once

    Returns
    -------
    float
        From 0, the same set, to 1, no word in common.

    Raises
    ------
    ValueError
        For an empty set.

    Examples
    --------
    >>> total_variation({"dog", "hound"}, {"dog", "hound", "hot dog", "sausage"})
    0.5

    Source: Ye, Gong & Liu 2020, whose overlap of two sets it is, less one; sets of any sizes.
    """
    first, second = set(first), set(second)
    if not first or not second:
        raise ValueError("a draw from no words: give sets of at least one word")
    return 1.0 - len(first & second) / max(len(first), len(second))


def smoothing_shift(distances: Sequence[float], changed: int | None = None) -> float:
    """Most by which the share of a label moves when some words change.

    Parameters
    ----------
    distances : (k,) floats from 0 to 1, for each place the largest total variation that a swap of
        the word there can cause
    changed : int, optional, words that may change at once; by default all

    Returns
    -------
    float
        q, from 0 to 1.

    Raises
    ------
    ValueError
        For a distance outside 0 to 1, or less than 0 words.

    Examples
    --------
    >>> smoothing_shift([0.5, 0.2, 0.0], changed=1), smoothing_shift([0.5, 0.2, 0.0])
    (0.5, 0.6)

    Source: Ye, Gong & Liu 2020, Theorem 1. Departure: the words that change most count together as
    a product, by a coupling, and not place by place as a sum.
    """
    kept = np.sort(1.0 - np.asarray(distances, dtype=float))
    if kept.size and not (0 <= kept[0] and kept[-1] <= 1):
        raise ValueError(f"distances {list(distances)}: each lies between 0 and 1")
    if changed is not None and changed < 0:
        raise ValueError(f"{changed} words may change; give 0 or more")
    return float(1.0 - kept[:changed].prod())


def certified(
    shares: Sequence[float], label: int, shift: float, draws: int | None = None, risk: float = 0.05
) -> bool:
    """Whether a smoothed answer is right, and stays so under every swap allowed.

    Parameters
    ----------
    shares : (labels,) floats, what the labels get under random words
    label : int, the right one
    shift : float, q of `smoothing_shift`
    draws : int, optional, by how many draws the shares were estimated; exact by default
    risk : float, chance that a certificate from draws is wrong

    Returns
    -------
    bool

    Raises
    ------
    ValueError
        For a shift or a risk out of range, or no draws.

    Examples
    --------
    >>> certified([0.8, 0.1, 0.1], 0, shift=0.3), certified([0.8, 0.1, 0.1], 0, shift=0.4)
    (True, False)

    Source: Ye, Gong & Liu 2020, Proposition 1. Departure: Hoeffding's bound for each difference of
    two shares, all of them at once, and not for the two largest.
    """
    if not 0 <= shift <= 1 or not 0 < risk < 1 or (draws is not None and draws < 1):
        raise ValueError(f"shift {shift}, risk {risk}, {draws} draws: out of range")
    values = np.asarray(shares, dtype=float)
    others = np.delete(values, label)
    # of a mean of terms between -1 and 1; one such bound for each other label
    slack = np.sqrt(2 * np.log(len(others) / risk) / draws) if draws else 0.0
    return bool(values[label] - others.max() > 2 * shift + slack)
