"""What a controller knows of its model's weights: read whole once, and every change of it seen."""

import copy

import pytest
import torch

import pidlib.io.weights as weights


@pytest.fixture
def model(tiny):
    return tiny.model("bert")


@pytest.fixture
def fitted(tiny, model):
    return tiny.fit(model)


@pytest.fixture
def read(monkeypatch):
    """Modules that are read whole, one entry each time."""
    seen, digest = [], weights._digest
    monkeypatch.setattr(weights, "_digest", lambda m, kind: seen.append(m) or digest(m, kind))
    return seen


def attach(controller, model):
    with controller.attached(model):
        pass


def test_weights_are_read_whole_once(fitted, model, read):
    attach(fitted, model)
    attach(fitted, model)
    assert read == []  # the fit had read them
    attach(fitted, other := copy.deepcopy(model))
    attach(fitted, other)
    assert len(read) == fitted.depth


def one_entry(weight):
    with torch.no_grad():
        weight[1, 1] += 1e-3  # no sample of it: torch counts the change


def by_numpy(weight):
    array = weight.detach().numpy()
    array *= 1.01


def another_place(weight):
    weight.data = weight.data + 1e-3


@pytest.mark.parametrize(
    "edit", [one_entry, by_numpy, another_place, lambda weight: weight.data.mul_(1.01)]
)
def test_an_edit_of_a_weight_is_seen(fitted, model, edit):
    attach(fitted, model)
    edit(model.bert.encoder.layer[1].intermediate.dense.weight)
    with pytest.raises(ValueError, match=r"1 of 3 blocks differ \(bert.encoder.layer.1\)"):
        attach(fitted, model)


def test_tensors_of_inference_mode_have_no_version_and_are_looked_at(tiny):
    with torch.inference_mode():
        model = tiny.model("bert")
        fitted = tiny.fit(model)
        attach(fitted, model)
        model.bert.encoder.layer[0].output.dense.weight.mul_(1.01)
        with pytest.raises(ValueError, match=r"bert.encoder.layer.0"):
            attach(fitted, model)


@pytest.fixture
def tuned(tiny):
    """A classifier with two LoRA adapters that differ, the first one active."""
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(0)
    lora = LoraConfig(r=2, target_modules=["query"], init_lora_weights=False)
    model = get_peft_model(tiny.model("bert"), lora, adapter_name="first")
    model.add_adapter("second", lora)
    return model.eval()


def test_of_adapters_those_that_act_count(tiny, tuned):
    fitted = tiny.fit(tuned)
    attach(fitted, tuned)
    tuned.set_adapter("second")
    with pytest.raises(ValueError, match="3 of 3 blocks differ"):
        attach(fitted, tuned)
    tuned.set_adapter("first")
    attach(fitted, tuned)
    with tuned.disable_adapter(), pytest.raises(ValueError, match="other weights"):
        attach(fitted, tuned)
    tuned.delete_adapter("second")  # it did not act
    attach(fitted, tuned)
    tuned.merge_adapter()  # the same function
    attach(fitted, tuned)


class Quantised(torch.Tensor):
    """Numbers that only their own operations can read."""

    @staticmethod
    def __new__(cls, whole, scale):
        return torch.Tensor._make_wrapper_subclass(cls, whole.shape, dtype=torch.float32)

    def __init__(self, whole, scale):
        self.whole, self.scale = whole, scale

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        if function is torch.ops.aten.detach.default:
            return cls(args[0].whole, args[0].scale)
        raise NotImplementedError(str(function))


class Readable(Quantised):
    def __tensor_flatten__(self):
        return ["whole", "scale"], None


def block_of(kind):
    block = torch.nn.Linear(3, 3, bias=False)
    whole = torch.arange(9, dtype=torch.int8).reshape(3, 3)
    block.weight = torch.nn.Parameter(kind(whole, torch.ones(3)), requires_grad=False)
    return block


def test_quantised_weights_are_hashed_as_stored_or_refused_by_name():
    block = block_of(Readable)
    before = weights.weights_sha256(block, torch.float32)
    assert weights.weights_sha256(block, torch.float32) == before
    block.weight.whole[1, 1] += 1
    assert weights.weights_sha256(block, torch.float32) != before
    with pytest.raises(ValueError, match="'weight' is a Quantised, whose numbers cannot be read"):
        weights.weights_sha256(block_of(Quantised), torch.float32)
