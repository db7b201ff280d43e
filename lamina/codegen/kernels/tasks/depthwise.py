"""The tasks of depthwise convolutions, in which each channel has a kernel of its own.

There is no product of matrices in them: a few vectors of positions are summed up at a time, each
element of the kernel read where it lies in a copy of the plane with zeros around.
"""

from __future__ import annotations

from typing import Final

from lamina.codegen.kernels.tasks.addresses import BYTES, Address, Routine, Whole
from lamina.codegen.kernels.tasks.fields import as_address, copy_image, fields, row_at
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
    wholes, places = fields(routine, DEPTHWISE_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    plane = places["scratch"] + routine.whole("worker") * wholes["scratch_step"]
    with routine.loop(routine.whole("begin"), routine.whole("end")) as piece:
        image, group = piece // wholes["groups"], piece % wholes["groups"]
        copy_image(routine, wholes, places, image, group, plane)
        result = places["result"] + image * wholes["result_batch"] + group * wholes["result_group"]
        weight = places["weight"] + group * wholes["weight_group"]
        start = (places["start"] + group * item).spread(block, kind)
        with routine.loop(0, wholes["phases"]) as f:
            phase = row_at(places["phase_table"], f, PHASE)
            last = phase["first"] + phase["strips"]
            with routine.loop(phase["first"], last, VECTORS) as strip:
                strips = [row_at(places["strips"], strip + v, STRIP) for v in range(VECTORS)]
                sums = _strips(routine, block, kind, phase, strips, plane, weight, start)
                for row, lanes in zip(strips, sums, strict=True):
                    _write(routine, kind, result + row["place"], row["lanes"], phase, lanes)
    return routine.function


def _strips(
    routine: Routine, block: Block, kind: str, phase: dict[str, Whole],
    strips: list[dict[str, Whole]], plane: Address, weight: Address, start: Lanes,
) -> list[Lanes]:  # fmt: skip
    """The sums over the kernel for some strips."""
    vector = block.vector(kind)
    function = routine.function
    totals = [routine.variable(vector) for _ in strips]
    origins = [plane + strip["offset"] for strip in strips]
    for total in totals:
        function.line(f"store {vector} {start.name}, ptr {total}")
    offsets, elements = (as_address(routine, phase[name]) for name in ("offsets", "elements"))
    with routine.loop(0, phase["count"]) as k:
        factor = (weight + elements.whole(k)).spread(block, kind)
        offset = offsets.whole(k)
        for origin, total in zip(origins, totals, strict=True):
            before = block.give(kind, f"load {vector}, ptr {total}")
            after = factor.times_plus((origin + offset).lanes(block, kind), before)
            function.line(f"store {vector} {after.name}, ptr {total}")
    return [block.give(kind, f"load {vector}, ptr {total}") for total in totals]


def _write(
    routine: Routine, kind: str, target: Address, count: Whole, phase: dict[str, Whole],
    lanes: Lanes,
) -> None:  # fmt: skip
    """Write the first lanes, `step` bytes from each other."""
    block, item, step = lanes.block, BYTES[kind], phase["step"]
    with routine.when(step.is_("eq", item)):
        target.put_some(lanes, routine.mask(block, count))
    with routine.when(step.is_("ne", item)):
        room = Address(routine, routine.variable(block.vector(kind)))
        room.put(lanes)
        with routine.loop(0, count) as lane:
            (target + step * lane).put_scalar(kind, (room + lane * item).scalar(kind))


def _weigh(kind: str, width: int) -> Function:
    """Task: the gradient of a depthwise convolution's weight; pieces are channels."""
    routine = Routine("weigh_depthwise")
    wholes, places = fields(routine, DEPTHWISE_WEIGHT_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    size = width * item
    plane = places["scratch"] + routine.whole("worker") * wholes["scratch_step"]
    sums = plane + wholes["sums"]
    zero = block.constant(kind, 0)
    groups = (wholes["count"] + (ELEMENTS - 1)) // ELEMENTS
    with routine.loop(routine.whole("begin"), routine.whole("end")) as channel:
        with routine.loop(0, groups * ELEMENTS) as k:
            (sums + k * size).put(zero)
        with routine.loop(0, wholes["batch"]) as image:
            copy_image(routine, wholes, places, image, channel, plane)
            gradient = (
                places["gradient"] + image * wholes["gradient_batch"]
                + channel * wholes["gradient_group"]
            )  # fmt: skip
            with routine.loop(0, groups) as k:
                _elements(
                    routine, block, kind, wholes, places, plane, gradient,
                    places["offsets"] + k * (ELEMENTS * 8), sums + k * (ELEMENTS * size),
                )  # fmt: skip
        result = places["result"] + channel * wholes["result_group"]
        function = routine.function
        name = f"@llvm.vector.reduce.fadd.v{width}f{8 * item}"
        function.declare(f"{kind} {name}({kind}, {block.vector(kind)})")
        with routine.loop(0, wholes["count"]) as k:
            lanes = (sums + k * size).lanes(block, kind)
            given = f"{kind} -0.0, {block.vector(kind)} {lanes.name}"
            total = function.give(f"call reassoc {kind} {name}({given})")
            (result + k * item).put_scalar(kind, total)
    return routine.function


def _elements(
    routine: Routine, block: Block, kind: str, wholes: dict[str, Whole],
    places: dict[str, Address], plane: Address, gradient: Address, offsets: Address, sums: Address,
) -> None:  # fmt: skip
    """Add what one plane gives for some elements of the kernel."""
    vector, size = block.vector(kind), block.width * BYTES[kind]
    function = routine.function
    origins = [plane + offsets.whole(k) for k in range(ELEMENTS)]
    totals = [routine.variable(vector) for _ in range(ELEMENTS)]
    for k, total in enumerate(totals):
        function.line(f"store {vector} {(sums + k * size).lanes(block, kind).name}, ptr {total}")
    zero = block.constant(kind, 0)
    with routine.loop(0, wholes["strip_count"]) as s:
        strip = row_at(places["strips"], s, STRIP)
        mask = routine.mask(block, strip["lanes"])
        factor = (gradient + strip["place"]).some_lanes(mask, zero)
        for origin, total in zip(origins, totals, strict=True):
            before = block.give(kind, f"load {vector}, ptr {total}")
            met = (origin + strip["offset"]).some_lanes(mask, zero)
            after = factor.times_plus(met, before)
            function.line(f"store {vector} {after.name}, ptr {total}")
    for k, total in enumerate(totals):
        (sums + k * size).put(block.give(kind, f"load {vector}, ptr {total}"))
