"""Pontryagin's principle on a transformer: the best controls of each input, by iteration."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, wraps
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from pidbook.theory.descent import Descent, descend
from pidbook.theory.inputs import choice
from pidbook.theory.paths import ChainSweep, Path, RunningLoss
from pidlib.hooks import Blocks, Control, uncached
from pidlib.pid import PIDController
from pidlib.tokens import after_first, token_mask

LOSSES = ("relaxed", "running")
METHODS = ("states", "msa", "gradient")


class Solution(NamedTuple):
    """Controls of one batch.

    Attributes
    ----------
    output : what the model returns under them
    controls : list of T tensors (B, l, d), zero at padding and at states that are not controlled
    descent : Descent
    """

    output: Any
    controls: list[Tensor]
    descent: Descent


@dataclass(frozen=True, eq=False)
class Pontryagin:
    """Controls that are optimal for the real blocks, found anew for every input.

    Each sweep runs the model forward under the present controls, the costates back, and improves the
    controls; the analytic control takes the blocks as orthogonal.

    Attributes
    ----------
    controller : PIDController, for subspaces, settings and the first controls
    loss : {"relaxed", "running"}
        `relaxed`: all projections act on the state, as in Appendix A and the published code.
        `running`: on the state, its running sum and its difference, as in section 2.1.
    method : {"states", "msa", "gradient"}
        What a sweep changes. `gradient`: the controls, along their gradient c u_t - p_t. `msa`: the
        controls, towards the maximum of the Hamiltonian, damped. `states`: the controlled states,
        along their gradient. The solutions are the same; for small c the others are far slower.
    sweeps, tolerance, memory, step
        See `pidbook.theory.descent.descend`.
    warm : bool, start from the analytic control, else from none

    Source: section 2.1, Table 4. Departures: exact costates for the loss with past states; steps
    found by the cost; the published code takes three steps of fixed size.
    """

    controller: PIDController
    loss: str = "relaxed"
    method: str = "states"
    sweeps: int = 20
    tolerance: float = 1e-3
    memory: int = 8
    step: float = 1.0
    warm: bool = True

    def __post_init__(self) -> None:
        choice("loss", self.loss, LOSSES)
        choice("method", self.method, METHODS)
        if not (self.step > 0 and self.sweeps >= 0 and self.memory >= 0 and self.tolerance >= 0):
            raise ValueError(
                f"step {self.step}, sweeps {self.sweeps}, memory {self.memory}, tolerance "
                f"{self.tolerance}: the step must be positive, the others not negative"
            )
        if not 0 < self.controller.c < math.inf:
            raise ValueError(
                f"c is {self.controller.c}; PMP needs a finite control cost above 0, such as 1e-3"
            )
        if not self.controller.weights:
            raise ValueError(f"the gains are {self.controller.gains}; PMP needs one above 0")

    def solve(self, model: nn.Module, inputs: Mapping[str, Any]) -> Solution:
        """Find the controls of one batch and the model's output under them.

        The model is as for `PIDController.attached`, in evaluation mode and single or double precision;
        no block may stop gradients or work in place.
        """
        with self.controller.claimed(model, alone=False) as blocks:
            return self._solve(blocks, blocks.model.forward, inputs)

    @contextmanager
    def attached(self, model: nn.Module) -> Iterator[nn.Module]:
        """Control a model (as for `solve`) while the context lasts: each call solves, then answers."""
        with self.controller.claimed(model) as blocks:
            forward, own = blocks.model.forward, "forward" in vars(blocks.model)
            signature = inspect.signature(forward)

            @torch.compiler.disable
            @wraps(forward)
            def solved(*args: Any, **kwargs: Any) -> Any:
                given = signature.bind(*args, **kwargs).arguments
                for name, kind in signature.parameters.items():
                    if kind.kind is kind.VAR_KEYWORD:
                        given.update(given.pop(name, {}))
                return self._solve(blocks, forward, given).output

            blocks.model.forward = solved
            try:
                yield model
            finally:
                if own:
                    blocks.model.forward = forward
                else:
                    del blocks.model.forward

    def _solve(self, blocks: Blocks, forward: Callable, inputs: Mapping[str, Any]) -> Solution:
        if any(module.training for module in blocks.model.modules()):
            raise ValueError("the model is in training mode; call model.eval() before PMP")
        half = {p.dtype for p in blocks.model.parameters()} & {torch.float16, torch.bfloat16}
        if half:
            raise ValueError(f"the weights are {half.pop()}: too coarse for PMP; use model.float()")
        # Tensors made in inference mode could take no part in a gradient.
        with torch.inference_mode(False), _frozen(blocks.model), _full_precision(blocks.model):
            own = {k: v.clone() if isinstance(v, Tensor) else v for k, v in inputs.items()}
            given = uncached(blocks.model, own)
            in_states = set(self._weights) if self.method == "states" else set()
            run = _Run(blocks, forward, given, self._loss, in_states, self.controller.skip_first)
            law = self.controller.begin() if self.warm and self.controller.feedback else None
            first, start = run.sweep(law=law, hooked=self.controller.hooked if law else ())
            descent = descend(
                lambda free: run.sweep(free)[0],
                start,
                self._precondition,
                step=self.step,
                sweeps=self.sweeps,
                memory=self.memory,
                tolerance=self.tolerance,
                first=first,
            )
            controls = [torch.zeros_like(part) for part in start]

        def apply(t: int, x: Tensor, _mask: Tensor | None) -> Tensor | None:
            if t not in self._weights:
                return None
            if self.method == "states":
                v = torch.where(run.real, descent.controls[t], x)
            else:
                v = x + descent.controls[t]
            controls[t] = v - x
            return v

        control = blocks.control(apply, private=True)
        with torch.no_grad(), _full_precision(blocks.model), control:
            output = forward(**inputs)
        return Solution(output, controls, descent)

    @cached_property
    def _weights(self) -> dict[int, dict[str, Tensor]]:
        """K_i Q^i by controlled state and term, (d, d) float64."""
        at, gains = self.controller, self.controller.weights
        return {
            t: {i: gains[i] * q for i, q in at.projections(t, gains).items()} for t in at.controlled
        }

    @cached_property
    def _inverses(self) -> dict[int, Tensor]:
        """About the inverse Hessian in what is free at t: (sum_i K_i Q^i + c I)^-1, for states 2 c."""
        cost = self.controller.c * (2 if self.method == "states" else 1)
        wholes = {t: sum(parts.values()) for t, parts in self._weights.items()}
        return {
            t: torch.linalg.inv(whole + cost * torch.eye(len(whole), dtype=whole.dtype))
            for t, whole in wholes.items()
        }

    def _precondition(self, t: int, g: Tensor) -> Tensor:
        if t not in self._weights:
            return torch.zeros_like(g)
        return g if self.method == "gradient" else g @ self._inverses[t].to(g)

    def _loss(self, mask: Tensor) -> RunningLoss:
        """Make the running loss of a batch whose real tokens `mask` (B, l) marks."""
        c, real = self.controller.c, mask[..., None]
        weights: dict[tuple[int, str], Tensor] = {}

        def of(t: int, key: str, like: Tensor) -> Tensor:
            if (t, key) not in weights:
                parts = self._weights[t]
                weights[t, key] = (sum(parts.values()) if key == "all" else parts[key]).to(like)
            return weights[t, key]

        def loss(t: int, states: Sequence[Tensor], u: Tensor) -> Tensor:
            u = torch.where(real, u, torch.zeros_like(u))  # before it is squared: no NaN gets in
            cost = 0.5 * c * (u * u).sum((-1, -2))
            if t not in self._weights:
                return cost
            v = states[t] + u
            signals = {"all": v}
            if self.loss == "running":
                past = {"P": 0.0, "I": sum(states[:t]), "D": -states[t - 1] if t else 0.0}
                signals = {i: v + past[i] for i in self._weights[t]}
            for key, z in signals.items():
                z = torch.where(real, z, torch.zeros_like(z))
                cost = cost + 0.5 * (z * (z @ of(t, key, z))).sum((-1, -2))
            return cost

        return loss


@dataclass(eq=False)
class _Run:
    """One batch on its way through a model, as often as it takes; `in_states`: v_t is free."""

    blocks: Blocks
    forward: Callable
    inputs: Mapping[str, Any]
    make_loss: Callable[[Tensor], RunningLoss]
    in_states: set[int]
    skip: int = 0
    real: Tensor | None = None
    loss: RunningLoss | None = None

    def sweep(
        self,
        free: Sequence[Tensor] | None = None,
        law: Control | None = None,
        hooked: Sequence[int] = (),
    ) -> tuple[ChainSweep, list[Tensor]]:
        """Forward with what is free given, or taken from a law, and back."""
        path = Path()

        def step(t: int, x: Tensor, _mask: Tensor | None) -> Tensor:
            if self.loss is None:
                mask = after_first(token_mask(self.inputs.get("attention_mask"), x), self.skip)
                self.real, self.loss = mask[..., None], self.make_loss(mask)
            if free is not None:
                new = free[t].detach()
            else:
                new = _fed(law, t, x.detach(), self.real) if t in hooked else torch.zeros_like(x)
                if t in self.in_states:
                    new = x.detach() + new
            new.requires_grad_()
            if t in self.in_states:
                return path.place(t, x, new, self.real, self.loss)
            return path.step(t, x, new, self.loss)

        control = self.blocks.control(step, private=True)
        with self.blocks.reading() as values, torch.enable_grad(), control:
            self.forward(**self.inputs)
            path.states.append(values[-1])
            return path.back(partly=free is not None), [part.detach() for part in path.free]


def _fed(law: Control, t: int, x: Tensor, mask: Tensor) -> Tensor:
    """Control of a law at a state; zero where it leaves the state alone."""
    with torch.no_grad():
        new = law(t, x, None if bool(mask.all()) else mask)
        return torch.zeros_like(x) if new is None else new - x


def _full_precision(model: nn.Module) -> Any:
    kind = next((p.device.type for p in model.parameters()), "cpu")
    return torch.autocast(kind, enabled=False)


@contextmanager
def _frozen(model: nn.Module) -> Iterator[None]:
    """Take all parameters out of the gradient: quicker, and a block that detaches shows."""
    thawed = [p for p in model.parameters() if p.requires_grad]
    for p in thawed:
        p.requires_grad_(False)
    try:
        yield
    finally:
        for p in thawed:
            p.requires_grad_(True)
