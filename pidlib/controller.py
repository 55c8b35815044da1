"""Controllers: what can be attached to a model, kept in a folder and sent to a hub."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Self

from torch import Tensor, nn

from pidlib.bases import ControllerCard, FitRecord
from pidlib.gain import Gain
from pidlib.hooks import Blocks, Control, find_blocks
from pidlib.io.hub import folder_of, send
from pidlib.io.model_card import card, write_card
from pidlib.io.pretrained import foreign, read_card, read_tensors, refused, write_folder
from pidlib.io.records import read_record
from pidlib.io.strict_json import shorten
from pidlib.io.weights import first_weight


def free_blocks(model: nn.Module, blocks: str | nn.ModuleList | None = None) -> Blocks:
    """Find the blocks of a model to fit on; refuse one that some controller is attached to."""
    free = find_blocks(model, blocks)
    if free.is_controlled:
        raise ValueError("a controller is attached; fit on the uncontrolled model")
    return free


class Controller:
    """What all controllers share: they know their model, and hang on it while a context lasts.

    For its folder a subclass has FORMAT, CARD, `_contents` (what `write_folder` takes), `_layout` (a
    card's tensors) and `_built` (a controller of them).
    """

    FORMAT: ClassVar[str]
    _CARD: ClassVar[type[ControllerCard]]

    origin: FitRecord
    feedback: Mapping[int, Mapping[str, Gain]]
    hooked: list[int]
    skip_first: int = 0
    begin: Callable[[], Control]
    summary: Callable[[], str]
    diagnose: Callable[[], Any]

    def __repr__(self) -> str:
        """Name and summary on one line."""
        return f"<{type(self).__name__}: {self.summary()}>"

    def save_pretrained(self, folder: str | Path) -> None:
        """Write a folder of JSON and safetensors, whole or not at all, and a README.md if there is none."""
        write_folder(Path(folder), self.FORMAT, origin=asdict(self.origin), **self._contents())
        write_card(Path(folder), card(self.summary(), self.origin, self.diagnose().records()))

    @classmethod
    def from_pretrained(
        cls, folder: str | Path, allow_expanding: bool = False, revision: str | None = None
    ) -> Self:
        """Read a controller that `save_pretrained` wrote.

        The folder may come from anybody: it holds JSON and plain numbers, no code runs, and nothing
        outside it is read. What is foreign, truncated or changed is refused.

        Parameters
        ----------
        folder : path, or `owner/name` on HuggingFace's hub where there is no such folder
        allow_expanding : bool, whether states may grow
        revision : str, optional, a branch, tag or commit on the hub
        """
        place = folder_of(folder, revision)
        return cls.from_card(place, read_card(place), allow_expanding)

    @classmethod
    def from_card(cls, folder: Path, content: Mapping[str, Any], allow_expanding: bool) -> Self:
        """Read the rest of a folder whose card was read."""
        with foreign(folder):
            if content["format"] != cls.FORMAT:
                raise ValueError(
                    f"it holds a {shorten(content['format'])}, not a {cls.FORMAT}; "
                    "pidlib.load_controller reads either"
                )
            record = read_record(cls._CARD, content)
            if len(record.origin.blocks) != record.origin.depth:
                raise ValueError(
                    f"the controller is incomplete: checksums of {len(record.origin.blocks)} "
                    f"blocks, depth {record.origin.depth}; fit and save it again"
                )
            layout = cls._layout(record)
        tensors = read_tensors(folder, record.tensors, layout)
        with refused(folder):
            return cls._built(record, tensors, allow_expanding)

    def push_to_hub(
        self, name: str, *, private: bool | None = None, token: str | None = None, **commit: Any
    ) -> str:
        """Send the controller to HuggingFace's hub, with its card; return the commit's address.

        The repository `owner/name` is made when missing, `private` or not; `token` is by default the one
        that is logged in, `commit` may hold `revision` (branch to write to) and `commit_message`.
        """
        with TemporaryDirectory() as folder:
            self.save_pretrained(folder)
            return send(Path(folder), name, private, token, **commit)

    @property
    def sha256(self) -> str:
        """Hash of the gains, 64 hexadecimal digits."""
        digest = hashlib.sha256()
        for t, kinds in sorted(self.feedback.items()):
            for kind, gain in kinds.items():
                digest.update(f"{t} {kind}\n".encode())
                for part in filter(lambda p: p is not None, (gain.matrix(), gain.offset)):
                    digest.update(part.detach().cpu().float().contiguous().numpy().data)
        return digest.hexdigest()

    @property
    def depth(self) -> int:
        """Number of blocks T, controlled or not: the horizon of alpha."""
        return self.origin.depth

    @contextmanager
    def attached(
        self,
        model: nn.Module,
        instead: Callable[[int, Tensor, Tensor | None], Tensor] | None = None,
    ) -> Iterator[nn.Module]:
        """Control a model for as long as the context lasts; afterwards it is as it was.

        The model is that of the fit or a copy, on any device, in any type and mode; one with other
        weights or a controller is refused. Where no state has a gain the answers stay bit for bit.
        `instead` gets t, u_t (B, l, d) and the mask of real tokens, and gives what is added for u_t.

        Every call is controlled, whatever thread or task it comes from: attach once, then serve. Calls
        under way while the context opens or closes are controlled in part.
        """
        with self.claimed(model) as blocks:
            if not self.feedback:
                yield model
                return
            gains = [(t, gain) for t, kinds in self.feedback.items() for gain in kinds.values()]
            for t, gain in gains:
                if (weight := first_weight(blocks.modules[t])) is not None:
                    gain.factors(weight.dtype, weight.device)
            how = {"layers": self.hooked, "skip_first": self.skip_first}
            try:
                with blocks.control(begin=lambda: _replaced(self.begin(), instead), **how):
                    yield model
            finally:
                for _, gain in gains:
                    gain.release()

    @contextmanager
    def claimed(self, model: nn.Module, alone: bool = True) -> Iterator[Blocks]:
        """Keep every other controller off a model, and yield its blocks, while a context lasts.

        Unless `alone`, private controls of other threads and tasks may act beside.
        """
        origin, blocks = self.origin, find_blocks(model, self.origin.block_list)
        if blocks.depth != origin.depth:
            raise ValueError(
                f"the controller was fitted on {origin.architecture} with {origin.depth} blocks; "
                f"{type(model).__name__} has {blocks.depth}: fit on this model"
            )
        if changed := origin.changed(blocks):
            raise ValueError(
                f"the controller was fitted on other weights: {len(changed)} of {blocks.depth} "
                f"blocks differ ({', '.join(changed)}); fit on this model, or attach to that one"
            )
        with blocks.held(alone):
            yield blocks


def _replaced(
    law: Control, instead: Callable[[int, Tensor, Tensor | None], Tensor] | None
) -> Control:
    """Wrap a law: its control is computed, and another, if any, is added in its place."""
    if instead is None:
        return law

    def control(t: int, x: Tensor, mask: Tensor | None) -> Tensor | None:
        new = law(t, x, mask)
        return None if new is None else x + instead(t, new - x, mask)

    return control
