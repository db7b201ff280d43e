"""Rprop: only the signs of gradients count, and each element has a step of its own."""

from __future__ import annotations

from typing import Any, ClassVar

from lamina.core.tensor import Tensor
from lamina.errors import OptimizerArgumentError
from lamina.ops.creation import full_like, zeros_like
from lamina.optim.elementwise import ElementwiseOptimizer, one_number
from lamina.optim.settings import check_lr
from lamina.optim.updates import Formula

__all__ = ["Rprop"]


class Rprop(ElementwiseOptimizer):
    """Steps by a size of each element's own, against the sign of its gradient.

    The size grows by `etas[1]` while the sign stays, and shrinks by `etas[0]` where it changed; an
    element whose sign changed does not move in that step.

    From Riedmiller and Braun, "A direct adaptive method for faster backpropagation learning: the
    RPROP algorithm" (1993).

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the size of the first step.
        etas: the factors by which a size shrinks and grows.
        step_sizes: the least and the greatest size.
        capturable: whether counts of steps are kept beside their parameter.
        foreach: accepted for compatibility.
        maximize: whether to climb instead.
        differentiable: whether the step itself is recorded for autograd.

    Raises:
        OptimizerArgumentError: If `lr` is negative, or not `0 < etas[0] < 1 < etas[1]`.

    Example:
        >>> import lamina
        >>> w = lamina.ones(2, requires_grad=True)
        >>> optimizer = lamina.optim.Rprop([w], lr=0.25)
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

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_lr(lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise OptimizerArgumentError(
                f"Invalid eta values: {etas[0]}, {etas[1]}",
                help=["the first shrinks and the second grows a step: (0.5, 1.2) is usual"],
            )
        defaults = {
            "lr": lr,
            "etas": etas,
            "step_sizes": step_sizes,
            "foreach": foreach,
            "maximize": maximize,
            "differentiable": differentiable,
            "capturable": capturable,
        }
        super().__init__(params, defaults)

    def _start(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        first = group["lr"]
        if param.is_complex():
            first = complex(first, first)
        return {
            "step": one_number(param, group),
            "prev": zeros_like(param),
            "step_size": full_like(param, first),
        }

    def _formula(self, group: dict[str, Any]) -> Formula:
        return _step

    def _given(
        self, state: dict[str, Any], group: dict[str, Any]
    ) -> tuple[tuple[Tensor, ...], tuple[Any, ...]]:
        state["step"].add_(1)
        return (state["prev"], state["step_size"]), (*group["etas"], *group["step_sizes"])


def _step(
    F: Any,
    grad: Any,
    before: Any,
    size: Any,
    param: Any,
    shrinking: Any,
    growing: Any,
    least: Any,
    most: Any,
) -> None:
    agreement = grad * before
    # An agreement of zero leaves the size as it is; NaN goes on.
    factor = F.where(agreement > 0, growing, F.where(agreement < 0, shrinking, agreement + 1))
    changed = size * factor
    changed = F.where(changed < least, least, changed)
    F.assign(size, F.where(changed > most, most, changed))
    grad = F.where(agreement < 0, 0.0, grad)
    param -= F.sign(grad) * size
    F.assign(before, grad)
