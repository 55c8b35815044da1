"""Fit, attach, look into and keep a controller, on tiny models of every architecture."""

import copy
import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
import transformers

import pidlib.io.pretrained as bundles
from pidlib.bases import Eigenbases
from pidlib.hooks import find_blocks, read_states
from pidlib.pid import PUBLISHED, PIDController
from pidlib.settings import LAWS
from pidlib.theory.gains import alphas


def stream(tiny, kind, model, count=6, side="right"):
    """Batches whose labels are mostly the model's own answers."""
    for k in range(count):
        inputs = tiny.inputs(kind, seed=k, side=side)
        with torch.no_grad():
            labels = model(**inputs).logits.argmax(-1)
        labels[0] = (labels[0] + 1) % 3
        yield SimpleNamespace(inputs=inputs, labels=labels)


def fitted(tiny, kind="bert", attention="sdpa", model=None, **settings):
    model = model or tiny.model(kind, attention)
    settings = {"variance": 0.8, "c": 0.2} | settings
    return model, PIDController.from_batches(model, stream(tiny, kind, model), **settings)


def formula(controller, law):
    """The control written out from the bases, with a memory of its own."""
    past = []

    def control(t, x, mask):
        past[t:] = [x]
        seen = {"P": x, "I": sum(past), "D": x - past[t - 1] if t else x}
        gains = dict.fromkeys(controller.scheme.split("-"), 1 / len(controller.scheme[::2]))
        offs = {i: torch.eye(x.shape[-1]) - v @ v.T for i in gains
                for v in [controller.bases.basis(i, t, controller.variance).float()]}  # fmt: skip
        if law == "exact-gain":
            q, w = torch.linalg.eigh(sum(gains[i] * offs[i] for i in gains).double())
            share = 1 - alphas(controller.depth, controller.c, q.clamp(min=0))[t]
            u = -x @ ((w * torch.from_numpy(share)) @ w.T).float()
        else:
            share = 1 - alphas(controller.depth, controller.c)[t]
            u = -share * sum(
                gains[i] * (seen[i] if law == "residual" else x) @ offs[i] for i in gains
            )
        return x + u if mask is None else torch.where(mask, x + u, x)

    return control


def check_formula(tiny, kind, attention, scheme, law):
    model, controller = fitted(tiny, kind, attention, scheme=scheme, law=law)
    inputs = tiny.inputs(kind, seed=50)
    base, seen = (tiny.states(model, inputs, of) for of in (None, controller))
    with find_blocks(model).control(begin=lambda: formula(controller, law)):
        expected = tiny.states(model, inputs)
    for a, b in zip(expected.values, seen.values, strict=True):
        assert torch.allclose(a, b, atol=2e-4)
    assert torch.allclose(expected.logits, seen.logits, atol=2e-4)
    assert not torch.allclose(base.logits, seen.logits, atol=1e-2)


@pytest.mark.parametrize("law", LAWS)
def test_attached_control_is_the_formula(tiny, kind, attention, law):
    check_formula(tiny, kind, attention, "PID", law)


@pytest.mark.parametrize("scheme", ["P", "I", "D", "P-I", "P-D", "I-D"])
def test_every_scheme_is_the_formula(tiny, scheme):
    check_formula(tiny, "bert", "sdpa", scheme, "averaged")


@pytest.mark.parametrize("law", LAWS)
def test_model_is_restored_bit_for_bit(tiny, kind, law):
    model, controller = fitted(tiny, kind, law=law)
    inputs = tiny.inputs(kind, seed=50)
    before, weights = tiny.answer(model, inputs), copy.deepcopy(model.state_dict())
    with controller.attached(model) as same:
        assert same is model
        tiny.answer(model, inputs)
    with pytest.raises(ZeroDivisionError), controller.attached(model):
        tiny.answer(model, inputs)
        _ = 1 / 0
    assert tiny.hooks_left(model) == 0
    assert torch.equal(tiny.answer(model, inputs), before)
    assert all(torch.equal(weights[k], v) for k, v in model.state_dict().items())


