"""Memory shared with other libraries, through DLPack."""

from __future__ import annotations

from typing import Any, final

from lamina.core.tensor import Tensor
from lamina.ops.conversion import from_dlpack as _from_array

__all__ = ["from_dlpack", "to_dlpack"]


def to_dlpack(tensor: Tensor) -> Any:
    """A capsule that stands for a tensor's memory, to be given to another library once.

    It is of the protocol's version 1: older ones do not say that memory may be written to.
    """
    return tensor.__dlpack__(max_version=(1, 0))


def from_dlpack(ext_tensor: Any, *, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor over the memory of another library's array, or of a capsule that stands for it.

    >>> import lamina
    >>> x = lamina.ones(2)
    >>> from_dlpack(to_dlpack(x)).add_(1)
    tensor([2., 2.])
    >>> x
    tensor([2., 2.])
    """
    if type(ext_tensor).__name__ == "PyCapsule":
        ext_tensor = _Capsule(ext_tensor)
    return _from_array(ext_tensor, device=device, copy=copy)


@final
class _Capsule:
    """What a capsule is in the newer form of the protocol: an object that gives it away."""

    def __init__(self, capsule: Any) -> None:
        self._capsule = capsule

    def __dlpack__(self, **_: Any) -> Any:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0  # the CPU's number in the protocol
