"""The English of a scene."""

from __future__ import annotations

from random import Random

from experiments.captions.scenes import CONCEPTS, Scene
from pidlib.data.lexicon import FORMS

_NUMBERS = {0: "some", 2: "two", 3: "three", 4: "four"}


def tokens(sentence: str) -> list[str]:
    """Lower-case words of a caption, without its comma and its full stop."""
    return sentence.lower().replace(",", "").rstrip(".").split()


class Wording:
    """Writes scenes as English captions."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._words = {
            (name, form): entry[form][: entry.get("used", 2)]
            for name, entry in CONCEPTS.items()
            for form in FORMS
            if form in entry
        }

    def write(self, scene: Scene) -> str:
        """Caption of a scene: one sentence or noun phrase with a full stop."""
        front, tail = "", []
        if "company" in scene:
            tail.append(self._company(scene))
        if "place" in scene:
            prep, place = CONCEPTS[scene["place"]]["prep"], self._word(scene["place"], "singular")
            place = f"{prep} the {place}" if prep else place
            if self.rng.random() < 0.12:
                front = place
            else:
                tail.append(place)
        located = bool(tail)
        if "sky" in scene:
            sky = self._word(scene["sky"])
            day = f"on {'an' if sky[0] in 'aeiou' else 'a'} {sky} day"
            if not front and self.rng.random() < 0.2:
                front = day
            else:
                tail.append(day)
        end = "".join(f" {part}" for part in tail)
        still = scene.get("action") is None
        body = self._still(scene, end, located) if still else self._doing(scene, end, bool(front))
        sentence = f"{front}, {body}" if front else body
        return f"{sentence[0].upper()}{sentence[1:]}."

    def _word(self, name: str, form: str = "words") -> str:
        words = self._words[name, form]
        return words[int(self.rng.random() * len(words))]

    def _noun_phrase(
        self, name: str, number: int, adjective: str | None = None, counted: bool = True
    ) -> str:
        mass = CONCEPTS[name].get("mass")
        phrase = self._word(name, "singular" if number == 1 or mass else "plural")
        if adjective:
            phrase = f"{self._word(adjective)} {phrase}"
        if number == 1 and not mass:
            return ("an " if phrase[0] in "aeiou" else "a ") + phrase
        return f"{_NUMBERS[number]} {phrase}" if counted and not mass else phrase

    def _subject(self, scene: Scene, dressed: bool = True) -> str:
        phrase = self._noun_phrase(scene["subject"], scene["number"], scene.get("trait"))
        if dressed and "garment" in scene:
            phrase += f" {self.rng.choice(('in', 'in', 'wearing'))} {self._garment(scene)}"
        return phrase

    def _garment(self, scene: Scene) -> str:
        """Noun phrase of what is worn, one for each wearer."""
        item, colour = scene["garment"]
        return self._noun_phrase(item, scene["number"], colour, counted=False)

    def _company(self, scene: Scene) -> str:
        name = scene["company"]
        if name != "alone":
            return f"with {self._noun_phrase(name, 1)}"
        return self._word(name) if "action" in scene else "alone"  # nobody "is solo"

    def _still(self, scene: Scene, end: str, located: bool) -> str:
        """Clause of a scene without action."""
        be = "is" if scene["number"] == 1 else "are"
        if "garment" in scene and self.rng.random() < 0.4:
            return f"{self._subject(scene, False)} {be} wearing {self._garment(scene)}{end}"
        if located and self.rng.random() < 0.6:
            return f"{self._subject(scene)} {be}{end}"
        return f"there {be} {self._subject(scene)}{end}"

    def _doing(self, scene: Scene, end: str, fronted: bool) -> str:
        """Clause of a scene with an action, active or passive."""
        action, be = scene["action"], "is" if scene["number"] == 1 else "are"
        manner = self._word(scene["manner"]) + " " if "manner" in scene else ""
        if "object" in scene:
            number = scene.get("count_object", 1)
            thing = self._noun_phrase(scene["object"], number, scene.get("quality"))
            if "participle" in CONCEPTS[action] and self.rng.random() < 0.15:
                being = f"{'is' if number == 1 else 'are'} being {manner}"
                done = self._word(action, "participle")
                return f"{thing} {being}{done} by {self._subject(scene)}{end}"
            doing = f"{self._word(action, 'ing')} {thing}"
        else:  # "sipping" and "perusing" want an object
            wants = CONCEPTS[action]["objects"]
            doing = CONCEPTS[action]["ing"][0] if wants else self._word(action, "ing")
        if manner:
            doing = manner + doing if self.rng.random() < 0.6 else f"{doing} {manner.strip()}"
        who, style = self._subject(scene), self.rng.random()
        if style < 0.15:
            return f"there {be} {who} {doing}{end}"
        if style < 0.35 and not fronted:
            return f"{who} {doing}{end}"
        return f"{who} {be} {doing}{end}"
