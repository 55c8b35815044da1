"""Unfinished work on disk: written now and then, taken up again, refused where it is foreign."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from typing import Any, NamedTuple

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from pidlib.io.files import as_json, check_sha256, write_json, write_tensors

CARD = "fit.json"
_SUMS = re.compile(r"sums-\d+\.safetensors(\.partial)?")
_FOREIGN = (
    TypeError, AttributeError, LookupError, ArithmeticError, UnicodeDecodeError, RuntimeError,
    json.JSONDecodeError, SafetensorError,
)  # fmt: skip


class StoredState(NamedTuple):
    """What was kept: tensors by name, and what JSON can hold."""

    tensors: dict[str, Tensor]
    card: dict[str, Any]


class Checkpoint:
    """Where long work keeps what it has so far."""

    def __init__(self, folder: str | Path, of: Mapping[str, Any], every: float = 20.0) -> None:
        if not every >= 0:
            raise ValueError(f"every is {every}; give seconds, at least 0")
        self.folder, self.every = Path(folder), every
        self._of, self._about, self._last = dict(of), {}, monotonic()

    def begin(self, about: Mapping[str, Any]) -> StoredState | None:
        """Take up what was kept of this work; None where nothing was."""
        self._about = as_json({**self._of, **about})
        if not self.begun:
            return None
        with self.reading():
            card = json.loads((self.folder / CARD).read_text(encoding="utf-8"))
            of, file = card["of"], self.folder / card["file"]
            if file.parent != self.folder:
                raise LookupError(card["file"])
            changed = [k for k in {**of, **self._about} if of.get(k) != self._about.get(k)]
            if changed:
                pairs = [f"{k}: {of.get(k)!r} there, {self._about.get(k)!r} now" for k in changed]
                raise ValueError(
                    f"{self.folder.name} holds unfinished work of another kind ({'; '.join(pairs)})"
                )
            check_sha256(file, card["sha256"])
            # cloned: where a tensor lies in memory decides the last digit of sums on some processors
            tensors = {name: value.clone() for name, value in load_file(file).items()}
            return StoredState(tensors, card)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn what a card or tensors of another kind cause into one clear error."""
        try:
            yield
        except _FOREIGN as error:
            raise ValueError(
                f"{self.folder.name} holds no unfinished work that can be read ({error!r}); "
                "delete it"
            ) from None

    @property
    def due(self) -> bool:
        """Whether it is time to keep what there is."""
        return monotonic() - self._last >= self.every

    @property
    def begun(self) -> bool:
        """Whether something was kept."""
        return (self.folder / CARD).is_file()

    def keep(self, tensors: Mapping[str, Tensor], place: int, **card: Any) -> None:
        """Keep this; the old stays until the new is whole."""
        file = self.folder / f"sums-{place}.safetensors"
        digest = write_tensors(file, tensors)
        head = {"of": self._about, "file": file.name, "sha256": digest, "place": place}
        write_json(self.folder / CARD, head | card)
        self._remove(set(self._sums()) - {file})
        self._last = monotonic()

    def clear(self) -> None:
        """Remove what was kept, and the folder if nothing else is in it."""
        if self.begun or self._sums():  # the card goes first: it is refused without its tensors
            (self.folder / CARD).unlink(missing_ok=True)
            self._remove(self._sums())
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def _sums(self) -> list[Path]:
        """Files of tensors, whole or not."""
        return [path for path in self.folder.glob("sums-*") if _SUMS.fullmatch(path.name)]

    def _remove(self, files: Iterable[Path]) -> None:
        for path in files:
            path.unlink()
