"""A feedback on the states of a model: what can be attached, for as long as a context lasts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from weakref import WeakKeyDictionary

from torch import Tensor, nn

from pidlib.bases import Origin
from pidlib.gain import Gain
from pidlib.hooks import Blocks, Control, changed_blocks, find_blocks
from pidlib.io.hub import send

_ATTACHED: WeakKeyDictionary[nn.Module, Feedback] = WeakKeyDictionary()


def is_controlled(found: Blocks) -> bool:
    """Whether some feedback is attached to these blocks.

    Parameters
    ----------
    found : Blocks
        As `pidlib.hooks.find_blocks` gives them.

    Returns
    -------
    bool
    """
    return found.modules[0] in _ATTACHED


class Feedback:
    """What all controllers share: they know their model, and hang on it while a context lasts.

    A subclass has `origin` (the model of its fit), `feedback` (gain matrices by controlled
    state), `hooked` (blocks to hook), `begin` (makes the law for one forward call) and
    `summary`.

    Source: paper Eq. (1).
    """

    origin: Origin
    feedback: Mapping[int, Mapping[str, Gain]]
    hooked: list[int]

    def begin(self) -> Control:
        """Make the law anew, for one forward call of the model.

        Returns
        -------
        Control
            A function of the block's number, its input and the mask.
        """
        raise NotImplementedError

    def summary(self) -> str:
        """Return settings and fit on one line.

        Returns
        -------
        str
        """
        raise NotImplementedError

    def save_pretrained(self, folder: str | Path) -> None:
        """Write the controller to a folder, whole or not at all.

        Parameters
        ----------
        folder : path
        """
        raise NotImplementedError

    def push_to_hub(
        self,
        name: str,
        *,
        private: bool | None = None,
        token: str | None = None,
        revision: str | None = None,
        commit_message: str | None = None,
    ) -> str:
        """Send the controller to HuggingFace's hub, with its card.

        Parameters
        ----------
        name : str
            `owner/name`; made when missing.
        private : bool, optional
            Of a repository that is made.
        token : str, optional
            The one that is logged in by default.
        revision : str, optional
            Branch to write to.
        commit_message : str, optional

        Returns
        -------
        str
            Address of the commit.
        """
        with TemporaryDirectory() as folder:
            self.save_pretrained(folder)
            return send(
                Path(folder), name, private, token=token, revision=revision,
                commit_message=commit_message,
            )  # fmt: skip

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
        """Control a model for as long as the context lasts.

        The model is left as it was, also after an exception. Where no state has a gain
        nothing is hooked, so the model's answers are those of the base model bit for bit.

        Parameters
        ----------
        model : torch.nn.Module
            The model of the fit or a copy of it, on any device, in any floating type, in
            evaluation or training mode.
        instead : callable (t, u, mask) -> tensor, optional
            Gets the control u_t (B, l, d) and the mask of real tokens; what it returns is
            added to the state in place of u_t. See `pidlib.evaluation.placebos`.

        Yields
        ------
        torch.nn.Module
            The same model.

        Raises
        ------
        ValueError
            Another architecture, or other weights in some block.
        RuntimeError
            A controller is attached to this model already.

        Source: paper Eq. (1).
        """
        with self.claimed(model) as found:
            if not self.feedback:
                yield model
                return
            for t, kinds in self.feedback.items():
                for weight in list(found.modules[t].parameters())[:1]:
                    for gain in kinds.values():
                        gain.factors(weight.dtype, weight.device)
            begin = self.begin if instead is None else _replacing(self.begin, instead)
            with found.control(begin=begin, layers=self.hooked):
                yield model

    @contextmanager
    def claimed(self, model: nn.Module) -> Iterator[Blocks]:
        """Keep every other controller off a model for as long as the context lasts.

        Parameters
        ----------
        model : torch.nn.Module

        Yields
        ------
        Blocks
            The model's blocks.

        Raises
        ------
        ValueError, RuntimeError
            As `attached`.
        """
        found = self._recognise(model)
        first = found.modules[0]
        if is_controlled(found):
            raise RuntimeError(
                "a controller is attached to this model already; leave its `with` block first"
            )
        _ATTACHED[first] = self
        try:
            yield found
        finally:
            _ATTACHED.pop(first, None)

    def _recognise(self, model: nn.Module) -> Blocks:
        """Find the model's blocks and refuse those that were not fitted on."""
        origin = self.origin
        found = find_blocks(model, origin.block_list)
        if found.depth != origin.depth:
            raise ValueError(
                f"the controller was fitted on {origin.architecture} with {origin.depth} blocks; "
                f"{type(model).__name__} has {found.depth}: fit on this model"
            )
        changed = changed_blocks(found, origin.blocks)
        if changed:
            raise ValueError(
                f"the controller was fitted on other weights: {len(changed)} of {found.depth} "
                f"blocks differ ({', '.join(changed)}); fit on this model, or attach to that one"
            )
        return found


def _replacing(
    begin: Callable[[], Control], instead: Callable[[int, Tensor, Tensor | None], Tensor]
) -> Callable[[], Control]:
    """Wrap a law: its control is computed, and another is added in its place."""

    def wrapped() -> Control:
        law = begin()

        def control(t: int, x: Tensor, mask: Tensor | None) -> Tensor | None:
            new = law(t, x, mask)
            return None if new is None else x + instead(t, new - x, mask)

        return control

    return wrapped
