"""What control costs: time and operations with it over those without."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from pidlib.data.batches import batches
from pidlib.gain import Gain
from pidlib.hooks import Blocks, Control, find_blocks
from pidlib.laws import Static, strengths
from pidlib.pid import PUBLISHED, PIDController
from pidlib.pontryagin import Pontryagin

ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "DistilBERT": ("distilbert", {}),
    "RoBERTaBase": ("roberta", {}),
    "RoBERTaLarge": (
        "roberta",
        {"num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
         "intermediate_size": 4096},
    ),
    "BERTLarge": (
        "bert",
        {"num_hidden_layers": 24, "hidden_size": 1024, "num_attention_heads": 16,
         "intermediate_size": 4096},
    ),
    "OPT": (
        "opt",
        {"num_hidden_layers": 24, "hidden_size": 2048, "num_attention_heads": 32,
         "ffn_dim": 8192, "word_embed_proj_dim": 2048},
    ),
}  # fmt: skip
"""Model type and settings of the paper's models (OPT is OPT-1.3B) and of BERT-large."""
RANKS = {"P": 0.155, "D": 0.483}
"""Ranks as shares of the width: the means of the paper's Table 7, 317 and 989 of 2048."""
TOKENS = 32  # a pair of SNLI has about thirty
LEAST = 8
MOST = 100  # rounds of a cell
SECONDS = 24.0  # about how long a cell may take


@dataclass(frozen=True)
class Overhead:
    """Time with control over time without.

    Attributes
    ----------
    ratio : float
        Median over rounds of controlled time / base time.
    low, high : float
        95 % bootstrap interval of that median.
    bound : float
        Ratio of the floating-point operations, counted: what is unavoidable.
    base_seconds : float
        Median time of one round without control.
    rounds : int
    forms : tuple of str
        How each controlled state's product is computed.

    Source: Table 5.
    """

    ratio: float
    low: float
    high: float
    bound: float
    base_seconds: float
    rounds: int
    forms: tuple[str, ...]

    def __str__(self) -> str:
        """Ratio, interval and bound on one line."""
        return (
            f"controlled / base time {self.ratio:.3f} (95 % interval {self.low:.3f} to "
            f"{self.high:.3f}, {self.rounds} rounds); floating-point bound {self.bound:.3f}"
        )


def overhead(
    model: nn.Module,
    controller: PIDController,
    inputs: Sequence[Mapping[str, torch.Tensor]],
    rounds: int = 20,
    seed: int = 0,
) -> Overhead:
    """Time a model with and without control, turn about, in one process.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        In evaluation mode.
    controller : PIDController
    inputs : sequence of mappings
        Batches; one round runs all of them once without and once with control, in an
        order that changes from round to round.
    rounds : int
        At least 1; one more is run first and thrown away.
    seed : int
        Of the bootstrap.

    Returns
    -------
    Overhead

    Source: Table 5. Departure: interleaved and with an interval; the paper gives means.
    """
    if rounds < 1 or not inputs:
        raise ValueError(f"{rounds} rounds of {len(inputs)} batches: give at least 1 of each")

    def once() -> float:
        start = time.perf_counter()
        for batch in inputs:
            model(**batch)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        return time.perf_counter() - start

    def controlled() -> float:
        with controller.attached(model):
            return once()

    times = []
    with torch.inference_mode():
        for k in range(rounds + 1):
            pair = (once(), controlled()) if k % 2 else (controlled(), once())[::-1]
            times.append(pair)
        bound = operations(model, inputs, controller) / operations(model, inputs)
    base, on = np.array(times[1:]).T
    draws = np.random.default_rng(seed).integers(rounds, size=(4000, rounds))
    low, high = np.quantile(np.median((on / base)[draws], axis=1), [0.025, 0.975])
    forms = tuple(gain.form for kinds in controller.feedback.values() for gain in kinds.values())
    middle = float(np.median(on / base))
    return Overhead(middle, float(low), float(high), bound, float(np.median(base)), rounds, forms)


def control_cost(
    model: nn.Module,
    tokenizer: Any,
    rows: Sequence[Mapping[str, Any]],
    controller: PIDController,
    repeats: int = 20,
    batch_size: int = 32,
) -> Overhead:
    """Time the forward calls of rows of text with and without control; see `overhead`.

    Parameters
    ----------
    model : transformers.PreTrainedModel
        In evaluation mode.
    tokenizer : transformers.PreTrainedTokenizerBase
    rows : sequence of mappings
        Keys `premise` and `hypothesis`, or `text`. Their tokens are made before the clock runs.
    controller : PIDController
    repeats : int
        Rounds, at least 1.
    batch_size : int

    Returns
    -------
    Overhead
        Prints as one line.

    Source: Table 5.
    """
    where = next(model.parameters()).device
    inputs = [batch.inputs for batch in batches(tokenizer, rows, batch_size, device=where)]
    return overhead(model, controller, inputs, repeats)


