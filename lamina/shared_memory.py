"""Tensors in memory that several processes see, by Python's `multiprocessing`.

    model.share_memory()
    workers = [torch.multiprocessing.Process(target=train, args=(model,)) for _ in range(4)]

What one process writes into such a tensor, the others read. Gradients are each process's own.
"""

from __future__ import annotations

import ctypes
import sys
from multiprocessing import sharedctypes
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import ForkingPickler
from typing import Any

import numpy as np

from lamina import errors
from lamina.core import records
from lamina.core.blame.words import called, made_note, this_place
from lamina.core.tensor import Tensor, fill_slots, set_array
from lamina.devices import is_host

__all__ = ["is_shared", "share_memory_"]


def _shared_bytes(array: Any) -> Any:
    """The shared memory that an array shows; None if it shows none."""
    while isinstance(array, np.ndarray):
        array = array.base
    return array if hasattr(array, "_wrapper") else None  # what `RawArray` keeps its memory by


def is_shared(self: Tensor) -> bool:
    """Whether other processes can share the memory; that of CUDA devices always counts as shared.

    >>> import lamina
    >>> lamina.ones(2).is_shared(), lamina.ones(2).share_memory_().is_shared()
    (False, True)
    """
    return self.is_cuda or _shared_bytes(self._array) is not None


def share_memory_(self: Tensor) -> Tensor:
    """Move the elements to memory that other processes share, and return the same tensor.

    Processes that are started with the tensor, by `fork` or as an argument of `Process` or `spawn`,
    work on the same elements. Through a queue they are copied. Nothing is done on CUDA devices.

    Raises:
        NotSupported: (NotImplementedError) Views or NumPy arrays use the memory, and would not
            move along; or the tensor is sparse.
        NoData: (NotImplementedError, a RuntimeError) The tensor is on the `meta` device.
    """
    array = self._array
    if is_shared(self):
        return self
    if self.is_meta:
        raise errors.NoData("_share_fd_: only available on CPU", help=["move it: `.to('cpu')`"])
    # Whoever else shows this memory holds the array; two are this function and `getrefcount`.
    if not is_host(array) or array.base is not None or sys.getrefcount(array) > 3:
        raise errors.NotSupported(
            "share_memory_: the memory belongs to another tensor or array too, or is sparse: it "
            "cannot be moved to where processes share it",
            [(this_place(), "called here"), *made_note(self)],
            [
                f"share a copy: `{called(self, 'x').strip('`')}.clone().share_memory_()`",
                "or share it before views of it are made, and before an optimizer's first step",
            ],
        )
    memory = sharedctypes.RawArray(ctypes.c_byte, max(1, array.nbytes))
    moved = _array_over(memory, array.dtype, array.shape, array.strides, 0)
    moved[...] = array
    set_array(self, moved)
    ForkingPickler.register(type(self), _reduced)
    return self


def _array_over(
    memory: Any, kind: Any, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> Any:
    return np.ndarray(shape, kind, np.frombuffer(memory, np.uint8), offset, strides)


def _reduced(tensor: Tensor) -> Any:
    """How a process that is being started gets a tensor: by its memory, where that is shared."""
    array, memory = tensor._array, _shared_bytes(tensor._array)
    if memory is None or tensor._node is not None or get_spawning_popen() is None:
        return tensor.__reduce_ex__(2)
    offset = array.ctypes.data - ctypes.addressof(memory)
    state = {k: v for k, v in tensor.__dict__.items() if k not in records.PRIVATE}
    layout = (array.dtype, array.shape, array.strides, offset)
    return _rebuilt, (type(tensor), memory, layout, tensor._requires_grad, state)


def _rebuilt(
    kind: type[Tensor], memory: Any, layout: Any, requires_grad: bool, state: dict[str, Any]
) -> Tensor:
    tensor: Tensor = object.__new__(kind)
    fill_slots(tensor, _array_over(memory, *layout), None)
    tensor._requires_grad = requires_grad
    tensor.__dict__.update(state)
    ForkingPickler.register(kind, _reduced)
    return tensor
