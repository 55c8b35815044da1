"""Swaps of groups of persons, and what they move."""

import pytest
import torch

from pidbook.data import GroupSwap
from pidbook.estimation import swapped_words
from pidlib import load_model, load_nli, read_states


def swapped(text, kind="gender"):
    return GroupSwap(kind).apply({"text": text})["text"]


@pytest.mark.parametrize(
    ("kind", "text", "wanted"),
    [
        ("gender", "The man's dog sees HIM.", "The woman's dog sees HER."),
        ("gender", "Her mother holds her.", "His father holds him."),
        ("gender", "A man with her on a bench", "A woman with him on a bench"),
        ("gender", "A manual for humans and Germans", "A manual for humans and Germans"),
        ("gender", "She herself waits.", "He himself waits."),
        ("gender, adults", "A boy and a man", "A boy and a woman"),
        ("gender, others", "A boy and a man", "A girl and a man"),
    ],
)
def test_words_are_swapped_at_their_bounds(kind, text, wanted):
    assert swapped(text, kind) == wanted


@pytest.mark.parametrize(
    ("kind", "text", "holds"),
    [
        ("gender", "A man sleeps.", True),
        ("gender", "A man with a beard sleeps.", False),
        ("gender", "A fireman and a man", False),
        ("gender", "A dog sleeps.", False),
        ("gender, adults", "A boy and a man", False),
        ("gender", "This book of his is hers.", False),
    ],
)
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


def test_an_unknown_swap_is_named():
    with pytest.raises(ValueError, match="unknown swap 'sex'; known: .*'gender'"):
        GroupSwap("sex")


def test_a_swap_is_told_by_the_first_directions():
    model, tokenizer = load_model("minilm-nli")
    swap = GroupSwap("gender, adults")
    rows = [dict(row) for row in load_nli("captions", n=400) if swap.holds(row)][:30]
    found = swapped_words(model, tokenizer, rows, swap)
    frame = found.directions
    assert torch.allclose(frame.T @ frame, torch.eye(len(frame)).double(), atol=1e-8)
    sides = {}
    for word in ("man", "woman"):
        inputs = tokenizer(f"A {word} sleeps.", return_tensors="pt")
        state = read_states(model, inputs).values[0][0, 2].double()
        sides[word] = (state - found.mean) @ frame[:, :2]
        assert sides[word].norm() > found.threshold
    assert sides["man"][0] * sides["woman"][0] < 0
    with pytest.raises(ValueError, match="changes no word"):
        swapped_words(model, tokenizer, [{"text": "A dog sleeps."}], swap)
