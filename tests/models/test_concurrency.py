"""Many threads and tasks on one model: each call, reading, fit and search has its own state."""

import asyncio
import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from threading import Barrier, BrokenBarrierError

import pytest
import torch

from pidbook.analysis import Pontryagin
from pidlib import Estimator, PIDController, RandomEdits
from pidlib.hooks import find_blocks, read_states


def fitted(tiny, model, **settings):
    return tiny.fit(model, **{"variance": 0.5, "c": 0.1} | settings)


def cases(tiny, alike, count=8):
    """Inputs whose padding differs, of one shape or of many."""
    sides = ("left", "right")
    return [
        tiny.inputs("bert", batch=3, length=7 if alike else 5 + k, seed=k, side=sides[k % 2])
        for k in range(count)
    ]


@contextmanager
def in_step(model, threads):
    """Let this many threads enter the model together, and meet again before every block."""
    barrier = Barrier(threads)

    def meet(*_):
        try:
            barrier.wait(60)
        except BrokenBarrierError:
            raise RuntimeError("a thread did not arrive") from None

    modules = [model.bert.embeddings, *find_blocks(model).modules]
    hooks = [module.register_forward_pre_hook(meet) for module in modules]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def together(do, items):
    """Do something with each item, each in a thread of its own."""
    with ThreadPoolExecutor(len(items)) as pool:
        return list(pool.map(do, items))


def close(seen, wanted, atol=1e-5):
    torch.testing.assert_close([*seen], [*wanted], rtol=0, atol=atol)


@pytest.mark.parametrize("alike", [True, False])
@pytest.mark.parametrize("law", ["averaged", "residual"])
@pytest.mark.parametrize("threads", [2, 8])
def test_a_control_attached_once_answers_in_threads_as_alone(tiny, law, alike, threads):
    model = tiny.model("bert")
    control, inputs = fitted(tiny, model, law=law, scheme="PID"), cases(tiny, alike, threads)
    bare = [tiny.answer(model, of) for of in inputs]
    with control.attached(model):
        wanted = [tiny.answer(model, of) for of in inputs]
        with in_step(model, threads):
            seen = together(lambda of: tiny.answer(model, of), inputs)
    close(seen, wanted)
    assert all((a - b).abs().max() > 1e-3 for a, b in zip(bare, wanted, strict=True))


def test_tasks_that_wait_for_threads_are_answered_as_alone(tiny):
    model = tiny.model("bert")
    control, inputs = fitted(tiny, model), cases(tiny, False, 4)

    async def ask_all():
        return await asyncio.gather(*(asyncio.to_thread(tiny.answer, model, of) for of in inputs))

    with control.attached(model):
        wanted = [tiny.answer(model, of) for of in inputs]
        with in_step(model, 4):
            seen = asyncio.run(ask_all())
    close(seen, wanted)


def test_a_reading_collects_the_calls_of_its_own_thread_and_task(tiny):
    model, (own, other) = tiny.model("bert"), cases(tiny, False, 2)
    wanted = read_states(model, own).values
    with torch.no_grad(), find_blocks(model).reading() as states:
        model(**own)
        together(lambda of: tiny.answer(model, of), [other, other])
        assert len(states) == tiny.depth + 1
    close(states, wanted)

    async def first(opened, called):
        with find_blocks(model).reading() as states:
            tiny.answer(model, own)
            opened.set()
            await called.wait()
            return list(states)

    async def second(opened, called):
        await opened.wait()
        tiny.answer(model, other)
        called.set()

    async def both():
        events = asyncio.Event(), asyncio.Event()
        return (await asyncio.gather(first(*events), second(*events)))[0]

    close(asyncio.run(both()), wanted)


@pytest.mark.parametrize("rule", ["subspaces", "regression", "terminal"])
def test_fits_in_threads_are_the_fits_alone(tiny, rule):
    model, perturb = tiny.model("bert"), RandomEdits("typos")
    parts = [tiny.rows(24, seed=k) for k in range(2)]
    more = {"epochs": 1} if rule == "terminal" else {}

    def fit(part):
        fit = model, tiny.tokenizer(), part
        if rule == "subspaces":
            return PIDController.fit(*fit, correct_only=False, skip_first=1).bases.values["P"]
        estimator = Estimator.fit(*fit, perturb, [0, 1], rule=rule, **more)
        return torch.stack([of.A for of in estimator.estimates.values()])

    wanted = [fit(part) for part in parts]
    for _ in range(3):
        close(together(fit, parts), wanted, atol=1e-4)


