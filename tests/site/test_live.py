"""The live page answers as the library does, from a file, with nothing asked of anybody.

The page's engine is compared with PyTorch under the weights of the page, and these weights with the
library's, both in PyTorch. The marker `long` lets the engine itself read all pairs.
"""

import base64
import copy
import json
import re
from contextlib import contextmanager, nullcontext
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from bs4 import BeautifulSoup

import live
import shape
from contents import RESULTS
from pidbook.evaluation.trial_results import stored_rows
from pidlib import load_model, load_nli
from pidlib.data.batches import encode

SIDES = ("premise", "hypothesis")
CONDITIONS = ("none", "pd", "terminal", "noise")
CLEAN, CHANGED = 500, 50  # pairs of the test set; of each recipe the first that turned the answer
SOME = range(0, 600, 6)  # of the 600, under each control
READ_BY_ENGINE = range(0, 600, 60)  # of the 600, under each condition
SEED = 3
PATIENCE = 300_000  # milliseconds: a busy machine is no defect
WIDE, NARROW, NARROWEST = 1280, 390, 360
SHORT = "?premise=A dog runs.&hypothesis=An animal moves."  # read quickly, where any text will do
LARGEST = 36_000_000
READ = """([rows, condition, more]) => rows.reduce(async (before, row) => {
  const done = await before, answer = await live.read(row, condition, { states: false, ...more });
  return [...done, [answer.probabilities, answer.tokens.map((token) => token.id)]];
}, [])"""
ODD = [
    "Café DÉJÀ-vu, naïve Ǆ ΣΊΣΥΦΟΣ!",
    "日本 is far; so is x\u0000\u200b\ufffdy\tz\r\nw",
    "don't [SEP] [mask] ([CLS]) 3.5% €5 ☃ rеd youոg",
    "a" * 120 + " unhappiness supercalifragilistic",
    "\u00a0two\u2003spaces\ufeffhere\u0085there “quoted” — dash… 𝒳 👍🏽",
]


CHECKS = Path(__file__).with_name("checks.js").read_text(encoding="utf-8")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(shape.BROWSER is None, reason="no Chromium: see tests/QUARANTINES.md"),
]


def turned(rows, recipe) -> list[dict]:
    """The first rows of the test set whose stored attack turned the answer."""
    every = stored_rows(rows, "captions", recipe, RESULTS, "minilm-nli")
    return [row for row in every if row["kind"] == "succeeded"][:CHANGED]


@pytest.fixture(scope="module")
def library():
    """The model, its tokenizer and the controls of the page."""
    model, tokenizer = load_model("minilm-nli")
    return model, tokenizer, live.controls(model, tokenizer)


@pytest.fixture(scope="module")
def pairs() -> list[dict]:
    rows = load_nli("captions", split="test")
    changed = [row for recipe in ("textfooler", "textbugger") for row in turned(rows, recipe)]
    return [{side: row[side] for side in SIDES} for row in [*rows.select(range(CLEAN)), *changed]]


def shipped_numbers(folder: Path) -> tuple[dict, dict[str, torch.Tensor]]:
    """The manifest of the page's weights, and their numbers by name, scaled."""
    text = (folder / "manifest.js").read_text()
    manifest = json.loads(text.removeprefix("const liveManifest = ").removesuffix(";\n"))
    letters = [
        re.search('"(.*)"', (folder / part["file"]).read_text())[1] for part in manifest["parts"]
    ]
    content = b"".join(map(base64.b64decode, letters))
    stored = {
        name: torch.from_numpy(np.frombuffer(content, kind, size, start).astype(np.float32))
        for name, (kind, start, size) in manifest["arrays"].items()
    }
    scaled = [name for name in stored if f"{name}.scale" in stored]
    for name in scaled:
        scales = stored[f"{name}.scale"]
        stored[name] = (stored[name].reshape(len(scales), -1) * scales[:, None]).flatten()
    return manifest, stored


