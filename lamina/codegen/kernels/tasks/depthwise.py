"""The tasks of depthwise convolutions, in which each channel has a kernel of its own.

There is no product of matrices in them: a few vectors of positions are summed up at a time, each
element of the kernel read where it lies in a copy of the plane with zeros around.
"""

from __future__ import annotations

from typing import Final

from lamina.codegen.kernels.tasks.fields import copy_image, fields, row_at
from lamina.codegen.kernels.tasks.routines import (
    BYTES,
    Address,
    Routine,
    Variable,
    as_address,
    first_lanes,
    sum_of,
)
from lamina.codegen.llvm.ir import Block, Function, Lanes

VECTORS: Final = 4
"""Vectors of positions that are summed up together."""

ELEMENTS: Final = 9
"""Elements of the kernel whose gradients are summed up together: those of a 3 x 3 kernel."""

DEPTHWISE_FIELDS: Final = (
    "source", "result", "weight", "start", "scratch",
    "groups", "source_batch", "source_group", "source_channel", "source_step",
    "channels", "entries", "entry_count", "plane",
    "result_batch", "result_group", "weight_group", "scratch_step",
    "phases", "phase_table", "strips",
)  # fmt: skip
"""What the task `convolve_depthwise` finds in its table."""

PHASE: Final = ("offsets", "elements", "count", "first", "strips", "step")
"""Elements of the kernel (offsets in the plane, places in the weight), and strips of positions."""

STRIP: Final = ("offset", "place", "lanes")
"""At most a vector of positions side by side."""

DEPTHWISE_WEIGHT_FIELDS: Final = (
    "source", "gradient", "result", "scratch",
    "groups", "batch", "source_batch", "source_group", "source_channel", "source_step",
    "channels", "entries", "entry_count", "plane",
    "gradient_batch", "gradient_group", "offsets", "count", "strips", "strip_count",
    "result_group", "sums", "scratch_step",
)  # fmt: skip
"""What the task `weigh_depthwise` finds in its table."""


def depthwise_functions(kind: str, width: int) -> list[Function]:
    """The tasks of depthwise convolutions for a kind of number."""
    return [_convolve(kind, width), _weigh(kind, width)]


def _convolve(kind: str, width: int) -> Function:
    """Task: a depthwise convolution; pieces are the planes of all images."""
    routine = Routine("convolve_depthwise")
    numbers, places = fields(routine, DEPTHWISE_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    plane = places["scratch"] + routine.parameter("worker") * numbers["scratch_step"]
    with routine.pieces() as piece:
        image, group = piece // numbers["groups"], piece % numbers["groups"]
        copy_image(routine, numbers, places, image, group, plane)
        result = (
            places["result"] + image * numbers["result_batch"] + group * numbers["result_group"]
        )
        weight = places["weight"] + group * numbers["weight_group"]
        start = (places["start"] + group * item).spread(kind, block)
        with routine.loop(0, numbers["phases"]) as f:
            phase = row_at(places["phase_table"], f, PHASE)
            last = phase["first"] + phase["strips"]
            with routine.loop(phase["first"], last, VECTORS) as strip:
                strips = [row_at(places["strips"], strip + v, STRIP) for v in range(VECTORS)]
                sums = _strips(routine, block, kind, phase, strips, plane, weight, start)
                for row, lanes in zip(strips, sums, strict=True):
                    _write(routine, kind, result + row["place"], row["lanes"], phase, lanes)
    return routine.function


def _strips(
    routine: Routine, block: Block, kind: str, phase: dict[str, Lanes],
    strips: list[dict[str, Lanes]], plane: Address, weight: Address, start: Lanes,
) -> list[Lanes]:  # fmt: skip
    """The sums over the kernel for some strips."""
    totals = [Variable(start) for _ in strips]
    origins = [plane + strip["offset"] for strip in strips]
    offsets, elements = (as_address(phase[name]) for name in ("offsets", "elements"))
    with routine.loop(0, phase["count"]) as k:
        factor = (weight + elements.load("i64", k)).spread(kind, block)
        offset = offsets.load("i64", k)
        for origin, total in zip(origins, totals, strict=True):
            total.set(factor.times_plus((origin + offset).lanes(kind, block), total.get()))
    return [total.get() for total in totals]


def _write(
    routine: Routine, kind: str, target: Address, count: Lanes, phase: dict[str, Lanes],
    lanes: Lanes,
) -> None:  # fmt: skip
    """Write the first lanes, `step` bytes from each other."""
    block, item, step = lanes.block, BYTES[kind], phase["step"]
    with routine.when(step.compare("eq", item)):
        target.store_some(lanes, first_lanes(block, count))
    with routine.when(step.compare("ne", item)):
        room = routine.room(block.vector(kind), 1)
        room.store(lanes)
        with routine.loop(0, count) as lane:
            (target + step * lane).store((room + lane * item).load(kind))


def _weigh(kind: str, width: int) -> Function:
    """Task: the gradient of a depthwise convolution's weight; pieces are channels."""
    routine = Routine("weigh_depthwise")
    numbers, places = fields(routine, DEPTHWISE_WEIGHT_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    size = width * item
    plane = places["scratch"] + routine.parameter("worker") * numbers["scratch_step"]
    sums = plane + numbers["sums"]
    zero = block.constant(kind, 0)
    groups = (numbers["count"] + (ELEMENTS - 1)) // ELEMENTS
    with routine.pieces() as channel:
        with routine.loop(0, groups * ELEMENTS) as k:
            (sums + k * size).store(zero)
        with routine.loop(0, numbers["batch"]) as image:
            copy_image(routine, numbers, places, image, channel, plane)
            gradient = (
                places["gradient"] + image * numbers["gradient_batch"]
                + channel * numbers["gradient_group"]
            )  # fmt: skip
            with routine.loop(0, groups) as k:
                _elements(
                    routine, block, kind, numbers, places, plane, gradient,
                    places["offsets"] + k * (ELEMENTS * 8), sums + k * (ELEMENTS * size),
                )  # fmt: skip
        result = places["result"] + channel * numbers["result_group"]
        with routine.loop(0, numbers["count"]) as k:
            (result + k * item).store(sum_of((sums + k * size).lanes(kind, block)))
    return routine.function


def _elements(
    routine: Routine, block: Block, kind: str, numbers: dict[str, Lanes],
    places: dict[str, Address], plane: Address, gradient: Address, offsets: Address, sums: Address,
) -> None:  # fmt: skip
    """Add what one plane gives for some elements of the kernel."""
    size = block.width * BYTES[kind]
    origins = [plane + offsets.load("i64", k) for k in range(ELEMENTS)]
    totals = [Variable((sums + k * size).lanes(kind, block)) for k in range(ELEMENTS)]
    with routine.loop(0, numbers["strip_count"]) as s:
        strip = row_at(places["strips"], s, STRIP)
        mask = first_lanes(block, strip["lanes"])
        factor = (gradient + strip["place"]).load_some(kind, mask)
        for origin, total in zip(origins, totals, strict=True):
            met = (origin + strip["offset"]).load_some(kind, mask)
            total.set(factor.times_plus(met, total.get()))
    for k, total in enumerate(totals):
        (sums + k * size).store(total.get())
