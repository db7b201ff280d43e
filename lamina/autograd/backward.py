"""`backward` and `grad`: checks on what the user asked, then one run of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from lamina import errors
from lamina.autograd.edges import GradientEdge, standing_for
from lamina.codegen.later import Later
from lamina.core import blame
from lamina.core.engine import free_graph, run_backward
from lamina.core.op import traced
from lamina.core.positions import here
from lamina.core.tensor import Tensor
from lamina.core.views import inherits_flag
from lamina.core.warning import warn

if TYPE_CHECKING:
    from lamina.func import mapping
else:
    mapping = Later("lamina.func.mapping")


def _listed(value: Any) -> list[Any]:
    is_one = isinstance(value, GradientEdge) or not isinstance(value, tuple | list)
    return [value] if is_one else list(value)


def _tensors(value: Any) -> list[Tensor]:
    """The roots or inputs of a pass, as tensors."""
    if value.__class__ is Tensor:
        return [value]
    return [standing_for(item) for item in _listed(value)]


def _is_computed_number(root: Tensor) -> bool:
    """Whether a root is what it most often is, a loss (0.5 us less than to ask all of it)."""
    array = root._array
    has_graph = root._node is not None and root._requires_grad and root._view is None
    return has_graph and array.size == 1 and array.dtype.kind == "f"


def _root_gradients(roots: list[Tensor], given: Any) -> list[Tensor | None]:
    """A gradient for each root: what the user gave, or None, which stands for one, for a scalar."""
    if given is None and len(roots) == 1 and _is_computed_number(roots[0]):
        return [None]
    gradients = [None] * len(roots) if given is None else _listed(given)
    if len(gradients) != len(roots):
        raise errors.GradShapeMismatch(
            f"got {len(roots)} tensors and {len(gradients)} gradients",
            help=["give one gradient for each tensor, or None for scalars"],
        )
    found: list[Tensor | None] = []
    for index, (root, gradient) in enumerate(zip(roots, gradients, strict=True)):
        if gradient is None:
            array = root._array
            if not root.requires_grad:
                raise blame.no_graph(index, root)
            if array.size != 1 or array.dtype.kind == "c":
                raise blame.non_scalar_root(root)
            if root._node is None and root.grad_fn is None and inherits_flag(root):
                raise blame.no_graph(index, root)
        else:
            blame.check_root_gradient(index, root, gradient)
            if not root.requires_grad or (root.grad_fn is None and inherits_flag(root)):
                raise blame.no_graph(index, root)
            if gradient.device is not root.device:  # only a number can be elsewhere
                gradient = gradient.to(root.device)
            if gradient._array.dtype != root._array.dtype:
                gradient = traced.cast_like_input(gradient, root._array.dtype)
        found.append(gradient)
    return found


def backward_of(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Sequence[Tensor] | Tensor | None = None,
) -> None:
    """Compute the gradients of this tensor and add them to the `.grad` of the leaves behind it.

    Args:
        gradient: What to weigh the elements with; only a single number needs none.
        retain_graph: Keep the graph's values for another pass (default: `create_graph`).
        create_graph: Record the pass itself, so that gradients can be differentiated again.
        inputs: Add gradients to these tensors only; they may also be computed ones.

    >>> import lamina
    >>> x = lamina.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def backward(
    tensors: Tensor | Sequence[Tensor],
    grad_tensors: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Sequence[Tensor] | Tensor | None = None,
) -> None:
    """Sum the gradients of several tensors into the `.grad` of the leaves behind them."""
    roots = _tensors(tensors)
    if inputs is not None:
        inputs = _tensors(inputs)
        if not inputs:
            raise errors.InvalidArgument(
                "'inputs' argument to backward() cannot be empty.",
                help=["name the tensors, or leave the argument out to reach all leaves"],
            )
    given = grad_tensors if grad_tensors is not None else grad_variables
    gradients = _root_gradients(roots, given)
    _check_targets(inputs or ())
    if create_graph:
        warn(
            errors.CreateGraphWarning(
                "Using backward() with create_graph=True will create a reference cycle between the "
                "parameter and its gradient, which keeps both until a garbage collection",
                [(blame.this_place(), "asked for here")],
                help=["use torch.autograd.grad, or set .grad to None afterwards"],
            )
        )
    run_backward(
        roots,
        gradients,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        inputs=inputs,
    )


