#!/usr/bin/env bash
# transformers 4.57.6, torch 2.13.0 (CPU), tokenizers 0.22.2
#
# Behaviour: a model that is not of the Mistral family, with a vocabulary above
# 100,000, and its tokenizer are saved to a folder and read back. The same
# version warns that this tokenizer splits text wrongly, and tells to set
# fix_mistral_regex=True. Nothing was wrong: without the flag the tokens are
# those of before. With the flag the splitting rule is replaced by Mistral's,
# without a word, and the tokens are others.
#
# Guess, before the run: a warning about another family's rule is not given for
# this one, or its cure does nothing here.
#
# Outcome: warned; without the flag no text of three differs, with it two do:
# "JavaScript", one token before, is Java and Script.
#
# Date: 2026-11-30
# Hurts: who saves a fine-tuned Qwen2 or another large vocabulary, reads it
# back, and does as told: the model now reads tokens that it was not trained on.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
install torch==2.13.0 transformers==4.57.6 tokenizers==0.22.2 numpy==2.4.6
look <<'PY'
import logging

from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import AutoTokenizer, PreTrainedTokenizerFast, Qwen2Config
from transformers import Qwen2ForSequenceClassification

# bytes, a few merges, and room up to the size of a large vocabulary
letters = sorted(pre_tokenizers.ByteLevel.alphabet())
pairs = [("t", "h"), ("th", "e"), ("o", "n"), ("Ġ", "the")]
for word in ("Java", "Script"):
    pairs += [(word[:k], word[k]) for k in range(1, len(word))]
pairs.append(("Java", "Script"))
words = letters + ["".join(pair) for pair in pairs]
words += [f"unused-{k}" for k in range(100_100 - len(words))]
core = Tokenizer(models.BPE({word: k for k, word in enumerate(words)}, pairs))
rule = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+"
core.pre_tokenizer = pre_tokenizers.Sequence([
    pre_tokenizers.Split(Regex(rule), "isolated"),
    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
])
core.decoder = decoders.ByteLevel()
tokenizer = PreTrainedTokenizerFast(tokenizer_object=core, pad_token="unused-0")
config = Qwen2Config(vocab_size=100_100, hidden_size=8, intermediate_size=8, num_hidden_layers=1,
                     num_attention_heads=1, num_key_value_heads=1)
Qwen2ForSequenceClassification(config).save_pretrained("saved")
tokenizer.save_pretrained("saved")

heard = []
class Ear(logging.Handler):
    def emit(self, record):
        heard.append(record.getMessage())

logging.getLogger("transformers").addHandler(Ear())
texts = ["the cat sat on the mat", "JavaScript", "written in JavaScript"]
before = [tokenizer.tokenize(text) for text in texts]
again = AutoTokenizer.from_pretrained("saved")
warned = any("fix_mistral_regex" in line for line in heard)
mended = AutoTokenizer.from_pretrained("saved", fix_mistral_regex=True)
differ = [sum(of.tokenize(t) != b for t, b in zip(texts, before)) for of in (again, mended)]
print("warned:", warned, "| texts of 3 that differ: without the flag", differ[0], "with it", differ[1])
for text, old in zip(texts, before):
    print(repr(text), old, mended.tokenize(text))
raise SystemExit((warned, differ) != (True, [0, 2]))
PY
