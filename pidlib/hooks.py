"""Where the states of a transformer live, and how a control reaches them.

The paper's Eq. (1) reads a transformer of T blocks as the system x_{t+1} = F_t(x_t + u_t).
The state x_t is the input of block t: x_0 is the output of the embedding, and x_T, the output of
the last block, is read but never controlled. Hooks read and control, not `hidden_states`, whose
last entry GPT-2, OPT and LLaMA have already normalised. The model stays as it is.

A control acts on every call of its model, from whatever thread or task: attach it once, before the
first call, and serve. Each call has a law, a mask and a count of tokens of its own. What is read, or
controlled in private, in one thread or task sees the calls of this one alone. A copy of a model,
made while it is controlled or read, is free.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, wraps
from threading import RLock, local
from types import MethodType
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from pidlib.tokens import Tokens, columns, text_length

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


_LOCK = RLock()
_HERE: ContextVar[tuple[_Scope, ...]] = ContextVar("pidlib_private_scopes", default=())
_HOLDS: WeakKeyDictionary[nn.Module, _Hold] = WeakKeyDictionary()


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

    @property
    def parts(self) -> list[nn.Module]:
        """The model and its parts that hold the blocks, the outermost first."""
        names = self.names[0].split(".")[:-2]
        return [self.model.get_submodule(".".join(names[:k])) for k in range(len(names) + 1)]

    @property
    def is_controlled(self) -> bool:
        """Whether a control acts on these blocks, or keeps others off them."""
        return self.modules[0] in _HOLDS and _HOLDS[self.modules[0]].owner is not None

    @contextmanager
    def held(self, alone: bool = True) -> Iterator[None]:
        """Keep every other control off the blocks; unless `alone`, fits and searches may share them."""
        with _LOCK:
            hold = _HOLDS.setdefault(self.modules[0], _Hold())
            hold.check(self if not alone else None, alone)
            hold.owner, hold.sharing = (self, 0) if alone else (hold.owner, hold.sharing + 1)
        try:
            yield
        finally:
            with _LOCK:
                if alone:
                    hold.owner = None
                else:
                    hold.sharing -= 1

    @contextmanager
    def control(
        self,
        fn: Control | None = None,
        layers: Sequence[int] | None = None,
        begin: Callable[[], Control] | None = None,
        skip_first: int = 0,
        private: bool = False,
    ) -> Iterator[None]:
        """Apply a control before blocks (all by default), for as long as the context lasts.

        `fn` gets t, x_t (B, l, d) and the mask (B, l, 1) of real tokens or None where all are; it returns
        x_t + u_t, or None to leave the state alone. `begin`, in its place, makes one for each forward
        call. The first `skip_first` tokens of each text count as padding, wherever the text began; so
        does what the model adds to its input (virtual tokens of peft, padding up to a whole window).
        Tokens are counted in `attention_mask`, which with a cache holds all earlier ones; where there is
        none by `cache_position`, the length of the cache, or `position_ids`, which count from 0.

        A second control is refused. A `private` one acts on calls of this thread or task alone, and
        bears others of its kind beside it. Code that `torch.compile` made stays valid for the model
        without this control; a private control puts all compiled code aside.
        """
        if (fn is None) == (begin is None):
            raise TypeError("give either fn or begin, and not both")
        chosen = list(range(self.depth) if layers is None else layers)
        scope = _Controlling(self, chosen, begin or (lambda: fn), skip_first)
        with ExitStack() as stack:
            if private:
                stack.enter_context(self.held(alone=False))
                stack.enter_context(scope.here_alone())
            else:
                stack.enter_context(self._acting())
                for module in {*self.parts, *(self.modules[t] for t in chosen)}:
                    stack.enter_context(_marked(module))
            scope.watch(stack)
            yield

    @contextmanager
    def _acting(self) -> Iterator[None]:
        """Hold the blocks for one control; those whom `held` keeps for its caller are held already."""
        with ExitStack() as stack:
            with _LOCK:
                hold = _HOLDS.get(self.modules[0])
                if hold is None or hold.owner is not self:
                    stack.enter_context(self.held())
                    hold = _HOLDS[self.modules[0]]
                elif hold.acting:
                    hold.check(None, alone=True)
                hold.acting = True
            try:
                yield
            finally:
                hold.acting = False

    @contextmanager
    def reading(self) -> Iterator[list[Tensor]]:
        """Collect the states x_0, ..., x_T of the last forward call in a list, before any control.

        Only calls of this thread or task are read; they run without compiled code.
        """
        scope = _Reading(self, range(self.depth))
        with self._reading(scope):
            yield scope.states

    @contextmanager
    def _reading(self, scope: _Reading) -> Iterator[None]:
        with ExitStack() as stack:
            stack.enter_context(scope.here_alone())
            scope.watch(stack)
            yield


@dataclass
class _Hold:
    """Who keeps others off a list of blocks; whether a control acts; how many fits and searches share."""

    owner: Blocks | None = None
    acting: bool = False
    sharing: int = 0

    def check(self, owner: Blocks | None, alone: bool) -> None:
        """Refuse a newcomer where another owner holds the blocks, or others share what it wants alone."""
        if self.owner is not None and self.owner is not owner:
            raise RuntimeError(
                "a controller is attached to this model already; leave its `with` block first"
            )
        if alone and self.sharing:
            raise RuntimeError(
                "a fit or a search for controls is under way on this model; attach when it has ended"
            )


class _Calls(local):
    """The forward calls under way in this thread, innermost last, and one of blocks by themselves."""

    def __init__(self) -> None:
        self.stack: tuple[_Call, ...] = ()
        self.bare: _Call | None = None


class _Call:
    """One forward call under way: its control, and which of its tokens are real."""

    def __init__(self, fn: Control | None, tokens: Tokens, skip: int = 0) -> None:
        self.fn, self.tokens, self.skip = fn, tokens, skip
        self.shape: tuple[int, ...] | None = None
        self.mask: Tensor | None = None

    def mask_of(self, x: Tensor) -> Tensor | None:
        """Mask (B, l, 1) of the tokens in x to control, or None when these are known to be all."""
        if x.dim() == 2:  # flash attention in ModernBERT leaves padding out
            if self.skip:
                raise ValueError(
                    f"the states have the shape {tuple(x.shape)}, so skip_first={self.skip} cannot be "
                    "counted; load the model with attn_implementation='sdpa'"
                )
            return None
        shape = tuple(x.shape[:2])
        if shape != self.shape:
            self.shape, self.mask = shape, None
            plain = self.tokens.mask is None and not self.skip and not self.tokens.virtual
            if not plain or self.tokens.length not in (None, shape[1]):
                self.mask = self.tokens.counted(x, self.skip)[..., None]
                # A look at the values would break a compiled graph; there the mask stays.
                if not torch.compiler.is_compiling() and bool(self.mask.all()):
                    self.mask = None
        return self.mask


class _Scope:
    """What acts on the forward calls of a model while a context lasts."""

    private = False
    first = False  # whether its hooks run before all others

    def __init__(self, blocks: Blocks, layers: Sequence[int], skip: int = 0) -> None:
        self.blocks, self.layers, self.skip = blocks, layers, skip
        self.starts = min(layers, default=0)
        self.calls = _Calls()

    def begin(self) -> Control | None:
        """Make what is done in one forward call."""
        return None

    def check(self) -> None:
        """Refuse a call that cannot be served."""

    def at(self, call: _Call, t: int, x: Tensor) -> Tensor | None:
        """Return what takes the place of a state, or None."""
        raise NotImplementedError

    @contextmanager
    def here_alone(self) -> Iterator[None]:
        """Act on calls of this thread or task only, which run without compiled code."""
        self.private = True
        _HERE.set((*_HERE.get(), self))
        try:
            with _EAGER:
                yield
        finally:
            _HERE.set(tuple(scope for scope in _HERE.get() if scope is not self))

    def watch(self, stack: ExitStack) -> None:
        """Hang the hooks on the model: on the blocks, and on the parts that hold them.

        A part is called by itself by `generate`: of peft the model within, of T5 the encoder.
        """
        for k, part in enumerate(self.blocks.parts):
            self.hang(stack, part, self._entering(_parameters(part), whole=k == 0), first=True)
            self.hang(stack, part, self._leave, before=False)
        for t in self.layers:
            module = self.blocks.modules[t]
            self.hang(stack, module, self._before(t, _first_name(module)), first=self.first)

    def hang(
        self, stack: ExitStack, module: nn.Module, act: Callable, before: bool = True,
        first: bool = False,
    ) -> None:  # fmt: skip
        """Hang a hook on a module, before or (always) after its forward, as long as a stack lasts.

        Its key is no number of torch's: compiled code, which knows the key, is valid again when the next
        control is attached.
        """
        key = f"pidlib {id(self)}" if self.private else "pidlib"
        if before:
            places = module._forward_pre_hooks, module._forward_pre_hooks_with_kwargs
        else:
            places = module._forward_hooks, module._forward_hooks_always_called
        for place, value in zip(places, (_Hook(self, act), True), strict=True):
            place[key] = value
            stack.callback(place.pop, key, None)
        if first:
            places[0].move_to_end(key, last=False)

    def _entering(self, names: Sequence[str], whole: bool) -> Callable:
        """Make the hook that notes a call of the whole model, or of a part."""

        def enter(part: nn.Module, args: tuple, kwargs: dict[str, Any]) -> None:
            outer = self.calls.stack[-1] if self.calls.stack and not whole else None
            given = {**dict(zip(names, args, strict=False)), **kwargs}
            if outer is None:
                self.check()
            elif text_length(given) is None:  # its mask, if any, is prepared for attention
                self.calls.stack = (*self.calls.stack, outer)
                return
            call = outer
            if outer is None or columns(given) != outer.tokens.columns:
                virtual = 0 if whole else _virtual_tokens(self.blocks.model)
                tokens = Tokens.of(part, given, virtual, self.skip)
                call = _Call(self.begin() if outer is None else outer.fn, tokens, self.skip)
            self.calls.stack = (*self.calls.stack, call)

        return enter

    def _leave(self, *_: Any) -> None:
        self.calls.stack = self.calls.stack[:-1]

    def _before(self, t: int, name: str) -> Callable:
        """Make the hook that puts another state in the place of x_t in the arguments."""

        def before(_module: nn.Module, args: tuple, kwargs: dict[str, Any]) -> Any:
            x = args[0] if args else kwargs[name]
            new = self.at(self._call(t), t, x)
            if new is None:
                return None
            if args:
                return (new, *args[1:]), kwargs
            return args, {**kwargs, name: new}

        return before

    def _call(self, t: int) -> _Call:
        """The innermost call; one without a mask when the blocks run outside the model's forward."""
        if self.calls.stack:
            return self.calls.stack[-1]
        if t == self.starts or self.calls.bare is None:
            self.calls.bare = _Call(self.begin(), Tokens(), self.skip)
        return self.calls.bare


