"""Scenes and the exact rules of inference between them."""

from __future__ import annotations

from typing import Any

from pidlib.data.captions.lexicon import Lexicon

ENTAILMENT, NEUTRAL, CONTRADICTION = range(3)
Scene = dict[str, Any]  # slot to value; an absent slot is unknown
OPTIONAL = ("trait", "garment", "place", "company", "sky", "manner", "quality")

_LEXICON = Lexicon.load()
_C = _LEXICON.concepts
_JOBS = [name for name, entry in _C.items() if entry.get("job")]
_COMPATIBLE = {frozenset((job, sex)) for job in _JOBS for sex in ("man", "woman")}
_UNDECIDED = {frozenset((job, age)) for job in _JOBS for age in ("adult", "child", "boy", "girl")}
_UNDECIDED |= {frozenset((job, "baby")) for job in _JOBS}
_UNDECIDED |= {frozenset(pair) for pair in (("man", "boy"), ("woman", "girl"))}
_UNDECIDED |= {frozenset(pair) for pair in (("baby", "boy"), ("baby", "girl"))}
_SIDES = {
    name: frozenset(_C[place]["parents"][0] for place in entry["places"])
    for name, entry in _C.items()
    if entry["kind"] == "verb"
}


def kind_relation(known: str, asked: str) -> int | None:
    """Relation of two nouns, places or companions."""
    if asked in _LEXICON.ancestors(known):
        return ENTAILMENT
    if known in _LEXICON.ancestors(asked):
        return NEUTRAL
    pair = frozenset((known, asked))
    if pair in _COMPATIBLE:
        return NEUTRAL
    if pair in _UNDECIDED or _LEXICON.overlapping(known, asked):
        return None
    return CONTRADICTION


def _number(known: int, asked: int, same_kind: bool) -> int | None:
    """Relation of two numbers; 0 stands for "some"."""
    if known == asked:
        return ENTAILMENT
    if known == 1 or asked == 1:
        return None  # "a girl" does not say that there is no second one
    if asked == 0:
        return ENTAILMENT
    if known == 0:
        return NEUTRAL
    return CONTRADICTION if same_kind else None  # two girls may be among three children


def _quality(known: str | None, asked: str | None, same_kind: bool) -> int | None:
    """Relation of two adjectives of one noun, or of two adverbs of one verb."""
    if asked is None:
        return ENTAILMENT
    if known is None or _C[known]["dim"] != _C[asked]["dim"]:
        return NEUTRAL
    if not same_kind and _C[asked].get("relative"):
        return None  # a big puppy need not be a big dog
    return ENTAILMENT if known == asked else CONTRADICTION


def _garment(known: tuple | None, asked: tuple | None) -> int | None:
    """Relation of two (item, colour) pairs; a hat says nothing of a coat."""
    if asked is None:
        return ENTAILMENT
    if known is None or known[0] != asked[0]:
        return NEUTRAL
    return _quality(known[1], asked[1], True)


def _action(known: str | None, asked: str | None) -> int | None:
    if asked is None:
        return ENTAILMENT
    if known is None or (known != asked and known in _LEXICON.ancestors(asked)):
        return NEUTRAL
    if asked in _LEXICON.ancestors(known):
        return ENTAILMENT
    return CONTRADICTION if _LEXICON.exclusive_actions(known, asked) else None


def _object(premise: Scene, asked: Scene) -> int | None:
    """Relation of the things acted upon; they are compared under the same action only."""
    if "object" not in asked or premise.get("action") != asked["action"]:
        return ENTAILMENT
    if "object" not in premise:
        return NEUTRAL
    relation = kind_relation(premise["object"], asked["object"])
    if relation is None or relation == CONTRADICTION:
        return relation
    same = premise["object"] == asked["object"]
    number = _number(premise.get("count_object", 1), asked.get("count_object", 1), same)
    quality = _quality(premise.get("quality"), asked.get("quality"), same)
    return None if number is None or quality is None else max(relation, number, quality)


def _place(premise: Scene, asked: str | None) -> int | None:
    if asked is None:
        return ENTAILMENT
    if "place" in premise:
        return kind_relation(premise["place"], asked)
    if asked in ("outdoors", "indoors"):  # a driver or a sunny day is nearly always outdoors
        action = premise.get("action")
        known = "sky" in premise or (action is not None and len(_SIDES[action]) == 1)
        return None if known else NEUTRAL
    return NEUTRAL


