"""What a program calls its tensors and modules, looked up for all of them at once.

`core.names` finds the name of one object; a graph has hundreds of leaves, so here the program's
variables are read once. Works on the tensors and modules of any library, by their classes.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, NamedTuple, final

from lamina.core.living import living_modules
from lamina.core.own_files import internal_files

FRAMES_LOOKED_AT: Final = 30
NAMES_LOOKED_AT: Final = 2000


class Spot(NamedTuple):
    """A module's place in a model: the modules from the outermost one to it, and its path."""

    modules: tuple[Any, ...]
    path: str


@final
class Program:
    """The names in a running program.

    Args:
        scopes: The program's variables, those that count first first: see `scopes_of`.
        tensor_class, module_class: The library's.
    """

    def __init__(
        self, scopes: Sequence[Mapping[str, Any]], tensor_class: type, module_class: type
    ) -> None:
        self._tensor_class = tensor_class
        self._module_class = module_class
        self.names: dict[int, str] = {}
        """id of a tensor that a variable or a module holds -> its name."""
        self.spots: dict[int, Spot] = {}
        """id of a module -> its place."""
        self.owners: dict[int, Any] = {}
        """id of a parameter or buffer -> the module that holds it."""
        self._module_names: dict[int, str] = {}
        parts = [pair for scope in scopes for pair in _parts_of(scope)]
        variables = [pair for scope in scopes for pair in scope.items()]
        modules = []
        for name, value in [*variables, *parts]:
            if _is(value, module_class):
                self._module_names.setdefault(id(value), name)
                modules.append(value)
        for name, value in variables:
            if _is(value, tensor_class):
                self._call(value, name)
        self._read_modules(modules)
        for name, value in parts:
            if _is(value, tensor_class):
                self.names.setdefault(id(value), name)

    def _call(self, tensor: Any, name: str) -> None:
        """Names like `_` and IPython's `_3` count only if there is no other."""
        known = self.names.get(id(tensor))
        if known is None or (known.startswith("_") and not name.startswith("_")):
            self.names[id(tensor)] = name

    def look_for(self, parameters: Iterable[Any], modules: Iterable[Any]) -> None:
        """See to it that these are known, if they belong to a module that no variable holds.

        Such modules are found by the garbage collector, which takes some tens of milliseconds.
        """
        if any(id(parameter) not in self.names for parameter in parameters) or any(
            id(module) not in self.spots for module in modules
        ):
            self._read_modules(living_modules(self._module_class))

    def _read_modules(self, found: Iterable[Any]) -> None:
        """Modules, those within others by their path."""
        living = list({id(m): m for top in found for m in _with_inner(top)}.values())
        inner = {id(c) for m in living for c in _children(m).values()}
        roots = [m for m in living if id(m) not in inner]
        roots.sort(key=lambda module: id(module) not in self._module_names)
        for root in roots:
            name = self._module_names.get(id(root), type(root).__name__)
            self._read_module(root, (), name)

    def _read_module(self, module: Any, above: tuple[Any, ...], path: str) -> None:
        waiting = [(module, above, path)]
        while waiting:
            module, above, path = waiting.pop()
            if id(module) in self.spots:
                continue
            modules = (*above, module)
            self.spots[id(module)] = Spot(modules, path)
            for registry in ("_parameters", "_buffers"):
                for name, tensor in (vars(module).get(registry) or {}).items():
                    if tensor is not None:
                        self.owners.setdefault(id(tensor), module)
                        self.names.setdefault(id(tensor), f"{path}.{name}")
            inside = list(_children(module).items())
            waiting += [(c, modules, f"{path}.{name}") for name, c in reversed(inside)]


def _is(value: Any, kind: type | tuple[type, ...]) -> bool:
    """Like `isinstance`, and runs none of the value's own code."""
    return issubclass(type(value), kind)


_NOT_LOOKED_INTO: Final = (types.ModuleType, type, types.FunctionType, str, bytes, int, float)


def _parts_of(scope: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """What lists, tuples, dicts and objects in variables hold, with its name."""
    for name, value in islice(list(scope.items()), NAMES_LOOKED_AT):
        if not _is(value, _NOT_LOOKED_INTO):
            try:
                found = list(_parts(value))
            except Exception:  # a container of the user's own that refuses
                continue
            yield from ((name + part, element) for part, element in found)


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list | tuple):
        for index, element in enumerate(value[:NAMES_LOOKED_AT]):
            yield f"[{index}]", element
        return
    if isinstance(value, dict):
        for key, element in islice(list(value.items()), NAMES_LOOKED_AT):
            if isinstance(key, str | int):
                yield f"[{key!r}]", element
        return
    try:
        attributes = object.__getattribute__(value, "__dict__")
    except Exception:
        return
    if isinstance(attributes, dict):
        for key, element in islice(list(attributes.items()), NAMES_LOOKED_AT):
            yield f".{key}", element


def _with_inner(module: Any) -> Iterator[Any]:
    """A module and all within it."""
    seen: set[int] = set()
    waiting = [module]
    while waiting:
        module = waiting.pop()
        if id(module) not in seen:
            seen.add(id(module))
            yield module
            waiting += _children(module).values()


def _children(module: Any) -> dict[str, Any]:
    found = vars(module).get("_modules") or {}
    return {name: child for name, child in found.items() if child is not None}


def scopes_of(frame: types.FrameType | None) -> list[Mapping[str, Any]]:
    """The variables of the user's frames, innermost first; each module's globals once."""
    found: list[Mapping[str, Any]] = []
    seen: set[int] = set()
    for _ in range(FRAMES_LOOKED_AT):
        if frame is None:
            break
        if frame.f_code.co_filename not in internal_files:
            for scope in (frame.f_locals, frame.f_globals):
                if id(scope) not in seen:
                    seen.add(id(scope))
                    found.append(variables_in(scope))
        frame = frame.f_back
    return found


def variables_in(scope: Mapping[str, Any]) -> dict[str, Any]:
    """The variables of a scope, without Python's own."""
    return {key: value for key, value in list(scope.items()) if not key.startswith("__")}
