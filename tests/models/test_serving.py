"""The server of *How to run it*: many requests at once, each answered as it is alone."""

from __future__ import annotations

import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

import pytest
import torch

PAGE = Path(__file__).parents[2] / "book" / "how-to-run.md"
WORDS = "a dog runs in the park the man eats red cat sleeps on big street".split()
TEXTS = [" ".join(WORDS[k % 7 : k % 7 + 1 + k % 8]) for k in range(50)]


@contextmanager
def served(model, tokenizer, controller):
    """Run the server of the page as it stands, on a free port, and yield its address."""
    text = PAGE.read_text(encoding="utf-8")
    block = re.search(r"```python\n(import json\nfrom http.server.+?)```", text, re.S)[1]
    setup, last = block.replace("8000", "0").split("with controller")
    names = {"model": model, "tokenizer": tokenizer, "controller": controller}
    exec(setup, names)
    names["Answer"].log_message = lambda *_: None
    thread = Thread(target=exec, args=("with controller" + last, names))
    thread.start()
    try:
        yield names["server"].server_address
    finally:
        names["server"].shutdown()
        thread.join()


def asked(address, text):
    with urlopen(Request("http://{}:{}".format(*address), text.encode()), timeout=60) as answer:
        return json.load(answer)


def alone(model, tokenizer, controller, text):
    with torch.inference_mode(), controller.attached(model):
        return model(**tokenizer(text, return_tensors="pt")).logits.softmax(-1)[0].tolist()


@pytest.fixture(scope="module")
def served_models(tiny):
    """Two models, each with a tokenizer and a control of its own."""
    made = []
    for seed in (0, 1):
        model, tokenizer = tiny.model("bert", seed=seed), tiny.tokenizer()
        made.append((model, tokenizer, tiny.fit(model)))
    return made


def test_fifty_requests_at_once_on_two_models_are_answered_as_each_alone(served_models):
    wanted = [[alone(*of, text) for text in TEXTS] for of in served_models]
    bare = [
        model(**tokenizer(TEXTS[0], return_tensors="pt")) for model, tokenizer, _ in served_models
    ]
    with served(*served_models[0]) as one, served(*served_models[1]) as two:
        with ThreadPoolExecutor(100) as pool:
            running = [[pool.submit(asked, at, text) for text in TEXTS] for at in (one, two)]
            found = [[answer.result() for answer in of] for of in running]
    torch.testing.assert_close(torch.tensor(found), torch.tensor(wanted), atol=1e-5, rtol=0)
    for of, logits in zip(found, bare, strict=True):  # and not as without control
        assert (torch.tensor(of[0]) - logits.logits.softmax(-1)[0]).abs().max() > 1e-3


def test_answers_under_way_when_the_server_is_stopped_are_controlled_whole(served_models):
    model, tokenizer, control = served_models[0]
    long = [" ".join(WORDS[k % 5 :] * 2) for k in range(16)]
    wanted = [alone(model, tokenizer, control, text) for text in long]

    def tried(address, text):
        try:
            return asked(address, text)
        except OSError:  # it came too late
            return None

    with ThreadPoolExecutor(16) as pool:
        with served(model, tokenizer, control) as address:
            running = [pool.submit(tried, address, text) for text in long]
            running[0].result()
        found = [answer.result() for answer in running]
    told = [(of, right) for of, right in zip(found, wanted, strict=True) if of is not None]
    assert told
    for of, right in told:
        assert of == pytest.approx(right, abs=1e-5)
