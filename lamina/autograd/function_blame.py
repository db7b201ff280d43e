"""Errors about custom Functions: they show `forward`, `backward`, and the call."""

from __future__ import annotations

import inspect
from typing import Any

from lamina import errors
from lamina.core import blame
from lamina.core.definitions import definition, returned
from lamina.core.provenance import place_of

Notes = list[tuple[Any, str]]


def forward_note(cls: Any) -> tuple[Any, str]:
    """Where a Function's forward is defined."""
    return (definition(cls.forward), "its forward")


def _backward_of(node: Any) -> Any:
    cls = node._forward_cls
    return cls._chosen_backward()


def _arguments(cls: Any) -> list[str]:
    """The names of the arguments that `apply` takes."""
    try:
        names = list(inspect.signature(cls.forward).parameters)
    except (TypeError, ValueError):
        return []
    takes_ctx = "setup_context" not in vars(cls)
    return names[1:] if takes_ctx else names


def notes(node: Any, words: str = "returned here", count: int | None = None) -> Notes:
    """The return line of backward, the first line of forward, and the call."""
    return [
        (returned(_backward_of(node), count), words),
        (definition(node._forward_cls.forward), _forward_words(node)),
        (blame.node_place(node), "applied here"),
    ]


def _forward_words(node: Any) -> str:
    count = len(node.geometry)
    return f"{count} argument{'s' * (count != 1)}: {', '.join(_names(node))}"


def _names(node: Any) -> list[str]:
    count = len(node.geometry)
    names = _arguments(node._forward_cls)
    if len(names) != count:
        names = [f"argument {k}" for k in range(count)]
    return names


def cannot_save(index: int, value: Any) -> errors.SaveForBackwardMisuse:
    """`save_for_backward` was given something else than a tensor."""
    return errors.SaveForBackwardMisuse(
        f"save_for_backward can only save variables, but argument {index} is of type "
        f"{type(value).__name__}",
        [(blame.this_place(), "saved here")],
        ["keep other values as attributes: `ctx.n = n`"],
    )


def no_backward(cls: Any) -> errors.BackwardNotWritten:
    """A gradient is needed, and nobody wrote how to compute it."""
    return errors.BackwardNotWritten(
        "You must implement either the backward or vjp method for your custom autograd.Function "
        f"to use it with backward mode AD: {cls.__name__} has neither",
        [forward_note(cls)],
        ["write a static method `backward(ctx, gradient)`", "or call it under `torch.no_grad()`"],
    )


def wrong_number(node: Any, got: int) -> errors.WrongNumberOfGradients:
    """backward returned more or fewer gradients than forward has arguments."""
    expected = len(node.geometry)
    repair = [
        f"return one value for each argument of forward ({', '.join(_names(node))}), None where "
        "there is no gradient"
    ]
    place = returned(_backward_of(node), got)
    expression = place.expression if place is not None else ""
    if got < expected and expression.startswith("return "):
        expression = expression.removeprefix("return").strip()
        repair.insert(0, f"write `return {expression}{', None' * (expected - got)}`")
    return errors.WrongNumberOfGradients(
        f"function {node.name()} returned an incorrect number of gradients (expected {expected}, "
        f"got {got})",
        notes(node, f"{got} returned here", got),
        repair,
    )


def not_a_variable(node: Any, index: int) -> errors.WrongNumberOfGradients:
    """A gradient was returned for an argument that is no tensor."""
    return errors.WrongNumberOfGradients(
        f"function {node.name()} returned a gradient different than None at position {index + 1}, "
        f"but the corresponding forward input was not a Variable: `{_names(node)[index]}`",
        notes(node),
        [f"return None for `{_names(node)[index]}`"],
    )


def not_a_gradient(node: Any, value: Any) -> errors.InvalidGradient:
    """Something else than a tensor or None was returned."""
    return errors.InvalidGradient(
        f"expected Variable or None (got {type(value).__name__}): {node.name()} returned it as a "
        "gradient",
        notes(node),
        ["return tensors, and None for arguments without gradient"],
    )


def wrong_shape(node: Any, index: int, got: Any, expected: Any) -> errors.InvalidGradient:
    """A gradient's shape does not fit the argument that it belongs to."""
    return errors.InvalidGradient(
        f"Function {node.name()} returned an invalid gradient at index {index} - got {list(got)} "
        f"but expected shape compatible with {list(expected)}",
        notes(node),
        [f"the gradient of `{_names(node)[index]}` must have its shape, {list(expected)}"],
    )


def complex_for_real(node: Any, index: int) -> errors.InvalidGradient:
    """A complex gradient was returned for a real argument."""
    return errors.InvalidGradient(
        f"Function {node.name()} returned an invalid gradient at index {index} - complex, but "
        f"`{_names(node)[index]}` is real",
        notes(node),
        ["return the real part: `.real`"],
    )


def dirty_leaf(call: Any, tensor: Any) -> errors.LeafModified:
    """forward changed a leaf in place."""
    return errors.LeafModified(
        "a leaf Variable that requires grad has been used in an in-place operation: "
        f"{call.cls.__name__} changes an argument that would no longer be the leaf that collects "
        ".grad",
        [(place_of(*call.place), "applied here"), forward_note(call.cls)],
        ["give it a copy: `x.clone()`", "or change the values under `with torch.no_grad():`"],
    )


def dirty_not_returned(call: Any, tensor: Any) -> errors.ContextMisuse:
    """An input was marked dirty and is not among the outputs."""
    return errors.ContextMisuse(
        "Some elements marked as dirty during the forward method were not returned as output. "
        "The inputs that are modified inplace must all be outputs of the Function.",
        [(returned(call.cls.forward), "not among what is returned here"),
         (place_of(*call.place), "applied here")],
        ["return the very tensor that was marked dirty"],
    )  # fmt: skip


def dirty_view_of_many(call: Any, tensor: Any) -> errors.ContextMisuse:
    """A view was changed in place by a Function with several outputs."""
    return errors.ContextMisuse(
        "If your Function modifies inplace an input that is a view of another Tensor, your "
        "Function cannot return more than one Tensor. This is not supported by the current "
        "autograd engine.",
        [(place_of(*call.place), "applied here"), forward_note(call.cls)],
        ["give it a copy: `x.clone()`", "or return only the changed tensor"],
    )


def differentiated_twice(function: Any) -> errors.OnceDifferentiable:
    """The result of a once differentiable backward was differentiated."""
    return errors.OnceDifferentiable(
        "trying to differentiate twice a function that was marked with @once_differentiable",
        [
            (definition(function), "marked here"),
            (blame.this_place(), "second derivative asked for here"),
        ],
        ["write backward with differentiable operations, and leave out @once_differentiable"],
    )
