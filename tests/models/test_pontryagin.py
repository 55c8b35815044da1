"""Successive approximation on models: the LQR solution, exact costates, monotone cost."""

import copy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from pidbook.analysis import Pontryagin
from pidbook.analysis.pontryagin import METHODS
from pidbook.theory import riccati, rollout
from pidbook.theory.augmented import Complements
from pidbook.theory.chains import chain_sweep, quadratic_loss
from pidbook.theory.descent import descend
from pidbook.theory.paths import Path
from pidbook.theory.pontryagin import history_sweep
from pidlib.pid import PIDController


class Line(nn.Module):
    """Blocks that are matrices, with noise in what they are fed on, in double precision."""

    def __init__(self, depth=4, width=6, seed=0, block=None):
        super().__init__()
        draw = torch.Generator().manual_seed(seed)
        made = []
        for _ in range(depth):
            one = nn.Linear(width, width, bias=False, dtype=torch.float64)
            noise = torch.randn(width, width, generator=draw, dtype=torch.float64)
            one.weight = nn.Parameter(torch.linalg.qr(noise).Q + 0.2 * noise)
            made.append(one if block is None else block(one))
        self.blocks = nn.ModuleList(made)

    def forward(self, x, attention_mask=None):
        for block in self.blocks:
            x = block(x)
        return SimpleNamespace(logits=x[:, 0, :3])


def line_inputs(count=3, length=5, width=6, seed=1):
    draw = torch.Generator().manual_seed(seed)
    flat = torch.randn(count, length, 2, generator=draw, dtype=torch.float64)
    frame = torch.randn(2, width, generator=draw, dtype=torch.float64)
    noise = torch.randn(count, length, width, generator=draw, dtype=torch.float64)
    return {"x": flat @ frame + 0.3 * noise}


def on_line(depth=4, c=0.3, variance=0.9, **settings):
    model = Line(depth).eval()
    how = {"blocks": "blocks", "correct_only": False, "variance": variance, "c": c} | settings
    controller = PIDController.from_batches(model, [line_inputs(64)], **how)
    bases = controller.bases  # kept in single precision; here in double
    sharp = {i: torch.linalg.qr(v.double()).Q for i, v in bases.vectors.items()}
    return model, replace(controller, bases=replace(bases, vectors=sharp))


def of_model(tiny, kind="bert", side="right", attention="sdpa", **settings):
    model = tiny.model(kind, attention)
    batches = tiny.answered(model, kind, 4, side)
    settings = {"variance": 0.8, "c": 0.5} | settings
    return model, PIDController.from_batches(model, batches, **settings)


def matrices(model, controller, terms):
    thetas = np.stack([b.weight.detach().numpy() for b in model.blocks])
    T, v = controller.depth, controller.variance
    off = {
        i: np.stack([controller.bases.projection(i, t, v).numpy() for t in range(T)]) for i in terms
    }
    return thetas, off


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scheme", ["P", "PD"])
def test_it_finds_the_riccati_solution_of_linear_blocks(method, scheme):
    model, controller = on_line(scheme=scheme)
    thetas, off = matrices(model, controller, scheme)
    Q = sum(off[i] for i in scheme) / len(scheme)
    inputs = line_inputs(seed=2)
    best = rollout(thetas, riccati(thetas, Q, controller.c).K, inputs["x"].numpy())
    found = Pontryagin(controller, method=method, sweeps=200, tolerance=1e-15).solve(model, inputs)
    controls = torch.stack(found.controls).numpy()
    assert np.abs(controls - best.controls).max() < 1e-6
    assert np.abs(controls).max() > 0.1


def test_costates_of_the_running_loss_are_the_exact_ones():
    model, controller = on_line(scheme="PID", gains={"P": 0.5, "I": 0.3, "D": 0.2})
    thetas, off = matrices(model, controller, "PID")
    inputs = line_inputs(seed=4)
    pmp = Pontryagin(controller, loss="running", method="gradient", sweeps=3)
    found = pmp.solve(model, inputs)
    controls = torch.stack(found.controls).numpy()
    gains = (0.5, 0.3, 0.2)
    exact = history_sweep(
        thetas, Complements(*(off[i] for i in "PID")), gains, controller.c,
        inputs["x"].numpy(), controls,
    )  # fmt: skip
    loss = pmp._loss(torch.ones(3, 5, dtype=torch.bool))
    mine = chain_sweep(list(model.blocks), loss, inputs["x"], found.controls)
    np.testing.assert_allclose(torch.stack(mine.gradients), exact.gradient, atol=1e-10)
    np.testing.assert_allclose(torch.stack(mine.costates), exact.costates[:-1], atol=1e-10)
    np.testing.assert_allclose(found.descent.costs[-1].numpy(), exact.cost.sum(1), rtol=1e-10)


