"""What products of matrices and vectors have in common: checks, conjugates, halves."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.blame.words import this_place
from lamina.core.fast_products import dot_product, stack_product
from lamina.core.op import offer, traced
from lamina.core.tensor import Tensor
from lamina.ops.support import conj

__all__: list[str] = []

LEGACY = {
    "float32": "Float", "float64": "Double", "float16": "Half", "bfloat16": "BFloat16",
    "int64": "Long", "int32": "Int", "int16": "Short", "int8": "Char", "uint8": "Byte",
    "bool": "Bool", "complex64": "ComplexFloat", "complex128": "ComplexDouble",
}  # fmt: skip


def legacy(tensor: Any) -> str:
    """A dtype as PyTorch's older messages name it: Float, ComplexDouble."""
    kind = tensor.dtype if isinstance(tensor, Tensor) else dtypes.from_numpy(tensor.dtype)
    return LEGACY.get(kind.name, kind.name)


def refuse(headline: str, *help: str) -> errors.InvalidArgument:
    """The error for arguments that do not fit, with the user's place."""
    return errors.InvalidArgument(headline, [(this_place(), "called here")], help)


def _conj_transpose(input: Any) -> Any:
    turned = input.swapaxes(-1, -2)
    return np.conjugate(turned) if turned.dtype.kind == "c" else turned


def conj_transpose(input: Any) -> Any:
    """The conjugate transpose of matrices."""
    turned = traced.transpose(input, -2, -1)
    return conj(turned) if turned.is_complex() else turned


offer("conj_transpose", _conj_transpose, conj_transpose)


def conj_number(value: Any) -> Any:
    """The conjugate of a Python number."""
    return value.conjugate() if isinstance(value, complex) else value


def dot_of(x: Any, y: Any) -> Any:
    """The product of two arrays of at most two dimensions; halves are multiplied in float32."""
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return dot_of(x.astype(np.float32), y.astype(np.float32)).astype(x.dtype)
    if x.__class__ is y.__class__ and x.ndim == 2 == y.ndim and x.dtype == y.dtype:
        return dot_product(x, y)
    # The method is 0.2 us faster; the function also takes an array and one that stands for another.
    return x.dot(y) if x.__class__ is y.__class__ else np.dot(x, y)


def stack_of(x: Any, y: Any) -> Any:
    """The products of two stacks of matrices, which broadcast; one factor may be a vector."""
    if x.ndim > 1 < y.ndim and x.dtype == y.dtype:
        return stack_product(x, y)
    return np.matmul(x, y)


def refuse_mixed_halves(*functions: Any) -> None:
    """Have operations refuse a half beside another dtype, as their kernels refuse every mix.

    A kernel sees halves as float32; so for a mix it is asked before they are widened.
    """
    for function in functions:

        def check(*arrays: Any, kernel: Any = function.op.kernel) -> None:
            if any(array.dtype != arrays[0].dtype for array in arrays):
                kernel(*arrays)

        function.op.check = check


def refuse_bool(name: str, array: Any) -> None:
    """Raise for truth values, which have no sum."""
    if array.dtype.kind == "b":
        raise errors.NotImplementedForDtype(
            f'"{name}" not implemented for \'Bool\'', [(this_place(), "called here")],
            ["convert first: `.to(torch.int64)` counts, `.float()` is faster"],
        )  # fmt: skip


def rows_of(shape: tuple[int, ...]) -> tuple[int, int]:
    """The shape of a batch of vectors as a matrix."""
    count = 1
    for length in shape[:-1]:
        count *= length
    return count, shape[-1]


def check_tensors(name: str, *arguments: tuple[str, Any]) -> None:
    """Raise unless all arguments are tensors."""
    for position, (argument, value) in enumerate(arguments):
        if not isinstance(value, Tensor):
            raise errors.ArgumentTypeError(
                f"{name}(): argument '{argument}' (position {position + 1}) must be Tensor, "
                f"not {type(value).__name__}",
                [(this_place(), "called here")],
            )
