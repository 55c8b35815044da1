"""Every swap that keeps the meaning, tried: whether a defence gains where no answer may change.

python -m experiments.scripts.kept_meaning

A word may become another if PPDB pairs the two, WordNet gives them one meaning, and neither a
wider one; if a judge that is none of the defended models finds that the sentences entail each
other; and if two readers, each by itself, say that they mean the same. The run stops where readings
are missing, and says which sheet is to be read. Rows, lists, rule, margin, family and INSTRUCTIONS
were committed before a defence answered a text. Two things came after three models had answered:
the list "not changed", and the limit of 1,000 pairs of each contrast set, for the time it took.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from experiments.adapters import adapter_record
from experiments.conditions import Condition
from experiments.encoding import BOTH, CHOSEN, COUNTED, encoding_of
from experiments.experiment import cached_json
from experiments.rows import fit_rows
from pidbook.estimation import NormalisedTokenizer, SynonymEncoding, word_counts
from pidbook.evaluation.contrast_rows import contrasts, edited
from pidbook.evaluation.results import write_result
from pidbook.evaluation.sister_rows import sisters
from pidbook.evaluation.trial_results import pack
from pidlib.attacks.synonyms import WordNetCandidates, candidates
from pidlib.attacks.wordnet import WordNet
from pidlib.data.lexicon import Lexicon
from pidlib.data.nli import fingerprint, load_nli
from pidlib.estimation.pretrained import load_control
from pidlib.evaluation.accuracy import right_answers, scores
from pidlib.evaluation.exact import Choices, choices
from pidlib.models import load_model
from pidlib.pid import PIDController

MODEL = "minilm-nli"
JUDGE = "mpnet-nli"
SETS = {"snli-test": range(4000, 4914), "sick-test": range(1600, 4906)}
DISTINCT = 1000  # rows of a set at most, the first of each hypothesis
CAPTIONS = 1000  # pairs from which a valid and an invalid swap each are drawn, to calibrate
ACCEPTED = 0.05  # of swaps known to be invalid, at most, by the judge
SEED = 0
KNOWN_IN_SHEET = 50  # of either kind, hidden among the swaps to be read
WINNERS_READ = 200  # texts that turned an answer, drawn at random
MARGIN = 0.02  # a difference that does not matter
FAMILY = ("P 99 %", "P-D 99 %", "Terminal both", "encoding", "strict encoding", "trained on A2T")
FITTED_ON = 2000  # pairs of snli-validation
EDITED = 1000  # pairs of the contrast set of each file, at most
REWRITTEN = "snli-counterfactual-train"
ENTAILED = 0
INSTRUCTIONS = """
Each line holds two sentences, as written and with words exchanged. Answer every line with one
letter. S, same: who says the one of a scene could say the other of it; there is no scene of which
one is true and the other false; and it is English that a native speaker could write. C, changed:
there is a scene of which one is true and the other false (a wider or narrower word, or another
sense). E, no English: the word cannot stand there (another part of speech, a broken phrase). What
was wrong before the exchange does not count, nor does "a" before a vowel. In doubt between S and
another letter, do not answer S. Read each line by itself, with no program; do not guess whence it is.
"""  # for both readers; a swap stands if both answer S

RUNS = Path("runs/kept-meaning")
READINGS = Path("book/results/readings")  # verdicts of the readers, without the sentences
RESULT = Path(f"book/results/kept-meaning-{MODEL}.json")


class Swap(NamedTuple):
    """One word of one row's hypothesis, and what stands in its place."""

    data: str
    row: int
    place: int  # among the words that have candidates
    new: str


