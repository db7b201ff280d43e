"""Changing all tensors of a module at once: where they live, their dtype, their flags."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Self

from lamina import dtypes
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError
from lamina.nn.parameter import Uninitialized
from lamina.ops.creation import empty_like

if TYPE_CHECKING:
    from lamina.nn.module import Module

__all__ = ["Conversion"]

_NAMED_DTYPES = {
    "FloatTensor": dtypes.float32,
    "DoubleTensor": dtypes.float64,
    "HalfTensor": dtypes.float16,
    "BFloat16Tensor": dtypes.bfloat16,
}


def _target(args: tuple[Any, ...], device: Any, dtype: Any) -> tuple[Any, Any]:
    """Read the positional forms of `to`: a device, a dtype, both, or a tensor that has both."""
    for arg in args:
        if isinstance(arg, Tensor):
            device, dtype = arg.device, arg.dtype
        elif isinstance(arg, dtypes.dtype):
            dtype = arg
        elif arg is not None and not isinstance(arg, bool):
            device = arg
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise ArgumentTypeError(
            "nn.Module.to only accepts floating point or complex dtypes, "
            f"but got desired dtype={dtype}",
            help=["integer tensors of a module keep their dtype; convert the data instead"],
        )
    return device, dtype


class Conversion:
    """The part of `Module` that converts its tensors in place."""

    training: bool
    _parameters: dict[str, Tensor | None]
    _buffers: dict[str, Tensor | None]
    if TYPE_CHECKING:

        def children(self) -> Iterator[Module]: ...
        def parameters(self, recurse: bool = True) -> Iterator[Tensor]: ...

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Replace the values of every parameter, gradient and buffer by `fn` of them.

        Parameters and their gradients stay the same objects (only `.data` is swapped), so an
        optimizer that was made before goes on working.
        """
        if recurse:
            for child in self.children():
                child._apply(fn)
        for parameter in self._parameters.values():
            if parameter is None:
                continue
            if isinstance(parameter, Uninitialized):
                parameter.convert(fn)
                continue
            grad = parameter.grad
            with no_grad():
                parameter.data = fn(parameter)
                if grad is not None:
                    grad.data = fn(grad)
        for name, buffer in self._buffers.items():
            if isinstance(buffer, Uninitialized):
                buffer.convert(fn)
            elif buffer is not None:
                self._buffers[name] = fn(buffer)
        return self

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call `fn(module)` on every module of the tree, children before parents.

        Example:
            >>> import lamina.nn as nn
            >>> def fill(module):
            ...     if isinstance(module, nn.Linear):
            ...         nn.init.ones_(module.weight)
            >>> nn.Sequential(nn.Linear(1, 1)).apply(fill)[0].weight
            Parameter containing:
            tensor([[1.]], requires_grad=True)
        """
        for child in self.children():
            child.apply(fn)
        fn(self)  # type: ignore[arg-type]
        return self

    def to(
        self,
        *args: Any,
        device: Any = None,
        dtype: Any = None,
        non_blocking: bool = False,
        memory_format: Any = None,
    ) -> Self:
        """Move the module to a device, or convert its floating point tensors, or both; in place.

        Args:
            args: a device, a dtype, a device and a dtype, or a tensor to imitate.
            device: where the tensors go.
            dtype: a floating point or complex dtype. Integer tensors keep theirs.
            non_blocking: accepted for compatibility.
            memory_format: accepted for compatibility.

        Example:
            >>> import lamina
            >>> lamina.nn.Linear(1, 1).to(lamina.float64).weight.dtype
            torch.float64
        """
        device, dtype = _target(args, device, dtype)

        def convert(tensor: Tensor) -> Tensor:
            wanted = dtype if tensor.is_floating_point() or tensor.is_complex() else None
            if wanted is None:
                return tensor if device is None else tensor.to(device=device)
            return tensor.to(device=tensor.device if device is None else device, dtype=wanted)

        return self._apply(convert)

    def to_empty(self, *, device: Any, recurse: bool = True) -> Self:
        """Move the module to a device without its values: all tensors are left unset there."""
        return self._apply(lambda tensor: empty_like(tensor, device=device), recurse=recurse)

    def type(self, dst_type: Any) -> Self:
        """Convert every parameter and buffer to a dtype (or `"torch.DoubleTensor"`-like name)."""
        if isinstance(dst_type, str):
            dst_type = _NAMED_DTYPES[dst_type.rpartition(".")[2]]
        return self._apply(lambda tensor: tensor.to(dtype=dst_type))

    def _cast(self, dtype: Any) -> Self:
        return self._apply(lambda t: t.to(dtype=dtype) if t.is_floating_point() else t)

    def float(self) -> Self:
        """Convert floating point tensors to float32."""
        return self._cast(dtypes.float32)

    def double(self) -> Self:
        """Convert floating point tensors to float64."""
        return self._cast(dtypes.float64)

    def half(self) -> Self:
        """Convert floating point tensors to float16."""
        return self._cast(dtypes.float16)

    def bfloat16(self) -> Self:
        """Convert floating point tensors to bfloat16."""
        return self._cast(dtypes.bfloat16)

    def cpu(self) -> Self:
        """Move every tensor to the CPU."""
        return self._apply(lambda tensor: tensor.cpu())

    def cuda(self, device: Any = None) -> Self:
        """Move every tensor to a CUDA device, the current one when none is named."""
        return self._apply(lambda tensor: tensor.cuda(device))

    def share_memory(self) -> Self:
        """Move every tensor to memory that other processes share; see `Tensor.share_memory_`."""
        return self._apply(lambda tensor: tensor.share_memory_())

    def train(self, mode: bool = True) -> Self:
        """Put the module and all below it in training mode; dropout and batch norm look at it."""
        if not isinstance(mode, bool):
            raise ValueError(f"training mode is a bool, not {mode!r}")
        self.training = mode
        for child in self.children():
            child.train(mode)
        return self

    def eval(self) -> Self:
        """Put the module and all below it in evaluation mode: `train(False)`."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Set `requires_grad` of every parameter: False freezes the module."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters.

        Args:
            set_to_none: whether `.grad` becomes None (default) or is filled with zeros.
        """
        for parameter in self.parameters():
            if parameter.grad is None:
                continue
            if set_to_none:
                parameter.grad = None
            elif parameter.grad.grad_fn is not None:
                parameter.grad = parameter.grad.detach().zero_()
            else:
                parameter.grad.requires_grad_(False)
                parameter.grad.zero_()
