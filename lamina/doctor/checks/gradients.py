"""Gradients that are missing, always zero, too large, or not finite."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from lamina.core.blame.repairs import masked_inside
from lamina.doctor.events import Check
from lamina.doctor.findings import Fault, Finding
from lamina.doctor.library import Library
from lamina.doctor.naming import listed, parameter_names

PATIENCE: Final = 2
"""Steps without a gradient after which a parameter is reported while the program still runs."""
ZERO_STEPS: Final = 5
USUAL_STEPS: Final = 5
"""The first steps, which tell how large gradients usually are."""
EXPLODED: Final = 1e3
"""How many times larger than usual a gradient is when it has exploded; and at least that large."""
_HELP: Final = {
    Fault.NO_GRADIENT: ("compute the loss from them, without detach(), .item() or NumPy",),
    Fault.ZERO_GRADIENT: (
        "look at what follows them: units that never fire (a bias or a learning rate that is too "
        "large), a saturated activation, or a factor of zero",
    ),
}


@final
@dataclass
class _Record:
    """What was seen of one parameter."""

    parameter: Any
    steps: int = 0
    missing: int = 0
    zero: int = 0
    is_reported: bool = False


@final
@dataclass
class _Norms:
    """How long the gradient of all parameters of an optimizer was."""

    optimizer: Any
    first: list[float] = field(default_factory=list)
    usual: float = 0.0
    steps: int = 0
    is_reported: bool = False


@final
class GradientCheck(Check):
    """Looks at the gradients of all optimizers at each step."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._records: dict[int, _Record] = {}
        self._norms: dict[int, _Norms] = {}
        self._has_found_bad = False
        self._hidden: Any = None
        self._passes = 0
        self._has_domains = False

    def backward(self, roots: Sequence[Any]) -> None:
        self._passes += 1
        # Walking through a graph takes 1 us a node: most programs never need it.
        if self._passes & (self._passes - 1) == 0:  # the passes 1, 2, 4, 8, ...
            self._has_domains = any(map(self._library.has_domains, roots))
        if self._has_domains and not self._has_found_bad:
            found = (self._library.hidden_nan(root) for root in roots)
            self._hidden = next((each for each in found if each is not None), None)

    def before_step(self, optimizer: Any) -> None:
        norms = self._norms.setdefault(id(optimizer), _Norms(optimizer))
        norms.steps += 1
        total, bad = 0.0, None
        records = []
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if not parameter.requires_grad:
                    continue
                record = self._records.setdefault(id(parameter), _Record(parameter))
                records.append(record)
                square = self._seen(record)
                total += square
                if bad is None and not math.isfinite(square):
                    bad = parameter
        self._judge_size(norms, math.sqrt(total), bad)
        waited = [r for r in records if r.missing == r.steps == PATIENCE]
        self._report(waited, Fault.NO_GRADIENT)
        self._report([r for r in records if r.zero == r.steps == ZERO_STEPS], Fault.ZERO_GRADIENT)

    def ended(self) -> None:
        records = list(self._records.values())
        self._report([r for r in records if r.missing == r.steps], Fault.NO_GRADIENT)
        zero = [r for r in records if r.zero == r.steps >= PATIENCE + 1]
        self._report(zero, Fault.ZERO_GRADIENT)

    def _seen(self, record: _Record) -> float:
        """Take a gradient down; gives the square of its length."""
        record.steps += 1
        if record.parameter.grad is None:
            record.missing += 1
            return 0.0
        values = self._library.gradient(record.parameter)
        if values is None:
            return 0.0
        flat = values.reshape(-1)
        if flat.dtype.char not in "fd":
            flat = np.abs(flat).astype(np.float32)
        square = float(np.dot(flat, flat))
        record.zero += square == 0
        return square

    def _judge_size(self, norms: _Norms, total: float, bad: Any) -> None:
        if norms.is_reported:
            return
        if bad is not None and not np.isfinite(self._library.gradient(bad)).all():
            norms.is_reported = True
            if not self._has_found_bad:
                self._has_found_bad = True
                self._report_bad(norms, bad)
            return
        if len(norms.first) < USUAL_STEPS:
            norms.first.append(total)
            norms.usual = float(np.median(norms.first))
            return
        usual = norms.usual
        if total > EXPLODED * max(usual, 1.0):
            norms.is_reported = True
            self.report(
                Finding(
                    Fault.EXPLODING_GRADIENT,
                    f"the gradients explode: their norm was {usual:.2g} in the first steps, and is "
                    f"{total:.2g} in step {norms.steps}",
                    ((self._library.place(), "this step uses them"),),
                    (
                        "take a smaller learning rate",
                        "or limit them before the step: "
                        "`torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)`",
                    ),
                )
            )

    def _report_bad(self, norms: _Norms, parameter: Any) -> None:
        name = self._names().get(id(parameter), "a parameter")
        headline = f"the gradient of `{name}` is not finite in step {norms.steps}"
        step = (self._library.place(), "this step uses it")
        if self._hidden is not None:
            word, place = self._hidden
            masked = masked_inside(place.text, place.expression)
            again = f": `{masked}`" if masked else ""
            self.report(
                Finding(
                    Fault.NOT_FINITE,
                    f"{headline}: {word} gives NaN for elements that are left out later, and 0 * "
                    "NaN is NaN",
                    ((place, f"{word} is given what it is not defined for"), step),
                    (f"mask what goes into {word}, not only what comes out of it{again}",),
                )
            )
            return
        explanation = self._library.explain(parameter, name)
        self.report(
            Finding(
                Fault.NOT_FINITE,
                headline + (f": {explanation.verdict}" if explanation is not None else ""),
                (*(explanation.notes if explanation is not None else ()), step),
                explanation.help if explanation is not None else (),
            )
        )

    def _report(self, records: list[_Record], fault: Fault) -> None:
        """Report some parameters, those with one explanation together."""
        names = self._names() if records else {}
        alike: dict[Any, list[_Record]] = {}
        explanations: dict[Any, Any] = {}
        for record in records:
            if record.is_reported:
                continue
            record.is_reported = True
            name = names.get(id(record.parameter))
            explanation = self._library.explain(record.parameter, name)
            key = explanation and (explanation.cause, explanation.places[:1])
            alike.setdefault(key, []).append(record)
            explanations.setdefault(key, explanation)
        state = "got no gradient" if fault is Fault.NO_GRADIENT else "got only zeros as gradient"
        for key, found in alike.items():
            explanation = explanations[key]
            called = listed([names.get(id(r.parameter), "a tensor") for r in found])
            self.report(
                Finding(
                    fault,
                    f"{called} {state} in {found[0].steps} steps"
                    + (f": {explanation.verdict}" if explanation is not None else ""),
                    explanation.notes if explanation is not None else (),
                    explanation.help if explanation is not None else _HELP[fault],
                )
            )

    def _names(self) -> dict[int, str]:
        return parameter_names(self._library)
