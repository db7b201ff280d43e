"""The tasks of attention: scores are made block by block, and never kept.

For some queries, blocks of keys pass by. The largest score so far is subtracted before the
exponential function; when a larger one comes, what was added up is scaled down. (Online softmax:
Milakov and Gimelshein, 2018; in blocks: Dao and others, "FlashAttention", 2022.)
"""

from __future__ import annotations

import math
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
from lamina.codegen.kernels.tasks.routines import (
    BYTES,
    Address,
    Routine,
    Variable,
    first_lanes,
    least,
)
from lamina.codegen.kernels.tasks.tiles import each_panel, heights_of
from lamina.codegen.llvm.ir import Block, Function, Lanes
from lamina.codegen.llvm.vector_math import exp, log

PACK_FIELDS: Final = (
    "key", "value", "panels", "sources", "keys", "size", "value_size",
    "key_row", "value_row", "depth", "blocks", "block_size", "value_panels",
)  # fmt: skip
"""What the task `pack_keys` finds in its table."""

SOURCE: Final = ("key", "value")
"""Where keys and values of a head are."""

ATTEND_FIELDS: Final = (
    "query", "result", "sums", "mask", "kept", "panels", "scratch", "items", "steps", "zeros",
    "scale", "factor",
    "queries", "keys", "size", "value_size", "query_row", "result_row",
    "mask_kind", "mask_row", "mask_column", "has_kept", "kept_row", "is_causal",
    "query_blocks", "depth", "blocks", "block_size", "value_panels",
    "scores", "masks", "outs", "scratch_step",
)  # fmt: skip
"""What the task `attend` finds in its table; the last ones are places in a worker's scratch."""

ITEM: Final = ("query", "source", "mask", "kept", "result", "sums")
"""What is known of a head: places in memory, and which keys and values it has."""


