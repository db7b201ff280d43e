"""`torch` itself, where it differs from `lamina`: its version, and small questions."""

from __future__ import annotations

from typing import Any

from lamina.torch_alias.shims.torch_version import __version__

__all__ = ["__version__", "compiled_with_cxx11_abi", "is_storage"]


def compiled_with_cxx11_abi() -> bool:
    """False: nothing is compiled from C++."""
    return False


def is_storage(obj: Any, /) -> bool:
    """Whether something is a storage object of PyTorch's."""
    return type(obj).__name__ in ("TypedStorage", "UntypedStorage")
