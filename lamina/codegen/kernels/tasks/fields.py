"""What tasks read from their tables: numbers and addresses by name."""

from __future__ import annotations

from lamina.codegen.kernels.tasks.routines import Address, Routine, as_address
from lamina.codegen.llvm.ir import Lanes


def fields(routine: Routine, names: tuple[str, ...]) -> tuple[dict[str, Lanes], dict[str, Address]]:
    """The numbers of a task's table by name, as they are and as addresses."""
    table = routine.address("table")
    numbers = {name: table.load("i64", k) for k, name in enumerate(names)}
    return numbers, {name: as_address(number) for name, number in numbers.items()}


def row_at(table: Address, index: Lanes, names: tuple[str, ...]) -> dict[str, Lanes]:
    """A row of a table of whole numbers, by name."""
    at = table + index * (8 * len(names))
    return {name: at.load("i64", k) for k, name in enumerate(names)}


def copy_image(
    routine: Routine, numbers: dict[str, Lanes], places: dict[str, Address],
    image: Lanes, group: Lanes, target: Address, fill: Lanes | int = 0,
) -> None:  # fmt: skip
    """Copy the channels of a group into planes with room around."""
    source = places["source"] + image * numbers["source_batch"] + group * numbers["source_group"]
    routine.call(
        "copy_planes", source, numbers["source_channel"], numbers["channels"], places["entries"],
        numbers["entry_count"], numbers["source_step"], target, numbers["plane"], fill,
    )  # fmt: skip
