"""Errors about kernels that failed: an argument that does not fit, inputs refused, or our fault.

A kernel checks little before it computes, so its exception may mean any of these. What is known of
the call decides: first whether an argument has a type that its parameter does not take, then
whether NumPy refused the dtypes, shapes or values of the inputs. An exception that no input should
cause, such as a missing attribute, is reported as a fault of ours, with its traceback.
"""

from __future__ import annotations

import inspect
import numbers
import re
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np

from lamina import dtypes, errors
from lamina.core.blame.calls import dim_out_of_range, mixed_devices, without_values
from lamina.core.blame.words import called, dims, made_note, op_name, this_place, word_of
from lamina.devices import MixedDevices, NoValues

__all__ = ["raise_failure"]


def raise_failure(op: Any, values: list[Any], tensors: Sequence[Any], error: Exception) -> NoReturn:
    """Raise what a kernel's exception means to the caller."""
    found = (
        _of_the_machine(op, tensors, error)
        or _broadcast_mismatch(op, tensors, error)
        or _misfit(op, values)
        or _refused(op, tensors, error)
    )
    if found is not None:
        raise found from None
    raise _our_fault(op, tensors, error) from error


def _of_the_machine(op: Any, tensors: Sequence[Any], error: Exception) -> Exception | None:
    """Devices, values that are not there, memory."""
    place = this_place()
    if isinstance(error, MixedDevices):
        return mixed_devices(op, tensors, place)
    if isinstance(error, NoValues):
        return without_values(op.name, [(place, "read here")], tensors)
    if isinstance(error, MemoryError):
        return errors.OutOfMemoryError(
            f"not enough memory for the result of {op.name}: {error}", [(place, "asked for here")]
        )
    return None


def _broadcast_mismatch(op: Any, tensors: Sequence[Any], error: Exception) -> Exception | None:
    text = str(error)
    if not (isinstance(error, ValueError) and ("broadcast" in text or "shape" in text)):
        return None
    shapes = [tensor._array.shape for tensor in tensors]
    for k in range(1, len(shapes)):
        first, second = shapes[0], shapes[k]
        for back in range(1, min(len(first), len(second)) + 1):
            a, b = first[-back], second[-back]
            if a != b and a != 1 and b != 1:
                dimension = max(len(first), len(second)) - back
                names = [called(t, f"input {i}") for i, t in enumerate(tensors)]
                return errors.ShapeMismatch(
                    f"The size of tensor a ({a}) must match the size of tensor b ({b}) at "
                    f"non-singleton dimension {dimension}: {op.name} of {names[0]} {dims(first)} "
                    f"and {names[k]} {dims(second)}",
                    [(this_place(), "computed here"), *made_note(tensors[0]),
                     *made_note(tensors[k])],
                    ["shapes broadcast from the right: make the sizes equal, or one of them 1 "
                     "(unsqueeze, transpose, reshape)"],
                )  # fmt: skip
    return None


# --- arguments of the wrong type ---------------------------------------------------------------


def _is_whole(value: Any) -> bool:
    return isinstance(value, numbers.Integral | np.integer | np.bool_)


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real | np.bool_) or hasattr(value, "dtype")


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Number | np.generic) or hasattr(value, "dtype")


def _are_whole(value: Any) -> bool:
    return _is_whole(value) or (isinstance(value, list | tuple) and all(map(_is_whole, value)))


def _is_dtype(value: Any) -> bool:
    return isinstance(value, dtypes.dtype | np.dtype | type)


_KINDS: Final[dict[str, Callable[[Any], bool]]] = {
    "int": _is_whole,
    "float": _is_real,
    "bool": _is_whole,
    "str": lambda value: isinstance(value, str),
    "tuple[int, ...]": _are_whole,
    "tuple of ints": _are_whole,
    "Number": _is_number,
    "dtype": _is_dtype,
}
"""What fits a parameter, by its annotation."""

