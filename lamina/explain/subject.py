"""What is known about the tensor in question, gathered once."""

from __future__ import annotations

import sys
from functools import cached_property
from typing import Any, final

from lamina.core import records
from lamina.core.blame import reading
from lamina.core.blame.words import first_name, leaves_of, made_at, made_note, node_of
from lamina.core.names import name_of
from lamina.core.positions import user_frame
from lamina.core.provenance import argument_names, place_of
from lamina.core.tensor import Tensor
from lamina.errors import Place
from lamina.errors.places import Note
from lamina.explain.holders import Holding, consumers, holding_of


@final
class Subject:
    """A tensor, what the program calls it, and what surrounds it."""

    def __init__(self, tensor: Tensor, name: str | None = None, loss: Tensor | None = None) -> None:
        self.tensor = tensor
        self.loss = loss
        self._given_name = name
        frame = user_frame(sys._getframe(1))
        self._frame = frame
        self.asked_at = place_of(frame.f_code, frame.f_lasti)
        self.notes = tensor.__dict__

    @cached_property
    def plain_name(self) -> str | None:
        """The tensor's name in the program."""
        if self._given_name is not None:
            return self._given_name
        text = self.asked_at.expression
        if text.rpartition("why(")[0][-1:] in ("", "."):
            given = next(iter(argument_names(self.asked_at)), "")
            if reading.is_reference(given):
                return given
        return self.name_of(self.tensor)

    @property
    def name(self) -> str:
        """The name to use in code."""
        return self.plain_name or "t"

    @property
    def called(self) -> str:
        """The name to use in a sentence."""
        if self.plain_name:
            return f"`{self.plain_name}`"
        holding = self.holding
        if holding is None:
            return "the tensor"
        owner = f"`{holding.name}` of {type(holding.module).__name__}"
        return owner if holding.kind in ("parameter", "buffer", "plain") else f"a tensor in {owner}"

    def name_of(self, other: Any) -> str | None:
        """What the program calls a tensor; else the name it was made under, if it is free."""
        found = name_of(other, self._frame)
        if found is not None and "[" not in found:
            return found
        made = first_name(other)
        if (
            made is None
            or self._is_bound(made)
            or (other is not self.tensor and made == self.plain_name)
        ):
            return found
        return made

    def _is_bound(self, name: str) -> bool:
        start = name.partition(".")[0]
        return start in self._frame.f_locals or start in self._frame.f_globals

    @cached_property
    def node(self) -> Any:
        """The node that made the tensor; None for a leaf."""
        _ = self.tensor.grad_fn  # brings a view of a changed base up to date
        return node_of(self.tensor)

    @property
    def made_at(self) -> Place | None:
        """Where the tensor was made."""
        return made_at(self.tensor)

    def made(self, remark: str) -> list[Note]:
        """A note on where the tensor was made."""
        return made_note(self.tensor, remark)

    @cached_property
    def leaves(self) -> list[Any]:
        """The leaves behind the tensor."""
        return leaves_of(self.tensor)

    @cached_property
    def holding(self) -> Holding | None:
        """How a module holds the tensor."""
        return holding_of(self.tensor)

    @cached_property
    def consumers(self) -> list[Any]:
        """Nodes of live graphs that have the tensor as an input."""
        return consumers(self.tensor)

    @property
    def asked_stamp(self) -> int:
        """When gradients were asked for; 0 if that is unknown."""
        noted = self.notes.get("asked_at")
        return 0 if noted is None else int(noted[0])

    def passes_since(self, stamp: int) -> list[records.Pass]:
        """The backward passes after a moment, oldest first."""
        return [p for p in records.passes if p.stamp > stamp]
