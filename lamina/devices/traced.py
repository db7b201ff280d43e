"""Arrays without elements: the `meta` device, and the recording of programs.

A `TracedArray` knows its shape, dtype and strides. NumPy functions on it find the shapes of their
results and compute nothing. With a `Recorder` they are written down as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, Self, final

import numpy as np

from lamina.devices.backend import (
    CPU,
    META,
    MixedDevices,
    NoValues,
    common_device,
    device_of,
    register_array_type,
)
from lamina.devices.device import device
from lamina.devices.dispatched import (
    ABOUT_MEMORY,
    WRITERS,
    DispatchedArray,
    get_item,
    owner_of,
    replace,
    set_item,
    split_outputs,
    visit,
)
from lamina.devices.layouts import Layout, fresh
from lamina.devices.recorders import recorders
from lamina.devices.recording import Program, Ref, Step
from lamina.devices.rule_table import RULES
from lamina.devices.shape_rules import infer, name_of
from lamina.devices.simulated import SimulatedCudaArray

Place = device  # the class has an attribute of that name


@final
class TracedArray(DispatchedArray):
    """An array with a shape, a dtype and strides, and no elements.

    Attributes:
        device: `meta`, or, in a recording, the device of the arrays it stands for.
        recorder: Where operations on it are written down; None on the meta device.
        ref: Its number in the recorder's program.
    """

    __slots__ = ("device", "recorder", "ref")

    device: Place
    recorder: Recorder | None
    ref: Ref | None

    def __init__(
        self,
        layout: Layout,
        place: Place = META,
        recorder: Recorder | None = None,
        base: TracedArray | None = None,
    ) -> None:
        self._array = layout
        self._base = base
        self.device = place
        self.recorder = recorder
        self.ref = None if recorder is None else recorder.program.new_ref(layout)

    # --- NumPy's dispatch ----------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if not all(_takes_part(value) for value in (*inputs, kwargs.get("where"))):
            return NotImplemented
        function = ufunc if method == "__call__" else getattr(ufunc, method)
        return self._apply(function, inputs, kwargs)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        raise NoValues("conversion to a NumPy array")

    def _knows(self, kind: type) -> bool:
        return issubclass(kind, _ARRAYS)

    def _read(self, operation: str) -> NoReturn:
        raise NoValues(operation)

    def _apply(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        recorder = _recorder_among(self, args, kwargs)
        if recorder is not None:
            args = replace(args, _CONCRETE, recorder.input)
            kwargs = replace(kwargs, _CONCRETE, recorder.input)
        if _is_method(function, "at"):
            return _write_at(recorder, function, args)
        outputs, other_args, other_kwargs = split_outputs(function, args, kwargs)
        place = _place(self, function, outputs, other_args, other_kwargs)
        if function in WRITERS:  # their rules know what they write into
            other_args, outputs = args, ()
        layouts = _layouts((other_args, other_kwargs))
        if isinstance(function, np.ufunc) and outputs:
            layouts[1]["outputs"] = _layouts(_padded(kwargs["out"]))
        result = infer(function, layouts[0], layouts[1], RULES)
        sources = _traced((args, kwargs))
        if outputs:
            result = _check_outputs(function, result, kwargs["out"])
        wrapped, is_new = _wrapped(result, place, recorder, sources)
        if recorder is not None and (is_new or outputs or result is None):
            recorder.add(function, args, kwargs, wrapped)
        return wrapped

    # --- indexing ------------------------------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        return self._apply(get_item, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        self._apply(set_item, (self, index, value), {})

    def __repr__(self) -> str:
        number = "" if self.ref is None else f" {self.ref}"
        return f"<TracedArray{number} {self.dtype}{list(self.shape)} on {self.device}>"


_ARRAYS: Final = (TracedArray, SimulatedCudaArray, np.ndarray)
_CONCRETE: Final = (SimulatedCudaArray, np.ndarray)


def _takes_part(value: Any) -> bool:
    """Whether a ufunc's argument is ours, NumPy's, or no array at all."""
    return isinstance(value, _ARRAYS) or not hasattr(value, "__array_ufunc__") or np.isscalar(value)


def _traced(nest: Any) -> list[TracedArray]:
    found: list[TracedArray] = []
    visit(nest, (TracedArray,), found.append)
    return found


def _layouts(nest: Any) -> Any:
    return replace(nest, (TracedArray,), lambda array: array._array)


def _is_method(function: Any, name: str) -> bool:
    owner = getattr(function, "__self__", None)
    return isinstance(owner, np.ufunc) and function.__name__ == name


def _recorder_among(array: TracedArray, *nests: Any) -> Recorder | None:
    """The recorder of a call's arrays; they have one or none together."""
    recorders = {id(found.recorder): found.recorder for found in _traced(nests)}
    if len(recorders) > 1:
        if None in recorders.values():
            raise MixedDevices([found.device for found in _traced(nests)])
        raise ValueError("one operation has arrays of two recordings")
    return next(iter(recorders.values())) if recorders else array.recorder


