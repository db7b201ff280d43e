"""The tasks of convolutions: products whose right factor is gathered from an image.

Row k of the right factor is one element of the kernel in one channel, column j one position of the
kernel: its element is at `rows[k] + positions[j]` in a copy of the image with zeros around. So no
array of patches is made: where a tile's columns lie side by side they are read in place, else a
panel of a few kilobytes is packed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from lamina.codegen.kernels.tasks.fields import copy_image, fields, row_at
from lamina.codegen.kernels.tasks.routines import (
    BYTES,
    Address,
    Routine,
    as_address,
    either,
    least,
)
from lamina.codegen.kernels.tasks.tiles import each_cut_panel, heights_of, packed_name
from lamina.codegen.llvm.ir import Function, Lanes

CONVOLVE_FIELDS: Final = (
    "source", "result", "weight", "start", "zeros", "scratch",
    "groups", "source_batch", "source_group", "source_channel", "source_step",
    "channels", "entries", "entry_count", "plane",
    "outputs", "full", "rest_height", "rest_count",
    "result_batch", "result_group", "result_channel",
    "start_group", "panels", "scratch_step", "depth",
    "chunks", "chunk_table", "tiles", "runs", "places", "packed_steps",
)  # fmt: skip
"""What the task `convolve` finds in its table."""

HEADER: Final = 64
"""Bytes at the start of a worker's scratch: which planes its copy is of; at first -1."""

CHUNK: Final = ("rows", "inner", "weight_offset", "weight_group", "first", "count")
"""What is known of a chunk, some tiles of columns that are done together."""

TILE: Final = (
    "first_run", "run_count", "first_direct", "second_direct",
    "first_place", "first_lanes", "second_place", "second_lanes",
)  # fmt: skip
"""What is known of the columns of a tile: how they are gathered, and where results go."""

RUN: Final = ("offset", "lane", "lanes")
"""Columns side by side: where the first is, and the first lane; all lanes fit if `lanes` is 0."""

PACK_FIELDS: Final = ("weight", "target", "pieces")
PACK_PIECE: Final = ("source", "rows", "columns", "present", "height", "count", "target")


def pack_weight_function() -> Function:
    """Task: the panels of a left factor, one a piece."""
    routine = Routine("pack_weight")
    _, places = fields(routine, PACK_FIELDS)
    with routine.pieces() as piece:
        row = row_at(places["pieces"], piece, PACK_PIECE)
        routine.call(
            "pack_rows", places["weight"] + row["source"],
            as_address(row["rows"]), as_address(row["columns"]),
            row["present"], row["height"], row["count"], places["target"] + row["target"],
        )  # fmt: skip
    return routine.function


