"""The server of *How to run it*: many requests at once, each answered as it is alone."""

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


def test_requests_at_once_and_when_the_server_is_stopped_are_answered_as_each_alone(tiny):
    model, tokenizer = tiny.model("bert"), tiny.tokenizer()
    control = tiny.fit(model)
    long = [" ".join(WORDS[k % 5 :][: 3 + k]) for k in range(16)]
    inputs = [tokenizer(text, return_tensors="pt") for text in long]
    wanted = [tiny.answer(model, of, control).softmax(-1)[0].tolist() for of in inputs]
    bare = tiny.answer(model, inputs[0]).softmax(-1)[0]
    assert (bare - torch.tensor(wanted[0])).abs().max() > 1e-3

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