class AgreedSynonyms:
    """Words that PPDB pairs with a word and WordNet gives one meaning with it, none wider."""

    def __init__(self) -> None:
        self.pairs, self.senses, self.wordnet = candidates("ppdb"), WordNetCandidates(), WordNet()
        self.name = "PPDB and the synsets of WordNet"
        self.sha256 = f"{self.pairs.sha256[:32]}{self.senses.sha256[:32]}"

    def synonyms(self, word: str) -> tuple[str, ...]:
        """Words of one meaning with the word, the nearest first."""
        both = set(self.senses.synonyms(word))
        return tuple(
            other
            for other in self.pairs.synonyms(word)
            if other in both
            and self.senses.rank(word, other) == 0
            and not self._wider(word, other)
            and not self._wider(other, word)
        )

    def _wider(self, word: str, other: str) -> bool:
        """Whether the most frequent sense of a noun lies below the other's, and is not the same."""
        own, its = self.wordnet.meanings(word)[:1], self.wordnet.meanings(other)[:1]
        return bool(own and its and own != its and its[0] in self.wordnet.above(word))


def judged_rows() -> dict[str, dict[int, dict[str, Any]]]:
    """Rows by set and place in its file, each hypothesis once."""
    found: dict[str, dict[int, dict[str, Any]]] = {}
    for data, places in SETS.items():
        rows, seen = load_nli(data), set()
        found[data] = {}
        for place in places:
            row = dict(rows[place])
            if row["hypothesis"] not in seen and len(found[data]) < DISTINCT:
                seen.add(row["hypothesis"])
                found[data][place] = row
    return found


def one_word(allowed: Choices) -> Iterator[tuple[int, str, str]]:
    """Every place, new word and text with one word exchanged."""
    for place, words in enumerate(allowed.words):
        for k, new in enumerate(words[1:], 1):
            choice = [0] * len(allowed.words)
            choice[place] = k
            yield place, new, allowed.written(choice)


