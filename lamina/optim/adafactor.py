"""Adafactor: the mean squares of a matrix from those of its rows and columns."""

from __future__ import annotations

import functools
from typing import Any, Final

import numpy as np

from lamina.codegen.fused import LEAST_FLAT, fused_from
from lamina.core.op import raw, traced
from lamina.core.positions import here
from lamina.core.tensor import Tensor, cell_of
from lamina.core.versions import bump_all
from lamina.errors import NotSupported, OptimizerArgumentError
from lamina.ops.creation import zeros_like
from lamina.ops.dtype_info import finfo
from lamina.optim.elementwise import number_of, one_number, smaller
from lamina.optim.optimizer import Optimizer
from lamina.optim.settings import check_lr
from lamina.optim.updates import own_arrays

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
        lr, decay = group["lr"], group["weight_decay"]
        least, least_size = group["eps"]
        if least is None:
            least = finfo(param.dtype).eps
        count = number_of(state["step"].add_(1), lr)
        share, size = count ** group["beta2_decay"], smaller(1 / count**0.5, lr)
        kept = 1 - lr * decay if decay else 1.0
        means = [state[name] for name in _MEANS if name in state]
        _step(grad, param, means, (share, size, kept), (least, least_size, group["d"]))
        if decay:  # which counts as a change of its own
            cell_of(param).bump(*here())


_MEANS: Final = ("variance", "row_var", "col_var")


def _step(
    grad: Tensor, param: Tensor, means: list[Tensor], numbers: tuple[Any, ...],
    settings: tuple[float, ...],
) -> None:  # fmt: skip
    """Write what `_stepped` gives over the mean squares and the parameter."""
    targets = [*means, param]
    arrays = own_arrays((grad,), (param,))
    is_known = not any(isinstance(number, Tensor) for number in numbers)
    if arrays is None or not is_known or not all(map(_is_own, means)):
        fitting = [_like(number, param) for number in numbers]
        found = _stepped(traced, grad, param, means, *fitting, *settings)
        for target, values in zip(targets, found, strict=True):
            target.copy_(values)
        return
    source, kind = arrays[0], arrays[0].dtype
    given = [np.array(number, kind) for number in numbers]  # a program is for all numbers
    with np.errstate(all="ignore"):
        found = _stepped_array(source, arrays[1], [m._array for m in means], *given, *settings)
    for target, values in zip(targets, found, strict=True):
        np.copyto(target._array, values)
    bump_all(map(cell_of, targets), *here())


def _is_own(tensor: Tensor) -> bool:
    """Whether a part of the state is an array that a step may write into."""
    array = tensor._array
    return array.__class__ is np.ndarray and bool(array.flags.carray) and tensor._view is None


def _like(number: Any, param: Tensor) -> Any:
    return number.to(dtype=param.dtype) if isinstance(number, Tensor) else number


def _stepped(
    F: Any, grad: Any, param: Any, means: list[Any], share: Any, size: Any, kept: Any,
    least: float, least_size: float, d: float,
) -> list[Any]:  # fmt: skip
    """The mean squares and the parameter after a step, of arrays or of tensors."""
    squares = grad * grad
    if len(means) == 1:
        means = [_moved(means[0], squares, share)]
        squares = means[0]
    else:
        rows = _moved(means[0], F.mean(squares, -1, True), share)
        columns = _moved(means[1], F.mean(squares, -2, True), share)
        means = [rows, columns]
        squares = rows * columns / F.clamp(F.mean(rows, -2, True), min=least)
    change = grad / F.sqrt(F.clamp(squares, min=least * least))
    excess = F.clamp(_root_mean_square(F, change) / d, min=1.0)
    length = F.clamp(_root_mean_square(F, param), min=least_size)
    return [*means, param * kept - change * (size * length / excess)]


def _moved(mean: Any, values: Any, share: Any) -> Any:
    return mean + (values - mean) * share


def _root_mean_square(F: Any, values: Any) -> Any:
    return F.sqrt(F.mean(values * values))


_stepped_array: Final[Any] = fused_from(LEAST_FLAT)(functools.partial(_stepped, raw))
"""A step has 30 operations: as one program it is quicker for small arrays too."""
