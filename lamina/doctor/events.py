"""What happens in a training program, told to all checks."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from typing import Any, final

from lamina.doctor.findings import Finding


class Check(ABC):
    """Looks for one kind of fault. What it does not care about it leaves out.

    Attributes:
        report: Hands on a finding, at once.
    """

    report: Callable[[Finding], None]

    def called(self, module: Any, output: Any) -> None:
        """A module was called by the program itself, not by another module."""
        return

    def backward(self, roots: Sequence[Any]) -> None:
        """A backward pass is about to begin."""
        return

    def before_step(self, optimizer: Any) -> None:
        """An optimizer is about to update its parameters."""
        return

    def after_step(self, optimizer: Any) -> None:
        """An optimizer has updated its parameters."""
        return

    def ended(self) -> None:
        """The program has come to its end, or failed."""
        return


@final
class Events:
    """Hands on events to checks, and keeps a check that fails away from the program.

    Attributes:
        failures: What checks raised: faults of the doctor, never of the program.
        passes: How many backward passes there were.
        steps: How many steps of optimizers.
    """

    def __init__(self, checks: Sequence[Check]) -> None:
        self._called, self._backward, self._before_step, self._after_step, self._ended = (
            [getattr(check, event) for check in checks if _cares_for(check, event)]
            for event in ("called", "backward", "before_step", "after_step", "ended")
        )
        self._depth = 0
        self._is_busy = False
        self.failures: list[Exception] = []
        self.passes = self.steps = 0

    def enter(self, module: Any) -> None:
        """A module's call begins."""
        self._depth += 1

    def leave(self, module: Any, output: Any) -> None:
        """A module's call ends."""
        self._depth -= 1
        if self._depth <= 0:
            self._depth = 0
            self._tell(self._called, module, output)

    def backward(self, roots: Sequence[Any]) -> None:
        """A backward pass is about to begin."""
        self.passes += 1
        self._tell(self._backward, roots)

    def before_step(self, optimizer: Any) -> None:
        """An optimizer's step is about to begin."""
        self._tell(self._before_step, optimizer)

    def after_step(self, optimizer: Any) -> None:
        """An optimizer's step is done."""
        self.steps += 1
        self._tell(self._after_step, optimizer)

    def ended(self) -> None:
        """The program is over."""
        self._tell(self._ended)

    def _tell(self, listeners: list[Callable[..., None]], *told: Any) -> None:
        if self._is_busy:  # what a check itself sets off
            return
        self._is_busy = True
        try:
            for listener in listeners:
                try:
                    listener(*told)
                except Exception as error:
                    self.failures.append(error)
        finally:
            self._is_busy = False


def _cares_for(check: Check, event: str) -> bool:
    """Whether a check does anything at an event."""
    return getattr(type(check), event) is not getattr(Check, event)
