"""Storages: the memory behind tensors, as bytes and as elements of one dtype.

Tensors that share memory have storages with the same address. A storage keeps the memory alive, and
a write into it is seen by every tensor over it; versions are not counted.
"""

from __future__ import annotations

import os
from typing import Any, Final, final

import numpy as np

from lamina import dtypes, errors
from lamina.core.positions import here
from lamina.core.tensor import Tensor, wrap
from lamina.core.warning import warn
from lamina.devices import backend_of, device, device_of, is_host, to_device
from lamina.ops import memory
from lamina.ops.making import place_of_device
from lamina.ops.strides import storage_of

__all__ = ["TypedStorage", "UntypedStorage", "is_storage"]

_BYTE: Final = np.dtype(np.uint8)

LEGACY_NAMES: Final = {
    dtypes.float32: "FloatStorage", dtypes.float64: "DoubleStorage", dtypes.float16: "HalfStorage",
    dtypes.bfloat16: "BFloat16Storage", dtypes.int64: "LongStorage", dtypes.int32: "IntStorage",
    dtypes.int16: "ShortStorage", dtypes.int8: "CharStorage", dtypes.uint8: "ByteStorage",
    dtypes.bool_: "BoolStorage", dtypes.complex64: "ComplexFloatStorage",
    dtypes.complex128: "ComplexDoubleStorage",
}  # fmt: skip
"""The storage classes that files name; dtypes that came later have none."""