@pytest.fixture(scope="module")
def shipped(site, library):
    """The model with the page's weights, and K and b of the page's controls by state."""
    manifest, stored = shipped_numbers(site / "_static" / "live")
    model, width = copy.deepcopy(library[0]), manifest["width"]
    named = model.state_dict()
    for there, here in live.layers(manifest["depth"]).items():
        for part in ("weight", "bias"):
            named[f"{there}.{part}"].copy_(
                stored[f"{here}.{part}"].view_as(named[f"{there}.{part}"])
            )
    tables = {"words": "word", "places": "position", "kinds": "token_type"}
    for here, there in tables.items():
        values = stored[here].view(-1, width)
        named[f"bert.embeddings.{there}_embeddings.weight"][: len(values)] = values
    laws = {
        name: [
            (
                stored[f"{name}.{t}"].view(width, width) + stored[f"{name}.{t}.diagonal"].diag(),
                stored[f"{name}.{t}.offset"],
            )
            for t in range(manifest["depth"])
        ]
        for name in ("pd", "terminal")
    }
    return model, library[1], laws


@contextmanager
def pushed(shipped, condition: str, strength: float):
    """The model with the page's weights under a condition of the page: u_t is added to x_t."""
    model, _, laws = shipped

    def push(t, x):
        gain, offset = laws["pd" if condition == "noise" else condition][t]
        u = offset - x @ gain.T
        return x + strength * (noise(t, u, None) if condition == "noise" else u)

    blocks = enumerate(model.bert.encoder.layer) if condition != "none" else ()
    hooks = [
        block.register_forward_pre_hook(lambda _, given, t=t: (push(t, given[0]), *given[1:]))
        for t, block in blocks
    ]
    try:
        yield model
    finally:
        for hook in hooks:
            hook.remove()


class Live:
    """The page, opened as a file; what it asked for and what went wrong."""

    def __init__(self, browser, site, query="", width=1280, before=""):
        self.context = browser.new_context(viewport={"width": width, "height": 900}, offline=True)
        if before:
            self.context.add_init_script(before)
        self.context.set_default_timeout(PATIENCE)
        self.page, self.asked, self.wrong = self.context.new_page(), [], []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.address = f"{site.as_uri()}/book/live.html{query}"

    def go(self):
        self.page.goto(self.address)
        return self.page

    def load(self):
        self.go().click("#live-load")
        self.settled()
        return self.page

    def settled(self):
        """Wait until what is shown answers what was asked last."""
        self.page.wait_for_timeout(200)  # a keystroke counts after 150 ms
        self.page.wait_for_function(
            "live.state.engine && !live.state.busy"
            " && +document.querySelector('#live').dataset.version === live.state.wanted"
        )

    def text(self, name: str) -> str:
        return self.page.inner_text(f"#live-{name}")

    def seconds(self) -> list[float]:
        text = self.page.get_attribute("#live", "data-answered")
        return [float(part) for part in text.split()]


@pytest.fixture
def opened(browser, site):
    """A maker of pages; they are closed afterwards."""
    pages = []

    def open_page(*given, **more):
        pages.append(Live(browser, site, *given, **more))
        return pages[-1]

    yield open_page
    for shown in pages:
        shown.context.close()


@pytest.fixture(scope="module")
def ready(browser, site):
    """One page with the model, for the tests that leave it as it was."""
    shown = Live(browser, site)
    shown.load()
    yield shown
    shown.context.close()


def normals(seed: int, t: int, rows: int, width: int) -> torch.Tensor:
    """The page's noise (rows, width) before it is scaled: mulberry32, then Box and Muller."""
    whole, steps = 2**32, np.arange(1, width + 1, dtype=np.uint64) * 0x6D2B79F5
    starts = [
        (seed + 1) * 0x9E3779B1 % whole
        ^ (t + 1) * 0x85EBCA6B % whole
        ^ (m + 1) * 0xC2B2AE35 % whole
        for m in range(rows)
    ]
    z = ((np.array(starts, dtype=np.uint64)[:, None] + steps) % whole).astype(np.uint32)
    one, seven, fourteen, odd = map(np.uint32, (15, 7, 14, 61))
    state = (z ^ (z >> one)) * (z | np.uint32(1))
    state ^= state + (state ^ (state >> seven)) * (state | odd)
    uniform = (state ^ (state >> fourteen)) / whole
    far, angle = np.sqrt(-2 * np.log(1 - uniform[:, ::2])), 2 * np.pi * uniform[:, 1::2]
    return torch.from_numpy(np.stack([far * np.cos(angle), far * np.sin(angle)], -1)).reshape(
        rows, width
    )


