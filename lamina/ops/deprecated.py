"""What older programs call and PyTorch warns of, or has only to say what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, Final

from lamina import errors
from lamina.core.blame.words import this_place
from lamina.core.tensor import Tensor
from lamina.core.warning import warn

__all__ = ["REMOVED", "eig", "lstsq", "matrix_rank", "solve", "symeig"]


def resize(self: Tensor, *sizes: Any) -> Tensor:
    """The tensor in another shape of as many elements; `reshape` is the name for it."""
    warn("non-inplace resize is deprecated")
    return _resized(self, sizes[0] if len(sizes) == 1 and not isinstance(sizes[0], int) else sizes)


def resize_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The tensor in the shape of another one; `reshape` is the name for it."""
    warn("non-inplace resize_as is deprecated")
    return _resized(self, tensor.size())


def _resized(self: Tensor, size: Any) -> Tensor:
    if prod(size) != self.numel():
        raise errors.ReshapeMismatch(
            f"requested resize to {'x'.join(map(str, size))} ({prod(size)} elements in total), but "
            f"the given tensor has a size of {'x'.join(map(str, self.shape))} ({self.numel()} "
            "elements)",
            [(this_place(), "asked for here")],
            ["resizing keeps the elements: `resize_` can change their number"],
        )
    made: Tensor = self.contiguous().view(*size)
    return made


def _removed(name: str, instead: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        raise errors.NotSupported(
            "This function was deprecated since version 1.9 and is now removed. "
            f"`torch.{name}` is gone from PyTorch too",
            [(this_place(), "called here")],
            [instead],
        )

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Removed from PyTorch: {instead}."
    return call


REMOVED: Final = {
    name: _removed(name, instead)
    for name, instead in {
        "eig": "write `torch.linalg.eig(A)`, or `torch.linalg.eigvals(A)`: results are complex",
        "lstsq": "write `torch.linalg.lstsq(A, B)`: the arguments are in another order",
        "matrix_rank": "write `torch.linalg.matrix_rank(A)`",
        "solve": "write `torch.linalg.solve(A, B)`: the arguments are in another order",
        "symeig": "write `torch.linalg.eigh(A)`, which reads the lower triangle",
    }.items()
}
"""Functions that PyTorch has only to say what to write instead."""

eig, lstsq, matrix_rank = REMOVED["eig"], REMOVED["lstsq"], REMOVED["matrix_rank"]
solve, symeig = REMOVED["solve"], REMOVED["symeig"]
