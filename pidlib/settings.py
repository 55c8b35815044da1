"""Settings of a control on subspaces: their names, types, ranges, defaults and errors.

They stand here once, for `PIDController`, for the card of a saved one and for the command line.
Nothing here needs torch.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from numbers import Integral
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    SkipValidation,
    model_validator,
)
from pydantic.dataclasses import dataclass

from pidlib.io.records import explained
from pidlib.io.strict_json import is_number, shorten

TERMS = "PID"
LAWS = ("averaged", "exact-gain", "residual")
STRICT = ConfigDict(extra="forbid", strict=True)

LARGEST = 2**63 - 1  # no file holds a larger whole number
Place = Annotated[int, Field(ge=0, le=LARGEST)]


def parse_scheme(scheme: str) -> str:
    """Canonical name, such as "P-D", of a control scheme given as "PD", "p-d" or "DP" (Table 3)."""
    letters = str(scheme).upper().replace("-", "")
    if not letters or set(letters) - set(TERMS) or len(set(letters)) != len(letters):
        raise ValueError(
            f"unknown scheme {shorten(scheme)}; give P, I, D or a sum of them: "
            "'P', 'I', 'D', 'P-I', 'P-D', 'I-D', 'P-I-D'"
        )
    return "-".join(letter for letter in TERMS if letter in letters)


def parse_law(law: str) -> str:
    """Refuse a law that there is none of."""
    if law not in LAWS:
        raise ValueError(
            f"unknown law {shorten(law)}; choose one of {LAWS} (maps learnt from random changes "
            "of text: pidlib.Estimator.fit)"
        )
    return law


def parse_gains(scheme: str, gains: str | Mapping[str, float]) -> dict[str, float]:
    """Gain of each term: "normalised" to sum 1, "paper" (0.5, section 3.4), or a mapping, 0 left out."""
    terms = parse_scheme(scheme).split("-")
    if isinstance(gains, Mapping):
        strange = [term for term in gains if term not in terms]
        if strange:
            raise ValueError(f"gains for {shorten(strange)}, which the scheme {scheme} has not")
        wrong = {i: g for i, g in gains.items() if not is_number(g) or not 0 <= g < math.inf}
        if wrong:
            raise ValueError(f"gains {shorten(wrong)} are not finite numbers of at least 0")
        return {term: float(gains.get(term, 0.0)) for term in terms}
    if gains == "normalised":
        return dict.fromkeys(terms, 1.0 / len(terms))
    if gains == "paper":
        return dict.fromkeys(terms, 0.5)
    raise ValueError(
        f"unknown gains {shorten(gains)}; give 'normalised', 'paper' or a number for each term, "
        f"such as { {term: 0.5 for term in terms} }"
    )


def parse_layers(
    layers: str | Iterable[int] | None,
) -> Literal["published"] | tuple[int, ...] | None:
    """None, "published", or the states of a list: each once, rising."""
    if layers is None or (isinstance(layers, str) and layers == "published"):
        return layers
    listed = isinstance(layers, Iterable) and not isinstance(layers, str | bytes | Mapping)
    chosen = list(layers) if listed else [layers]
    wrong = [t for t in chosen if isinstance(t, bool) or not isinstance(t, Integral)]
    if wrong or not listed:
        raise ValueError(
            f"unknown layer {shorten((wrong or chosen)[0])}; give None for all, 'published', or a "
            "list of states, such as [0, 1]"
        )
    return tuple(sorted({int(t) for t in chosen}))


def _cost(c: Any) -> Any:
    """A card writes infinity, which JSON has not, as "inf"."""
    return math.inf if isinstance(c, str) and c == "inf" else c


@dataclass(frozen=True, eq=False, kw_only=True, config=STRICT)  # a controller is more than these
class ControlSettings:
    """Settings of a control on subspaces, each checked as far as it can be without a model.

    Attributes
    ----------
    scheme : str, the terms used, for example "P-D"
    variance : float, share that each subspace holds, above 0 and at most 1
    c : float, control cost, from 0 (full correction) to infinity (none)
    law : {"averaged", "exact-gain", "residual"}, see `pidlib.laws`
    gains : "normalised" (sum 1), "paper" (0.5 each) or mapping of term to float
    layers : None, "published" or tuple of int
        Controlled states: all, those of the published code, or these.
    skip_first : int
        Positions at the beginning of each text that are left out of fit and control: at the first one
        the states of language models are a hundred times as long as elsewhere, and would be most of what
        a subspace holds. Real tokens are counted in `attention_mask`, so padding on either side, a cache
        and a prompt in parts change nothing; where no mask is given, by `cache_position`, or the length
        of the cache.

    Source: Propositions 1 and 2, Algorithm 1. Departure: the paper names neither c nor layers; by
    default c = 0.001, the published code's value, and all T states.
    """

    scheme: Annotated[
        str, PlainValidator(parse_scheme), Field(description="Terms used: P, PI, PD or PID.")
    ] = "P-D"
    variance: Annotated[
        float, Field(gt=0, le=1, description="Share that each subspace holds, such as 0.99.")
    ] = 0.99
    c: Annotated[
        float,
        BeforeValidator(_cost),
        Field(ge=0, description="Control cost, from 0 (full correction) to inf (none)."),
        AfterValidator(abs),  # no -0.0
    ] = 1e-3
    law: Annotated[str, PlainValidator(parse_law)] = "averaged"
    gains: SkipValidation[str | Mapping[str, float]] = "normalised"  # checked with the scheme
    layers: Annotated[
        Literal["published"] | tuple[int, ...] | None, PlainValidator(parse_layers)
    ] = None
    skip_first: Annotated[
        Place, Field(description="Number of first positions of each text left out, such as 1.")
    ] = 0

    @model_validator(mode="after")
    def _check_gains(self) -> Self:
        parse_gains(self.scheme, self.gains)
        return self

    @classmethod
    def of(cls, **settings: Any) -> Self:
        """Make them of what a user gives; an error tells of one value, and what is right."""
        with explained(cls.__pydantic_fields__):
            return cls(**settings)
