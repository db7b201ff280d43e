"""Tasks that make normal numbers of words, by the method of Box and Muller (1958).

The steps are those of `core/generator_math`, which says where they come from; here one instruction
rounds once where NumPy needs float64 for it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from typing import Final

from lamina.codegen import cephes
from lamina.codegen.kernels.tasks.random_words import (
    COUNT,
    FIRST_PARAMETER,
    OUT,
    START,
    WORDS,
    doubles_at,
    units_at,
)
from lamina.codegen.kernels.tasks.routines import Address, Routine, either
from lamina.codegen.llvm.ir import Block, Function, Lanes
from lamina.codegen.llvm.vector_math import by_library

STD, MEAN = FIRST_PARAMETER, FIRST_PARAMETER + 1
"""Parameters of blocks: what numbers are multiplied by, and what is added."""

KEPT: Final = FIRST_PARAMETER
"""The parameter of pairs: where a number that is left over is put."""

HALF: Final = 8
"""Radii come from so many numbers, and angles from as many that follow."""


# --- blocks of 16 ------------------------------------------------------------------------------


def normal_blocks(kind: str) -> Function:
    """A task whose pieces are 16 numbers."""
    routine = Routine("normal_blocks")
    block = Block(routine.function, HALF)
    words, out = routine.entry_address(WORDS), routine.entry_address(OUT)
    std, mean = (_parameter(routine, block, place, kind) for place in (STD, MEAN))
    start = routine.entry(START)
    with routine.pieces() as piece:
        index = piece * (2 * HALF)
        radius_from, angle_from = (
            units_at(kind, words, block, index + shift) for shift in (0, HALF)
        )
        if kind == "float":
            radius = (_log(1.0 - radius_from) * -2.0).function("sqrt")
            sine, cosine = _sin_cos(angle_from * cephes.TWO_PI)
        else:
            radius = (by_library("log", [1.0 - radius_from]) * -2.0).function("sqrt")
            sine, cosine = _both_by_library(angle_from * math.tau)
        for place, wave in enumerate((cosine, sine)):
            out.store((radius * wave).fma(std, mean), start + index + place * HALF)
    return routine.function


def _parameter(routine: Routine, block: Block, place: int, kind: str) -> Lanes:
    number = routine.entry(place, "double")
    if kind == "float":
        number = number.convert("fptrunc", kind)
    return block.splat(kind, number.name)


def _both_by_library(x: Lanes) -> tuple[Lanes, Lanes]:
    """Sine and cosine by the C library: in one call where there is such a function, as in glibc."""
    if not sys.platform.startswith("linux"):
        return by_library("sin", [x]), by_library("cos", [x])
    block, function = x.block, x.block.function
    function.declare("void @sincos(double, ptr, ptr) nounwind")
    sines, cosines = (function.slot(f"[{HALF} x double]") for _ in range(2))
    for lane in range(HALF):
        one = function.give(f"extractelement {block.vector('double')} {x.name}, i32 {lane}")
        ends = [
            function.give(f"getelementptr double, ptr {slot}, i32 {lane}")
            for slot in (sines, cosines)
        ]
        function.line(f"call void @sincos(double {one}, ptr {ends[0]}, ptr {ends[1]})")
    waves = [Address(block, slot).lanes("double", block) for slot in (sines, cosines)]
    return waves[0], waves[1]


# --- pairs -------------------------------------------------------------------------------------


def normal_pairs() -> Function:
    """A task whose pieces are two float64 from two doubles; of the last pair one may be left over.

    They are standard normal: to be scaled later.
    """
    routine = Routine("normal_pairs")
    one = Block(routine.function, 1)
    words, out = routine.entry_address(WORDS), routine.entry_address(OUT)
    start, count = routine.entry(START), routine.entry(COUNT)
    kept = routine.entry_address(KEPT)
    with routine.pieces() as piece:
        index = piece << 1
        first = start + index
        angle = doubles_at(words, one, index) * math.tau
        log = by_library("log1p", [-doubles_at(words, one, index + 1)])
        radius = (log * -2.0).function("sqrt")
        out.store(radius * by_library("cos", [angle]), first)
        second = radius * by_library("sin", [angle])
        has_place = (first + 1).compare("slt", count)
        either(has_place, out.at("double", first + 1), kept).store(second)
    return routine.function


# --- float32 -----------------------------------------------------------------------------------


def _polynomial(x: Lanes, coefficients: Sequence[float]) -> Lanes:
    """Horner's rule, highest power first."""
    first, *others = coefficients
    y = x.block.constant(x.kind, first)
    for coefficient in others:
        y = y.fma(x, coefficient)
    return y


def _log(x: Lanes) -> Lanes:
    """The natural logarithm of numbers in (0, 1]: x = fraction 2^power."""
    bits = x.convert("bitcast", "i32")
    fraction = ((bits & 0x007FFFFF) | 0x3F000000).convert("bitcast", "float")  # from 1/2 up to 1
    is_small = fraction.compare("olt", cephes.SQRT_HALF)
    power = ((bits >> 23) - 126).convert("sitofp", "float")
    power = power - is_small.where(x.block.constant("float", 1.0), 0.0)
    x = is_small.where(fraction + fraction, fraction) - 1.0
    square = x * x
    high, low = cephes.LOG_2
    y = (_polynomial(x, cephes.LOG) * x).fma(square, power * low)
    return power.fma(high, x + (y - square * 0.5))


def _sin_cos(x: Lanes) -> tuple[Lanes, Lanes]:
    """Sine and cosine of numbers from 0 to 2 pi: of what is left after multiples of pi / 4."""
    octant = ((x * cephes.PER_QUARTER_PI).convert("fptosi", "i32") + 1) & ~1
    turns = octant.convert("sitofp", "float")
    for part in cephes.QUARTER_PI:
        x = turns.fma(-part, x)
    square = x * x
    cosine = (_polynomial(square, cephes.COS) * square).fma(square, square * -0.5) + 1.0
    sine = (_polynomial(square, cephes.SIN) * square).fma(x, x)
    is_swapped = (octant & 2).compare("ne", 0)
    waves = is_swapped.where(cosine, sine), is_swapped.where(sine, cosine)
    negative = (octant & 4).compare("ne", 0), ((octant + 2) & 4).compare("ne", 0)
    sine, cosine = (minus.where(-wave, wave) for minus, wave in zip(negative, waves, strict=True))
    return sine, cosine