def mutual(model: Any, tokenizer: Any, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
    """Smaller probability (N,) of entailment of the two directions."""
    there = [{"premise": a, "hypothesis": b} for a, b in pairs]
    back = [{"premise": b, "hypothesis": a} for a, b in pairs]
    return np.minimum(
        *(softmax(scores(model, tokenizer, rows), axis=1)[:, ENTAILED] for rows in (there, back))
    )


def known_swaps() -> dict[str, list[tuple[str, str]]]:
    """Captions and their swaps whose truth the lexicon knows: a synonym, another concept's word."""
    lexicon, random = Lexicon.load(), np.random.default_rng(SEED)
    concepts = list(lexicon.concepts.values())
    known: dict[str, list[tuple[str, str]]] = {"valid": [], "invalid": []}
    for row in load_nli("captions", split="test", n=CAPTIONS):
        text = row["hypothesis"]
        places = [(w.strip(".,"), k) for k, w in enumerate(text.split())]
        places = [(word, k) for word, k in places if lexicon.synonyms(word)]
        if not places:
            continue
        word, k = places[random.integers(len(places))]
        same = lexicon.synonyms(word)
        others = _of_other_concepts(word, same, concepts)
        for kind, news in (("valid", same), ("invalid", others)):
            if news:
                words = text.split()
                new = news[random.integers(len(news))]
                new = new.capitalize() if word[0].isupper() else new
                words[k] = words[k].replace(word, new)
                known[kind].append((text, " ".join(words)))
    return known


def _of_other_concepts(
    word: str, same: Sequence[str], concepts: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Words of the same kind and inflection that mean something else, a narrower or wider too."""
    barred, word = {word.lower(), *same}, word.lower()
    found = set()
    for home in concepts:
        for form, words in home.items():
            if isinstance(words, list) and word in words:
                alike = (c.get(form, []) for c in concepts if c["kind"] == home["kind"])
                found |= {other for words in alike for other in words} - barred
    return sorted(found)


def judge_swaps(rows: Mapping[str, Mapping[int, Any]], allowed: Mapping) -> dict[str, Any]:
    """The threshold, what it accepts of known swaps, and the probability of every swap."""
    model, tokenizer = load_model(JUDGE)
    known = {k: mutual(model, tokenizer, pairs) for k, pairs in known_swaps().items()}
    threshold = float(np.quantile(known["invalid"], 1 - ACCEPTED, method="higher"))
    swaps, pairs = [], []
    for data, of in rows.items():
        for row, content in of.items():
            for place, new, text in one_word(allowed[data, row]):
                swaps.append(Swap(data, row, place, new))
                pairs.append((content["hypothesis"], text))
    probabilities = mutual(model, tokenizer, pairs)
    return {
        "threshold": threshold,
        "known": {
            k: {"n": len(p), "accepted": int((p > threshold).sum())} for k, p in known.items()
        },
        "swaps": [list(swap) for swap in swaps],
        "probabilities": probabilities.round(4).tolist(),
    }


def read(name: str, lines: Sequence[tuple[Any, str, str]], known: bool) -> dict[str, np.ndarray]:
    """What two readers say of each line, "SCE"; the known swaps among them apart.

    A sheet for each reader, in an order of its own, is written where its answers are missing.
    """
    hidden = known_swaps() if known else {}
    hidden = {kind: pairs[:KNOWN_IN_SHEET] for kind, pairs in hidden.items()}
    every = list(lines)
    every += [(f"{k} {i}", *pair) for k, pairs in hidden.items() for i, pair in enumerate(pairs)]
    answers = []
    for reader in (1, 2):
        order = np.random.default_rng((SEED, reader)).permutation(len(every))
        path = READINGS / f"kept-meaning-{name}-{reader}.csv"
        if not path.is_file():
            _write_sheet(RUNS / f"{name}-{reader}.csv", [every[k] for k in order])
            answers.append(None)
            continue
        given = {row["of"]: row["answer"] for row in csv.DictReader(path.open(encoding="utf-8"))}
        answers.append(np.array([given[str(key)] for key, *_ in every]))
    if any(of is None for of in answers):
        raise SystemExit(f"read the sheets {name}-1 and -2 in {RUNS}, by INSTRUCTIONS; go on then")
    n, split = len(lines), {"swaps": slice(0, len(lines))}
    for kind, pairs in hidden.items():
        split[kind] = slice(n, n + len(pairs))
        n += len(pairs)
    return {kind: np.array([of[part] for of in answers]) for kind, part in split.items()}


def _write_sheet(path: Path, lines: Sequence[tuple[Any, str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("line", "of", "as written", "exchanged"))
        writer.writerows((k, *line) for k, line in enumerate(lines))


def kappa(first: np.ndarray, second: np.ndarray, same: str = "S") -> float:
    """Cohen's kappa of two readers on one answer against all others."""
    a, b = first == same, second == same
    chance = a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
    return float(((a == b).mean() - chance) / (1 - chance))


def only(allowed: Choices, kept: Mapping[int, set[str]]) -> Choices:
    """The choices with those words alone that are kept at each place."""
    words = [
        (of[0], *(new for new in of[1:] if new in kept.get(place, ())))
        for place, of in enumerate(allowed.words)
    ]
    places = [place for place, of in enumerate(words) if len(of) > 1]
    return Choices(
        allowed.text,
        tuple(allowed.spans[place] for place in places),
        tuple(words[place] for place in places),
    )


def contenders() -> Iterator[tuple[str, Condition]]:
    """What is judged, by name."""
    model, tokenizer = load_model(MODEL)
    fitted = PIDController.fit(model, tokenizer, fit_rows("snli-test", FITTED_ON), scheme="PID")
    controls = {
        "none": None,
        "P 99 %": fitted.retune(scheme="P", variance=0.99),
        "P-D 99 %": fitted.retune(scheme="PD", variance=0.99),
        "Terminal both": load_control(f"{MODEL}-terminal", model),
    }
    for name, control in controls.items():
        yield name, Condition(model, tokenizer, control)
    agreed = encoding_of(CHOSEN, fit_rows("snli-test", COUNTED), "ppdb")
    for name, encoding in {"encoding": agreed, "strict encoding": strict_encoding()}.items():
        yield name, Condition(model, NormalisedTokenizer(tokenizer, encoding))
    yield "trained on A2T", Condition(*load_model(f"{MODEL}-a2t"))


def strict_encoding() -> SynonymEncoding:
    """Groups of words of one meaning: no wider word may stand for a word."""
    texts = sorted({row[key] for row in fit_rows("snli-test", COUNTED) for key in BOTH})
    return SynonymEncoding(word_counts(texts), AgreedSynonyms(), 8)


def price_rows() -> dict[str, list[dict[str, Any]]]:
    """Sets on which a defence that does not notice words is wrong."""
    wordnet, priced = WordNet(), {}
    for data, places in SETS.items():
        rows = [dict(row) for row in load_nli(data)]
        edits = contrasts(rows, places, wordnet, SEED)
        drawn = np.random.default_rng(SEED).permutation(len(edits))[:EDITED]
        edits = [edits[k] for k in sorted(drawn)]
        priced[f"contrast {data}"] = edited(rows, edits)
        if data == "snli-test":
            groups = encoding_of(CHOSEN, fit_rows(data, COUNTED), "ppdb").groups()
            priced["sisters"] = edited(rows, sisters(rows, range(len(rows)), wordnet, groups, SEED))
    rewritten = load_nli(REWRITTEN)
    second_half = np.arange(len(rewritten) // 2, len(rewritten))
    chosen = np.random.default_rng(SEED).choice(second_half, 1000, replace=False)
    priced["rewritten"] = [dict(rewritten[int(k)]) for k in sorted(chosen)]
    return priced


def margins(of: Condition, rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Score of each row's label less the best other, (N,)."""
    logits = scores(of.model, of.tokenizer, rows)
    labels = np.array([row["label"] for row in rows])
    own = logits[np.arange(len(rows)), labels]
    logits[np.arange(len(rows)), labels] = -np.inf
    return own - logits.max(axis=1)


def every_text(
    every: Sequence[tuple[str, int]], rows: Mapping, allowed: Mapping, swaps: Sequence[Swap]
) -> list[tuple[int, dict[str, Any]]]:
    """Every row with every choice of the words of a list, after the row's place in `every`."""
    kept: dict[tuple[str, int], dict[int, set[str]]] = {}
    for swap in swaps:
        kept.setdefault(swap[:2], {}).setdefault(swap.place, set()).add(swap.new)
    texts = []
    for k, (data, place) in enumerate(every):
        of = only(allowed[data, place], kept.get((data, place), {}))
        for choice in np.ndindex(of.sizes):
            texts.append((k, {**rows[data][place], "hypothesis": of.written(choice)}))
    return texts


def wrong_answers(
    condition: Condition, clean: Sequence, asked: Mapping[str, Sequence], prices: Mapping
) -> dict[str, list[int]]:
    """Which rows and texts of each set a contender answers wrongly."""
    with condition.attached():
        wrong = {"clean": margins(condition, clean) <= 0}
        for key, of in asked.items():
            wrong[key] = margins(condition, [text for _, text in of]) <= 0
        for key, part in prices.items():
            bits = right_answers(condition.model, condition.tokenizer, part)
            wrong[key] = ~bits if key == "rewritten" else bits
    return {key: np.flatnonzero(bits).tolist() for key, bits in wrong.items()}


def _without(wrong: Sequence[int], n: int) -> np.ndarray:
    right = np.ones(n, bool)
    right[list(wrong)] = False
    return right


def main() -> None:
    """Make the lists, have them read, try every text, and write the result."""
    started = time.perf_counter()
    RUNS.mkdir(parents=True, exist_ok=True)
    rows = judged_rows()
    every = [(data, place) for data, of in rows.items() for place in of]
    same = AgreedSynonyms()
    allowed = {
        (data, place): choices(rows[data][place]["hypothesis"], same, 50) for data, place in every
    }
    settings = {"lists": same.sha256, "judge": adapter_record(JUDGE), "rows": len(every)}
    judged = cached_json(RUNS / "judged.json", settings, lambda: judge_swaps(rows, allowed))
    accepted = [
        Swap(*swap)
        for swap, p in zip(judged["swaps"], judged["probabilities"], strict=True)
        if p > judged["threshold"]
    ]

    texts = {
        Swap(data, row, place, new): text
        for (data, row), of in allowed.items()
        for place, new, text in one_word(of)
    }
    lines = [
        (f"{swap.data} {swap.row} {swap.place} {swap.new}", rows[swap.data][swap.row]["hypothesis"],
         texts[swap])
        for swap in accepted
    ]  # fmt: skip
    readings = read("swaps", lines, known=True)
    agreed = (readings["swaps"] == "S").all(axis=0)
    unchanged = (readings["swaps"] != "C").all(axis=0)  # no English, perhaps; added after a look
    lists: dict[str, list[Swap]] = {
        "read": [swap for swap, both in zip(accepted, agreed, strict=True) if both],
        "not changed": [swap for swap, yes in zip(accepted, unchanged, strict=True) if yes],
        "judged": accepted,
    }

    asked = {name: every_text(every, rows, allowed, swaps) for name, swaps in lists.items()}
    clean = [rows[data][place] for data, place in every]
    prices = price_rows()
    right: dict[str, dict[str, np.ndarray]] = {}
    winners: dict[str, tuple[str, int]] = {}  # texts that turned an answer, and their rows
    for name, condition in contenders():
        settings = {"rows": fingerprint(clean), "texts": {k: len(of) for k, of in asked.items()}}
        settings["of"] = getattr(condition.control, "sha256", name)
        wrong = cached_json(
            RUNS / f"{name}.json", settings, partial(wrong_answers, condition, clean, asked, prices)
        )
        right[name] = {"clean": _without(wrong["clean"], len(every))}
        for key, of in asked.items():
            right[name][key] = _without([of[k][0] for k in wrong[key]], len(every))
        for key, part in prices.items():
            right[name][key] = _without(wrong[key], len(part))
        for k in wrong["judged"]:
            row, text = asked["judged"][k]
            if right[name]["clean"][row]:
                winners[f"{row} {text['hypothesis']}"] = every[row]
        print(name, {key: int(bits.sum()) for key, bits in right[name].items()}, flush=True)

    drawn = np.random.default_rng(SEED).permutation(sorted(winners))[:WINNERS_READ]
    winning = [
        (text.partition(" ")[0] + f" {k}", rows[winners[text][0]][winners[text][1]]["hypothesis"],
         text.partition(" ")[2])
        for k, text in enumerate(map(str, drawn))
    ]  # fmt: skip
    of_winners = read("winners", winning, known=False)["swaps"]

    write_result(
        RESULT,
        command="python -m experiments.scripts.kept_meaning",
        config="kept_meaning.py",
        configuration={
            "sets": {data: [places.start, places.stop] for data, places in SETS.items()},
            "distinct": DISTINCT,
            "accepted": ACCEPTED,
            "family": list(FAMILY),
            "margin": MARGIN,
            "instructions": INSTRUCTIONS.strip(),
            "judge": adapter_record(JUDGE),
        },
        seed=SEED,
        data={"name": " and ".join(SETS), "n": len(every), "sha256": fingerprint(clean)},
        model=adapter_record(MODEL),
        rows_of={data: len(of) for data, of in rows.items()},
        lists={
            "proposed": len(judged["swaps"]),
            "judged": len(accepted),
            "read": len(lists["read"]),
            "texts": {name: len(of) for name, of in asked.items()},
            "rows with a swap": {
                name: pack(np.bincount([row for row, _ in of]) > 1) for name, of in asked.items()
            },
            "sha256": same.sha256,
        },
        judge={"threshold": judged["threshold"], "known": judged["known"]},
        readings={
            "kappa": kappa(*readings["swaps"]),
            "swaps": letter_counts(readings["swaps"]),
            "known": {kind: letter_counts(readings[kind]) for kind in ("valid", "invalid")},
            "kappa of winners": kappa(*of_winners),
            "winners": letter_counts(of_winners) | {"of": len(winners)},
        },
        counts={
            name: {key: {"right": int(bits.sum()), "n": len(bits)} for key, bits in of.items()}
            for name, of in right.items()
        },
        examples={
            name: {key: pack(bits) for key, bits in of.items()} for name, of in right.items()
        },
        seconds=time.perf_counter() - started,
    )


def letter_counts(answers: np.ndarray) -> dict[str, int]:
    """How often both readers gave which letters, "SC": the first's and the second's."""
    pairs, counts = np.unique(["".join(of) for of in answers.T], return_counts=True)
    return dict(zip(pairs.tolist(), counts.tolist(), strict=True))


if __name__ == "__main__":
    main()
