"""What is done to text before a model reads it, and how it is put on trial beside a control."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

_READERS = ("tokenize", "encode", "encode_plus", "batch_encode_plus")  # methods that take text


class Preprocessing(ABC):
    """A change of text, made before the model reads it.

    `fair_trial` takes it as it takes a control, with the tokenizer that `before` gives: the text
    is changed for as long as the context of `attached` lasts.

    Examples
    --------
    >>> from pidlib import load_model
    >>> model, tokenizer = load_model("minilm-nli")
    >>> from pidbook.estimation import SynonymEncoding
    >>> from pidlib.attacks import candidates
    >>> encode = SynonymEncoding({"dog": 1}, candidates("lexicon"), most=4)
    >>> tokenizer = encode.before(tokenizer)
    >>> with encode.attached(model):
    ...     tokenizer.tokenize("A hound sits.")
    ['a', 'dog', 'sits', '.']

    Source: our departure.
    """

    _active = False

    @abstractmethod
    def __call__(self, text: str) -> str:
        """Return the text as the model should read it."""

    @abstractmethod
    def summary(self) -> str:
        """Settings on one line."""

    def before(self, tokenizer: Any) -> NormalisedTokenizer:
        """Return a tokenizer that changes text first, while attached."""
        return NormalisedTokenizer(tokenizer, self._if_attached)

    @contextmanager
    def attached(self, model: Any) -> Iterator[Any]:
        """Change what the tokenizers of `before` read, for as long as the context lasts."""
        if self._active:
            raise RuntimeError(
                "this preprocessing is attached already; leave its `with` block first"
            )
        self._active = True
        try:
            yield model
        finally:
            self._active = False

    def _if_attached(self, text: str) -> str:
        return self(text) if self._active else text


@dataclass(frozen=True, eq=False, repr=False)
class NormalisedTokenizer:
    """A tokenizer that changes text first; for judging and attacking such a model.

    Parameters
    ----------
    tokenizer : the model's own, or another of this kind: the outer one changes text first
    normaliser : callable, of a text

    Examples
    --------
    >>> from pidlib import load_model
    >>> tokenizer = NormalisedTokenizer(load_model("minilm-nli")[1], str.upper)
    >>> tokenizer.tokenize("A cat.")
    ['a', 'cat', '.']

    Notes
    -----
    The log of an attack doesn't know of it: tell it by `about`. A2T ranks last the few words
    of the text given that normalising changes: their tokens do not spell them.
    """

    tokenizer: Any
    normaliser: Callable[[str], str]

    def __call__(self, text: Any, text_pair: Any = None, **settings: Any) -> Any:
        """Tokenise a text, a pair, or lists of either; places in the text are refused."""
        return self._read(self.tokenizer, text, text_pair, **settings)

    def __len__(self) -> int:
        return len(self.tokenizer)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "tokenizer":  # asked of a copy half made
            raise AttributeError(name)
        value = getattr(self.tokenizer, name)
        return partial(self._read, value) if name in _READERS else value

    def _read(self, reader: Callable, text: Any, text_pair: Any = None, **settings: Any) -> Any:
        if settings.get("return_offsets_mapping"):
            raise ValueError(
                "return_offsets_mapping=True: the tokens have no places in the text given, only "
                "in its normalised form; normalise the rows, and give the tokenizer inside"
            )
        pair = {} if text_pair is None else {"text_pair": self._normalised(text_pair)}
        return reader(self._normalised(text), **pair, **settings)

    def _normalised(self, text: Any) -> Any:
        if isinstance(text, str):
            return self.normaliser(text)
        parts = map(self._normalised, text)
        return tuple(parts) if isinstance(text, tuple) else list(parts)