def operations(
    model: nn.Module,
    inputs: Sequence[Mapping[str, torch.Tensor]],
    controller: PIDController | None = None,
) -> int:
    """Count the floating-point operations of the products in forward calls.

    Parameters
    ----------
    model : torch.nn.Module
    inputs : sequence of mappings
    controller : PIDController, optional
        Attached while counting.

    Returns
    -------
    int

    Source: ours; counted by torch.
    """
    with FlopCounterMode(display=False) as counter:
        if controller is None:
            for batch in inputs:
                model(**batch)
        else:
            with controller.attached(model):
                for batch in inputs:
                    model(**batch)
    return counter.get_total_flops()


@dataclass(eq=False)
class RandomControl:
    """P-D control with random subspaces of stated ranks, for timing alone.

    Random weights have no clean states, so a fit would give meaningless ranks; the time of
    a product depends on its shape only.

    Parameters
    ----------
    model : torch.nn.Module
    terms : str
        "P" or "PD".
    layers : "published" or None
        The published choice, or all states.
    ranks : mapping of term to float
        Shares of the width.
    c : float
    seed : int
    variance : float
        What `pidlib.laws` asks for; without effect here, since the ranks are stated.
    gains : str
        As for `PIDController.fit`.
    """

    model: nn.Module
    terms: str = "PD"
    layers: str | None = "published"
    ranks: dict[str, float] = field(default_factory=lambda: dict(RANKS))
    c: float = 1e-3
    seed: int = 0
    variance: float = 0.99
    gains: str = "normalised"

    def __post_init__(self) -> None:
        self.found = find_blocks(self.model)
        T, kind = self.found.depth, self.model.config.model_type
        last = T - 1
        if self.layers == "published":
            if (kind, T) not in PUBLISHED:
                raise ValueError(f"the published code has no choice of states for {kind} of {T}")
            last = PUBLISHED[kind, T]
        self.controlled = tuple(range(last + 1))
        self.scheme = "-".join(self.terms)
        weight = next(self.model.parameters())
        draw = torch.Generator(device=weight.device).manual_seed(self.seed)
        d = self.found.width
        square = torch.randn(d, d, generator=draw, device=weight.device)
        frame = torch.linalg.qr(square).Q
        self.frames = {}  # each state has its own, as a fit would give it
        for t in self.controlled:
            order = torch.randperm(d, generator=draw, device=weight.device)
            kept = {term: round(share * d) for term, share in self.ranks.items()}
            self.frames[t] = {
                "P": frame[:, order[: kept["P"]]].contiguous(),
                "D": frame[:, order[d - kept["D"] :]].contiguous(),
            }
        self.bases = self
        self.feedback = {t: {self.scheme: self._gain(t)} for t in self.controlled}

    def _gain(self, t: int) -> Gain:
        """Our form: thin where it pays, one dense product elsewhere."""
        share = float(strengths(self.found.depth, self.c)[t])
        kept = [self.frames[t][term] for term in self.terms]
        eye = torch.eye(self.found.width, device=kept[0].device)
        if len(kept) == 1 and 2 * kept[0].shape[1] < len(eye):
            return Gain(-share * kept[0], kept[0].T.neg().contiguous(), share)
        mixed = sum(eye - v @ v.T for v in kept) / len(kept)
        return Gain(-share * mixed, None, 0.0)

    def projection(self, term: str, t: int, _variance: float) -> Tensor:
        """Q^i_t = I - V V^T, (d, d) float64.

        Parameters
        ----------
        term : {"P", "D"}
        t : int
            Controlled state, from 0.

        Returns
        -------
        (d, d) float64 tensor
        """
        v = self.frames[t][term].double()
        return torch.eye(len(v), dtype=v.dtype, device=v.device) - v @ v.T

    @property
    def hooked(self) -> list[int]:
        """Controlled states."""
        return list(self.controlled)

    def begin(self) -> Control:
        """Make the law.

        Returns
        -------
        Control
            A function of the block's number, its input and the mask.
        """
        return Static({t: kinds[self.scheme] for t, kinds in self.feedback.items()})

    @contextmanager
    def claimed(self, _model: nn.Module) -> Iterator[Blocks]:
        """Give the blocks.

        Yields
        ------
        Blocks
        """
        yield self.found

    @contextmanager
    def attached(self, model: nn.Module) -> Iterator[nn.Module]:
        """Control the model.

        Parameters
        ----------
        model : torch.nn.Module
            The one that the control was made for.

        Yields
        ------
        torch.nn.Module
            The same model.
        """
        with self.found.control(begin=self.begin, layers=self.hooked):
            yield model

    @contextmanager
    def naive(self, model: nn.Module) -> Iterator[nn.Module]:
        """Control the model by the same formula written out without thought.

        A tensor of zeros, the mask multiplied on, and for each term two tensordots with its
        basis.

        Parameters
        ----------
        model : torch.nn.Module
            The one that the control was made for.

        Yields
        ------
        torch.nn.Module
            The same model.
        """
        shares = strengths(self.found.depth, self.c)

        def control(t: int, x: Tensor, mask: Tensor | None) -> Tensor:
            real = torch.ones_like(x[..., :1]) if mask is None else mask.to(x)
            seen, u = x * real, torch.zeros_like(x)
            for term in self.terms:
                basis = self.frames[t][term]
                inside = torch.tensordot(torch.tensordot(seen, basis, 1), basis.T, 1)
                u = u + (seen - inside) / len(self.terms)
            return x - float(shares[t]) * u

        with self.found.control(control, layers=self.hooked):
            yield model


