"""Files from anybody: a named error or something that can be used, never anything else.

Thousands of cases of hypothesis, the same ones on every machine, and some by hand.
"""

import copy
import hashlib
import json
import math
import os
import re
import sys
from dataclasses import asdict
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings, strategies as st
from safetensors.torch import load, save

import pidlib
from pidbook.evaluation.results import is_stale, read_result, write_result
from pidlib import load_controller
from pidlib.attacks.outcomes import Outcome, OutcomeLog, read_outcomes
from pidlib.bases import DTYPES, Eigenbases, FitRecord
from pidlib.cli.settings import AttackSettings, EvaluateSettings, FitSettings, Settings
from pidlib.data.edits import Edit
from pidlib.estimation.estimator import EXPANSION, Estimator, exceeds_norm
from pidlib.estimation.layerwise import AffineEstimate, Fit
from pidlib.io.strict_json import parse_json, read_json
from pidlib.pid import PIDController
from pidlib.settings import LAWS

DEPTH, WIDTH = 2, 4
KINDS_OF_SETTINGS = (Settings, FitSettings, EvaluateSettings, AttackSettings)
CARD, TENSORS = "controller.json", "bases-{}.safetensors"


def cases(number):
    """The same cases on every machine; one folder serves all of them, emptied before each."""
    return settings(
        max_examples=number,
        derandomize=True,
        database=None,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )


# What is written once: a control on subspaces, one that estimates, a result, outcomes.


def origin():
    sums = tuple({name: f"{t}" * 64 for name in DTYPES} for t in range(DEPTH))
    return FitRecord("bert", "Tiny", DEPTH, WIDTH, None, sums, 3, 2, 9, 0)


def random_frames(*shape):
    draw = torch.Generator().manual_seed(0)
    return torch.linalg.qr(torch.randn(*shape, dtype=torch.float64, generator=draw)).Q


def subspaces(**changes):
    values = torch.tensor([8.0, 4.0, 2.0, 1.0], dtype=torch.float64)
    frames = random_frames(3, DEPTH + 1, WIDTH, WIDTH).float()
    values = {i: values.repeat(DEPTH + 1, 1) for i in "PID"}
    bases = Eigenbases(values, dict(zip("PID", frames, strict=True)), origin())
    return PIDController(bases, variance=0.8, **changes)


def estimator(scale=0.5):
    A = scale * random_frames(WIDTH, WIDTH)
    fit = Fit(9, 4.0, 1.0, 0.5, 0.25)
    made = {t: AffineEstimate(A, torch.full((WIDTH,), 0.1).double(), fit) for t in range(DEPTH)}
    return Estimator(made, origin(), 0.5, "wiener", "2 random edits a row (typos)")


class Place:
    """Whole files as bytes, a folder to write into, and a folder around it to watch."""

    def __init__(self, root):
        self.root, self.folder, self.cards, self.tensors = root, root / "inside", {}, {}

    def __repr__(self):
        return "the place"  # not all bytes, where a case fails


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    root = tmp_path_factory.mktemp("hostile")
    found = Place(root)
    for kind, one in (("subspaces", subspaces()), ("estimator", estimator())):
        folder = tmp_path_factory.mktemp(kind)
        one.save_pretrained(folder)
        found.cards[kind] = json.loads((folder / CARD).read_text())
        (file,) = folder.glob("*.safetensors")
        found.tensors[kind] = file.read_bytes()
    found.folder.mkdir()
    # A whole file outside, with the checksum of the card: it must not be taken all the same.
    (root / "outside.safetensors").write_bytes(found.tensors["subspaces"])
    folder = tmp_path_factory.mktemp("records")
    write_result(
        folder / "one.json",
        command="python -m pidlib reproduce trial",
        configuration={"c": 1e-3, "scheme": "PD", "layers": [0, 1], "name": None},
        data={"name": "captions", "n": 5, "sha256": "a" * 64},
        model={"name": "minilm-nli", "sha256": "b" * 64},
        seed=3,
        counts={"none": {"clean": {"right": 4, "n": 5}}},
        seconds=1.23,
    )
    found.result = json.loads((folder / "one.json").read_text())
    log = OutcomeLog(folder / "log.jsonl", {"recipe": "textfooler", "seed": 0}, {"versions": {}})
    for k, status in enumerate(("succeeded", "failed", "skipped")):
        log.append(Outcome(k, status, (Edit("hypothesis", k, "T\u2028wо"),), 12, 7, "0" * 16))
    found.log = log.path.read_bytes()
    return found


