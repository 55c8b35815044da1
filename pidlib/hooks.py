"""Where the states of a transformer live, and how a control reaches them.

The paper's Eq. (1) reads a transformer of T blocks as the system x_{t+1} = F_t(x_t + u_t).
The state x_t is the input of block t: x_0 is the output of the embedding, and x_T, the output of
the last block, is read but never controlled. Hooks read and control, not `hidden_states`, whose
last entry GPT-2, OPT and LLaMA have already normalised. The model stays as it is.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

STATE = ("hidden_states", "hidden_state", "x")
"""Names that transformers gives to a state that a block takes."""

Control = Callable[[int, Tensor, Tensor | None], Tensor | None]


class States(NamedTuple):
    """The states of one batch on its way through a model.

    Attributes
    ----------
    values : list of T + 1 tensors (B, l, d), x_0 to x_T before any control
    mask : (B, l) bool tensor, true at real tokens
    logits : tensor, or None for a model without a head
    """

    values: list[Tensor]
    mask: Tensor
    logits: Tensor | None


@dataclass(frozen=True)
class Blocks:
    """The block list of a model.

    Attributes
    ----------
    model : torch.nn.Module
    names, modules : tuple, dotted names of the T blocks in the model, and the blocks
    """

    model: nn.Module
    names: tuple[str, ...]
    modules: tuple[nn.Module, ...]

    @property
    def depth(self) -> int:
        """Number of blocks T."""
        return len(self.modules)

    @property
    def width(self) -> int | None:
        """Width d of a state; None when the model's configuration does not tell."""
        return getattr(_text_config(self.model), "hidden_size", None)

    @contextmanager
    def control(
        self,
        fn: Control | None = None,
        layers: Sequence[int] | None = None,
        begin: Callable[[], Control] | None = None,
        skip_first: int = 0,
    ) -> Iterator[None]:
        """Apply a control before blocks (all by default), for as long as the context lasts.

        `fn` gets t, x_t (B, l, d) and the mask (B, l, 1) of real tokens or None; it returns x_t + u_t, or
        None to leave the state alone. `begin`, in its place, makes one for each forward call. In the mask
        the first `skip_first` positions of each text are padding, wherever the text began: they are
        counted in `attention_mask`, which with a cache holds all earlier tokens; without a mask by
        `cache_position`, or the length of the cache. Code made by `torch.compile`, blind to new hooks,
        is thrown away.
        """
        if (fn is None) == (begin is None):
            raise TypeError("give either fn or begin, and not both")
        chosen = list(range(self.depth) if layers is None else layers)
        calls = _Calls(begin or (lambda: fn), skip_first)
        with ExitStack() as hooks:
            hooks.callback(_forget_compiled)
            hooks.enter_context(calls.watching(self))
            for t in chosen:
                module = self.modules[t]
                hook = _before(t, _first_name(module), calls, starts=t == min(chosen))
                hooks.enter_context(module.register_forward_pre_hook(hook, with_kwargs=True))
            _forget_compiled()
            yield

    @contextmanager
    def reading(self) -> Iterator[list[Tensor]]:
        """Collect the states x_0, ..., x_T of the last forward call in a list, before any control."""
        states: list[Tensor] = []

        def before(module, args, kwargs):
            if module is self.modules[0]:
                states.clear()
            states.append(args[0] if args else kwargs[_first_name(module)])

        def after(_module, _args, output):
            states.append(output[0] if isinstance(output, tuple) else output)

        with ExitStack() as hooks:
            hooks.enter_context(torch.compiler.set_stance("force_eager"))  # see `control`
            for module in self.modules:
                hook = module.register_forward_pre_hook(before, with_kwargs=True, prepend=True)
                hooks.enter_context(hook)
            hooks.enter_context(self.modules[-1].register_forward_hook(after))
            yield states


class _Call:
    """One forward call under way: its control, its attention mask, and how many tokens came before."""

    def __init__(self, fn: Control, mask: Tensor | None = None, before: int = 0, skip: int = 0):
        self.fn, self.mask, self.before, self.skip, self.cut = fn, mask, before, skip, None

    def mask_of(self, x: Tensor) -> Tensor | None:
        """Mask (B, l, 1) of the tokens in x to control, or None when these are known to be all."""
        if x.dim() == 2 and not self.skip:  # flash attention in ModernBERT leaves padding out
            return None
        if self.mask is None and not self.skip:
            return None
        if self.cut is None:
            if self.mask is None:
                self.mask = x.new_ones(len(x), self.before + x.shape[1])
            cut = token_mask(self.mask, x)
            if self.skip:
                past_first = after_first(self.mask != 0, self.skip)[:, -x.shape[1] :]
                cut = cut & past_first.to(x.device)
            self.cut = cut[..., None]
            # A look at the values would break a compiled graph; there the mask stays.
            if not torch.compiler.is_compiling() and bool(self.cut.all()):
                self.mask, self.skip = None, 0
                return None
        return self.cut


