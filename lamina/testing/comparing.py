"""`assert_close`: are two values, or two trees of values, the same within a tolerance?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np

from lamina import dtypes
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.errors import ArgumentTypeError, InvalidValue
from lamina.ops.comparison import isclose
from lamina.ops.data import as_tensor
from lamina.testing.words import elements_differ, scalars_differ

__all__ = ["assert_allclose", "assert_close"]

Path: TypeAlias = tuple[Any, ...]

# The relative and the absolute tolerance of each dtype that is not compared exactly.
_TOLERANCES = {
    dtypes.float16: (1e-3, 1e-5),
    dtypes.bfloat16: (1.6e-2, 1e-5),
    dtypes.float32: (1.3e-6, 1e-5),
    dtypes.float64: (1e-7, 1e-7),
    dtypes.complex64: (1.3e-6, 1e-5),
    dtypes.complex128: (1e-7, 1e-7),
}


class _Rules(NamedTuple):
    """What `assert_close` was told."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool
    msg: str | Callable[[str], str] | None

    def tolerances(self, *kinds: dtypes.dtype) -> tuple[float, float]:
        """(relative, absolute): as given, or the larger of those of both dtypes."""
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        known = [_TOLERANCES.get(kind, (0.0, 0.0)) for kind in kinds]
        return max(rtol for rtol, _ in known), max(atol for _, atol in known)

    def fail(self, text: str, path: Path) -> NoReturn:
        """Raise, with the place inside a tree and the caller's own words."""
        text += _place(path)
        if self.msg is not None:
            text = self.msg(text) if callable(self.msg) else self.msg
        raise AssertionError(text)


def _place(path: Path) -> str:
    parts = "".join(f"[{key!r}]" for key in path)
    return f"\n\nThe failure occurred for item {parts}" if path else ""