def grad(
    outputs: Tensor | Sequence[Tensor],
    inputs: Tensor | Sequence[Tensor],
    grad_outputs: Tensor | Sequence[Tensor | None] | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of outputs with respect to inputs, returned; no `.grad` is touched.

    Raises `UnusedInput` for an input that the outputs don't depend on, unless `allow_unused` (then
    its gradient is None) or `materialize_grads` (zeros).

    >>> import lamina
    >>> x = lamina.tensor(2.0, requires_grad=True)
    >>> lamina.autograd.grad(x**3, x)
    (tensor(12.),)
    """
    roots, targets = _tensors(outputs), _tensors(inputs)
    if not targets:
        raise errors.InvalidArgument("`inputs` argument to `grad()` cannot be empty.")
    if materialize_grads and allow_unused is False:
        raise errors.InvalidValue(
            "Expected allow_unused to be True or not passed when materialize_grads=True, "
            "but got: allow_unused=False."
        )
    if is_grads_batched:
        return _batched(
            roots, targets, grad_outputs, retain_graph, create_graph, allow_unused,
            materialize_grads,
        )  # fmt: skip
    gradients = _root_gradients(roots, grad_outputs)
    _check_targets(targets)
    found = run_backward(
        roots,
        gradients,
        retain_graph=create_graph if retain_graph is None else retain_graph,
        create_graph=create_graph,
        inputs=targets,
        accumulate=False,
    )
    place = here()
    for position, gradient in enumerate(found):
        targets[position].__dict__["returned_at"] = place
        if gradient is None:
            if materialize_grads:
                found[position] = traced.zeros_like(targets[position])
            elif not allow_unused:
                raise blame.unused_input(position, targets[position], roots)
    return tuple(found)


def _check_targets(targets: Sequence[Tensor]) -> None:
    """Raise unless gradients can be wanted for all targets."""
    for tensor in targets:
        if not tensor.requires_grad:
            raise blame.input_without_grad(tensor)


def _batched(
    roots: list[Tensor], targets: list[Tensor], grad_outputs: Any, retain_graph: bool | None,
    create_graph: bool, allow_unused: bool | None, materialize_grads: bool,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    """One pass for all entries along the first dimension of the gradients."""
    batches = _listed(grad_outputs)
    _check_batches(roots, batches)
    reached: list[bool] = []

    def one_pass(*weights: Tensor) -> tuple[Tensor, ...]:
        found = grad(
            roots, targets, weights, retain_graph=True, create_graph=create_graph,
            allow_unused=allow_unused or materialize_grads,
        )  # fmt: skip
        reached[:] = [gradient is not None for gradient in found]
        return tuple([gradient for gradient in found if gradient is not None])

    found = iter(mapping.vmap(one_pass, randomness="same")(*batches))
    if not (create_graph if retain_graph is None else retain_graph):
        free_graph(roots, targets, here())
    missing = traced.zeros_like if materialize_grads else lambda _: None
    return tuple(
        [next(found) if has else missing(t) for has, t in zip(reached, targets, strict=True)]
    )


def _check_batches(roots: list[Tensor], batches: list[Any]) -> None:
    """Raise unless each gradient is a batch of tensors like its root."""
    if len(batches) != len(roots):
        raise errors.GradShapeMismatch(
            f"got {len(roots)} tensors and {len(batches)} gradients",
            help=["give one batch of gradients for each tensor"],
        )
    for index, (root, batch) in enumerate(zip(roots, batches, strict=True)):
        if isinstance(batch, Tensor) and batch.ndim and batch.shape[1:] != root.shape:
            raise errors.GradShapeMismatch(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output "
                "as the batch dimension. The sizes of the remaining dimensions are expected to "
                f"match the shape of corresponding output, but a mismatch was detected: "
                f"grad_output[{index}] has a shape of {batch.shape} and output[{index}] has a "
                f"shape of {root.shape}.",
                [(blame.this_place(), "asked for here"), *blame.made_note(batch, "made here")],
            )
