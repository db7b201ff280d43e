"""Life of a call of an operator: arguments, transforms, derivatives, and the kernel of the device.

    call -> the rule for many samples -> autocast -> a node, if arguments require grad
         -> versions of what is written -> the kernel of the device -> checks of its results

What stands further left sees what stands to its right as one operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina.amp import autocast_mode
from lamina.codegen.later import Later
from lamina.core.modes import door, state
from lamina.core.positions import here
from lamina.core.tensor import Tensor, cell_of, root_of
from lamina.core.versions import INFERENCE
from lamina.devices import device
from lamina.library import blame, formula, results
from lamina.library.binding import bound, given
from lamina.library.registry import ALL_DEVICES, COMPOSITE, Operator, backend_of
from lamina.library.tags import Tag

if TYPE_CHECKING:
    from lamina.autograd import function_transforms
    from lamina.library import captured
else:
    captured = Later("lamina.library.captured")
    function_transforms = Later("lamina.autograd.function_transforms")

__all__ = ["call", "tensors_among"]


def call(operator: Operator, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The results of an operator for the arguments of a call.

    Raises:
        OperatorCallError: The arguments do not fit the declaration.
        NoOperatorKernel: There is no kernel for their device.
        OperatorResultError: The kernel did not return what is declared.
    """
    positional, by_name = bound(operator.declared, args, kwargs)
    if door.is_watched and state.mappings and operator.vmap is not None:
        mapping = function_transforms.mapping_of([*positional, *by_name.values()])
        if mapping is not None:
            few, names = given(operator.declared, positional, by_name)
            return function_transforms.by_own_rule(operator.vmap, few, mapping, names)
    if operator.autocast and (kind := _autocast_device(operator, positional)) is not None:
        positional = _cast(positional, kind, operator.autocast[kind])
        with autocast_mode.autocast(kind, enabled=False):
            return _differentiated(operator, positional, by_name)
    return _differentiated(operator, positional, by_name)


def tensors_among(values: Any) -> Iterator[Tensor]:
    """The tensors among values, also those in lists."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list):
            yield from tensors_among(value)


# --- autocast ------------------------------------------------------------------------------------


def _autocast_device(operator: Operator, positional: list[Any]) -> str | None:
    """The type of device whose autocast casts these arguments."""
    for kind in operator.autocast:
        if autocast_mode.is_autocast_enabled(kind) and any(
            tensor.device.type == kind for tensor in tensors_among(positional)
        ):
            return kind
    return None


def _cast(values: list[Any], kind: str, dtype: Any) -> list[Any]:
    """Values with their floating-point tensors in another dtype; float64 stays."""
    return [_cast_one(value, kind, dtype) for value in values]


def _cast_one(value: Any, kind: str, dtype: Any) -> Any:
    if isinstance(value, list):
        return _cast(value, kind, dtype)
    if not isinstance(value, Tensor) or value.device.type != kind:
        return value
    is_cast = value.dtype.is_floating_point and value.dtype.itemsize < 8
    return value.to(dtype) if is_cast else value


# --- derivatives ---------------------------------------------------------------------------------


def _differentiated(operator: Operator, positional: list[Any], by_name: dict[str, Any]) -> Any:
    own = operator.kernels.get("Autograd")
    if own is not None:
        few, names = given(operator.declared, positional, by_name)
        return own(*few, **names)
    if _is_composite(operator, positional):
        few, names = given(operator.declared, positional, by_name)
        return operator.kernels[COMPOSITE](*few, **names)
    if door.is_watched and state.duals:
        values = (*tensors_among(positional), *tensors_among(by_name.values()))
        if function_transforms.level_of(values) is not None:
            raise blame.no_forward_formula(operator.declared)
    records = state.grad_enabled and formula.requires_grad(positional)
    if not operator.is_custom and operator.formula is None:
        return _without_formula(operator, positional, by_name, records)
    if Tag.out in operator.tags:
        if state.grad_enabled and formula.requires_grad((*positional, *by_name.values())):
            raise blame.out_with_gradient(operator.declared)
        records = False
    if records:
        few, _ = given(operator.declared, positional, by_name)
        return formula.recorded(
            operator, positional, by_name, len(few),
            lambda: _computed(operator, positional, by_name),
        )  # fmt: skip
    return _unrecorded(operator, positional, by_name)


def _is_composite(operator: Operator, positional: list[Any]) -> bool:
    """Whether a kernel made of other operations runs, since the device has none of its own."""
    if COMPOSITE not in operator.kernels:
        return False
    return operator.formula is None and _key_of(operator, positional, {}) not in operator.kernels


def _without_formula(
    operator: Operator, positional: list[Any], by_name: dict[str, Any], records: bool
) -> Any:
    """Operations in the kernel are recorded; results that then have no graph get a node."""
    found = _computed(operator, positional, by_name)
    if not records or formula.requires_grad(found if isinstance(found, tuple) else (found,)):
        return found
    if not any(True for _ in tensors_among(found if isinstance(found, tuple) else (found,))):
        return found
    return formula.recorded_without_formula(operator, positional, found)


def _unrecorded(operator: Operator, positional: list[Any], by_name: dict[str, Any]) -> Any:
    """The results without a node. Nothing inside the kernel is recorded either."""
    place, before = here(), state.grad_enabled
    door.set_grad_enabled(False)
    try:
        found = _computed(operator, positional, by_name)
    finally:
        door.set_grad_enabled(before)
    sources = list(tensors_among((*positional, *by_name.values())))
    is_cut = any(tensor.requires_grad for tensor in sources)
    reason = state.off_reason if is_cut and not before else None
    origin = (*place, operator.qualname, reason, None if reason else root_of(*sources))
    for tensor in tensors_among(found if isinstance(found, tuple) else (found,)):
        if tensor._node is None and not any(tensor is source for source in sources):
            tensor._origin = origin
    return found


# --- the kernel ----------------------------------------------------------------------------------


def _computed(operator: Operator, positional: list[Any], by_name: dict[str, Any]) -> Any:
    """What the kernel for the arguments' device gives, checked."""
    schema = operator.declared
    if schema.is_mutable:
        _count_writes(operator, positional, by_name)
    few, names = given(schema, positional, by_name)
    key = _key_of(operator, positional, by_name)
    kernel = _kernel(operator, key)
    if kernel is None:  # on the meta device, one that writes into its arguments and returns them
        return results.written(schema, positional, by_name)
    if door.is_watched and _is_opaque(operator):
        found = captured.step(operator, kernel, few, names)
        if found is not None:
            return found
    found = kernel(*few, **names)
    return results.checked(operator, kernel, positional, by_name, found)


