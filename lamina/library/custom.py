"""`custom_op`: a Python function as an operator, and what can be registered for it."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, final

from lamina import errors
from lamina.amp import autocast_mode
from lamina.core.warning import warn
from lamina.library import blame, registry
from lamina.library.calling import call
from lamina.library.inference import infer_schema
from lamina.library.operators import OpOverload, overload_of
from lamina.library.registry import ALL_DEVICES, Formula, Operator, backend_of
from lamina.library.schema import FunctionSchema
from lamina.library.tags import Tag, tags_of

__all__ = ["CustomOpDef", "custom_op", "definitions"]

Kernel = Callable[..., Any]
DeviceTypes = str | Sequence[str] | None
Tags = Tag | Sequence[Tag] | None


def custom_op(
    name: str, fn: Kernel | None = None, /, *, mutates_args: str | Iterable[str],
    device_types: DeviceTypes = None, schema: str | None = None, tags: Tags = None,
) -> Any:  # fmt: skip
    """Make an operator of a function: what runs inside is one operation to all that is outside.

    Nothing inside is recorded; `register_autograd` gives the operator a derivative. A program that
    `lamina.compile` makes calls the function as it is, if `register_fake` tells the shapes of its
    results. Another operator of the same name is replaced.

    Args:
        name: "namespace::name", with the name of your package as namespace. `lamina.library.ops`
            then has it.
        fn: The function, with annotations; without it, the result is a decorator.
        mutates_args: The names of the arguments that it writes into, or "unknown" for all tensors.
        device_types: The types of devices that it works on; None means all.
        schema: The declaration, in place of the annotations: "(Tensor x, int n=1) -> Tensor".
        tags: `Tag.inplace` if it returns its first argument, which it writes into; `Tag.out` if it
            returns the keyword arguments that it writes into.

    Raises:
        SchemaNotInferred: (ValueError) An annotation is missing, or is of an unknown type.
        InvalidSchema: (RuntimeError) The declaration cannot be read.

    >>> import lamina, numpy
    >>> @lamina.library.custom_op("examples::numpy_sin", mutates_args=())
    ... def numpy_sin(x: lamina.Tensor) -> lamina.Tensor:
    ...     return lamina.from_numpy(numpy.sin(x.numpy(force=True)))
    >>> numpy_sin(lamina.zeros(2))
    tensor([0., 0.])
    >>> numpy_sin
    <CustomOpDef(examples::numpy_sin)>
    """

    def define(function: Kernel) -> CustomOpDef:
        kinds = tags_of(tags)
        declared = schema
        if declared is None:
            declared = infer_schema(function, mutates_args=mutates_args, tags=kinds)
        namespace, operator_name, overload = registry.parse_qualname(name)
        operator_name += f".{overload}" if overload else ""
        made = CustomOpDef(namespace, operator_name, declared, function, kinds)
        if schema is not None:
            _check_written(made, mutates_args)
        made.register_kernel(device_types, function)
        return made

    return define if fn is None else define(fn)


def _check_written(made: CustomOpDef, mutates_args: str | Iterable[str]) -> None:
    declared = {argument.name for argument in made._operator.declared.written}
    if declared != set(mutates_args):
        registry.remove(made._qualname)
        raise errors.InvalidValue(
            f"Attempted to create a custom op with `mutates_args={mutates_args}` and a schema "
            f"that suggests that the op mutates {declared or 'nothing'}: {made._schema}",
            help=[
                "mark what is written as `Tensor(a!)` in the schema, and name it in mutates_args"
            ],
        )


@final
class CustomOpDef:
    """An operator that `custom_op` made: call it, and register more for it."""

    def __init__(
        self, namespace: str, name: str, schema: str, fn: Kernel, tags: Tags = None
    ) -> None:
        self._namespace, self._name, self._schema = namespace, name, schema
        self._init_fn = fn
        self._tags = tags_of(tags)
        self._functions: dict[str | None, Kernel] = {}
        self._disabled: set[str] = set()
        namespace, bare, overload = registry.parse_qualname(self._qualname)
        if self._qualname in definitions:
            registry.remove(self._qualname)
        operator = registry.define(namespace, name + schema, self._tags)
        operator.is_custom = True
        self._opoverload: OpOverload = overload_of(namespace, bare, overload)
        if _has_keyword_tensors(operator.declared) and Tag.out not in self._tags:
            registry.remove(self._qualname)
            raise blame.keyword_tensors(operator.declared, "custom_op")
        definitions[self._qualname] = self

    @property
    def _qualname(self) -> str:
        """The operator's whole name."""
        return f"{self._namespace}::{self._name}"

    @property
    def _operator(self) -> Operator:
        return self._opoverload._operator

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return call(self._operator, args, kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    # --- registering -----------------------------------------------------------------------------

    def register_kernel(self, device_types: DeviceTypes, fn: Kernel | None = None, /) -> Any:
        """Have a function compute the operator on some types of devices; None means all others.

        It takes the arguments of the operator, and is a decorator if called without a function.

        Raises:
            InvalidDevice: (RuntimeError) There is no such type of device.
            InvalidValue: (ValueError) The operator takes neither tensors nor a device.
        """
        kinds = _listed(device_types)
        schema = self._operator.declared
        has_place = schema.device_argument or any(each.has_tensors for each in schema.arguments)
        if device_types is not None and not has_place:
            raise errors.InvalidValue(
                "Functions without tensor inputs are required to have a `device: torch.device` "
                f"argument: {schema}",
                help=["add one, or leave out device_types"],
            )

        def register(function: Kernel) -> Kernel:
            keys = [ALL_DEVICES if kind is None else backend_of(kind) for kind in kinds]
            for kind, key in zip(kinds, keys, strict=True):
                self._functions[kind] = function
                is_off = kind in self._disabled
                self._operator.kernels[key] = self._init_fn if is_off else function
                self._operator.function_class = None
            return function

        return register if fn is None else register(fn)

    def register_fake(self, fn: Kernel, /) -> Kernel:
        """Have a function tell the shapes of the results: it takes tensors without elements.

        It serves the `meta` device, and makes the operator one step of a compiled program.
        """
        if {Tag.inplace, Tag.out} & set(self._tags):
            warn(
                f"The fake registration for {self} is unnecessary: an operator that returns what "
                "it writes into needs none. The provided fake impl will be used instead.",
                UserWarning,
            )
        self._operator.fake = fn
        return fn

    def register_autograd(
        self, backward: Kernel, /, *, setup_context: Kernel | None = None
    ) -> None:
        r"""Give the operator a derivative.

        Args:
            backward: `backward(ctx, *gradients)` takes the gradient of each result and returns
                those of the arguments, None where there is none; for a list of tensors a list.
            setup_context: `setup_context(ctx, inputs, output)` saves what `backward` needs; with
                keyword-only arguments, `setup_context(ctx, inputs, keyword_only_inputs, output)`.

        Raises:
            InvalidArgument: (RuntimeError) The operator writes into its arguments.

        >>> import lamina
        >>> @lamina.library.custom_op("examples::square", mutates_args=())
        ... def square(x: lamina.Tensor) -> lamina.Tensor:
        ...     return x * x
        >>> def keep(ctx, inputs, output):
        ...     ctx.save_for_backward(*inputs)
        >>> def backward(ctx, gradient):
        ...     (x,) = ctx.saved_tensors
        ...     return 2 * x * gradient
        >>> square.register_autograd(backward, setup_context=keep)
        >>> x = lamina.tensor(3.0, requires_grad=True)
        >>> square(x).backward()
        >>> x.grad
        tensor(6.)
        """
        set_formula(self._operator, Formula(backward, setup_context), repr(self))

    def register_vmap(self, func: Kernel | None = None, /) -> Any:
        """Have a function compute the operator for many samples at once, under `vmap`.

        `func(info, in_dims, *args, **kwargs)` gets the dimension of each argument that holds the
        samples, None where it has none, and returns the results and their dimensions. Without it,
        the kernel runs on tensors that show one sample. A decorator if called without a function.
        """

        def register(function: Kernel) -> Kernel:
            self._operator.vmap = function
            return function

        return register if func is None else register(func)

    def register_autocast(self, device_type: str, cast_inputs: Any, /) -> None:
        """Have autocast on a type of device cast the arguments to a dtype.

        Raises:
            InvalidValue: (ValueError) If `device_type` is no string, or knows no autocast.
        """
        set_autocast(self._operator, device_type, cast_inputs)

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Use the function that defined the operator, or the kernel of a device again, in a block.

        >>> import lamina
        >>> @lamina.library.custom_op("examples::one", mutates_args=())
        ... def one(x: lamina.Tensor) -> lamina.Tensor:
        ...     return lamina.zeros(1)
        >>> _ = one.register_kernel("cpu", lambda x: lamina.ones(1))
        >>> with one.set_kernel_enabled("cpu", enabled=False):
        ...     one(lamina.ones(3))
        tensor([0.])
        """
        was_disabled = device_type in self._disabled
        self._switch(device_type, enabled)
        try:
            yield
        finally:
            self._switch(device_type, not was_disabled)

    def _switch(self, device_type: str, is_enabled: bool) -> None:
        if is_enabled:
            self._disabled.discard(device_type)
        else:
            self._disabled.add(device_type)
        own = self._functions.get(device_type)
        if own is not None:
            key = backend_of(device_type)
            self._operator.kernels[key] = own if is_enabled else self._init_fn


definitions: Final[dict[str, CustomOpDef]] = {}
"""What `custom_op` made, by name."""


def _listed(device_types: DeviceTypes) -> list[str | None]:
    if device_types is None or isinstance(device_types, str):
        return [device_types]
    return list(device_types)


def _has_keyword_tensors(schema: FunctionSchema) -> bool:
    return any(argument.has_tensors for argument in schema.keyword_only)


def set_formula(operator: Operator, formula: Formula, shown: str) -> None:
    """Give an operator a derivative.

    Raises:
        InvalidArgument: It writes into its arguments.
        NotSupported: It has tensors among its keyword-only arguments.
    """
    schema = operator.declared
    is_view = all(each.alias_info is None or not each.is_written for each in schema.returns)
    if schema.is_mutable or not schema.returns or not is_view:
        raise blame.not_functional(schema, shown)
    if _has_keyword_tensors(schema):
        raise blame.keyword_tensors(schema, "register_autograd")
    operator.set_formula(formula)


def set_autocast(operator: Operator, device_type: str, cast_inputs: Any) -> None:
    """Have autocast on a type of device cast an operator's arguments."""
    if not isinstance(device_type, str):
        raise errors.InvalidValue(
            f"Expected `device_type` of type `str`, got: `{type(device_type)}`"
        )
    if not autocast_mode.is_autocast_available(device_type):
        raise errors.InvalidValue(f"Device type '{device_type}' does not support autocast.")
    operator.autocast.setdefault(device_type, cast_inputs)
