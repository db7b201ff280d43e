"""NAdam: Adam with Nesterov momentum."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.ops.creation import zeros_like
from lamina.optim.elementwise import ElementwiseOptimizer, number_of, one_number
from lamina.optim.settings import check_betas, check_lr, check_nonnegative
from lamina.optim.updates import Formula

__all__ = ["NAdam"]


class NAdam(ElementwiseOptimizer):
    """Adam whose mean looks one step ahead, as in Nesterov's momentum.

        mu[t] = beta1 * (1 - 0.96**(t * momentum_decay) / 2)
        m = beta1 * m + (1 - beta1) * g
        v = beta2 * v + (1 - beta2) * g**2
        d = (1 - mu[t]) * g / (1 - mu[1] ... mu[t]) + mu[t+1] * m / (1 - mu[1] ... mu[t+1])
        w = w - lr * d / (sqrt(v / (1 - beta2**t)) + eps)

    From Dozat, "Incorporating Nesterov momentum into Adam" (2016).

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the learning rate.
        betas: how much of the two means is kept in a step.
        eps: added to the denominator.
        weight_decay: the factor of an L2 penalty.
        momentum_decay: how fast the momentum nears `betas[0]`.
        decoupled_weight_decay: whether weights decay apart from the gradient, as in `AdamW`.
        foreach: accepted for compatibility.
        maximize: whether to climb instead.
        capturable: whether counts of steps are kept beside their parameter.
        differentiable: whether the step itself is recorded for autograd.

    Raises:
        OptimizerArgumentError: If a setting is negative, or a beta is not below 1.

    Example:
        >>> import lamina
        >>> w = lamina.ones(2, requires_grad=True)
        >>> optimizer = lamina.optim.NAdam([w], lr=0.5)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([0.4718, 0.4718])
    """

    _added_later: ClassVar = {
        "maximize": False,
        "foreach": None,
        "capturable": False,
        "differentiable": False,
        "decoupled_weight_decay": False,
    }
    _writes = 2

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        check_betas(betas)
        check_nonnegative(eps=eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr,
            "betas": betas,
            "eps": eps,
            "weight_decay": weight_decay,
            "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay,
            "maximize": maximize,
            "foreach": foreach,
            "capturable": capturable,
            "differentiable": differentiable,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for param in group["params"]:
                saved = self.state.get(param, {})
                if "mu_product" in saved and not isinstance(saved["mu_product"], Tensor):
                    saved["mu_product"] = one_number(param, group, float(saved["mu_product"]))

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        return {
            "step": one_number(param, group),
            "mu_product": one_number(param, group, 1.0),
            "exp_avg": zeros_like(param),
            "exp_avg_sq": zeros_like(param),
        }

    def _formula(self, group: dict[str, Any]) -> Formula:
        return _step

    def _given(
        self, state: dict[str, Any], group: dict[str, Any]
    ) -> tuple[tuple[Tensor, ...], tuple[Any, ...]]:
        lr, decay = group["lr"], group["momentum_decay"]
        beta1, beta2 = group["betas"]
        count = number_of(state["step"].add_(1), lr)
        momentum = beta1 * (1 - 0.5 * 0.96 ** (count * decay))
        momentum_next = beta1 * (1 - 0.5 * 0.96 ** ((count + 1) * decay))
        product = number_of(state["mu_product"].mul_(momentum), lr)
        numbers = (
            1 - beta1,
            beta2,
            1 - beta2,
            1 - beta2**count,
            group["eps"],
            lr * (1 - momentum) / (1 - product),
            lr * momentum_next / (1 - product * momentum_next),
        )
        return (state["exp_avg"], state["exp_avg_sq"]), numbers


def _step(F: Any, grad: Any, mean: Any, square: Any, param: Any, *numbers: Any) -> None:
    share, square_kept, square_share, correction, eps, grad_size, mean_size = numbers
    mean += (grad - mean) * share
    square *= square_kept
    square += grad * grad * square_share
    root = F.sqrt(square / correction) + eps
    param -= grad * grad_size / root
    param -= mean * mean_size / root