# The property.

_opened: list[str] | None = None


def _listen(event, details):
    if _opened is not None and event in ("open", "os.remove", "os.rename", "os.mkdir"):
        _opened.append(str(details[0]))


sys.addaudithook(_listen)  # Python takes no hook away again; this one is quiet between reads


def usable(read):
    """Return what was read, or None after a named error that says something."""
    try:
        return read()
    except (ValueError, FileNotFoundError) as error:
        assert len(str(error)) > 10, repr(error)
        assert not isinstance(error, (UnicodeError, json.JSONDecodeError)), repr(error)
        return None


def files(folder):
    return {p: p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def written(place, card, tensors=None, name=None):
    """Write a controller's folder anew."""
    for old in place.folder.iterdir():
        old.unlink()
    text = card if isinstance(card, bytes) else json.dumps(card).encode()
    (place.folder / CARD).write_bytes(text)
    for kind, whole in place.tensors.items():
        file = place.cards[kind]["tensors"]["file"]
        (place.folder / file).write_bytes(whole)
    if tensors is not None:
        (place.folder / name).write_bytes(tensors)


def loaded(place, **asked):
    """Read the folder: the property itself. Returns the controller, or None."""
    global _opened
    before = files(place.root)
    opened = _opened = []
    try:
        found = usable(lambda: load_controller(place.folder, **asked))
    finally:
        _opened = None
    assert str(place.folder / CARD) in opened  # the hook hears
    outside = [p for p in opened if not Path(p).resolve().is_relative_to(place.folder.resolve())]
    assert not outside, outside
    assert files(place.root) == before
    if found is not None:
        check_action(found, **asked)
        assert found.summary()
    return found


def check_action(found, allow_expanding=False):
    """What it does to a state is finite, and does not expand more than is allowed."""
    law, x = found.begin(), torch.ones(1, 2, found.origin.width)
    for t in found.hooked:
        new = law(t, x, None)
        assert new is None or bool(new.isfinite().all())
    for t in found.controlled:
        if isinstance(found, Estimator):
            action, most = found.estimates[t].A, EXPANSION
        else:
            kinds = found.feedback.get(t, {})
            eye = torch.eye(found.origin.width, dtype=torch.float64)
            action, most = eye - sum(gain.matrix() for gain in kinds.values()), 1 + 1e-3
        assert bool(action.isfinite().all())
        assert allow_expanding or not exceeds_norm(action, most)


# What goes wrong in JSON.

ODD = [
    None, True, False, 0, -1, 1, 2, 17, 2**31, 2**63, -(2**63), 10**30, 10**400, 0.0, -0.5, 1.0,
    1e-320, 1e308, math.nan, math.inf, -math.inf, "", "P", "inf", "nan", "1", "residual", "paper",
    "published", "..", "../outside.safetensors", "/etc/passwd", "C:\\x", "\x00", "\ud800",
    "a" * 999, [], {}, [[]], [0], [0, 0, 1], [1.0], [True], {"P": 3}, {"P": 1e308, "D": 1e308},
    {"D": 2.5}, "PID", "PP", "DIP", "X", ["P"], "terminal", "pidlib-estimator",
    "pidlib-controller", "0" * 64,
]  # fmt: skip
values = st.sampled_from(ODD) | st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=4) | st.sampled_from("PID01"), inner, max_size=4)
    ),
    max_leaves=6,
)