class _Controlling(_Scope):
    """A control while its context lasts."""

    def __init__(
        self, blocks: Blocks, layers: Sequence[int], begin: Callable[[], Control], skip: int
    ) -> None:
        super().__init__(blocks, layers, skip)
        self.begin = begin

    def check(self) -> None:
        """Refuse gradient checkpointing where it would run a block again without its control."""
        first = self.blocks.modules[0]
        if first.training and torch.is_grad_enabled() and _runs_again(first, self.blocks.parts):
            raise RuntimeError(_CHECKPOINTING)

    def at(self, call: _Call, t: int, x: Tensor) -> Tensor | None:
        """Return the controlled state, or None."""
        return call.fn(t, x, call.mask_of(x))

    def _call(self, t: int) -> _Call:
        if not torch.compiler.is_compiling() and not self.calls.stack:
            if torch._C._current_graph_task_id() != -1:  # on the way back
                raise RuntimeError(_CHECKPOINTING)
        return super()._call(t)


_CHECKPOINTING = (
    "gradient checkpointing would run blocks again, on the way back, outside of the call that is "
    "controlled, and give wrong gradients; switch it off (model.gradient_checkpointing_disable()), or "
    "take a transformers whose blocks keep hooks out of it (5.24 does)"
)


class _Reading(_Scope):
    """The states of the last forward call, while a context lasts."""

    first = True

    def __init__(self, blocks: Blocks, layers: Sequence[int]) -> None:
        super().__init__(blocks, layers)
        self.states: list[Tensor] = []
        self.tokens = Tokens()

    def at(self, call: _Call, t: int, x: Tensor) -> None:
        """Note a state."""
        if t == 0:
            self.states.clear()
            self.tokens = call.tokens
        self.states.append(x)

    def watch(self, stack: ExitStack) -> None:
        """Hang the hooks on the model, one more on its last block."""
        super().watch(stack)
        self.hang(stack, self.blocks.modules[-1], self._after, before=False)

    def _after(self, _module: nn.Module, _args: tuple, output: Any) -> None:
        if output is not None:  # else the block failed
            self.states.append(output[0] if isinstance(output, tuple) else output)