def pack_keys_function(kind: str, width: int) -> Function:
    """Task: panels of keys and values, as tiles read them; pieces are blocks of keys."""
    routine = Routine("pack_keys")
    numbers, places = fields(routine, PACK_FIELDS)
    item, heights = BYTES[kind], heights_of()
    size, depth = numbers["size"], numbers["depth"]
    with routine.pieces() as piece:
        source = row_at(places["sources"], piece // numbers["blocks"], SOURCE)
        first = piece % numbers["blocks"] * depth
        count = least(numbers["keys"] - first, depth)
        target = places["panels"] + piece * numbers["block_size"]
        key = places["key"] + source["key"] + first * numbers["key_row"]
        value = places["value"] + source["value"] + first * numbers["value_row"]

        def rows(at: Lanes, height: int) -> None:
            lay_row_panel(
                routine, kind, width, height, key + at * numbers["key_row"], numbers["key_row"],
                count - at, size, target + at * size * item,
            )  # fmt: skip

        def columns(at: Lanes, height: int) -> None:
            lay_column_panel(
                routine, kind, width, height, value + at * item, numbers["value_row"], count,
                numbers["value_size"] - at, target + numbers["value_panels"] + at * depth * item,
            )  # fmt: skip

        each_panel(routine, heights, count, rows)
        each_panel(routine, heights, numbers["value_size"], columns)
    return routine.function


@final
class AttendWriter:
    """Writes the task `attend`; its pieces are blocks of queries, the last ones first.

    With a causal mask the last ones take longest.
    """

    def __init__(self, kind: str, width: int) -> None:
        self._routine = Routine("attend")
        self._numbers, self._places = fields(self._routine, ATTEND_FIELDS)
        self._kind, self._width, self._item = kind, width, BYTES[kind]
        self._block = Block(self._routine.function, width)
        self._vector = width * self._item
        self._heights = heights_of()

    def write(self) -> Function:
        """The function."""
        routine, numbers, places = self._routine, self._numbers, self._places
        scratch = places["scratch"] + routine.parameter("worker") * numbers["scratch_step"]
        blocks = numbers["query_blocks"]
        with routine.pieces() as piece:
            head = row_at(places["items"], piece // blocks, ITEM)
            first = (blocks - 1 - piece % blocks) * (2 * self._width)
            count = least(numbers["queries"] - first, 2 * self._width)
            self._lay_queries(head, first, count, scratch)
            is_wide = count.compare("sgt", self._width)
            with routine.when(is_wide):
                self._attend(head, first, count, scratch, 2)
            with routine.when(is_wide ^ True):
                self._attend(head, first, count, scratch, 1)
        return routine.function

    def _lay_queries(
        self, head: dict[str, Lanes], first: Lanes, count: Lanes, scratch: Address
    ) -> None:
        """The queries side by side, scaled."""
        routine, numbers = self._routine, self._numbers
        lay_queries(
            routine, self._block, self._kind,
            self._places["query"] + head["query"] + first * numbers["query_row"],
            numbers["query_row"], count, numbers["size"], scratch,
        )  # fmt: skip
        scale = self._places["scale"].spread(self._kind, self._block)
        with routine.loop(0, numbers["size"] * 2) as row:
            at = scratch + row * self._vector
            at.store(at.lanes(self._kind, self._block) * scale)

    def _attend(
        self, head: dict[str, Lanes], first: Lanes, count: Lanes, scratch: Address, vectors: int
    ) -> None:
        """All blocks of keys for a block of queries, in so many vectors."""
        routine, numbers = self._routine, self._numbers
        scores, outs = scratch + numbers["scores"], scratch + numbers["outs"]
        with routine.loop(0, numbers["value_size"] * 2) as row:
            (outs + row * self._vector).store(self._block.constant(self._kind, 0.0))
        tops = [Variable(self._block.constant(self._kind, -math.inf)) for _ in range(vectors)]
        totals = [Variable(self._block.constant(self._kind, 0.0)) for _ in range(vectors)]
        keys = numbers["keys"]
        end = numbers["is_causal"].compare("ne", 0).where(least(keys, first + count), keys)
        with routine.loop(0, end, numbers["depth"]) as key:
            present = least(end - key, numbers["depth"])
            laid = least(keys - key, numbers["depth"])
            rows = least(laid, whole_panels(present, self._heights))
            block = head["source"] * numbers["blocks"] + key // numbers["depth"]
            panels = self._places["panels"] + block * numbers["block_size"]
            multiply(
                routine, self._heights, self._item, vectors, panels, numbers["size"] * self._item,
                rows, numbers["size"], scratch, self._places["steps"], self._places["zeros"],
                scores, self._width, 0,
            )  # fmt: skip
            mask_scores(
                routine, self._block, self._kind, vectors, numbers, scores,
                scratch + numbers["masks"], self._places["mask"] + head["mask"],
                (first, count), (key, present),
            )  # fmt: skip
            for v in range(vectors):
                self._weigh(scores + v * self._vector, present, outs + v * self._vector,
                            tops[v], totals[v])  # fmt: skip
            self._drop(head, (first, count), (key, present), scratch, vectors)
            multiply(
                routine, self._heights, self._item, vectors, panels + numbers["value_panels"],
                numbers["depth"] * self._item, numbers["value_size"], present, scores,
                self._places["steps"], self._places["zeros"], outs, self._width, 1,
            )  # fmt: skip
        self._finish(head, first, count, outs, tops, totals)

    def _rows(self, start: Address, row: Lanes) -> tuple[Address, Lanes]:
        at = start + row * (2 * self._vector)
        return at, at.lanes(self._kind, self._block)

    def _weigh(
        self, scores: Address, present: Lanes, outs: Address, top: Variable, total: Variable
    ) -> None:
        """Scores become weights: powers of e, less the largest score so far."""
        routine = self._routine
        before = top.get()
        with routine.loop(0, present) as key:
            _, score = self._rows(scores, key)
            top.set(score.compare("ogt", top.get()).where(score, top.get()))
        # Where everything is masked so far, weights are e^(-inf - 0) = 0.
        largest = finite(top.get())
        fading = exp(before - largest)
        added = Variable(self._block.constant(self._kind, 0.0))
        with routine.loop(0, present) as key:
            at, score = self._rows(scores, key)
            weight = exp(score - largest)
            at.store(weight)
            added.set(added.get() + weight)
        total.set(total.get() * fading + added.get())
        with routine.loop(0, self._numbers["value_size"]) as row:
            at, out = self._rows(outs, row)
            at.store(out * fading)

    def _drop(
        self, head: dict[str, Lanes], queries: tuple[Lanes, Lanes], keys: tuple[Lanes, Lanes],
        scratch: Address, vectors: int,
    ) -> None:  # fmt: skip
        """Set weights to zero and scale others, where dropout says so; sums know nothing of it."""
        routine, numbers = self._routine, self._numbers
        room = scratch + numbers["masks"]
        with routine.when(numbers["has_kept"].compare("ne", 0)):
            lay_kept(routine, numbers, self._places["kept"] + head["kept"], room, queries, keys)
            factor = self._places["factor"].spread(self._kind, self._block)
            drop(
                routine, self._block, self._kind, vectors, factor, room,
                scratch + numbers["scores"], keys[1],
            )  # fmt: skip

    def _finish(
        self, head: dict[str, Lanes], first: Lanes, count: Lanes, outs: Address,
        tops: list[Variable], totals: list[Variable],
    ) -> None:  # fmt: skip
        """Divide by the sums, and write results, and the logarithms of the sums."""
        routine, numbers = self._routine, self._numbers
        sums = self._places["sums"] + head["sums"] + first * self._item
        for v, (top, total) in enumerate(zip(tops, totals, strict=True)):
            whole = total.get()
            is_empty = whole.compare("oeq", 0.0)
            factor = is_empty.where(0.0, 1.0 / whole)
            with routine.loop(0, numbers["value_size"]) as row:
                at, out = self._rows(outs + v * self._vector, row)
                at.store(out * factor)
            # Of a query that sees no key: e^(score - inf) is 0 in the backward pass.
            logarithm = is_empty.where(math.inf, top.get() + log(whole))
            mask = first_lanes(self._block, count - v * self._width)
            sums.store_some(logarithm, mask, v * self._width)
        result = self._places["result"] + head["result"] + first * numbers["result_row"]
        routine.call(
            "write_turned", outs, numbers["value_size"], count, result, numbers["result_row"], 0
        )


def finite(top: Lanes) -> Lanes:
    """What is subtracted from scores: their largest, or 0 where that is minus infinity."""
    return top.compare("oeq", -math.inf).where(0.0, top)