def places_in(value, path=()):
    """Paths of all that a JSON value holds."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        yield (*path, key)
        if isinstance(inner, (dict, list)):
            yield from places_in(inner, (*path, key))


def held(value, path):
    for key in path:
        value = value[key]
    return value


def changed(draw, value):
    """A JSON value with some of it replaced, dropped, added or copied to another place."""
    value = copy.deepcopy(value)
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        paths = list(places_in(value))
        if not paths:
            break
        # Many fields are checksums, and a change at the top is soon found: most go deeper.
        deep = [path for path in paths if len(path) == 2]
        *path, key = draw(st.sampled_from(paths) | st.sampled_from(deep or paths))
        inner = held(value, path)
        what = draw(st.sampled_from(["replace", "replace", "number", "drop", "add", "copy"]))
        if what == "replace":
            inner[key] = copy.deepcopy(draw(values))
        elif what == "number":
            inner[key] = draw(st.integers(-3, 40) | st.floats(-1e3, 1e3, width=32))
        elif what == "drop":
            del inner[key]
        elif what == "copy":
            inner[key] = copy.deepcopy(held(value, draw(st.sampled_from(paths))))
        elif isinstance(inner, dict):
            name = draw(st.sampled_from(["x", "law", "0", "3", "00"]) | st.text(max_size=5))
            inner[name] = copy.deepcopy(draw(values))
        else:
            inner.append(copy.deepcopy(draw(values)))
    return value


NOT_JSON = [
    b"", b"\x00", b"null", b"[]", b"{}", b'"text"', b"1e999", b"NaN", b"\xff\xfe",
    b"\xef\xbb\xbf{}", b"[" * 100_000, b'{"a":' * 100_000, b"9" * 5000,
    b'{"format": "pidlib-x", "schema": 1}',
    b'{"format": "pidlib-controller", "format": "pidlib-estimator", "schema": 1}',
    b'{"format": "\\ud800", "schema": 1}', b"{'format': 1}", b"-" * 99, b'{"schema": 1e400}',
]  # fmt: skip


def spoilt(draw, whole):
    """Bytes cut off, overwritten, doubled, or of another file."""
    what = draw(st.sampled_from(["cut", "overwrite", "insert", "foreign", "random"]))
    start = draw(st.integers(0, len(whole)) | st.integers(len(whole) // 2, len(whole)))
    if what == "cut":
        return whole[:start]
    if what == "foreign":
        return draw(st.sampled_from(NOT_JSON))
    text = st.text(alphabet='0123456789{}[]",:-.e\\ P/', min_size=1, max_size=4).map(str.encode)
    few = draw(text | text | st.binary(min_size=1, max_size=12))
    if what == "random":
        return few
    return whole[:start] + few + whole[start + (len(few) if what == "overwrite" else 0) :]


kinds = st.sampled_from(["subspaces", "estimator"])


@cases(900)
@given(kinds, st.booleans(), st.data())
def test_cards_with_any_change(place, kind, raw, data):
    card = place.cards[kind]
    written(
        place,
        spoilt(data.draw, json.dumps(card, indent=1).encode()) if raw else changed(data.draw, card),
    )
    loaded(place, allow_expanding=data.draw(st.booleans()))


# What goes wrong in tensors. The card tells the sha256 of what is there: only what it holds can
# give it away.


def as_card(card, tensors, file="x.safetensors"):
    total = hashlib.sha256(tensors).hexdigest()
    return card | {"tensors": card["tensors"] | {"sha256": total, "file": file}}


BAD = [math.nan, math.inf, -math.inf, 3e38, -3e38, 1e300, -1.0, 1e-45, 0.0, 20.0, 1e4]
dtypes = st.sampled_from(
    [torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int64, torch.bool]
)


def other_tensor(draw, tensor):
    what = draw(
        st.sampled_from(["entry", "entry", "scale", "dtype", "shape", "cut", "noise", "turn"])
    )
    tensor = tensor.clone()
    if what == "entry":
        place = draw(st.integers(0, tensor.numel() - 1))
        number = draw(st.sampled_from(BAD) | st.floats(-50, 50, width=32))
        tensor.view(-1)[place] = torch.tensor(number, dtype=torch.float64).to(tensor.dtype)
    elif what == "scale":
        tensor = tensor * draw(st.sampled_from(BAD) | st.floats(-20, 20, width=32))
    elif what == "dtype":
        tensor = tensor.to(draw(dtypes))
    elif what == "shape":
        sizes = draw(st.lists(st.integers(0, 5), max_size=4))
        tensor = torch.ones(sizes, dtype=tensor.dtype)
    elif what == "cut":
        tensor = tensor[..., : draw(st.integers(0, 3))].contiguous()
    elif what == "noise":
        tensor = tensor + draw(st.sampled_from([1e-7, 1e-3, 1.0])) * torch.randn(
            tensor.shape, generator=torch.Generator().manual_seed(draw(st.integers(0, 99)))
        )
    else:
        tensor = tensor.flip(draw(st.integers(0, tensor.ndim - 1))).contiguous()
    return tensor


@cases(600)
@given(kinds, st.booleans(), st.data())
def test_tensors_of_other_bytes_shapes_types_and_numbers(place, kind, raw, data):
    tensors = load(place.tensors[kind])
    for _ in range(data.draw(st.integers(1, 2))):
        name = data.draw(st.sampled_from(sorted(tensors)))
        what = data.draw(st.sampled_from([*["other"] * 12, "drop", "add"]))
        if what == "other" and tensors[name].ndim and tensors[name].numel():
            tensors[name] = other_tensor(data.draw, tensors[name])
        elif what == "drop" and len(tensors) > 1:
            del tensors[name]
        else:
            tensors[data.draw(st.sampled_from(["x", "7.step", "P.values.more"]))] = torch.ones(2)
    made = spoilt(data.draw, place.tensors[kind]) if raw else save(tensors)
    written(place, as_card(place.cards[kind], made), made, "x.safetensors")
    loaded(place, allow_expanding=data.draw(st.booleans()))


parts = st.sampled_from(
    ["..", ".", "", "/", "\\", "inside", "outside.safetensors", "x.safetensors", "C:", "~", "\x00",
     "x", ".safetensors", "%2e%2e", "etc/passwd", "..." , " "]
)  # fmt: skip


@cases(200)
@given(st.lists(parts | st.text(max_size=3), max_size=5), st.sampled_from(["", "/", "\\"]))
def test_no_name_leads_out_of_the_folder(place, pieces, joint):
    name = joint.join(pieces)
    whole = place.tensors["subspaces"]
    written(place, as_card(place.cards["subspaces"], whole, file=name), whole, "x.safetensors")
    found = loaded(place)
    assert found is None or name == "x.safetensors"


@pytest.mark.parametrize("form", ["../{}", "{root}/{}", "../inside/../{}", "./../{}", "..\\{}"])
def test_a_whole_file_outside_is_not_taken(place, form):
    name = form.format("outside.safetensors", root=place.root)
    written(place, as_card(place.cards["subspaces"], place.tensors["subspaces"], file=name))
    with pytest.raises(ValueError, match="plain name"):
        PIDController.from_pretrained(place.folder)


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="no links here")
def test_a_link_out_of_the_folder_is_not_followed(place, tmp_path):
    whole = place.tensors["subspaces"]
    written(place, as_card(place.cards["subspaces"], whole))
    (place.folder / "x.safetensors").symlink_to(place.root / "outside.safetensors")
    with pytest.raises(ValueError, match="link to a file outside"):
        PIDController.from_pretrained(place.folder)
    (tmp_path / CARD).symlink_to(place.folder / CARD)
    with pytest.raises(ValueError, match="link to a file outside"):
        PIDController.from_pretrained(tmp_path)
    (tmp_path / CARD).unlink()
    (tmp_path / CARD).symlink_to(tmp_path / CARD)
    with pytest.raises(FileNotFoundError, match=r"no controller\.json"):
        PIDController.from_pretrained(tmp_path)
    (tmp_path / "whole").symlink_to(place.folder)  # the folder itself may be a link
    (place.folder / "x.safetensors").unlink()
    (place.folder / "x.safetensors").write_bytes(whole)
    assert PIDController.from_pretrained(tmp_path / "whole").scheme == "P-D"


# What expands.


@pytest.mark.parametrize("law", LAWS)
def test_gains_that_overshoot_are_refused_unless_asked_for(tmp_path, law):
    one = subspaces(law=law)
    large = {"gains": {"P": 1.5, "D": 1.5}, "c": 0.0}
    if law == "exact-gain":
        one.retune(**large)  # it removes at most the whole of a direction
        return
    with pytest.raises(ValueError, match="allow_expanding=True"):
        one.retune(**large)
    with pytest.raises(ValueError, match="multiplied by -2"):
        subspaces(law=law, **large)
    asked = one.retune(**large, allow_expanding=True)
    assert asked.retune(variance=0.9).allow_expanding
    asked.save_pretrained(tmp_path)
    with pytest.raises(ValueError, match="refused: the gains .* overshoot") as told:
        PIDController.from_pretrained(tmp_path)
    assert str(tmp_path) in str(told.value)
    again = PIDController.from_pretrained(tmp_path, allow_expanding=True)
    assert exceeds_norm(torch.eye(WIDTH) - list(again.feedback[0].values())[0].matrix(), 0.9)
    check_action(again, allow_expanding=True)
    with pytest.raises(ValueError, match="too large for single precision"):
        asked.retune(gains={"P": 1e308, "D": 1e308})
    one.retune(gains={"P": 1.0, "D": 1.0}, c=0.0)  # a state with its sign turned does not grow


@pytest.mark.parametrize("read", [load_controller, Estimator.from_pretrained])
def test_maps_that_expand_are_refused_unless_asked_for(tmp_path, read):
    estimator(15.9).save_pretrained(tmp_path)
    read(tmp_path)
    estimator(16.5).save_pretrained(tmp_path)
    with pytest.raises(ValueError, match=r"the map of state 0 expands by 16\.5") as told:
        read(tmp_path)
    assert str(tmp_path) in str(told.value)
    assert read(tmp_path, allow_expanding=True).controlled == (0, 1)


@pytest.mark.parametrize(
    ("kind", "name", "change", "message"),
    [
        ("subspaces", "P.vectors", lambda v: v * math.nan, "NaN or infinite"),
        ("subspaces", "D.vectors", lambda v: v * 1e38, "not orthonormal"),
        ("subspaces", "I.vectors", lambda v: v + 1e-3, "not orthonormal"),
        ("subspaces", "P.values", lambda v: -v, "negative or not falling"),
        ("subspaces", "P.values", lambda v: v.flip(1).contiguous(), "negative or not falling"),
        ("subspaces", "D.values", lambda v: v * math.inf, "NaN or infinite"),
        ("subspaces", "D.values", lambda v: v * 2e307, "sum is infinite"),
        ("subspaces", "P.values", lambda v: v * 0, "eigenvalues are zero"),
        ("subspaces", "P.values", lambda v: v.float(), "F32"),
        ("subspaces", "P.vectors", lambda v: v[..., :1].contiguous(), "were kept"),
        ("subspaces", "P.vectors", lambda v: v[..., :0].contiguous(), "k from 1 to d"),
        ("estimator", "0.step", lambda v: v * math.nan, "NaN or infinite"),
        ("estimator", "1.b", lambda v: v * math.inf, "NaN or infinite"),
        ("estimator", "1.b", lambda v: v[:3].contiguous(), "shapes differ"),
        ("estimator", "1.step", lambda v: v.half(), "F16"),
    ],
)
def test_what_cannot_be_used_is_named(place, kind, name, change, message):
    tensors = load(place.tensors[kind])
    tensors[name] = change(tensors[name])
    made = save(tensors)
    written(place, as_card(place.cards[kind], made), made, "x.safetensors")
    with pytest.raises(ValueError, match=message) as told:
        load_controller(place.folder, allow_expanding=True)
    assert str(place.folder) in str(told.value)


# Settings, given in Python and in a card.


@cases(300)
@given(st.booleans(), st.data())
def test_settings_of_any_value(place, allowed, data):
    card = place.cards["subspaces"]
    chosen = changed(data.draw, card["settings"])
    try:
        found = subspaces().retune(**chosen | {"allow_expanding": allowed})
        check_action(found, allow_expanding=allowed)
        assert found.summary()
    except (ValueError, TypeError) as error:
        assert len(str(error)) > 10


# The settings of a command, in TOML.

WHOLE_TOML = b"""model = "minilm-nli"
n = 200
split = 'test'
# of the control
c = 1e-3
variance = 0.95
layers = [0, 1]
"""
NAMES = sorted(
    {name for kind in KINDS_OF_SETTINGS for name in kind.__dataclass_fields__}
    | {"x", "model.n", '""'}
)
TOML = [
    "1", "-1", "0", "2.5", "-0.0", "nan", "inf", "-inf", "true", '""', '"captions"', "'../x'", "[]",
    "[0, 1]", "[0.5]", '["a"]', "[true]", "[[1]]", "{}", "{a = 1}", "1979-05-27", "07:32:00",
    "1e400", "9223372036854775808", "-99999999999999999999", "0xffffffffffffffffffff", '"\\u0000"',
    '"\\ud800"', "[", "{", "=", "", '"textfooler"', '"P"', '"wiener"', "\x00", "é",
]  # fmt: skip


@cases(300)
@given(
    st.sampled_from(KINDS_OF_SETTINGS),
    st.none() | st.dictionaries(st.sampled_from(NAMES), st.sampled_from(TOML), max_size=3),
    st.data(),
)
def test_configs_of_any_text(place, kind, lines, data):
    if lines is None:
        content = spoilt(data.draw, WHOLE_TOML)
    else:
        content = "".join(f"{name} = {value}\n" for name, value in lines.items()).encode()
    path = place.root / "a.toml"
    path.write_bytes(content)
    found = usable(lambda: kind.read(path, {}))
    path.unlink()
    if found is not None:
        assert isinstance(found, kind) and json.loads(json.dumps(asdict(found)))
        assert found.n is None or found.n >= 1


# Result files and outcomes.


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("NaN", "NaN is no number"),
        ("[-Infinity]", "-Infinity is no number"),
        ('{"a": 1e999}', "number 1e999 is too large"),
        ("-9223372036854775808", "too large for 64 bits"),
        ("[" + "9" * 5000 + "]", "too large for 64 bits"),
        ('{"a": 1, "a": 2}', "the key 'a' is given twice"),
        ('["\\ud800"]', "half a surrogate pair"),
        ("[" * 100_000, "nested too deeply"),
        ("[1, 2", "delimiter"),
        (b"\xff", "not UTF-8 text"),
    ],
)
def test_json_has_one_meaning(text, message):
    with pytest.raises(ValueError, match=message) as told:
        parse_json(text)
    assert len(str(told.value)) < 200
    assert parse_json('[9223372036854775807, 1e308, "\\ud83d\\ude00"]') == [2**63 - 1, 1e308, "😀"]


def test_a_file_too_large_to_be_one_is_not_read(tmp_path):
    (tmp_path / "one.json").write_text("[" + "0," * 100 + "0]")
    with pytest.raises(ValueError, match="larger than 100 bytes"):
        read_json(tmp_path / "one.json", 100)
    assert len(read_json(tmp_path / "one.json", 1000)) == 101


@cases(400)
@given(st.booleans(), st.data())
def test_result_files_with_any_change(place, raw, data):
    if raw:
        content = spoilt(data.draw, json.dumps(place.result, indent=1).encode())
    else:
        result = changed(data.draw, place.result)
        if isinstance(result.get("configuration"), dict) and data.draw(st.booleans()):
            text = json.dumps(result["configuration"], sort_keys=True, ensure_ascii=False)
            total = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
            result["configuration_sha256"] = total  # the checksum shows nothing then
        content = json.dumps(result).encode()
    path = place.root / "one.json"
    path.write_bytes(content)
    found = usable(lambda: read_result(path))
    path.unlink()
    if found is not None:
        assert len(is_stale(found, rows=[], model="minilm-nli")) >= 2
        assert parse_json(json.dumps(found, allow_nan=False)) == found


@cases(400)
@given(st.booleans(), st.data())
def test_outcome_files_with_any_change(place, raw, data):
    if raw:
        content = spoilt(data.draw, place.log)
    else:
        lines = [json.loads(line) for line in place.log.decode().split("\n")[:-1]]
        k = data.draw(st.integers(0, len(lines) - 1))
        lines[k] = changed(data.draw, lines[k])
        content = "".join(json.dumps(line) + "\n" for line in lines).encode()
    path = place.root / "log.jsonl"
    path.write_bytes(content)
    found = usable(lambda: read_outcomes(path))
    path.unlink()
    if found is not None:
        assert isinstance(found.header["configuration"], dict)
        assert content[: found.whole_bytes].count(b"\n") == 1 + len(found.outcomes)
        for one in found.outcomes:
            assert Outcome.from_json(one.as_json()) == one
            assert min(one.id, one.queries, one.forwards) >= 0


# No code comes with a file.

MODULES = sorted(Path(pidlib.__file__).parent.glob("**/*.py"))
READERS = re.compile(
    r"^\s*(?:import|from) (?:_?c?[pP]ickle|dill|cloudpickle|shelve|marshal|joblib|tarfile)\b"
    r"|^from (?:torch|numpy) import .*\bload\b|\b(?:torch|np|numpy)\.load\(|torch\.hub"
    r"|extractall|unpack_archive"
    r"|(?<![\w.])(?:eval|exec)\(|(?:trust_remote_code|allow_pickle)=(?!False)",
    re.M,
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_no_module_unpickles_unpacks_or_runs_code_of_a_file(path):
    text = path.read_text(encoding="utf-8")
    assert not READERS.findall(text)
    if path.stem != "embedded":  # its archive is known by sha256
        assert not re.search(r"^(?:import|from) zipfile", text, re.M)