class _Hook:
    """A hook of a scope; a copy of it, or what is unpickled, does nothing."""

    def __init__(self, scope: _Scope, act: Callable) -> None:
        self.scope, self.act = scope, act

    def __call__(self, module: nn.Module, *given: Any) -> Any:
        if self.scope.private and self.scope not in _HERE.get():
            return None
        return self.act(module, *given)

    def __reduce__(self) -> tuple:
        return _nothing, ()


def _nothing() -> Callable:
    """Make a hook that does nothing."""
    return _idle


def _idle(*_: Any) -> None:
    """Do nothing."""


@contextmanager
def _marked(module: nn.Module) -> Iterator[None]:
    """Make compiled code that includes a module's forward invalid while the context lasts.

    New hooks do not (torch._dynamo.config.skip_nnmodule_hook_guards); a forward of the module's own does.
    """
    own = vars(module).get("forward")
    if own is None:
        marks = {"forward": MethodType(type(module).forward, module)}
        marks["_replicate_for_data_parallel"] = MethodType(_replicate_for_data_parallel, module)
    else:
        marks = {"forward": wraps(own)(lambda *args, **kwargs: own(*args, **kwargs))}
    vars(module).update(marks)
    try:
        yield
    finally:
        for name, mark in marks.items():
            if vars(module).get(name) is mark:
                del vars(module)[name]
                vars(module).update({} if own is None else {"forward": own})


