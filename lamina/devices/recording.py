"""Programs: flat lists of NumPy calls in which arrays have become numbers.

    %2: float32[64,10] = matmul(%0, %1)
    %3: float32[64] = max(%2, 1)
    add(%0, 1.0, out=%0)

Views and writes are steps like any other. Replaying makes the same calls in the same order, so an
array that shared memory with another when recorded shares it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from lamina.devices.dispatched import get_item, replace, set_item, visit
from lamina.devices.shape_rules import name_of


@final
@dataclass(frozen=True, slots=True)
class Ref:
    """An array of a program, by its number."""

    id: int

    def __repr__(self) -> str:
        return f"%{self.id}"


@final
@dataclass(frozen=True, slots=True)
class Step:
    """One call. `outputs` are the arrays in its result, in order, also those given as `out`."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    outputs: tuple[Ref, ...]

    def reads(self) -> set[Ref]:
        """The arrays among the arguments, those that are written to included."""
        found: set[Ref] = set()
        visit((self.args, self.kwargs), (Ref,), found.add)
        return found


@final
@dataclass(frozen=True, slots=True)
class ArrayType:
    """Shape, dtype and strides of an array of a program."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.dtype}[{','.join(map(str, self.shape))}]"


@final
@dataclass
class Program:
    """A flat list of steps.

    Attributes:
        steps: The calls, in order.
        inputs: The arrays that exist before the first step.
        types: Shape, dtype and strides of every array, by number.
    """

    steps: list[Step] = field(default_factory=list)
    inputs: list[Ref] = field(default_factory=list)
    types: list[ArrayType] = field(default_factory=list)

    def new_ref(self, array: Any) -> Ref:
        """A number for an array (or layout)."""
        self.types.append(ArrayType(array.shape, array.dtype, array.strides))
        return Ref(len(self.types) - 1)

    def replay(self, inputs: Sequence[Any], wanted: Sequence[Ref]) -> list[Any]:
        """Make all calls on real arrays; returns the arrays asked for. Writes go into `inputs`.

        Raises:
            ValueError: When an input has another shape, dtype or memory order than recorded.
        """
        if len(inputs) != len(self.inputs):
            raise ValueError(f"the program has {len(self.inputs)} inputs, not {len(inputs)}")
        for ref, array in zip(self.inputs, inputs, strict=True):
            self._check(ref, array)
        values = dict(zip(self.inputs, inputs, strict=True))
        last_use = self._last_use(wanted)
        for position, step in enumerate(self.steps):
            args = replace(step.args, (Ref,), values.__getitem__)
            kwargs = replace(step.kwargs, (Ref,), values.__getitem__)
            results = arrays_of(step.function(*args, **kwargs))
            if step.function in READ_ONLY_VIEWS:
                keep_writable(args[0], results)
            del args, kwargs
            if step.outputs:
                values.update(zip(step.outputs, map(_as_array, results), strict=True))
            for ref in last_use.get(position, ()):
                del values[ref]
        return [values[ref] for ref in wanted]

    def _check(self, ref: Ref, array: Any) -> None:
        expected = self.types[ref.id]
        found = ArrayType(array.shape, array.dtype, array.strides)
        steps = [
            (here, there)
            for size, here, there in zip(found.shape, found.strides, expected.strides, strict=False)
            if size > 1
        ]
        same = (found.shape, found.dtype) == (expected.shape, expected.dtype)
        if not same or any(here != there for here, there in steps):
            raise ValueError(
                f"input {ref} was recorded as {expected} with strides {expected.strides}, "
                f"not {found} with strides {found.strides}"
            )

    def _last_use(self, wanted: Sequence[Ref]) -> dict[int, list[Ref]]:
        """For each step, the arrays that nothing needs after it."""
        last: dict[Ref, int] = {}
        for position, step in enumerate(self.steps):
            for ref in (*step.reads(), *step.outputs):
                last[ref] = position
        after: dict[int, list[Ref]] = {}
        for ref, position in last.items():
            if ref not in wanted:
                after.setdefault(position, []).append(ref)
        return after

    def __str__(self) -> str:
        lines = [f"{ref}: {self.types[ref.id]} = input" for ref in self.inputs]
        return "\n".join([*lines, *map(self._line, self.steps)])

    def _line(self, step: Step) -> str:
        if step.function is set_item:
            array, index, value = step.args
            return f"{array}[{_index(index)}] = {_text(value)}"
        if step.function is get_item:
            call = f"{step.args[0]}[{_index(step.args[1])}]"
        else:
            parts = [_text(value) for value in step.args]
            parts += [f"{name}={_text(value)}" for name, value in step.kwargs.items()]
            call = f"{name_of(step.function)}({', '.join(parts)})"
        known = step.reads()
        new = [f"{ref}: {self.types[ref.id]}" for ref in step.outputs if ref not in known]
        return f"{', '.join(new)} = {call}" if new else call


READ_ONLY_VIEWS: Final = frozenset({np.broadcast_to, np.diagonal})
"""Functions whose views NumPy protects from being written to."""


def keep_writable(source: Any, views: Sequence[Any]) -> None:
    """Lift NumPy's protection of views, as kernels do: who recorded a write checked that it may."""
    if source.flags.writeable:
        for view in views:
            view.flags.writeable = True


def arrays_of(result: Any) -> list[Any]:
    """The arrays (and NumPy numbers) in a nest of results, in order."""
    if isinstance(result, tuple | list):
        return [array for part in result for array in arrays_of(part)]
    if isinstance(result, dict):
        return [array for part in result.values() for array in arrays_of(part)]
    return [result] if hasattr(result, "dtype") else []


def _as_array(value: Any) -> Any:
    """NumPy gives numbers where a result has no dimensions; a later step may write into it."""
    return np.asarray(value) if isinstance(value, np.generic) else value


def _text(value: Any) -> str:
    if isinstance(value, np.dtype):
        return str(value)
    if isinstance(value, type):
        return value.__name__
    if isinstance(value, np.generic):
        return f"{value.dtype}({value})"
    if isinstance(value, tuple) and not hasattr(value, "_fields"):
        if len(value) == 1 and isinstance(value[0], Ref):
            return repr(value[0])  # out=(%3,)
        return f"({', '.join(map(_text, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(_text, value))}]"
    if callable(value):
        return name_of(value)
    return repr(value)


def _index(index: Any) -> str:
    return ", ".join(map(_index_part, index)) if isinstance(index, tuple) else _index_part(index)


def _index_part(part: Any) -> str:
    if isinstance(part, slice):
        ends = ["" if end is None else _text(end) for end in (part.start, part.stop, part.step)]
        return ":".join(ends if ends[2] else ends[:2])
    return "..." if part is Ellipsis else _text(part)