def _place(
    array: TracedArray,
    function: Callable[..., Any],
    outputs: Sequence[Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Place:
    """The device on which a call runs; indices may be on the host, as in `array[index]`."""
    operands: list[Any] = []
    if function in ABOUT_MEMORY:
        return array.device
    if function is get_item or function is set_item:
        indices: list[Any] = []
        visit(args[1 if function is get_item else 0], _ARRAYS, indices.append)
        target = args[0] if function is get_item else outputs[0]
        if any(device_of(found) not in (CPU, target.device) for found in indices):
            raise MixedDevices([target.device, *map(device_of, indices)], role="index")
        args = args[:1] if function is get_item else args[1:]
    visit((args, kwargs), _ARRAYS, operands.append)
    if not operands and not outputs:
        return array.device  # np.zeros(shape, like=array)
    return common_device(operands, outputs)


def _padded(out: Any) -> tuple[Any, ...]:
    return out if isinstance(out, tuple) else (out,)


def _check_outputs(function: Any, result: Any, out: Any) -> Any:
    """The arrays given as `out=`, which must be of the shape of the result, in its place."""
    results = result if isinstance(result, tuple) else (result,)
    chosen = []
    for layout, given in zip(results, _padded(out), strict=True):
        if given is None:
            chosen.append(layout)
            continue
        if not given.flags.writeable:
            raise ValueError("output array is read-only")
        if given.shape != layout.shape:
            raise ValueError(
                f"{name_of(function)}: the output has shape {given.shape}, "
                f"the result {layout.shape}"
            )
        if not np.can_cast(layout.dtype, given.dtype, "same_kind"):
            raise TypeError(
                f"Cannot cast {name_of(function)} output from {layout.dtype!r} to {given.dtype!r} "
                "with casting rule 'same_kind'"
            )
        chosen.append(given._array)
    return tuple(chosen) if isinstance(result, tuple) else chosen[0]


def _write_at(recorder: Recorder | None, function: Any, args: tuple[Any, ...]) -> None:
    """`ufunc.at(array, index, *values)`."""
    array, index, *values = args
    set_args = (array, index, values[0] if values else 0)
    _place(array, set_item, (array,), set_args[1:], {})
    infer(set_item, _layouts(set_args), {}, RULES)
    if recorder is not None:
        recorder.add(function, args, {}, None)


def _wrapped(
    result: Any, place: Place, recorder: Recorder | None, sources: Sequence[TracedArray]
) -> tuple[Any, bool]:
    """Layouts as traced arrays, and whether any of them is new."""
    made: list[TracedArray] = []

    def wrap(layout: Layout) -> TracedArray:
        base = None
        for source in sources:
            if source._array is layout:
                return source
            if owner_of(source._array) is owner_of(layout):
                base = source if source._base is None else source._base
        made.append(TracedArray(layout, place, recorder, base))
        return made[-1]

    wrapped = replace(result, (Layout,), wrap)
    return wrapped, bool(made)


# --- recording ---------------------------------------------------------------------------------


@final
class Recorder:
    """Writes down what is done with its arrays, as a program that can run on real ones.

    Attributes:
        program: What was recorded.
        inputs: The concrete arrays that took part, in the order of `program.inputs`.

    >>> recorder = Recorder()
    >>> x = recorder.input(np.array([1.0, 2.0]))
    >>> y = np.exp(x) + 1.0
    >>> print(recorder)
    %0: float64[2] = input
    %1: float64[2] = exp(%0)
    %2: float64[2] = add(%1, 1.0)
    >>> recorder.replay([np.array([0.0, 0.0])], [y])
    [array([2., 2.])]
    """

    def __init__(self) -> None:
        self.program = Program()
        self.inputs: list[Any] = []
        self._lifted: dict[int, TracedArray] = {}

    def __enter__(self) -> Self:
        recorders.entered.append(self)
        return self

    def __exit__(self, *outcome: object) -> None:
        recorders.entered.pop()

    def input(self, array: Any) -> TracedArray:
        """The traced array that stands for a concrete one: one object for each, by identity.

        Arrays that share memory stay separate inputs; a replay keeps what they share when it is
        given arrays that share it too.
        """
        if isinstance(array, TracedArray):
            return array
        lifted = self._lifted.get(id(array))
        if lifted is None:
            layout = fresh(array.shape, array.dtype, array.strides)
            layout.flags.writeable = array.flags.writeable
            lifted = TracedArray(layout, device_of(array), self)
            assert lifted.ref is not None
            self._lifted[id(array)] = lifted
            self.inputs.append(array)  # which also keeps its id from being used again
            self.program.inputs.append(lifted.ref)
        return lifted

    def create(
        self, function: Callable[..., Any], *args: Any, on: Place = CPU, **kwargs: Any
    ) -> Any:
        """Record the making of an array, such as `recorder.create(np.zeros, (2, 3))`."""
        result = infer(function, _layouts(args), _layouts(kwargs), RULES)
        return self._record(function, args, kwargs, result, on)

    def call(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
        on: Place = CPU,
    ) -> Any:
        """Record a function that NumPy does not know, with what it gives.

        Args:
            function: Anything that takes and gives arrays; it is called when the program runs.
            args, kwargs: Its arguments.
            result: A layout from `fresh(shape, dtype)` for each array it gives, in its own nest;
                None if it only writes into arguments.
            on: The device of the results.
        """
        args, kwargs = replace((args, kwargs), _CONCRETE, self.input)
        return self._record(function, args, kwargs, result, on)

    def _record(self, function: Any, args: Any, kwargs: Any, result: Any, on: Place) -> Any:
        wrapped, _ = _wrapped(result, on, self, _traced((args, kwargs)))
        self.add(function, args, kwargs, wrapped)
        return wrapped

    def add(
        self,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        result: Any,
    ) -> None:
        """Append a step, with numbers in place of its arrays."""
        refs = replace((args, kwargs), (TracedArray,), lambda array: array.ref)
        outputs = tuple(array.ref for array in _traced(result) if array.ref is not None)
        self.program.steps.append(Step(function, refs[0], refs[1], outputs))

    def replay(
        self, inputs: Sequence[Any] | None = None, wanted: Sequence[TracedArray | Ref] = ()
    ) -> list[Any]:
        """Run the program on `inputs` (or on those recorded); gives the values of `wanted`."""
        refs = replace(list(wanted), (TracedArray,), lambda array: array.ref)
        return self.program.replay(self.inputs if inputs is None else inputs, refs)

    def __str__(self) -> str:
        return str(self.program)


register_array_type(TracedArray, lambda array: array.device)
