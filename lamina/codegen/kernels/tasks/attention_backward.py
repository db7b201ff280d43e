"""The task of attention's gradients: weights are made again, block by block.

For a stretch of keys, whose panels and sums of gradients stay in a second-level cache, blocks of
queries pass by. As in the forward pass a block has a row for each key, and queries are lanes.

    P = exp(S - log of the sums)        dV += P Z dO      dP = V dO^T Z
    dS = P (dP - sum of dO O)           dK += dS Q        dQ += dS^T K

Z is 1, or what dropout multiplied weights by. dS is the gradient of a mask too.
"""

from __future__ import annotations

from typing import Final, final

from lamina.codegen.kernels.tasks.attention_parts import (
    drop,
    lay_column_panel,
    lay_kept,
    lay_queries,
    lay_row_panel,
    mask_scores,
    multiply,
    whole_panels,
)
from lamina.codegen.kernels.tasks.fields import fields, row_at
from lamina.codegen.kernels.tasks.routines import BYTES, Address, Routine, first_lanes, least
from lamina.codegen.kernels.tasks.tiles import each_panel, heights_of, scattered_name
from lamina.codegen.llvm.ir import Block, Function, Lanes
from lamina.codegen.llvm.vector_math import exp

GRADIENT_FIELDS: Final = (
    "query", "key", "value", "gradient", "sums", "along", "mask", "kept",
    "of_query", "of_key", "of_value", "of_mask", "scratch",
    "groups", "group_starts", "sources", "items", "order", "starts", "steps", "lane_steps",
    "row_offsets", "zeros", "scale", "factor",
    "queries", "keys", "size", "value_size",
    "query_row", "key_row", "value_row", "gradient_row",
    "of_query_row", "of_key_row", "of_value_row", "of_query_slot",
    "mask_kind", "mask_row", "mask_column", "has_kept", "kept_row", "is_causal",
    "has_of_mask", "of_mask_row", "of_mask_adds",
    "query_blocks", "depth", "stretch", "stretches", "slots",
    "block_size", "key_columns", "value_rows", "key_sums", "value_sums",
    "key_width", "value_width",
    "turned_gradients", "query_rows", "gradient_rows", "scores", "changes", "masks", "of_queries",
    "panels", "scratch_step",
)  # fmt: skip
"""What the task `attend_backward` finds in its table.

Of a block of keys, at `key_columns` and so on, are panels and sums, in rows of `key_width` and
`value_width` bytes. The names from `turned_gradients` on are places in a worker's scratch.
"""

SOURCE: Final = ("key", "value", "of_key", "of_value")
"""Where keys and values of a head are, and where their gradients go."""

ITEM: Final = ("query", "gradient", "mask", "kept", "sums", "of_query", "of_mask")
"""What is known of a head of queries: places in memory."""


