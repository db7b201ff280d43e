"""Element types, the default one, and which type a mix of them gives.

The names are PyTorch's. A `dtype` knows the NumPy type that holds its elements; the types that
NumPy lacks (bfloat16, the float8 family) live in the optional package `ml_dtypes`, which is
imported when one of them is first used.
"""

from __future__ import annotations

import importlib
from typing import Any, Final, final

import numpy as np

from lamina import errors

BOOL: Final = 0
INTEGER: Final = 1
FLOATING: Final = 2
COMPLEX: Final = 3


@final
class dtype:
    """One element type, such as `lamina.float32`. There is one object per type.

    >>> float32.itemsize, float32.is_floating_point, float32
    (4, True, torch.float32)
    """

    __slots__ = ("_numpy", "category", "is_signed", "itemsize", "name")

    def __init__(self, name: str, category: int, itemsize: int, is_signed: bool = True) -> None:
        self.name = name
        self.category = category
        self.itemsize = itemsize
        self.is_signed = is_signed
        self._numpy: np.dtype[Any] | None = None

    @property
    def numpy(self) -> np.dtype[Any]:
        """The NumPy type with the same elements; `MissingExtra` when `ml_dtypes` is needed."""
        if self._numpy is None:
            self._numpy = _extended_type(self.name)
            _FROM_NUMPY[self._numpy] = self
        return self._numpy

    @property
    def is_floating_point(self) -> bool:
        """Whether elements are real floating-point numbers."""
        return self.category == FLOATING

    @property
    def is_complex(self) -> bool:
        """Whether elements are complex numbers."""
        return self.category == COMPLEX

    @property
    def is_differentiable(self) -> bool:
        """Whether tensors of this type may require grad."""
        return self.category >= FLOATING

    def to_real(self) -> dtype:
        """The type of the real part: complex64 gives float32; others give themselves."""
        return _REAL_OF.get(self, self)

    def to_complex(self) -> dtype:
        """The complex type with this precision: float32 gives complex64."""
        return _COMPLEX_OF.get(self, self)

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return "bool_" if self.name == "bool" else self.name  # where it stands in this file


def _extended_type(name: str) -> np.dtype[Any]:
    try:
        module = importlib.import_module("ml_dtypes")
    except ImportError:
        raise errors.MissingExtra(
            f"the dtype {name} needs the package ml_dtypes",
            help=["pip install 'lamina[full]'", "or use float32 or float16, which NumPy has"],
        ) from None
    found: np.dtype[Any] = np.dtype(getattr(module, name))
    return found


bool_ = dtype("bool", BOOL, 1, is_signed=False)
uint8 = dtype("uint8", INTEGER, 1, is_signed=False)
uint16 = dtype("uint16", INTEGER, 2, is_signed=False)
uint32 = dtype("uint32", INTEGER, 4, is_signed=False)
uint64 = dtype("uint64", INTEGER, 8, is_signed=False)
int8 = dtype("int8", INTEGER, 1)
int16 = dtype("int16", INTEGER, 2)
int32 = dtype("int32", INTEGER, 4)
int64 = dtype("int64", INTEGER, 8)
float16 = dtype("float16", FLOATING, 2)
bfloat16 = dtype("bfloat16", FLOATING, 2)
float32 = dtype("float32", FLOATING, 4)
float64 = dtype("float64", FLOATING, 8)
float8_e4m3fn = dtype("float8_e4m3fn", FLOATING, 1)
float8_e5m2 = dtype("float8_e5m2", FLOATING, 1)
float8_e4m3fnuz = dtype("float8_e4m3fnuz", FLOATING, 1)
float8_e5m2fnuz = dtype("float8_e5m2fnuz", FLOATING, 1)
complex64 = dtype("complex64", COMPLEX, 8)
complex128 = dtype("complex128", COMPLEX, 16)

NUMPY_TYPES: Final = (
    bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64,
    float16, float32, float64, complex64, complex128,
)  # fmt: skip
EXTENDED_TYPES: Final = (
    bfloat16, float8_e4m3fn, float8_e5m2, float8_e4m3fnuz, float8_e5m2fnuz,
)  # fmt: skip
ALL_TYPES: Final = NUMPY_TYPES + EXTENDED_TYPES
BY_NAME: Final = {kind.name: kind for kind in ALL_TYPES}

for _kind in NUMPY_TYPES:
    _kind._numpy = np.dtype(_kind.name)

_FROM_NUMPY: dict[np.dtype[Any], dtype] = {kind.numpy: kind for kind in NUMPY_TYPES}
_COMPLEX_OF: Final = {
    float16: complex64, bfloat16: complex64, float32: complex64, float64: complex128,
}  # fmt: skip
_REAL_OF: Final = {complex64: float32, complex128: float64}