class _Storage:
    """What both kinds have in common: one array without gaps, `_memory`. Abstract."""

    __slots__ = ("_memory",)

    _memory: Any

    def _like(self, content: Any) -> Any:
        """A storage of the same kind over other memory."""
        raise NotImplementedError

    def nbytes(self) -> int:
        """The number of bytes."""
        return int(self._memory.nbytes)

    def size(self) -> int:
        """The number of elements."""
        return int(self._memory.size)

    __len__ = size

    def element_size(self) -> int:
        """Bytes per element."""
        return int(self._memory.dtype.itemsize)

    def data_ptr(self) -> int:
        """The address of the first byte; 0 for a storage without bytes."""
        return backend_of(self.device).pointer(self._memory) if self._memory.size else 0

    @property
    def _cdata(self) -> int:
        return self.data_ptr()

    @property
    def device(self) -> device:
        """Where the memory is."""
        return device_of(self._memory)

    @property
    def is_cuda(self) -> bool:
        """Whether the memory is that of a CUDA device (a simulated one too)."""
        return self.device.type == "cuda"

    def get_device(self) -> int:
        """The number of the CUDA device; -1 on the CPU."""
        index = self.device.index
        return -1 if index is None else index

    @property
    def filename(self) -> None:
        """The file that the memory is shared with; none, in Lamina."""
        return None

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        found: list[Any] = backend_of(self.device).to_host(self._memory).tolist()
        return found

    def __iter__(self) -> Any:
        return iter(self.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        array = self._memory if is_host(self._memory) else np.array(self.tolist())
        return np.array(array, dtype, copy=copy)

    def __getitem__(self, index: int | slice) -> Any:
        if isinstance(index, slice):
            return self._like(self._memory[index])
        return self._memory[self._checked(index)].item()

    def __setitem__(self, index: int | slice, value: Any) -> None:
        if not isinstance(index, slice):
            index = self._checked(index)
        self._memory[index] = value._memory if isinstance(value, _Storage) else value

    def _checked(self, index: int) -> int:
        if not -len(self) <= index < len(self):
            raise errors.IndexOutOfRange(
                f"index {index} out of range for storage of size {len(self)}"
            )
        return index

    def fill_(self, value: Any) -> Any:
        """Write one value to every element."""
        self._memory[...] = value
        return self

    def copy_(self, source: Any, non_blocking: bool | None = None) -> Any:
        """Write the elements of another storage of the same length."""
        if source.nbytes() != self.nbytes():
            raise errors.DataMismatch(
                f"size does not match, self was {self.nbytes()} bytes but src was "
                f"{source.nbytes()} bytes"
            )
        self._memory[...] = to_device(source._memory, self.device)
        return self

    def clone(self) -> Any:
        """A copy with memory of its own."""
        return self._like(self._memory.copy())

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return memo.setdefault(id(self), self.clone())

    def to(self, *, device: Any, non_blocking: bool = False) -> Any:
        """The storage on a device: itself when it is there."""
        place = place_of_device(device)
        return self if place is self.device else self._like(to_device(self._memory, place))

    def cpu(self) -> Any:
        """The storage in host memory: itself when it is there."""
        return self.to(device="cpu")

    def cuda(self, device: Any = None, non_blocking: bool = False) -> Any:
        """The storage on a CUDA device, by default the current one."""
        return self.to(device="cuda" if device is None else device)


@final
class UntypedStorage(_Storage):
    """Memory as bytes: `UntypedStorage(16)` of so many, or `UntypedStorage([1, 2])` of these.

    >>> import lamina
    >>> x = lamina.ones(3)
    >>> x.untyped_storage().nbytes(), x[1:].untyped_storage().data_ptr() == x.data_ptr()
    (12, True)
    """

    __slots__ = ()

    def __init__(self, content: Any = 0, *, device: Any = None) -> None:
        if isinstance(content, int):
            self._memory = backend_of(place_of_device(device)).empty((content,), _BYTE)
        else:
            self._memory = to_device(np.array(content, _BYTE), place_of_device(device))

    def _like(self, content: Any) -> UntypedStorage:
        return untyped(content)

    @staticmethod
    def from_file(
        filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0
    ) -> UntypedStorage:
        """The first bytes of a file, mapped into memory: each page is read when it is first used.

        Args:
            filename: The file. With `shared` it is made, or made longer, as needed.
            shared: Whether what is written goes into the file; otherwise it stays in memory.
            nbytes: How many bytes.

        Raises:
            RuntimeError: If the file has fewer bytes, and is not shared.
            OSError: If it cannot be opened.
        """
        if shared:
            with open(filename, "ab") as file:
                file.truncate(max(nbytes, file.tell()))
        elif (length := os.stat(filename).st_size) < nbytes:
            raise errors.FileFormatError(
                f"unable to map {nbytes} bytes of {os.fspath(filename)!r}, which has {length}"
            )
        if not nbytes:
            return UntypedStorage(0)
        mapped = np.memmap(filename, _BYTE, "r+" if shared else "c", shape=(nbytes,))
        return untyped(mapped.view(np.ndarray))

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def type(self) -> str:
        """The name of the class."""
        space = "torch.cuda" if self.is_cuda else "torch.storage"
        return f"{space}.UntypedStorage"

    def __repr__(self) -> str:
        summary = f"[torch.storage.UntypedStorage(device={self.device}) of size {len(self)}]"
        return _listed(self, summary)


@final
class TypedStorage(_Storage):
    """Memory as elements of one dtype: PyTorch's older kind, which programs still meet.

    >>> TypedStorage([1.0, 2.0]).tolist(), TypedStorage(2, dtype=dtypes.int32).nbytes()
    ([1.0, 2.0], 8)
    """

    __slots__ = ()

    def __init__(
        self, content: Any = 0, *, dtype: Any = None, device: Any = None, wrap_storage: Any = None
    ) -> None:
        kind = (dtypes.get_default_dtype() if dtype is None else dtype).numpy
        if wrap_storage is not None:
            self._memory = wrap_storage._memory.view(kind)
        elif isinstance(content, int):
            self._memory = backend_of(place_of_device(device)).empty((content,), kind)
        else:
            self._memory = to_device(np.array(content, kind), place_of_device(device))

    def _like(self, content: Any) -> TypedStorage:
        return typed(content)

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements."""
        return dtypes.from_numpy(self._memory.dtype)

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return untyped(self._memory.view(_BYTE))

    def pickle_storage_type(self) -> str:
        """The name of the class that files give a storage of this dtype."""
        found = LEGACY_NAMES.get(self.dtype)
        if found is None:
            raise errors.InvalidValue(f"no storage class of PyTorch's has elements of {self.dtype}")
        return found

    def type(self) -> str:
        """The name of the class with a storage of this dtype had in older versions."""
        return f"torch.{'cuda.' if self.is_cuda else ''}{self.pickle_storage_type()}"

    def __repr__(self) -> str:
        kind = f"dtype={self.dtype}, device={self.device}"
        return _listed(self, f"[torch.storage.TypedStorage({kind}) of size {len(self)}]")


def _listed(storage: _Storage, summary: str) -> str:
    if storage.device.type == "meta":
        return "...\n" + summary
    return "".join(f" {value}\n" for value in storage) + summary


def untyped(content: Any) -> UntypedStorage:
    """A storage over an array of bytes, without a copy."""
    made = UntypedStorage.__new__(UntypedStorage)
    made._memory = content
    return made


def typed(content: Any) -> TypedStorage:
    """A storage over an array without gaps, without a copy."""
    made = TypedStorage.__new__(TypedStorage)
    made._memory = content
    return made


def is_storage(obj: Any) -> bool:
    """Whether an object is a storage.

    >>> is_storage(UntypedStorage(4)), is_storage([1, 2])
    (True, False)
    """
    return isinstance(obj, _Storage)


# --- methods of tensors --------------------------------------------------------------------------


def untyped_storage(self: Tensor) -> UntypedStorage:
    """All of the memory that the tensor shows (perhaps a part of), as bytes."""
    return untyped(storage_of(self._array)[0].view(_BYTE))


def storage(self: Tensor) -> TypedStorage:
    """All of the memory that the tensor shows, as elements of its dtype; deprecated."""
    warn("TypedStorage is deprecated: use tensor.untyped_storage() instead of tensor.storage()")
    return typed_storage(self)


def typed_storage(self: Tensor) -> TypedStorage:
    """All of the memory that the tensor shows, as elements of its dtype."""
    return typed(storage_of(self._array)[0])


def set_(
    self: Tensor, source: Any = None, storage_offset: int = 0, size: Any = None, stride: Any = None
) -> Tensor:
    """Make this tensor show a tensor's or storage's memory, all or some of it; or, alone, nothing.

    Args:
        source: the tensor or storage; an untyped storage is read in this tensor's dtype.
        storage_offset: elements from the start of the memory to the first one shown.
        size: the shape; all of the source when left out.
        stride: elements to step over in each dimension; row by row when left out.

    >>> import lamina
    >>> lamina.empty(0).set_(lamina.arange(6.0).untyped_storage(), 1, (2, 2))
    tensor([[1., 2.],
            [3., 4.]])
    """
    if isinstance(source, Tensor) and size is not None:
        source = typed_storage(source)
    if not isinstance(source, _Storage):
        return memory.set_(self, source)
    if isinstance(source, TypedStorage) and source.dtype is not self.dtype:
        raise errors.DataMismatch(
            f"Expected a Storage of type {self.dtype} or an UntypedStorage, but got type "
            f"{source.dtype} for argument 1 'storage'"
        )
    elements = source.nbytes() // self.element_size()
    size = (elements,) if size is None else tuple(size)
    stride = row_strides(size) if stride is None else tuple(stride)
    last = sum((length - 1) * step for length, step in zip(size, stride, strict=True))
    needed = 0 if 0 in size else storage_offset + last + 1
    if storage_offset < 0 or min((*size, *stride), default=0) < 0 or needed > elements:
        raise errors.InvalidArgument(
            f"setStorage: sizes {list(size)}, strides {list(stride)}, storage offset "
            f"{storage_offset} are out of bounds for storage of size {source.nbytes()}"
        )
    array = strided_over(source, self.dtype, storage_offset, size, stride)
    return memory.set_(self, wrap(array, (*here(), "set_", None, None)))


def row_strides(size: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a tensor whose elements lie row by row."""
    steps, step = [], 1
    for length in reversed(size):
        steps.append(step)
        step *= max(length, 1)
    return tuple(reversed(steps))


def strided_over(storage: _Storage, kind: dtypes.dtype, offset: int, size: Any, stride: Any) -> Any:
    """An array over a storage; the bounds are the caller's to check."""
    content = storage._memory.view(_BYTE)
    whole = content[: content.size // kind.itemsize * kind.itemsize].view(kind.numpy)
    part = whole[offset:]
    steps = [step * kind.itemsize for step in stride]
    if not is_host(part):
        return backend_of(storage.device).as_strided(part, size, steps)
    if not part.size:
        return part.reshape(size)
    return np.ndarray(tuple(size), kind.numpy, part, 0, tuple(steps))
