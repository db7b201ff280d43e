"""Errors about changes in place and `out=`: raised before anything is written."""

from __future__ import annotations

from typing import Any

import numpy as np

from lamina import dtypes, errors
from lamina.core.blame import reading, repairs
from lamina.core.blame.words import (
    Note,
    a_name,
    called,
    dims,
    first_name,
    inference_help,
    made_at,
    made_note,
    plain_name,
    this_place,
    word_of,
)
from lamina.core.layouts import is_dense
from lamina.core.modes import state
from lamina.core.origins import FUNCTION, MULTIPLE, RECORDED
from lamina.core.provenance import place_of
from lamina.core.versions import INFERENCE
from lamina.core.warning import warn
from lamina.devices import CPU, device_of


def check_inplace(name: str, target: Any, records: bool) -> None:
    """Raise if a tensor may not be changed in place now."""
    if target._cell is INFERENCE:
        if not state.inference:
            raise _inference(target)
    elif records:
        if target._view is None:
            if target._requires_grad and target._node is None:
                raise _leaf(target)
        else:
            _check_view(target, target._view)
    if _overlaps(target._array):
        raise errors.OverlappingWrite(
            "unsupported operation: more than one element of the written-to tensor refers to a "
            "single "
            "memory location. Please clone() the tensor before performing the operation.",
            [
                (this_place(), "written here"),
                *made_note(target, "its elements share memory since here"),
            ],
            [_copy_first(target)],
        )


def _copy_first(target: Any) -> str:
    name = plain_name(target) or first_name(target)
    if name is not None:
        return f"change a copy: `{name} = {name}.clone()`"
    made = made_at(target)
    text = "" if made is None else made.expression
    return f"change a copy: `{text}.clone()`" if text else "change a copy: clone() it first"


def _overlaps(array: Any) -> bool:
    """Whether several elements are one place in memory: an expanded dimension."""
    if array.flags.c_contiguous:
        return False
    return any(
        step == 0 and length > 1 for step, length in zip(array.strides, array.shape, strict=True)
    )


def check_no_partial_overlap(written: Any, other: Any) -> None:
    """Raise if an input shares a part of the written-to array, in another arrangement.

    The result would depend on the order in which elements are written.
    """
    read = other._array
    if written is read or not (written.__class__ is read.__class__ is np.ndarray):
        return
    if not np.may_share_memory(written, read) or not (is_dense(written) and is_dense(read)):
        return
    if _steps(written) == _steps(read) and written.ctypes.data == read.ctypes.data:
        return
    raise errors.OverlappingWrite(
        "unsupported operation: some elements of the input tensor and the written-to tensor refer "
        "to a single memory location. Please clone() the tensor before performing the operation.",
        [(this_place(), "written here"), *made_note(other, "this input shares memory")],
        [f"read from a copy: `{plain_name(other) or 't'}.clone()`"],
    )


def _steps(array: Any) -> list[tuple[int, int]]:
    """Strides and lengths of the dimensions in which there are steps."""
    pairs = zip(array.strides, array.shape, strict=True)
    return [(step, length) for step, length in pairs if length > 1]


def _leaf(target: Any) -> errors.LeafModified:
    name = a_name(target)
    place = this_place()
    help = ["to change the values only, do it under `with torch.no_grad():`"]
    written = repairs.out_of_place(place.expression)
    called_without = repairs.without_keyword(place.expression, "inplace")
    if written is not None:
        help.append(f"to go on computing with the result, write `{written}`")
    elif called_without is not None:
        help.append(f"to go on computing with the result, use inplace=False: `{called_without}`")
    else:
        help.append(f"to go on computing with the result, change a copy: `{name}.clone()`")
    return errors.LeafModified(
        "a leaf Variable that requires grad is being used in an in-place operation: "
        f"{called(target)} "
        "would no longer be the leaf that collects .grad",
        [(place, "changed here"), *made_note(target, f"the leaf `{name}` was made here")],
        help,
    )