class Ratio(NamedTuple):
    """Time over the time without control, run beside it.

    Attributes
    ----------
    value, low, high : float
        Median over rounds and its 95 % bootstrap interval.

    Source: Table 5. Departure: interleaved rounds; the paper gives means of five.
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def build(name: str, depth: int | None = None, **changes: Any) -> nn.Module:
    """Make a classifier of one of `ARCHITECTURES` with random weights.

    Parameters
    ----------
    name : str
    depth : int, optional
        Another number of blocks, for a trial.
    changes
        Other settings of the configuration.

    Returns
    -------
    transformers.PreTrainedModel
        In evaluation mode.

    Raises
    ------
    ValueError
        An unknown name.

    Source: section 3.1 (models).
    """
    from transformers import AutoConfig, AutoModelForSequenceClassification

    if name not in ARCHITECTURES:
        raise ValueError(f"unknown architecture {name!r}; known: {list(ARCHITECTURES)}")
    kind, settings = ARCHITECTURES[name]
    settings = {"num_labels": 3, "pad_token_id": 1, **settings, **changes}
    if depth is not None:
        settings["n_layers" if kind == "distilbert" else "num_hidden_layers"] = depth
    config = AutoConfig.for_model(kind, **settings)
    return AutoModelForSequenceClassification.from_config(config).eval()


def measure(
    call: Callable[[], Any],
    contexts: dict[str, Callable[[], Any]],
    device: torch.device,
    rounds: int,
    seed: int = 0,
) -> dict[str, np.ndarray]:
    """Time one call in several contexts, turn about, each round in another order.

    A context is entered before the clock starts and left after it has stopped.

    Parameters
    ----------
    call : callable
    contexts : mapping of str to callable () -> context manager
        One of them `"base"`.
    device : torch.device
        On a GPU its own events are the clock.
    rounds : int
        At least 1; two more are run first and thrown away.
    seed : int
        Of the orders.

    Returns
    -------
    dict of str to (rounds,) array
        Seconds.

    Raises
    ------
    ValueError
        No `"base"`, or no rounds.

    Source: Table 5.
    """
    if "base" not in contexts or rounds < 1:
        raise ValueError(f"{rounds} rounds of {list(contexts)}: give at least 1, and a 'base'")
    clock = _clock(device)
    random, names = np.random.default_rng(seed), list(contexts)
    taken: dict[str, list[float]] = {name: [] for name in names}
    for k in range(rounds + 2):
        for name in random.permutation(names):
            with contexts[name]():
                seconds = clock(call)
            if k > 1:
                taken[name].append(seconds)
    return {name: np.array(values) for name, values in taken.items()}


def ratio(above: np.ndarray, below: np.ndarray, seed: int = 0) -> Ratio:
    """Median of paired ratios, with its 95 % bootstrap interval.

    Parameters
    ----------
    above, below : (rounds,) arrays
        Seconds of the same rounds.
    seed : int

    Returns
    -------
    Ratio

    Examples
    --------
    >>> print(ratio(np.array([2.0, 4.0]), np.array([1.0, 2.0])))
    2.000 [2.000, 2.000]
    """
    values = above / below
    draws = np.random.default_rng(seed).integers(len(values), size=(4000, len(values)))
    low, high = np.quantile(np.median(values[draws], axis=1), [0.025, 0.975])
    return Ratio(float(np.median(values)), float(low), float(high))


def _clock(device: torch.device) -> Callable[[Callable[[], Any]], float]:
    """Seconds of a call, by the device's own events on a GPU."""
    if device.type != "cuda":

        def seconds(run: Callable[[], Any]) -> float:
            start = time.perf_counter()
            run()
            return time.perf_counter() - start

        return seconds

    def events(run: Callable[[], Any]) -> float:
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        run()
        last.record()
        torch.cuda.synchronize()
        return first.elapsed_time(last) / 1000

    return events


