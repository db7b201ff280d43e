"""Tensors as text, written character by character as PyTorch writes them.

Three steps, each its own function: choose the elements to show (`_shown`), turn each into a cell of
text in one style for the whole tensor (`_cells`), and set the cells in nested brackets (`_layout`).
Only the first sees the whole array, and it copies nothing but what is shown.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from math import inf, prod
from typing import Any, Final, final

import numpy as np

from lamina import dtypes


@final
class PrintOptions:
    """How tensors are printed; changed by `set_printoptions`."""

    __slots__ = ("edgeitems", "linewidth", "precision", "sci_mode", "threshold")

    def __init__(
        self,
        precision: int = 4,
        threshold: float = 1000,
        edgeitems: int = 3,
        linewidth: int = 80,
        sci_mode: bool | None = None,
    ) -> None:
        self.precision = precision
        self.threshold = threshold
        self.edgeitems = edgeitems
        self.linewidth = linewidth
        self.sci_mode = sci_mode


options: Final = PrintOptions()
_PROFILES: Final = {
    "default": PrintOptions(),
    "short": PrintOptions(precision=2, edgeitems=2),
    "full": PrintOptions(threshold=inf),
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Choose how tensors are printed. What is left out stays as it is, except `sci_mode`.

    Args:
        precision: Digits after the decimal point (4).
        threshold: The most elements that are printed in full (1000).
        edgeitems: How many elements at each end of a dimension a summary shows (3).
        linewidth: Characters in a line, after which rows and suffixes are broken (80).
        profile: A set of the four to start from: "default", "short" or "full", in any case. As in
            PyTorch, any other word changes nothing.
        sci_mode: True prints floating-point numbers as 1.0000e+00, False never does. None, also
            when left out, lets each tensor's range of values decide.

    >>> set_printoptions(precision=2)
    >>> print(format_array(np.array([1.0, 2.5])))
    [1.00, 2.50]
    >>> set_printoptions(profile="default")
    """
    start = _PROFILES.get(profile.lower()) if profile is not None else None
    start = options if start is None else start
    options.precision = start.precision if precision is None else precision
    options.threshold = start.threshold if threshold is None else threshold
    options.edgeitems = start.edgeitems if edgeitems is None else edgeitems
    options.linewidth = start.linewidth if linewidth is None else linewidth
    options.sci_mode = sci_mode


# --- the values --------------------------------------------------------------------------------


def format_array(
    array: np.ndarray[Any, Any], indent: int = 0, dtype: dtypes.dtype | None = None
) -> str:
    """The elements of an array in nested brackets; a summary where `options.threshold` says so.

    Args:
        array: Any strides, zero ones included; of a large array only what is shown is read.
        indent: The column at which the text will start; later lines begin there too.
        dtype: Prints the elements converted to this type; by default the array's own.

    >>> print(format_array(np.array([[1.0, np.nan], [-0.0, 1e9]])))
    [[1.0000e+00,        nan],
     [-0.0000e+00, 1.0000e+09]]
    """
    kind = dtypes.from_numpy(array.dtype) if dtype is None else dtype
    if array.size == 0:
        return "[]"
    summary = array.size > options.threshold
    if summary and options.edgeitems <= 0 and array.ndim > 0:
        return "[...]"
    shown, elided = _shown(array, summary)
    if shown.dtype != kind.numpy:
        shown = shown.astype(kind.numpy)
    cells, width = _cells(shown.reshape(-1), kind)
    return _layout(iter(cells), shown.shape, elided, indent, width)


def _shown(
    array: np.ndarray[Any, Any], summary: bool
) -> tuple[np.ndarray[Any, Any], tuple[bool, ...]]:
    """The elements to show, and for each dimension whether its middle was left out."""
    edge = options.edgeitems
    elided = tuple(summary and size > 2 * edge for size in array.shape)
    if not any(elided):
        return array, elided
    squeezed = array.squeeze()  # np.ix_ takes 63 dimensions at most, an array has up to 64
    positions = [
        np.r_[:edge, size - edge : size] if size > 2 * edge else np.arange(size)
        for size in squeezed.shape
    ]
    shape = [min(size, 2 * edge) for size in array.shape]
    return squeezed[np.ix_(*positions)].reshape(shape), elided


