"""Shapes and layouts, under PyTorch's names."""

from __future__ import annotations

from typing import Any, Final, final


@final
class Size(tuple[int, ...]):
    """The lengths of a tensor's dimensions.

    >>> Size([2, 3]), Size([2, 3]).numel()
    (torch.Size([2, 3]), 6)
    """

    __slots__ = ()

    def numel(self) -> int:
        """The number of elements."""
        count = 1
        for length in self:
            count *= length
        return count

    def __getitem__(self, index: Any) -> Any:
        found = tuple.__getitem__(self, index)
        return Size(found) if isinstance(index, slice) else found

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, tuple(other)))

    def __repr__(self) -> str:
        return f"torch.Size({list(self)})"

    def __reduce__(self) -> Any:
        return Size, (tuple(self),)


@final
class layout:
    """How elements are laid out: by strides in one memory, or some of them with their places."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


strided: Final = layout("strided")
sparse_coo: Final = layout("sparse_coo")


@final
class memory_format:
    """An order of dimensions in memory that PyTorch programs name; accepted, and row-major here."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"


contiguous_format: Final = memory_format("contiguous_format")
preserve_format: Final = memory_format("preserve_format")
channels_last: Final = memory_format("channels_last")
channels_last_3d: Final = memory_format("channels_last_3d")


def is_dense(array: Any) -> bool:
    """Whether elements fill their memory without gaps or overlap, in some order of dimensions."""
    if array.flags.forc:
        return True
    expected = array.itemsize
    for step, length in sorted(zip(array.strides, array.shape, strict=True)):
        if length != 1:
            if step != expected:
                return False
            expected *= length
    return True
