"""What tasks read from their tables: numbers and addresses by name."""

from __future__ import annotations

from lamina.codegen.kernels.tasks.addresses import Address, Routine, Whole


def fields(routine: Routine, names: tuple[str, ...]) -> tuple[dict[str, Whole], dict[str, Address]]:
    """The numbers of a task's table by name, as wholes and as addresses."""
    table = routine.address("table")
    wholes = {name: table.whole(k) for k, name in enumerate(names)}
    return wholes, {
        name: Address(routine, routine.function.give(f"inttoptr i64 {value.name} to ptr"))
        for name, value in wholes.items()
    }


def row_at(table: Address, index: Whole, names: tuple[str, ...]) -> dict[str, Whole]:
    """A row of a table of whole numbers, by name."""
    at = table + index * (8 * len(names))
    return {name: at.whole(k) for k, name in enumerate(names)}


def as_address(routine: Routine, number: Whole) -> Address:
    """A number that is an address."""
    return Address(routine, routine.function.give(f"inttoptr i64 {number.name} to ptr"))


def copy_image(
    routine: Routine, wholes: dict[str, Whole], places: dict[str, Address],
    image: Whole, group: Whole, target: Address, fill: Whole | int = 0,
) -> None:  # fmt: skip
    """Copy the channels of a group into planes with room around."""
    source = places["source"] + image * wholes["source_batch"] + group * wholes["source_group"]
    routine.call(
        "copy_planes", source, wholes["source_channel"], wholes["channels"], places["entries"],
        wholes["entry_count"], wholes["source_step"], target, wholes["plane"], fill,
    )  # fmt: skip