def _check_view(target: Any, view: Any) -> None:
    """Raise if a view may not be written to while recording."""
    base = view.base
    if view.creation is not RECORDED:
        raise _special_view(target, view)
    if base._node is None and target.requires_grad:
        name = a_name(base)
        raise errors.ViewOfLeafModified(
            "a view of a leaf Variable that requires grad is being used in an in-place operation: "
            f"it is part of the leaf `{name}`",
            [(this_place(), "changed here"), *made_note(base, f"the leaf `{name}` was made here")],
            [
                "to change the values only, do it under `with torch.no_grad():`",
                f"to go on computing with the result, change a copy: `{name}.clone()`",
            ],
        )


def _special_view(target: Any, view: Any) -> RuntimeError:
    code, lasti, op_name = view.origin
    made: list[Note] = [
        (this_place(), "changed here"),
        (place_of(code, lasti), "the view was made here"),
    ]
    if view.creation is MULTIPLE:
        node = target._node
        node_name = getattr(getattr(node, "node", node), "name", lambda: op_name)()
        base_name = a_name(view.base, "y")
        return errors.MultiViewModified(
            f"Output {target._node.index if hasattr(target._node, 'index') else 0} of {node_name} "
            "is a view and is being modified inplace. This view is the "
            "output of a function that returns multiple views. Such functions do not allow the "
            "output views to be modified inplace. You should replace the inplace operation by an "
            "out-of-place one.",
            made,
            [f"take the part by index and change that: `{base_name}[i]`",
             "or compute out of place and put the parts together: `torch.stack([...])`"],
        )  # fmt: skip
    if view.creation is FUNCTION:
        return errors.FunctionViewModified(
            f"Output 0 of {op_name} is a view and is being modified inplace. This view was created "
            "inside a custom Function (or because an input was returned as-is) and the autograd "
            "logic to handle view+inplace would override the custom backward associated with the "
            "custom Function, leading to incorrect gradients. This behavior is forbidden.",
            made,
            [f"change a copy: `{_made_source(target, made)}.clone()`"],
        )
    mode = "no_grad" if view.creation == "no_grad" else "inference"
    return errors.NoGradViewModified(
        f"A view was created in {mode} mode and is being modified inplace with grad mode enabled: "
        "how "
        "the view depends on its base was not recorded",
        made,
        [
            f"make the view outside {mode}, or do both inside {mode}",
            f"or change a copy: `{_made_source(target, made)}.clone()`",
        ],
    )


def _made_source(target: Any, made: list[Note]) -> str:
    """A view's name in the program, or the expression that made it."""
    place = made[-1][0]
    return plain_name(target) or (place.expression if place is not None else "") or "t"


def stale_view(target: Any) -> RuntimeError:
    """A view that can't be made again is used after its base was changed in place."""
    return _special_view(target, target._view)


def _inference(target: Any) -> errors.InferenceTensorError:
    return errors.InferenceTensorError(
        "Inplace update to inference tensor outside InferenceMode is not allowed. You can make a "
        "clone "
        "to get a normal tensor before doing inplace update.",
        [(this_place(), "changed here"), *made_note(target, "made here, in inference mode")],
        [inference_help(target)],
    )


def read_only(target: Any) -> errors.InvalidValue:
    """A tensor over memory that NumPy protects is written to."""
    return errors.InvalidValue(
        f"{called(target)} can't be written to: it shares the memory of a NumPy array that is "
        "read-only",
        [(this_place(), "written here"), *made_note(target)],
        [_copy_first(target), "or make the array writable first: `array.flags.writeable = True`"],
    )


def check_write(name: str, target: Any, result: Any) -> None:
    """Raise unless a result fits into a tensor: shape, and kind of number."""
    array = target._array
    if not array.flags.writeable:
        raise read_only(target)
    if array.__class__ is not np.ndarray or result.__class__ is not np.ndarray:
        _check_place(name, target, result)
    if result.shape != array.shape:
        raise errors.WriteShapeMismatch(
            f"output with shape {dims(array.shape)} doesn't match the broadcast shape "
            f"{dims(result.shape)}",
            [(this_place(), "written here"), *made_note(target)],
            ["an in-place operation can't change the shape: compute out of place instead"],
        )
    _check_cast(dtypes.from_numpy(result.dtype), target.dtype, target)