@final
class BackwardWriter:
    """Writes the task `attend_backward`; its pieces are slots of keys, some stretches each.

    A piece does them for a group of heads: those whose gradients go to the same places.
    """

    def __init__(self, kind: str, width: int) -> None:
        self._routine = Routine("attend_backward")
        self._numbers, self._places = fields(self._routine, GRADIENT_FIELDS)
        self._kind, self._width, self._item = kind, width, BYTES[kind]
        self._block = Block(self._routine.function, width)
        self._vector = width * self._item
        self._heights = heights_of()
        self._scratch = (
            self._places["scratch"]
            + self._routine.parameter("worker") * self._numbers["scratch_step"]
        )

    def write(self) -> Function:
        """The function."""
        routine, numbers = self._routine, self._numbers
        slots, stretches = numbers["slots"], numbers["stretches"]
        with routine.pieces() as piece:
            group, slot = piece // slots, piece % slots
            begin, end = slot * stretches // slots, (slot + 1) * stretches // slots
            starts = self._places["group_starts"] + group * 8
            with (
                routine.loop(starts.load("i64"), starts.load("i64", 1)) as at,
                routine.loop(begin, end) as stretch,
            ):
                number = self._places["groups"].load("i64", at)
                self._stretch(number, stretch * numbers["stretch"], slot)
        return routine.function

    def _stretch(self, number: Lanes, first: Lanes, slot: Lanes) -> None:
        """A stretch of the keys with a number, from the first one on, for all that share them."""
        routine, numbers = self._routine, self._numbers
        source = row_at(self._places["sources"], number, SOURCE)
        keys = first, least(numbers["keys"] - first, numbers["stretch"])
        self._lay_keys(source, keys)
        starts = self._places["starts"] + number * 8
        with routine.loop(starts.load("i64"), starts.load("i64", 1)) as at:
            head = row_at(self._places["items"], self._places["order"].load("i64", at), ITEM)
            place = head["of_query"] + slot * numbers["of_query_slot"]
            self._queries(head, keys, self._places["of_query"] + place)
        self._write_sums(source, keys)

    def _panels_of(self, at: Lanes) -> Address:
        """The panels and sums of the block of keys that begins so far into the stretch."""
        block = at // self._numbers["depth"] * self._numbers["block_size"]
        return self._scratch + self._numbers["panels"] + block

    # --- keys ------------------------------------------------------------------------------------

    def _lay_keys(self, source: dict[str, Lanes], keys: tuple[Lanes, Lanes]) -> None:
        """Panels of a stretch of keys and values, and sums that begin at zero."""
        routine, numbers, item = self._routine, self._numbers, self._item
        zero = self._block.constant(self._kind, 0.0)
        with routine.loop(0, keys[1], numbers["depth"]) as at:
            count, panels = least(keys[1] - at, numbers["depth"]), self._panels_of(at)
            key = self._places["key"] + source["key"] + (keys[0] + at) * numbers["key_row"]
            value = self._places["value"] + source["value"] + (keys[0] + at) * numbers["value_row"]
            self._lay_rows(key, "key_row", count, numbers["size"], panels)
            room = panels + numbers["value_rows"]
            self._lay_rows(value, "value_row", count, numbers["value_size"], room)

            def columns(first: Lanes, height: int) -> None:
                place = panels + numbers["key_columns"] + first * numbers["depth"] * item
                lay_column_panel(
                    routine, self._kind, self._width, height, key + first * item,
                    numbers["key_row"], count, numbers["size"] - first, place,
                )  # fmt: skip

            each_panel(routine, self._heights, numbers["size"], columns)
            for name, width in (("key_sums", "key_width"), ("value_sums", "value_width")):
                with routine.loop(0, count * numbers[width], self._vector) as far:
                    (panels + numbers[name] + far).store(zero)

    def _lay_rows(
        self, source: Address, step: str, count: Lanes, size: Lanes, target: Address
    ) -> None:
        def rows(first: Lanes, height: int) -> None:
            lay_row_panel(
                self._routine, self._kind, self._width, height,
                source + first * self._numbers[step], self._numbers[step], count - first, size,
                target + first * size * self._item,
            )  # fmt: skip

        each_panel(self._routine, self._heights, count, rows)

    def _write_sums(self, source: dict[str, Lanes], keys: tuple[Lanes, Lanes]) -> None:
        """The gradients of a stretch of keys and values."""
        routine, numbers = self._routine, self._numbers
        with routine.loop(0, keys[1], numbers["depth"]) as at:
            count, panels = least(keys[1] - at, numbers["depth"]), self._panels_of(at)
            for name, size in (("key", "size"), ("value", "value_size")):
                step = numbers[f"of_{name}_row"]
                home = self._places[f"of_{name}"] + source[f"of_{name}"] + (keys[0] + at) * step
                routine.call(
                    "write_rows", panels + numbers[f"{name}_sums"], numbers[f"{name}_width"],
                    count, numbers[size], home, step,
                )  # fmt: skip

    # --- queries ---------------------------------------------------------------------------------

    def _queries(self, head: dict[str, Lanes], keys: tuple[Lanes, Lanes], target: Address) -> None:
        """All blocks of queries of a head that see a stretch of keys."""
        routine, numbers = self._routine, self._numbers
        together = 2 * self._width
        is_causal = numbers["is_causal"].compare("ne", 0)
        begin = is_causal.where(keys[0] // together, 0)
        with routine.loop(begin, numbers["query_blocks"]) as block:
            first = block * together
            queries = first, least(numbers["queries"] - first, together)
            self._lay_queries(head, queries)
            sums = self._lanes_of("sums", head, queries)
            along = self._lanes_of("along", head, queries)
            of_queries = self._scratch + numbers["of_queries"]
            with routine.loop(0, numbers["size"] * 2) as row:
                zero = self._block.constant(self._kind, 0.0)
                (of_queries + row * self._vector).store(zero)
            last = least(first + queries[1] - keys[0], keys[1])
            end = is_causal.where(last, keys[1])
            with routine.loop(0, end, numbers["depth"]) as at:
                present = least(end - at, numbers["depth"])
                laid = least(keys[1] - at, numbers["depth"])
                rows = least(laid, whole_panels(present, self._heights))
                self._block_of(head, queries, (keys[0] + at, present), rows, at, sums, along)
            scale = self._places["scale"].spread(self._kind, self._block)
            with routine.loop(0, numbers["size"] * 2) as row:
                place = of_queries + row * self._vector
                place.store(place.lanes(self._kind, self._block) * scale)
            routine.call(
                "write_turned", of_queries, numbers["size"], queries[1],
                target + first * numbers["of_query_row"], numbers["of_query_row"], 1,
            )  # fmt: skip

    def _lanes_of(
        self, name: str, head: dict[str, Lanes], queries: tuple[Lanes, Lanes]
    ) -> list[Lanes]:
        """A number for each query, in two vectors."""
        place = self._places[name] + head["sums"] + queries[0] * self._item
        masks = [first_lanes(self._block, queries[1] - v * self._width) for v in range(2)]
        return [place.load_some(self._kind, m, v * self._width) for v, m in enumerate(masks)]

    def _lay_queries(self, head: dict[str, Lanes], queries: tuple[Lanes, Lanes]) -> None:
        """Queries, scaled, and gradients: side by side, and in rows."""
        routine, numbers, (first, count) = self._routine, self._numbers, queries
        scratch = self._scratch
        for name, size, turned, rows in (
            ("query", "size", scratch, "query_rows"),
            ("gradient", "value_size", scratch + numbers["turned_gradients"], "gradient_rows"),
        ):
            step = numbers[f"{name}_row"]
            source = self._places[name] + head[name] + first * step
            lay_queries(
                routine, self._block, self._kind, source, step, count, numbers[size], turned
            )
            home = scratch + numbers[rows]
            with routine.loop(0, numbers[size], self._width) as column:
                panel = column // (2 * self._width) * (2 * self._width)
                place = home + panel * (2 * self._vector) + (column - panel) * self._item
                routine.call(
                    "lay_rows", source + column * self._item, step, count,
                    numbers[size] - column, place, 2 * self._vector,
                )  # fmt: skip
        scale = self._places["scale"].spread(self._kind, self._block)
        wide = (numbers["size"] + (2 * self._width - 1)) // (2 * self._width) * (4 * self._width)
        for start, vectors in (
            (scratch, numbers["size"] * 2),
            (scratch + numbers["query_rows"], wide),
        ):
            with routine.loop(0, vectors) as row:
                at = start + row * self._vector
                at.store(at.lanes(self._kind, self._block) * scale)

    # --- one block -------------------------------------------------------------------------------

    def _block_of(
        self, head: dict[str, Lanes], queries: tuple[Lanes, Lanes], keys: tuple[Lanes, Lanes],
        rows: Lanes, at: Lanes, sums: list[Lanes], along: list[Lanes],
    ) -> None:  # fmt: skip
        """What a block of keys and one of queries add to all gradients."""
        routine, numbers, item = self._routine, self._numbers, self._item
        scratch, panels, present = self._scratch, self._panels_of(at), keys[1]
        scores, changes = scratch + numbers["scores"], scratch + numbers["changes"]
        steps, zeros = self._places["steps"], self._places["zeros"]

        def product(
            left: Address, left_row: Lanes, rows: Lanes, count: Lanes, right: Address,
            target: Address, adds: int,
        ) -> None:  # fmt: skip
            multiply(
                routine, self._heights, item, 2, left, left_row * item, rows, count, right, steps,
                zeros, target, self._width, adds,
            )  # fmt: skip

        size, value_size = numbers["size"], numbers["value_size"]
        product(panels, size, rows, size, scratch, scores, 0)
        mask_scores(
            routine, self._block, self._kind, 2, numbers, scores, scratch + numbers["masks"],
            self._places["mask"] + head["mask"], queries, keys,
        )  # fmt: skip
        product(
            panels + numbers["value_rows"], value_size, rows, value_size,
            scratch + numbers["turned_gradients"], changes, 0,
        )  # fmt: skip
        self._lay_kept(head, queries, keys, changes)
        with routine.loop(0, present) as row:
            for v in range(2):
                far = row * (2 * self._vector) + v * self._vector
                weight = exp((scores + far).lanes(self._kind, self._block) - sums[v])
                change = (changes + far).lanes(self._kind, self._block) - along[v]
                (scores + far).store(weight)
                (changes + far).store(weight * change)
        with routine.when(numbers["has_kept"].compare("ne", 0)):
            self._drop(scores, present)
        self._add_to_mask(head, queries, keys, changes)
        self._add_rows(scores, "gradient_rows", panels, "value", present, queries[1])
        self._add_rows(changes, "query_rows", panels, "key", present, queries[1])
        product(
            panels + numbers["key_columns"], numbers["depth"], size, present, changes,
            scratch + numbers["of_queries"], 1,
        )  # fmt: skip

    def _lay_kept(
        self, head: dict[str, Lanes], queries: tuple[Lanes, Lanes], keys: tuple[Lanes, Lanes],
        changes: Address,
    ) -> None:  # fmt: skip
        """Find out which weights dropout kept, if it was there, and drop the others' gradients."""
        numbers = self._numbers
        with self._routine.when(numbers["has_kept"].compare("ne", 0)):
            kept, room = self._places["kept"] + head["kept"], self._scratch + numbers["masks"]
            lay_kept(self._routine, numbers, kept, room, queries, keys)
            self._drop(changes, keys[1])

    def _drop(self, target: Address, present: Lanes) -> None:
        factor = self._places["factor"].spread(self._kind, self._block)
        drop(
            self._routine, self._block, self._kind, 2, factor,
            self._scratch + self._numbers["masks"], target, present,
        )  # fmt: skip

    def _add_to_mask(
        self, head: dict[str, Lanes], queries: tuple[Lanes, Lanes], keys: tuple[Lanes, Lanes],
        changes: Address,
    ) -> None:  # fmt: skip
        """Add a block of gradients of scores to that of the mask, if it is wanted."""
        step = self._numbers["of_mask_row"]
        with self._routine.when(self._numbers["has_of_mask"].compare("ne", 0)):
            far = head["of_mask"] + queries[0] * step + keys[0] * self._item
            self._routine.call(
                "write_turned", changes, keys[1], queries[1], self._places["of_mask"] + far, step,
                self._numbers["of_mask_adds"],
            )  # fmt: skip

    def _add_rows(
        self, left: Address, right: str, panels: Address, name: str, present: Lanes, count: Lanes
    ) -> None:
        """Add a product with rows of queries or gradients to the sums of a block of keys."""
        routine, numbers, across = self._routine, self._numbers, 2 * self._vector
        width, sums = numbers[f"{name}_width"], panels + numbers[f"{name}_sums"]
        rows = self._scratch + numbers[right]
        blocks = width // self._vector
        pairs = blocks // 2

        def column(t: Lanes, vectors: int) -> None:
            def some(first: Lanes, height: int) -> None:
                routine.call(
                    scattered_name(height, vectors), left + first * across,
                    self._places["row_offsets"], self._places["lane_steps"],
                    rows + t * (2 * self._width * across), count,
                    sums + first * width + t * across, width, present - first, 1,
                )  # fmt: skip

            each_panel(routine, heights_of(scattered=True), present, some)

        with routine.loop(0, pairs) as t:
            column(t, 2)
        with routine.when((pairs * 2).compare("ne", blocks)):
            column(pairs, 1)
