"""Lanes times powers of two by one instruction, where the machine has it (AVX-512's `vscalef`).

It takes the place of eight others: the exponent to a whole number, two powers of two made of its
halves (the result may be subnormal), and two products. It rounds once, as these do, and what is not
a number stays so.
"""

from __future__ import annotations

from typing import Final

from lamina.codegen.llvm.ir import Block, Lanes
from lamina.codegen.llvm.machine import lane_count

_BITS: Final = 512
_SIZES: Final = {"float": 32, "double": 64}
_SUFFIXES: Final = {"float": "ps", "double": "pd"}
_AS_SET: Final = 4  # rounds as the processor is set to round


def is_instruction(lanes: Lanes) -> bool:
    """Whether lanes like these fill vectors of a machine that has the instruction."""
    width, size = lanes.block.width, _SIZES[lanes.kind]
    return lane_count() * 32 == _BITS and width > 0 and width * size % _BITS == 0


def scaled(value: Lanes, n: Lanes) -> Lanes:
    """A value times 2^n, for a whole number `n` as a float."""
    function, kind, width = value.block.function, value.kind, value.block.width
    count = _BITS // _SIZES[kind]
    block = Block(function, count)
    vector, mask = block.vector(kind), f"i{count}"
    name = f"@llvm.x86.avx512.mask.scalef.{_SUFFIXES[kind]}.{_BITS}"
    function.declare(f"{vector} {name}({vector}, {vector}, {vector}, {mask}, i32)")
    parts = []
    for start in range(0, width, count):
        given = ", ".join(f"{vector} {_part(lanes, start, count)}" for lanes in (value, n))
        given += f", {vector} zeroinitializer, {mask} -1, i32 {_AS_SET}"
        parts.append(function.give(f"call {vector} {name}({given})"))
    while len(parts) > 1:
        pairs = zip(parts[::2], parts[1::2], strict=True)
        parts = [_joined(value, first, second, count) for first, second in pairs]
        count *= 2
    return Lanes(value.block, kind, parts[0])


def _part(lanes: Lanes, start: int, count: int) -> str:
    """Some of the lanes."""
    if count == lanes.block.width:
        return lanes.name
    vector = lanes.block.vector(lanes.kind)
    which = ", ".join(f"i32 {start + k}" for k in range(count))
    return lanes.block.function.give(
        f"shufflevector {vector} {lanes.name}, {vector} poison, <{count} x i32> <{which}>"
    )


def _joined(value: Lanes, first: str, second: str, count: int) -> str:
    """Two vectors as one of twice the width."""
    vector = f"<{count} x {value.kind}>"
    which = ", ".join(f"i32 {k}" for k in range(2 * count))
    return value.block.function.give(
        f"shufflevector {vector} {first}, {vector} {second}, <{2 * count} x i32> <{which}>"
    )