def _is_opaque(operator: Operator) -> bool:
    """Whether a captured program need not look into the kernel, as nothing outside does."""
    has_node = operator.is_custom or operator.formula is not None
    return has_node and operator.fake is not None and operator.declared.is_functional


def _count_writes(operator: Operator, positional: list[Any], by_name: dict[str, Any]) -> None:
    """Count a write in the version of each argument that the operator writes into."""
    place = here()
    values = dict(zip((a.name for a in operator.declared.positional), positional, strict=True))
    values |= by_name
    for argument in operator.declared.written:
        for tensor in tensors_among((values[argument.name],)):
            if tensor._cell is not INFERENCE:
                cell_of(tensor).bump(*place)


def _key_of(operator: Operator, positional: list[Any], by_name: dict[str, Any]) -> str:
    """The key of the kernels for the arguments' device; without tensors, for that asked for."""
    found = {
        "CPU" if tensor._array.__class__ is np.ndarray else backend_of(tensor.device.type)
        for tensor in tensors_among((*positional, *by_name.values()))
    }
    if not found and ALL_DEVICES not in operator.kernels:
        values = (*positional, *by_name.values())
        found = {backend_of(value.type) for value in values if isinstance(value, device)}
    found.discard("CPU")
    return "Meta" if "Meta" in found else next(iter(found), "CPU")


def _kernel(operator: Operator, key: str) -> Callable[..., Any] | None:
    """The kernel for a device; None if there is nothing to compute there.

    Raises:
        NoOperatorKernel, NoFakeKernel: There is none.
    """
    kernels = operator.kernels
    if key == "Meta":
        return _meta_kernel(operator)
    found = kernels.get(key) or kernels.get(ALL_DEVICES) or kernels.get(COMPOSITE)
    if found is None:
        raise blame.no_kernel(operator.declared, key, list(kernels))
    return found


def _meta_kernel(operator: Operator) -> Callable[..., Any] | None:
    schema = operator.declared
    found = operator.fake or operator.kernels.get("Meta")
    if found is not None:
        return found
    if not operator.is_custom:
        found = operator.kernels.get(ALL_DEVICES) or operator.kernels.get(COMPOSITE)
        if found is None:
            raise blame.no_fake_kernel(schema)
        return found
    is_trivial = schema.is_mutable and not schema.returns
    if not is_trivial and not {Tag.inplace, Tag.out} & set(operator.tags):
        raise blame.no_fake(schema, f"<CustomOpDef({operator.qualname})>")
    return None
