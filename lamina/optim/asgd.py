"""ASGD: gradient descent with a falling rate, and the average of the parameters on its way."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina import dtypes
from lamina.core.tensor import Tensor
from lamina.ops.creation import zeros_like
from lamina.ops.data import as_tensor
from lamina.optim.elementwise import ElementwiseOptimizer, larger, number_of, one_number
from lamina.optim.settings import check_lr, check_nonnegative
from lamina.optim.updates import Formula

__all__ = ["ASGD"]


class ASGD(ElementwiseOptimizer):
    """Averaged stochastic gradient descent.

        w = (1 - lambd * eta) * w - eta * g
        a = a + mu * (w - a)
        eta = lr / (1 + lambd * lr * t)**alpha
        mu = 1 / max(1, t - t0)

    The average `a` is in the state, as "ax". From Polyak and Juditsky, "Acceleration of stochastic
    approximation by averaging" (1992).

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the learning rate of the first step.
        lambd: how much weights decay, and how fast the rate falls.
        alpha: the power with which the rate falls.
        t0: the step after which parameters are averaged.
        weight_decay: the factor of an L2 penalty.
        foreach: accepted for compatibility.
        maximize: whether to climb instead.
        differentiable: whether the step itself is recorded for autograd.
        capturable: accepted for compatibility: counts are beside their parameter always.

    Raises:
        OptimizerArgumentError: If `lr` or `weight_decay` is negative.

    Example:
        >>> import lamina
        >>> w = lamina.ones(2, requires_grad=True)
        >>> optimizer = lamina.optim.ASGD([w], lr=0.25, lambd=0.0)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.7500, 0.7500])
    """

    _added_later: ClassVar = {
        "foreach": None,
        "maximize": False,
        "differentiable": False,
        "capturable": False,
    }
    _writes = 2

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_lr(lr)
        check_nonnegative(weight_decay=weight_decay)
        defaults = {
            "lr": lr,
            "lambd": lambd,
            "alpha": alpha,
            "t0": t0,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        beside = {"capturable": True}
        rate = one_number(param, beside)
        return {
            "step": one_number(param, beside),
            "eta": rate.fill_(group["lr"]),
            "mu": one_number(param, beside, 1.0),
            "ax": zeros_like(param),
        }

    def _formula(self, group: dict[str, Any]) -> Formula:
        return _step

    def _given(
        self, state: dict[str, Any], group: dict[str, Any]
    ) -> tuple[tuple[Tensor, ...], tuple[Any, ...]]:
        lr, lambd = group["lr"], group["lambd"]
        rate, share = number_of(state["eta"], lr), number_of(state["mu"], lr)
        count = number_of(state["step"].add_(1), lr)
        kind = dtypes.get_default_dtype()  # also where a loaded state has another one
        new_rate = lr / (1 + lambd * lr * count) ** group["alpha"]
        state["eta"].copy_(as_tensor(new_rate, dtype=kind))
        state["mu"].copy_(as_tensor(1 / larger(count - group["t0"], 1), dtype=kind))
        return (state["ax"],), (1 - lambd * rate, rate, 1 - share, share)


def _step(
    F: Any, grad: Any, average: Any, param: Any, kept: Any, rate: Any, rest: Any, share: Any
) -> None:
    param *= kept
    param -= grad * rate
    average *= rest  # a share of 1 gives the parameter exactly
    average += param * share