def _replicate_for_data_parallel(module: nn.Module) -> nn.Module:
    """Make a replica of a marked module; its forward must be its own."""
    replica = type(module)._replicate_for_data_parallel(module)
    for name in ("forward", "_replicate_for_data_parallel"):
        vars(replica).pop(name, None)
    return replica


class _EagerCode:
    """A context, shared by all threads, in which compiled code is put aside, not thrown away."""

    def __init__(self) -> None:
        self.inside, self.stance = 0, None

    def __enter__(self) -> None:
        with _LOCK:
            if not self.inside:
                self.stance = torch.compiler.set_stance("force_eager")
            self.inside += 1

    def __exit__(self, *_: Any) -> None:
        with _LOCK:
            self.inside -= 1
            if not self.inside:
                self.stance.__exit__(None, None, None)


_EAGER = _EagerCode()


def _runs_again(block: nn.Module, parts: Sequence[nn.Module]) -> bool:
    """Whether gradient checkpointing takes in the hooks of a block."""
    if hasattr(block, "gradient_checkpointing"):  # around its __call__, or within its forward
        return block.gradient_checkpointing and type(block).__call__ is not nn.Module.__call__
    return any(getattr(part, "gradient_checkpointing", False) for part in parts)


def _virtual_tokens(model: nn.Module) -> int:
    """Virtual tokens that peft puts before a text."""
    if getattr(model, "_adapters_disabled", True) or not hasattr(model, "peft_config"):
        return 0
    config = model.peft_config.get(model.active_adapter)
    return config.num_virtual_tokens if getattr(config, "is_prompt_learning", False) else 0