@pytest.mark.parametrize("loss", ["relaxed", "running"])
@pytest.mark.parametrize("method", METHODS)
def test_the_cost_never_rises_and_beats_the_analytic_control(tiny, method, loss):
    model, controller = of_model(tiny, scheme="PID")
    inputs = tiny.inputs("bert", seed=9)
    found = Pontryagin(controller, loss=loss, method=method, sweeps=25).solve(model, inputs)
    costs = found.descent.costs
    assert (costs[1:] <= costs[:-1]).all() and (costs[-1] < costs[0]).all()
    assert found.descent.sweeps <= 25


@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_changes_nothing_and_is_left_alone(tiny, side):
    for kind in tiny.text_kinds:
        model, controller = of_model(tiny, kind, side, scheme="PD")
        model.double()
        inputs = tiny.inputs(kind, seed=5, side=side)
        pmp = Pontryagin(controller, sweeps=6, tolerance=0.0)
        whole = pmp.solve(model, inputs)
        real = inputs["attention_mask"].bool()
        for k in range(len(real)):
            row = {name: value[k : k + 1, real[k]] for name, value in inputs.items()}
            if kind not in ("opt", "llama") and side == "left":  # counted or pooled from the left
                row = {name: value[k : k + 1] for name, value in inputs.items()}
            alone = pmp.solve(model, row)
            costs = alone.descent.costs[-1, 0], whole.descent.costs[-1, k]
            torch.testing.assert_close(*costs, rtol=1e-5, atol=0)
            logits = alone.output.logits[0], whole.output.logits[k]
            torch.testing.assert_close(*logits, rtol=0, atol=1e-5)
        for u in whole.controls:
            assert not u[~real].any() and u[real].any()


def test_uncontrolled_states_get_no_control(tiny):
    model, controller = of_model(tiny, scheme="P", layers=[1])
    for method in METHODS:
        found = Pontryagin(controller, method=method, sweeps=5).solve(model, tiny.inputs("bert"))
        assert not found.controls[0].any() and not found.controls[2].any()
        assert found.controls[1].any()


def test_attached_answers_as_solve_does_and_leaves_no_trace(tiny):
    model, controller = of_model(tiny, scheme="PD")
    inputs = tiny.inputs("bert", seed=7)
    model.bert.embeddings.requires_grad_(False)
    needed = [p.requires_grad for p in model.parameters()]
    base = model(**inputs).logits
    pmp = Pontryagin(controller, sweeps=4)
    with pmp.attached(model), torch.inference_mode():
        inside = {k: v.clone() for k, v in inputs.items()}  # made in inference mode
        first = model(**inside).logits
        again = model(inputs["input_ids"], inputs["attention_mask"]).logits
    solved = pmp.solve(model, inputs).output.logits
    torch.testing.assert_close(first.clone(), solved, rtol=0, atol=1e-6)
    torch.testing.assert_close(again.clone(), solved, rtol=0, atol=1e-6)
    assert not torch.equal(solved, base)
    with pytest.raises(ZeroDivisionError), pmp.attached(model):
        1 / 0  # noqa: B018
    assert "forward" not in vars(model)
    assert [p.requires_grad for p in model.parameters()] == needed
    assert torch.equal(model(**inputs).logits, base)
    assert tiny.hooks_left(model) == 0


def each_row(blocks, x0):
    """One sweep of rows that do not touch, those that overflow left in."""

    def loss(t, states, u):
        return 0.5 * ((states[t] + u) ** 2).sum(-1) + 0.5 * (u * u).sum(-1)

    def evaluate(controls):
        with torch.enable_grad():
            path, x = Path(), x0.clone().requires_grad_()
            for t, block in enumerate(blocks):
                x = block(path.step(t, x, controls[t].detach().clone().requires_grad_(), loss))
            path.states.append(x)
            return path.back(partly=True)

    return evaluate


def test_examples_of_a_batch_do_not_touch_each_other():
    draw = torch.Generator().manual_seed(0)
    x0 = 2 * torch.randn(6, 3, generator=draw, dtype=torch.float64)
    turns = [
        torch.linalg.qr(torch.randn(3, 3, generator=draw, dtype=torch.float64)).Q for _ in "abc"
    ]
    blocks = [lambda x, a=a: 3.0 * torch.tanh(x @ a) for a in turns]
    settings = {"memory": 2, "sweeps": 25, "tolerance": 1e-9, "step": 4.0}
    both = descend(each_row(blocks, x0), [torch.zeros_like(x0)] * 3, **settings)
    assert len(set(both.rejected.tolist())) > 1  # the rows went different ways
    for k in range(len(x0)):
        one = x0[k : k + 1]
        alone = descend(each_row(blocks, one), [torch.zeros_like(one)] * 3, **settings)
        assert alone.rejected.item() == both.rejected[k].item()
        for a, b in zip(alone.controls, both.controls, strict=True):
            torch.testing.assert_close(a, b[k : k + 1], rtol=0, atol=1e-10)


