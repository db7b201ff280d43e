"""Guards: what must be as it was when a program was captured."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final, final

import numpy as np

from lamina import dtypes
from lamina.codegen.graph import settled
from lamina.compiler.building import Input
from lamina.compiler.reach import Reach
from lamina.compiler.sources import Argument, Reached, Source
from lamina.core.modes import door, state
from lamina.core.tensor import Tensor
from lamina.core.versions import INFERENCE

_CONTEXT: Final = ("grad mode", "inference mode", "anomaly mode", "default dtype", "autocast")


def context() -> tuple[Any, ...]:
    """The modes that programs depend on."""
    kind = dtypes.get_default_dtype()
    is_recording = door.no_grad_threads == 0 or state.grad_enabled
    if not door.is_watched:  # which all others would raise
        return is_recording, False, False, kind, None
    autocast = state.autocast and state.autocast.settings
    return is_recording, state.inference, state.anomaly, kind, autocast


@final
class Guards:
    """The conditions of one program.

    Args:
        gradients: The tensors for which it matters whether they have a gradient.
        targets: Those that gradients will be given to.

    Attributes:
        description: Of the arguments.
        reach: The Python state that it depends on.
        facts: What is known of the tensors that are reached; another list where any of it changed.
    """

    def __init__(
        self, description: Any, tensors: Sequence[Tensor], reach: Reach, inputs: list[Input],
        gradients: Sequence[Tensor], targets: Sequence[Source],
    ) -> None:  # fmt: skip
        self.description = description
        self.reach = reach
        self._context = context()
        self._arguments = [_kind_of(tensor) for tensor in tensors]
        self._same = _repeated(tensors, reach)
        self._inputs = inputs
        self._types = [
            (i.type.shape, settled(i.type.shape, i.type.strides), i.type.dtype) for i in inputs
        ]
        self._known: list[Any] = [_UNKNOWN] * len(inputs)
        self._owners = [i.source.reached for i in inputs if isinstance(i.source, Reached)]
        self._others = [
            (k, i.source.index if isinstance(i.source, Argument) else i.source)
            for k, i in enumerate(inputs)
            if not isinstance(i.source, Reached)
        ]
        more = [source.reached for source in targets if isinstance(source, Reached)]
        self._reached = list({id(tensor): tensor for tensor in [*self._owners, *more]}.values())
        self._flags = [_kind_of(tensor) for tensor in self._reached]
        self.facts: list[tuple[Any, ...]] = [(t, *[_UNKNOWN] * 5) for t in self._reached]
        self._mates = [
            (owner, other)
            for i in inputs
            if isinstance(i.source, Reached)
            for owner in i.owners[:1]
            for other in i.owners[1:]
        ]
        grads = {id(tensor): tensor for tensor in gradients}
        self._grads = [(tensor, tensor._grad is None) for tensor in grads.values()]
        self._is_any_written = any(entry.is_written for entry in inputs)

    # --- asking ----------------------------------------------------------------------------------

    def arrays(self, description: Any, tensors: Sequence[Tensor]) -> list[Any] | None:
        """The arrays of the inputs if the program may run on them, else None.

        The same list as before if all of them are the same.
        """
        found = self._checked(description, tensors)
        return found if found.__class__ is list else None

    def mismatch(self, description: Any, tensors: Sequence[Tensor]) -> str | None:
        """The first condition that does not hold, in words."""
        found = self._checked(description, tensors)
        return found if isinstance(found, str) else None

    def _checked(self, description: Any, tensors: Sequence[Tensor]) -> list[Any] | str:
        """The arrays of the inputs, or what does not hold."""
        if description != self.description:
            return _argument_difference(self.description, description)
        if context() != self._context:
            pairs = zip(_CONTEXT, self._context, context(), strict=True)
            return next(f"{n} was {old}, is {new}" for n, old, new in pairs if old != new)
        for k, tensor in enumerate(tensors):
            wants, is_whole, is_inference, hooks, is_param = self._arguments[k]
            if (
                tensor._requires_grad is not wants
                or (tensor._view is None) is not is_whole
                or (tensor._cell is INFERENCE) is not is_inference
                or tensor._hooks is not hooks
                or tensor._is_param is not is_param
            ):
                return self._argument_mismatch(tensors)
        for k, other in self._same:
            if tensors[k] is not (tensors[other] if isinstance(other, int) else other):
                return f"argument {k} was another tensor that the function reaches"
        # The same objects are of the same kind: 0.04 us a tensor instead of 0.4.
        for tensor, view, node, cell, hooks, wants in self.facts:
            if (
                tensor._view is not view
                or tensor._node is not node
                or tensor._cell is not cell
                or tensor._hooks is not hooks
                or tensor._requires_grad is not wants
            ):
                mismatch = self._look_again()
                if mismatch is not None:
                    return mismatch
                break
        for tensor, was_none in self._grads:
            if (tensor._grad is None) is not was_none:
                return f"{self._name(tensor)}.grad was {'' if was_none else 'not '}None"
        for tensor, other in self._mates:
            if tensor._array is not other._array:
                return f"{self._name(tensor)} shared its memory with another tensor"
        return self.reach.changed() or self._arrays_now(tensors)

    def _argument_mismatch(self, tensors: Sequence[Tensor]) -> str:
        pairs = enumerate(zip(map(_kind_of, tensors), self._arguments, strict=True))
        k, now, kind = next((k, now, kind) for k, (now, kind) in pairs if now != kind)
        return f"argument {k}: {_kind_difference(kind, now)}"

    def _look_again(self) -> str | None:
        """Look at the kind of each tensor that is reached, and remember what it comes from."""
        for tensor, kind in zip(self._reached, self._flags, strict=True):
            if _kind_of(tensor) != kind:
                return f"{self._name(tensor)}: {_kind_difference(kind, _kind_of(tensor))}"
        # A graph is not kept alive for this: what leads to one is looked at each time.
        self.facts = [
            (t, t._view, _UNKNOWN if t._node is not None else None, t._cell, t._hooks,
             t._requires_grad)
            for t in self._reached
        ]  # fmt: skip
        return None

    def _name(self, tensor: Tensor) -> str:
        return self.reach.tensors.get(id(tensor), (None, "a tensor"))[1]

    # --- arrays ----------------------------------------------------------------------------------

    def _arrays_now(self, tensors: Sequence[Tensor]) -> list[Any] | str:
        """The arrays of the inputs, or why one of them does not fit."""
        arrays = [owner._array for owner in self._owners]
        for k, source in self._others:
            array = tensors[source]._array if isinstance(source, int) else source.array(tensors)
            arrays.insert(k, array)
        known = self._known
        changed = [k for k, array in enumerate(arrays) if array is not known[k]]
        if not changed:
            return known
        for k in changed:
            array = arrays[k]
            entry, (shape, strides, dtype) = self._inputs[k], self._types[k]
            if type(array) is not np.ndarray:
                return f"{entry.source.name} is no longer there, or is on another device"
            if array.shape != shape:
                return f"{entry.source.name} had shape {list(shape)}, has {list(array.shape)}"
            if array.dtype != dtype:
                return f"{entry.source.name} had dtype {dtype}, has {array.dtype}"
            if settled(shape, array.strides) != strides:
                return f"{entry.source.name} had strides {strides}, has {array.strides}"
            if not array.flags.aligned or (entry.is_written and not array.flags.writeable):
                return f"{entry.source.name} has memory that cannot be used"
        if self._is_any_written and self._overlaps(arrays):
            return "an input that is written shares memory with another one"
        self._known = arrays
        return arrays

    def _overlaps(self, arrays: list[Any]) -> bool:
        """Whether an array that is written shares memory with another one."""
        spans = sorted(
            (*np.lib.array_utils.byte_bounds(array), k)
            for k, array in enumerate(arrays)
            if self._inputs[k].is_written and array.size
        )
        starts = [start for start, _, _ in spans]
        if any(spans[i][1] > spans[i + 1][0] for i in range(len(spans) - 1)):
            return True
        for k, array in enumerate(arrays):
            if self._inputs[k].is_written or not array.size or not spans:
                continue
            low, high = np.lib.array_utils.byte_bounds(array)
            before = bisect_right(starts, high - 1) - 1
            if before >= 0 and spans[before][1] > low:
                return True
        return False


def _repeated(tensors: Sequence[Tensor], reach: Reach) -> list[tuple[int, Any]]:
    """Which arguments are another argument, or a tensor that the function reaches anyway."""
    found: list[tuple[int, Any]] = []
    for k, tensor in enumerate(tensors):
        first = next(j for j, other in enumerate(tensors) if other is tensor)
        if first != k:
            found.append((k, first))
        elif id(tensor) in reach.tensors:
            found.append((k, tensor))
    return found


def _kind_of(tensor: Tensor) -> tuple[Any, ...]:
    return (
        tensor._requires_grad,
        tensor._view is None,
        tensor._cell is INFERENCE,
        tensor._hooks,
        tensor._is_param,
    )


_UNKNOWN: Final = object()
_KINDS: Final = ("requires_grad", "not a view", "an inference tensor", "hooks", "a parameter")


def _kind_difference(old: tuple[Any, ...], new: tuple[Any, ...]) -> str:
    pairs = zip(_KINDS, old, new, strict=True)
    return next(f"{name} was {a}, is {b}" for name, a, b in pairs if a != b)


def _argument_difference(old: Any, new: Any) -> str:
    if isinstance(old, tuple) and isinstance(new, tuple) and len(old) == len(new):
        for a, b in zip(old, new, strict=True):
            if a != b:
                return _argument_difference(a, b)
    return f"an argument was {_shown(old)}, is {_shown(new)}"


def _shown(description: Any) -> str:
    if (
        isinstance(description, tuple)
        and len(description) == 2
        and isinstance(description[0], type)
    ):
        return str(description[1])
    return str(description)