def noise(t: int, u: torch.Tensor, _mask) -> torch.Tensor:
    """The page's noise in place of u, of its size at each token."""
    drawn = normals(SEED, t, *u.shape[1:]).to(u)
    return drawn / drawn.norm(dim=-1, keepdim=True) * u.norm(dim=-1, keepdim=True)


def under(library, condition: str):
    """The library's model under a condition of the page, as a context."""
    model, _, of = library
    if condition == "none":
        return nullcontext()
    if condition == "noise":
        return of["pd"].attached(model, instead=noise)
    return of[condition].attached(model)


def shares(model, tokenizer, rows) -> np.ndarray:
    """Probabilities (n, 3) of a model, in PyTorch."""
    with torch.inference_mode():
        batches = [rows[start : start + 25] for start in range(0, len(rows), 25)]
        logits = [model(**encode(tokenizer, batch)).logits for batch in batches]
    return torch.cat(logits).softmax(-1).numpy()


def by_library(library, rows, condition: str) -> np.ndarray:
    with under(library, condition):
        return shares(*library[:2], rows)


def by_shipped(shipped, rows, condition: str, strength: float = 1.0) -> np.ndarray:
    with pushed(shipped, condition, strength) as model:
        return shares(model, shipped[1], rows)


def by_page(ready, rows, condition: str, **more):
    answers = []
    for start in range(0, len(rows), 25):
        given = [rows[start : start + 25], condition, {"seed": SEED, "strength": 1, **more}]
        answers += ready.page.evaluate(READ, given)
    return np.array([shares for shares, _ in answers]), [ids for _, ids in answers]


def agree(found, wanted, record_property):
    """The same answer to 99 of 100, and probabilities that differ by less than 0.02 on average."""
    differ = found.argmax(1) != wanted.argmax(1)
    leads = np.sort(wanted[differ])[:, 2] - np.sort(wanted[differ])[:, 1]
    same, off = len(wanted) - len(leads), float(np.abs(found - wanted).mean())
    print(f"{same} of {len(wanted)} answers, probabilities {off:.4f} apart, leads {leads.round(3)}")
    record_property("agreement", f"{same}/{len(wanted)}, {off:.4f}")
    assert same >= 0.99 * len(wanted) and off < 0.02


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_weights_of_the_page_answer_as_the_library_does(
    shipped, library, pairs, condition, record_property
):
    rows = [pairs[k] for k in SOME]  # all pairs: the engine's own test, below
    found, wanted = (
        by(of, rows, condition) for by, of in ((by_shipped, shipped), (by_library, library))
    )
    agree(found, wanted, record_property)


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_engine_computes_what_pytorch_does_with_the_same_weights(
    ready, shipped, pairs, condition
):
    rows = [pairs[k] for k in READ_BY_ENGINE]
    found, ids = by_page(ready, rows, condition)
    assert np.abs(found - by_shipped(shipped, rows, condition)).max() < 1e-4
    assert ids == [shipped[1](row["premise"], row["hypothesis"])["input_ids"] for row in rows]


def test_the_engine_cuts_every_text_as_the_library_does(ready, library, pairs):
    texts = ODD + sorted({row[side] for row in pairs for side in SIDES})
    cut = "(texts) => Promise.all(texts.map((text) => live.state.engine.ask('cut', text)))"
    pieces = [
        [p for word in words for p in word["pieces"]] for words in ready.page.evaluate(cut, texts)
    ]
    assert pieces == [library[1].tokenize(text) for text in texts]


