"""Methods of conversion, creation and random numbers."""

from lamina import dtypes, storage
from lamina.autograd.backward import backward_of
from lamina.core.tensor import Tensor
from lamina.ops import (
    by_python,
    complex_numbers,
    conversion,
    data,
    deprecated,
    questions,
    random,
    random_filling,
    typed_tensors,
)

Tensor.__new__ = staticmethod(typed_tensors.construct)
Tensor.new = typed_tensors.new
Tensor.as_subclass = by_python.as_subclass

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

Tensor.untyped_storage = storage.untyped_storage
Tensor.storage = storage.storage
Tensor._typed_storage = storage.typed_storage
Tensor.set_ = storage.set_
Tensor.is_shared = storage.is_shared
Tensor.share_memory_ = storage.share_memory_

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

Tensor.uniform_ = random_filling.uniform_
Tensor.normal_ = random_filling.normal_
Tensor.bernoulli = random.bernoulli
Tensor.bernoulli_ = random_filling.bernoulli_
Tensor.exponential_ = random_filling.exponential_
Tensor.log_normal_ = random_filling.log_normal_
Tensor.cauchy_ = random_filling.cauchy_
Tensor.geometric_ = random_filling.geometric_
Tensor.random_ = random_filling.random_
Tensor.multinomial = random.multinomial

Tensor.apply_ = by_python.apply_
Tensor.map_ = by_python.map_
Tensor.map2_ = by_python.map2_
Tensor.is_pinned = by_python.is_pinned
Tensor.pin_memory = by_python.pin_memory
Tensor.record_stream = by_python.record_stream
Tensor.is_nonzero = questions.is_nonzero
Tensor.is_same_size = questions.is_same_size
Tensor.is_distributed = questions.is_distributed
Tensor.resize = deprecated.resize
Tensor.resize_as = deprecated.resize_as
Tensor.eig = deprecated.REMOVED["eig"]
Tensor.lstsq = deprecated.REMOVED["lstsq"]
Tensor.solve = deprecated.REMOVED["solve"]
Tensor.symeig = deprecated.REMOVED["symeig"]
