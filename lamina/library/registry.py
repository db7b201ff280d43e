"""The operators that exist: by namespace, name and overload, with what was registered for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, final

from lamina import errors
from lamina.core import blame as core_blame
from lamina.devices import device
from lamina.library import blame
from lamina.library.schema import FunctionSchema
from lamina.library.schema_parser import parse_schema
from lamina.library.tags import Tag

if TYPE_CHECKING:
    from lamina.autograd.function import Function

__all__ = [
    "ALL_DEVICES",
    "COMPOSITE",
    "Formula",
    "Operator",
    "backend_of",
    "define",
    "operator",
    "operators",
    "overloads",
    "parse_qualname",
    "record",
    "remove",
]

COMPOSITE: Final = "CompositeImplicitAutograd"
"""The key of a kernel made of other operations, which have derivatives of their own."""

ALL_DEVICES: Final = "CompositeExplicitAutograd"
"""The key of a kernel for all devices, below derivatives."""

_BACKENDS: Final = {
    "cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "xla": "XLA", "mps": "MPS", "ipu": "IPU",
    "xpu": "XPU", "hpu": "HPU", "mtia": "MTIA", "maia": "MAIA", "ve": "VE", "lazy": "Lazy",
    "fpga": "FPGA", "vulkan": "Vulkan", "privateuseone": "PrivateUse1", "hip": "HIP",
}  # fmt: skip


@final
@dataclass(slots=True)
class Formula:
    """The derivative of an operator, as it was registered."""

    backward: Callable[..., Any]
    setup_context: Callable[..., Any] | None


@final
@dataclass(slots=True, eq=False)
class Operator:
    """One overload of an operator, and what was registered for it.

    Attributes:
        qualname: Its name, as `mylib::f` or `mylib::f.overload`.
        schema: Its declaration; None while it is not defined.
        defined_at: Where in the user's program it was defined.
        is_custom: Whether `custom_op` defined it: then nothing in its kernels is recorded.
        tags: What its author says of it.
        kernels: Functions by the key they were registered for, such as "CPU" or "Autograd".
        fake: The function that tells the shapes of its results.
        formula: Its derivative.
        vmap: How it runs for many samples.
        autocast: The dtype that autocast gives its arguments, by the type of device.
        function_class: The `Function` that records its calls; made when first needed.
    """

    qualname: str
    schema: FunctionSchema | None = None
    defined_at: Any = None
    is_custom: bool = False
    tags: tuple[Tag, ...] = ()
    kernels: dict[str, Callable[..., Any]] = field(default_factory=dict)
    fake: Callable[..., Any] | None = None
    formula: Formula | None = None
    vmap: Callable[..., Any] | None = None
    autocast: dict[str, Any] = field(default_factory=dict)
    function_class: type[Function] | None = None

    @property
    def declared(self) -> FunctionSchema:
        """Its declaration.

        Raises:
            OperatorNotDefined: It was not defined.
        """
        if self.schema is None:
            raise blame.does_not_exist(self.qualname)
        return self.schema

    @property
    def shown(self) -> str:
        """How errors of derivatives call it: `mylib.f.default`."""
        namespace, name, overload = parse_qualname(self.qualname)
        return f"{namespace}.{name}.{overload or 'default'}"

    @property
    def kernel(self) -> Callable[..., Any] | None:
        """One of its kernels, to show where it is written."""
        return next(iter(self.kernels.values()), None)

    def set_formula(self, formula: Formula) -> None:
        """Give it a derivative, in place of the one before."""
        self.formula = formula
        self.function_class = None


operators: Final[dict[str, dict[str, dict[str, Operator]]]] = {}
"""What is registered, by namespace, name and overload."""

refused_libraries: Final[set[str]] = set()
"""Files of compiled operators that the program asked for, which only PyTorch can load."""


def was_refused(namespace: str) -> bool:
    """Whether a file of compiled operators was refused that, by its path, has this namespace."""
    return any(namespace in path for path in refused_libraries)


def parse_qualname(qualname: str) -> tuple[str, str, str]:
    """The namespace, the name and the overload in `namespace::name.overload`.

    Raises:
        InvalidValue: It is not of that form.
    """
    namespace, colons, name = qualname.partition("::")
    if not colons or not namespace or not name or "::" in name:
        raise errors.InvalidValue(
            f'Expected `qualname` to be of the form "namespace::name", but got {qualname}. The '
            "qualname passed to the torch.library APIs must consist of a namespace and a name, "
            "e.g. aten::sin",
            help=[f'write it with the name of your package: "mypackage::{qualname}"'],
        )
    name, _, overload = name.partition(".")
    return namespace, name, "" if overload == "default" else overload


def backend_of(device_type: str) -> str:
    """The key of a device's kernels: "CPU" for "cpu".

    Raises:
        InvalidDevice: There is no such type of device.
    """
    return _BACKENDS.get(device_type) or device(device_type).type.upper()


def overloads(namespace: str, name: str) -> dict[str, Operator]:
    """The defined overloads of an operator, by their names; empty if there is none."""
    found = operators.get(namespace, {}).get(name, {})
    return {key: each for key, each in found.items() if each.schema is not None}


def record(qualname: str) -> Operator:
    """The record of an operator, which need not be defined yet."""
    namespace, name, overload = parse_qualname(qualname)
    by_overload = operators.setdefault(namespace, {}).setdefault(name, {})
    if overload not in by_overload:
        by_overload[overload] = Operator(qualname.removesuffix(".default"))
    return by_overload[overload]


def operator(qualname: str) -> Operator:
    """The operator of a name.

    Raises:
        OperatorNotDefined: There is none.
    """
    namespace, name, overload = parse_qualname(qualname)
    found = overloads(namespace, name).get(overload)
    if found is None:
        raise blame.does_not_exist(qualname)
    return found


def define(namespace: str, declaration: str, tags: tuple[Tag, ...] = ()) -> Operator:
    """A new operator from its declaration, such as `f(Tensor x) -> Tensor`.

    Raises:
        InvalidSchema: It is no declaration, or one of another namespace.
        OperatorNotDefined: There is such an operator already.
    """
    schema = parse_schema(declaration)
    explicit, colons, name = schema.name.rpartition("::")
    if colons and explicit != namespace:
        raise errors.InvalidSchema(
            f"Explicitly provided namespace ({explicit}) in schema string does not match the "
            f"namespace of the library ({namespace})",
            help=["leave the namespace out of the declaration"],
        )
    overload = schema.overload_name
    full = FunctionSchema(f"{namespace}::{name}", overload, schema.arguments, schema.returns)
    made = record(f"{full.name}.{overload}" if overload else full.name)
    if made.schema is not None:
        raise blame.defined_twice(full, made.defined_at)
    made.schema, made.tags = full, tags
    made.defined_at = core_blame.this_place()
    return made


def remove(qualname: str) -> None:
    """Forget an operator, and all that was registered for it."""
    namespace, name, overload = parse_qualname(qualname)
    by_overload = operators.get(namespace, {}).get(name, {})
    by_overload.pop(overload, None)
    if not by_overload:
        operators.get(namespace, {}).pop(name, None)
