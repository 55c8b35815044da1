"""The recipes, of parts that can be built offline; importing them imports TextAttack."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pidlib.attacks.components import HomoglyphSwap, OfflineParts, StockParts
from pidlib.attacks.offline import load_textattack
from pidlib.attacks.victim import Victim
from pidlib.io.assets import word_list

ta = load_textattack()
_before = ta.constraints.pre_transformation
_ENGLISH = word_list("nltk/corpora/stopwords/english")


def _untouched(stopwords: Sequence[str], premise: bool = True) -> list:
    """Words that a recipe doesn't change: stop words in any case, those changed once, the premise."""
    any_case = {form for word in stopwords for form in (word, word.capitalize(), word.upper())}
    constraints = [_before.RepeatModification(), _before.StopwordModification(stopwords=any_case)]
    if premise:
        constraints.append(_before.InputColumnModification(["premise", "hypothesis"], {"premise"}))
    return constraints


def a2t(victim: Victim, parts: OfflineParts | StockParts) -> Any:
    """A2T: few swaps for near synonyms, words ranked by the gradient.

    Stock: 20 neighbours of counter-fitted cosine 0.8, sentences of cosine 0.9 by
    DistilBERT. Here: our candidates (nearer ones of PPDB), MiniLM's cosine 0.9; words of
    the hypothesis only, as stock. The gradient is free of dropout.

    Parameters
    ----------
    victim : Victim
    parts : OfflineParts or StockParts

    Returns
    -------
    textattack.Attack

    Source: Yoo & Qi 2021; `a2t_yoo_2021.py` of TextAttack 0.3.11.
    """
    constraints = [
        *_untouched(_ENGLISH),
        *parts.word_constraints(min_cosine=0.8, allow_verb_noun_swap=False),
        _before.MaxModificationRate(max_rate=0.1, min_threshold=4),
        parts.close_meaning(threshold=0.9, metric="cosine"),
    ]
    search = ta.search_methods.GreedyWordSwapWIR(
        wir_method="gradient", truncate_words_to=getattr(victim, "max_length", None)
    )
    return _attack(victim, constraints, parts.synonyms(max_candidates=20), search)


def pso(victim: Victim, parts: OfflineParts | StockParts) -> Any:
    """PSO: a swarm of texts, each word moving towards the best texts found.

    Stock: 60 particles, 20 rounds, words with the same sememes in HowNet. Here: 20
    particles, 10 rounds, words of our source (WordNet on real data); the hypothesis
    only, as stock, and like stock no constraint on the sentence.

    Parameters
    ----------
    victim : Victim
    parts : OfflineParts or StockParts

    Returns
    -------
    textattack.Attack

    Source: Zang et al. 2020; `pso_zang_2020.py` of TextAttack 0.3.11.
    """
    particles, rounds = parts.swarm
    search = ta.search_methods.ParticleSwarmOptimization(pop_size=particles, max_iters=rounds)
    return _attack(victim, _untouched(_ENGLISH), parts.sememes(), search)


def textfooler(victim: Victim, parts: OfflineParts | StockParts) -> Any:
    """TextFooler: swap important words for synonyms until the label flips.

    Paper: similarity 0.7 of words. Stock: 0.5, as in the authors' code, and an angular
    similarity of 1 - 0.5/pi of a window of 15 words. Here: as stock.

    Parameters
    ----------
    victim : Victim
    parts : OfflineParts or StockParts

    Returns
    -------
    textattack.Attack

    Source: Jin et al. 2020; `textfooler_jin_2019.py` of TextAttack 0.3.11.
    """
    meaning = parts.meaning(
        threshold=0.840845057,
        metric="angular",
        compare_against_original=False,
        window_size=15,
        skip_text_shorter_than_window=True,
    )
    constraints = [
        *_untouched(word_list("textfooler_stopwords.txt")),
        *parts.word_constraints(min_cosine=0.5, allow_verb_noun_swap=True),
        meaning,
    ]
    return _attack(victim, constraints, parts.synonyms(max_candidates=50), _by_deletion())


def textbugger(victim: Victim, parts: OfflineParts | StockParts) -> Any:
    """TextBugger: five kinds of bug, in the most important words first.

    Paper: words ranked by the Jacobian. Stock: by deleting each word, in the premise and
    in the hypothesis. Here: as stock, with our list of homoglyphs.

    Parameters
    ----------
    victim : Victim
    parts : OfflineParts or StockParts

    Returns
    -------
    textattack.Attack

    Source: Li et al. 2019; `textbugger_li_2018.py` of TextAttack 0.3.11.
    """
    inner = {"random_one": True, "skip_first_char": True, "skip_last_char": True}
    bugs = ta.transformations.CompositeTransformation(
        [
            ta.transformations.WordSwapRandomCharacterInsertion(letters_to_insert=" ", **inner),
            ta.transformations.WordSwapRandomCharacterDeletion(**inner),
            ta.transformations.WordSwapNeighboringCharacterSwap(**inner),
            HomoglyphSwap(),
            parts.synonyms(max_candidates=5),
        ]
    )
    constraints = [*_untouched(_ENGLISH, premise=False), parts.meaning(threshold=0.8)]
    return _attack(victim, constraints, bugs, _by_deletion())


def _by_deletion() -> Any:
    return ta.search_methods.GreedyWordSwapWIR(wir_method="delete")


def _attack(victim: Victim, constraints: list, transformation: Any, search: Any) -> Any:
    goal = ta.goal_functions.UntargetedClassification(victim)
    return ta.Attack(goal, constraints, transformation, search)


RECIPES = {recipe.__name__: recipe for recipe in (a2t, pso, textbugger, textfooler)}
