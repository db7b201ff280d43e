"""Methods of conversion and creation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lamina import dtypes
from lamina.autograd.backward import backward_of
from lamina.codegen.later import Later
from lamina.core.blame.words import this_place
from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError
from lamina.ops import complex_numbers, conversion, data

if TYPE_CHECKING:
    from lamina.ops import typed_tensors
else:
    typed_tensors = Later("lamina.ops.typed_tensors")


def _construct(cls: Any, *args: Any, **options: Any) -> Any:
    """A tensor of the default dtype, of a shape or of given values."""
    return typed_tensors.construct(cls, *args, **options)


def _make_subclass(cls: Any, data: Any, require_grad: bool = False) -> Any:
    """A tensor of the memory of `data`, outside its graph, that is an instance of a subclass.

    Raises:
        TypeError: `cls` is no subclass of Tensor, or `data` no tensor.
        RuntimeError: A gradient is wanted, and the dtype can't have one.
    """
    if not isinstance(data, Tensor):
        raise ArgumentTypeError(
            "_make_subclass(): argument 'data' (position 2) must be Tensor, "
            f"not {type(data).__name__}",
            [(this_place(), "called here")],
        )
    return data.detach().as_subclass(cls).requires_grad_(require_grad)


Tensor.__new__ = staticmethod(_construct)
Tensor._make_subclass = staticmethod(_make_subclass)
Tensor.backward = backward_of
Tensor.to = conversion.to
Tensor.cpu = conversion.cpu
Tensor.cuda = conversion.cuda
Tensor.type = conversion.type_of
Tensor.type_as = conversion.type_as
Tensor.item = conversion.item
Tensor.tolist = conversion.tolist
Tensor.numpy = conversion.numpy
Tensor.__array__ = conversion.to_array
Tensor.__bool__ = conversion.truth
Tensor.__int__ = conversion.to_int
Tensor.__float__ = conversion.to_float
Tensor.__complex__ = conversion.to_complex
Tensor.__index__ = conversion.to_index
Tensor.__format__ = conversion.to_format
Tensor.__dlpack__ = conversion.to_dlpack
Tensor.__dlpack_device__ = conversion.dlpack_device


Tensor.bool = conversion.cast(dtypes.bool_, "bool")
Tensor.byte = conversion.cast(dtypes.uint8, "byte")
Tensor.char = conversion.cast(dtypes.int8, "char")
Tensor.short = conversion.cast(dtypes.int16, "short")
Tensor.int = conversion.cast(dtypes.int32, "int")
Tensor.long = conversion.cast(dtypes.int64, "long")
Tensor.half = conversion.cast(dtypes.float16, "half")
Tensor.bfloat16 = conversion.cast(dtypes.bfloat16, "bfloat16")
Tensor.float = conversion.cast(dtypes.float32, "float")
Tensor.double = conversion.cast(dtypes.float64, "double")
Tensor.cfloat = conversion.cast(dtypes.complex64, "cfloat")
Tensor.chalf = complex_numbers.no_complex_half
Tensor.cdouble = conversion.cast(dtypes.complex128, "cdouble")

Tensor.new_tensor = data.new_tensor
Tensor.new_zeros = data.new_zeros
Tensor.new_ones = data.new_ones
Tensor.new_empty = data.new_empty
Tensor.new_full = data.new_full
Tensor.new_empty_strided = data.new_empty_strided
