"""What code reads by name: entries of classes, of modules, and settings of the library.

A class or a module has far more entries than a program depends on. So only those are watched that
some code which was found names: as a global, as an attribute, or in a string (`getattr`). Of
classes, methods with special names are called without being named, and count as well.
"""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterator
from typing import Any, Final, final

from lamina.backends.settings import kept_settings
from lamina.compiler.watching import PLAIN
from lamina.core.tensor import Tensor
from lamina.devices.thread_count import kept_count
from lamina.nn.module import Module
from lamina.optim.optimizer import Optimizer

_LIBRARIES: Final = frozenset({"lamina", "numpy", "torch"})
_NO_SOURCE: Final = _LIBRARIES | sys.stdlib_module_names | {"builtins"}
_OF_GLOBALS: Final = frozenset(
    {"LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "IMPORT_NAME"}
)
_OF_PACKAGES: Final = ("site-packages", "dist-packages")
_NEVER_READ: Final = frozenset(vars(type("", (), {}))) | {
    "__init_subclass__", "__class_getitem__", "__annotations__", "__slots__", "__match_args__",
    "__repr__", "__str__", "__reduce__", "__del__", "_abc_impl", "__abstractmethods__",
    "__dataclass_fields__", "__dataclass_params__", "__static_attributes__", "__firstlineno__",
}  # fmt: skip

Entries = tuple[Any, list[str], str]
"""A class or a module, names of entries, and what the owner is called."""


SETTINGS: Final[dict[str, tuple[dict[str, Any], str]]] = {
    "get_num_threads": (kept_count, "the number of threads"),
    **dict.fromkeys(
        (
            "are_deterministic_algorithms_enabled", "get_deterministic_debug_mode",
            "get_float32_matmul_precision", "get_num_interop_threads", "is_warn_always_enabled",
            "is_deterministic_algorithms_warn_only_enabled",
        ),
        (kept_settings, "the settings"),
    ),
}  # fmt: skip
"""The dicts that functions of the library read, by the functions' names."""


@final
class Named:
    """Classes, modules, tensors and optimizers that were found, and the names that code mentions.

    Attributes:
        names: What the code of the functions that were found mentions, in order.
    """

    def __init__(self) -> None:
        self.names: dict[str, None] = {}
        self._owners: list[tuple[Any, str]] = []
        self._given: dict[int, set[str]] = {}

    def read(self, code: types.CodeType) -> list[str]:
        """Take in a function's code, and code inside it; returns the names of its globals."""
        self.names.update(dict.fromkeys(code.co_names))
        found = {i.argval: None for i in dis.get_instructions(code) if i.opname in _OF_GLOBALS}
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                found.update(dict.fromkeys(self.read(constant)))
            elif isinstance(constant, str) and constant.isidentifier():
                self.names[constant] = None
        return list(found)

    def add(self, owner: type | types.ModuleType | Tensor | Optimizer, name: str) -> None:
        """Count a class, with those it inherits from, a module, or an object of the library."""
        owners: tuple[Any, ...] = owner.__mro__ if isinstance(owner, type) else (owner,)
        for each in owners:
            if id(each) not in self._given:
                self._given[id(each)] = set()
                self._owners.append((each, name if each is owner else each.__name__))

    def entries(self) -> Iterator[Entries]:
        """The entries that were not given before; more where code was read in between.

        Each owner is given once even if no entry of it counts: it may get one.
        """
        for owner, name in self._owners.copy():
            given = self._given[id(owner)]
            keys = [key for key in self._keys(owner) if key not in given]
            if keys or not given:
                given.update(keys, [""])
                yield owner, keys, name

    def _keys(self, owner: Any) -> list[str]:
        inside = vars(owner)
        if isinstance(owner, type):
            if is_users(owner.__module__):
                is_made = owner.__name__ in self.names
                return [key for key in inside if key in self.names or _is_called(key, is_made)]
            return ["forward"] if "forward" in inside and issubclass(owner, Module) else []
        if isinstance(owner, Tensor | Optimizer) or is_users(owner.__name__):
            return [key for key in self.names if key in inside and key[:2] != "__"]
        if owner.__name__.partition(".")[0] not in ("lamina", "torch"):
            return []
        return [
            key for key in self.names
            if isinstance(value := inside.get(key), types.ModuleType)
            or ("." in owner.__name__ and isinstance(value, PLAIN) and value is not None)
        ]  # fmt: skip


def _is_called(key: str, is_made: bool) -> bool:
    """Whether a method of a class is called without being named; `is_made`: if objects are made."""
    if key == "__init__":
        return is_made
    return key == "forward" or (key[:2] == "__" and key not in _NEVER_READ)


def is_library(module_name: str) -> bool:
    """Whether a module is Lamina's, NumPy's or Python's own, which programs take for constant."""
    return module_name.partition(".")[0] in _NO_SOURCE


def is_users(module_name: str) -> bool:
    """Whether a module is a part of the user's program, and of no library or installed package."""
    if is_library(module_name):
        return False
    file = getattr(sys.modules.get(module_name), "__file__", None) or ""
    return not any(folder in file for folder in _OF_PACKAGES)
