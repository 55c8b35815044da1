"""Language models: fitted without labels, and the first positions left out, however text arrives."""

import json
from functools import partial

import pytest
import torch
import transformers as tf

from pidbook.analysis import Pontryagin
from pidlib import PIDController, load_model, load_nli
from pidlib.hooks import find_blocks

SKIP = 2


@pytest.fixture(scope="module", params=["opt", "gpt2", "llama"])
def writer(request, tiny):
    """A tiny writer in double precision, so that only positions can make a difference."""
    return tiny.writer(request.param).double()


def fitted(tiny, model, law="averaged", skip=SKIP):
    return tiny.fit(model, scheme="PD", variance=0.5, law=law, c=0, skip_first=skip)


def next_words(model, ids, mask=None, cache=None):
    """Logits (B, l, words) and the cache."""
    with torch.no_grad():
        out = model(ids, attention_mask=mask, past_key_values=cache, use_cache=True)
    return out.logits, out.past_key_values


@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("law", ["averaged", "residual"])
def test_a_prompt_in_parts_is_the_prompt(tiny, writer, law, masked):
    controller, ids = fitted(tiny, writer, law), torch.arange(4, 12)[None]
    free = next_words(writer, ids)[0]
    with controller.attached(writer):
        whole = next_words(writer, ids)[0]
        assert torch.allclose(whole[:, :SKIP], free[:, :SKIP], atol=1e-9)
        assert not torch.allclose(whole[:, SKIP], free[:, SKIP], atol=1e-4)
        for cuts in ([5], [1], [1, 2, 3, 4]):
            parts, cache = [], None
            for a, b in zip([0, *cuts], [*cuts, 8], strict=True):
                mask = torch.ones(1, b, dtype=torch.long) if masked else None
                logits, cache = next_words(writer, ids[:, a:b], mask, cache)
                parts.append(logits)
            assert torch.allclose(torch.cat(parts, 1), whole, atol=1e-9)


def test_padding_on_the_left_changes_nothing(tiny, writer):
    controller, inputs = fitted(tiny, writer), tiny.inputs("opt", batch=3, length=7, side="left")
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    with controller.attached(writer):
        for k in range(3):
            alone = next_words(writer, ids[k : k + 1, k:])[0]
            if writer.config.model_type == "gpt2":  # it counts positions from the left end
                places = (mask.cumsum(1) - 1).clamp(min=0)
                with torch.no_grad():
                    batch = writer(ids, attention_mask=mask, position_ids=places).logits
            else:
                batch = next_words(writer, ids, mask)[0]
            assert torch.allclose(batch[k, k:], alone[0], atol=1e-5)  # rotations are in single


def test_the_encoder_of_t5_gets_its_mask_when_it_is_called_by_itself():
    config = tf.T5Config(vocab_size=24, d_model=16, d_kv=8, d_ff=24, num_layers=3, num_heads=2,
                         decoder_start_token_id=0)  # fmt: skip
    model, masks = tf.T5ForConditionalGeneration(config).eval(), []
    ids, mask = torch.full((2, 5), 7), torch.tensor([[1] * 5, [1, 1, 1, 0, 0]])
    wanted = torch.tensor([[0, 1, 1, 1, 1], [0, 1, 1, 0, 0]]).bool()
    with find_blocks(model).control(lambda t, x, mask: masks.append(mask), skip_first=1):
        model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=3)
    assert len(masks) == 3 and all(torch.equal(m[..., 0], wanted) for m in masks)


def test_a_fit_leaves_the_first_positions_out(tiny, writer):
    rows, sums, tokens = [{"text": row["premise"]} for row in tiny.rows(6)], 0, 0
    for row in rows:
        inputs = tiny.tokenizer()(row["text"], return_tensors="pt")
        state = tiny.states(writer, inputs).values[1][0, SKIP:]
        sums, tokens = sums + state.T @ state, tokens + len(state)
    fit = partial(PIDController.fit, writer, tiny.tokenizer(), rows, correct_only=False)
    few = fit(skip_first=SKIP, variance=0.9)
    assert few.origin.tokens == tokens
    assert torch.allclose(few.bases.moment(1), sums / tokens, atol=1e-5)
    with pytest.raises(ValueError, match="none of the 6 rows has a token beyond the first 99"):
        fit(skip_first=99)


@pytest.mark.parametrize("wrong", [-1, True, 1.0, "1", None])
def test_a_wrong_number_of_positions_is_refused(tiny, writer, wrong):
    with pytest.raises(ValueError, match="skip_first is .*Number of first positions"):
        fitted(tiny, writer, skip=wrong)


def test_a_saved_card_holds_the_positions_and_an_old_one_has_none(tiny, writer, tmp_path):
    controller = fitted(tiny, writer)
    controller.save_pretrained(tmp_path)
    assert PIDController.from_pretrained(tmp_path).skip_first == SKIP
    assert f"without the first {SKIP} of each text" in controller.summary()
    card = json.loads((tmp_path / "controller.json").read_text())
    del card["settings"]["skip_first"]
    (tmp_path / "controller.json").write_text(json.dumps(card))
    assert PIDController.from_pretrained(tmp_path).skip_first == 0
    card["settings"]["skip_first"] = -1
    (tmp_path / "controller.json").write_text(json.dumps(card))
    with pytest.raises(ValueError, match="skip_first is -1"):
        PIDController.from_pretrained(tmp_path)


def test_labels_are_read_only_where_they_are_needed(tiny, writer):
    texts = [row["premise"] for row in tiny.rows(8)]
    kinds = [{}, {"label": "a name"}, {"label": None}, {"label": 7}]
    rows = [{"text": text} | kinds[k % 4] for k, text in enumerate(texts)]
    fits = [
        PIDController.fit(writer, tiny.tokenizer(), of, correct_only=False)
        for of in (rows, [{"text": text} for text in texts])
    ]
    assert torch.equal(fits[0].bases.values["P"], fits[1].bases.values["P"])
    with pytest.raises(ValueError, match="row 0 has no label.*correct_only=False"):
        PIDController.fit(tiny.model("bert"), tiny.tokenizer(), rows)


def test_pontryagin_leaves_the_first_positions_alone_too(tiny):
    model, inputs = tiny.model("bert"), tiny.inputs("bert", batch=2)
    best = Pontryagin(fitted(tiny, model).retune(c=1e-3), sweeps=2)
    controls = best.solve(model, inputs).controls
    assert all(not u[:, :SKIP].any() and u[:, SKIP:].any() for u in controls)


def test_smollm2_is_fitted_without_labels_and_without_its_huge_first_states(tiny):
    model, tokenizer = load_model("smollm2")
    texts = [row["premise"] for row in load_nli("captions", split="train", n=16)]
    rows = [{"text": text, "label": "none"} for text in texts]
    how = {"scheme": "P", "terms": "P", "correct_only": False, "keep": 0.995, "layers": [0, 5, 12]}
    controller = PIDController.fit(model, tokenizer, rows, skip_first=1, batch_size=16, **how)
    inputs = tokenizer("A man in a red shirt plays the guitar.", return_tensors="pt")
    sizes = tiny.states(model, inputs).values[12][0].norm(dim=-1)
    assert sizes[0] > 20 * sizes[1:].max()
    assert min(controller.bases.rank("P", t, 0.99) for t in range(30)) > 20
    moment = controller.bases.moment(12)
    assert float(moment.trace()) < 0.1 * float(sizes[0]) ** 2