@pytest.mark.parametrize(
    "change", [{"c": float("inf")}, {"layers": []}, {"gains": {"P": 0.0}}, {"variance": 1.0}]
)
def test_zero_gain_hooks_nothing(tiny, kind, change):
    model, controller = fitted(tiny, kind)
    if "variance" in change:  # every direction is kept, so nothing lies off the subspaces
        values = {i: v + v.max() for i, v in controller.bases.values.items()}
        bases = Eigenbases(values, controller.bases.vectors, controller.bases.origin)
        controller = replace(controller, bases=bases)
    inputs = tiny.inputs(kind, seed=50)
    before = tiny.answer(model, inputs)
    with controller.retune(**change).attached(model):
        assert tiny.hooks_left(model) == 0
        assert torch.equal(tiny.answer(model, inputs), before)


def test_a_fit_is_on_the_uncontrolled_model_and_a_control_without_gain_counts_too(tiny):
    model, controller = fitted(tiny)
    with controller.attached(model):
        with pytest.raises(RuntimeError, match="attached to this model already"):
            controller.retune(c=float("inf")).attached(model).__enter__()
        with pytest.raises(ValueError, match="fit on the uncontrolled model"):
            fitted(tiny, model=model)


def test_other_weights_are_refused_by_name(tiny, kind):
    model, controller = fitted(tiny, kind)
    name, block = find_blocks(model).names[1], find_blocks(model).modules[1]
    with torch.no_grad():
        next(block.parameters()).view(-1)[0] += 1e-6
    for other, said in (
        (model, f"1 of 3 blocks differ \\({name}\\)"),
        (tiny.model(kind, depth=2), "has 2"),
    ):
        with pytest.raises(ValueError, match=said), controller.attached(other):
            pass
        assert tiny.hooks_left(other) == 0


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16, torch.float16])
def test_a_copy_in_another_number_type_is_known(tiny, dtype):
    model, controller = fitted(tiny)
    inputs = tiny.inputs("bert", seed=50)
    expected = tiny.answer(model, inputs, controller)
    twin = copy.deepcopy(model).to(dtype)
    seen = tiny.answer(twin, inputs, controller)
    assert seen.dtype == dtype
    assert torch.allclose(seen.float(), expected, atol=1e-5 if dtype == torch.float64 else 0.1)
    if dtype != torch.float64:
        with torch.no_grad():
            next(find_blocks(twin).modules[2].parameters()).view(-1)[0] += 0.5
        with pytest.raises(ValueError, match="layer.2"):
            tiny.answer(twin, inputs, controller)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_and_the_order_of_a_batch_change_nothing(tiny, text_kind, side, law):
    """A row alone, without padding, has the states that it has in a batch in any order."""
    if (text_kind, side) == ("distilbert", "left"):
        side = "right"  # its positions are fixed places, so left padding changes the base model
    model, controller = fitted(tiny, text_kind, law=law)
    inputs = tiny.inputs(text_kind, seed=50, side=side)
    mask = inputs["attention_mask"].bool()
    if text_kind in ("bert", "gpt2", "llama"):  # the others find positions by themselves
        inputs["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)
    order = torch.tensor([2, 0, 3, 1])
    with torch.no_grad(), controller.attached(model):
        together = read_states(model, inputs).values
        mixed = read_states(model, {k: v[order] for k, v in inputs.items()}).values
        for row, real in enumerate(mask):
            alone = read_states(model, {k: v[row, real][None] for k, v in inputs.items()}).values
            for x, y in zip(alone, together, strict=True):
                assert torch.allclose(x[0], y[row, real], atol=1e-5)
    for x, y in zip(mixed, together, strict=True):
        assert torch.allclose(x[mask[order]], y[order][mask[order]], atol=1e-5)


@pytest.mark.parametrize(("kind", "side"), [("bert", "right"), ("opt", "left")])
def test_fit_takes_real_tokens_of_correct_rows_only(tiny, kind, side):
    model, rows, tokenizer = tiny.model(kind), tiny.rows(30), tiny.tokenizer(side)
    controller = PIDController.fit(model, tokenizer, rows, batch_size=8, terms="PID")
    width, sums, tokens, correct = tiny.width, {}, 0, 0
    for row in rows:
        inputs = tokenizer(row["premise"], row["hypothesis"], return_tensors="pt")
        values, _, answer = tiny.states(model, inputs)
        if int(answer.argmax()) != row["label"]:
            continue
        correct, tokens = correct + 1, tokens + values[0].shape[1]
        for t, x in enumerate(values):
            trio = {"P": x, "I": sum(values[: t + 1]), "D": x - values[t - 1] if t else x}
            for i, v in trio.items():
                v = v.reshape(-1, width).double()
                sums[i, t] = sums.get((i, t), 0) + v.T @ v
    origin = controller.bases.origin
    assert (origin.rows, origin.correct, origin.tokens) == (30, correct, tokens)
    assert 0 < correct < 30
    for (i, t), total in sums.items():
        expected = torch.linalg.eigvalsh(total / tokens).flip(0)
        assert torch.allclose(controller.bases.values[i][t], expected, atol=1e-5)
        frame = controller.bases.vectors[i][t].double()
        assert torch.allclose(frame.T @ (total / tokens) @ frame, expected.diag(), atol=1e-4)


def test_residual_law_leaves_clean_trajectories_alone_and_the_static_one_does_not(tiny):
    """Subspaces that hold all of the clean states: x, running sums and differences."""
    model = tiny.model("bert")
    inputs = {"input_ids": torch.tensor([[1, 5, 9, 2]])}
    labels = tiny.answer(model, inputs).argmax(-1)
    batch = SimpleNamespace(inputs=inputs, labels=labels)
    controller = PIDController.from_batches(model, [batch], scheme="PID", variance=1 - 1e-12)
    assert max(controller.bases.rank(i, 2, controller.variance) for i in "PID") <= 4
    base = tiny.answer(model, inputs)
    with controller.retune(law="residual").attached(model):
        assert torch.allclose(tiny.answer(model, inputs), base, atol=1e-4)
        other = {"input_ids": torch.tensor([[1, 6, 9, 2]])}
        moved = tiny.answer(model, other)
    assert not torch.allclose(moved, tiny.answer(model, other), atol=1e-2)
    assert not torch.allclose(tiny.answer(model, inputs, controller), base, atol=1e-2)


@pytest.mark.parametrize("reentrant", [False, True])
@pytest.mark.parametrize("law", ["averaged", "residual"])
def test_gradient_checkpointing_is_refused_or_right(tiny, law, reentrant):
    """Blocks of transformers 4 call hooks again on the way back; those of 5 do not."""
    model, controller = fitted(tiny, law=law, skip_first=1)
    model.train()
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    embeds, mask = torch.randn(2, 5, tiny.width), torch.tensor([[0, 0, 1, 1, 1], [1] * 5])

    def gradient(within):
        x = embeds.clone().requires_grad_()
        with controller.attached(model):
            loss = model(inputs_embeds=x, attention_mask=mask).logits.sum()
            if within:
                loss.backward()
        if not within:
            loss.backward()
        return x.grad

    plain = gradient(within=True)
    assert tiny.hooks_left(model) == 0
    model.gradient_checkpointing_enable({"use_reentrant": reentrant})
    others = tiny.hooks_left(model)  # transformers 5 leaves a hook of its own
    for within in (True, False):
        if int(transformers.__version__.split(".")[0]) < 5:
            with pytest.raises(RuntimeError, match="gradient_checkpointing_disable"):
                gradient(within)
        else:
            assert torch.allclose(gradient(within), plain, atol=1e-6)
            assert plain.abs().max() > 1e-3
    assert tiny.hooks_left(model) == others
    with torch.no_grad(), controller.attached(model):  # nothing is run again
        model(inputs_embeds=embeds)


def test_blocks_that_a_model_checkpoints_itself_are_refused_on_the_way_back(tiny):
    """Any model may call `torch.utils.checkpoint`: a block run again there has no call."""
    from torch.utils.checkpoint import checkpoint

    model, controller = fitted(tiny)
    block = find_blocks(model).modules[1]
    with controller.attached(model):
        x = torch.randn(2, 5, tiny.width, requires_grad=True)
        output = checkpoint(block, x, use_reentrant=False)
        with pytest.raises(RuntimeError, match="gradient checkpointing"):
            (output[0] if isinstance(output, tuple) else output).sum().backward()


@pytest.mark.parametrize("law", LAWS)
def test_gradients_flow_and_match_finite_differences(tiny, text_kind, law):
    model, controller = fitted(tiny, text_kind, law=law)
    twin = copy.deepcopy(model).double()
    draw = torch.Generator().manual_seed(3)
    mask = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 0]])
    x = torch.randn(2, 4, tiny.width, dtype=torch.float64, generator=draw, requires_grad=True)
    step = torch.randn(2, 4, tiny.width, dtype=torch.float64, generator=draw)
    if text_kind in ("gpt2", "llama", "opt"):  # they find the last real token by the ids
        mask, twin.config.pad_token_id = torch.ones_like(mask)[:1], None
        x, step = x[:1].detach().requires_grad_(), step[:1]

    def score(embeds):
        return twin(inputs_embeds=embeds, attention_mask=mask).logits.pow(2).sum()

    # LLaMA's norms compute in single precision whatever the model's number type
    h, close = (3e-3, 1e-2) if text_kind == "llama" else (1e-5, 1e-5)
    with controller.attached(twin):
        (gradient,) = torch.autograd.grad(score(x), x)
        with torch.no_grad():
            slope = (score(x + h * step) - score(x - h * step)) / (2 * h)
    assert float((gradient * step).sum()) == pytest.approx(float(slope), rel=close)
    with torch.no_grad():
        free = (score(x + h * step) - score(x - h * step)) / (2 * h)
    assert float(slope) != pytest.approx(float(free), rel=2e-2)


