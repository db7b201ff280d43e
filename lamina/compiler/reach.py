"""What a function reaches: the Python state that its program depends on, and tensors in it.

A program is made by running the function once, so it holds only as long as all else that the
function reads is the same: attributes of modules, settings of optimizers, variables in closures,
globals, the user's classes and modules. They are found by walking from the function and its
arguments, and watched by identity, which takes about 20 ns for each; small arrays of NumPy by
their values. Objects behind what cannot be walked (iterators, objects written in C, `time.time()`,
large arrays that are read without a tensor) are not seen.
"""

from __future__ import annotations

import array
import contextvars
import functools
import inspect
import random
import sys
import types
import weakref
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Final, final

import numpy as np

from lamina.compiler.containers import Containers
from lamina.compiler.named import SETTINGS, Named, is_library
from lamina.compiler.outside import Stream, stream_of
from lamina.compiler.watching import PLAIN
from lamina.core.hooks import Hooks
from lamina.core.positions import internal_files
from lamina.core.tensor import Tensor
from lamina.nn.hooks import EVERYWHERE
from lamina.nn.module import Module
from lamina.nn.registration import ON_REGISTRATION
from lamina.ops.random import default_generator
from lamina.optim.optimizer import STEP_POST_HOOKS, STEP_PRE_HOOKS, Optimizer

MOST_OBJECTS: Final = 20_000
_SETTINGS_READ_AT_RUN: Final = ("lr",)
_CHILDREN: Final = ("_parameters", "_buffers", "_modules")
_OF_OPTIMIZERS: Final = ("param_groups", "state")
_HOOKS_OF_OPTIMIZERS: Final = ("_optimizer_step_pre_hooks", "_optimizer_step_post_hooks")
_INTERNALS: Final = frozenset(vars(Module())) - {"training"}


