"""`Doctor`: watches a program while it runs, and tells what is wrong with it."""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable
from typing import Any, Final, Self, final

from lamina.core.positions import user_frame
from lamina.core.provenance import place_of
from lamina.doctor.checks import ALL
from lamina.doctor.events import Events
from lamina.doctor.findings import Fault, Finding
from lamina.doctor.library import Library
from lamina.doctor.memory import MemoryCheck
from lamina.doctor.own_library import OwnLibrary
from lamina.errors import LaminaWarning, Place

_OF_WARNINGS: Final = (
    (Fault.GRADIENT_OF_NON_LEAF, ".grad attribute of a Tensor that is not a leaf"),
    (Fault.OUTER_BROADCAST, "different to the input size"),
)
"""Faults that warnings tell, each with a phrase of the warning."""
_HELP_FOR_WARNINGS: Final = {
    Fault.GRADIENT_OF_NON_LEAF: ("call `.retain_grad()` on it before `backward()`",),
    Fault.OUTER_BROADCAST: (
        "give both one shape: `.squeeze(-1)` for the one with the last axis of size 1",
    ),
}
_CAUSES: Final = {
    Fault.NOT_FINITE: (Fault.NOT_FINITE,),
    Fault.EXPLODING_GRADIENT: (Fault.NOT_FINITE,),
    Fault.NO_GRADIENT: (Fault.NOT_IN_MODEL,),
    Fault.NOT_OPTIMIZED: (Fault.NOT_IN_MODEL,),
}
"""Faults that are not worth a word once one of these was found."""


@final
class Doctor:
    """Watches training code while it is entered, and collects what is wrong with it.

    Example:
        >>> import io, lamina
        >>> from lamina.doctor import Doctor
        >>> model = lamina.nn.Linear(2, 1)
        >>> optimizer = lamina.optim.SGD(model.parameters(), lr=0.1)
        >>> with Doctor(tell=None) as doctor:
        ...     for _ in range(4):
        ...         model(lamina.ones(3, 2)).sum().backward()
        ...         optimizer.step()
        >>> [finding.fault.name for finding in doctor.findings]
        ['NOT_CLEARED']

    Args:
        tell: Called with each finding when it is made; None for nothing.
        library: Whose programs are watched; Lamina's unless given.

    Attributes:
        findings: What was found, in the order in which it was.
        failures: Errors of the doctor itself: what it could not look at.
    """

    def __init__(
        self, tell: Callable[[Finding], None] | None = None, library: Library | None = None
    ) -> None:
        self._tell = tell
        self._library = library or OwnLibrary()
        self.findings: list[Finding] = []
        self._keys: set[object] = set()
        self._memory = MemoryCheck(self._library)
        checks = [*(make(self._library) for make in ALL), self._memory]
        for check in checks:
            check.report = self._found
        self._events = Events(checks)
        self.failures = self._events.failures

    @property
    def memory(self) -> list[tuple[Place, int]]:
        """The lines whose results are kept for the backward pass, with bytes, largest first."""
        return self._memory.lines

    @property
    def passes(self) -> int:
        """How many backward passes there were."""
        return self._events.passes

    @property
    def steps(self) -> int:
        """How many steps of optimizers there were."""
        return self._events.steps

    def __enter__(self) -> Self:
        self._stack = self._library.watch(self._events)
        self._stack.enter_context(warnings.catch_warnings())
        self._show = warnings.showwarning
        warnings.showwarning = self._warned
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: types.TracebackType | None,
    ) -> None:  # fmt: skip
        self._events.ended()
        self._stack.close()

    def _found(self, finding: Finding) -> None:
        is_consequence = any(
            known.fault in _CAUSES.get(finding.fault, ()) for known in self.findings
        )
        if finding.key in self._keys or is_consequence:
            return
        self._keys.add(finding.key)
        self.findings.append(finding)
        if self._tell is not None:
            self._tell(finding)

    def _warned(
        self, message: Any, category: type[Warning], filename: str, lineno: int,
        file: Any = None, line: str | None = None,
    ) -> None:  # fmt: skip
        """Take a warning that tells a fault as a finding; show every other one as before."""
        text = str(message)
        fault = next((fault for fault, phrase in _OF_WARNINGS if phrase in text), None)
        if fault is None:
            self._show(message, category, filename, lineno, file, line)
            return
        place = _place_at(filename, lineno)
        if isinstance(message, LaminaWarning):
            notes = ((place, "here"), *message.notes)
            self._found(Finding(fault, message.headline, notes, message.help))
        else:
            notes = ((place, "here"),)
            self._found(Finding(fault, text.splitlines()[0], notes, _HELP_FOR_WARNINGS[fault]))


def _place_at(filename: str, line: int) -> Place | None:
    """The place of a line that is being run."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None:
        if (frame.f_code.co_filename, frame.f_lineno) == (filename, line):
            frame = user_frame(frame)  # the warning may count its levels wrongly
            return place_of(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return None


def say(finding: Finding) -> None:
    """Write a finding to stderr."""
    print(f"doctor: {finding}\n", file=sys.stderr, flush=True)