class _Calls:
    """The forward calls under way, innermost last."""

    def __init__(self, begin: Callable[[], Control], skip: int = 0):
        self.begin, self.skip = begin, skip
        self.stack: list[_Call] = []
        self.bare: _Call | None = None

    def current(self, starts: bool) -> _Call:
        """Innermost call; one without a mask when the blocks run outside the model's forward."""
        if self.stack:
            return self.stack[-1]
        if starts or self.bare is None:
            self.bare = _Call(self.begin(), skip=self.skip)
        return self.bare

    @contextmanager
    def watching(self, blocks: Blocks) -> Iterator[None]:
        """Note when a forward call of the model, or of a part that holds the blocks, begins and ends.

        A part is called by itself by `generate`: of peft the model within, of T5 the encoder.
        """
        names = blocks.names[0].split(".")[:-2]
        with ExitStack() as hooks:
            for k in range(len(names) + 1):
                part = blocks.model.get_submodule(".".join(names[:k]))
                enter = self._noting(list(inspect.signature(part.forward).parameters), whole=k == 0)
                hooks.enter_context(
                    part.register_forward_pre_hook(enter, with_kwargs=True, prepend=True)
                )
                hooks.enter_context(part.register_forward_hook(self._leave, always_call=True))
            yield

    def _noting(self, names: Sequence[str], whole: bool) -> Callable:
        """Make the hook that notes a call of the whole model, or of a part by itself."""

        def enter(_module, args, kwargs):
            if self.stack and not whole:
                self.stack.append(self.stack[-1])
                return
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            mask = given.get("attention_mask")
            if not whole and (mask is None or mask.dim() != 2):  # prepared for attention
                mask = None
            before = _tokens_before(given) if self.skip and mask is None else 0
            self.stack.append(_Call(self.begin(), mask, before, self.skip))

        return enter

    def _leave(self, *_: Any) -> None:
        if self.stack:
            self.stack.pop()


def _tokens_before(given: Mapping[str, Any]) -> int:
    """How many tokens a cache holds, by the arguments of a forward call."""
    if given.get("cache_position") is not None:
        return int(given["cache_position"][0])
    cache = given.get("past_key_values")
    return int(cache.get_seq_length()) if hasattr(cache, "get_seq_length") else 0


def after_first(real: Tensor, skip: int) -> Tensor:
    """Real tokens (B, l) but the first few of each row."""
    return real & (real.cumsum(1) > skip) if skip else real


def _forget_compiled() -> None:
    """Throw away compiled code, if there can be any."""
    if "torch._dynamo" in sys.modules and not torch.compiler.is_compiling():
        torch.compiler.reset()


def _before(t: int, name: str, calls: _Calls, starts: bool) -> Callable:
    """Make the hook that puts the controlled state in the place of x_t in the arguments."""

    def hook(_module, args, kwargs):
        call = calls.current(starts)
        x = args[0] if args else kwargs[name]
        new = call.fn(t, x, call.mask_of(x))
        if new is None:
            return None
        if args:
            return (new, *args[1:]), kwargs
        return args, {**kwargs, name: new}

    return hook


def _first_name(module: nn.Module) -> str:
    """Name under which a block takes its state when it is not given by place."""
    return next(iter(inspect.signature(module.forward).parameters), "")


def token_mask(mask: Tensor | None, x: Tensor) -> Tensor:
    """Which tokens of a state (B, l, d) are real, (B, l), by the last l columns of `attention_mask`."""
    batch, length = x.shape[:2]
    if mask is None:
        return torch.ones(batch, length, dtype=torch.bool, device=x.device)
    if mask.dim() != 2 or mask.shape[0] != batch or mask.shape[1] < length:
        raise ValueError(
            f"attention_mask has the shape {tuple(mask.shape)}; give one entry per token, "
            f"({batch}, {length}), 1 for a real token and 0 for padding"
        )
    return (mask[:, mask.shape[1] - length :] != 0).to(x.device)