@pytest.mark.long
@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_page_answers_all_pairs_as_the_library_does(
    ready, library, pairs, condition, record_property
):
    found, ids = by_page(ready, pairs, condition)
    agree(found, by_library(library, pairs, condition), record_property)
    assert ids == [library[1](row["premise"], row["hypothesis"])["input_ids"] for row in pairs]


def test_strength_multiplies_the_push(ready, shipped, pairs):
    for condition in ("pd", "terminal"):
        found, _ = by_page(ready, pairs[:3], condition, strength=1.7)
        assert np.abs(found - by_shipped(shipped, pairs[:3], condition, 1.7)).max() < 1e-4
    still, _ = by_page(ready, pairs[:1], "noise", strength=0)
    assert np.allclose(still, by_page(ready, pairs[:1], "none")[0])


def test_the_condition_shown_is_answered_first_and_weights_come_when_asked(opened, site):
    shown = opened(SHORT)
    page = shown.go()
    assert not [url for url in shown.asked if "part-" in url]  # loaded only when asked
    page.click("#live-load")
    page.wait_for_selector("#live-answers td")
    shown.settled()
    for key in ("x", "Backspace"):
        page.press("#live-hypothesis", key)
        shown.settled()
        first, every = shown.seconds()
        assert 0 < first < every
        print(f"seconds to the answer shown and to all four: {first}, {every}")
    assert shown.wrong == []
    own = site.as_uri()
    assert [url for url in shown.asked if not url.startswith((own, "data:", "blob:"))] == []


def test_the_size_is_said_and_small(site, opened):
    folder = site / "_static" / "live"
    size = sum(path.stat().st_size for path in folder.iterdir())
    assert size < LARGEST
    opened_page = opened()
    opened_page.go()
    assert abs(int(opened_page.text("size").split()[0]) - size / 1e6) < 1


def test_examples_are_stored_attacks_that_do_as_they_say(site, ready, library):
    page = BeautifulSoup((site / "book/live.html").read_text(), "lxml")
    rows = load_nli("captions", split="test")
    back = []
    for example in json.loads(page.select_one("#live-examples").string):
        stored = stored_rows(rows, "captions", example["recipe"], RESULTS, "minilm-nli")[
            example["id"]
        ]
        row = rows[example["id"]]
        assert stored["kind"] == "succeeded" and example["now"] == {k: stored[k] for k in SIDES}
        assert example["clean"] == {k: row[k] for k in SIDES}
        answers = [by_page(ready, [example["now"]], c, seed=0)[0].argmax() for c in CONDITIONS]
        assert by_page(ready, [example["clean"]], "none")[0].argmax() == row["label"] != answers[0]
        back.append(
            [name for name, a in zip(CONDITIONS, answers, strict=True) if a == row["label"]]
        )
    both = ["pd", "terminal"]
    assert back == [both, [*both, "noise"], ["noise"], both, []]


def test_what_is_shown_before_loading_is_what_the_page_finds(opened):
    shown = opened()
    page = shown.go()
    assert page.is_visible("#live-answers td") and page.is_visible("#live-picture svg")
    said = page.evaluate("JSON.parse(document.querySelector('#live-examples').textContent)")[0]
    page.click("#live-load")
    shown.settled()
    assert not page.is_visible("#live-recorded")
    for name, answer in page.evaluate(
        "Object.entries(live.state.answers).map(([n, a]) => [n, [a.probabilities, a.off.means]])"
    ):
        kept = said["answers"][name]
        for mine, theirs in zip(answer, (kept["probabilities"], kept["means"]), strict=True):
            assert np.abs(np.array(mine) - theirs).max() < 0.02