@final
class ConvolveWriter:
    """Writes the task `convolve`; its pieces are chunks of groups of images."""

    def __init__(self, kind: str, width: int) -> None:
        self._routine = Routine("convolve")
        self._numbers, self._places = fields(self._routine, CONVOLVE_FIELDS)
        self._item = BYTES[kind]
        self._vector = width * self._item
        self._heights = heights_of()

    def write(self) -> Function:
        """The function."""
        routine, numbers, places = self._routine, self._numbers, self._places
        known = places["scratch"] + routine.parameter("worker") * numbers["scratch_step"]
        image = known + HEADER
        with routine.pieces() as piece:
            plane = piece // numbers["chunks"]
            number, group = plane // numbers["groups"], plane % numbers["groups"]
            with routine.when(plane.compare("ne", known.load("i64"))):
                copy_image(routine, numbers, places, number, group, image)
                known.store(plane)
            chunk = row_at(places["chunk_table"], piece % numbers["chunks"], CHUNK)
            result = (
                places["result"]
                + number * numbers["result_batch"]
                + group * numbers["result_group"]
            )
            self._chunk(chunk, image, result, group)
        return routine.function

    def _chunk(
        self, chunk: dict[str, Lanes], image: Address, result: Address, group: Lanes
    ) -> None:
        """Some tiles of columns: for each stretch of the inner dimension, pack and multiply."""
        routine, depth, inner = self._routine, self._numbers["depth"], chunk["inner"]
        panels = image + self._numbers["panels"]
        with routine.when(inner.compare("eq", 0)):  # then only the start is written
            self._products(chunk, image, panels, result, group, routine.number(0), inner)
        with routine.loop(0, inner, depth) as k:
            count = least(inner - k, depth)
            with routine.loop(0, chunk["count"]) as t:
                tile = row_at(self._places["tiles"], chunk["first"] + t, TILE)
                with routine.when(tile["first_direct"].compare("slt", 0)):
                    routine.call(
                        "pack_panel", image, as_address(chunk["rows"]) + k * 8,
                        self._places["runs"] + tile["first_run"] * (8 * len(RUN)),
                        tile["run_count"], count, panels + t * self._panel_size(),
                    )  # fmt: skip
            self._products(chunk, image, panels, result, group, k, count)

    def _panel_size(self) -> Lanes:
        return self._numbers["depth"] * (2 * self._vector)

    def _products(
        self, chunk: dict[str, Lanes], image: Address, panels: Address, result: Address,
        group: Lanes, k: Lanes, count: Lanes,
    ) -> None:  # fmt: skip
        """All tiles of a chunk for one stretch of the inner dimension.

        A tile's columns stay while the panels of rows pass by, 48 bytes of them for each step of 24
        vector multiplications.
        """
        routine, numbers = self._routine, self._numbers
        weight = self._places["weight"] + chunk["weight_offset"] + group * chunk["weight_group"]
        start = self._places["start"] + group * numbers["start_group"]
        with routine.loop(0, chunk["count"]) as t:
            number = chunk["first"] + t
            tile = row_at(self._places["tiles"], number, TILE)
            right = self._right(tile, chunk, image, panels + t * self._panel_size(), k)

            def write(vectors: int) -> Callable[[Lanes, Lanes, int], None]:
                def some(row: Lanes, _: Lanes, height: int) -> None:
                    left = weight + (row * chunk["inner"] + k * height) * self._item
                    is_first = k.compare("eq", 0)
                    begin = either(is_first, start + row * self._item, self._places["zeros"])
                    home = result + row * numbers["result_channel"]
                    target = home, numbers["outputs"] - row, begin, k, number
                    self._tile(height, vectors, tile, (left, *right, count), target)

                return some

            for vectors, how in ((2, "ne"), (1, "eq")):
                with routine.when(tile["second_lanes"].compare(how, 0)):
                    each_cut_panel(routine, self._heights, numbers, write(vectors))

    def _right(
        self, tile: dict[str, Lanes], chunk: dict[str, Lanes], image: Address, panel: Address,
        k: Lanes,
    ) -> tuple[Address, Address, Address]:  # fmt: skip
        """Where the two vectors of a tile's columns are, and the steps from row to row."""
        is_packed = tile["first_direct"].compare("slt", 0)
        return (
            either(is_packed, panel, image + tile["first_direct"]),
            either(is_packed, panel + self._vector, image + tile["second_direct"]),
            either(is_packed, self._places["packed_steps"], as_address(chunk["rows"]) + k * 8),
        )

    def _tile(
        self, height: int, vectors: int, tile: dict[str, Lanes],
        factors: tuple[Address | Lanes, ...], target: tuple[Address, Lanes, Address, Lanes, Lanes],
    ) -> None:  # fmt: skip
        home, rows, begin, adds, number = target
        self._routine.call(
            packed_name(height, vectors), *factors,
            home + tile["first_place"], home + tile["second_place"],
            tile["first_lanes"], tile["second_lanes"], self._numbers["result_channel"], rows,
            begin, adds, self._places["places"] + number * (2 * self._vector // self._item * 8),
        )  # fmt: skip