def uncached(model: nn.Module, inputs: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Arguments of a forward call that keeps no keys and values for a next one, and more it may take."""
    names = inspect.signature(model.forward).parameters
    return {**inputs, **{k: v for k, v in {"use_cache": False, **more}.items() if k in names}}


def find_blocks(model: nn.Module, blocks: str | nn.ModuleList | None = None) -> Blocks:
    """Find the block list of a transformer.

    Parameters
    ----------
    model : torch.nn.Module
        A model of transformers, bare, with a head, or wrapped by peft or `torch.compile`: the list is
        known by its length, of an encoder and a decoder it is the encoder's. Not so where layers share
        weights (ALBERT), lie in several lists (XLM) or are of several classes (Jamba).
    blocks : str or torch.nn.ModuleList, optional
        For any other model: the list or its dotted name, such as "net.layers". Each block takes the
        state first and returns the next one (or a tuple that begins with it).

    Returns
    -------
    Blocks

    Examples
    --------
    >>> from transformers import GPT2Config, GPT2Model
    >>> model = GPT2Model(GPT2Config(n_layer=2, n_embd=8, n_head=2, vocab_size=9))
    >>> find_blocks(model).names
    ('h.0', 'h.1')

    Source: paper Eq. (1), "F_t represents a transformer block".
    """
    model = getattr(model, "_orig_mod", model)
    lists = {n: m for n, m in model.named_modules() if isinstance(m, nn.ModuleList) and len(m)}
    depth = getattr(_text_config(model), "num_hidden_layers", None)
    if blocks is None:
        names = _lists_of_blocks(model, lists, depth)
    elif isinstance(blocks, str):
        names = [blocks] if blocks in lists else []
    else:
        names = [name for name, module in lists.items() if module is blocks]
    if len(names) != 1:
        kind = getattr(getattr(model, "config", None), "model_type", None) or "unknown"
        given = f"blocks={blocks!r}" if isinstance(blocks, str) else "blocks given"
        given = f"{depth or 'unknown'} blocks by its configuration" if blocks is None else given
        raise ValueError(
            f"cannot find the blocks of {type(model).__name__} (model_type {kind!r}, "
            f"{given}); give blocks='the.name' of their list in the model; its lists are "
            f"{ {name: len(module) for name, module in lists.items()} }"
        )
    modules = tuple(lists[names[0]])
    return Blocks(model, tuple(f"{names[0]}.{t}" for t in range(len(modules))), modules)


def _text_config(model: nn.Module) -> Any:
    """The configuration of a model, or of its language model where it has others beside."""
    config = getattr(model, "config", None)
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _lists_of_blocks(
    model: nn.Module, lists: Mapping[str, nn.ModuleList], depth: int | None
) -> list[str]:
    """Names of lists of so many blocks, all of one class that takes a state first."""
    names = []
    for name, modules in lists.items():
        within = any(name.startswith(f"{outer}.") for outer in names)  # experts, sublayers
        alike = len({type(module) for module in modules}) == 1
        if len(modules) == depth and alike and not within and _first_name(modules[0]) in STATE:
            names.append(name)
    if len(names) > 1 and getattr(model.config, "is_encoder_decoder", False):
        return [name for name in names if "encoder" in name.split(".")]
    return names


def read_states(
    model: nn.Module, inputs: Mapping[str, Any], blocks: str | nn.ModuleList | Blocks | None = None
) -> States:
    """Run a model once and read its states x_0, ..., x_T; gradients flow when they are on.

    Parameters
    ----------
    model, blocks
        As for `find_blocks`; a controller may be attached.
    inputs : mapping of str to tensor, arguments of the model's forward

    Returns
    -------
    States

    Examples
    --------
    >>> from transformers import GPT2Config, GPT2Model
    >>> model = GPT2Model(GPT2Config(n_layer=2, n_embd=8, n_head=2, vocab_size=9)).eval()
    >>> len(read_states(model, {"input_ids": torch.tensor([[1, 2, 3]])}).values)
    3
    """
    blocks = blocks if isinstance(blocks, Blocks) else find_blocks(model, blocks)
    with blocks.reading() as values:
        output = blocks.model(**inputs)
    shapes = {tuple(x.shape) for x in values}
    if len(shapes) != 1 or values[0].dim() != 3:
        raise ValueError(
            f"the blocks of {type(blocks.model).__name__} take and give states of the shapes "
            f"{sorted(shapes)}; they have to be (rows, tokens, width), the same for all: give "
            "blocks='another.list', or, where padding is left out, attn_implementation='sdpa'"
        )
    mask = token_mask(inputs.get("attention_mask"), values[0])
    return States(list(values), mask, getattr(output, "logits", None))