def test_gradients_after_inference_mode(tiny):
    """What the control keeps between calls may have been made in inference mode."""
    model, controller = fitted(tiny)
    controller = controller.retune()
    embeds = torch.randn(2, 5, tiny.width, requires_grad=True)
    with torch.inference_mode(), controller.attached(model):
        expected = model(inputs_embeds=embeds).logits.clone()
    with controller.attached(model):
        seen = model(inputs_embeds=embeds).logits
        seen.sum().backward()
    assert torch.allclose(seen, expected, atol=1e-6)
    assert embeds.grad.abs().sum() > 0


def test_autocast_to_bfloat16(tiny, kind):
    model, controller = fitted(tiny, kind)
    inputs = tiny.inputs(kind, seed=50)
    expected = tiny.answer(model, inputs, controller)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        seen, plain = (tiny.states(model, inputs, of) for of in (controller, None))
    assert [x.dtype for x in seen.values] == [x.dtype for x in plain.values]
    assert torch.allclose(seen.logits.float(), expected, atol=0.15)


def test_retune_is_a_fit_with_those_settings(tiny):
    model, rows, tokenizer = tiny.model("bert"), tiny.rows(40), tiny.tokenizer()
    changed = {"scheme": "P-I-D", "variance": 0.7, "c": 1.5, "law": "exact-gain",
               "gains": {"P": 0.4, "D": 0.3}, "layers": [2, 0]}  # fmt: skip
    one = PIDController.fit(model, tokenizer, rows, terms="PID").retune(**changed)
    two = PIDController.fit(model, tokenizer, rows, **changed)
    assert one.layers == two.layers == (0, 2)
    inputs = tiny.inputs("bert", seed=50)
    expected = tiny.answer(model, inputs, one)
    assert torch.equal(tiny.answer(model, inputs, two), expected)
    with pytest.raises(TypeError, match="unknown settings"):
        one.retune(threshold=0.5)