_BY_NAME: Final = {
    **dict.fromkeys(("dim", "dims", "size", "sizes", "shape", "split_sizes"), "tuple of ints"),
    **dict.fromkeys(("normalized_shape", "stride", "padding", "dilation"), "tuple of ints"),
    **dict.fromkeys(("pad", "shifts", "output_padding"), "tuple of ints"),
    **dict.fromkeys(("alpha", "beta", "value", "fill_value", "lambd", "threshold"), "Number"),
    **dict.fromkeys(("min", "max", "nan", "posinf", "neginf", "start", "end", "p"), "Number"),
    **dict.fromkeys(("weight", "correction"), "Number"),
    "dtype": "dtype",
}
"""What parameters take that are annotated as Any, or not at all, by their names."""


def _text_of(annotation: Any) -> str:
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


def _misfit(op: Any, values: list[Any]) -> errors.ArgumentTypeError | None:
    """The error for an argument whose type its parameter does not take, if there is one."""
    parameters = inspect.signature(op.kernel).parameters
    for position, name in enumerate(op.names):
        value = values[position]
        if position in op.tensor_positions or name not in parameters:
            continue
        if value is None and op.defaults.get(name, value) is None:
            continue
        wanted = _text_of(parameters[name].annotation).removesuffix(" | None")
        if wanted not in _KINDS:
            wanted = _BY_NAME.get(name, "")
        fits = _KINDS.get(wanted)
        if fits is not None and not fits(value):
            return errors.ArgumentTypeError(
                f"{op_name(op.name)}(): argument '{name}' (position {position + 1}) must be "
                f"{wanted}, not {type(value).__name__}",
                [(this_place(), "called here")],
            )
    return None


# --- inputs that NumPy refuses, and our own faults ----------------------------------------------

_ABOUT_DTYPES: Final = re.compile("ufunc|cast|dtype|complex|numpy boolean|integer argument")
"""Words of the TypeErrors by which NumPy and `math` refuse the dtype of an input."""

_OF_PYTHON: Final = re.compile(
    "values to unpack|not in (list|tuple|deque)|x not in|(tuple|list) index out of range|"
    "empty (list|sequence|iterable)|iterable argument is empty|substring not found|zip\\(\\) arg"
)
"""Words of the errors by which Python's own lists and tuples refuse what our code asks of them."""

_KINDS_OF_REFUSAL: Final[tuple[tuple[type[Exception], type[errors.LaminaError]], ...]] = (
    (np.linalg.LinAlgError, errors.LinAlgError),
    (NotImplementedError, errors.NotSupported),
    (IndexError, errors.IndexOutOfRange),
    (ValueError, errors.InvalidArgument),
    (OverflowError, errors.InvalidArgument),
    (RuntimeError, errors.InvalidArgument),
)


def _refused(op: Any, tensors: Sequence[Any], error: Exception) -> Exception | None:
    """The error for inputs whose dtypes, shapes or values cannot be computed with."""
    text, place = str(error), this_place()
    if isinstance(error, np.exceptions.AxisError) and error.axis is not None:
        return dim_out_of_range(error.axis, error.ndim or 0)
    if isinstance(error, TypeError) and tensors and _ABOUT_DTYPES.search(text):
        kind = max((tensor.dtype for tensor in tensors), key=lambda dtype: dtype.category)
        return errors.NotImplementedForDtype(
            f"\"{op.name}\" not implemented for '{word_of(kind)}'", [(place, "called here")]
        )
    if isinstance(error, RecursionError) or _OF_PYTHON.search(text):
        return None
    for refusal, kind in _KINDS_OF_REFUSAL:
        if isinstance(error, refusal):
            return kind(f"{op.name}(): {text}", [(place, _on(tensors))])
    return None


def _our_fault(op: Any, tensors: Sequence[Any], error: Exception) -> errors.InternalError:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return errors.InternalError(
        f"{op.name}() failed inside Lamina: {type(error).__name__}: {error} "
        f"({'/'.join(Path(last.filename).parts[-3:])}, line {last.lineno})",
        [(this_place(), _on(tensors))],
        ["no argument should cause this: these inputs should work, or be refused in plain words",
         "please report it, with this program and the traceback above"],
    )  # fmt: skip


def _on(tensors: Sequence[Any]) -> str:
    inputs = ", ".join(f"{tensor.dtype} {dims(tensor._array.shape)}" for tensor in tensors)
    return f"called here, on {inputs}" if inputs else "called here"