def _layout(
    cells: Iterator[str], shape: tuple[int, ...], elided: tuple[bool, ...], indent: int, width: int
) -> str:
    """Cells in row-major order, set in brackets that start at column `indent`."""
    if not shape:
        return next(cells)
    break_line = "\n" + " " * (indent + 1)
    if len(shape) > 1:
        slices = [_layout(cells, shape[1:], elided[1:], indent + 1, width) for _ in range(shape[0])]
        if elided[0]:
            slices.insert(len(slices) // 2, "...")
        blank_lines = "\n" * (len(shape) - 2)
        return "[" + f",{blank_lines}{break_line}".join(slices) + "]"
    row = [next(cells) for _ in range(shape[0])]
    if elided[0]:
        row.insert(len(row) // 2, " ...")
    # A cell takes its width and the ", " after it, in the last place of a line too.
    per_line = max(1, (options.linewidth - indent) // (width + 2))
    lines = [", ".join(row[start : start + per_line]) for start in range(0, len(row), per_line)]
    return "[" + f",{break_line}".join(lines) + "]"


# --- one element -------------------------------------------------------------------------------


def _cells(values: np.ndarray[Any, Any], kind: dtypes.dtype) -> tuple[list[str], int]:
    """The text of each element, padded to one width, and that width."""
    if kind.is_complex:
        return _complex_cells(values)
    if kind.is_floating_point:
        texts, width = _real_texts(values)
    else:
        texts = [str(value) for value in values.tolist()]
        width = max(map(len, texts))
    return [text.rjust(width) for text in texts], width


def _complex_cells(values: np.ndarray[Any, Any]) -> tuple[list[str], int]:
    """Both parts, each in a style of its own; only the real part is padded."""
    reals, real_width = _real_texts(values.real)
    imaginaries, imaginary_width = _real_texts(values.imag)
    cells = [
        f"{real.rjust(real_width)}{'' if imaginary.startswith('-') else '+'}{imaginary}j"
        for real, imaginary in zip(reals, imaginaries, strict=True)
    ]
    # The width that decides line breaks counts the "j" and leaves out the sign.
    return cells, real_width + imaginary_width + 1


def _real_texts(values: np.ndarray[Any, Any]) -> tuple[list[str], int]:
    """The text of each number, not padded, and the width to pad to.

    Zeros, infinities and NaN have no say in the style or the width, so they may exceed it.
    """
    with np.errstate(invalid="ignore"):  # a signalling NaN is no reason to warn
        numbers = values.astype(np.float64)
    decisive = np.isfinite(numbers) & (numbers != 0)
    spec, suffix = _style(numbers[decisive])
    texts = [
        f"{number:{spec}}{suffix if finite else ''}"
        for number, finite in zip(numbers.tolist(), np.isfinite(numbers).tolist(), strict=True)
    ]
    widths = (len(text) for text, counts in zip(texts, decisive.tolist(), strict=True) if counts)
    return texts, max(widths, default=1)


def _style(numbers: np.ndarray[Any, Any]) -> tuple[str, str]:
    """How to print numbers, of which these are finite and not zero: a format spec and a suffix.

    Whole numbers print as `2.`, others with a fixed number of digits, and both in scientific
    notation where a fixed point would lose the small ones or stretch the large ones.
    """
    if numbers.size == 0:
        return ".0f", "."
    whole = bool((numbers == np.ceil(numbers)).all())
    scientific = options.sci_mode
    if scientific is None:
        magnitudes = np.abs(numbers)
        # Python floats, because their quotient overflows to infinity without a warning.
        least, most = float(magnitudes.min()), float(magnitudes.max())
        scientific = most / least > 1000.0 or most > 1e8 or least < 1e-4
    if scientific:
        return f".{options.precision}e", ""
    return (".0f", ".") if whole else (f".{options.precision}f", "")


# --- the tensor --------------------------------------------------------------------------------


def batched_repr(held: str, level: int, is_same: bool) -> str:
    """The text of a tensor inside a `vmap`: the level, and the values of all samples."""
    dim = "None" if is_same else "0"
    return f"BatchedTensor(lvl={level}, bdim={dim}, value=\n{textwrap.indent(held, '    ')}\n)"


def sparse_repr(
    array: Any, dtype: dtypes.dtype, *, grad_fn_name: str | None, requires_grad: bool
) -> str:
    """The text of a sparse tensor: its places and elements, each as a tensor of its own.

    Args:
        array: A `SparseArray`.
        dtype: Its element type.
        grad_fn_name: The node that made it; None for a leaf.
        requires_grad: Whether it requires grad, told of leaves only.
    """
    column = " " * 7
    parts = []
    for name, values in (("indices", array.indices), ("values", array.values)):
        start = f"{name}=tensor("
        size = f", size={values.shape}" if values.size == 0 else ""
        parts.append(start + format_array(values, len(column + start)) + size + "),\n")
    suffixes = [f"nnz={array.values.size}"]
    if _names_dtype(dtype, without_elements=array.values.size == 0):
        suffixes.append(f"dtype={dtype!r}")
    suffixes.append("layout=torch.sparse_coo")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    text = "tensor(" + column.join([*parts, f"size={tuple(array.shape)}"])
    return _append_suffixes(text, suffixes, len(column)) + ")"


def tensor_repr(
    array: np.ndarray[Any, Any] | None,
    *,
    shape: tuple[int, ...],
    dtype: dtypes.dtype,
    device: str,
    device_is_default: bool,
    grad_fn_name: str | None,
    requires_grad: bool,
    is_parameter: bool = False,
    class_name: str = "tensor",
    is_captured: bool = False,
) -> str:
    """The complete text of a tensor: `tensor([[1., 2.]], dtype=torch.float64)`.

    Args:
        array: The elements; None for a tensor that has none, which prints as `...`.
        shape: The tensor's shape.
        dtype: Its element type, named in the text unless the elements already tell it.
        device: Its device, named in the text unless `device_is_default`.
        device_is_default: Whether tensors are made on this device when none is asked for.
        grad_fn_name: The node that made it, such as "MulBackward0"; None for a leaf.
        requires_grad: Whether it requires grad, told of leaves only.
        is_parameter: Puts the line `Parameter containing:` before it.
        class_name: The word before the bracket; a subclass of Tensor has its own.
        is_captured: Whether it stands for a value of a captured program, and has none itself.

    >>> tensor_repr(np.ones(2), shape=(2,), dtype=dtypes.float64, device="cpu",
    ...             device_is_default=True, grad_fn_name=None, requires_grad=True)
    'tensor([1., 1.], dtype=torch.float64, requires_grad=True)'
    """
    indent = len(class_name) + 1
    values = "..." if array is None else format_array(array, indent, dtype)
    suffixes = [] if device_is_default else [f"device='{device}'"]
    if _names_size(shape, is_meta=array is None):
        suffixes.append(f"size={tuple(shape)}")
    if _names_dtype(dtype, without_elements=array is None or prod(shape) == 0):
        suffixes.append(f"dtype={dtype!r}")
    if grad_fn_name is not None:
        suffixes.append(f"grad_fn=<{grad_fn_name}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if is_captured:
        suffixes.append("captured")
    text = _append_suffixes(f"{class_name}({values}", suffixes, indent) + ")"
    if not is_parameter:
        return text
    return "Parameter containing:\n" + (text if class_name == "tensor" else f"Parameter({text})")


def _names_size(shape: tuple[int, ...], is_meta: bool) -> bool:
    """Whether the text names the size, which it does where the brackets cannot tell it."""
    if is_meta:
        return True
    return len(shape) != 1 if prod(shape) == 0 else options.edgeitems <= 0


def _names_dtype(dtype: dtypes.dtype, without_elements: bool) -> bool:
    """Whether the text names the dtype, which it does where the elements cannot tell it."""
    default = dtypes.default
    if without_elements:
        return dtype is not default.floating
    return dtype not in (default.floating, default.complex, dtypes.int64, dtypes.bool_)


def _append_suffixes(text: str, suffixes: list[str], indent: int) -> str:
    """The text with the suffixes after it, each on a new line where the last one is full."""
    # A suffix needs room for the ", " before it, and for two characters more: PyTorch counts the
    # closing bracket and one to spare. The line of the values counts another two.
    used = len(text) - (text.rfind("\n") + 1) + 2
    for suffix in suffixes:
        if used + len(suffix) + 2 > options.linewidth:
            text += ",\n" + " " * indent + suffix
            used = indent + len(suffix)
        else:
            text += ", " + suffix
            used += len(suffix) + 2
    return text