def from_numpy(numpy_type: np.dtype[Any]) -> dtype:
    """The dtype whose elements a NumPy type holds; `UnsupportedData` (a TypeError) if none does."""
    found = _FROM_NUMPY.get(numpy_type)
    if found is not None:
        return found
    native = numpy_type.newbyteorder("=")
    found = _FROM_NUMPY.get(native) or BY_NAME.get(native.name)
    if found is not None:
        return found
    supported = ", ".join(kind.name for kind in NUMPY_TYPES)
    raise errors.UnsupportedData(
        f"can't convert np.ndarray of type {numpy_type}: no tensor holds such elements",
        help=[f"convert it first, with .astype(...), to one of: {supported}"],
    )


class _Default:
    """The dtype of new floating-point tensors; changed by `set_default_dtype`."""

    __slots__ = ("complex", "floating")

    def __init__(self) -> None:
        self.floating = float32
        self.complex = complex64


default: Final = _Default()


def get_default_dtype() -> dtype:
    """The dtype that floating-point tensors have when none is asked for."""
    return default.floating


def set_default_dtype(d: dtype) -> None:
    """Choose the dtype of new floating-point tensors; `InvalidDtype` if it is none of these."""
    if not isinstance(d, dtype) or not d.is_floating_point or d.itemsize == 1:
        raise errors.InvalidDtype(
            f"only floating-point types are supported as the default type, not {d!r}",
            help=["use float16, bfloat16, float32 or float64"],
        )
    default.floating = d
    default.complex = d.to_complex()


def _check_dtypes(name: str, *kinds: Any) -> None:
    for kind in kinds:
        if not isinstance(kind, dtype):
            raise errors.InvalidDtype(
                f"{name}(): arguments must be torch.dtype, not {type(kind).__name__}",
                help=["for example torch.float32"],
            )


# --- promotion ---------------------------------------------------------------------------------


def of_category(category: int) -> dtype:
    """The dtype that a Python number of a category has by itself."""
    return (bool_, int64, default.floating, default.complex)[category]


def of_number(value: complex) -> dtype:
    """The dtype of a Python number: bool, int64, or the default floating or complex type."""
    if isinstance(value, bool | np.bool_):
        return bool_
    if isinstance(value, int | np.integer):
        return int64
    if isinstance(value, float | np.floating):
        return default.floating
    return default.complex


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype that holds both, by PyTorch's table.

    >>> promote_types(uint8, int8), promote_types(float16, bfloat16), promote_types(int64, float16)
    (torch.int16, torch.float32, torch.float16)
    """
    _check_dtypes("promote_types", type1, type2)
    if type1 is type2:
        return type1
    low, high = sorted((type1, type2), key=lambda kind: (kind.category, kind.itemsize))
    for kind in (low, high):
        if kind.category == FLOATING and kind.itemsize == 1:
            raise errors.DtypeError(
                f"promotion for Float8 types is not supported, attempted to promote {type1!r} "
                f"and {type2!r}",
                help=["convert the float8 tensor first: .to(torch.float32)"],
            )
    if high.category == COMPLEX:
        return max(high, low.to_complex() if low.category == FLOATING else high, key=_size)
    if low.category != high.category:
        return high
    if high.category == FLOATING:
        return float32 if high.itemsize == 2 else high
    return _promote_integers(low, high)


def _size(kind: dtype) -> int:
    return kind.itemsize


def _promote_integers(low: dtype, high: dtype) -> dtype:
    wide = {uint16, uint32, uint64}
    if (low in wide or high in wide) and low is not high:
        raise errors.DtypeError(
            f"promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{low!r} and {high!r}",
            help=["convert one of them first, for example with .to(torch.int64)"],
        )
    if low.is_signed == high.is_signed:
        return high
    return int16 if high.itemsize == 1 else high


def promote_categories(
    dimensioned: dtype | None, zero_dim: dtype | None, number: dtype | None
) -> dtype:
    """The result type of a mix, by PyTorch's three categories.

    Arguments are the promoted dtypes of the tensors with dimensions, of the tensors without, and
    of the Python numbers. A later group matters only where its kind of number is higher.
    Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
    """
    result = dimensioned
    for other, is_number in ((zero_dim, False), (number, True)):
        if other is None:
            continue
        if result is None:
            result = other
        elif other.category > result.category:
            if is_number and result.category < FLOATING:
                result = of_category(other.category)
            elif result.category == FLOATING:
                result = promote_types(result, complex64)  # as wide as the floats were
            else:
                result = promote_types(result, other)
    assert result is not None, "a result type needs at least one operand"
    return result


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether an in-place or `out=` result of one dtype may be written into another.

    Only a lower category is refused; a lower width is not.

    >>> can_cast(float64, float32), can_cast(float32, int64)
    (True, False)
    """
    _check_dtypes("can_cast", from_, to)
    if from_.category > to.category:
        return False
    return not (from_.category == INTEGER and to.category == BOOL)
