"""Controls that ship with pidlib, fitted on text that does not."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pidlib.adapters import LICENCES
from pidlib.environment import versions
from pidlib.estimator import Estimator
from pidlib.files import write_json
from pidlib.models import training_record

CONTROLS = Path(__file__).parent / "assets" / "controls"


def controls() -> list[str]:
    """Names of the controls that ship with pidlib.

    Returns
    -------
    list of str

    Source: ours.
    """
    return sorted(path.parent.name for path in CONTROLS.glob("*/fit.json"))


def fit_record(name: str = "minilm-nli-terminal") -> dict[str, Any]:
    """What a control was fitted on, for which adapter, by which command, and what was tried.

    Parameters
    ----------
    name : str
        One of `controls()`.

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        An unknown name.

    Source: ours.
    """
    path = CONTROLS / name / "fit.json"
    if not path.is_file():
        raise ValueError(f"unknown control {name!r}; known: {controls()}")
    return json.loads(path.read_text(encoding="utf-8"))


def ship_control(
    chosen: Path, name: str, model: str, data: str, command: str, target: Path = CONTROLS
) -> dict[str, Any]:
    """Put a chosen control beside the adapters, with its record.

    Parameters
    ----------
    chosen : Path
        Folder that a trial kept: the control, and `selection.json`.
    name, model, data, command : str
        Its name; the adapter and the text of the fit; what was typed to make it.
    target : Path
        Receives the folder; by default the one `load_control` reads.

    Returns
    -------
    dict
        The record.

    Raises
    ------
    FileNotFoundError, ValueError
        No control there; text without a known licence.

    Source: ours.
    """
    if data not in LICENCES:
        raise ValueError(f"the licence of {data!r} is not known; known: {list(LICENCES)}")
    estimator = Estimator.from_pretrained(chosen)
    choice = json.loads((Path(chosen) / "selection.json").read_text(encoding="utf-8"))
    record = {
        "model": model,
        "adapter_sha256": training_record(model)["adapter"]["sha256"],
        "summary": estimator.summary(),
        "data": {"name": data, "licence": LICENCES[data], "rows": estimator.origin.rows},
        "command": command,
        "tried": choice["tried"],
        "versions": versions(),
        "date": datetime.now(UTC).date().isoformat(),
    }
    estimator.save_pretrained(target / name)
    write_json(target / name / "fit.json", record)
    return record


def load_control(name: str, model: Any) -> Estimator:
    """Return a control that ships with pidlib, for the embedded model that it was fitted on.

    Parameters
    ----------
    name : str
        `"minilm-nli-terminal"`.
    model : transformers.PreTrainedModel
        What `load_model` gave for the adapter of the fit.

    Returns
    -------
    Estimator

    Raises
    ------
    ValueError
        An unknown name; an adapter that has been trained again since; a model of another
        shape.

    Notes
    -----
    A merged adapter may differ in the last digits from one processor to another. So the adapter's
    checksum is compared, and the blocks' own are taken from the model given.

    Examples
    --------
    >>> from pidlib import load_model
    >>> model, tokenizer = load_model("minilm-nli")
    >>> load_control("minilm-nli-terminal", model).controlled
    (0, 1, 2, 3, 4, 5)

    Source: ours.
    """
    record = fit_record(name)
    present = training_record(record["model"])["adapter"]["sha256"]
    if present != record["adapter_sha256"]:
        raise ValueError(
            f"{name!r} was fitted on another training of {record['model']!r} "
            f"({record['adapter_sha256'][:8]} there, {present[:8]} here); fit it again"
        )
    found = Estimator.from_pretrained(CONTROLS / name)
    try:
        return found.carried_to(model)
    except ValueError as error:
        raise ValueError(f"{error}; or give load_model({record['model']!r})") from error
