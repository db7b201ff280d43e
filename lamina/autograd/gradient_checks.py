"""`gradcheck`: compares the gradients of a function with differences of its values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from lamina import errors
from lamina.autograd.backward import grad
from lamina.autograd.function import Function
from lamina.autograd.jacobians import (
    analytical_jacobians,
    host,
    listed,
    numerical_jacobians,
    outputs_of,
)
from lamina.core import blame
from lamina.core.definitions import definition, is_internal
from lamina.core.tensor import Tensor, wrap
from lamina.core.warning import warn
from lamina.devices import backend_of
from lamina.errors import Note

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]

GradcheckError = errors.GradcheckFailed

Tensors = Tensor | Sequence[Any]


class Settings(NamedTuple):
    """How to compare."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    fast_mode: bool


def gradcheck(
    func: Callable[..., Any],
    inputs: Tensors,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Whether the gradients of `func` agree with finite differences at `inputs`.

    Use float64 inputs: the differences of float32 numbers are too coarse.

    Args:
        func: Takes the inputs and returns a tensor or several.
        inputs: A tensor or several; those that require grad are checked.
        eps: The step of the differences.
        atol, rtol: What may differ: `atol + rtol * abs(numerical)`.
        raise_exception: Raise GradcheckError instead of returning False.
        nondet_tol: By how much two runs of the same backward pass may differ.
        check_undefined_grad: Also check that a missing output gradient is taken for zero.
        check_grad_dtypes: Also check that gradients have their inputs' dtypes.
        fast_mode: Compare one random projection instead of every entry.

    >>> import lamina
    >>> x = lamina.tensor([0.5, 2.0], dtype=lamina.float64, requires_grad=True)
    >>> lamina.autograd.gradcheck(lambda x: x * x, x)
    True
    """
    settings = Settings(eps, atol, rtol, nondet_tol, fast_mode)
    arguments = listed(inputs)
    try:
        checked = _checked_inputs(arguments)
        outputs = outputs_of(func, arguments)
        if not any(output.requires_grad for output in outputs):
            _check_constant(func, arguments, checked, settings)
            return True
        _check_against_differences(func, arguments, checked, outputs, settings)
        if check_grad_dtypes:
            _check_dtypes(func, checked, outputs)
        if check_undefined_grad:
            _check_undefined(func, arguments, checked)
    except errors.GradcheckFailed:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensors,
    grad_outputs: Tensors | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether second derivatives of `func` agree with finite differences of its gradients.

    The gradient is checked as a function of the inputs and of `grad_outputs` (random if not given).
    Other arguments are those of `gradcheck`.
    """
    arguments = listed(inputs)
    if grad_outputs is None:
        weights = [
            _random_like(output, gen_non_contig_grad_outputs)
            for output in outputs_of(func, arguments)
        ]
    else:
        weights = listed(grad_outputs)
    count = len(weights)
    checked = [k for k, a in enumerate(arguments) if isinstance(a, Tensor) and a.requires_grad]

    def gradient(*values: Any) -> Any:
        given, cotangents = list(values[:-count]), values[-count:]
        # Different tensors, so that an argument that is returned as it is has a gradient too.
        given = [v.view_as(v) if k in checked else v for k, v in enumerate(given)]
        outputs = outputs_of(func, given)
        return grad(
            outputs, [given[k] for k in checked], cotangents, create_graph=True, allow_unused=True
        )

    def without_none(*values: Any) -> Any:
        return tuple(g for g in gradient(*values) if g is not None)

    return gradcheck(
        without_none,
        (*arguments, *weights),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        fast_mode=fast_mode,
    )


# --- inputs ------------------------------------------------------------------------------


def _checked_inputs(arguments: list[Any]) -> list[Tensor]:
    """The inputs whose gradients are checked."""
    checked = []
    for index, argument in enumerate(arguments):
        if not isinstance(argument, Tensor) or not argument.requires_grad:
            continue
        if argument.dtype.name not in ("float64", "complex128"):
            warn(
                f"Input #{index} requires gradient and is not a double precision floating point or "
                "complex. This check will likely fail if all the inputs are not of double "
                "precision floating point or complex."
            )
        array = argument._array
        if any(s == 0 and n > 1 for s, n in zip(array.strides, array.shape, strict=True)):
            raise errors.OverlappingWrite(
                f"The {index}th input has a dimension with stride 0. gradcheck only supports "
                "inputs that are non-overlapping to be able to compute the numerical gradients "
                "correctly.",
                [(blame.this_place(), "checked here")],
                ["call .contiguous() on the input before passing it to gradcheck"],
            )
        checked.append(argument)
    if not checked:
        raise errors.InvalidValue(
            "gradcheck expects at least one input tensor to require gradient, but none of the them "
            "have requires_grad=True.",
            [(blame.this_place(), "checked here")],
            ["make the inputs with requires_grad=True"],
        )
    return checked


def _random_like(tensor: Tensor, strided: bool) -> Tensor:
    random = np.random.default_rng(0)
    shape = (*tensor.shape, 2) if strided else tuple(tensor.shape)
    array = random.standard_normal(shape)
    if tensor.dtype.is_complex:
        array = array + 1j * random.standard_normal(shape)
    array = np.asarray(array, tensor.dtype.numpy)
    made = wrap(backend_of(tensor.device).from_host(array), None)
    made = wrap(made._array[..., 0], None) if strided else made
    made.requires_grad = True
    return made


def _check_against_differences(
    func: Callable[..., Any], arguments: list[Any], checked: list[Tensor],
    outputs: list[Tensor], settings: Settings,
) -> None:  # fmt: skip
    differences = [numerical_jacobians(func, arguments, given, settings.eps) for given in checked]
    for i, output in enumerate(outputs):
        gradients = analytical_jacobians(output, checked)
        again = analytical_jacobians(output, checked)
        for k, given in enumerate(checked):
            _compare(func, differences[k][i], gradients[k], (i, output, k, given), settings)
            if gradients[k].size and abs(gradients[k] - again[k]).max() > settings.nondet_tol:
                raise errors.GradcheckFailed(
                    "Backward is not reentrant, i.e., running backward with same input and "
                    "grad_output multiple times gives different values, although analytical "
                    "gradient matches numerical gradient: they differ by up to "
                    f"{abs(gradients[k] - again[k]).max():.3g} for input {k}",
                    _defined(func),
                    ["set nondet_tol if its derivative is not deterministic"],
                )


def _compare(
    func: Callable[..., Any],
    numerical: Any,
    analytical: Any,
    where: tuple[Any, ...],
    settings: Settings,
) -> None:
    if settings.fast_mode:
        random = np.random.default_rng(0)
        rows, columns = (random.standard_normal(n) for n in numerical.shape)
        numerical, analytical = (np.array([[rows @ m @ columns]]) for m in (numerical, analytical))
    allowed = settings.atol + settings.rtol * abs(numerical)
    with np.errstate(invalid="ignore"):
        excess = abs(analytical - numerical) - allowed
    is_same = (excess <= 0) | (analytical == numerical)
    is_same |= np.isnan(analytical) & np.isnan(numerical)
    if not is_same.all():
        worst = np.where(is_same, -np.inf, np.nan_to_num(excess, nan=np.inf))
        row, column = np.unravel_index(int(np.argmax(worst)), worst.shape)
        raise _mismatch(func, numerical, analytical, (int(row), int(column)), where, settings)


def _mismatch(
    func: Callable[..., Any], numerical: Any, analytical: Any, at: tuple[int, int],
    where: tuple[Any, ...], settings: Settings,
) -> errors.GradcheckFailed:  # fmt: skip
    i, output, k, given = where
    count = int(
        (abs(analytical - numerical) > settings.atol + settings.rtol * abs(numerical)).sum()
    )
    entry = (
        "along a random direction"
        if settings.fast_mode
        else f"d output{_element(output, at[0])} / d input{_element(given, at[1])}"
    )
    help = ["check the derivative of that entry; the function is right only where it is smooth"]
    if given.dtype.name not in ("float64", "complex128"):
        help.insert(
            0, f"the input is {given.dtype}: use torch.float64, differences need its precision"
        )
    return errors.GradcheckFailed(
        f"Jacobian mismatch for output {i} with respect to input {k}: the worst of {count} wrong "
        f"entries is {entry}, numerical:{numerical[at]:.6g} analytical:{analytical[at]:.6g}",
        [*_defined(func), (blame.this_place(), "checked here")],
        help,
    )


def _defined(func: Callable[..., Any]) -> list[Note]:
    """Where the function is written, if that is in the user's program."""
    owner = getattr(func, "__self__", None)  # a custom Function, if it is its `apply`
    found = getattr(owner, "backward", func) if isinstance(owner, type) else func
    place = definition(found)
    known = place is not None and not is_internal(found)
    return [(place, "the function" if found is func else "its derivative")] if known else []


def _element(tensor: Tensor, number: int) -> str:
    """The index of a tensor's n-th real number."""
    part = ""
    if tensor.dtype.is_complex:
        number, is_imaginary = divmod(number, 2)
        part = ".imag" if is_imaginary else ".real"
    index = np.unravel_index(number, tensor._array.shape) if tensor.ndim else ()
    return f"[{', '.join(str(int(k)) for k in index)}]{part}" if index else part


# --- further checks -------------------------------------------------------------------------------


def _check_constant(
    func: Callable[..., Any], arguments: list[Any], checked: list[Tensor], settings: Settings
) -> None:
    """A function without differentiable outputs must not depend on its inputs."""
    for k, given in enumerate(checked):
        for matrix in numerical_jacobians(func, arguments, given, settings.eps):
            if matrix.size and abs(matrix).max() > settings.atol:
                raise errors.GradcheckFailed(
                    "Numerical gradient for function expected to be zero, since no output requires "
                    f"grad, but that by input {k} is not",
                    _defined(func),
                    ["do not cut the graph inside the function: detach(), .data, no_grad, NumPy"],
                )


def _check_dtypes(func: Callable[..., Any], checked: list[Tensor], outputs: list[Tensor]) -> None:
    for output in outputs:
        seed = wrap(np.ones_like(output._array), None)
        for k, gradient in enumerate(
            grad(output, checked, seed, retain_graph=True, allow_unused=True)
        ):
            if gradient is not None and gradient.dtype is not checked[k].dtype:
                raise errors.GradcheckFailed(
                    f"Gradient of input {k} has dtype {gradient.dtype} instead of "
                    f"{checked[k].dtype}",
                    _defined(func),
                )


class _WithoutGradient(Function):
    """Passes values on, and no gradient back."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        return tuple(tensor.clone() for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return (None,) * len(gradients)


def _check_undefined(func: Callable[..., Any], arguments: list[Any], checked: list[Tensor]) -> None:
    """A gradient that does not arrive at an output must count as zero."""
    outputs = _WithoutGradient.apply(*outputs_of(func, arguments))
    seeds = [wrap(np.ones_like(output._array), None) for output in outputs]
    try:
        found = grad(outputs, checked, seeds, allow_unused=True)
    except RuntimeError as error:
        raise errors.GradcheckFailed(
            "Expected backward function to handle undefined output grads: it failed with "
            f"{type(error).__name__}: {str(error).partition(chr(10))[0]}",
            _defined(func),
            ["let backward take None for a gradient, or leave set_materialize_grads as it is"],
        ) from error
    for k, gradient in enumerate(found):
        if gradient is not None and np.any(host(gradient) != 0):
            raise errors.GradcheckFailed(
                "Expected all input grads to be undefined or zero when all output grads are "
                f"undefined or zero: that of input {k} is not",
                _defined(func),
            )
