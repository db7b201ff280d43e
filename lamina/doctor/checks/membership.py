"""Parameters that no optimizer updates, and optimizers whose tensors no model has."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from lamina.doctor.events import Check
from lamina.doctor.findings import Fault, Finding
from lamina.doctor.library import Library
from lamina.doctor.naming import listed, parameter_names
from lamina.explain.holders import held_by


@final
class MembershipCheck(Check):
    """Compares the models that are called with what optimizers hold."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._called: dict[int, Any] = {}
        self._optimizers: dict[int, Any] = {}
        self._steps: dict[int, int] = {}
        self._before: dict[int, Any] = {}

    def called(self, module: Any, output: Any) -> None:
        if id(module) not in self._called:
            self._called[id(module)] = module
            for parameter in module.parameters():
                self._before.setdefault(id(parameter), self._print_of(parameter))

    def before_step(self, optimizer: Any) -> None:
        self._optimizers[id(optimizer)] = optimizer
        steps = self._steps[id(optimizer)] = self._steps.get(id(optimizer), 0) + 1
        if steps == 2 and self._called:
            self._find_strangers(optimizer)

    def ended(self) -> None:
        if not self._optimizers:
            return
        held = {id(p) for o in self._optimizers.values() for p in held_by(o)}
        names = parameter_names(self._library)
        lacking = [
            parameter
            for module in self._called.values()
            for parameter in module.parameters()
            if id(parameter) not in held and parameter.requires_grad
            and parameter.grad is not None and self._is_untouched(parameter)
        ]  # fmt: skip
        lacking = list({id(parameter): parameter for parameter in lacking}.values())
        if not lacking:
            return
        place = self._library.built_at(next(iter(self._optimizers.values())))
        is_frozen = "or freeze them, which saves their gradients: `.requires_grad_(False)`"
        self.report(
            Finding(
                Fault.NOT_OPTIMIZED,
                f"{listed([names.get(id(p), 'a parameter') for p in lacking])}: there are "
                "gradients, and no optimizer that uses them",
                () if place is None else ((place, "the optimizer was built here, without them"),),
                (
                    "build the optimizer from all parameters, after the last layer was made: "
                    "`model.parameters()`",
                    is_frozen,
                ),
            )
        )

    def _find_strangers(self, optimizer: Any) -> None:
        """Tensors of an optimizer that belong to no model that is called."""
        own = {id(p) for module in self._called.values() for p in module.parameters()}
        strangers = [p for p in held_by(optimizer) if id(p) not in own and p.grad is None]
        if not strangers or len(strangers) < len(held_by(optimizer)):
            return
        place = self._library.built_at(optimizer)
        self.report(
            Finding(
                Fault.NOT_IN_MODEL,
                f"the optimizer's {len(strangers)} parameters belong to no model that is called: "
                "the model that trains is another one",
                () if place is None else ((place, "the optimizer was built here"),),
                ("build the optimizer after the model has got its last form: replaced, moved or "
                 "loaded whole",),
            )
        )  # fmt: skip

    def _print_of(self, parameter: Any) -> Any:
        """The first few elements, to see whether anything changes them."""
        values = self._library.values(parameter)
        return None if values is None else np.array(values.reshape(-1)[:64])

    def _is_untouched(self, parameter: Any) -> bool:
        """Whether a parameter still has its first values: it is not updated by hand either."""
        before, now = self._before.get(id(parameter)), self._print_of(parameter)
        return before is not None and now is not None and np.array_equal(before, now)
