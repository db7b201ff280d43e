"""`torch` itself, where it differs from `lamina`: its version, and small questions."""

from __future__ import annotations

from typing import Any

from lamina.core.tensor import Tensor
from lamina.torch_alias.shims.torch_version import __version__

__all__ = ["__version__", "compiled_with_cxx11_abi", "is_storage", "typename"]


def compiled_with_cxx11_abi() -> bool:
    """False: nothing is compiled from C++."""
    return False


def typename(obj: Any, /) -> str:
    """The full name of an object's type: of tensors `torch.FloatTensor`, of classes their own.

    >>> typename(1), typename(Tensor([1.0]))
    ('int', 'torch.FloatTensor')
    """
    if isinstance(obj, Tensor):
        return str(obj.type())
    kind = obj if isinstance(obj, type) else type(obj)
    home = kind.__module__
    return kind.__qualname__ if home in ("builtins", "", None) else f"{home}.{kind.__qualname__}"


def is_storage(obj: Any, /) -> bool:
    """Whether something is a storage object of PyTorch's."""
    return type(obj).__name__ in ("TypedStorage", "UntypedStorage")