def test_the_address_is_shown_as_text(opened):
    bad = "?premise=%3Cimg%20src%3Dx%20onerror%3D%22window.ran%3D1%22%3E%20A%20dog.&hypothesis=%3Cscript%3Ewindow.ran%3D1%3C/script%3E"
    shown = opened(bad)
    page = shown.load()
    assert page.input_value("#live-premise") == '<img src=x onerror="window.ran=1"> A dog.'
    assert page.input_value("#live-hypothesis") == "<script>window.ran=1</script>"
    assert page.query_selector("#live img") is None and page.evaluate("window.ran") is None
    assert "one" not in shown.text("fault") and shown.page.is_visible("#live-answers td")
    page.fill("#live-premise", "A cat & a <b>dog</b>.")
    shown.settled()
    link = page.get_attribute("#live-address", "href")
    page.goto(shown.address.split("?")[0] + link)
    assert page.input_value("#live-premise") == "A cat & a <b>dog</b>."
    assert shown.wrong == []


def test_bad_texts_are_named_and_the_page_goes_on(opened):
    shown = opened(SHORT)
    page = shown.load()
    fault = "#live-fault:visible:has-text('{}')"
    page.fill("#live-premise", "  ")
    page.wait_for_selector(fault.format("The premise is empty"))
    page.fill("#live-premise", "many words " * 4000)
    page.wait_for_selector(fault.format("this page reads at most 128"))
    page.click("#live-keep")
    page.fill("#live-premise", "A snowman ☃ melts.")
    page.wait_for_selector(fault.format("The clean form cannot be read"))
    page.click("#live-keep")
    shown.settled()
    assert "It does not know ☃" in shown.text("tokens-caption")
    assert not page.is_visible("#live-fault")
    assert shown.wrong == []


BROKEN = {  # what takes the place of a part, and what the page says
    None: "part-03.js is missing",
    'livePart(3,"AAAA");': "part-03.js is broken: it has another length",
    'livePart(3,"' + "A" * 2_097_152 + '");': "part-03.js is broken: its checksum differs",
    "": "part-03.js is broken: no weights are in it",
}


def test_missing_or_broken_weights_are_named(opened):
    shown, bodies = opened(SHORT), list(BROKEN)

    def answer(route):
        if not bodies:
            return route.continue_()
        if bodies[0] is None:
            return route.abort()
        return route.fulfill(body=bodies[0], content_type="text/javascript")

    shown.page.route("**/part-03.js", answer)  # before the page is opened: it is a file
    page = shown.go()
    for said in BROKEN.values():
        page.click("#live-load")
        page.wait_for_selector(f"#live-fault:visible:has-text('{said}')")
        bodies.pop(0)
        page.click("#live-typo")  # the rest of the page works
    page.click("#live-load")
    shown.settled()
    assert not page.is_visible("#live-fault")
    assert shown.wrong == []


def test_without_the_manifest_the_page_says_so(opened):
    shown = opened()
    shown.page.route("**/manifest.js*", lambda route: route.abort())
    shown.go().wait_for_selector("#live-fault:has-text('manifest.js is missing')")
    assert shown.wrong == []


def test_a_download_can_be_cancelled_and_begun_again(opened):
    shown = opened(SHORT)
    held = []

    def hold(route):
        if held:
            return route.continue_()
        return held.append(route)

    shown.page.route("**/part-05.js*", hold)
    page = shown.go()
    page.click("#live-load")
    page.wait_for_selector("#live-status:has-text('part 5 of')")
    page.click("#live-cancel")
    page.wait_for_selector("#live-status:has-text('Cancelled')")
    assert not page.is_visible("#live-progress")
    held[0].abort()
    page.click("#live-load")
    shown.settled()
    assert page.is_visible("#live-answers td") and shown.wrong == []


def test_a_browser_without_workers_is_told(opened):
    shown = opened(before="delete window.Worker")
    page = shown.go()
    assert "no workers" in shown.text("fault") and page.is_disabled("#live-load")
    before = page.input_value("#live-premise") + page.input_value("#live-hypothesis")
    page.check("[name=live-condition][value=pd]")
    assert page.is_visible("#live-answers td")  # recorded ones, which an edit hides
    page.click("#live-typo")
    assert not page.is_visible("#live-answers td")
    assert page.input_value("#live-premise") + page.input_value("#live-hypothesis") != before
    assert shown.wrong == []


