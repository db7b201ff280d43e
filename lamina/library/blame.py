"""Errors about operators: they show the declaration, the call, and the function that computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lamina import errors
from lamina.core import blame
from lamina.core.blame.words import short
from lamina.core.definitions import definition, returned
from lamina.library.schema import Argument, FunctionSchema

Notes = list[tuple[Any, str]]


def _call_note() -> Notes:
    return [(blame.this_place(), "called here")]


def _defined_note(function: Callable[..., Any] | None, words: str = "its kernel") -> Notes:
    place = None if function is None else definition(function)
    return [] if place is None else [(place, words)]


# --- arguments -----------------------------------------------------------------------------------


def too_many(schema: FunctionSchema, count: int) -> errors.OperatorCallError:
    """More arguments by position than the operator has."""
    help = []
    if schema.keyword_only:
        names = ", ".join(f"{argument.name}=" for argument in schema.keyword_only)
        help.append(f"give these by name: {names}")
    return errors.OperatorCallError(
        f"{schema.name}() takes {len(schema.positional)} positional argument(s) but {count} "
        f"was/were given. Declaration: {schema}",
        _call_note(),
        help,
    )


def missing(schema: FunctionSchema, argument: Argument) -> errors.OperatorCallError:
    """An argument without a default was not given."""
    return errors.OperatorCallError(
        f"{schema.name}() is missing value for argument '{argument.name}'. Declaration: {schema}",
        _call_note(),
        [f"give it: `{argument.name}=...`, a value of type {argument.type}"],
    )


def wrong_keyword(
    schema: FunctionSchema, kwargs: dict[str, Any], taken: Sequence[Argument]
) -> errors.OperatorCallError:
    """A keyword that the operator does not have, or an argument that was given twice."""
    known = {argument.name for argument in schema.arguments}
    unknown = next((name for name in kwargs if name not in known), None)
    if unknown is not None:
        headline = f"Unknown keyword argument '{unknown}' for operator '{schema.name}'"
    else:
        twice = next(argument.name for argument in taken if argument.name in kwargs)
        headline = f"Argument '{twice}' specified both as positional and keyword argument"
    return errors.OperatorCallError(f"{headline}. Schema: {schema}", _call_note())


def wrong_type(schema: FunctionSchema, argument: Argument, value: Any) -> errors.OperatorCallError:
    """A value of another type than declared."""
    position = schema.arguments.index(argument)
    return errors.OperatorCallError(
        f"{schema.name}() Expected a value of type '{argument.type}' for argument "
        f"'{argument.name}' but instead found type '{type(value).__name__}'. Declaration: "
        f"{schema}",
        [*_call_note(), (None, f"argument {position} is {short(repr(value))}")],
        _repairs(argument, value),
    )


def _repairs(argument: Argument, value: Any) -> list[str]:
    if argument.type.kind == "Tensor" and isinstance(value, int | float):
        return [f"make a tensor of it: `torch.tensor({value!r})`"]
    if argument.type.kind == "Tensor" and type(value).__name__ == "ndarray":
        return ["make a tensor of it: `torch.from_numpy(array)`"]
    if argument.type.is_list and not isinstance(value, list | tuple):
        return ["put it into a list: `[...]`"]
    return []


# --- results -------------------------------------------------------------------------------------


def wrong_result(
    schema: FunctionSchema, kernel: Callable[..., Any], value: Any, expected: str
) -> errors.OperatorResultError:
    """A kernel returned something that the declaration does not say."""
    found = type(value).__name__
    headline = f"Unable to cast {short(repr(value))} to {expected}"
    if not schema.returns:
        headline = (
            f"Expected the kernel of {schema.name} to return None but it returned something else "
            "instead"
        )
    return errors.OperatorResultError(
        f"{headline}: {schema.name} returned {found}. Declaration: {schema}",
        [(returned(kernel), "returned here"), *_call_note()],
        ["return what is declared, or declare what is returned"],
    )


def aliased_result(
    schema: FunctionSchema, kernel: Callable[..., Any], other: str
) -> errors.OperatorResultError:
    """A result of a kernel shares memory with an argument or another result."""
    return errors.OperatorResultError(
        f"{schema.name}: The output of this custom operator must not also be an input to this "
        "custom operator and may not alias any inputs to this custom operator or other returns: "
        f"it shares memory with {other}",
        [(returned(kernel), "returned here"), *_call_note()],
        ["return a copy: `.clone()`"],
    )


def other_than_fake(
    schema: FunctionSchema, kernel: Callable[..., Any], found: Any, layout: Any
) -> errors.OperatorResultError:
    """A kernel gave another shape or dtype than the fake function, when a program ran it."""
    return errors.OperatorResultError(
        f"{schema.name}: the fake impl says {layout.dtype}{list(layout.shape)}, but the kernel "
        f"returned {found._array.dtype}{list(found.shape)}",
        [(returned(kernel), "returned here"), *_call_note()],
        ["correct the function registered with `register_fake`"],
    )


def not_what_is_written(
    schema: FunctionSchema, kernel: Callable[..., Any], tag: str, wanted: str
) -> errors.OperatorResultError:
    """An operator with the tag `inplace` or `out` returned other tensors than those it changes."""
    return errors.OperatorResultError(
        f"{schema.name}: An operator tagged with torch.Tag.{tag} must return its {wanted}.",
        [(returned(kernel), "returned here"), *_call_note()],
        ["return the very tensor that was given"],
    )


# --- kernels and derivatives ---------------------------------------------------------------------


def no_kernel(schema: FunctionSchema, backend: str, known: list[str]) -> errors.NoOperatorKernel:
    """No kernel for the device of the arguments."""
    have = f"it has kernels for: {', '.join(known)}" if known else "it has no kernel at all"
    return errors.NoOperatorKernel(
        f"Could not run '{schema.name}' with arguments from the '{backend}' backend: {have}",
        _call_note(),
        [
            f'register one: `torch.library.impl("{schema.name}", "{backend.lower()}", function)`',
            'or one for all devices, made of PyTorch\'s operations: "default" in place of the '
            "device",
        ],
    )


def no_fake(schema: FunctionSchema, shown: str) -> errors.NoFakeKernel:
    """An operator defined with `custom_op` has nothing that tells shapes."""
    return errors.NoFakeKernel(
        f"There was no fake impl registered for {shown}: on the meta device, or while a program "
        "is captured, an operator must tell the shapes of its results",
        _call_note(),
        [f'register a function that does: `@torch.library.register_fake("{schema.name}")`'],
    )


def no_fake_kernel(schema: FunctionSchema) -> errors.NoOperatorKernel:
    """An operator defined in a library has nothing that tells shapes."""
    return errors.NoOperatorKernel(
        f"{schema.name}: attempted to run this operator with Meta tensors, but there was no fake "
        "impl or Meta kernel registered",
        _call_note(),
        [f'register a function that tells shapes: `torch.library.register_fake("{schema.name}")`'],
    )


def no_formula(name: str, node: Any, kernel: Any) -> errors.NoAutogradFormula:
    """A backward pass reached an operator without a derivative."""
    notes = [] if node is None else [(blame.node_place(node), "called here")]
    return errors.NoAutogradFormula(
        f"Trying to backward through {name} but no autograd formula was registered",
        [*notes, *_defined_note(kernel)],
        [
            "register one: `register_autograd(backward, setup_context=...)`",
            "or call it under `torch.no_grad()`",
        ],
    )


def wrong_structure(name: str, found: str, expected: str) -> errors.WrongNumberOfGradients:
    """A formula returned gradients in another nest than the arguments."""
    return errors.WrongNumberOfGradients(
        f"Expected the return from backward to be of the same structure as the inputs of {name}. "
        f"Got: {found} (return from backward), {expected} (inputs)",
        help=["return a list of gradients, with None where there is none, for a list of tensors"],
    )


def out_with_gradient(schema: FunctionSchema) -> errors.OutWithGrad:
    """An operator that writes into `out=` was given something that requires grad."""
    return errors.OutWithGrad(
        f"{schema.name}(): functions with out=... arguments don't support automatic "
        "differentiation, but one of the arguments requires grad.",
        _call_note(),
        ["call it under `torch.no_grad()`, or use an operator that returns a new tensor"],
    )


def no_forward_formula(schema: FunctionSchema) -> errors.NoAutogradFormula:
    """An operator met a tensor with a tangent."""
    return errors.NoAutogradFormula(
        f"{schema.name} has no formula for forward mode: custom operators have derivatives for "
        "backward passes alone",
        _call_note(),
        ["use reverse mode: `torch.func.vjp`, `torch.func.jacrev`, or `backward()`"],
    )


# --- registration --------------------------------------------------------------------------------


def not_functional(schema: FunctionSchema, shown: str) -> errors.InvalidArgument:
    """A derivative is registered for an operator that writes into its arguments."""
    return errors.InvalidArgument(
        f"Cannot register autograd formula for non-functional operator {shown} with schema "
        f"{schema}",
        help=["write an operator that returns new tensors, and register its formula"],
    )


def keyword_tensors(schema: FunctionSchema, what: str) -> errors.NotSupported:
    """A tensor that is given by name alone, where that is not allowed."""
    return errors.NotSupported(
        f"{what} with kwarg-only Tensor args: got {schema}",
        help=["move the tensors before the `*`"],
    )


def does_not_exist(qualname: str) -> errors.OperatorNotDefined:
    """Something is registered for an operator that nobody defined."""
    return errors.OperatorNotDefined(
        f"operator {qualname} does not exist",
        help=[f'define it first: `torch.library.define("{qualname}", "(Tensor x) -> Tensor")`'],
    )


def defined_twice(schema: FunctionSchema, before: Any) -> errors.OperatorNotDefined:
    """An operator has the name of one that exists."""
    notes: Notes = [(blame.this_place(), "defined again here")]
    if before is not None:
        notes.append((before, "defined here before"))
    return errors.OperatorNotDefined(
        f"Tried to register an operator ({schema}) with the same name and overload name multiple "
        "times",
        notes,
        ["give it another name, or define it with `custom_op`, which replaces the one before"],
    )


def missing_name(headline: str, *help: str) -> errors.MissingName:
    """There is no operator, or no overload, of that name."""
    return errors.MissingName(headline, _call_note(), help)
