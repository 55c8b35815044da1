"""Data sets of natural-language inference, in one schema."""

from __future__ import annotations

import gzip
import hashlib
import json
import operator
import os
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pidlib.data.labels import LABELS
from pidlib.io.assets import ASSETS

if TYPE_CHECKING:
    from datasets import Dataset

VARIABLE = "PIDLIB_DATA_DIR"
COLUMNS = ("premise", "hypothesis", "label")
SPLITS = ("train", "validation", "test")


def load_nli(name: str, split: str | None = None, n: int | None = None) -> Dataset:
    """Load pairs of sentences with their labels.

    Raises FileNotFoundError for a missing file or variable (nothing is put in its place), and
    ValueError for an unknown split, a broken line, too few rows, or none.

    Parameters
    ----------
    name : str
        `"captions"`, which ship with pidlib; a name such as `"snli-test"`, a file `.jsonl` in the
        folder PIDLIB_DATA_DIR; a path ending in `.jsonl`; or a data set on the hub, such as
        `"stanfordnlp/snli"` (needs the network).
    split : str, optional
        `"train"` (20,000 captions, the default), `"validation"` (2,000) or `"test"` (5,000).
        A file has no splits; a hub data set needs one.
    n : int, optional; only the first n rows

    Returns
    -------
    datasets.Dataset
        With `premise`, `hypothesis` and `label` (0 entailment, 1 neutral, 2 contradiction).

    Examples
    --------
    >>> rows = load_nli("captions", split="test", n=3)
    >>> len(rows), sorted(rows.features)
    (3, ['hypothesis', 'label', 'premise'])

    Source: §3.1 (SNLI, MNLI, ANLI). Departure: captions, which need no download.
    """
    if isinstance(n, bool) or (n is not None and operator.index(n) < 1):
        raise ValueError(f"n is {n}; it must be at least 1")
    if name == "captions":
        if (split := split or "train") not in SPLITS:
            raise ValueError(f"unknown split {split!r}; use one of {', '.join(SPLITS)}")
        rows = _captions(ASSETS / f"captions-{split}.jsonl.gz")
        if n is not None and n > len(rows):
            raise ValueError(f"n is {n}; the {split} split has {len(rows)} rows, so give no more")
        return _dataset(rows[:n])
    if name.endswith(".jsonl"):
        path = Path(name)
    elif "/" in name:
        return _from_hub(name, split, n)
    else:
        path = data_folder(name) / f"{name}.jsonl"
    if split is not None:
        raise ValueError(f"the file {path.name} has no splits; leave split={split!r} out")
    return _dataset(read_jsonl(path, n))


def data_folder(wanted: str = "the data") -> Path:
    """Return the folder that PIDLIB_DATA_DIR names; FileNotFoundError where there is none.

    Parameters
    ----------
    wanted : str, what the error message calls the data

    Returns
    -------
    Path
    """
    value = os.environ.get(VARIABLE)
    if not value:
        raise FileNotFoundError(
            f"{wanted!r} is read from the folder that {VARIABLE} names, which is not set; set it, "
            "or use load_nli('captions'), or a data set on the hub such as 'stanfordnlp/snli'"
        )
    if not Path(value).is_dir():
        raise FileNotFoundError(f"{VARIABLE}={value} is not a folder")
    return Path(value)


def read_jsonl(path: Path, n: int | None = None) -> list[dict]:
    """Rows of a JSON-lines file, each checked; ValueError names the line that is broken.

    Parameters
    ----------
    path : Path, compressed where the name ends in `.gz`
    n : int, optional; only the first n rows

    Returns
    -------
    list of dict with `premise`, `hypothesis` and `label`
    """
    if not path.is_file():
        beside = sorted(p.stem for p in path.parent.glob("*.jsonl"))
        raise FileNotFoundError(f"no file {path.name} in that folder; found: {beside or 'none'}")
    rows = []
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if n is not None and len(rows) >= n:
                break
            if not line.strip():
                continue
            try:
                content = json.loads(line)
                row = {key: content[key] for key in COLUMNS}
            except (json.JSONDecodeError, KeyError, TypeError) as error:
                problem = f"{error!r}; each line is a JSON object with the keys {COLUMNS}"
                raise ValueError(f"{path.name}, line {number}: {problem}") from None
            if row["label"] not in (0, 1, 2):
                problem = f"label {row['label']!r} is not 0, 1 or 2 ({', '.join(LABELS)})"
                raise ValueError(f"{path.name}, line {number}: {problem}")
            rows.append(row)
    return rows


def fingerprint(rows) -> str:
    """Sha256 of the rows' text and labels, whatever they were read from.

    Parameters
    ----------
    rows : iterable of mapping with `premise`, `hypothesis` and `label`

    Returns
    -------
    str of 64 hexadecimal digits

    Examples
    --------
    >>> fingerprint([{"premise": "a", "hypothesis": "b", "label": 0}])[:8]
    'e11d6685'
    """
    digest = hashlib.sha256()
    for row in rows:
        fields = [row["premise"], row["hypothesis"], int(row["label"])]
        digest.update(json.dumps(fields, ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()


_captions = cache(read_jsonl)


def _dataset(rows: list[dict]) -> Dataset:
    if not rows:
        raise ValueError("the data set has no rows")
    from datasets import ClassLabel, Dataset, Features, Value  # slow to import

    kinds = [Value("string"), Value("string"), ClassLabel(names=list(LABELS))]
    return Dataset.from_list(rows, features=Features(zip(COLUMNS, kinds, strict=True)))


def _from_hub(name: str, split: str | None, n: int | None) -> Dataset:
    """Load from the hub, drop unlabelled rows (SNLI marks them -1), keep our order of labels."""
    from datasets import load_dataset

    if split is None:
        raise ValueError(f"{name!r} is a data set on the hub: name its split, for example 'test'")
    source = load_dataset(name, split=split)
    missing = set(COLUMNS) - set(source.column_names)
    if missing:
        raise ValueError(f"{name!r} has the columns {source.column_names}; missing: {missing}")
    names = getattr(source.features["label"], "names", list(LABELS))
    order = {k: LABELS.index(text) for k, text in enumerate(names) if text in LABELS}
    if len(order) != len(LABELS):
        raise ValueError(f"{name!r} names its labels {names}; they must be {list(LABELS)}")
    labelled = islice((row for row in source if row["label"] in order), n)
    pairs = [(row["premise"], row["hypothesis"], order[row["label"]]) for row in labelled]
    return _dataset([dict(zip(COLUMNS, pair, strict=True)) for pair in pairs])
