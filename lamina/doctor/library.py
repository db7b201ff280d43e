"""What the doctor needs to know of a library of tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any, Final

from lamina.core.living import living, living_modules
from lamina.core.provenance import place_of
from lamina.doctor.events import Events
from lamina.errors import Place
from lamina.explain import Explanation

MOST_NODES: Final = 5000


class Library(ABC):
    """A library whose programs are watched.

    Attributes:
        tensor_type: The class of its tensors.
        module_type: The class of its modules.
    """

    tensor_type: type[Any]
    module_type: type[Any]

    @abstractmethod
    def watch(self, events: Events) -> ExitStack:
        """Have events reported until the stack is closed."""

    @abstractmethod
    def position(self) -> Any:
        """Where the user's program is: code and offset."""

    @abstractmethod
    def values(self, tensor: Any) -> Any:
        """A tensor's elements as a NumPy array; None if they cannot be had."""

    @abstractmethod
    def is_recording(self) -> bool:
        """Whether operations are recorded now."""

    @abstractmethod
    def is_computed(self, tensor: Any) -> bool:
        """Whether a tensor is the result of a recorded operation."""

    @abstractmethod
    def nodes_behind(self, tensor: Any) -> list[Any]:
        """The nodes of the operations behind a tensor, newest first; some thousands at most."""

    @abstractmethod
    def node_place(self, node: Any) -> Place | None:
        """Where an operation was called."""

    @abstractmethod
    def operand_shapes(self, node: Any) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """The shapes of two operands that were broadcast to each other."""

    @abstractmethod
    def has_domains(self, root: Any) -> bool:
        """Whether an operation is behind a root that has no value for some numbers."""

    @abstractmethod
    def hidden_nan(self, root: Any) -> tuple[str, Place] | None:
        """The operation, and its place, that a NaN was kept for although the root is finite."""

    @abstractmethod
    def kept_bytes(self, roots: Sequence[Any]) -> list[tuple[Any, int]]:
        """For the nodes behind some roots the bytes that only they keep, each piece once."""

    @abstractmethod
    def age(self, node: Any) -> int:
        """A number that is larger for newer nodes."""

    @abstractmethod
    def age_now(self) -> int:
        """The number that a node would get now, or one close to it."""

    @abstractmethod
    def is_never_reached(self, tensor: Any) -> bool:
        """Whether a tensor is a leaf that requires grad and certainly never got one."""

    @abstractmethod
    def explain(self, tensor: Any, name: str | None = None) -> Explanation | None:
        """What is the matter with a tensor; None if nothing is, or nothing is known."""

    @abstractmethod
    def name(self, tensor: Any) -> str | None:
        """What the program calls a tensor."""

    @abstractmethod
    def built_at(self, optimizer: Any) -> Place | None:
        """Where an optimizer was built."""

    # --- the same for all ------------------------------------------------------------------------

    def place_of(self, position: Any) -> Place:
        """The place that a position stands for."""
        return place_of(*position)

    def place(self) -> Place:
        """Where the user's program is."""
        return self.place_of(self.position())

    def tensors(self) -> list[Any]:
        """All tensors that exist, but for parameters and other classes made from tensors."""
        return [found for found in living(self.tensor_type) if type(found) is self.tensor_type]

    def modules(self) -> list[Any]:
        """All modules that exist."""
        return living_modules(self.module_type)

    def gradient(self, tensor: Any) -> Any:
        """The elements of a leaf's gradient; None if they cannot be had."""
        return self.values(tensor.grad)


def step_hooks(events: Events) -> tuple[Callable[..., None], Callable[..., None]]:
    """What optimizers are to call before and after a step.

    A step with a closure computes its gradients itself: what they are like is known behind it.
    """

    def before(optimizer: Any, args: Any, kwargs: Any) -> None:
        if not _has_closure(args, kwargs):
            events.before_step(optimizer)

    def after(optimizer: Any, args: Any, kwargs: Any) -> None:
        if _has_closure(args, kwargs):
            events.before_step(optimizer)
        events.after_step(optimizer)

    return before, after


def _has_closure(args: Any, kwargs: Any) -> bool:
    """Whether `step` was given a closure; its first argument is the optimizer."""
    return any(callable(argument) for argument in (*args[1:], kwargs.get("closure")))
