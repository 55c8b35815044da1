"""Random scenes, and premises that stand in a wanted relation to a hypothesis."""

from __future__ import annotations

import zlib
from random import Random
from typing import Any

from experiments.captions import scenes
from experiments.captions.scenes import ANCESTORS, CONCEPTS, DESCENDANTS, OPTIONAL, Scene

_SHARES = (("train", 0.6), ("validation", 0.75), ("test", 1.0))
_WEIGHTS = (3, 3, 4, 2, 1, 2, 3)
_SLOTS = tuple(slot for slot, k in zip(OPTIONAL, _WEIGHTS, strict=True) for _ in range(k))
_OWNERS = {"quality": "object", "trait": "subject", "manner": "action"}


def _concepts(key: str, value: Any = True) -> list[str]:
    return [name for name, entry in CONCEPTS.items() if entry.get(key) == value]


_JOBS = _concepts("job")
_COMMON = [name for name in DESCENDANTS["person"] if name not in _JOBS]
_ODDS = {  # summed up
    "subject": ((_COMMON, 0.5), (_JOBS, 0.65), (DESCENDANTS["animal"], 1.0)),
    "number": ((1, 0.6), (2, 0.75), (3, 0.86), (4, 0.93), (0, 1.0)),
}
_VERBS, _PLACES = _concepts("kind", "verb"), _concepts("kind", "place")
_GARMENTS, _COMPANY = _concepts("garment"), [*_concepts("companion"), "alone", "alone"]
_DIMS = {
    entry["dim"]: _concepts("dim", entry["dim"]) for entry in CONCEPTS.values() if "dim" in entry
}


def scene_key(scene: Scene) -> str:
    """Text that names the content of a scene, whatever the order of its facts."""
    return ";".join([f"{slot}={scene[slot]}" for slot in sorted(scene)])


def split_of(scene: Scene) -> str:
    """Name of the only split a scene may occur in, from a checksum of its content."""
    share = zlib.crc32(scene_key(scene).encode()) / 2**32
    return next(split for split, upper in _SHARES if share < upper)