@pytest.mark.parametrize("attached", [True, False])
def test_pontryagin_solves_in_threads_as_alone(tiny, attached):
    model = tiny.model("bert")
    solver, inputs = Pontryagin(fitted(tiny, model), sweeps=2), cases(tiny, True, 3)

    def solve(of):
        return model(**of).logits if attached else solver.solve(model, of).output.logits

    with solver.attached(model) if attached else torch.enable_grad():
        wanted = [solve(of) for of in inputs]
        seen = [together(solve, inputs) for _ in range(3)]
    for of in seen:
        close(of, wanted)
    assert (wanted[0] - tiny.answer(model, inputs[0])).abs().max() > 1e-3


def test_nothing_is_attached_while_a_fit_is_under_way(tiny):
    model = tiny.model("bert")
    control, refused = fitted(tiny, model), []

    def attach_in_the_midst(*_):
        with pytest.raises(RuntimeError, match="a fit or a search .* is under way") as error:
            with control.attached(model):
                pass
        refused.append(error)

    hook = model.bert.embeddings.register_forward_hook(attach_in_the_midst)
    fitted(tiny, model)
    hook.remove()
    assert refused
    with control.attached(model):
        pass


def test_what_is_attached_between_two_batches_of_a_fit_is_named(tiny):
    model, rows = tiny.model("bert"), tiny.rows(40)
    control = fitted(tiny, model)

    def stream():
        yield from rows[:32]
        attached.enter_context(control.attached(model))
        yield from rows[32:]

    with ExitStack() as attached, pytest.raises(RuntimeError, match="attached to this model"):
        how = {"correct_only": False, "batch_size": 16}
        PIDController.fit(model, tiny.tokenizer(), stream(), **how)


KINDS = ("controller", "pontryagin", "blocks")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_one_door_a_second_control_of_any_class_is_refused(tiny, first, kind):
    model = tiny.model("bert")
    control = fitted(tiny, model)
    door = {
        "controller": control.attached,
        "pontryagin": Pontryagin(control, sweeps=1).attached,
        "blocks": lambda of: find_blocks(of).control(lambda t, x, mask: x + 1),
    }
    inputs = tiny.inputs("bert")
    with door[first](model):
        wanted = tiny.answer(model, inputs)
        with pytest.raises(RuntimeError, match="attached to this model already"):
            with door[kind](model):
                pass
        torch.testing.assert_close(tiny.answer(model, inputs), wanted)
    with door[kind](model):
        pass


@pytest.mark.parametrize("how", ["deepcopy", "pickle", "deepcopy while reading"])
def test_a_copy_made_within_the_context_is_free(tiny, how):
    model, inputs = tiny.model("bert"), tiny.inputs("bert")
    control, bare = fitted(tiny, model), tiny.answer(model, inputs)
    with find_blocks(model).reading() if "reading" in how else control.attached(model):
        copied = pickle.loads(pickle.dumps(model)) if how == "pickle" else copy.deepcopy(model)
        assert torch.equal(tiny.answer(copied, inputs), bare)  # the other context is not its own
    assert torch.equal(tiny.answer(copied, inputs), bare)
    wanted = tiny.answer(model, inputs, control)
    with control.attached(copied):
        torch.testing.assert_close(tiny.answer(copied, inputs), wanted)
        assert torch.equal(tiny.answer(model, inputs), bare)
    assert torch.equal(tiny.answer(copied, inputs), bare)


def test_replicas_of_data_parallel_are_controlled_with_their_own_weights(tiny):
    """What `torch.nn.DataParallel` makes of a module on each device, here by hand on one."""
    model, inputs = tiny.model("bert"), tiny.inputs("bert")

    def replica_of(module):
        made = module._replicate_for_data_parallel()
        made._modules = {name: replica_of(child) for name, child in module._modules.items()}
        for name, p in module._parameters.items():
            setattr(made, name, None if p is None else 2 * p.detach())
        return made

    def twice(of):
        other = copy.deepcopy(of)
        for p in other.parameters():
            p.data.mul_(2)
        return other

    def push(t, x, mask):
        return x + torch.where(mask, 0.5 * x.roll(1, -1), 0.0)

    with find_blocks(other := twice(model)).control(push):
        wanted = tiny.answer(other, inputs)
    with find_blocks(model).control(push):
        torch.testing.assert_close(tiny.answer(replica_of(model), inputs), wanted)


def test_what_a_gain_keeps_for_a_model_is_freed_with_the_context(tiny):
    """But for the factors of the last model in main memory: to attach again is quick."""
    model = tiny.model("bert")
    control = fitted(tiny, model)
    gains = [gain for kinds in control.feedback.values() for gain in kinds.values()]
    for kind in (model, copy.deepcopy(model).bfloat16()):
        with control.attached(kind):
            tiny.answer(kind, tiny.inputs("bert"))
        assert all([*gain.cache] == [(kind.dtype, kind.device)] for gain in gains)
    for gain in gains:
        gain.factors(torch.float32, torch.device("meta"))
        gain.release()
        assert [*gain.cache] == [(torch.bfloat16, model.device)]
