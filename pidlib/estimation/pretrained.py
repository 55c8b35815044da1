"""Controls that ship with pidlib, fitted on text that does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pidlib.controller import Controller
from pidlib.estimation.estimator import Estimator
from pidlib.io.hub import folder_of
from pidlib.io.pretrained import read_card
from pidlib.models import training_record
from pidlib.pid import PIDController

METHODS = {method.FORMAT: method for method in (PIDController, Estimator)}
CONTROLS = Path(__file__).parents[1] / "assets" / "controls"


def controls() -> list[str]:
    """Names of the controls that ship with pidlib.

    Returns
    -------
    list of str
    """
    return sorted(path.parent.name for path in CONTROLS.glob("*/fit.json"))


def fit_record(name: str = "minilm-nli-terminal") -> dict[str, Any]:
    """What a control was fitted on, for which adapter, by which command, and what was tried."""
    path = CONTROLS / name / "fit.json"
    if not path.is_file():
        raise ValueError(f"unknown control {name!r}; known: {controls()}")
    return json.loads(path.read_text(encoding="utf-8"))


def load_control(name: str, model: Any) -> Estimator:
    """Return a control that ships with pidlib, for the embedded model that it was fitted on.

    A merged adapter may differ in the last digits from one processor to another, so the adapter's
    checksum is compared. Raises ValueError for an unknown name or another model than of the fit.

    Parameters
    ----------
    name : str in `controls()`
    model : transformers.PreTrainedModel that `load_model` gave for the adapter of the fit

    Returns
    -------
    Estimator

    Examples
    --------
    >>> from pidlib import load_model
    >>> load_control("minilm-nli-terminal", load_model("minilm-nli")[0]).controlled
    (0, 1, 2, 3, 4, 5)
    """
    record = fit_record(name)
    present = training_record(record["model"])["adapter"]["sha256"]
    if present != record["adapter_sha256"]:
        raise ValueError(
            f"{name!r} was fitted on another training of {record['model']!r} "
            f"({record['adapter_sha256'][:8]} there, {present[:8]} here); fit it again"
        )
    try:
        return Estimator.from_pretrained(CONTROLS / name).carried_to(model)
    except ValueError as error:
        raise ValueError(f"{error}; or give load_model({record['model']!r})") from error


def load_controller(
    folder: str | Path, allow_expanding: bool = False, revision: str | None = None
) -> Controller:
    """Read a controller of either method from a folder, or from HuggingFace's hub.

    The folder may come from anybody: it holds JSON and plain numbers, no code runs, and nothing
    outside it is read. What is foreign, truncated or changed is refused.

    Parameters
    ----------
    folder : path, or `owner/name` on the hub where there is no folder of that name
    allow_expanding : bool, take a controller under which states may grow
    revision : str, optional; branch, tag or commit on the hub

    Returns
    -------
    PIDController or Estimator

    Examples
    --------
    >>> load_controller(CONTROLS / "minilm-nli-terminal").controlled
    (0, 1, 2, 3, 4, 5)
    """
    place = folder_of(folder, revision)
    card = read_card(place)
    if card["format"] not in METHODS:
        raise ValueError(f"{str(folder)!r} holds a {card['format']}; known: {list(METHODS)}")
    return METHODS[card["format"]].from_card(place, card, allow_expanding)
