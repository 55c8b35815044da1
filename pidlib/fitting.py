"""What a fit has summed up so far: kept on disk, taken up again, merged over processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any
from warnings import warn

import torch
from torch import Tensor

from pidlib.bases import Eigenbases, FitRecord, checksums
from pidlib.data.labels import check_labels, label_order
from pidlib.hooks import Blocks, read_states, uncached
from pidlib.io.checkpoints import Checkpoint
from pidlib.theory.subspaces import Moments, rank_for, spectrum
from pidlib.tokens import after_first


class Accumulators:
    """Second moments of every state and term, and how much text they hold."""

    def __init__(self, terms: str = "PID") -> None:
        self.terms = terms
        self.moments: dict[str, list[Moments]] = {}
        self.counts = dict.fromkeys(("batches", "rows", "correct", "truncated"), 0)

    def add(self, values: Sequence[Tensor], mask: Tensor) -> None:
        """Add the states (B, l, d) of a batch, x_0 to x_T; mask (B, l) is true where they count."""
        used = mask.any(1)
        self.counts["correct"] += int(used.sum())
        if not used.any():
            return
        if not self.moments:
            self._begin(values[0].shape[-1], [x.device for x in values])
        past = last = None
        mask = mask[used]
        for t, state in enumerate(values):
            x = state[used.to(state.device)]
            mask = mask.to(x.device)
            self.moments["P"][t].update(x, mask)
            if t > 0 and "I" in self.moments:
                past = past.to(x.device) + x
                self.moments["I"][t].update(past, mask)
            if t > 0 and "D" in self.moments:
                self.moments["D"][t].update(x - last.to(x.device), mask)
            past, last = x if t == 0 else past, x

    def _begin(self, width: int, devices: Sequence[Any]) -> None:
        self.moments = {i: [Moments(width, device=d) for d in devices] for i in self.terms}
        for i in self.terms:  # one state has no past: D_0 = I_0 = x_0
            self.moments[i][0] = self.moments["P"][0]

    @property
    def own(self) -> Iterator[tuple[str, Moments]]:
        """Name and sums of each state and term, those that are shared once."""
        for term, states in self.moments.items():
            for t, moments in enumerate(states):
                if t > 0 or term == "P":
                    yield f"{term}.{t}", moments

    def keep(self, checkpoint: Checkpoint, last: bool = False) -> None:
        """Keep the sums, if it is time, or they are the last and some were kept before."""
        if checkpoint.due or last and checkpoint.begun:
            sums = {name: moments.embedding.cpu() for name, moments in self.own}
            tokens = {name: [moments.tokens, moments.examples] for name, moments in self.own}
            checkpoint.keep(sums, self.counts["batches"], counts=self.counts, tokens=tokens)

    @classmethod
    def begin(cls, checkpoint: Checkpoint, about: Mapping[str, Any], terms: str) -> Accumulators:
        """Take up sums that were kept; none are there: begin with none."""
        whole, unfinished = cls(terms), checkpoint.begin(about)
        if unfinished is None:
            return whole
        with checkpoint.reading():
            sums, card = unfinished
            whole.counts = {name: int(card["counts"][name]) for name in whole.counts}
            if sums:
                depth = 1 + max(int(name.partition(".")[2]) for name in sums)
                whole._begin(len(next(iter(sums.values()))), ["cpu"] * depth)
                for name, moments in whole.own:
                    moments.embedding = sums[name]
                    moments.tokens, moments.examples = card["tokens"][name]
        return whole

    def all_reduce(self) -> None:
        """Add up the sums of all processes of a distributed run; each then has all."""
        from torch import distributed

        known = torch.tensor(
            [len(self.moments["P"]), self.moments["P"][0].width] if self.moments else [0, 0]
        )
        distributed.all_reduce(known, distributed.ReduceOp.MAX)
        if not self.moments and int(known[0]):  # no row of this process counted
            self._begin(int(known[1]), ["cpu"] * int(known[0]))
        for _, moments in self.own:
            distributed.all_reduce(moments.embedding)
            pair = torch.tensor([moments.tokens, moments.examples])
            distributed.all_reduce(pair)
            moments.tokens, moments.examples = pair.tolist()
        counts = torch.tensor(list(self.counts.values()))
        distributed.all_reduce(counts)
        self.counts = dict(zip(self.counts, counts.tolist(), strict=True))


def learn(
    blocks: Blocks,
    batches: Iterable[Any],
    terms: Sequence[str] = "PID",
    keep: float = 1.0,
    correct_only: bool = True,
    named: bool = False,
    checkpoint: Checkpoint | None = None,
    merge: Callable[[Accumulators], None] | None = None,
    skip_first: int = 0,
) -> Eigenbases:
    """Stream batches once through a model and learn the bases; memory: d^2 numbers a state and term."""
    model, terms = blocks.model, "".join(sorted({"P", *terms}, key="PID".index))
    if model.training or any(module.training for module in blocks.modules):
        raise ValueError("the model is in training mode (dropout is on); call model.eval() first")
    order = label_order(model.config) if correct_only else None
    weights = checksums(blocks)
    about = {"blocks": list(weights), "terms": terms, "correct_only": correct_only}
    about |= {"skip_first": skip_first} if skip_first else {}
    sums = Accumulators.begin(checkpoint, about, terms) if checkpoint else Accumulators(terms)
    for batch in islice(batches, sums.counts["batches"], None):
        with torch.inference_mode():
            inputs, labels = _inputs_and_labels(batch)
            _warn_of_padding(model, inputs)
            if order is None and getattr(model, "can_generate", bool)():
                least = {"logits_to_keep": 1} | _first_token(model, inputs)  # of what it must give
                inputs = uncached(model, inputs, **least)
            with blocks.held(alone=False):
                values, mask, logits = read_states(model, inputs, blocks)
            places = getattr(batch, "indices", None)
            if places is None:
                places = range(sums.counts["rows"], sums.counts["rows"] + len(mask))
            sums.counts["batches"] += 1
            sums.counts["rows"] += len(mask)
            sums.counts["truncated"] += getattr(batch, "truncated", 0)
            _check_finite(values, mask, blocks.names)
            if order is not None:
                mask = mask & _right(logits, labels, places, order).to(mask.device)[:, None]
            sums.add(values, after_first(mask, skip_first))
        if checkpoint:
            sums.keep(checkpoint)
    if checkpoint:
        sums.keep(checkpoint, last=True)
    if merge is not None:
        merge(sums)
    counts = {name: n for name, n in sums.counts.items() if name != "batches"}
    _check_counts(counts, skip_first, order is not None)
    first = sums.moments["P"][0]
    counts |= {"tokens": first.tokens, "width": first.width}
    if first.tokens < first.width:
        warn(
            f"{first.tokens} tokens for {first.width} directions: the subspaces hold these tokens and "
            "little else; give more rows",
            stacklevel=3,
        )
    return _bases(sums.moments, keep, FitRecord.of(blocks, named, blocks=weights, **counts))


def _inputs_and_labels(batch: Any) -> tuple[dict[str, Tensor], Tensor | None]:
    """Arguments of the forward and labels of a batch: of ours, or a mapping as a data loader gives it."""
    if hasattr(batch, "inputs"):
        return dict(batch.inputs), _tensor(batch.labels)
    if not isinstance(batch, Mapping):
        raise TypeError(
            f"a batch is a {type(batch).__name__}: give mappings of the forward's arguments, with "
            "`labels` among them, or objects with `inputs` and `labels`"
        )
    inputs = dict(batch)
    return inputs, _tensor(inputs.pop("labels", None))


def _warn_of_padding(model: Any, inputs: Mapping[str, Tensor]) -> None:
    """Say that padding is taken for text where no mask tells them apart."""
    config = getattr(model, "config", None)
    ids, pad = inputs.get("input_ids"), getattr(config, "pad_token_id", None)
    if (
        ids is not None
        and pad is not None
        and "attention_mask" not in inputs
        and (ids == pad).any()
    ):
        warn(
            f"a batch has the padding token {pad} and no attention_mask, so padding is fitted as if it "
            "were text; add the attention_mask that the tokenizer gives",
            stacklevel=4,
        )


def _tensor(labels: Any) -> Tensor | None:
    """Labels as a tensor, whatever held them."""
    return None if labels is None else torch.as_tensor(labels)


def _first_token(model: Any, inputs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """What the decoder of an encoder-decoder begins with, where the inputs do not tell."""
    config = model.config
    given = {"decoder_input_ids", "decoder_inputs_embeds", "labels"} & set(inputs)
    if not getattr(config, "is_encoder_decoder", False) or given:
        return {}
    known = (getattr(config, f"{name}_token_id", None) for name in ("decoder_start", "bos", "pad"))
    start = next((token for token in known if token is not None), 0)
    first = next(iter(inputs.values()))
    return {"decoder_input_ids": first.new_full((len(first), 1), start, dtype=torch.long)}


def _check_counts(counts: Mapping[str, int], skip_first: int, correct_only: bool) -> None:
    """Refuse a fit that no row counted in."""
    if counts["rows"] == 0:
        raise ValueError("there are no rows: give at least one example")
    if counts["correct"] == 0 and (skip_first or not correct_only):
        raise ValueError(
            f"none of the {counts['rows']} rows "
            + ("is classified correctly and " if correct_only else "")
            + f"has a token beyond the first {skip_first}; give longer rows, or a smaller skip_first"
        )
    if counts["correct"] == 0:
        raise ValueError(
            f"the model classifies none of the {counts['rows']} rows correctly; check that its labels "
            "(model.config.id2label) and those of the rows mean the same"
        )


def _bases(moments: Mapping[str, Sequence[Moments]], keep: float, origin: FitRecord) -> Eigenbases:
    """Spectra and leading eigenvectors of every state; as many columns for all of a term."""
    values, vectors, first = {}, {}, _spectrum(moments["P"][0])  # x_0 is that of all terms
    for term, states in moments.items():
        spectra = [first, *map(_spectrum, states[1:])]
        values[term] = torch.stack([sizes for sizes, _ in spectra])
        most = max(rank_for(v, keep) for v in values[term]) if keep != 1.0 else origin.width
        vectors[term] = torch.stack([frame[:, :most].float() for _, frame in spectra])
    return Eigenbases(values, vectors, origin)


def _spectrum(of: Moments) -> tuple[Tensor, Tensor]:
    return spectrum(of.embedding.cpu() / of.tokens)


def _right(
    logits: Tensor | None, labels: Tensor | None, places: Iterable[int], order: list[int]
) -> Tensor:
    """Which rows of a batch are classified correctly; `places` name the rows in errors."""
    if labels is None:
        raise ValueError(
            "the rows carry no label, a number that tells correctly classified rows from others; "
            "add labels, or pass correct_only=False to fit on all rows"
        )
    if logits is None or logits.dim() != 2:
        raise ValueError(
            "the model returns no logits (rows, labels): it is not a sequence classifier; use one, "
            "or pass correct_only=False to fit on all rows"
        )
    if len(labels) != len(logits):
        raise ValueError(
            f"a batch has {len(labels)} labels for {len(logits)} rows; give one for each"
        )
    check_labels(labels.tolist(), len(order), places)
    return logits[:, order].argmax(-1).cpu() == labels.cpu()


def _check_finite(values: Sequence[Tensor], mask: Tensor, names: Sequence[str]) -> None:
    """Name the first state with a NaN; the last one shows whether there is any."""
    if bool((torch.isfinite(values[-1]).all(-1) | ~mask.to(values[-1].device)).all()):
        return
    for t, x in enumerate(values):
        if not bool((torch.isfinite(x).all(-1) | ~mask.to(x.device)).all()):
            place = f"the input of {names[t]}" if t < len(names) else "the last block's output"
            raise ValueError(
                f"state x_{t}, {place}, has NaN or infinite entries; check the weights and the "
                "number type (half precision may overflow), or the input"
            )
