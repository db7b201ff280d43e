"""What a checkpoint may name: a fixed list, and what the program has allowed.

A pickle can name any function of any module and have it called: that is how loading runs code. Here
a name is looked up in a list and never imported. The list holds what PyTorch's checkpoints are made
of; classes of the program's own are on it when the program says so.
"""

from __future__ import annotations

import argparse
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any, Final, final

import numpy as np

from lamina import dtypes, nn
from lamina.core.layouts import Size
from lamina.core.tensor import Tensor
from lamina.devices import device
from lamina.errors import LaminaError, UnsafeFile
from lamina.io import numpy_values
from lamina.io.allowed import allowed
from lamina.io.calls import CALLS, PLAIN_CLASSES, Encode
from lamina.io.inspection import names_in
from lamina.io.layers import is_layer, layer_called
from lamina.io.rebuilding import REBUILDERS, Limits, Rebuilder, brief
from lamina.storage import LEGACY_NAMES, UntypedStorage

_WEIGHTS: Final[dict[str, Any]] = {
    **REBUILDERS,
    **numpy_values.GLOBALS,
    **{f"torch.{kind.name}": kind for kind in dtypes.ALL_TYPES},
    **{f"torch.{name}": kind for kind, name in LEGACY_NAMES.items()},
    **{f"torch.cuda.{name}": kind for kind, name in LEGACY_NAMES.items()},
    "torch.storage.UntypedStorage": UntypedStorage,
    "torch.UntypedStorage": UntypedStorage,
    "torch.Tensor": Tensor,
    "torch._tensor.Tensor": Tensor,
    "torch.nn.parameter.Parameter": nn.Parameter,
    "torch.Size": Size,
    "torch.device": device,
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "_codecs.encode": Encode,
    "builtins.set": set,
    "builtins.frozenset": frozenset,
    "builtins.bytearray": bytearray,
    "builtins.complex": complex,
}
"""What is always allowed. A legacy storage class is known by the dtype of its elements."""

_HARMLESS: Final[dict[str, Any]] = {
    "collections.deque": deque,
    "collections.defaultdict": defaultdict,
    "argparse.Namespace": argparse.Namespace,
    "types.SimpleNamespace": SimpleNamespace,
    **{f"builtins.{kind.__name__}": kind for kind in (int, float, str, list, dict, tuple, bool)},
    **{f"{kind.__module__}.{kind.__name__}": kind for kind in PLAIN_CLASSES},
    **{f"pathlib.{kind.__name__}": kind for kind in PLAIN_CLASSES if "pathlib" in kind.__module__},
}
"""What is allowed under `weights_only=False` too."""

_FREELY_MADE: Final = (argparse.Namespace, SimpleNamespace)

_RUNS_CODE: Final = frozenset({
    "os", "posix", "nt", "sys", "subprocess", "shutil", "socket", "importlib", "runpy", "pty",
    "ctypes", "code", "webbrowser", "urllib", "multiprocessing", "signal", "pickle", "_pickle",
})  # fmt: skip
_RUNS_CODE_BUILTINS: Final = frozenset({
    "eval", "exec", "compile", "open", "getattr", "setattr", "delattr", "globals", "__import__",
    "input", "breakpoint", "vars", "map", "apply", "execfile",
})  # fmt: skip

_MOST_SHOWN: Final = 8

