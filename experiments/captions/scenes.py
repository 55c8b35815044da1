"""Scenes and the exact rules of inference between them."""

from __future__ import annotations

import json
from typing import Any

from pidlib.io.assets import ASSETS

ENTAILMENT, NEUTRAL, CONTRADICTION = range(3)
Scene = dict[str, Any]  # slot to value; an absent slot is unknown
OPTIONAL = ("trait", "garment", "place", "company", "sky", "manner", "quality")

_CONTENT = json.loads((ASSETS / "lexicon.json").read_text(encoding="utf-8"))
CONCEPTS: dict[str, dict[str, Any]] = _CONTENT["concepts"]
_EXCLUSIVE = {frozenset(pair) for pair in _CONTENT["exclusive_verbs"]}  # by hand
_JOBS = [name for name, entry in CONCEPTS.items() if entry.get("job")]
_COMPATIBLE = {frozenset((job, sex)) for job in _JOBS for sex in ("man", "woman")}
_UNDECIDED = {frozenset(pair) for pair in _CONTENT["overlapping"]}  # a farm and its field
_UNDECIDED |= {
    frozenset((job, age)) for job in _JOBS for age in ("adult", "child", "boy", "girl", "baby")
}
_PAIRS = (("man", "boy"), ("woman", "girl"), ("baby", "boy"), ("baby", "girl"))
_UNDECIDED |= {frozenset(pair) for pair in _PAIRS}
_SIDES = {
    name: frozenset(CONCEPTS[place]["parents"][0] for place in entry["places"])
    for name, entry in CONCEPTS.items()
    if entry["kind"] == "verb"
}


def _climb(name: str) -> tuple[str, ...]:
    above = [name]
    for ancestor in above:
        above.extend(p for p in CONCEPTS[ancestor].get("parents", []) if p not in above)
    return tuple(above)


ANCESTORS = {name: _climb(name) for name in CONCEPTS}  # the concept first, then the nearest
DESCENDANTS = {n: [below for below, above in ANCESTORS.items() if n in above] for n in CONCEPTS}


def kind_relation(known: str, asked: str) -> int | None:
    """Relation of two nouns, places or companions."""
    if asked in ANCESTORS[known]:
        return ENTAILMENT
    pair = frozenset((known, asked))
    if known in ANCESTORS[asked] or pair in _COMPATIBLE:
        return NEUTRAL
    return None if pair in _UNDECIDED else CONTRADICTION


def _number(known: int, asked: int, same_kind: bool) -> int | None:
    """Relation of two numbers; 0 stands for "some"."""
    if known == asked or (asked == 0 and known != 1):
        return ENTAILMENT
    if known == 0 and asked != 1:
        return NEUTRAL
    # "a girl" does not say that there is no second one; two girls may be among three children
    return CONTRADICTION if same_kind and 1 not in (known, asked) else None


def _quality(known: str | None, asked: str | None, same_kind: bool = True) -> int | None:
    """Relation of two adjectives of one noun, or of two adverbs of one verb."""
    if asked is None:
        return ENTAILMENT
    if known is None or CONCEPTS[known]["dim"] != CONCEPTS[asked]["dim"]:
        return NEUTRAL
    if not same_kind and CONCEPTS[asked].get("relative"):
        return None  # a big puppy need not be a big dog
    return ENTAILMENT if known == asked else CONTRADICTION


def _garment(known: tuple, asked: tuple) -> int | None:
    """Relation of two (item, colour) pairs; a hat says nothing of a coat."""
    return NEUTRAL if known[0] != asked[0] else _quality(known[1], asked[1])


def _action(known: str, asked: str) -> int | None:
    if asked in ANCESTORS[known]:
        return ENTAILMENT
    if known in ANCESTORS[asked]:
        return NEUTRAL
    return CONTRADICTION if frozenset((known, asked)) in _EXCLUSIVE else None


def _object(premise: Scene, asked: Scene) -> int | None:
    """Relation of the things acted upon; they are compared under the same action only."""
    if "object" not in asked or premise.get("action") != asked["action"]:
        return ENTAILMENT
    if "object" not in premise:
        return NEUTRAL
    relations = [kind_relation(premise["object"], asked["object"])]
    if relations[0] in (ENTAILMENT, NEUTRAL):
        same = premise["object"] == asked["object"]
        numbers = premise.get("count_object", 1), asked.get("count_object", 1)
        qualities = premise.get("quality"), asked.get("quality")
        relations += [_number(*numbers, same), _quality(*qualities, same)]
    return _worst(relations)


def _worst(relations: list[int | None]) -> int | None:
    return None if None in relations else max(relations)


def _company(known: str, asked: str) -> int | None:
    if "alone" in (known, asked):
        return ENTAILMENT if known == asked else CONTRADICTION
    relation = kind_relation(known, asked)
    if relation == CONTRADICTION and "stranger" not in (known, asked):
        return None  # she may be with a friend and with a cousin
    return relation


_RULES = {
    "action": _action, "garment": _garment, "place": kind_relation, "company": _company,
    "sky": _quality, "manner": _quality,
}  # fmt: skip


