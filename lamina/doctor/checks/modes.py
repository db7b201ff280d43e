"""Evaluation in training mode, and recording that nobody needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, final

from lamina.doctor.events import Check
from lamina.doctor.findings import Fault, Finding
from lamina.doctor.library import Library

RUN: Final = 3
"""Calls in a row without a backward pass that show that a program evaluates."""


@final
@dataclass
class _Site:
    """A place in the program that calls a model.

    Attributes:
        calls: How often it did since the last backward pass.
        passes_without: Backward passes before which it did not.
        is_training: Whether a backward pass ever began right after it.
    """

    module: Any
    position: Any
    calls: int = 0
    passes_without: int = 0
    is_training: bool = False
    is_recorded: bool = False
    in_training_mode: bool = False


@final
class ModeCheck(Check):
    """Tells places that train a model from places that evaluate it.

    Evaluating is what a place does that calls the model several times in a row, before which other
    passes do without it, and after which none begins.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._sites: dict[Any, _Site] = {}
        self._last: dict[int, _Site] = {}
        self._reported: set[tuple[Fault, int]] = set()

    def called(self, module: Any, output: Any) -> None:
        position = self._library.position()
        site = self._sites.setdefault((id(module), position), _Site(module, position))
        site.calls += 1
        site.is_recorded = self._library.is_recording() and _requires_grad(output)
        site.in_training_mode = module.training
        self._last[id(module)] = site

    def backward(self, roots: Sequence[Any]) -> None:
        for site in self._last.values():
            site.is_training |= site.is_recorded
        self._last.clear()
        for site in self._sites.values():
            if site.calls >= RUN and site.passes_without:
                self._judge(site)
            site.passes_without += not site.calls
            site.calls = 0

    def ended(self) -> None:
        for site in self._sites.values():
            if site.calls >= (RUN if site.is_recorded else 1):
                self._judge(site)

    def _judge(self, site: _Site) -> None:
        """Report a place that evaluates a model which is trained elsewhere."""
        module = site.module
        trained = (s.module for s in self._sites.values() if s.is_training)
        if site.is_training or not any(other is module for other in trained):
            return
        name = type(module).__name__
        layers = _mode_dependent(module) if site.in_training_mode else []
        if layers:
            self._report(
                Fault.TRAINING_MODE,
                f"{name} is evaluated in training mode, where its {layers[0]} behaves otherwise",
                site,
                "call `model.eval()` before, and `model.train()` after it",
            )
        if site.is_recorded:
            self._report(
                Fault.RECORDED_IN_VAIN,
                f"{site.calls} calls of {name} in a row were recorded, and no backward pass "
                "followed: that costs memory and time",
                site,
                "evaluate under `with torch.no_grad():`",
            )

    def _report(self, fault: Fault, headline: str, site: _Site, help: str) -> None:
        key = fault, id(site.module)
        if key not in self._reported:
            self._reported.add(key)
            place = self._library.place_of(site.position)
            self.report(Finding(fault, headline, ((place, "called here"),), (help,)))


def _requires_grad(output: Any) -> bool:
    if isinstance(output, tuple | list):
        return any(map(_requires_grad, output))
    if isinstance(output, dict):
        return any(map(_requires_grad, output.values()))
    return bool(getattr(output, "requires_grad", False))


def _mode_dependent(module: Any) -> list[str]:
    """The names of layers that do one thing in training and another in evaluation."""
    kinds = (type(layer).__name__ for layer in module.modules())
    return [kind for kind in kinds if "Dropout" in kind or "BatchNorm" in kind]