class SizeCost(NamedTuple):
    """What control costs one architecture at one batch size.

    Attributes
    ----------
    model, layers : str
        Name; `"published"` or `"all"`.
    controlled, depth, width, batch : int
        Number of controlled states, T, d and rows of `TOKENS` tokens.
    base_seconds : float
    ours, naive, thin : Ratio
        P-D control by our products; by the naive ones; P control alone, which is thin.
    against_naive : Ratio
        Time of ours over that of the naive one.
    bound, thin_bound : float
        Ratio of the operations counted, for P-D and for P.
    pmp : Ratio or None
        PMP with `sweeps` + 1 passes forward and back, and one forward more.
    sweeps : int

    Source: Table 5.
    """

    model: str
    layers: str
    controlled: int
    depth: int
    width: int
    batch: int
    base_seconds: float
    ours: Ratio
    naive: Ratio
    thin: Ratio
    against_naive: Ratio
    bound: float
    thin_bound: float
    pmp: Ratio | None
    sweeps: int

    @property
    def excess(self) -> float:
        """Our overhead over the bound's."""
        return (self.ours.value - 1) / (self.bound - 1)

    @property
    def per_sweep(self) -> float | None:
        """Time of one pass forward and back, in base times; None when PMP was not timed."""
        return (self.pmp.value - 1) / (self.sweeps + 1) if self.pmp else None


def size_cost(
    model: nn.Module,
    name: str,
    layers: str = "published",
    batch: int = 32,
    rounds: int | None = None,
    sweeps: int | None = 2,
    tokens: int = TOKENS,
) -> SizeCost:
    """Time one model at one batch size.

    Parameters
    ----------
    model : transformers.PreTrainedModel
    name : str
    layers : {"published", "all"}
    batch, tokens : int
    rounds : int, optional
        By default from 8 to 100, fewer for a slower model.
    sweeps : int or None
        Of PMP; None leaves it out.

    Returns
    -------
    SizeCost

    Source: Table 5.
    """
    device = next(model.parameters()).device
    draw = torch.Generator().manual_seed(0)
    ids = torch.randint(5, model.config.vocab_size, (batch, tokens), generator=draw).to(device)
    mask = torch.ones_like(ids)
    mask[(batch + 1) // 2 :, tokens - tokens // 4 :] = 0  # half of many rows are shorter
    inputs = {"input_ids": ids, "attention_mask": mask}
    chosen = "published" if layers == "published" else None
    control, thin = (RandomControl(model, terms, chosen) for terms in ("PD", "P"))
    solver = Pontryagin(control, sweeps=sweeps or 0, tolerance=0.0)

    def call() -> None:
        with torch.inference_mode():
            model(**inputs)

    contexts = {
        "base": nullcontext,
        "ours": lambda: control.attached(model),
        "naive": lambda: control.naive(model),
        "thin": lambda: thin.attached(model),
    }
    if rounds is None:
        once = float(measure(call, {"base": nullcontext}, device, 1)["base"][0])
        rounds = int(np.clip(SECONDS / (len(contexts) * once), LEAST, MOST))
    taken = measure(call, contexts, device, rounds)
    pmp = None
    if sweeps is not None:
        both = {"base": nullcontext, "pmp": lambda: solver.attached(model)}
        spent = measure(call, both, device, max(5, rounds // 6))
        pmp = ratio(spent["pmp"], spent["base"])
    counted = [_operations(model, inputs, c) for c in (None, control, thin)]
    return SizeCost(
        name,
        layers,
        len(control.controlled),
        control.found.depth,
        control.found.width,
        batch,
        float(np.median(taken["base"])),
        ratio(taken["ours"], taken["base"]),
        ratio(taken["naive"], taken["base"]),
        ratio(taken["thin"], taken["base"]),
        ratio(taken["ours"], taken["naive"]),
        counted[1] / counted[0],
        counted[2] / counted[0],
        pmp,
        sweeps or 0,
    )


def _operations(model: nn.Module, inputs: dict[str, Tensor], control: Any) -> int:
    attached = control.attached(model) if control is not None else nullcontext()
    with torch.inference_mode(), FlopCounterMode(display=False) as counter, attached:
        model(**inputs)
    return counter.get_total_flops()
