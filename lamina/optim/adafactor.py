"""Adafactor: the mean squares of a matrix from those of its rows and columns."""

from __future__ import annotations

import math
from typing import Any

from lamina.core.tensor import Tensor
from lamina.errors import NotSupported, OptimizerArgumentError
from lamina.ops.creation import zeros_like
from lamina.ops.dtype_info import finfo
from lamina.optim.elementwise import number_of, one_number, smaller
from lamina.optim.optimizer import Optimizer
from lamina.optim.settings import check_lr

__all__ = ["Adafactor"]


class Adafactor(Optimizer):
    """Steps by the gradient, divided by the root of mean squares that take little memory.

    Of a matrix, only the mean squares `r` of its rows and `c` of its columns are kept:

        b = t**beta2_decay
        r = (1 - b) * r + b * mean(g**2, rows),  c = (1 - b) * c + b * mean(g**2, columns)
        v = r * c / max(mean(r), eps1)           (of a vector, v itself is kept)
        u = g / sqrt(max(v, eps1**2))
        w = (1 - lr * weight_decay) * w
        w = w - max(eps2, rms(w)) * min(lr, 1 / sqrt(t)) * u / max(1, rms(u) / d)

    From Shazeer and Stern, "Adafactor: adaptive learning rates with sublinear memory cost" (2018).

    Args:
        params: tensors, named tensors, or dicts that are groups.
        lr: the greatest relative size of a step.
        beta2_decay: the power of the step's number by which new squares count.
        eps: the least mean square (None for the dtype's precision), and the least size of a
            parameter that a step is relative to.
        d: how far the step may exceed its usual size before it is shortened.
        weight_decay: how fast weights decay, apart from the gradient.
        foreach: accepted for compatibility.
        maximize: whether to climb instead.

    Raises:
        OptimizerArgumentError: If a setting is out of its range.
        NotSupported: From `step`, for complex parameters.

    Example:
        >>> import lamina
        >>> w = lamina.ones(2, 2, requires_grad=True)
        >>> optimizer = lamina.optim.Adafactor([w], lr=0.25)
        >>> w.sum().backward()
        >>> optimizer.step()
        >>> w.detach()
        tensor([[0.7500, 0.7500],
                [0.7500, 0.7500]])
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_lr(lr, "Learning rate should be >= 0 but is: {}")
        for holds, name, wanted, value in (
            (beta2_decay <= 0, "beta2_decay", "<= 0", beta2_decay),
            (eps[0] is None or eps[0] >= 0, "epsilon1", ">= 0", eps[0]),
            (eps[1] >= 0, "epsilon2", ">= 0", eps[1]),
            (d >= 1, "Clipping threshold d", ">= 1", d),
            (weight_decay >= 0, "weight_decay", ">= 0", weight_decay),
        ):
            if not holds:
                raise OptimizerArgumentError(f"{name} should be {wanted} but is: {value}")
        defaults = {
            "lr": lr,
            "beta2_decay": beta2_decay,
            "eps": eps,
            "d": d,
            "weight_decay": weight_decay,
            "foreach": foreach,
            "maximize": maximize,
        }
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group.setdefault("foreach", None)

    def _start(self, param: Tensor, grad: Tensor) -> dict[str, Any]:
        if param.is_complex():
            raise NotSupported("Adafactor does not support complex parameters")
        state = {"step": one_number(param, {})}
        if grad.dim() < 2:
            return state | {"variance": zeros_like(grad)}
        *batch, rows, columns = grad.shape
        return state | {
            "row_var": grad.new_zeros([*batch, rows, 1]),
            "col_var": grad.new_zeros([*batch, 1, columns]),
        }

    def _update(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        state = self.state[param]
        if not state:
            state.update(self._start(param, grad))
        if group["maximize"]:
            grad = -grad
        lr = group["lr"]
        least, least_size = group["eps"]
        if least is None:
            least = finfo(param.dtype).eps
        count = number_of(state["step"].add_(1), lr)
        size = _root_mean_square(param).clamp(min=least_size)
        if group["weight_decay"] != 0:
            param.mul_(1 - lr * group["weight_decay"])
        squares = _mean_squares(state, grad, count ** group["beta2_decay"], least)
        change = grad * squares.clamp(min=least * least).rsqrt()
        excess = (_root_mean_square(change) / group["d"]).clamp(min=1.0)
        param.sub_(change * (size * smaller(1 / count**0.5, lr) / excess).to(dtype=param.dtype))


def _root_mean_square(values: Tensor) -> Tensor:
    return values.norm(2) / math.sqrt(values.numel())


def _mean_squares(state: dict[str, Any], grad: Tensor, share: Any, least: float) -> Tensor:
    """Take the squares of a gradient in; returns the mean square of each element."""
    squares = grad * grad
    if isinstance(share, Tensor):
        share = share.to(dtype=grad.dtype)
    if grad.dim() < 2:
        found: Tensor = state["variance"].lerp_(squares, share).clone()
        return found
    rows = state["row_var"].lerp_(squares.mean(-1, keepdim=True), share)
    columns = state["col_var"].lerp_(squares.mean(-2, keepdim=True), share)
    return (rows @ columns) / rows.mean(-2, keepdim=True).clamp(min=least)