def _check_place(name: str, target: Any, result: Any) -> None:
    """Raise unless a result is where it will be written; numbers in host memory go anywhere."""
    place, found = device_of(target._array), device_of(result)
    if place is found or (found is CPU and result.ndim == 0):
        return
    raise errors.DeviceMismatch(
        f"Expected all tensors to be on the same device, but found at least two devices, {place} "
        f"and {found}! (in {name}_)",
        [(this_place(), f"would be written to {place}"), *made_note(target)],
        [f"move the other tensor first: `.to({str(place)!r})`"],
    )


def check_out_device(name: str, out: Any, tensors: list[Any]) -> None:
    """Raise if `out=` lies on another device than the result will."""
    if all(t._array.__class__ is np.ndarray for t in (*tensors, *_targets(out))):
        return
    places = [device_of(t._array) for t in tensors if t._array.ndim]
    places += [place for t in tensors if (place := device_of(t._array)) is not CPU]
    expected = places[0] if places else CPU
    for target in _targets(out):
        found = device_of(target._array)
        if tensors and found is not expected:
            raise errors.DeviceMismatch(
                f"{name}(): Expected out tensor to have device {expected}, but got {found} instead",
                [(this_place(), "out= was given here"), *made_note(target)],
                [f"make the target on the same device: device={str(expected)!r}"],
            )


def _targets(out: Any) -> Any:
    return out if isinstance(out, tuple | list) else (out,)


def _check_cast(source: dtypes.dtype, target: dtypes.dtype, tensor: Any) -> None:
    if not dtypes.can_cast(source, target):
        name = plain_name(tensor) or "t"
        raise errors.CastRefused(
            f"result type {word_of(source)} can't be cast "
            f"to the desired output type {word_of(target)}",
            [(this_place(), "written here"), *made_note(tensor)],
            [f"convert the tensor first: `{name} = {name}.to({source!r})`"],
        )


def check_out(name: str, out: Any, records: bool, tensors: list[Any]) -> None:
    """Raise if `out=` is no tensor, or a derivative would have to be recorded into it."""
    for target in _targets(out):
        if not hasattr(target, "_array"):
            raise errors.ArgumentTypeError(
                f"{name}(): argument 'out' must be Tensor, not {type(target).__name__}",
                [(this_place(), "given here")],
            )
        if records or (target.requires_grad and state.grad_enabled):
            culprit = next((t for t in tensors if t.requires_grad), target)
            raise errors.OutWithGrad(
                f"{name}(): functions with out=... arguments don't support automatic "
                "differentiation, "
                f"but one of the arguments requires grad: {called(culprit)}",
                [
                    (this_place(), "out= was given here"),
                    *made_note(culprit, "requires grad since here"),
                ],
                [
                    _without_out(this_place().expression)
                    + ", or, if no gradient is needed, do it under `with torch.no_grad():`"
                ],
            )


def _without_out(text: str) -> str:
    target, call = reading.keyword_source(text, "out"), repairs.without_keyword(text, "out")
    if target is None or call is None:
        return "drop out= and use the result"
    return f"drop out= and use the result: `{target} = {call}`"


def check_out_dtype(name: str, out: Any, result: Any) -> None:
    """Raise if a result would lose its kind of number in `out=`."""
    _check_cast(dtypes.from_numpy(np.dtype(result.dtype)), out.dtype, out)
    if not out._array.flags.writeable and out._array.shape == result.shape:
        raise read_only(out)


def warn_of_resize(out: Any, shape: tuple[int, ...]) -> None:
    """Warn if `out=` has elements and another shape than the result: it loses them."""
    if out._array.size and out._array.shape != shape:
        warn(
            f"out= has shape {dims(out._array.shape)} and elements, and is resized to the "
            f"result's shape {dims(shape)}: reuse tensors of the right shape, or empty this one "
            "first with resize_(0)"
        )
