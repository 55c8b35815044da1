"""Texts of two opposite moods that steer, prompts that are steered, and words that are scored."""

from __future__ import annotations

from itertools import product

# No word of these texts is among the words that are scored.
FITTED = (
    ("I loved the {}. It was a wonderful day.", "I hated the {}. It was a terrible day."),
    ("We enjoyed the {} and laughed a lot.", "We regretted the {} and cried a lot."),
    ("The {} was brilliant, and she was happy.", "The {} was dreadful, and she was sad."),
    ("What a delight, said he of the {}.", "What a misery, said he of the {}."),
    ("They praised the {} with all their heart.", "They cursed the {} with all their heart."),
    ("The {} charmed us from the first minute.", "The {} annoyed us from the first minute."),
)
FITTED_ON = "film meal journey concert party garden play lesson walk visit".split()
JUDGED = (
    "The {} in this town is",
    "My neighbour told me that the {} was",
    "If you ask me, the {} looks",
    "After an hour we saw that the {} was",
    "Most people here find the {}",
    "Honestly, this {} is really",
)
SUBJECTS = {
    "validation": ("market", "hotel", "song", "coat", "bridge"),
    "test": (
        "museum", "school", "soup", "picture", "train", "beach", "speech", "house",
        "shop", "story", "dance", "chair", "lake", "team", "letter", "window",
    ),
}  # fmt: skip
TARGET = ("great", "good", "nice", "excellent", "beautiful", "fun", "perfect", "amazing", "lovely")
OPPOSITE = ("bad", "awful", "boring", "ugly", "poor", "horrible", "disappointing", "dull", "worst")


def fitted_texts() -> tuple[list[str], list[str]]:
    """Texts of the target's mood and of the opposite one."""
    pairs = [(good.format(of), bad.format(of)) for (good, bad), of in product(FITTED, FITTED_ON)]
    target, opposite = zip(*pairs, strict=True)
    return list(target), list(opposite)


def prompts(part: str) -> list[str]:
    """Beginnings of sentences, after which a word of either mood may follow."""
    return [text.format(of) for text, of in product(JUDGED, SUBJECTS[part])]