def assert_close(
    actual: Any,
    expected: Any,
    *,
    allow_subclasses: bool = True,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_device: bool = True,
    check_dtype: bool = True,
    check_layout: bool = True,
    check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise unless two values are close: tensors, arrays, numbers, and lists and dicts of them.

    Two numbers are close if `|actual - expected| <= atol + rtol * |expected|`.

    Args:
        actual: What was computed.
        expected: What it should be.
        allow_subclasses: Whether a tensor may be compared with one of a subclass.
        rtol: The relative tolerance. Given with `atol`, or neither is; then both follow from the
            dtypes: 1.3e-6 for float32, 1e-7 for float64, 1e-3 for float16, 0 for whole numbers.
        atol: The absolute tolerance: 1e-5 by default, 1e-7 for float64, 0 for whole numbers.
        equal_nan: Whether NaN equals NaN.
        check_device: Whether devices must be the same.
        check_dtype: Whether dtypes must be the same; otherwise both are promoted.
        check_layout: Whether layouts must be the same.
        check_stride: Whether strides must be the same.
        msg: The error's text, or a function that makes it from the usual one.

    Raises:
        AssertionError: If they are not close.
        TypeError: If the values are of kinds that cannot be compared.
        ValueError: If only one of the tolerances is given.

    >>> import lamina
    >>> assert_close(lamina.tensor([1.0, 2.0]), lamina.tensor([1.0, 2.000001]))
    >>> assert_close({"loss": 1.5}, {"loss": 1.25}, rtol=0.3, atol=0)
    """
    if (rtol is None) != (atol is None):
        absent = "rtol" if rtol is None else "atol"
        raise InvalidValue(
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {absent}."
        )
    rules = _Rules(
        allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout,
        check_stride, msg,
    )  # fmt: skip
    _compare(actual, expected, rules, ())


def _compare(actual: Any, expected: Any, rules: _Rules, path: Path) -> None:
    texts = isinstance(actual, str) or isinstance(expected, str)
    if _both(actual, expected, Sequence) and not texts:
        _compare_sequences(actual, expected, rules, path)
    elif _both(actual, expected, Mapping):
        _compare_mappings(actual, expected, rules, path)
    elif actual is None or expected is None:
        if actual is not expected:
            rules.fail(f"None mismatch: {actual} is not {expected}", path)
    elif _both(actual, expected, bool | np.bool_):
        if bool(actual) is not bool(expected):
            rules.fail(f"Booleans mismatch: {bool(actual)} is not {bool(expected)}", path)
    elif _both(actual, expected, int | float | complex | np.number):
        _compare_numbers(actual, expected, rules, path)
    elif _are_tensors(actual, expected, rules):
        _compare_tensors(as_tensor(actual), as_tensor(expected), rules, path)
    else:
        raise ArgumentTypeError(
            f"No comparison pair was able to handle inputs of type {type(actual)} "
            f"and {type(expected)}." + _place(path)
        )


def _both(actual: Any, expected: Any, kind: Any) -> bool:
    return isinstance(actual, kind) and isinstance(expected, kind)


def _are_tensors(actual: Any, expected: Any, rules: _Rules) -> bool:
    if not (_both(actual, expected, Tensor) or _both(actual, expected, np.ndarray)):
        return False
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    # A Parameter is no type of its own here, only a tensor with a mark.
    marked = getattr(actual, "_is_param", False) == getattr(expected, "_is_param", False)
    same = type(actual) is type(expected) and marked
    return related and (rules.allow_subclasses or same)


def _compare_sequences(
    actual: Sequence[Any], expected: Sequence[Any], rules: _Rules, path: Path
) -> None:
    if len(actual) != len(expected):
        rules.fail(f"The length of the sequences mismatch: {len(actual)} != {len(expected)}", path)
    for index, pair in enumerate(zip(actual, expected, strict=True)):
        _compare(*pair, rules, (*path, index))


def _compare_mappings(
    actual: Mapping[Any, Any], expected: Mapping[Any, Any], rules: _Rules, path: Path
) -> None:
    missing = sorted(expected.keys() - actual.keys(), key=str)
    additional = sorted(actual.keys() - expected.keys(), key=str)
    if missing or additional:
        rules.fail(
            "The keys of the mappings do not match:\n"
            f"Missing keys in the actual mapping: {missing}\n"
            f"Additional keys in the actual mapping: {additional}",
            path,
        )
    for key in sorted(actual, key=str):
        _compare(actual[key], expected[key], rules, (*path, key))


def _compare_numbers(actual: Any, expected: Any, rules: _Rules, path: Path) -> None:
    if rules.check_dtype and type(actual) is not type(expected):
        rules.fail(f"The (d)types do not match: {type(actual)} != {type(expected)}.", path)
    one, other = (value.item() if isinstance(value, np.number) else value
                  for value in (actual, expected))  # fmt: skip
    tolerances = rules.tolerances(_dtype_of(one), _dtype_of(other))
    _compare_scalars(one, other, tolerances, rules, path)


def _dtype_of(number: Any) -> dtypes.dtype:
    if isinstance(number, complex):
        return dtypes.complex128
    return dtypes.float64 if isinstance(number, float) else dtypes.int64


def _compare_scalars(
    actual: Any, expected: Any, tolerances: tuple[float, float], rules: _Rules, path: Path
) -> None:
    rtol, atol = tolerances
    unequal = actual != actual and expected != expected and not rules.equal_nan
    if unequal or not np.isclose(actual, expected, rtol, atol, equal_nan=rules.equal_nan):
        rules.fail(scalars_differ(actual, expected, rtol, atol), path)


def _compare_tensors(actual: Tensor, expected: Tensor, rules: _Rules, path: Path) -> None:
    for name, checked in (
        ("shape", True),
        ("device", rules.check_device),
        ("dtype", rules.check_dtype),
        ("layout", rules.check_layout),
        ("stride()", rules.check_stride),
    ):
        pair = [_attribute(tensor, name) for tensor in (actual, expected)]
        if checked and pair[0] != pair[1]:
            rules.fail(
                f"The values for attribute {name!r} do not match: {pair[0]} != {pair[1]}.", path
            )
    if actual.is_meta or expected.is_meta:
        return
    rtol, atol = rules.tolerances(actual.dtype, expected.dtype)
    common = dtypes.promote_types(actual.dtype, expected.dtype)
    if not (common.is_floating_point or common.is_complex):
        common = dtypes.int64  # differences of small and unsigned numbers must not run over
    one, other = (tensor.detach().to("cpu", common) for tensor in (actual, expected))
    if not one.ndim:
        _compare_scalars(one.item(), other.item(), (rtol, atol), rules, path)
        return
    close = isclose(one, other, rtol=rtol, atol=atol, equal_nan=rules.equal_nan)
    if not bool(close.all()):
        rules.fail(elements_differ(one, other, close, rtol, atol), path)


def _attribute(tensor: Tensor, name: str) -> Any:
    return tensor.stride() if name == "stride()" else getattr(tensor, name)


def assert_allclose(
    actual: Any,
    expected: Any,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = True,
    msg: str = "",
) -> None:
    """The older form of `assert_close`: values need not be tensors, and dtypes may differ.

    Warns:
        FutureWarning: Always, as PyTorch does.

    Raises:
        AssertionError: If the values are not close.
    """
    warn(
        "`torch.testing.assert_allclose()` is deprecated: `torch.testing.assert_close()` "
        "took its place",
        FutureWarning,
    )
    one = as_tensor(actual)
    other = as_tensor(expected, dtype=None if isinstance(expected, Tensor) else one.dtype)
    if rtol is None and atol is None:
        kinds = [_TOLERANCES.get(kind, (0.0, 0.0)) for kind in (one.dtype, other.dtype)]
        rtol, atol = max(kind[0] for kind in kinds), max(kind[1] for kind in kinds)
    assert_close(
        one, other, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True,
        check_dtype=False, check_stride=False, msg=msg or None,
    )  # fmt: skip
