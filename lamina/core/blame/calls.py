"""Errors about calls: inputs of the wrong kind or device, without values or a derivative."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lamina import errors
from lamina.core.blame.words import (
    called,
    made_note,
    node_place,
    plain_name,
    this_place,
)
from lamina.core.provenance import place_of
from lamina.devices import CPU, NoValues, current_recorder, device_of


def not_a_tensor(
    op: Any, declared: str, value: Any, index: int | None = None
) -> errors.ArgumentTypeError:
    """An input should be a tensor and is something else."""
    name = declared.strip("*?#@~")
    position = op.names.index(name) + 1
    which = f"element {index} of argument '{name}'" if index is not None else f"argument '{name}'"
    wanted = "tuple of Tensors" if declared[0] == "*" and index is None else "Tensor"
    return errors.ArgumentTypeError(
        f"{op.name}(): {which} (position {position}) must be {wanted}, not {type(value).__name__}",
        [(this_place(), "called here")],
        ["make a tensor of it first: `torch.as_tensor(...)`"],
    )


def check_derivatives(op: Any, values: list[Any]) -> None:
    """Raise if an input that requires grad is one for which the operation has no derivative."""
    for position in op.tensor_positions:
        if position not in op.rules and getattr(values[position], "_requires_grad", False):
            name = op.names[position]
            raise errors.NotDifferentiable(
                f"{op.name}: the derivative for '{name}' is not implemented",
                [(this_place(), "called here"), *made_note(values[position])],
                [f"if no gradient is needed for it, pass `{name}.detach()`"],
            )


def dim_out_of_range(dim: Any, ndim: int) -> errors.DimensionOutOfRange:
    """A dimension that a tensor does not have."""
    low, high = (-ndim, ndim - 1) if ndim else (-1, 0)
    return errors.DimensionOutOfRange(
        f"Dimension out of range (expected to be in range of [{low}, {high}], but got {dim})",
        [(this_place(), "asked for here")],
        [f"the tensor has {ndim} dimension{'s' * (ndim != 1)}"],
    )


def rule_without_values(node: Any, error: NoValues, place: Any) -> errors.LaminaError:
    """The rule of a node met an array without values: in a capture, or on the meta device."""
    return without_values(
        f"{type(node).__name__} in backward",
        [(node_place(node), "recorded here"), (place_of(*place), "backward was called here")],
        (),
    )


def check_has_values(tensor: Any, what: str) -> None:
    """Raise if a tensor was made in a captured step, which computes nothing."""
    if getattr(tensor._array, "recorder", None) is None:
        return
    if current_recorder() is not None:
        raise errors.CaptureError(
            f"{what} reads a value while the step is being captured, when there is none yet",
            [(this_place(), "read here"), *made_note(tensor)],
            ["keep it a tensor inside the captured function, and read it outside"],
        )
    raise errors.CaptureError(
        f"{what} reads a tensor that was made while a step was captured: it stands for a value "
        "of the program, and has none itself",
        [(this_place(), "read here"), *made_note(tensor)],
        ["return it from the captured function, and read what a call of that returns"],
    )


def without_values(name: str, notes: list[Any], tensors: Sequence[Any]) -> errors.LaminaError:
    """A value is asked for where there is none: in a capture, or on the meta device."""
    captured = any(getattr(tensor._array, "recorder", None) is not None for tensor in tensors)
    if captured or current_recorder() is not None:
        return errors.CaptureError(
            f"{name} needs values while the step is being captured, when there are none yet: the "
            "shape of what it computes depends on them", notes,
            ["write it with a result of fixed shape, such as torch.where(mask, x, 0)",
             "or compute it outside of the captured function"],
        )  # fmt: skip
    return errors.NoData(
        f"{name}: Tensor on device meta has no values to read", notes,
        ["compute with real tensors: the meta device only knows shapes and dtypes"],
    )  # fmt: skip


def check_devices(op: Any, values: Sequence[Any], tensors: Sequence[Any]) -> None:
    """Raise if inputs lie on several devices.

    Where dtypes are promoted, and where a declaration says so with `~`, a number in host memory (a
    tensor without dimensions) goes with any device; where it says `@`, any tensor in host memory.
    """
    bound = []
    for declared, position in zip(op.tensor_names, op.tensor_positions, strict=True):
        value = values[position]
        if isinstance(value, list):
            bound += [] if declared[-1] == "@" else value
        elif hasattr(value, "_array"):
            free = declared[-1] == "@" or (
                value._array.ndim == 0 and (declared[-1] == "~" or op.dtypes != "keep")
            )
            if not (free and device_of(value._array) is CPU):
                bound.append(value)
    if len({device_of(tensor._array) for tensor in bound}) > 1:
        raise mixed_devices(op, bound, this_place())


def mixed_devices(op: Any, tensors: Sequence[Any], place: Any) -> errors.DeviceMismatch:
    """Inputs lie on several devices."""
    found = list(dict.fromkeys(str(device_of(t._array)) for t in tensors))
    first = found[0]
    notes = [(place, "mixed here")]
    for tensor in tensors:
        notes += made_note(tensor, f"{called(tensor)} is on {device_of(tensor._array)}")
    return errors.DeviceMismatch(
        "Expected all tensors to be on the same device, but found at least two devices, "
        f"{' and '.join(found[:2])}! (in {op.name})",
        notes,
        [_move_over(tensors, first)],
    )


def _move_over(tensors: Sequence[Any], first: str) -> str:
    other = next((t for t in tensors if str(device_of(t._array)) != first), None)
    name = None if other is None else plain_name(other)
    return (
        f"move `{name}`: `{name}.to({first!r})`" if name else f"move one of them: `.to({first!r})`"
    )
