"""Drawing arrays from streams of random numbers, and the checks of what is asked for."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from lamina import errors
from lamina.core import generator as streams
from lamina.core.blame.words import this_place
from lamina.core.generator_math import are_chances
from lamina.core.modes import door, state
from lamina.core.streams import stream_of
from lamina.core.tensor import Tensor
from lamina.devices import CPU, backend_of, current_recorder, device, device_of, to_device
from lamina.devices.batched import Batch, BatchedArray, NeedsSamples, batches_of
from lamina.devices.layouts import fresh


def draw(
    method: str, generator: Any, shape: Sequence[int], kind: Any, place: device, *args: Any
) -> Any:
    """An array of random numbers: the stream's `method(shape, kind, *args)`, on a device."""
    stream = stream_of(place) if generator is None else source_of(generator, place)
    function = getattr(stream, method)
    if place is CPU and not door.is_watched:
        return function(shape, kind, *args)
    shape = tuple(shape)
    if door.is_watched and state.mappings:
        return _draw_for_samples(method, function, shape, kind, place, args)
    return _drawn(function, shape, kind, place, args)


def _drawn(function: Any, shape: tuple[int, ...], kind: Any, place: device, args: Any) -> Any:
    if door.is_watched and (recorder := current_recorder()) is not None:
        return recorder.call(function, (shape, kind, *args), {}, fresh(shape, kind), place)
    if place.type == "meta":
        return backend_of(place).empty(shape, kind)
    array = function(shape, kind, *args)
    return array if place is CPU else backend_of(place).constant(array)


def draw_like(method: str, generator: Any, model: Any, kind: Any, place: device, *args: Any) -> Any:
    """An array of random numbers in the shape of another, and in the order of its memory.

    A transposed array gets the numbers that it would get untransposed, as in PyTorch.
    """
    if model.__class__ is np.ndarray and model.flags.c_contiguous:
        return draw(method, generator, model.shape, kind, place, *args)
    steps = model.strides
    order = sorted(range(model.ndim), key=lambda axis: -steps[axis])
    if model.flags.c_contiguous or 0 in steps or order == list(range(model.ndim)):
        return draw(method, generator, model.shape, kind, place, *args)
    shape = [model.shape[axis] for axis in order]
    return np.transpose(draw(method, generator, shape, kind, place, *args), np.argsort(order))


def draw_for(generator: Any, function: Any, array: Any, *others: Any) -> Any:
    """Random numbers like an array, which depend on it and others of its shape.

    `function(stream, array, *others)` gives them in host memory; in a program being captured it is
    called when the program runs.
    """
    place = device_of(array)
    stream = source_of(generator, place)
    if door.is_watched and state.mappings:
        check_draws_alike(array)
    if door.is_watched and (recorder := current_recorder()) is not None:
        return recorder.call(
            lambda *given: to_device(function(stream, *_on_host(given)), place),
            (array, *others), {}, fresh(array.shape, array.dtype), place,
        )  # fmt: skip
    if place.type == "meta":
        return backend_of(place).empty(array.shape, array.dtype)
    return to_device(function(stream, *_on_host((array, *others))), place)


def _on_host(arrays: Sequence[Any]) -> list[Any]:
    return [to_device(array, CPU) for array in arrays]


def _draw_for_samples(
    method: str, function: Any, shape: tuple[int, ...], kind: Any, place: device, args: Any
) -> Any:
    """Numbers for all samples of the mappings under way, in one call where each has its own."""
    batches = _batches_to_draw_for()
    if any(isinstance(value, BatchedArray) for value in args):
        if len(batches) != 1 or any(batches_of(value) not in ([], batches) for value in args):
            raise NeedsSamples("a random operation")
        args = tuple([_for_all(value, len(shape)) for value in args])
    sizes = tuple([batch.size for batch in batches])
    if method == "shuffled":
        count = math.prod(sizes)
        parts = [_drawn(function, shape, kind, place, args) for _ in range(count)]
        array: Any = np.stack(parts).reshape(*sizes, *shape)
    else:
        array = _drawn(function, (*sizes, *shape), kind, place, args)
    for batch in batches:
        array = BatchedArray(array, batch)
    return array


def _for_all(value: Any, ndim: int) -> Any:
    if not isinstance(value, BatchedArray):
        return value
    samples = value.values
    shape = samples.shape
    return samples.reshape(shape[0], *[1] * (ndim + 1 - len(shape)), *shape[1:])


def _batches_to_draw_for() -> list[Batch]:
    """The batches whose samples get numbers of their own, the outermost first."""
    batches = []
    for mapping in state.mappings:
        if mapping.randomness == "error":
            raise errors.InvalidArgument(
                "vmap: called random operation while in randomness error mode: each sample could "
                "get the same numbers or its own",
                [(this_place(), "drawn here")],
                ["say which: vmap(..., randomness='different') or randomness='same'",
                 "or draw the numbers outside, and pass them in"],
            )  # fmt: skip
        if mapping.randomness == "different" and mapping.batch is not None:
            batches.append(mapping.batch)
    return batches


def check_draws_alike(array: Any) -> None:
    """Raise where samples draw numbers of their own by a way that knows no batches."""
    if _batches_to_draw_for() or isinstance(array, BatchedArray):
        raise NeedsSamples("a random operation")


def source_of(generator: Any, place: device) -> streams.Generator:
    """The stream for numbers on a device: a generator's, which must be of that kind of device."""
    if generator is None:
        return stream_of(place)
    if generator.device.type != place.type and place.type != "meta":
        raise errors.InvalidDevice(
            f"Expected a '{place.type}' device type for generator but found "
            f"'{generator.device.type}'",
            [(this_place(), "drawn here")],
            [f"make it on that device: torch.Generator(device={place.type!r})"],
        )
    found: streams.Generator = generator.stream
    return found


def draw_integers(
    low: int, high: int, shape: Sequence[int], generator: Any, kind: Any, place: device
) -> Any:
    """An array of whole numbers from `low` to `high - 1`, on a device."""
    if low >= high:
        raise errors.InvalidArgument(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}",
            [(this_place(), "drawn here")],
            ["`high` is not included: give at least low + 1"],
        )
    return draw("whole", generator, shape, kind, place, low, high)


def check_std(std: Any) -> None:
    """Raise for a negative standard deviation."""
    low = std
    if isinstance(std, Tensor):
        low = std._array.min() if std._array.size and not std.is_meta else 0
    if low < 0:
        raise errors.InvalidArgument(
            f"normal expects all elements of std >= 0.0, but found {low}",
            [(this_place(), "drawn here")],
            ["a standard deviation is not negative"],
        )


def probabilities(p: Any) -> Any:
    """Probabilities as a host array or a float; anything outside 0..1 raises."""
    if not isinstance(p, Tensor):
        chance: Any = float(p)
        bad = not 0 <= chance <= 1
    elif p.is_meta:
        return 0.5
    else:
        chance = to_device(p._array, CPU)
        bad = not are_chances(chance)
    if bad:
        raise no_chances(p)
    return chance


def no_chances(p: Any) -> errors.InvalidArgument:
    """The error for a number, or a tensor, of which not all is from 0 to 1."""
    return errors.InvalidArgument(
        f"bernoulli expects p >= 0 and p <= 1, got {p}" if not isinstance(p, Tensor)
        else "Expected p_in >= 0 && p_in <= 1 to be true: a probability is outside 0..1",
        [(this_place(), "drawn here")],
        ["pass probabilities, for example torch.sigmoid(logits)"],
    )  # fmt: skip