def infer(premise: Scene, hypothesis: Scene) -> int | None:
    """Label of a pair of scenes.

    Contradiction when one slot excludes; entailment when the premise settles every
    slot of the hypothesis; neutral otherwise. Both scenes are taken to show the same
    people, as in SNLI.
    """
    same = premise["subject"] == hypothesis["subject"]
    relations = [
        kind_relation(premise["subject"], hypothesis["subject"]),
        _number(premise["number"], hypothesis["number"], same),
        _object(premise, hypothesis),
        _quality(premise.get("trait"), hypothesis.get("trait"), same),
    ]
    asked = [slot for slot in _RULES if slot in hypothesis]
    relations += [
        _RULES[slot](premise[slot], hypothesis[slot]) if slot in premise else NEUTRAL
        for slot in asked
    ]
    if hypothesis.get("place") in ("outdoors", "indoors") and "place" not in premise:
        # a driver or a sunny day is nearly always outdoors
        if "sky" in premise or len(_SIDES.get(premise.get("action"), ())) == 1:
            return None
    return _worst(relations)


def merged(premise: Scene, hypothesis: Scene) -> Scene:
    """Scene in which both hold, the more specific word in each slot."""
    both = {**premise, **hypothesis}
    for slot in ("subject", "object", "action", "place"):
        known, asked = premise.get(slot), hypothesis.get(slot)
        if known and asked and asked in ANCESTORS[known]:
            both[slot] = known
    return both


def plausible(scene: Scene) -> bool:
    """Whether the facts of a scene go together.

    A neutral pair is used only when `merged` of its scenes is plausible, so that the
    hypothesis could be true.
    """
    kinds = ANCESTORS[scene["subject"]]
    human = "person" in kinds
    trait, place = scene.get("trait"), scene.get("place")
    side = None if place is None else (CONCEPTS[place]["parents"] or [place])[0]
    if (
        (not human and ("company" in scene or "garment" in scene))
        or (scene["number"] != 1 and scene.get("company") == "alone")
        or (trait and CONCEPTS[trait]["dim"] not in CONCEPTS[scene["subject"]]["dims"])
        or (side == "indoors" and ("sky" in scene or not (human or _goes_indoors(kinds, place))))
        or ("baby" in kinds and place in ("office", "gym", "desert", "mountain", "classroom"))
    ):
        return False
    if scene.get("action") is None:
        return "manner" not in scene and "object" not in scene
    return _plausible_action(scene, kinds, side) and _plausible_object(scene, kinds)


def _goes_indoors(kinds: tuple[str, ...], place: str) -> bool:
    """Whether an animal is met there."""
    if place in ("barn", "indoors"):
        return True
    pet = kinds == ("animal",) or any(k in kinds for k in ("dog", "cat", "rabbit", "bird"))
    return pet and place in ("kitchen", "bedroom", "garage", "basement")


_GROWN_UP = ("beer", "wine", "coffee", "motorcycle", "vehicle")


def _plausible_action(scene: Scene, kinds: tuple[str, ...], side: str | None) -> bool:
    action, place, trait = scene["action"], scene.get("place"), scene.get("trait")
    verb = CONCEPTS[action]
    inside = side in _SIDES[action] if place == side else place in verb["places"]
    return not (
        not any(kind in kinds for kind in verb["subjects"])
        or ("child" in kinds and (verb["adult"] or scene.get("object") in _GROWN_UP))
        or ("baby" in kinds and action not in ("v:rest", "v:sleep", "v:sit", "v:drink"))
        or (place is not None and not inside)
        or ("manner" in scene and CONCEPTS[scene["manner"]]["dim"] not in verb["dims"])
        or (not verb["traits"] and trait and CONCEPTS[trait]["dim"] in ("mood", "energy"))
        or (action == "v:rest" and trait == "energetic")
        or (action == "v:swim" and ("garment" in scene or "cat" in kinds))
    )


_ANIMALS_USE = {
    "v:eat": ("food", "fruit", "apple", "carrot", "bread", "meat", "grass"),
    "v:drink": ("water", "milk"),
    "v:pull": ("cart", "sled"),
    "v:throw": ("stick", "rock", "ball"),
    "v:climb": ("tree", "fence", "wall", "rope"),
}


def _plausible_object(scene: Scene, kinds: tuple[str, ...]) -> bool:
    action, thing, quality = scene["action"], scene.get("object"), scene.get("quality")
    if thing is None:
        return not CONCEPTS[action]["object_required"]
    if "person" in kinds:
        unfit = thing == "grass" or ("baby" in kinds and thing == "tea")
    else:
        unfit = thing not in _ANIMALS_USE.get(action, (thing,))
        unfit |= action == "v:chase" and scene["subject"] == thing
    if quality is not None:
        unfit |= action in ("v:wash", "v:open") and quality in ("empty", "clean")
        unfit |= CONCEPTS[quality]["dim"] not in CONCEPTS[thing].get("dims", ())
    return thing in CONCEPTS[action]["objects"] and not unfit