@pytest.mark.parametrize(("kind", "blocks"), list(PUBLISHED))
def test_published_layers_are_the_embedding_and_the_first_blocks_outputs(tiny, kind, blocks):
    _, controller = fitted(tiny)
    origin = replace(controller.bases.origin, model_type=kind, depth=blocks)
    bases = Eigenbases(controller.bases.values, controller.bases.vectors, origin)
    controller = replace(controller, bases=bases, layers="published")
    assert controller.controlled == tuple(range(PUBLISHED[kind, blocks] + 1))


def test_published_layers_of_another_model_name_those_that_exist(tiny):
    model = tiny.model("bert")
    with pytest.raises(ValueError, match="distilbert of 6 blocks"):
        fitted(tiny, model=model, layers="published")


def test_diagnosis_agrees_with_the_states_themselves(tiny):
    model, controller = fitted(tiny, scheme="PD")
    energy = torch.zeros(3, 4, dtype=torch.float64)
    for batch in stream(tiny, "bert", model):
        values, mask, answer = tiny.states(model, batch.inputs)
        mask = mask & (answer.argmax(-1) == batch.labels)[:, None]
        for t in range(3):
            x = values[t][mask].double()
            offs = [x @ controller.bases.projection(i, t, 0.8) for i in "PD"]
            u = (1 - alphas(3, 0.2)[t]) * 0.5 * (offs[0] + offs[1])
            sizes = [v.pow(2).sum() for v in (x, *offs, u)]
            energy[t] += torch.stack(sizes)
    for t, row in enumerate(controller.diagnose().rows):
        x, p, d, u = energy[t].tolist()
        assert row.bias["P"] == pytest.approx(p / x, rel=1e-3)
        assert row.bias["D"] == pytest.approx(d / x, rel=1e-3)
        assert row.weighted_bias == pytest.approx(0.5 * (p + d) / x, rel=1e-3)
        assert row.size == pytest.approx((u / x) ** 0.5, rel=1e-3)
        assert row.alpha == pytest.approx(alphas(3, 0.2)[t])
        assert row.ranks["P"] == controller.bases.rank("P", t, 0.8)
    assert row.bias["P"] <= 0.2
    bound = controller.retune(law="residual").diagnose().rows
    assert all(0 < row.size < 1 for row in bound)


