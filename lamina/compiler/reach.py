"""What a function reaches: the Python state that its program depends on, and tensors in it.

A program is made by running the function once, so it holds only as long as all else that the
function reads is the same: attributes of modules, settings of optimizers, variables in closures,
globals. They are found by walking from the function and its arguments, and watched by identity,
which takes about 20 ns for each. Objects behind what cannot be walked (iterators, objects written
in C, `time.time()`) are not seen.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Iterable
from typing import Any, Final, final

from lamina.compiler.watching import ABSENT, PLAIN, Glance, Watched
from lamina.core.hooks import Hooks, Registry
from lamina.core.positions import internal_files
from lamina.core.tensor import Tensor
from lamina.nn.module import Module
from lamina.optim.optimizer import Optimizer

MOST_OBJECTS: Final = 20_000
_SETTINGS_READ_AT_RUN: Final = ("lr",)
_CHILDREN: Final = ("_parameters", "_buffers", "_modules")
_INTERNALS: Final = frozenset(vars(Module())) - {"training"}


@final
class Reach:
    """All that was found from some roots.

    Attributes:
        watched: The containers with the state that is guarded.
        tensors: The tensors by id, each with the name under which it was found.
        settings: (dict, key, name) of numbers that programs read when they run.
        optimized: The parameters of optimizers, for which it matters whether they have gradients.
    """

    def __init__(self) -> None:
        self.watched: list[Watched] = []
        self.tensors: dict[int, tuple[Tensor, str]] = {}
        self.settings: list[tuple[dict[str, Any], str, str]] = []
        self.optimized: list[Tensor] = []
        self._glance = Glance()
        self._seen: set[int] = set()
        self._keep: list[Any] = []
        self._stack: list[tuple[Any, str]] = []

    def walk(self, roots: Iterable[tuple[Any, str]]) -> Reach:
        """Find all that leads from the roots."""
        self._stack = list(roots)[::-1]
        while self._stack and len(self._seen) < MOST_OBJECTS:
            value, name = self._stack.pop()
            if isinstance(value, PLAIN) or id(value) in self._seen:
                continue
            self._seen.add(id(value))
            self._keep.append(value)
            self._visit(value, name)
        self._glance.take()
        return self

    def watch_settings(self) -> None:
        """Guard the numbers that programs would read when they run, too."""
        for group, key, name in self.settings:
            self._entries(group, [key], name.rpartition("[")[0], "[{!r}]")
        self.settings = []
        self._glance.take()

    def changed(self) -> str | None:
        """What is no longer as it was, in words; None if all is the same."""
        if self._glance.is_same():
            return None
        return self.changed_anywhere()

    def changed_anywhere(self) -> str | None:
        """As `changed`, with a look at everything, also at what only a call could change."""
        for watched in self.watched:
            if not watched.is_same():
                return watched.difference()
        self._glance.take()
        return None

    def restore(self) -> None:
        """Put everything back as it was."""
        for watched in self.watched:
            watched.restore()

    # --- kinds of objects ------------------------------------------------------------------------

    def _visit(self, value: Any, name: str) -> None:
        if isinstance(value, Tensor):
            self.tensors[id(value)] = value, name
            if value._hooks is not None:
                self._hooks(value._hooks, name)
        elif isinstance(value, Optimizer):
            self._optimizer(value, name)
        elif isinstance(value, types.FunctionType):
            self._function(value, name)
        elif isinstance(value, types.MethodType):
            self._push((value.__self__, f"{name}.__self__"), (value.__func__, name))
        elif isinstance(value, functools.partial):
            self._push((value.func, name), (value.args, name), (value.keywords, name))
        elif isinstance(value, dict):
            self._dict(value, name, "[{!r}]")
        elif isinstance(value, list):
            self._list(value, name)
        elif isinstance(value, tuple):
            self._push(*((item, f"{name}[{k}]") for k, item in enumerate(value)))
        elif isinstance(value, Module):
            self._module(value, name)
        elif not isinstance(value, type | types.ModuleType) and _is_walked(value):
            self._dict(value.__dict__, name, ".{}")

    def _push(self, *found: tuple[Any, str]) -> None:
        self._stack += found[::-1]

    def _module(self, module: Module, name: str) -> None:
        """A module's own attributes; of what every module has, only that nothing comes in."""
        own = module.__dict__
        self._dict(own, name, ".{}", glance=False)
        self._glance.at_length(own)
        for key, value in own.items():
            if key not in _INTERNALS:
                self._glance.at_entry(own, key)
            elif key in _CHILDREN:
                self._push(*((child, f"{name}.{own_name}") for own_name, child in value.items()))
            elif hasattr(value, "__len__"):
                self._glance.at_length(value)

    def _hooks(self, hooks: Hooks, name: str) -> None:
        """Hooks are called while capturing: what they change must be seen."""
        for registry in (*hooks.tensor.values(), hooks.before, hooks.after, hooks.post_accumulate):
            self._glance.at_all(registry)
            self._push(*((hook, f"a hook on {name}") for hook in registry.values()))

    def _dict(self, mapping: dict[Any, Any], name: str, form: str, *, glance: bool = True) -> None:
        if not all(isinstance(key, str | int | Tensor) for key in mapping):
            return
        is_registry = isinstance(mapping, Registry)  # of a module, which looks at their number
        if glance and not is_registry:
            self._glance.at_all(mapping)
        names = [form.format("tensor" if isinstance(k, Tensor) else k) for k in mapping]
        keys = list(mapping)

        def put(values: list[Any]) -> None:
            mapping.clear()
            mapping.update(zip(keys, values, strict=True))

        self.watched.append(Watched(name, names, mapping.values, put))
        self._seen.add(id(mapping))
        self._keep.append(mapping)
        self._push(
            *(
                (item, "a hook" if is_registry else name + part)
                for item, part in zip(mapping.values(), names, strict=True)
            )
        )

    def _entries(self, mapping: dict[Any, Any], keys: list[Any], name: str, form: str) -> None:
        """Watch some entries of a dict."""

        def read() -> list[Any]:
            return [mapping.get(key, ABSENT) for key in keys]

        def put(values: list[Any]) -> None:
            for key, value in zip(keys, values, strict=True):
                if value is ABSENT:
                    mapping.pop(key, None)
                else:
                    mapping[key] = value

        for key in keys:
            if key in mapping:
                self._glance.at_entry(mapping, key)
        if keys:
            self.watched.append(Watched(name, [form.format(key) for key in keys], read, put))
        self._push(*((mapping.get(key), name + form.format(key)) for key in keys))

    def _list(self, items: list[Any], name: str) -> None:
        def put(values: list[Any]) -> None:
            items[:] = values

        self._glance.at_all(items)
        names = [f"[{k}]" for k in range(len(items))]
        self.watched.append(Watched(name, names, lambda: items, put))
        self._push(*((item, f"{name}[{k}]") for k, item in enumerate(items)))

    def _optimizer(self, optimizer: Optimizer, name: str) -> None:
        for k, group in enumerate(optimizer.param_groups):
            self.optimized += group["params"]
            place = f"{name}.param_groups[{k}]"
            at_run = [key for key in _SETTINGS_READ_AT_RUN if type(group.get(key)) in (float, int)]
            self.settings += [(group, key, f"{place}[{key!r}]") for key in at_run]
            self._entries(group, [k for k in group if k not in at_run], place, "[{!r}]")
            self._seen.add(id(group))
        self._list(optimizer.param_groups, f"{name}.param_groups")
        self._seen.add(id(optimizer.param_groups))
        self._dict(optimizer.state, f"{name}.state", "[{}]")

    def _function(self, function: types.FunctionType, name: str) -> None:
        code = function.__code__
        if code.co_filename in internal_files:
            wrapped = getattr(function, "__wrapped__", None)
            if wrapped is not None:
                self._push((wrapped, name))
            if function.__closure__ is None:
                return
        for cell, variable in zip(function.__closure__ or (), code.co_freevars, strict=True):
            self._cell(cell, variable)
        self._push((function.__defaults__, name), (function.__kwdefaults__, name))
        if code.co_filename in internal_files:
            return
        used = _names_used(code)
        known = function.__globals__
        self._entries(known, [n for n in used if n in known], "", "{}")
        for variable in used:
            module = known.get(variable)
            if isinstance(module, types.ModuleType) and not _is_library(module):
                inside = [n for n in used if isinstance(vars(module).get(n, ABSENT), PLAIN)]
                self._entries(vars(module), inside, f"{variable}", ".{}")

    def _cell(self, cell: types.CellType, name: str) -> None:
        def read() -> list[Any]:
            try:
                return [cell.cell_contents]
            except ValueError:  # not assigned yet
                return [ABSENT]

        def put(values: list[Any]) -> None:
            if values[0] is not ABSENT:
                cell.cell_contents = values[0]

        if read()[0] is not ABSENT:
            self._glance.at_cell(cell)
        self.watched.append(Watched(name, [""], read, put))
        self._push((read()[0], name))


def _names_used(code: types.CodeType) -> list[str]:
    """The global names and attributes that a function's code, and code inside it, mentions."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(dict.fromkeys(_names_used(constant)))
    return list(names)


def _is_library(module: types.ModuleType) -> bool:
    top = module.__name__.split(".")[0]
    return top in ("lamina", "numpy", "math", "torch")


def _is_walked(value: Any) -> bool:
    """Whether an object's attributes are state that a program may depend on."""
    kind = type(value)
    module = kind.__module__ or ""
    top = module.split(".")[0]
    if top in ("lamina", "numpy", "builtins", "torch") or inspect.isbuiltin(value):
        return False
    return isinstance(getattr(value, "__dict__", None), dict)
