"""L-BFGS: Newton's direction, estimated from the last gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lamina.core.modes import enable_grad, no_grad
from lamina.core.tensor import Tensor
from lamina.errors import NotSupported, OptimizerArgumentError
from lamina.ops.complex_numbers import view_as_real
from lamina.ops.creation import zeros_like
from lamina.ops.joining import cat
from lamina.optim.line_search import Point, strong_wolfe
from lamina.optim.optimizer import Optimizer
from lamina.optim.settings import check_lr

__all__ = ["LBFGS"]

_LEAST_CURVATURE: Final = 1e-10
_REMEMBERED: Final = (
    "d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad", "prev_loss",
)  # fmt: skip


class LBFGS(Optimizer):
    """Steps in Newton's direction, with curvature estimated from the last steps and gradients.

    A step makes several iterations, each of which may evaluate the loss several times; so it needs
    a closure. From Nocedal, "Updating quasi-Newton matrices with limited storage" (1980); the
    direction by the two loops of Nocedal and Wright, "Numerical optimization", algorithm 7.4.

    Args:
        params: tensors or named tensors, in one group.
        lr: the length of a step, or the first that the line search tries.
        max_iter: the most iterations in a step.
        max_eval: the most evaluations of the loss in a step; `max_iter * 5 // 4` for None.
        tolerance_grad: with no element of the gradient larger than this, it is done.
        tolerance_change: when steps or losses change by less than this, it is done.
        history_size: how many steps are remembered; each takes twice the memory of the parameters.
        line_search_fn: None, or "strong_wolfe".

    Raises:
        OptimizerArgumentError: If `lr` is negative, or there are several groups.
        NotSupported: From `step`, if `line_search_fn` is another name.

    Example:
        >>> import lamina
        >>> w = lamina.tensor([3.0, -4.0], requires_grad=True)
        >>> optimizer = lamina.optim.LBFGS([w], line_search_fn="strong_wolfe")
        >>> def closure():
        ...     optimizer.zero_grad()
        ...     loss = (w**2).sum()
        ...     loss.backward()
        ...     return loss
        >>> optimizer.step(closure).item()
        25.0
        >>> (w**2).sum().item() < 1e-6
        True
    """

    def __init__(
        self,
        params: Any,
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_lr(lr)
        defaults = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, defaults)
        if len(self.param_groups) != 1:
            raise OptimizerArgumentError(
                "LBFGS doesn't support per-parameter options (parameter groups)",
                help=["pass all parameters in one list: the direction is one for all of them"],
            )

    def step(self, closure: Callable[[], Any]) -> Any:
        """Make up to `max_iter` iterations.

        Args:
            closure: clears the gradients, computes the loss and its gradients, returns the loss.

        Returns:
            What the closure returned the first time.
        """
        with no_grad():
            return self._iterate(enable_grad()(closure))

    def _iterate(self, closure: Callable[[], Any]) -> Any:
        group = self.param_groups[0]
        state = self.state[group["params"][0]]  # the first stands for all: saving casts its state
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = closure()
        point = Point(0, float(first_loss), self._gradient(), None)
        state["func_evals"] += 1
        if point.grad.abs().max() <= group["tolerance_grad"]:
            return first_loss
        memory = {name: state.get(name) for name in _REMEMBERED}
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            _turn(state, memory, point, group["history_size"])
            lr = group["lr"]
            if state["n_iter"] == 1:
                lr = min(1.0, 1.0 / point.grad.abs().sum()) * lr
            memory["t"] = lr
            slope = point.grad.dot(memory["d"])
            if slope > -group["tolerance_change"]:
                break
            before = point._replace(step=0, slope=slope)
            point, more = self._moved(closure, memory, before, group, evaluations, iteration)
            evaluations += more
            state["func_evals"] += more
            if evaluations >= group["max_eval"] or _is_done(point, memory, group):
                break
        state.update(memory)
        return first_loss

    def _moved(
        self,
        closure: Callable[[], Any],
        memory: dict[str, Any],
        before: Point,
        group: dict[str, Any],
        evaluations: int,
        iteration: int,
    ) -> tuple[Point, int]:
        """Move along the direction; returns where to, and how often the loss was computed."""
        direction, step = memory["d"], memory["t"]
        if group["line_search_fn"] is None:
            self._move(direction, step)
            if iteration == group["max_iter"]:
                return before, 0  # what is there is computed in the next step, on its own data
            return Point(step, float(closure()), self._gradient(), None), 1
        if group["line_search_fn"] != "strong_wolfe":
            raise NotSupported("only 'strong_wolfe' is supported")
        origin = [param.clone() for param in group["params"]]

        def evaluate(step: Any) -> Point:
            self._move(direction, step)
            loss, grad = float(closure()), self._gradient()
            for param, value in zip(group["params"], origin, strict=True):
                param.copy_(value)
            return Point(step, loss, grad, grad.dot(direction))

        size, most = direction.abs().max(), group["max_eval"] - evaluations
        point, count = strong_wolfe(evaluate, step, before, size, most)
        memory["t"] = point.step
        self._move(direction, point.step)
        return point, count

    def _gradient(self) -> Tensor:
        """The gradients of all parameters in one row; zeros where there is none."""
        parts = []
        for param in self.param_groups[0]["params"]:
            grad = zeros_like(param) if param.grad is None else param.grad
            parts.append((view_as_real(grad) if grad.is_complex() else grad).reshape(-1))
        return cat(parts, 0)

    def _move(self, direction: Tensor, step: Any) -> None:
        """Add a multiple of the direction to the parameters."""
        start = 0
        for param in self.param_groups[0]["params"]:
            target = view_as_real(param) if param.is_complex() else param
            part = direction[start : start + target.numel()].view_as(target)
            target.add_(part, alpha=step)
            start += target.numel()


def _turn(state: dict[str, Any], memory: dict[str, Any], point: Point, history_size: int) -> None:
    """Find the next direction, with what the last step has taught."""
    grad = point.grad
    if state["n_iter"] == 1:
        memory.update(d=grad.neg(), old_dirs=[], old_stps=[], ro=[], H_diag=1)
    else:
        _learn(memory, grad, history_size)
        memory["d"] = _newton_direction(state, memory, grad, history_size)
    memory.update(prev_flat_grad=grad.clone(), prev_loss=point.loss)


def _learn(memory: dict[str, Any], grad: Tensor, history_size: int) -> None:
    """Remember the last step and how the gradient changed, if the loss is convex there."""
    change, step = grad - memory["prev_flat_grad"], memory["d"] * memory["t"]
    curvature = change.dot(step)
    if curvature > _LEAST_CURVATURE:
        for name, value in (("old_dirs", change), ("old_stps", step), ("ro", 1.0 / curvature)):
            if len(memory[name]) == history_size:
                memory[name].pop(0)
            memory[name].append(value)
        memory["H_diag"] = curvature / change.dot(change)


def _newton_direction(
    state: dict[str, Any], memory: dict[str, Any], grad: Tensor, history_size: int
) -> Tensor:
    """The inverse Hessian, as far as it is remembered, times the negative gradient."""
    past = list(zip(memory["old_dirs"], memory["old_stps"], memory["ro"], strict=True))
    shares = state.setdefault("al", [None] * history_size)
    direction = grad.neg()
    for k, (change, step, weight) in reversed(list(enumerate(past))):
        shares[k] = step.dot(direction) * weight
        direction = direction - change * shares[k]
    direction = direction * memory["H_diag"]
    for k, (change, step, weight) in enumerate(past):
        direction = direction + step * (shares[k] - change.dot(direction) * weight)
    return direction


def _is_done(point: Point, memory: dict[str, Any], group: dict[str, Any]) -> bool:
    """Whether the gradient vanishes, or the last iteration changed nothing to speak of."""
    least = group["tolerance_change"]
    return bool(
        point.grad.abs().max() <= group["tolerance_grad"]
        or (memory["d"] * memory["t"]).abs().max() <= least
        or abs(point.loss - memory["prev_loss"]) < least
    )
