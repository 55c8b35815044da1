"""Swaps of groups of persons, and the feedback against what they move."""

import pytest
import torch

from pidbook.data import GroupSwap
from pidbook.estimation import SwapFeedback
from pidlib.data import load_nli

A = torch.eye(4, dtype=torch.float64)


def swapped(text, kind="gender"):
    return GroupSwap(kind).apply({"text": text})["text"]


SWAPS = [
    ("gender", "The man's dog sees HIM.", "The woman's dog sees HER."),
    ("gender", "Her mother holds her.", "His father holds him."),
    ("gender", "A man with her on a bench", "A woman with him on a bench"),
    ("gender", "A manual for humans and Germans", "A manual for humans and Germans"),
    ("gender", "She herself waits.", "He himself waits."),
    ("gender, adults", "A boy and a man", "A boy and a woman"),
    ("gender, others", "A boy and a man", "A girl and a man"),
    ("age", "An old man and a young woman", "A young man and an old woman"),
    ("origin", "An African boy", "An Asian boy"),
    ("origin", "A French dancer", "A Japanese dancer"),
    ("colour", "A red hat", "A blue hat"),
]


@pytest.mark.parametrize(("kind", "text", "wanted"), SWAPS)
def test_words_are_swapped_at_their_bounds(kind, text, wanted):
    assert swapped(text, kind) == wanted


QUALIFY = [
    ("gender", "A man sleeps.", True),
    ("gender", "A man with a beard sleeps.", False),
    ("gender", "A fireman and a man", False),
    ("gender", "A dog sleeps.", False),
    ("gender, adults", "A boy and a man", False),
    ("gender", "This book of his is hers.", False),
    ("age", "A young man sits.", True),
    ("age", "An old house", False),
    ("age", "A young man and a child", False),
    ("origin", "A Chinese woman", True),
    ("origin", "A Chinese woman in Japan", False),
    ("origin", "An American flag", False),
    ("colour", "A red hat", True),
    ("colour", "A red team", False),
]


@pytest.mark.parametrize(("kind", "text", "holds"), QUALIFY)
def test_rows_that_qualify(kind, text, holds):
    assert GroupSwap(kind).holds({"text": text}) == holds


def test_a_second_swap_gives_a_row_back():
    swap = GroupSwap("gender")
    rows = [dict(row) for row in load_nli("captions", n=300)]
    kept = [row for row in rows if swap.holds(row)]
    assert len(kept) > 50
    for row in kept:
        other = swap.apply(row)
        assert swap.apply(other) == row != other and other["label"] == row["label"]
        assert swap.sides(other) == swap.sides(row)[::-1]


def test_an_unknown_swap_is_named():
    with pytest.raises(ValueError, match="unknown swap 'sex'; known: .*'gender'"):
        GroupSwap("sex")


def law(places, gain=1.0):
    """Directions 0 and 1 of four; marked where a deviation there is longer than a half."""
    made = SwapFeedback(
        {0: A[:, :2]}, {0: torch.tensor([0.9, 0.1])}, {0: torch.zeros(4).double()}, 0.5,
        rank=2, gain=gain, places=places,
    )  # fmt: skip
    return made.begin()


def test_the_shared_law_keeps_what_sets_words_apart():
    man, woman, dog = A[0] + A[2], -A[0] + A[2], 0.1 * A[0] + A[3]
    alike, differ = torch.stack([man, dog, man])[None], torch.stack([man, dog, woman])[None]
    assert torch.allclose(law("shared")(0, alike, None)[0, 0], A[2])
    assert torch.allclose(law("shared")(0, differ, None), differ)
    for places in ("all", "marked"):
        out = law(places)(0, differ, None)
        assert torch.allclose(out[0, 0], out[0, 2])  # deaf
    assert torch.allclose(law("marked")(0, differ, None)[0, 1], dog)
    assert torch.allclose(law("all")(0, differ, None)[0, 1], A[3])
    assert torch.allclose(law("agreed")(0, alike, None)[0], torch.stack([A[2], dog, A[2]]))
    assert torch.equal(law("agreed")(0, differ, None), differ)
    half = law("shared", 0.5)(0, alike, None)[0, 0]
    assert torch.allclose(half, A[2] + 0.5 * A[0])


def test_padding_is_neither_moved_nor_counted():
    x = torch.stack([A[0], A[0], -5 * A[0]])[None]
    mask = torch.tensor([[[True], [True], [False]]])
    out = law("shared")(0, x, mask)
    assert torch.allclose(out[0, :2], torch.zeros(2, 4).double()) and torch.equal(
        out[0, 2], x[0, 2]
    )


BAD_SETTINGS = [
    ({"places": "here"}, "unknown places 'here'"),
    ({"layers": (1,)}, "add 0"),
    ({"layers": (0, 3)}, "state 3 was not fitted"),
    ({"rank": 3}, "rank is 3; give 1 to 2"),
]


@pytest.mark.parametrize(("settings", "said"), BAD_SETTINGS)
def test_bad_settings_are_named(settings, said):
    parts = {0: A[:, :2]}, {0: torch.ones(2)}, {0: torch.zeros(4)}, 0.5
    with pytest.raises(ValueError, match=said):
        SwapFeedback(*parts, **({"rank": 2} | settings))