def test_keep_saves_directions_and_bars_larger_thresholds(tiny):
    model, small = fitted(tiny, keep=0.9)
    _, full = fitted(tiny, model=model)
    assert small.bases.vectors["P"].shape[-1] < tiny.width
    inputs = tiny.inputs("bert", seed=50)
    expected = tiny.answer(model, inputs, full)
    assert torch.allclose(tiny.answer(model, inputs, small), expected, atol=1e-5)
    with pytest.raises(ValueError, match="larger keep"):
        small.retune(variance=1.0).diagnose()


@pytest.mark.parametrize("change", [{}, {"c": float("inf"), "layers": [1], "gains": {"D": 0.3}}])
def test_saved_and_read_again(tiny, tmp_path, change):
    model, controller = fitted(tiny, **change)
    controller.save_pretrained(tmp_path / "kept")
    again = PIDController.from_pretrained(tmp_path / "kept")
    assert again.summary() == controller.summary()
    assert again.bases.origin == controller.bases.origin
    inputs = tiny.inputs("bert", seed=50)
    expected = tiny.answer(model, inputs, controller)
    assert torch.equal(tiny.answer(model, inputs, again), expected)


def test_saving_again_replaces_the_old_controller_or_leaves_it_whole(tiny, tmp_path, monkeypatch):
    _, one = fitted(tiny)
    _, two = fitted(tiny, model=tiny.model("bert", seed=5))
    one.save_pretrained(tmp_path)

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(bundles, "write_json", broken)
    with pytest.raises(OSError, match="disk full"):
        two.save_pretrained(tmp_path)
    assert PIDController.from_pretrained(tmp_path).bases.origin == one.bases.origin
    monkeypatch.undo()
    two.save_pretrained(tmp_path)
    assert PIDController.from_pretrained(tmp_path).bases.origin == two.bases.origin
    assert len(list(tmp_path.iterdir())) == 3