def _company(known: str | None, asked: str | None) -> int | None:
    if asked is None:
        return ENTAILMENT
    if known is None:
        return NEUTRAL
    if "alone" in (known, asked):
        return ENTAILMENT if known == asked else CONTRADICTION
    relation = kind_relation(known, asked)
    if relation == CONTRADICTION and "stranger" not in (known, asked):
        return None  # she may be with a friend and with a cousin
    return relation


def infer(premise: Scene, hypothesis: Scene) -> int | None:
    """Label of a pair of scenes.

    Contradiction when one slot excludes; entailment when the premise settles every
    slot of the hypothesis; neutral otherwise. Both scenes are taken to show the same
    people, as in SNLI.
    """
    known, asked = premise.get, hypothesis.get
    same = premise["subject"] == hypothesis["subject"]
    relations = (
        kind_relation(premise["subject"], hypothesis["subject"]),
        _number(premise["number"], hypothesis["number"], same),
        _action(known("action"), asked("action")),
        _object(premise, hypothesis),
        _quality(known("trait"), asked("trait"), same),
        _garment(known("garment"), asked("garment")),
        _place(premise, asked("place")),
        _company(known("company"), asked("company")),
        _quality(known("sky"), asked("sky"), True),
        _quality(known("manner"), asked("manner"), True),
    )
    return None if None in relations else max(relations)


def merged(premise: Scene, hypothesis: Scene) -> Scene:
    """Scene in which both hold, the more specific word in each slot."""
    both = {**premise, **hypothesis}
    for slot in ("subject", "object", "action", "place"):
        known, asked = premise.get(slot), hypothesis.get(slot)
        if known and asked and asked in _LEXICON.ancestors(known):
            both[slot] = known
    return both


def plausible(scene: Scene) -> bool:
    """Whether the facts of a scene go together.

    A neutral pair is used only when `merged` of its scenes is plausible, so that the
    hypothesis could be true.
    """
    kinds = _LEXICON.ancestors(scene["subject"])
    human = "person" in kinds
    trait, place = scene.get("trait"), scene.get("place")
    side = None if place is None else (_C[place]["parents"] or [place])[0]
    if not human and ("company" in scene or "garment" in scene):
        return False
    if scene["number"] != 1 and scene.get("company") == "alone":
        return False
    if trait is not None and _C[trait]["dim"] not in _C[scene["subject"]]["dims"]:
        return False
    if side == "indoors" and ("sky" in scene or not (human or _animal_indoors(kinds, place))):
        return False
    if "baby" in kinds and place in ("office", "gym", "desert", "mountain", "classroom"):
        return False
    if scene.get("action") is None:
        return "manner" not in scene and "object" not in scene
    return _plausible_action(scene, kinds, side) and _plausible_object(scene, kinds)


def _animal_indoors(kinds: tuple[str, ...], place: str) -> bool:
    if place in ("barn", "indoors"):
        return True
    pet = kinds == ("animal",) or any(k in kinds for k in ("dog", "cat", "rabbit", "bird"))
    return pet and place in ("kitchen", "bedroom", "garage", "basement")


def _plausible_action(scene: Scene, kinds: tuple[str, ...], side: str | None) -> bool:
    action, place, trait = scene["action"], scene.get("place"), scene.get("trait")
    verb = _C[action]
    if not any(kind in kinds for kind in verb["subjects"]):
        return False
    if "child" in kinds and (
        verb["adult"] or scene.get("object") in ("beer", "wine", "coffee", "motorcycle", "vehicle")
    ):
        return False
    if "baby" in kinds and action not in ("v:rest", "v:sleep", "v:sit", "v:drink"):
        return False
    if place is not None:
        if place == side:
            if side not in _SIDES[action]:
                return False
        elif place not in verb["places"]:
            return False
    if "manner" in scene and _C[scene["manner"]]["dim"] not in verb["dims"]:
        return False
    if not verb["traits"] and trait and _C[trait]["dim"] in ("mood", "energy"):
        return False
    if action == "v:rest" and trait == "energetic":
        return False
    return action != "v:swim" or not ("garment" in scene or "cat" in kinds)


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
        return not _C[action]["object_required"]
    if thing not in _C[action]["objects"]:
        return False
    if "person" in kinds:
        if thing == "grass" or ("baby" in kinds and thing == "tea"):
            return False
    elif thing not in _ANIMALS_USE.get(action, (thing,)):
        return False
    elif action == "v:chase" and scene["subject"] == thing:
        return False
    if quality is None:
        return True
    if action in ("v:wash", "v:open") and quality in ("empty", "clean"):
        return False
    return _C[quality]["dim"] in _C[thing].get("dims", ())
