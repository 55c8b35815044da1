"""Flat scripts, one a recorded result: python -m experiments.scripts.NAME."""

SCRIPTS = {  # by the name of the result
    "control-laws-sick-test-minilm-nli": "control_laws",
    "control-laws-again-sick-test-minilm-nli": "control_laws_again",
    "encoding-words-snli-test-minilm-nli": "encoding_words",
    "sisters-snli-test-minilm-nli": "sister_words",
    "kept-meaning-minilm-nli": "kept_meaning",
    "read-attacks-snli-test-minilm-nli": "read_attacks",
}
