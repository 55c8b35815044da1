"""Attacks: by words, with recipes, components, synonyms, outcomes; on pictures, by the gradient."""

from __future__ import annotations

from pidlib.attacks.attack import RECIPES, attack, explain
from pidlib.attacks.attacker import Explanation, Step
from pidlib.attacks.gradient import pgd
from pidlib.attacks.inflections import parts_of_speech
from pidlib.attacks.outcomes import (
    AttackCounts,
    Outcome,
    OutcomeFile,
    OutcomeLog,
    attack_table,
    read_outcomes,
    transfer_rows,
)
from pidlib.attacks.synonyms import RESOURCES, SOURCES, candidates, words_for
