"""The tasks of the gradients of kernels, by minimal filtering.

Lanes are channels here, and squares are what is summed over. Squares of the input and of the
result's gradient are transformed to 16 numbers for each channel, some rows of squares at a time;
16 products of matrices add them up; in the end each sum of 16 becomes the nine of a kernel.

Threads share each of these steps where sums are large. Else each takes a part of the batch, for
which it does all of them: then what is transformed stays in its own cache.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, final

from lamina.codegen.kernels.tasks import winograd_squares as squares
from lamina.codegen.kernels.tasks.fields import fields
from lamina.codegen.kernels.tasks.routines import BYTES, Address, Routine, Variable, least
from lamina.codegen.kernels.tasks.tiles import (
    each_cut_panel,
    height_of_panel,
    heights_of,
    packed_name,
    rows_before,
)
from lamina.codegen.kernels.tasks.winograd import POINTS, note_not_finite
from lamina.codegen.llvm.ir import Block, Function, Lanes

SQUARE_FIELDS: Final = (
    "source", "source_batch", "source_channel", "source_row", "channels", "height", "width",
    "low", "left", "first", "last", "down", "across", "room",
    "target", "panel_step", "point_step", "scratch", "scratch_step", "full", "rest_height",
)  # fmt: skip
"""What the tasks `input_squares` and `gradient_squares` find in their tables."""

MULTIPLY_FIELDS: Final = (
    "left", "left_panel", "left_point", "right", "right_panel", "right_point",
    "sums", "sums_point", "sums_row", "outputs", "channels", "squares",
    "panels", "packed_steps", "zeros", "adds", "full", "rest_height", "rest_count",
)  # fmt: skip
"""What the task `multiply_squares` finds in its table."""

SLOT_FIELDS: Final = (
    "inputs", "gradients", "products", "input_pieces", "gradient_pieces", "product_pieces",
    "rows", "slots", "stretch", "across", "squares", "squares_step", "gradients_at",
    "sums", "sums_slot",
)  # fmt: skip
"""What the task `weigh_slots` finds in its table: those of the other tasks, and their pieces."""

FOLD_FIELDS: Final = (
    "sums", "sums_point", "sums_row", "slots", "sums_slot", "result", "result_row", "channels",
    "not_finite",
)  # fmt: skip
"""What the task `fold_squares` finds in its table."""


def weight_functions(kind: str, width: int) -> list[Function]:
    """The tasks for a kind of number."""
    return [
        _input_squares(kind, width),
        _gradient_squares(kind, width),
        _multiply(kind, width),
        _weigh_slots(),
        _fold(kind, width),
    ]


def _input_squares(kind: str, width: int) -> Function:
    """Task: the transforms of squares of 4 x 4 elements; pieces are vectors of channels.

    Two vectors are a panel: for each of the 16 numbers, a step for each square.
    """
    routine = Routine("input_squares")
    numbers, places = fields(routine, SQUARE_FIELDS)
    vector = width * BYTES[kind]
    rows = _Rows(routine, kind, width, squares.elements, 4)
    with routine.pieces() as piece:
        panel = piece // 2 * numbers["panel_step"] + piece % 2 * vector
        rows.write(piece * width, places["target"] + panel, routine.number(2 * vector))
    return routine.function


def _gradient_squares(kind: str, width: int) -> Function:
    """Task: the same of squares of 2 x 2 gradients of the result; pieces are panels."""
    routine = Routine("gradient_squares")
    numbers, places = fields(routine, SQUARE_FIELDS)
    item = BYTES[kind]
    heights = heights_of()
    rows = _Rows(routine, kind, width, squares.gradients, 2)
    with routine.pieces() as panel:
        target = places["target"] + panel * numbers["panel_step"]
        step = height_of_panel(heights, numbers, panel) * item
        rows.write(rows_before(heights, numbers, panel), target, step)
    return routine.function


@final
class _Rows:
    """Writes what is done with rows of squares whose sides are `side` elements.

    An image's rows are turned, so that channels lie side by side. Around them are zeros.
    """

    def __init__(
        self, routine: Routine, kind: str, width: int, line: squares.Line, side: int
    ) -> None:
        self._routine, self._line, self._side = routine, line, side
        self._kind, self._block = kind, Block(routine.function, width)
        self._numbers, self._places = fields(routine, SQUARE_FIELDS)
        self._vector = width * BYTES[kind]
        worker = routine.parameter("worker")
        self._rows = self._places["scratch"] + worker * self._numbers["scratch_step"]
        self._row_step = self._numbers["room"] * self._vector
        with routine.loop(0, self._row_step * side, self._vector) as at:
            (self._rows + at).store(self._block.constant(kind, 0))

    def write(self, channel: Lanes, target: Address, step: Lanes) -> None:
        """All squares of a vector of channels, `step` bytes from each other.

        If that is less than the vector, the next square is written over its end.
        """
        routine, numbers = self._routine, self._numbers
        with routine.loop(numbers["first"], numbers["last"]) as number:
            image, y = number // numbers["down"], number % numbers["down"] * 2 - numbers["low"]
            source = (
                self._places["source"]
                + image * numbers["source_batch"]
                + channel * numbers["source_channel"]
            )
            for i in range(self._side):
                self._turn(source, y + i, channel, self._rows + self._row_step * i)
            begin = target + (number - numbers["first"]) * numbers["across"] * step
            with routine.loop(0, numbers["across"]) as x:
                for k, lanes in enumerate(squares.transformed(self._line, self._square(x))):
                    (begin + x * step + numbers["point_step"] * k).store(lanes)

    def _turn(self, source: Address, row: Lanes, channel: Lanes, target: Address) -> None:
        """A row of an image, or zeros where there is none."""
        routine, numbers = self._routine, self._numbers
        home = target + numbers["left"] * self._vector
        is_inside = row.compare("ult", numbers["height"])  # below zero is large without a sign
        with routine.when(is_inside):
            routine.call(
                "turn", source + row * numbers["source_row"], numbers["source_channel"],
                least(numbers["channels"] - channel, self._block.width), numbers["width"], home,
                self._vector,
            )  # fmt: skip
        with (
            routine.when(is_inside.compare("eq", 0)),
            routine.loop(0, numbers["width"]) as x,
        ):
            (home + x * self._vector).store(self._block.constant(self._kind, 0))

    def _square(self, x: Lanes) -> list[Lanes]:
        near = self._rows + x * (2 * self._vector)
        return [
            (near + self._row_step * i + j * self._vector).lanes(self._kind, self._block)
            for i in range(self._side)
            for j in range(self._side)
        ]


def _multiply(kind: str, width: int) -> Function:
    """Task: the sums of products over some squares; pieces are panels of the right factors."""
    routine = Routine("multiply_squares")
    numbers, places = fields(routine, MULTIPLY_FIELDS)
    vector = width * BYTES[kind]
    with routine.pieces() as piece:
        point, panel = piece // numbers["panels"], piece % numbers["panels"]
        right = places["right"] + point * numbers["right_point"] + panel * numbers["right_panel"]
        left = places["left"] + point * numbers["left_point"]
        sums = places["sums"] + point * numbers["sums_point"] + panel * (2 * vector)
        is_alone = (numbers["channels"] - panel * (2 * width)).compare("sle", width)

        def write(vectors: int) -> Callable[[Lanes, Lanes, int], None]:
            def some(row: Lanes, panel: Lanes, height: int) -> None:
                target = sums + row * numbers["sums_row"]
                routine.call(
                    packed_name(height, vectors), left + panel * numbers["left_panel"],
                    right, right + vector, places["packed_steps"], numbers["squares"],
                    target, target + vector, width, width, numbers["sums_row"],
                    numbers["outputs"] - row, places["zeros"], numbers["adds"], places["zeros"],
                )  # fmt: skip

            return some

        for vectors, how in ((2, "eq"), (1, "ne")):
            with routine.when(is_alone.compare(how, 0)):
                each_cut_panel(routine, heights_of(), numbers, write(vectors))
    return routine.function


def _weigh_slots() -> Function:
    """Task: all steps but the last; pieces are slots, parts of the rows of squares.

    A worker has memory of its own for transformed squares, a slot for sums.
    """
    routine = Routine("weigh_slots")
    numbers, places = fields(routine, SLOT_FIELDS)
    worker = routine.parameter("worker")
    squares_at = numbers["squares"] + worker * numbers["squares_step"]
    gradients_at = squares_at + numbers["gradients_at"]
    inputs = _Table(routine, places["inputs"], SQUARE_FIELDS)
    gradients = _Table(routine, places["gradients"], SQUARE_FIELDS)
    products = _Table(routine, places["products"], MULTIPLY_FIELDS)
    inputs.set(target=squares_at)
    gradients.set(target=gradients_at)
    products.set(right=squares_at, left=gradients_at)
    rows, slots = numbers["rows"], numbers["slots"]
    with routine.pieces() as slot:
        begin, end = slot * rows // slots, (slot + 1) * rows // slots
        products.set(sums=numbers["sums"] + slot * numbers["sums_slot"])
        with routine.loop(begin, end, numbers["stretch"]) as first:
            last = least(first + numbers["stretch"], end)
            for table in (inputs, gradients):
                table.set(first=first, last=last)
            products.set(squares=(last - first) * numbers["across"], adds=first - begin)
            for name, table, pieces in (
                ("input_squares", inputs, "input_pieces"),
                ("gradient_squares", gradients, "gradient_pieces"),
                ("multiply_squares", products, "product_pieces"),
            ):
                routine.call(name, table.place, 0, numbers[pieces], worker)
    return routine.function


@final
class _Table:
    """A copy of a task's table, on the stack.

    Attributes:
        place: Where it is.
    """

    def __init__(self, routine: Routine, source: Address, names: tuple[str, ...]) -> None:
        self._names = names
        self.place = routine.room("i64", len(names))
        source.copy_to(self.place, routine.number(8 * len(names)))

    def set(self, **numbers: Lanes) -> None:
        """Change numbers in it."""
        for name, number in numbers.items():
            self.place.store(number, self._names.index(name))


def _fold(kind: str, width: int) -> Function:
    """Task: the gradients of kernels, of the sums of products; pieces are outputs."""
    routine = Routine("fold_squares")
    numbers, places = fields(routine, FOLD_FIELDS)
    block, item = Block(routine.function, width), BYTES[kind]
    vector = width * item
    columns = routine.room(block.vector(kind), 9)
    rows = routine.room(block.vector(kind), 9 + 1)  # a vector may be written past the end
    check = Variable(block.constant(kind, 0))
    with routine.pieces() as piece:
        sums = places["sums"] + piece * numbers["sums_row"]
        result = places["result"] + piece * numbers["result_row"]
        with routine.loop(0, numbers["channels"], width) as c:
            at = sums + c * item
            square = _sums(routine, block, kind, at, numbers)
            found = squares.transformed(squares.kernel_gradients, square)
            for k, each in enumerate(found):
                (columns + k * vector).store(each)
            check.set(sum(found[1:], found[0]).times_plus(block.constant(kind, 0), check.get()))
            turned = min(width, 9)
            routine.call("turn", columns, vector, turned, width, rows, 9 * item)
            for k in range(turned, 9):
                with routine.loop(0, width) as i:
                    place = rows + (i * 9 + k) * item
                    place.store((columns + k * vector + i * item).load(kind))
            size = least(numbers["channels"] - c, width) * (9 * item)
            rows.copy_to(result + c * (9 * item), size)
    note_not_finite(routine, check.get(), places["not_finite"])
    return routine.function


def _sums(
    routine: Routine, block: Block, kind: str, start: Address, numbers: dict[str, Lanes]
) -> list[Lanes]:
    """Vectors of the 16 sums, those of all slots added up in order."""
    places = [start + numbers["sums_point"] * k for k in range(POINTS)]
    totals = [Variable(place.lanes(kind, block)) for place in places]
    with routine.loop(1, numbers["slots"]) as slot:
        for place, total in zip(places, totals, strict=True):
            total.set(total.get() + (place + slot * numbers["sums_slot"]).lanes(kind, block))
    return [total.get() for total in totals]
