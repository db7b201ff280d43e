"""Where an optimizer's parameters come from, for the error when there are none."""

from __future__ import annotations

import inspect
from typing import Any, Final, final

from lamina.core.blame import made_note, name_of_object, repairs, this_place
from lamina.core.blame.words import short
from lamina.core.provenance import place_of
from lamina.core.records import plain_parts, readings
from lamina.core.tensor import Tensor
from lamina.errors import EmptyParameterList, Place

_WRAPPERS: Final = (filter, map)


@final
class SourceOfParameters:
    """What an optimizer was given, looked at before it is read."""

    def __init__(self, params: Any) -> None:
        self.is_filtered = False
        while type(params) in _WRAPPERS:  # filter(...) and map(...) tell what they read
            self.is_filtered = True
            params = params.__reduce__()[1][-1]
        self.generator = params if inspect.isgenerator(params) else None
        self.was_used_up = False
        self.module: Any = None
        if self.generator is not None:
            self.was_used_up = inspect.getgeneratorstate(params) == inspect.GEN_CLOSED
            frame = params.gi_frame
            self.module = None if frame is None else frame.f_locals.get("self")

    def empty(self) -> EmptyParameterList:
        """The error: says whether a generator was used up, or a module has nothing registered."""
        place = this_place()
        if self.was_used_up:
            return self._used_up(place)
        if self.module is not None and hasattr(self.module, "_parameters"):
            held = list(self.module.parameters())
            return self._all_left_out(place, held) if held else self._nothing_registered(place)
        return EmptyParameterList(
            "optimizer got an empty parameter list: there is nothing in it",
            [(place, "given here")],
            ["pass `model.parameters()`, or a list of leaf tensors that require grad"],
        )

    def _used_up(self, place: Place) -> EmptyParameterList:
        known: list[Any] = readings.get(self.generator, [])
        made, ends = known[:1], known[1:]
        call = place_of(*made[0]).expression if made else "model.parameters()"
        notes = [(place_of(*ends[-1]), "used up here")] if ends else []
        name = name_of_object(self.generator)
        again = repairs.with_argument(place.expression, 0, call)
        return EmptyParameterList(
            "optimizer got an empty parameter list: the generator it was given is used up, it can "
            "be read only once",
            [
                *notes,
                (place, "read here again"),
                *((place_of(*one), "the generator was made here") for one in made),
            ],
            [
                f"keep a list, which can be read again: `{name or 'params'} = list({call})`",
                "or call parameters() again" + (f": `{again}`" if again else ""),
            ],
        )

    def _all_left_out(self, place: Place, held: list[Any]) -> EmptyParameterList:
        """The module has parameters, and a filter let none of them through."""
        kind = type(self.module).__name__
        frozen = [p for p in held if not p.requires_grad]
        if len(frozen) < len(held):
            return EmptyParameterList(
                f"optimizer got an empty parameter list: none of the {len(held)} parameters of "
                f"{kind} passed the filter",
                [(place, "filtered here")],
                ["look at the filter's condition"],
            )
        notes = [
            (place_of(*position), "frozen here: requires_grad was switched off")
            for position in [frozen[0].__dict__.get("frozen_at")]
            if position is not None
        ]
        return EmptyParameterList(
            f"optimizer got an empty parameter list: all {len(held)} parameters of {kind} are "
            "frozen",
            [*notes, (place, "filtered here")],
            ["unfreeze what should train: `requires_grad_(True)`"],
        )

    def _nothing_registered(self, place: Place) -> EmptyParameterList:
        kind = type(self.module).__name__
        notes, help = [], []
        for name, value in vars(self.module).items():
            if name.startswith("_") and name in ("_parameters", "_buffers", "_modules"):
                continue
            if isinstance(value, Tensor) and value.requires_grad:
                made = made_note(
                    value, f"`{name}` is a plain tensor, not registered as a parameter"
                )
                notes += made
                text = made[0][0].expression if made and made[0][0] is not None else ""
                wrapped = repairs.as_parameter(text) or "nn.Parameter(...)"
                help.append(f"make it a parameter: `self.{name} = {wrapped}`")
            elif name in plain_parts.get(self.module, {}):
                notes.append(
                    (
                        place_of(*plain_parts[self.module][name]),
                        f"a plain {type(value).__name__}: what it holds is not registered",
                    )
                )
                help.append(
                    f"use nn.ModuleList, nn.ModuleDict or nn.ParameterList for `self.{name}`"
                )
        return EmptyParameterList(
            f"optimizer got an empty parameter list: {kind} has no registered parameters",
            [*notes, (place, "asked for them here")],
            help or [f"assign nn.Parameter or layers to attributes in {short(kind)}.__init__"],
        )
