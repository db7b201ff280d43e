"""What can be asked of a tensor's array alone: shape, dtype, device, memory."""

from __future__ import annotations

from typing import Any

from lamina import dtypes
from lamina.core import blame
from lamina.core.layouts import Size, sparse_coo, strided
from lamina.core.versions import INFERENCE
from lamina.devices import backend_of, device, device_of
from lamina.devices.dispatched import whole_memory


class ArrayFacts:
    """The part of `Tensor` that knows of no graph. Abstract: only tensors are made of it."""

    __slots__ = ("_array", "_cell", "_shape")

    _array: Any
    _cell: Any
    """The `VersionCell`, made when first needed; every view has its base's."""
    # The array's shape once somebody asked for it: comparing two of these tells whether a sum
    # broadcasts, and saves 0.08 us an op. `set_array` forgets it.
    _shape: tuple[int, ...] | None

    @property
    def shape(self) -> Size:
        """The lengths of the dimensions."""
        return Size(self._array.shape)

    def size(self, dim: int | None = None) -> Any:
        """The shape, or the length of one dimension."""
        if dim is None:
            return Size(self._array.shape)
        shape = self._array.shape
        if not -len(shape) <= dim < max(len(shape), 1) or not shape:
            raise blame.dim_out_of_range(dim, len(shape))
        return shape[dim]

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        count: int = self._array.ndim
        return count

    def dim(self) -> int:
        """The number of dimensions."""
        count: int = self._array.ndim
        return count

    ndimension = dim

    def numel(self) -> int:
        """The number of elements."""
        count: int = self._array.size
        return count

    nelement = numel

    @property
    def dtype(self) -> dtypes.dtype:
        """The type of the elements."""
        return dtypes.from_numpy(self._array.dtype)

    @property
    def device(self) -> device:
        """Where the elements are."""
        return device_of(self._array)

    @property
    def itemsize(self) -> int:
        """Bytes per element."""
        count: int = self._array.dtype.itemsize
        return count

    def element_size(self) -> int:
        """Bytes per element."""
        count: int = self._array.dtype.itemsize
        return count

    @property
    def nbytes(self) -> int:
        """Bytes of all elements."""
        count: int = self._array.nbytes
        return count

    def stride(self, dim: int | None = None) -> Any:
        """Elements to step over from one index to the next, for each dimension or for one."""
        size = self._array.dtype.itemsize
        steps = [step // size for step in self._array.strides]
        shape = self._array.shape
        if 0 in steps:
            # NumPy leaves the stride of an axis without steps open; PyTorch defines it.
            following = 1
            for axis in reversed(range(len(shape))):
                if steps[axis] == 0 and (shape[axis] == 1 or not self._array.size):
                    steps[axis] = following
                following = max(shape[axis], 1) * steps[axis]
        if dim is None:
            return tuple(steps)
        if not -len(shape) <= dim < len(shape):
            raise blame.dim_out_of_range(dim, len(shape))
        return steps[dim]

    def storage_offset(self) -> int:
        """Elements from the start of the memory to this tensor's first one."""
        return int((self.data_ptr() - _pointer(whole_memory(self._array))) // self.itemsize)

    def data_ptr(self) -> int:
        """The address of the first element."""
        return _pointer(self._array)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        """Whether elements lie in memory in row-major order without gaps."""
        return bool(self._array.flags.c_contiguous)

    @property
    def layout(self) -> Any:
        """`strided`, or `sparse_coo` for a sparse tensor."""
        return sparse_coo if self.is_sparse else strided

    @property
    def is_sparse(self) -> bool:
        """Whether only some elements are kept, with their places."""
        return getattr(self._array, "is_sparse", False)

    is_quantized = False
    is_mkldnn = False
    is_nested = False
    is_mps = False
    is_ipu = is_maia = is_mtia = is_vulkan = is_xla = is_xpu = False
    is_sparse_csr = False

    @property
    def is_cuda(self) -> bool:
        """Whether the tensor is on a CUDA device (a simulated one too)."""
        return self.device.type == "cuda"

    @property
    def is_cpu(self) -> bool:
        """Whether the tensor is in the computer's own memory."""
        return self.device.type == "cpu"

    @property
    def is_meta(self) -> bool:
        """Whether the tensor has a shape and no values."""
        return self.device.type == "meta"

    def get_device(self) -> int:
        """The number of the CUDA device; -1 on the CPU."""
        index = self.device.index
        return -1 if index is None else index

    def is_floating_point(self) -> bool:
        """Whether elements are real floating-point numbers."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether elements are complex numbers."""
        return self.dtype.is_complex

    def is_signed(self) -> bool:
        """Whether elements can be negative."""
        return self.dtype.is_signed

    def is_inference(self) -> bool:
        """Whether the tensor was made in inference mode, and so can't take part in a graph."""
        return self._cell is INFERENCE


def _pointer(array: Any) -> int:
    return backend_of(device_of(array)).pointer(array)
