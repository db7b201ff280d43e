"""Functions that register derivatives, kernels and rules for operators, by name or object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from lamina import errors
from lamina.core.warning import warn
from lamina.library import blame, registry
from lamina.library.custom import CustomOpDef, definitions, set_autocast, set_formula
from lamina.library.libraries import Library, impl
from lamina.library.operators import OpOverload
from lamina.library.registry import Formula, Operator

__all__ = [
    "get_ctx",
    "impl_abstract",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

Kernel = Callable[..., Any]
AnyOperator = str | OpOverload | CustomOpDef


def _qualname(op: Any, what: str) -> str:
    """The name of an operator that is given by name or as an object."""
    if isinstance(op, CustomOpDef):
        return op._qualname
    if isinstance(op, OpOverload):
        return op.name()
    if not isinstance(op, str):
        raise errors.InvalidValue(
            f"{what}({op}): got unexpected type for op: {type(op)}",
            help=['give its name, "namespace::name", or what `custom_op` returned'],
        )
    return op


def _existing(op: Any, what: str) -> Operator:
    """The operator, which must exist; an AttributeError if not, as for `torch.ops`."""
    qualname = _qualname(op, what)
    namespace, name, overload = registry.parse_qualname(qualname)
    found = registry.overloads(namespace, name).get(overload)
    if found is None:
        raise blame.missing_name(
            f"'_OpNamespace' '{namespace}' object has no attribute '{name}'",
            f"operator {qualname} does not exist: define it before {what}",
        )
    return found


def register_fake(
    op: AnyOperator, func: Kernel | None = None, /, *, lib: Library | None = None,
    _stacklevel: int = 1, allow_override: bool = True,
) -> Any:  # fmt: skip
    """Have a function tell the shapes of an operator's results: see `CustomOpDef.register_fake`.

    A decorator if called without a function.

    Raises:
        OperatorNotDefined: (RuntimeError) There is no such operator, or it has such a function and
            `allow_override` is False.
    """
    qualname = _qualname(op, "register_fake")

    def register(function: Kernel) -> Kernel:
        namespace, name, overload = registry.parse_qualname(qualname)
        if registry.was_refused(namespace) and overload not in registry.overloads(namespace, name):
            return function  # a rule for an operator that only PyTorch could load: torchvision's
        operator = registry.operator(qualname)
        if qualname in definitions:
            return definitions[qualname].register_fake(function)
        if operator.fake is not None and not allow_override:
            raise errors.OperatorNotDefined(
                f"register_fake(...): the operator {qualname} already has an fake impl registered"
            )
        operator.fake = function
        return function

    return register if func is None else register(func)


def impl_abstract(
    qualname: str, func: Kernel | None = None, *, lib: Library | None = None, _stacklevel: int = 1
) -> Any:
    """The old name of `register_fake`."""
    warn(
        "`torch.library.impl_abstract` was renamed to `torch.library.register_fake`. Please use "
        "that instead; we will remove `torch.library.impl_abstract` in a future version of "
        "PyTorch.",
        FutureWarning,
    )
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: AnyOperator, backward: Kernel, /, *, setup_context: Kernel | None = None,
    lib: Library | None = None,
) -> None:  # fmt: skip
    """Give an operator a derivative: see `CustomOpDef.register_autograd`.

    Raises:
        MissingName: (AttributeError) There is no such operator.
        InvalidArgument: (RuntimeError) It writes into its arguments.
    """
    operator = _existing(op, "register_autograd")
    set_formula(operator, Formula(backward, setup_context), operator.shown)


def register_kernel(
    op: AnyOperator, device_types: str | Sequence[str] | None, func: Kernel | None = None, /, *,
    lib: Library | None = None,
) -> Any:  # fmt: skip
    """Have a function compute an operator on types of devices: see `CustomOpDef.register_kernel`.

    A decorator if called without a function.
    """
    qualname = _qualname(op, "register_kernel")
    if qualname in definitions:
        return definitions[qualname].register_kernel(device_types, func)

    def register(function: Kernel) -> Kernel:
        impl(qualname, "default" if device_types is None else device_types, function, lib=lib)
        return function

    return register if func is None else register(func)


def register_vmap(op: AnyOperator, func: Kernel | None = None, /, *, lib: Any = None) -> Any:
    """Have a function compute an operator for many samples: see `CustomOpDef.register_vmap`.

    Raises:
        MissingName: (AttributeError) There is no such operator.
    """
    operator = _existing(op, "register_vmap")
    if any(argument.has_tensors for argument in operator.declared.keyword_only):
        raise blame.keyword_tensors(operator.declared, "register_vmap")

    def register(function: Kernel) -> Kernel:
        operator.vmap = function
        return function

    return register if func is None else register(func)


def register_autocast(
    op: AnyOperator, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None
) -> None:
    """Have autocast cast an operator's arguments: see `CustomOpDef.register_autocast`.

    Raises:
        OperatorNotDefined: (RuntimeError) There is no such operator.
    """
    set_autocast(registry.operator(_qualname(op, "register_autocast")), device_type, cast_inputs)


# --- what has no counterpart ---------------------------------------------------------------------


def get_ctx() -> NoReturn:
    """Refused: sizes that depend on elements cannot be told without these.

    Raises:
        NotSupported: (NotImplementedError) Always. In a program that is captured, the call then
            runs as it is written.
    """
    raise errors.NotSupported(
        "the shape of this operator's result depends on the elements of its arguments, which "
        "Lamina's fake tensors do not have",
        help=["leave out `register_fake`: the operator then runs as it is written"],
    )


def register_torch_dispatch(
    op: AnyOperator, torch_dispatch_class: Any, func: Kernel | None = None, /, *, lib: Any = None
) -> NoReturn:
    """Refused: tensors have no `__torch_dispatch__` here.

    Raises:
        NotSupported: (NotImplementedError) Always.
    """
    raise errors.NotSupported(
        "register_torch_dispatch: Lamina has no __torch_dispatch__",
        help=["register a kernel, a derivative or a fake function instead"],
    )


def triton_op(
    name: str, fn: Kernel | None = None, /, *, mutates_args: Any, schema: str | None = None
) -> NoReturn:
    """Refused: kernels of Triton run on GPUs alone.

    Raises:
        NotSupported: (NotImplementedError) Always.
    """
    raise errors.NotSupported(
        f"triton_op({name!r}): kernels of Triton run on GPUs, and Lamina has none of those",
        help=["write the operator in Python: `@torch.library.custom_op(...)`"],
    )


def wrap_triton(triton_kernel: Kernel, /) -> NoReturn:
    """Refused: kernels of Triton run on GPUs alone.

    Raises:
        NotSupported: (NotImplementedError) Always.
    """
    raise errors.NotSupported(
        "wrap_triton: kernels of Triton run on GPUs, and Lamina has none of those",
        help=["write the operator in Python: `@torch.library.custom_op(...)`"],
    )
