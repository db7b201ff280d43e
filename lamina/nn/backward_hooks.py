"""How a module's backward is watched: identity nodes around its inputs and its outputs.

The gradients of a module's inputs and outputs pass through no single node of the graph, so one is
put there: an identity `Function` with all tensor inputs of the call (or all its outputs) in one
node. When gradients reach the node at the outputs, the pre-hooks run; when they have passed the
node at the inputs, the hooks run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, final

from lamina.autograd import Function
from lamina.core.modes import is_grad_enabled
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.errors import HookResultInvalid

if TYPE_CHECKING:
    from lamina.nn.module import Module

__all__ = ["BackwardHookFunction", "BackwardObserver"]


@final
class BackwardHookFunction(Function):
    """The identity on any number of tensors, as one node of the graph."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> tuple[Tensor, ...]:
        """Return the tensors, marking those that need no gradient."""
        ctx.mark_non_differentiable(*[t for t in tensors if not t.requires_grad])
        return tensors

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> tuple[Any, ...]:
        """Return the gradients as they come."""
        return grads


def _through_one_node(values: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[int], Any]:
    """Pass the tensors among `values` through one node; return values, positions and the node."""
    positions = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not is_grad_enabled() or not any(values[i].requires_grad for i in positions):
        return values, positions, None
    passed = BackwardHookFunction.apply(*(values[i] for i in positions))
    renewed = list(values)
    for i, tensor in zip(positions, passed, strict=True):
        renewed[i] = tensor
    node = next(t.grad_fn for t in passed if t.grad_fn is not None)
    return tuple(renewed), positions, node


def _spread(found: Sequence[Any], positions: list[int], count: int) -> tuple[Any, ...]:
    """Put `found` at `positions` of a tuple of `count` entries, None elsewhere."""
    full: list[Any] = [None] * count
    for i, value in zip(positions, found, strict=True):
        full[i] = value
    return tuple(full)


def _replaced(kind: str, current: tuple[Any, ...], answer: Any) -> tuple[Any, ...]:
    """Return what a hook answered, checked, or `current` when it answered None."""
    if answer is None:
        return current
    answers = answer if isinstance(answer, tuple) else (answer,)
    if len(answers) != len(current):
        side = "grad_output" if kind == "Backward pre hook" else "grad_input"
        raise HookResultInvalid(
            f"{kind} returned an invalid number of {side}: {len(answers)} where "
            f"{len(current)} were passed to it"
        )
    return answers


@final
class BackwardObserver:
    """Runs a module's backward hooks for one call of the module."""

    def __init__(
        self,
        module: Module,
        hooks: Sequence[Callable[..., Any]],
        pre_hooks: Sequence[Callable[..., Any]],
    ) -> None:
        self.module = module
        self.hooks = hooks
        self.pre_hooks = pre_hooks
        self.grad_outputs: tuple[Any, ...] | None = None
        self.input_positions: list[int] | None = None
        self.input_count = 0
        self.output_positions: list[int] = []
        self.output_count = 0

    def watch_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return `args` with their tensors led through a node that reports to the hooks."""
        self.input_count = len(args)
        renewed, positions, node = _through_one_node(args)
        if node is not None:
            self.input_positions = positions
            node.register_hook(self._at_inputs)
        return renewed

    def watch_outputs(self, result: Any) -> Any:
        """Return `result` with its tensors led through a node that reports to the hooks."""
        if not isinstance(result, (Tensor, tuple)):
            warn(
                "backward hooks need a module whose output is a Tensor or a tuple of Tensors; "
                f"this one returned {type(result).__name__}, so they will not be called"
            )
            return result
        values = result if isinstance(result, tuple) else (result,)
        self.output_count = len(values)
        renewed, self.output_positions, node = _through_one_node(values)
        if node is not None:
            node.register_hook(self._at_outputs)
        return renewed if isinstance(result, tuple) else renewed[0]

    def _at_outputs(self, _: Any, grad_outputs: tuple[Any, ...]) -> tuple[Any, ...]:
        current = _spread(grad_outputs, self.output_positions, self.output_count)
        for pre_hook in self.pre_hooks:
            answer = pre_hook(self.module, current)
            current = _replaced("Backward pre hook", current, answer)
        self.grad_outputs = current
        if self.input_positions is None:
            self._run_hooks_without_inputs(current)
        return tuple(current[i] for i in self.output_positions)

    def _run_hooks_without_inputs(self, grad_outputs: tuple[Any, ...]) -> None:
        if self.hooks:
            warn(
                "Full backward hook is firing when gradients are computed with respect to module "
                "outputs, since no inputs require gradients"
            )
        grad_inputs = (None,) * self.input_count
        for hook in self.hooks:
            answer = hook(self.module, grad_inputs, grad_outputs)
            if answer is None or (isinstance(answer, tuple) and all(a is None for a in answer)):
                continue
            raise HookResultInvalid(
                "a backward hook returned a gradient for a module where no input requires "
                "gradient; it must return None"
            )
        self.grad_outputs = None

    def _at_inputs(self, grad_inputs: tuple[Any, ...], _: Any) -> tuple[Any, ...] | None:
        # Gradients can reach the inputs around the module's outputs (a tensor stored on the side):
        # then there is nothing to report.
        if self.grad_outputs is None or self.input_positions is None:
            return None
        current = _spread(grad_inputs, self.input_positions, self.input_count)
        for hook in self.hooks:
            answer = hook(self.module, current, self.grad_outputs)
            current = _replaced("Backward hook", current, answer)
        self.grad_outputs = None
        return tuple(current[i] for i in self.input_positions)
