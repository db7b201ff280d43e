"""Extensions in C++ and CUDA: refused when they are asked for, so that programs can be imported."""

from __future__ import annotations

from typing import Any, NoReturn

from lamina import errors

__all__ = [
    "CUDA_HOME", "BuildExtension", "CUDAExtension", "CppExtension", "include_paths", "load",
    "load_inline",
]  # fmt: skip

CUDA_HOME: str | None = None


def _refuse(name: str) -> NoReturn:
    raise errors.NotSupported(
        f"torch.utils.cpp_extension.{name}: Lamina has no C++ library to build extensions on",
        help=[
            "write the operation in Python as a `torch.autograd.Function`: `torch.compile` makes "
            "machine code of what it calls"
        ],
    )


def load(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to build an extension.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("load")


def load_inline(name: str, cpp_sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to build an extension.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("load_inline")


def CppExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to describe an extension.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("CppExtension")


def CUDAExtension(name: str, sources: Any, *args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to describe an extension.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("CUDAExtension")


def BuildExtension(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuse to build extensions.

    Raises:
        NotImplementedError: Always.
    """
    _refuse("BuildExtension")


def include_paths(*args: Any, **kwargs: Any) -> list[str]:
    """No folders: there are no headers."""
    return []
