"""A pretrained decoder that installs offline: OPT's blocks with the weights of MiniLM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file
from torch import Tensor
from transformers import OPTConfig, OPTForSequenceClassification

from pidlib.labels import LABELS

PARTS = {
    "self_attn.q_proj": "attention.self.query",
    "self_attn.k_proj": "attention.self.key",
    "self_attn.v_proj": "attention.self.value",
    "self_attn.out_proj": "attention.output.dense",
    "self_attn_layer_norm": "attention.output.LayerNorm",
    "fc1": "intermediate.dense",
    "fc2": "output.dense",
    "final_layer_norm": "output.LayerNorm",
}
"""Parts of an OPT block and where BERT keeps the same."""

TARGETS = ("q_proj", "k_proj", "v_proj", "out_proj", "fc1", "fc2")
"""Linear layers of the decoder that LoRA updates."""


def decoder_classifier(folder: Path, seed: int = 0, attention: str | None = None) -> Any:
    """Build a causal classifier out of the weights of an encoder, its head untrained.

    A block of BERT and one of OPT with its normalisations after the sums (as in OPT-350m)
    are the same function of states and mask. What differs: here a token sees the tokens
    before it only, and the answer is read off the last one. BERT normalises its embeddings
    and OPT does not, so each word's vector is normalised by itself, and positions are
    scaled by the mean of those normalisations. All that is an approximation; training
    mends the rest.

    Parameters
    ----------
    folder : Path
        Of the embedded MiniLM.
    seed : int
        Of the head's weights.
    attention : str, optional
        `"eager"` or `"sdpa"`; transformers chooses by default.

    Returns
    -------
    transformers.OPTForSequenceClassification
        In evaluation mode.

    Raises
    ------
    ValueError
        Weights that do not fit.

    Source: Zhang et al. (2022) for the blocks; the transplant is ours.
    """
    weights = load_file(folder / "model.safetensors")
    words = weights["embeddings.word_embeddings.weight"]
    depth = 1 + max(int(name.split(".")[2]) for name in weights if name.startswith("encoder.layer"))
    config = OPTConfig(
        vocab_size=len(words),
        hidden_size=words.shape[1],
        word_embed_proj_dim=words.shape[1],
        num_hidden_layers=depth,
        num_attention_heads=words.shape[1] // 32,
        ffn_dim=weights["encoder.layer.0.intermediate.dense.weight"].shape[0],
        max_position_embeddings=len(weights["embeddings.position_embeddings.weight"]),
        do_layer_norm_before=False,
        activation_function="gelu",
        dropout=0.0,
        pad_token_id=0,
        bos_token_id=101,
        eos_token_id=102,
        id2label=dict(enumerate(LABELS)),
        label2id={label: k for k, label in enumerate(LABELS)},
        attn_implementation=attention,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = OPTForSequenceClassification(config)
    state = {}
    for t in range(depth):
        for here, there in PARTS.items():
            for kind in ("weight", "bias"):
                state[f"model.decoder.layers.{t}.{here}.{kind}"] = weights[
                    f"encoder.layer.{t}.{there}.{kind}"
                ]
    state |= _embeddings(weights)
    report = model.load_state_dict(state, strict=False)
    left = [k for k in report.missing_keys if k != "score.weight"]
    if left or report.unexpected_keys:
        raise ValueError(f"the weights do not fit: {left}, {report.unexpected_keys}")
    return model.eval()


def _embeddings(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Words normalised one by one; positions in the scale of that."""
    words = weights["embeddings.word_embeddings.weight"]
    places = weights["embeddings.position_embeddings.weight"]
    scale = weights["embeddings.LayerNorm.weight"]
    middle = places[:64].mean(0)
    sums = words + middle + weights["embeddings.token_type_embeddings.weight"][0]
    centred = sums - sums.mean(-1, keepdim=True)
    spread = centred.pow(2).mean(-1, keepdim=True).sqrt()
    moved = scale * (places - middle) / spread.mean()
    two = moved.new_zeros(2, moved.shape[1])  # OPT counts its positions from 2
    return {
        "model.decoder.embed_tokens.weight": scale * centred / spread
        + weights["embeddings.LayerNorm.bias"],
        "model.decoder.embed_positions.weight": torch.cat([two, moved]),
    }
