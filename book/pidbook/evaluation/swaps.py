"""What a swap of words does to an answer, and to the loss that a control makes small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from pidlib.data.batches import encode
from pidlib.evaluation import choices
from pidlib.hooks import find_blocks
from pidlib.pid import PIDController
from pidlib.tokens import token_mask


def one_word_swaps(text: str, near_words: Any) -> tuple[list[str], list[str]]:
    """Every swap of a single word of a text: the new word, and the text with it.

    >>> from pidlib.attacks import candidates
    >>> one_word_swaps("A dog sleeps.", candidates("lexicon"))[1][:1]
    ['A canine sleeps.']
    """
    choice = choices(text, near_words)
    new_words, texts = [], []
    for place, size in enumerate(choice.sizes):
        for k in range(1, size):
            chosen = [0] * len(choice.sizes)
            chosen[place] = k
            new_words.append(choice.words[place][k].lower())
            texts.append(choice.written(tuple(chosen)))
    return new_words, texts


def margins_and_losses(
    model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]], controller: PIDController
) -> tuple[np.ndarray, np.ndarray]:
    """Margin of the right answer, and the running loss of P's subspaces, of each row, (N,) each.

    The margin is the logit of the label less the best other: below 0 the answer is wrong.
    """
    inputs = encode(tokenizer, rows)
    with torch.no_grad(), find_blocks(model).reading() as states:
        logits = model(**inputs).logits.float()
    labels = torch.tensor([row["label"] for row in rows])[:, None]
    own = logits.gather(1, labels)[:, 0]
    others = logits.scatter(1, labels, -torch.inf)
    mask = token_mask(inputs.get("attention_mask"), states[0])
    loss = torch.zeros_like(own)
    for t, x in enumerate(states[:-1]):
        off = x @ controller.projections(t, "P")["P"].float()
        loss = loss + (off.square().sum(-1) * mask).sum(1) / mask.sum(1)
    return (own - others.max(1).values).numpy(), loss.numpy()
