"""Which words the encoding moves, and whether WordNet calls the new word the same or a wider one.

python -m experiments.scripts.encoding_words
"""

from __future__ import annotations

import time
from collections import Counter
from pathlib import Path

from experiments.adapters import adapter_record
from experiments.encoding import BOTH, CHOSEN, COUNTED, encoding_of
from experiments.rows import fit_rows
from pidbook.estimation import word_counts
from pidbook.evaluation.results import write_result
from pidlib.attacks.synonyms import WordNetCandidates
from pidlib.data.nli import fingerprint, load_nli

MODEL = "minilm-nli"
DATA = "snli-test"
RESOURCES = "ppdb"
KINDS = ("same meaning", "similar meaning", "wider meaning")  # by the rank that candidates have
RESULT = Path(f"book/results/encoding-words-{DATA}-{MODEL}.json")


def main() -> None:
    """Count the moved words of the rows that were counted, and of the test rows."""
    started = time.perf_counter()
    test = load_nli(DATA)
    encoding = encoding_of(CHOSEN, fit_rows(DATA, COUNTED), RESOURCES)
    wordnet = WordNetCandidates()
    vocabularies = {
        "counted": encoding.counts,
        "of the test": word_counts(row[key] for row in test for key in BOTH),
    }
    counts, examples = {}, {}
    for name, words in vocabularies.items():
        moved = {word: encoding.head(word) for word in words if encoding.head(word) != word}
        kinds = {word: KINDS[int(wordnet.rank(word, head))] for word, head in moved.items()}
        found = Counter(kinds.values())
        counts[name] = {"words": len(words), "moved": len(moved)}
        counts[name] |= {kind: found[kind] for kind in KINDS}
        often = sorted(moved, key=lambda word: (-words[word], word))
        wider = [word for word in often if kinds[word] == KINDS[-1]]
        examples[name] = {word: moved[word] for word in wider[:30]}
    write_result(
        RESULT,
        command="python -m experiments.scripts.encoding_words",
        config="encoding_words.py",
        configuration={"setting": CHOSEN, "counted": COUNTED, "resources": RESOURCES},
        seed=0,
        data={"name": DATA, "n": len(test), "sha256": fingerprint(test)},
        model=adapter_record(MODEL),
        counts=counts,
        examples=examples,
        seconds=time.perf_counter() - started,
    )


if __name__ == "__main__":
    main()