@final
class Reach(Containers):
    """All that was found from some roots.

    Attributes:
        tensors: The tensors by id, each with the name under which it was found.
        settings: (dict, key, name) of numbers that programs read when they run.
        optimized: The parameters of optimizers, for which it matters whether they have gradients.
        arrays: The arrays of NumPy, each with its name.
        streams: The sources of random numbers, beside those that everybody shares.
    """

    def __init__(self) -> None:
        super().__init__()
        self.tensors: dict[int, tuple[Tensor, str]] = {}
        self.settings: list[tuple[dict[str, Any], str, str]] = []
        self.optimized: list[Tensor] = []
        self.arrays: list[tuple[np.ndarray[Any, Any], str]] = []
        self.streams: list[Stream] = []
        self._iterators: list[str] = []
        self._named = Named()
        self._stack: list[tuple[Any, str]] = []

    def walk(self, roots: Iterable[tuple[Any, str]]) -> Reach:
        """Find all that leads from the roots."""
        self._stack = list(roots)[::-1]
        for registry in (EVERYWHERE, ON_REGISTRATION, STEP_PRE_HOOKS, STEP_POST_HOOKS):
            self._registry(registry, "the hooks on all modules and optimizers")
        while self._stack:
            self._drain()
            for owner, keys, name in self._named.entries():
                self.attributes(owner, keys, name)
        read = {id(SETTINGS[key][0]): SETTINGS[key] for key in self._named.names if key in SETTINGS}
        for mapping, name in read.values():
            self.mapping(mapping, name, "[{!r}]")
        if "initial_seed" in self._named.names:
            read_seed, set_seed = default_generator.initial_seed, default_generator.manual_seed
            self.reading(read_seed, set_seed, "the seed")
        self.glance.take()
        return self

    def _drain(self) -> None:
        """Visit what was found, and all that leads from there."""
        while self._stack and len(self.seen) < MOST_OBJECTS:
            value, name = self._stack.pop()
            if not isinstance(value, PLAIN) and id(value) not in self.seen:
                self.keep(value)
                self._visit(value, name)
        self._stack.clear()

    def push(self, *found: tuple[Any, str]) -> None:
        """Have objects visited, each with the name under which it was found."""
        self._stack += found[::-1]

    @property
    def iterator(self) -> str | None:
        """The name of an iterator from which the function may take what cannot be put back."""
        return self._iterators[0] if self._iterators and "next" in self._named.names else None

    def watch_settings(self) -> None:
        """Guard the numbers that programs would read when they run, too."""
        for group, key, name in self.settings:
            self.entries(group, [key], name.rpartition("[")[0], "[{!r}]")
        self.settings = []
        self.glance.take()

    def changed(self) -> str | None:
        """What is no longer as it was, in words; None if all is the same."""
        if self.glance.is_same():
            return None
        return self.changed_anywhere()

    def changed_anywhere(self) -> str | None:
        """As `changed`, with a look at everything, also at what only a call could change."""
        for watched in self.watched:
            if not watched.is_same():
                return watched.difference()
        self.glance.take()
        return None

    def restore(self) -> None:
        """Put everything back as it was."""
        for watched in self.watched:
            watched.restore()

    # --- kinds of objects ------------------------------------------------------------------------

    def _visit(self, value: Any, name: str) -> None:
        if isinstance(value, Tensor):
            self._tensor(value, name)
        elif isinstance(value, Optimizer):
            self._optimizer(value, name)
        elif isinstance(value, types.FunctionType):
            self._function(value, name)
        elif isinstance(value, types.MethodType):
            self.push((value.__self__, f"{name}.__self__"), (value.__func__, name))
        elif isinstance(value, functools.partial):
            self.push((value.func, name), (value.args, name), (value.keywords, name))
        elif isinstance(value, dict | list | deque | set):
            self._container(value, name)
        elif isinstance(value, tuple | frozenset):
            self.push(*((item, f"{name}[{k}]") for k, item in enumerate(value)))
        elif isinstance(value, Module):
            self._module(value, name)
        elif isinstance(value, type | types.ModuleType):
            self._named.add(value, name)
        elif not self._wrapper(value, name) and _is_walked(value):
            self._instance(value, name)

    def _wrapper(self, value: Any, name: str) -> bool:
        """What stands for something else, or holds plain numbers; False if it does not."""
        if isinstance(value, np.ndarray | bytearray | array.array):
            self.numbers(value, name)
            if isinstance(value, np.ndarray):
                self.arrays.append((value, name))
        elif isinstance(value, property):
            self.push((value.fget, name))
        elif isinstance(value, staticmethod | classmethod):
            self.push((value.__func__, name))
        elif isinstance(value, functools.cached_property):
            self.push((value.func, name))
        elif isinstance(value, weakref.ref):
            self.push((value(), name))
        elif isinstance(value, random.Random | np.random.Generator | np.random.RandomState):
            self.streams.append(stream_of(value, name))
        elif isinstance(value, Iterator):
            self._iterators.append(name)
        elif isinstance(value, contextvars.ContextVar):
            self.reading(functools.partial(value.get, None), value.set, name)
        else:
            return False
        return True

    def _container(self, value: Any, name: str) -> None:
        if isinstance(value, dict):
            self.mapping(value, name, "[{!r}]", with_keys=True)
        elif isinstance(value, set):
            self.elements(value, name)
        else:
            self.sequence(value, name)
        if not is_library(type(value).__module__):
            self._instance(value, name)

    def _instance(self, value: Any, name: str) -> None:
        """An object of a class of the user's: its attributes, and the class."""
        self._named.add(type(value), type(value).__name__)
        if isinstance(getattr(value, "__dict__", None), dict):
            self.mapping(value.__dict__, name, ".{}")
        slots = [key for kind in type(value).__mro__ for key in _slots_of(kind)]
        if slots:
            self.attributes(value, slots, name)

    def _tensor(self, tensor: Tensor, name: str) -> None:
        self.tensors[id(tensor)] = tensor, name
        if tensor._hooks is not None:
            self._hooks(tensor._hooks, name)
        if tensor.__dict__:
            self._named.add(tensor, name)

    def _module(self, module: Module, name: str) -> None:
        """A module's own attributes; of what every module has, only that nothing comes in."""
        own = module.__dict__
        self._named.add(type(module), type(module).__name__)
        self.kind(module, name)
        for key in _INTERNALS:
            if isinstance(own.get(key), dict):
                self.mapping(own[key], f"{name}.{key}", "[{!r}]")
        self.mapping(own, name, ".{}", glance=False)
        self.glance.at_length(own)
        for key, value in own.items():
            if key not in _INTERNALS:
                self.glance.at_entry(own, key)
            elif key in _CHILDREN:
                self.push(*((child, f"{name}.{own_name}") for own_name, child in value.items()))
            elif hasattr(value, "__len__"):
                self.glance.at_length(value)

    def _hooks(self, hooks: Hooks, name: str) -> None:
        """Hooks are called while capturing: what they change must be seen."""
        for registry in (*hooks.tensor.values(), hooks.before, hooks.after, hooks.post_accumulate):
            self.glance.at_all(registry)
            self.push(*((hook, f"a hook on {name}") for hook in registry.values()))

    def _registry(self, registry: Any, name: str) -> None:
        self.glance.at_all(registry)
        self.mapping(registry, name, "[{}]")

    def _optimizer(self, optimizer: Optimizer, name: str) -> None:
        for k, group in enumerate(optimizer.param_groups):
            self.optimized += group["params"]
            place = f"{name}.param_groups[{k}]"
            at_run = [key for key in _SETTINGS_READ_AT_RUN if type(group.get(key)) in (float, int)]
            self.settings += [(group, key, f"{place}[{key!r}]") for key in at_run]
            self.entries(group, [k for k in group if k not in at_run], place, "[{!r}]")
            self.seen.add(id(group))
        self._named.add(type(optimizer), type(optimizer).__name__)
        self._named.add(optimizer, name)
        own = optimizer.__dict__
        self.entries(own, [key for key in _OF_OPTIMIZERS if key in own], name, ".{}")
        for key in _HOOKS_OF_OPTIMIZERS:
            if key in own:
                self._registry(own[key], f"{name}.{key}")
        self.sequence(optimizer.param_groups, f"{name}.param_groups")
        self.seen.add(id(optimizer.param_groups))
        self.mapping(optimizer.state, f"{name}.state", "[{}]")
        for known in optimizer.state.values():
            if isinstance(known, dict):
                self.mapping(known, f"{name}.state[...]", "[{!r}]")

    def _function(self, function: types.FunctionType, name: str) -> None:
        code = function.__code__
        home = function.__globals__.get("__name__", "")
        is_internal = code.co_filename in internal_files or is_library(home)
        if is_internal:
            wrapped = getattr(function, "__wrapped__", None)
            if wrapped is not None:
                self.push((wrapped, name))
            if function.__closure__ is None:
                return
        for cell, variable in zip(function.__closure__ or (), code.co_freevars, strict=True):
            self.cell(cell, variable)
        self.push((function.__defaults__, name), (function.__kwdefaults__, name))
        if is_internal:
            return
        self.function(function, name)
        if function.__dict__:
            self.mapping(function.__dict__, name, ".{}")
        known = function.__globals__
        used = self._named.read(code)
        self.entries(known, [key for key in used if key in known], "", "{}")
        inside = [key for key in used if key not in known and key in sys.modules]
        self.push(*((sys.modules[key], key) for key in inside))  # imported by the function


def _slots_of(kind: type) -> list[str]:
    """The attributes that a class of the user's keeps in slots."""
    slots = vars(kind).get("__slots__", ())
    if is_library(kind.__module__ or "") or isinstance(slots, str):
        return [slots] if isinstance(slots, str) and slots else []
    return [key for key in slots if key[:2] != "__"]


def _is_walked(value: Any) -> bool:
    """Whether an object's attributes are state that a program may depend on."""
    kind = type(value)
    top = (kind.__module__ or "").partition(".")[0]
    if top in ("lamina", "numpy", "builtins", "torch") or inspect.isbuiltin(value):
        return False
    return isinstance(getattr(value, "__dict__", None), dict) or any(map(_slots_of, kind.__mro__))
