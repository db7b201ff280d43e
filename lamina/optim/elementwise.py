"""The base of optimizers that update each element by one formula.

A formula is a function `(F, grad, *targets, *numbers)` as in `updates`, with the parameter as the
last target. What most optimizers share stands here and becomes part of it: climbing instead of
descending, decay of weights, the count of steps, and complex parameters, whose real and imaginary
part are two numbers.

The numbers of a formula may depend on the count of steps. They are computed by the same arithmetic
on Python numbers or, in a step that is being captured, on tensors, so that the program holds for
every step. So what chooses among them is `chosen`, `larger` or `smaller`, and no `if`.
"""

from __future__ import annotations

import functools
from typing import Any, ClassVar, TypeAlias

from lamina import dtypes
from lamina.core.modes import set_grad_enabled
from lamina.core.tensor import Tensor
from lamina.devices import current_recorder
from lamina.ops.comparison import where
from lamina.ops.complex_numbers import view_as_real
from lamina.ops.data import tensor
from lamina.optim.lineup import Lineups
from lamina.optim.optimizer import Optimizer
from lamina.optim.updates import Formula, Row, Update

__all__ = [
    "ADDED", "APART", "NO_DECAY", "ElementwiseOptimizer", "chosen", "larger", "number_of",
    "one_number", "smaller",
]  # fmt: skip


_Given: TypeAlias = tuple[tuple[Tensor, ...], tuple[Any, ...]]
"""What a formula writes of a parameter's state, and its numbers."""


class ElementwiseOptimizer(Optimizer):
    """An optimizer whose step is one formula for each element of a parameter."""

    _added_later: ClassVar[dict[str, Any]] = {}
    """Settings that states saved by early versions do not have."""
    _writes: ClassVar[int] = 1
    """How often the formula writes the parameter."""

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self._lineups = Lineups()
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._lineups = Lineups()
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._added_later.items():
                group.setdefault(name, value)
            for param in group["params"]:
                saved = self.state.get(param, {})
                if "step" in saved and not isinstance(saved["step"], Tensor):
                    saved["step"] = one_number(param, group, float(saved["step"]))

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        """What is remembered of a parameter before its first step."""
        raise NotImplementedError

    def _formula(self, group: dict[str, Any]) -> Formula:
        """The formula for the settings of a group."""
        raise NotImplementedError

    def _given(self, state: dict[str, Any], group: dict[str, Any]) -> _Given:
        """What the formula writes of a parameter's state, and its numbers, for one more step."""
        raise NotImplementedError

    def _given_for(self, param: Tensor, group: dict[str, Any]) -> _Given:
        """The same for a parameter, whose state begins here if it has none."""
        state = self.state[param]
        if not state:
            state.update(self._start(param, group))
        return self._given(state, group)

    def _update_again(self, group: dict[str, Any]) -> bool:
        lineup = self._lineups.of(group)
        if lineup is None:
            return False
        gradients = lineup.holds(group["params"], self.state)
        if gradients is None:
            return False
        given = self._given_for(lineup.params[0], group)
        update, more = self._update_for(group, given)
        if lineup.update is update and lineup.run(gradients, given[1] + more):
            return True
        with set_grad_enabled(False):
            self._update_rows([(param, param._grad) for param in lineup.params], group, given)
        return True

    def _update_all(self, pairs: list[tuple[Tensor, Tensor]], group: dict[str, Any]) -> None:
        if pairs:
            self._update_rows(pairs, group, self._given_for(pairs[0][0], group))

    def _update_for(self, group: dict[str, Any], given: _Given) -> tuple[Update, tuple[Any, ...]]:
        """What is done with each parameter of a group, and the numbers that its settings add."""
        decay = group.get("weight_decay", 0)
        is_apart = group.get("decoupled_weight_decay", False)
        kind = NO_DECAY if decay == 0 else APART if is_apart else ADDED
        more: tuple[Any, ...] = ()
        if kind:
            more = (1 - group["lr"] * decay if kind is APART else decay,)
        update = update_for(
            self._formula(group), 1 + len(given[0]), self._writes, bool(group["maximize"]), kind
        )
        return update, more

    def _update_rows(
        self, pairs: list[tuple[Tensor, Tensor]], group: dict[str, Any], given: _Given
    ) -> None:
        """Update parameters in the general way; `given` is what is given for the first one."""
        update, more = self._update_for(group, given)
        rows: list[Row] = []
        for param, grad in pairs:
            targets, numbers = given if not rows else self._given_for(param, group)
            rows.append(_row(param, grad, targets, numbers + more))
        update.all(rows)
        self._lineups.keep(group, update, pairs, rows, self.state)


NO_DECAY, ADDED, APART = "", "added to the gradient", "apart from the gradient"


def _row(param: Tensor, grad: Tensor, targets: tuple[Tensor, ...], numbers: tuple[Any, ...]) -> Row:
    """What a formula is given for a parameter; numbers that are tensors become like it."""
    if param.is_complex():
        targets = tuple(view_as_real(t) if t.is_complex() else t for t in targets)
        param, grad = view_as_real(param), view_as_real(grad)
    fitting = [
        n.to(device=param.device, dtype=param.dtype) if isinstance(n, Tensor) else n
        for n in numbers
    ]
    return Row((grad,), (*targets, param), tuple(fitting))


@functools.cache
def update_for(
    formula: Formula, targets: int, writes: int, is_climbing: bool, decay: str
) -> Update:
    """A formula together with what the settings of a group add to it."""

    def whole(F: Any, grad: Any, *given: Any) -> None:
        param, numbers = given[targets - 1], given[targets:]
        if is_climbing:
            grad = -grad
        if decay is ADDED:
            grad = grad + param * numbers[-1]
        elif decay is APART:
            param *= numbers[-1]
        if decay:
            numbers = numbers[:-1]
        formula(F, grad, *given[:targets], *numbers)

    return Update(whole, writes + (decay is APART))


def one_number(param: Tensor, group: dict[str, Any], value: float = 0.0) -> Tensor:
    """A number in an optimizer's state, such as a count of steps: in host memory if it may be."""
    is_double = dtypes.get_default_dtype() is dtypes.float64
    with_param = group.get("capturable") or group.get("fused")
    return tensor(
        value,
        dtype=dtypes.float64 if is_double else dtypes.float32,
        device=param.device if with_param else "cpu",
    )


def number_of(state: Tensor, *settings: Any) -> Any:
    """The value of a number in a state: Python's, or a tensor where values must not be read.

    In float64: in float32, `1 - 0.999**t` would lose five of its digits in the first steps.
    """
    if current_recorder() is None and not any(isinstance(s, Tensor) for s in settings):
        return state.item()
    return state.to(dtype=dtypes.float64)


def chosen(condition: Any, one: Any, other: Any) -> Any:
    """`one` where a condition on numbers holds, else `other`."""
    if isinstance(condition, Tensor):
        return where(condition, one, other)
    return one if condition else other


def larger(number: Any, least: Any) -> Any:
    """A number, but no less than another one."""
    return number.clamp(min=least) if isinstance(number, Tensor) else max(number, least)


def smaller(number: Any, most: Any) -> Any:
    """A number, but no more than another one."""
    return number.clamp(max=most) if isinstance(number, Tensor) else min(number, most)
