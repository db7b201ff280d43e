"""`torch` itself, where it differs from `lamina`: its version, operators, and small questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import lamina
from lamina.errors import InvalidDevice
from lamina.late_loading import late_names
from lamina.torch_alias.shims.torch_version import __version__

if TYPE_CHECKING:
    from lamina.library.operators import ops

__all__ = [
    "__version__", "compiled_with_cxx11_abi", "get_device_module", "is_storage", "ops",
    "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum",
]  # fmt: skip

# `lamina.ops` is the package of Lamina's own operations.
__getattr__, _ = late_names(__name__, {"lamina.library.operators": "ops"})


def compiled_with_cxx11_abi() -> bool:
    """False: nothing is compiled from C++."""
    return False


def is_storage(obj: Any, /) -> bool:
    """Whether something is a storage object of PyTorch's."""
    return type(obj).__name__ in ("TypedStorage", "UntypedStorage")


def get_device_module(device: Any = None) -> ModuleType:
    """The namespace of a kind of device: `torch.cuda` or `torch.cpu`.

    Args:
        device: A device; None is the GPU if there is one.

    Raises:
        RuntimeError: The device is of another kind.
    """
    if device is None:
        kind = "cuda" if lamina.cuda.is_available() else "cpu"
    else:
        kind = lamina.device(device).type
    if kind not in ("cpu", "cuda"):
        raise InvalidDevice(f"Invalid device {kind!r}: there is no module of functions for it")
    return getattr(lamina, kind)


# --- sizes that are not known while a program is traced -------------------------------------------
# They always are in Lamina, so these are Python's own functions.


def sym_int(number: Any, /) -> int:
    """A number cut to a whole one."""
    return int(number)


def sym_float(number: Any, /) -> float:
    """A number with a fraction."""
    return float(number)


def sym_not(condition: Any, /) -> bool:
    """The opposite of a condition."""
    return not condition


def sym_max(first: Any, second: Any, /) -> Any:
    """The larger of two numbers; a float if one of them is."""
    return _chosen(max, first, second)


def sym_min(first: Any, second: Any, /) -> Any:
    """The smaller of two numbers; a float if one of them is."""
    return _chosen(min, first, second)


def _chosen(choose: Callable[[Any, Any], Any], first: Any, second: Any) -> Any:
    found = choose(first, second)
    return float(found) if isinstance(first, float) or isinstance(second, float) else found


def sym_sum(numbers: Iterable[Any], /) -> Any:
    """The sum of numbers."""
    return sum(numbers)


def sym_sqrt(number: Any, /) -> float:
    """The square root of a number."""
    return math.sqrt(number)


def sym_ite(condition: Any, first: Any, second: Any, /) -> Any:
    """`first` if the condition holds, else `second`."""
    return first if condition else second