def test_keyboard_alone_reaches_everything(opened):
    shown = opened(SHORT)
    page = shown.go()
    page.focus("#live-load")
    page.keyboard.press("Enter")
    shown.settled()
    reached = []
    page.focus("#live-premise")
    for _ in range(24):
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.name"))
        page.keyboard.press("Tab")
    wanted = "premise hypothesis example typo synonym attack back keep address condition strength"
    assert [name for name in wanted.split() if f"live-{name}" not in reached] == []
    page.focus("[name=live-condition]:checked")
    page.keyboard.press("ArrowRight")
    page.focus("#live-strength")
    page.keyboard.press("ArrowRight")
    shown.settled()
    assert shown.text("strength-value") == "1.1"
    assert "under P-D control" in shown.text("distances")
    assert page.get_attribute("#live-status", "aria-live") == "polite"
    heads = page.locator("#live-results table :is(th, td)").evaluate_all(
        "all => all.filter((e) => e.tagName === 'TH' && !e.scope).length"
    )
    assert heads == 0


def test_words_of_other_lengths_are_compared_as_wholes(ready):
    units = ready.page.evaluate(
        """async () => {
          const read = (premise) => live.read({ premise, hypothesis: "He runs." }, "none");
          const [a, b] = [await read("A man sings loudly."), await read("A tall man snigs loudly.")];
          const units = liveWords.units(a.tokens, b.tokens);
          const far = liveWords.distances(units, a.states, b.states, 384);
          return units.map(({ name, was, at }, k) => [name, was, at.length, far[k] && far[k].length]);
        }"""
    )
    assert ["tall", None, 1, None] in units and ["man", "man", 1, 7] in units
    changed = [unit for unit in units if unit[1] == "sings"]
    assert len(changed) == 1 and changed[0][2] > 1 and changed[0][3] == 7
    assert all(was == name for name, was, *_ in units if was not in (None, "sings"))


def test_an_attack_shows_its_steps(opened):
    pair = {"premise": "Four physicians are dancing.", "hypothesis": "Four doctors are dancing."}
    shown = opened("?" + "&".join(f"{side}={text}" for side, text in pair.items()))
    page = shown.load()
    page.click("#live-attack")
    page.wait_for_selector("#live-attack:not(:disabled)")
    shown.settled()
    steps = page.locator("#live-steps li").all_inner_texts()
    assert len(steps) > 1 and "readings, under no control" in steps[-1]
    assert "Turned from entailment" in steps[-1]
    assert "●" not in page.inner_text("#live-answers tbody tr td:nth-child(2)")
    assert "are left, and the answer turns" in steps[-2]
    page.click("#live-back")
    shown.settled()
    assert {side: page.input_value(f"#live-{side}") for side in SIDES} == pair
    page.evaluate(
        "['attack', 'stop'].forEach((name) => document.getElementById(`live-${name}`).click())"
    )
    page.wait_for_selector("#live-attack:not(:disabled)")
    assert page.locator("#live-steps li").last.inner_text() == "Stopped."
    assert shown.wrong == []


def test_the_answered_page_can_be_read_by_all(opened):
    from axe_playwright_python.base import AXE_FILE_PATH

    shown = opened(SHORT, before="localStorage.mode = localStorage.theme = 'dark'")
    page = shown.load()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.add_style_tag(content="* { transition: none !important; }")
    page.evaluate(CHECKS)
    page.evaluate(AXE_FILE_PATH.read_text())
    for width, theme in product((WIDE, NARROW), ("dark", "light")):
        page.set_viewport_size({"width": width, "height": 900})
        page.evaluate("theme => checks.turn(theme)", theme)
        found = page.evaluate(
            "async () => [...await checks.violations(), ...checks.pale(), ...checks.wide()]"
        )
        assert {(width, theme): found} == {(width, theme): []}
    page.set_viewport_size({"width": NARROWEST, "height": 900})
    assert page.evaluate("checks.wide()") == []