def test_an_example_that_overflows_stops_no_other():
    x0 = torch.tensor([[0.1], [3.0]])
    blocks = [torch.exp, torch.exp]
    start = [torch.zeros(2, 1)] * 2
    found = descend(each_row(blocks, x0), start, step=20.0, sweeps=1)
    alone = descend(each_row(blocks, x0[:1]), [v[:1] for v in start], step=20.0, sweeps=1)
    assert found.rejected[0] == alone.rejected[0]
    assert torch.equal(found.controls[0][:1], alone.controls[0])
    long = descend(each_row(blocks, x0), start, step=20.0, sweeps=60)
    assert (long.costs[-1] < long.costs[0]).all() and torch.isfinite(long.controls[0]).all()
    with pytest.raises(FloatingPointError, match="first cost"):
        descend(each_row(blocks, x0 * torch.tensor([[1.0], [1e3]])), start)
    with pytest.raises(ValueError, match="no controls"):
        descend(each_row(blocks, x0), [])


class Detached(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x.detach())


class InPlace(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, x):
        y = self.inner(x)
        x.add_(1.0)
        return y


@pytest.mark.parametrize(
    "block, said", [(Detached, "no gradient"), (InPlace, "block 0 changes its input in place")]
)
def test_blocks_that_cannot_be_derived_are_named(block, said):
    model = Line(2, block=block).eval()
    how = {"blocks": "blocks", "correct_only": False, "variance": 0.9, "c": 0.3}
    controller = PIDController.from_batches(model, [line_inputs(64)], **how)
    for method in METHODS:
        with pytest.raises(ValueError, match=said):
            Pontryagin(controller, method=method).solve(model, line_inputs())
    assert all(p.requires_grad for p in model.parameters())


def test_bad_settings_and_models_are_named(tiny):
    model, controller = of_model(tiny)
    inputs, free = tiny.inputs("bert"), controller.retune(gains={"P": 0.0})
    for control, changed, message in (
        (controller, {"loss": "x"}, "choose one of"),
        (controller, {"method": "x"}, "choose one of"),
        (controller.retune(c=0.0), {}, "finite control cost"),
        (controller.retune(c=float("inf")), {}, "finite control cost"),
        (free, {}, "needs one above 0"),
        (controller, {"step": 0.0}, "step must be positive"),
        (controller, {"memory": -1}, "step must be positive"),
        (controller, {"tolerance": float("nan")}, "step must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            Pontryagin(control, **changed).solve(model, inputs)
    partly = copy.deepcopy(model)
    partly.bert.encoder.layer[1].train()
    for of, message in (
        (partly, "training mode"),
        (copy.deepcopy(model).bfloat16(), "too coarse"),
    ):
        with pytest.raises(ValueError, match=message):
            Pontryagin(controller).solve(of, inputs)


def test_chains_that_cannot_be_swept_are_named():
    loss, one = quadratic_loss(torch.ones(2, 1, 1), 1.0), torch.ones(1, 1)
    with pytest.raises(ValueError, match="0 blocks|0 controls"):
        chain_sweep([], loss, one, [])
    with pytest.raises(ValueError, match="is on meta"):
        chain_sweep([torch.tanh], loss, one, [torch.ones(1, 1, device="meta")])
    with pytest.raises(FloatingPointError, match="overflow"):
        descend(lambda u: chain_sweep([torch.exp] * 2, loss, 3e3 * one, u), [0 * one] * 2)


def test_zero_sweeps_is_the_analytic_control(tiny):
    model, controller = of_model(tiny, scheme="PD")
    inputs = tiny.inputs("bert", seed=3)
    expected = tiny.answer(model, inputs, controller)
    for method in METHODS:
        found = Pontryagin(controller, method=method, sweeps=0).solve(model, inputs)
        torch.testing.assert_close(found.output.logits, expected, rtol=0, atol=1e-5)
    cold = Pontryagin(controller, sweeps=0, warm=False).solve(model, inputs)
    torch.testing.assert_close(cold.output.logits, model(**inputs).logits, rtol=0, atol=1e-5)