def test_truncated_changed_and_foreign_files_are_refused(tiny, tmp_path):
    _, controller = fitted(tiny)
    with pytest.raises(FileNotFoundError, match=r"controller\.json"):
        PIDController.from_pretrained(tmp_path / "nothing")
    controller.save_pretrained(tmp_path)
    card, tensors = tmp_path / "controller.json", next(tmp_path.glob("bases-*"))
    with pytest.raises(ValueError, match="is a file"):
        controller.save_pretrained(card)
    whole, data = tensors.read_bytes(), json.loads(card.read_text())
    tensors.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="checksum"):
        PIDController.from_pretrained(tmp_path)
    tensors.unlink()
    with pytest.raises(FileNotFoundError, match="missing"):
        PIDController.from_pretrained(tmp_path)
    tensors.write_bytes(whole)
    settings = data["settings"]
    partly = {k: v for k, v in settings.items() if k != "c"}
    for wrong, message in (
        ([1, 2], "not a controller of pidlib"),
        (data | {"settings": settings | {"law": "wiener"}}, "unknown law"),
        (data | {"settings": settings | {"speed": 1}}, "not a controller"),
        (data | {"settings": partly}, r"the settings \['c'\] are missing"),
        (data | {"origin": data["origin"] | {"width": 17}}, "shapes"),
        (data | {"schema": 99}, "schema 99"),
        (data | {"schema": True}, "schema True"),
    ):
        card.write_text(json.dumps(wrong))
        with pytest.raises(ValueError, match=message):
            PIDController.from_pretrained(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"scheme": "PX"}, "unknown scheme 'PX'"),
        ({"law": "wiener"}, r"unknown law 'wiener'; choose one of \('averaged', 'exact-gain'"),
        ({"variance": 0.0}, "variance is 0.0"),
        ({"variance": 1.5}, "variance is 1.5"),
        ({"c": -1.0}, "c is -1.0"),
        ({"c": float("nan")}, "c is nan"),
        ({"c": "small"}, "c is 'small'"),
        ({"gains": "big"}, "unknown gains 'big'"),
        ({"layers": [0, 3]}, "unknown layer 3"),
        ({"layers": [-1]}, "unknown layer -1"),
        ({"layers": "first"}, "unknown layer 'first'"),
        ({"layers": 1}, "unknown layer 1"),
    ],
)
def test_wrong_settings_are_refused_before_the_model_runs(tiny, change, message):
    model, controller = fitted(tiny)

    def untouched():
        raise AssertionError("the model ran")
        yield

    with pytest.raises(ValueError, match=message):
        PIDController.from_batches(model, untouched(), **change)
    with pytest.raises(ValueError, match=message):
        controller.retune(**change)


def test_bad_text_and_models_are_refused(tiny):
    model, rows = tiny.model("bert"), tiny.rows(12)
    names = {0: "LABEL_0", 1: "LABEL_1", 2: "LABEL_2"}
    training, broken, wrong = (copy.deepcopy(model) for _ in range(3))
    training.train()
    with torch.no_grad():
        find_blocks(broken).modules[1].output.dense.weight[0, 0] = float("nan")
        wrong.classifier.bias += torch.tensor([1e3, 0.0, 0.0])
    for of, given, message in (
        (model, [], "no rows"),
        (training, rows, r"model\.eval"),
        (tiny.model("bert", id2label=names), rows, "label_0"),
        (broken, rows, "state x_2, the input of .*layer.2, has NaN"),
        (wrong, [row | {"label": 1} for row in rows[:5]], "none of the 5 rows correctly"),
    ):
        with pytest.raises(ValueError, match=message):
            PIDController.fit(of, tiny.tokenizer(), given)
        assert tiny.hooks_left(of) == 0


def test_other_label_orders_are_mapped(tiny):
    """The same model with its columns named in another order answers other labels correctly."""
    rows, tokenizer = tiny.rows(30), tiny.tokenizer()
    names = {0: "contradiction", 1: "neutral", 2: "entailment"}
    flipped = [{**row, "label": 2 - row["label"]} for row in rows]
    one = PIDController.fit(tiny.model("bert"), tokenizer, rows)
    two = PIDController.fit(tiny.model("bert", id2label=names), tokenizer, flipped)
    assert one.bases.origin.correct == two.bases.origin.correct
    assert torch.equal(one.bases.values["P"], two.bases.values["P"])


def test_schemes_that_were_not_learnt_are_refused(tiny):
    model, controller = fitted(tiny, scheme="P")
    assert list(controller.bases.values) == ["P"]
    with pytest.raises(ValueError, match=r"needs the bases of \['D'\].*terms='PID'"):
        controller.retune(scheme="PD")
    with pytest.raises(ValueError, match=r"bases of 'I' were not learnt.*terms='PID'"):
        controller.projections(0, "PI")
    with pytest.raises(ValueError, match=r"needs the bases of \['I'\]"):
        fitted(tiny, scheme="PID", terms="PD")