def _parameters(module: nn.Module) -> tuple[str, ...]:
    """Names of the arguments of a module's forward."""
    forward = module.forward
    if isinstance(forward, MethodType):
        return _names_of(forward.__func__)[1:]
    return tuple(inspect.signature(forward).parameters)


@lru_cache(maxsize=1024)
def _names_of(function: Callable) -> tuple[str, ...]:
    return tuple(inspect.signature(function).parameters)


def _first_name(module: nn.Module) -> str:
    """Name under which a block takes its state when it is not given by place."""
    return next(iter(_parameters(module)), "")


def uncached(model: nn.Module, inputs: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """Arguments of a forward call that keeps no keys and values for a next one, and more it may take."""
    names = _parameters(model)
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
    check_model(model)
    model = getattr(model, "_orig_mod", model)
    depth = getattr(_text_config(model), "num_hidden_layers", None)
    lists = _lists_within(model, whole=blocks is not None, depth=depth)
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
        lists = _lists_within(model)
        raise ValueError(
            f"cannot find the blocks of {type(model).__name__} (model_type {kind!r}, "
            f"{given}); give blocks='the.name' of their list in the model; its lists are "
            f"{ {name: len(module) for name, module in lists.items()} }"
        )
    modules = tuple(lists[names[0]])
    return Blocks(model, tuple(f"{names[0]}.{t}" for t in range(len(modules))), modules)


def check_model(model: Any) -> None:
    """Refuse what is no model, such as its name or its tokenizer."""
    if not isinstance(model, nn.Module):
        raise TypeError(
            f"the model is a {type(model).__name__}; give the torch module itself, the first of the "
            "two that `load_model` returns"
        )


def _lists_within(
    model: nn.Module, whole: bool = True, depth: int | None = None
) -> dict[str, nn.ModuleList]:
    """Lists of modules within a model by name, in torch's order; those in blocks only if `whole`."""
    lists, seen, stack = {}, set(), [("", model)]
    while stack:
        name, module = stack.pop()
        if module is None or module in seen:
            continue
        seen.add(module)
        if isinstance(module, nn.ModuleList) and len(module):
            lists[name] = module
            if not whole and _are_blocks(module, depth):
                continue
        if module._modules:
            start = f"{name}." if name else ""
            stack.extend([(start + key, of) for key, of in module._modules.items()][::-1])
    return lists


def _text_config(model: nn.Module) -> Any:
    """The configuration of a model, or of its language model where it has others beside."""
    config = getattr(model, "config", None)
    return config.get_text_config() if hasattr(config, "get_text_config") else config


def _are_blocks(modules: nn.ModuleList, depth: int | None) -> bool:
    """Whether a list is of so many modules, all of one class that takes a state first."""
    alike = len(modules) == depth and len({type(module) for module in modules}) == 1
    return alike and _first_name(modules[0]) in STATE


def _lists_of_blocks(
    model: nn.Module, lists: Mapping[str, nn.ModuleList], depth: int | None
) -> list[str]:
    """Names of lists of blocks; of an encoder and a decoder the encoder's."""
    names = [name for name, modules in lists.items() if _are_blocks(modules, depth)]
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
    scope = _Reading(blocks, range(blocks.depth))
    with blocks._reading(scope):
        output = blocks.model(**inputs)
    values = scope.states
    shapes = {tuple(x.shape) for x in values}
    if len(shapes) != 1 or values[0].dim() != 3:
        raise ValueError(
            f"the blocks of {type(blocks.model).__name__} take and give states of the shapes "
            f"{sorted(shapes)}; they have to be (rows, tokens, width), the same for all: give "
            "blocks='another.list', or, where padding is left out, attn_implementation='sdpa'"
        )
    mask = scope.tokens.counted(values[0])
    return States(values, mask, getattr(output, "logits", None))
