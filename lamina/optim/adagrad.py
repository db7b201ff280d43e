"""Adagrad: gradients divided by the root of the sum of all their squares."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.ops.creation import full_like
from lamina.optim.elementwise import ElementwiseOptimizer, number_of, one_number
from lamina.optim.settings import check_lr, check_nonnegative, check_variants
from lamina.optim.updates import Formula

__all__ = ["Adagrad"]


class Adagrad(ElementwiseOptimizer):
    """Steps by the gradient, divided by the root of the sum of all squares so far.

        s = s + g**2
        w = w - lr / (1 + (t - 1) * lr_decay) * g / (sqrt(s) + eps)

    From Duchi, Hazan and Singer, "Adaptive subgradient methods for online learning and stochastic
    optimization" (2011).

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the learning rate.
        lr_decay: how fast it falls with the number of steps.
        weight_decay: the factor of an L2 penalty.
        initial_accumulator_value: what the sums start from.
        eps: added to the denominator.
        foreach: accepted for compatibility.
        maximize: whether to climb instead.
        differentiable: whether the step itself is recorded for autograd.
        fused: accepted for compatibility; not together with `foreach` or `differentiable`.

    Raises:
        OptimizerArgumentError: If a setting is negative.

    Example:
        >>> import lamina
        >>> w = lamina.ones(2, requires_grad=True)
        >>> optimizer = lamina.optim.Adagrad([w], lr=0.25)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.7500, 0.7500])
    """

    _added_later: ClassVar = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_nonnegative(
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        check_variants(fused, foreach, differentiable)
        defaults = {
            "lr": lr,
            "lr_decay": lr_decay,
            "eps": eps,
            "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                self.state[param] = self._start(param, group)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        first = group["initial_accumulator_value"]
        start = complex(first, first) if param.is_complex() else first
        return {"step": one_number(param, group), "sum": full_like(param, start)}

    def _formula(self, group: dict[str, Any]) -> Formula:
        return _step

    def _given(
        self, state: dict[str, Any], group: dict[str, Any]
    ) -> tuple[tuple[Tensor, ...], tuple[Any, ...]]:
        lr = group["lr"]
        count = number_of(state["step"].add_(1), lr)
        step_size = lr / (1 + (count - 1) * group["lr_decay"])
        return (state["sum"],), (step_size, group["eps"])


def _step(F: Any, grad: Any, total: Any, param: Any, step_size: Any, eps: Any) -> None:
    total += grad * grad
    param -= grad * step_size / (F.sqrt(total) + eps)