_MODULE_REGISTRIES: Final = (
    "_backward_pre_hooks", "_backward_hooks", "_is_full_backward_hook", "_forward_hooks",
    "_forward_hooks_with_kwargs", "_forward_hooks_always_called", "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs", "_state_dict_hooks", "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip


@final
class Names:
    """The names that one file may use.

    Args:
        limits: what the file may cost.
        weights_only: whether only what weights are made of is allowed, besides the program's own.
        pickled: the pickle, to say all names at once when one is refused.
    """

    def __init__(self, limits: Limits, weights_only: bool, pickled: bytes = b"") -> None:
        self._limits = limits
        self._pickled = pickled
        self._weights_only = weights_only
        self._named = allowed()
        self._own = {id(value) for value in self._named.values()}

    def find(self, module: str, name: str) -> Any:
        """What a name stands for; UnsafeFile if it is not allowed."""
        found = self._look_up(module, name)
        if found is None:
            raise self._refusal(module, name)
        return found

    def refused(self) -> list[tuple[str, str]]:
        """The modules and names in the pickle that are not allowed, each once."""
        try:
            found = list(names_in(self._pickled))
        except ValueError as error:
            raise self._limits.broken(f"its pickle breaks ({error})") from error
        return [pair for pair in dict.fromkeys(found) if self._look_up(*pair) is None]

    def _look_up(self, module: str, name: str) -> Any:
        full = f"{_modern(module)}.{name}"
        if full in self._named:
            return self._named[full]
        if full in _WEIGHTS:
            return _WEIGHTS[full]
        if not self._weights_only and full in _HARMLESS:
            return _HARMLESS[full]
        layer = layer_called(module, name)
        return layer if id(layer) in self._own or not self._weights_only else None

    def call(self, function: Any, args: Any) -> Any:
        """The result of a call that a pickle makes."""
        limits = self._limits
        if type(args) is not tuple:
            raise limits.broken("a call has no tuple of arguments")
        if isinstance(function, Rebuilder):
            return function(limits, args)
        if id(function) in self._own:
            return function(*args)
        work = CALLS.get(function) if isinstance(function, type) else None
        if work is None:
            raise limits.broken(f"it calls {brief(function)}")
        return Rebuilder(function.__name__, work)(limits, args)

    def make(self, kind: Any, args: Any, keywords: Any) -> Any:
        """A new object of a class, without its `__init__`."""
        if not isinstance(kind, type) or type(args) is not tuple or type(keywords) is not dict:
            raise self._limits.broken("it makes an object of what is no class")
        if id(kind) in self._own or kind in _FREELY_MADE or is_layer(kind):
            return kind.__new__(kind, *args, **keywords)
        if keywords:
            raise self._limits.broken(f"it makes a {kind.__name__} of keywords")
        return self.call(kind, args)

    def set_state(self, instance: Any, state: Any) -> None:
        """Give an object the state that the file has for it."""
        kind, limits = type(instance), self._limits
        if kind is OrderedDict:
            instance.__dict__.update(_text_keys(limits, state))
        elif isinstance(instance, np.dtype):
            _set_numpy_state(limits, numpy_values.set_dtype, instance, state)
        elif kind is np.ndarray:
            _set_numpy_state(limits, numpy_values.set_array, instance, state)
        elif is_layer(kind) or (id(kind) in self._own and issubclass(kind, nn.Module)):
            instance.__setstate__(_without_hooks(_text_keys(limits, state)))
        elif kind in _FREELY_MADE:
            instance.__dict__.update(_text_keys(limits, state))
        elif id(kind) in self._own:
            _set_own_state(limits, instance, state)
        else:
            raise limits.broken(f"it changes a {kind.__name__}")

    def may_fill(self, container: Any, kind: type) -> bool:
        """Whether elements may be put into this object, as into a `list`, `dict` or `set`."""
        found = type(container)
        return found in _FILLED[kind] or (issubclass(found, kind) and id(found) in self._own)

    def _refusal(self, module: str, name: str) -> UnsafeFile:
        full = f"{_modern(module)}.{name}"
        what = "Weights only load failed" if self._weights_only else "Loading failed"
        headline = (
            f"{what}: {self._limits.name} names {full} "
            f"(GLOBAL {full} was not an allowed global by default)"
        )
        if _runs_code(module, name):
            return UnsafeFile(
                headline,
                [(None, f"unpickling would have run code through {full}; nothing was run")],
                ["do not trust this file: weights have no need of such a name"],
            )
        wanted = ", ".join(self._short_names(module, name))
        help_lines = [
            f"if you trust the file, and have these classes: `with torch.serialization."
            f"safe_globals([{wanted}]): torch.load(...)`",
            "better, save only the weights: `torch.save(model.state_dict(), path)`",
        ]
        if not self._weights_only:
            help_lines.append("weights_only=False allows the layers of torch.nn, and no other code")
        return UnsafeFile(headline, help=help_lines)

    def _short_names(self, module: str, name: str) -> list[str]:
        """What the program would call the first few of the names that are refused."""
        with suppress(LaminaError):
            pairs = [pair for pair in self.refused() if not _runs_code(*pair)]
            if (module, name) in pairs:
                shown = [_short_name(*pair) for pair in pairs[:_MOST_SHOWN]]
                return shown + ["..."] * (len(pairs) > _MOST_SHOWN)
        return [_short_name(module, name)]


def _short_name(module: str, name: str) -> str:
    return name.split(".")[-1] if layer_called(module, name) is None else f"torch.nn.{name}"


def _runs_code(module: str, name: str) -> bool:
    root = _modern(module).split(".")[0]
    return root in _RUNS_CODE or (root == "builtins" and name in _RUNS_CODE_BUILTINS)


_FILLED: Final[dict[type, tuple[type, ...]]] = {
    list: (list, deque),
    dict: (dict, OrderedDict, Counter, defaultdict),
    set: (set,),
}


def _set_numpy_state(limits: Limits, work: Callable[..., None], instance: Any, state: Any) -> None:
    """Run one of NumPy's state setters; what it cannot take is the file's fault."""
    try:
        work(limits, instance, state)
    except (ValueError, TypeError, OverflowError) as error:
        raise limits.broken(f"a NumPy value cannot be made ({error})") from error


def _set_own_state(limits: Limits, instance: Any, state: Any) -> None:
    """What pickle does: `__setstate__`, or the object's `__dict__` and slots."""
    if hasattr(instance, "__setstate__"):
        instance.__setstate__(state)
        return
    slots = None
    if isinstance(state, tuple) and len(state) == 2:
        state, slots = state
    if state:
        instance.__dict__.update(_text_keys(limits, state))
    for key, value in _text_keys(limits, slots or {}).items():
        setattr(instance, key, value)


def _text_keys(limits: Limits, state: Any) -> dict[str, Any]:
    if not isinstance(state, dict) or not all(isinstance(key, str) for key in state):
        raise limits.broken("the attributes of an object have no names")
    return state


def _without_hooks(state: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in state.items() if key not in _MODULE_REGISTRIES}


def _modern(module: str) -> str:
    """A module's name in Python 3, for those that Python 2 called otherwise."""
    return {"__builtin__": "builtins", "copy_reg": "copyreg"}.get(module, module)
