"""Whether what a file holds can be used: strict JSON, fields of the right kind, sound numbers.

A file may come from anybody. What is read here is refused with a ValueError that says why,
before anything is computed with it.

Two bounds on what a control does to a state x. On subspaces it makes (I - K) x of it, K
symmetric; what it pulls off the subspaces must not grow, so no eigenvalue of K may exceed 2.
An estimate A x + b is a least-squares map, and honest ones expand: the largest singular value
of A was 1.24 in the control that ships (6,000 pairs), 1.85 in estimates from 1,200 pairs, 4.8
from 100 pairs and 8.3 from 100 with five edits each. Up to 16, about twice that, is taken.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from reprlib import Repr
from typing import Any

import torch
from torch import Tensor

from pidlib.fingerprints import DTYPES
from pidlib.laws import TERMS, TOLERANCE

EXPANSION = 16.0
"""Largest singular value that the map of an estimate may have."""

OVERSHOOT = 2.0
"""Largest eigenvalue of K: at 2 what lies off the subspaces comes back with its sign turned."""

ORTHONORMAL = 1e-4  # Frobenius norm of V^T V - I; single precision leaves about 1e-7 sqrt(k)
_DIGITS = 19  # of the whole numbers that 64 bits hold

_short = Repr()
_short.maxstring = _short.maxother = _short.maxlong = 60

Kind = tuple[str, Callable[[Any], bool]]


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 64 and set(value) <= set("0123456789abcdef")


def is_number(value: Any) -> bool:
    """Whether a value is a number, and no NaN, that a float can hold; infinity is one.

    Examples
    --------
    >>> is_number(1), is_number(10**400), is_number("1")
    (True, False, False)

    Source: ours.
    """
    if isinstance(value, (str, bytes, bytearray)):  # float() would read them
        return False
    try:
        return not math.isnan(float(value))
    except (TypeError, ValueError, ArithmeticError, RuntimeError):
        return False


def _whole(value: Any) -> bool:
    return type(value) is int  # true and false are no numbers of JSON


def _plain(value: Any) -> bool:
    return type(value) in (int, float)


TEXT: Kind = ("a text", lambda v: isinstance(v, str))
WHOLE: Kind = ("a whole number", _whole)
COUNT: Kind = ("a whole number of at least 0", lambda v: _whole(v) and v >= 0)
SIZE: Kind = ("a whole number of at least 1", lambda v: _whole(v) and v >= 1)
NUMBER: Kind = ("a number", _plain)
OBJECT: Kind = ("an object", lambda v: isinstance(v, dict))
HASH: Kind = ("a sha256 of 64 hexadecimal digits", _is_hash)

_ORIGIN: dict[str, Kind] = {
    "model_type": TEXT,
    "architecture": TEXT,
    "depth": SIZE,
    "width": SIZE,
    "block_list": ("a text or null", lambda v: v is None or isinstance(v, str)),
    "blocks": ("a list of objects", lambda v: isinstance(v, list)),
    "rows": COUNT,
    "correct": COUNT,
    "tokens": COUNT,
    "truncated": COUNT,
}
_SETTINGS: dict[str, Kind] = {
    "scheme": TEXT,
    "variance": NUMBER,
    "c": ("a number or 'inf'", lambda v: _plain(v) or v == "inf"),
    "law": TEXT,
    "gains": (
        "a name or a number for each term",
        lambda v: isinstance(v, str) or (isinstance(v, dict) and all(map(_plain, v.values()))),
    ),
    "layers": (
        "null, 'published' or a list of whole numbers",
        lambda v: v in (None, "published") or (isinstance(v, list) and all(map(_whole, v))),
    ),
}


def told(value: Any) -> str:
    """Return a value as an error message shows it: cut where it is long.

    Examples
    --------
    >>> len(told("a" * 1000))
    60

    Source: ours.
    """
    return _short.repr(value)


def parse_json(text: str | bytes) -> Any:
    """Read JSON that has one meaning.

    Parameters
    ----------
    text : str or bytes
        Bytes are UTF-8.

    Returns
    -------
    object

    Raises
    ------
    ValueError
        Not JSON, or JSON with NaN, an infinite number, a whole number of more than 64 bits, a
        key given twice, half a character pair, or so deep that it cannot be read.

    Examples
    --------
    >>> parse_json('{"a": [1, 2.5]}')
    {'a': [1, 2.5]}
    >>> parse_json('{"a": NaN}')
    Traceback (most recent call last):
    ...
    ValueError: NaN is no number of JSON

    Source: ours; RFC 8259.
    """
    try:
        text = text.decode("utf-8") if isinstance(text, bytes) else text
        value = _DECODER.decode(text)
        if "\\u" in text:  # an escape may be half a pair, which no file can hold again
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError:
        raise ValueError("a text in it holds half a surrogate pair") from None
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text ({error.reason} at byte {error.start})") from None
    return value


def _constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _integer(digits: str) -> int:
    value = int(digits) if len(digits) <= _DIGITS + 1 else 2**63
    if abs(value) >= 2**63:
        raise ValueError(f"the whole number {digits[:20]}... is too large for 64 bits")
    return value


def _real(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError(f"the number {digits[:20]} is too large")
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key {told(twice)} is given twice")
    return made


_DECODER = json.JSONDecoder(
    parse_constant=_constant, parse_int=_integer, parse_float=_real, object_pairs_hook=_object
)


def read_json(path: Path, most: int) -> Any:
    """Read a JSON file; see `parse_json`.

    Parameters
    ----------
    path : Path
    most : int
        Largest size in bytes.

    Raises
    ------
    ValueError
        As `parse_json`; a larger file.

    Source: ours.
    """
    with Path(path).open("rb") as file:
        content = file.read(most + 1)
    if len(content) > most:
        raise ValueError(f"it is larger than {most} bytes")
    return parse_json(content)


def check_fields(record: Any, kinds: Mapping[str, Kind], name: str, others: bool = False) -> None:
    """Refuse a record that lacks a field, has an unknown one or one of another kind.

    Parameters
    ----------
    record : object
        From JSON.
    kinds : mapping of str to Kind
        For each field what it is, in words, and whether a value is that.
    name : str
        Of the record, for errors.
    others : bool
        Whether there may be more fields.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> check_fields({"n": 1.5}, {"n": COUNT}, "data")
    Traceback (most recent call last):
    ...
    ValueError: data: n is 1.5; it has to be a whole number of at least 0

    Source: ours.
    """
    if not isinstance(record, dict):
        raise ValueError(f"{name} is {told(record)}; it has to be an object")
    missing = [key for key in kinds if key not in record]
    if missing:
        raise ValueError(f"{name} lacks {missing}")
    unknown = [] if others else [key for key in record if key not in kinds]
    if unknown:
        raise ValueError(f"{name} has the unknown field {told(unknown[0])}; known: {list(kinds)}")
    for key, (words, fits) in kinds.items():
        if not fits(record[key]):
            raise ValueError(f"{name}: {key} is {told(record[key])}; it has to be {words}")


def check_origin(record: Any) -> None:
    """Refuse what is no record of a model and of the text of a fit.

    Parameters
    ----------
    record : object
        What JSON gives for `pidlib.eigenbases.Origin`.

    Raises
    ------
    ValueError

    Source: ours.
    """
    check_fields(record, _ORIGIN, "origin")
    blocks, depth = record["blocks"], record["depth"]
    for t, sums in enumerate(blocks):
        check_fields(sums, dict.fromkeys(DTYPES, HASH), f"origin: block {t}")
    if len(blocks) != depth:
        raise ValueError(
            f"the controller is incomplete: checksums of {len(blocks)} blocks, depth {depth}; "
            "fit and save it again"
        )


def check_settings(record: Any) -> None:
    """Refuse what are no settings of a control on subspaces.

    Ranges are checked by `pidlib.controller.PIDController` itself.

    Raises
    ------
    ValueError

    Source: ours.
    """
    check_fields(record, _SETTINGS, "settings")


def check_terms(terms: Any) -> None:
    """Refuse what are no terms of learnt bases: P, I and D, each at most once, P always.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> check_terms("PID")
    >>> check_terms("ID")
    Traceback (most recent call last):
    ...
    ValueError: the terms are 'ID'; they have to be P, alone or with I and D, each once

    Source: ours.
    """
    known = isinstance(terms, str) and len(set(terms)) == len(terms) and set(terms) <= set(TERMS)
    if not known or "P" not in terms:
        raise ValueError(
            f"the terms are {told(terms)}; they have to be P, alone or with I and D, each once"
        )


def check_bases(values: Mapping[str, Tensor], vectors: Mapping[str, Tensor]) -> None:
    """Refuse eigenvalues and eigenvectors that no second moment has.

    That the columns are orthonormal makes I - V V^T a projection, so that K is symmetric.

    Parameters
    ----------
    values : mapping of term to (T + 1, d) tensor
    vectors : mapping of term to (T + 1, d, k) tensor

    Raises
    ------
    ValueError
        Shapes that do not fit, entries that are not finite, eigenvalues that are negative or
        not falling or of an infinite sum, or columns that are not orthonormal.

    Examples
    --------
    >>> check_bases({"P": torch.tensor([[2.0, 1.0]])}, {"P": torch.eye(2)[None]})
    >>> check_bases({"P": torch.tensor([[2.0, 1.0]])}, {"P": 2 * torch.eye(2)[None]})
    Traceback (most recent call last):
    ...
    ValueError: the basis of term P at state 0 is not orthonormal (V^T V is 4.24 from I)

    Source: ours; Algorithm 1.
    """
    for term, sizes in values.items():
        frames = vectors[term]
        fit = sizes.ndim == 2 and frames.ndim == 3 and frames.shape[:2] == sizes.shape
        if not fit or not 1 <= frames.shape[2] <= frames.shape[1]:
            seen = tuple(sizes.shape), tuple(frames.shape)
            raise ValueError(
                f"term {term} has the shapes {seen}; they have to be (T + 1, d) and (T + 1, d, k), "
                "k from 1 to d"
            )
        for t, (one, frame) in enumerate(zip(sizes.double(), frames, strict=True)):
            place = f"of term {term} at state {t}"
            if not (one.isfinite().all() and one.sum().isfinite() and frame.isfinite().all()):
                raise ValueError(
                    f"the basis {place} has NaN or infinite entries, or eigenvalues whose sum is "
                    "infinite"
                )
            if bool((one < 0).any()) or bool((one.diff() > 0).any()):
                raise ValueError(f"the eigenvalues {place} are negative or not falling")
            eye = torch.eye(frame.shape[1], dtype=frame.dtype)
            away = float(torch.linalg.matrix_norm(frame.T @ frame - eye))
            if not away <= ORTHONORMAL:  # products of huge entries are infinite or NaN
                raise ValueError(
                    f"the basis {place} is not orthonormal (V^T V is {away:.3g} from I)"
                )


def check_reach(ranks: Mapping[tuple[str, int], int], kept: Mapping[str, int]) -> None:
    """Refuse a control that needs more directions than were kept.

    Parameters
    ----------
    ranks : mapping of (term, state) to int
    kept : mapping of term to int

    Raises
    ------
    ValueError

    Source: ours.
    """
    for (term, t), rank in ranks.items():
        if rank > kept[term]:
            raise ValueError(
                f"it needs {rank} directions of {term} at state {t} and {kept[term]} were kept; "
                "fit again with a larger keep, or save it with a smaller variance"
            )


def check_overshoot(gains: Mapping[str, float], share: float, allow_expanding: bool) -> None:
    """Refuse gains under which a state may grow.

    Under the laws "averaged" and "residual" an arriving state is multiplied, in a direction off
    all subspaces, by 1 - share * sum of gains.

    Parameters
    ----------
    gains : mapping of term to float
        At least 0 each.
    share : float
        Largest 1 - alpha_t of the controlled states.
    allow_expanding : bool
        Whether only what single precision cannot hold is refused.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> check_overshoot({"P": 0.5, "D": 0.5}, 1.0, False)
    >>> check_overshoot({"P": 2.0, "D": 1.0}, 1.0, False)
    Traceback (most recent call last):
    ...
    ValueError: the gains {'P': 2.0, 'D': 1.0} overshoot: what lies off the subspaces is \
