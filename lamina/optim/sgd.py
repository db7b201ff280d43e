"""Stochastic gradient descent, with momentum."""

from __future__ import annotations

from typing import Any, ClassVar, Final

from lamina.core.tensor import Tensor
from lamina.errors import OptimizerArgumentError
from lamina.ops.creation import zeros_like
from lamina.optim.elementwise import ElementwiseOptimizer
from lamina.optim.settings import check_lr, check_nonnegative, check_variants
from lamina.optim.updates import Formula

__all__ = ["SGD"]


class SGD(ElementwiseOptimizer):
    """Stochastic gradient descent.

    With `g` the gradient plus `weight_decay * w`:

        v = momentum * v + (1 - dampening) * g      (v = g in the first step)
        w = w - lr * v                              (nesterov: lr * (g + momentum * v))

    The learning rate is outside `v`, as in PyTorch and other than in Sutskever et al., "On the
    importance of initialization and momentum in deep learning" (2013).

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the learning rate.
        momentum: how much of the last step is kept.
        dampening: how much less of the gradient is added to the momentum.
        weight_decay: the factor of an L2 penalty.
        nesterov: whether the gradient is taken as if the momentum step had been made.
        maximize: whether to climb instead.
        foreach: accepted for compatibility.
        differentiable: whether the step itself is recorded for autograd.
        fused: accepted for compatibility.

    Example:
        >>> import lamina
        >>> w = lamina.ones(2, requires_grad=True)
        >>> optimizer = lamina.optim.SGD([w], lr=0.5, momentum=0.9)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.5000, 0.5000])
    """

    _added_later: ClassVar[dict[str, Any]] = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": None,
    }

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_lr(lr)
        check_variants(fused, foreach, differentiable)
        check_nonnegative(momentum=momentum, weight_decay=weight_decay)
        if nesterov and (momentum <= 0 or dampening != 0):
            raise OptimizerArgumentError(
                "Nesterov momentum requires a momentum and zero dampening",
                help=["pass momentum=0.9, for example"],
            )
        defaults = {
            "lr": lr,
            "momentum": momentum,
            "dampening": dampening,
            "weight_decay": weight_decay,
            "nesterov": nesterov,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "fused": fused,
        }
        super().__init__(params, defaults)

    def _formula(self, group: dict[str, Any]) -> Formula:
        has_momentum = group["momentum"] != 0
        return _FORMULAS[has_momentum, has_momentum and bool(group["nesterov"])]

    def _given_for(
        self, param: Tensor, group: dict[str, Any]
    ) -> tuple[tuple[Tensor, ...], tuple[Any, ...]]:
        lr, momentum = group["lr"], group["momentum"]
        if momentum == 0:
            return (), (lr,)
        shares = (momentum, 1 - group["dampening"])
        state = self.state[param]
        buffer = state.get("momentum_buffer")
        if buffer is None:  # the first gradient is not dampened
            buffer = state["momentum_buffer"] = zeros_like(param)
            shares = (0.0, 1.0)
        return (buffer,), (*shares, lr, *[momentum] * bool(group["nesterov"]))


def _descended(F: Any, grad: Any, param: Any, lr: Any) -> None:
    param -= grad * lr


def _moved(F: Any, grad: Any, buffer: Any, param: Any, kept: Any, share: Any, lr: Any) -> None:
    buffer *= kept
    buffer += grad * share
    param -= buffer * lr


def _looked_ahead(
    F: Any, grad: Any, buffer: Any, param: Any, kept: Any, share: Any, lr: Any, momentum: Any
) -> None:
    buffer *= kept
    buffer += grad * share
    param -= (grad + buffer * momentum) * lr


_FORMULAS: Final[dict[tuple[bool, bool], Formula]] = {
    (False, False): _descended,
    (True, False): _moved,
    (True, True): _looked_ahead,
}
"""By whether there is momentum, and whether it is Nesterov's."""