class Drafts:
    """Draws scenes of one split."""

    def __init__(self, rng: Random, split: str) -> None:
        self.rng, self.split = rng, split

    def hypothesis(self) -> Scene:
        """Draw who is seen, mostly what they do, and zero to two optional facts."""
        while True:
            scene = {"subject": self._value("subject", {}), "number": self._value("number", {})}
            if self.rng.random() < 0.85:
                scene["action"] = self._value("action", scene)
                self._add_object(scene)
            if scenes.plausible(scene):
                self._fill(scene, self._pick((0, 1, 1, 1, 2, 2)), {})
                if len(scene) > 2 and split_of(scene) == self.split:
                    return scene

    def premise(self, asked: Scene, label: int) -> Scene | None:
        """Draw a scene for which the hypothesis scene `asked` has the label."""
        scene: Scene = {}
        for slot, relation in self._wanted(asked, label).items():
            value = self._related(slot, asked[slot], relation, {**asked, **scene})
            if value is not None:
                scene[slot] = value
            elif slot == "subject":
                return None
        self._complete(scene, asked)
        if scenes.infer(scene, asked) != label or not scenes.plausible(scene):
            return None
        self._fill(scene, self._pick((1, 2, 2, 3, 3, 4)), asked)
        if len(scene) < 4 or not self._settle(scene, asked):
            return None
        possible = label != 1 or scenes.plausible(scenes.merged(scene, asked))
        return scene if possible and scenes.infer(scene, asked) == label else None

    def _pick(self, items):
        return items[int(self.rng.random() * len(items))]

    def _wanted(self, asked: Scene, label: int) -> dict[str, int]:
        """Relation to aim at in each slot of the hypothesis."""
        slots = [slot for slot in asked if slot != "count_object"]
        wanted = dict.fromkeys(slots, 0)
        if label == 1:
            loose = [slot for slot in slots if slot in OPTIONAL]
            if not loose or self.rng.random() >= 0.75:
                loose = [slot for slot in slots if slot != "number"]
            wanted[self._pick(loose)] = 1
            if self.rng.random() < 0.3:
                wanted[self._pick(slots)] = 1
        elif label == 2:
            wanted = {slot: int(self.rng.random() < 0.2) for slot in slots}
            wanted[self._pick(slots)] = 2
            if "count_object" in asked and self.rng.random() < 0.1:
                wanted["count_object"] = 2
        return wanted

    def _value(self, slot: str, scene: Scene) -> Any:
        """Draw a value for a slot of a scene, or None where there is none."""
        verb = CONCEPTS.get(scene.get("action"), {})
        if slot in ("subject", "number"):
            draw = self.rng.random()
            choice = next(value for value, upper in _ODDS[slot] if draw < upper)
            return choice if slot == "number" else self._pick(choice)
        if slot == "object":
            return self._pick(verb["objects"]) if verb.get("objects") else None
        if slot == "count_object":
            single = CONCEPTS[scene["object"]].get("mass") or self.rng.random() < 0.8
            return 1 if single else self._pick((2, 3, 4))
        if slot == "garment":
            colour = self._pick(_DIMS["colour"]) if self.rng.random() < 0.75 else None
            return (self._pick(_GARMENTS), colour)
        if slot == "place":
            anywhere = self.rng.random() < 0.2
            return self._pick(("outdoors", "indoors") if anywhere else verb.get("places", _PLACES))
        if slot in _OWNERS:
            dims = CONCEPTS.get(scene.get(_OWNERS[slot]), {}).get("dims")
            return self._pick(_DIMS[self._pick(dims)]) if dims else None
        return self._pick({"action": _VERBS, "company": _COMPANY, "sky": _DIMS["sky"]}[slot])

    def _related(self, slot: str, value: Any, relation: int, scene: Scene) -> Any:
        """Draw a premise value with the wanted relation to a hypothesis value."""
        if slot in ("subject", "object", "place", "company", "action"):
            return self._related_kind(slot, value, relation, scene)
        if slot == "garment":
            item, colour = value
            if relation == 1:
                return (item, None) if self.rng.random() < 0.3 else None
            if relation == 0 and (colour is not None or self.rng.random() >= 0.6):
                return value
            return (item, self._pick(_DIMS["colour"])) if relation == 0 or colour else None
        if slot in ("number", "count_object"):
            if relation == 1:
                return 0 if value > 1 else value
            some = slot == "number" and value == 0
            choice = {0: (0, 2, 3, 4) if some else (), 2: (2, 3, 4)}[relation]
            return self._pick(choice) if choice else value
        if relation == 2:
            return self._pick(_DIMS[CONCEPTS[value]["dim"]])
        return value if relation == 0 else None

    def _related_kind(self, slot: str, value: str, relation: int, scene: Scene) -> str | None:
        if relation == 0:
            same = value == "alone" or self.rng.random() < 0.35
            return value if same else self._pick(DESCENDANTS[value])
        if relation == 1:
            above = ANCESTORS[value][1:]
            if above and (slot == "subject" or self.rng.random() < 0.4):
                return self._pick(above)
            return value if slot == "subject" else None
        for _ in range(8):
            other = self._value(slot, scene)
            if slot in ("action", "company") or scenes.kind_relation(other, value) == 2:
                return other
        return None

    def _add_object(self, scene: Scene) -> None:
        """Give the action its object, sometimes left out where it may be."""
        verb = CONCEPTS[scene["action"]]
        if verb["objects"] and (verb["object_required"] or self.rng.random() < 0.75):
            scene["object"] = self._value("object", scene)
            count = self._value("count_object", scene)
            if count != 1:
                scene["count_object"] = count

    def _complete(self, scene: Scene, asked: Scene) -> None:
        """Make action and object of a premise fit each other."""
        if "action" not in scene:
            scene.pop("object", None)
            if "action" not in asked and self.rng.random() < 0.8:
                scene["action"] = self._value("action", scene)
        action = scene.get("action")
        if action and action != asked.get("action"):
            scene.pop("object", None)
            self._add_object(scene)
        elif action and "object" in scene and "count_object" in asked:
            scene.setdefault("count_object", asked["count_object"])
        elif action and "object" not in asked and self.rng.random() < 0.8:
            self._add_object(scene)
        if "object" not in scene:
            scene.pop("quality", None)
        if "object" not in scene or CONCEPTS[scene["object"]].get("mass"):
            scene.pop("count_object", None)

    def _fill(self, scene: Scene, slots: int, fixed: Scene) -> None:
        """Add optional slots that `fixed` does not hold, until `slots` are set."""
        missing = slots - sum([slot in scene for slot in OPTIONAL])
        for _ in range(2 * slots):
            slot = self._pick(_SLOTS) if missing > 0 else None
            if slot and slot not in scene and slot not in fixed:
                missing -= self._put(scene, slot)

    def _settle(self, scene: Scene, asked: Scene) -> bool:
        """Redraw facts the hypothesis does not ask for until the scene is of the split."""
        for _ in range(10):
            if split_of(scene) == self.split:
                return True
            slot = self._pick(_SLOTS)
            if slot not in asked:
                scene.pop(slot, None)
                self._put(scene, slot)
        return False

    def _put(self, scene: Scene, slot: str) -> bool:
        """Add a fact, unless it does not go with the others."""
        value = self._value(slot, scene)
        if value is None or not scenes.plausible({**scene, slot: value}):
            return False
        scene[slot] = value
        return True