multiplied by -2, so states may grow; give gains of sum at most 2, or pass allow_expanding=True

    Source: ours.
    """
    total = sum(gains.values())
    if total > torch.finfo(torch.float32).max:
        raise ValueError(f"the gains {gains} are too large for single precision")
    if share * total > OVERSHOOT * (1 + TOLERANCE) and not allow_expanding:
        raise ValueError(
            f"the gains {gains} overshoot: what lies off the subspaces is multiplied by "
            f"{1 - share * total:.3g}, so states may grow; give gains of sum at most "
            f"{OVERSHOOT:g}, or pass allow_expanding=True"
        )


def check_map(A: Tensor, b: Tensor, t: int, allow_expanding: bool) -> None:
    """Refuse a map x -> A x + b that is not finite or that expands beyond `EXPANSION`.

    Parameters
    ----------
    A : (d, d) tensor
    b : (d,) tensor
    t : int
        Its state, for errors.
    allow_expanding : bool
        Whether a map may expand without bound.

    Raises
    ------
    ValueError

    Examples
    --------
    >>> check_map(torch.eye(2), torch.zeros(2), 0, False)
    >>> check_map(20 * torch.eye(2), torch.zeros(2), 0, False)
    Traceback (most recent call last):
    ...
    ValueError: the map of state 0 expands by 20 (largest singular value; fitted ones stay below \
16); pass allow_expanding=True if that is wanted

    Source: ours.
    """
    if not (A.isfinite().all() and b.isfinite().all()):
        raise ValueError(f"the map of state {t} has NaN or infinite entries")
    if not allow_expanding and is_beyond(A, EXPANSION):
        norm = float(torch.linalg.matrix_norm(A.double(), 2))
        raise ValueError(
            f"the map of state {t} expands by {norm:.3g} (largest singular value; fitted ones "
            f"stay below {EXPANSION:g}); pass allow_expanding=True if that is wanted"
        )


def is_beyond(A: Tensor, most: float) -> bool:
    """Whether the largest singular value of a matrix exceeds a bound by more than rounding.

    Parameters
    ----------
    A : (d, d) tensor
        Finite.
    most : float

    Returns
    -------
    bool

    Notes
    -----
    It does not exceed s where s^2 I - A^T A has a Cholesky factor, which takes about a third
    of the time of singular values.

    Examples
    --------
    >>> is_beyond(2 * torch.eye(3), 2.0), is_beyond(2.1 * torch.eye(3), 2.0)
    (False, True)

    Source: ours.
    """
    scaled = A.double() / (most * (1 + TOLERANCE))
    eye = torch.eye(len(scaled), dtype=torch.float64)
    return bool(torch.linalg.cholesky_ex(eye - scaled.T @ scaled).info)
