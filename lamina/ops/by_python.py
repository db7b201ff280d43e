"""Functions of Python applied to each element, and tensors as instances of a subclass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina import errors
from lamina.core.blame.words import legacy_type, this_place
from lamina.core.positions import here
from lamina.core.tensor import Tensor, cell_of, fill_slots, wrap
from lamina.devices.simulation import check_accelerator
from lamina.ops.broadcasting import expand
from lamina.ops.conversion import host_array
from lamina.ops.filling import copy_

__all__: list[str] = []


def _written(self: Tensor, name: str, function: Callable[..., Any], *others: Tensor) -> Tensor:
    """Write what a function gives for the elements of some tensors over the first of them."""
    if self.requires_grad:
        raise errors.InvalidArgument(
            f"Can't call {name}() on Variable that requires grad. Use "
            f"var.detach().{name}() instead.",
            [(this_place(), "called here")],
        )
    arrays = [host_array(self, f"{name}()")]
    for other in others:
        if other.dtype is not self.dtype:
            raise errors.ArgumentTypeError(
                f"{name}: expected {legacy_type(self.dtype)} for 'other' "
                f"(got {legacy_type(other.dtype)})",
                [(this_place(), "called here")],
                ["convert it first: `.type_as(...)`"],
            )
        arrays.append(host_array(expand(other, self.shape), f"{name}()"))
    values = [function(*row) for row in zip(*(a.ravel().tolist() for a in arrays), strict=True)]
    made = np.array(values, dtype=arrays[0].dtype).reshape(arrays[0].shape)
    copy_(self, wrap(made, None).to(self.device))
    return self


def apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by what a function of one number gives for it; slow, on the CPU.

    >>> import lamina
    >>> lamina.tensor([1.0, 2.0]).apply_(lambda v: v * 10)
    tensor([10., 20.])
    """
    return _written(self, "apply_", callable)


def map_(self: Tensor, tensor: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replace each element by a function of it and of another tensor's, which broadcasts.

    >>> import lamina
    >>> lamina.tensor([1.0, 2.0]).map_(lamina.tensor([3.0, 4.0]), lambda a, b: a * b)
    tensor([3., 8.])
    """
    return _written(self, "map_", callable, tensor)


def map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replace each element by a function of it and of those of two other tensors."""
    return _written(self, "map2_", callable, x, y)


def as_subclass(self: Tensor, cls: Any) -> Any:
    """A tensor of the same memory, and place in the graph, that is an instance of a subclass.

    >>> import lamina
    >>> class Special(lamina.Tensor):
    ...     pass
    >>> type(lamina.ones(2).as_subclass(Special)).__name__
    'Special'
    """
    if not (isinstance(cls, type) and issubclass(cls, Tensor)):
        raise errors.ArgumentTypeError(
            "Creating a Tensor subclass from a class that does not inherit from Tensor is not "
            "possible. Make sure your class inherits from Tensor.",
            [(this_place(), "called here")],
        )
    flag = getattr(cls, "_flag", None)
    made: Any = object.__new__(Tensor if "_flag" in cls.__dict__ else cls)
    fill_slots(made, self._array, (*here(), "as_subclass", None, None))
    made._cell = cell_of(self)
    made._node, made._requires_grad, made._view = self._node, self._requires_grad, self._view
    if flag:  # parameters and buffers are tensors with a mark, subclasses of theirs have it too
        setattr(made, flag, True)
    return made


# --- memory that others see ----------------------------------------------------------------------


def is_pinned(self: Tensor, device: Any = None) -> bool:
    """Whether the memory is one from which a GPU copies faster."""
    return bool(self.__dict__.get("is_pinned_copy", False))


def pin_memory(self: Tensor, device: Any = None) -> Tensor:
    """A copy in memory from which a GPU copies faster; RuntimeError without a GPU."""
    check_accelerator()
    if self.device.type != "cpu":
        raise errors.InvalidArgument(
            f"cannot pin '{legacy_type(self.dtype, self.device)}' only dense CPU tensors can be "
            "pinned",
            [(this_place(), "called here")],
        )
    made: Tensor = self if is_pinned(self) else self.clone()
    made.__dict__["is_pinned_copy"] = True
    return made


def record_stream(self: Tensor, stream: Any) -> None:
    """Nothing: memory is not used again before its tensor is gone."""
