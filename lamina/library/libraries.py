"""`Library`, and the functions that define operators step by step: `define` and `impl`."""

from __future__ import annotations

import re
import weakref
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, final

from lamina import errors
from lamina.core import blame as core_blame
from lamina.library import registry
from lamina.library.operators import OpOverload
from lamina.library.registry import ALL_DEVICES, COMPOSITE, backend_of
from lamina.library.tags import Tag, tags_of

__all__ = ["Library", "define", "fallthrough_kernel", "impl", "library_for"]

Kernel = Callable[..., Any]

_KEYS: Final = {
    "CPU", "CUDA", "Meta", "XLA", "MPS", "IPU", "XPU", "HPU", "MTIA", "MAIA", "VE", "Lazy", "FPGA",
    "Vulkan", "PrivateUse1", "HIP", "Autograd", "AutogradCPU", "AutogradCUDA", "AutogradOther",
    "ADInplaceOrView", "BackendSelect", "Functionalize", "Python", "Autocast", "AutocastCPU",
    "AutocastCUDA", "FuncTorchBatched", "Conjugate", "Negative", "ZeroTensor", "Undefined",
    "CompositeImplicitAutograd", "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
}  # fmt: skip
_AS: Final = {
    "": COMPOSITE, "AutogradCPU": "Autograd", "AutogradCUDA": "Autograd",
    "CompositeExplicitAutogradNonFunctional": ALL_DEVICES,
}  # fmt: skip
_DEFINING: Final[dict[str, Any]] = {}  # where the library of kind "DEF" of a namespace was made


def fallthrough_kernel() -> NoReturn:
    """Given to `Library.impl`, says that there is nothing to do for a key."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


@final
class Library:
    """Operators of one namespace, which exist as long as this object does.

    Args:
        ns: The namespace.
        kind: "DEF" for a namespace that is made here, "FRAGMENT" for more operators of one,
            "IMPL" for kernels alone.
        dispatch_key: The key for which kernels are registered unless another is given.

    Raises:
        InvalidValue: (ValueError) There is no such kind, or the namespace is reserved.
        OperatorNotDefined: (RuntimeError) The namespace was made already.

    >>> import lamina
    >>> library = Library("examples_of_libraries", "DEF")
    >>> library.define("scaled(Tensor x, float factor=2.) -> Tensor")
    'scaled'
    >>> library.impl("scaled", lambda x, factor=2.0: x * factor, "CPU")
    >>> lamina.library.ops.examples_of_libraries.scaled(lamina.ones(2))
    tensor([2., 2.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise errors.InvalidValue(
                f"Unsupported kind: {kind}", help=['it is "DEF", "FRAGMENT" or "IMPL"']
            )
        if ns == "prim" and kind != "IMPL":
            raise errors.InvalidValue(
                f"{ns} is a reserved namespace. Please try creating a library with another name."
            )
        if kind == "DEF" and ns in _DEFINING:
            raise errors.OperatorNotDefined(
                "Only a single TORCH_LIBRARY can be used to register the namespace "
                f'{ns}: there is a library of kind "DEF" for it',
                [(core_blame.this_place(), "made again here"), (_DEFINING[ns], "made here before")],
                ['add operators to a namespace that exists: `Library(name, "FRAGMENT")`'],
            )
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key
        self._undo: list[Callable[[], None]] = []
        if kind == "DEF":
            _DEFINING[ns] = core_blame.this_place()
            self._undo.append(lambda: _forget(ns))
        self._finalizer = weakref.finalize(self, _undo_all, self._undo)

    def define(
        self, schema: str, alias_analysis: str = "", *, tags: Tag | Sequence[Tag] = ()
    ) -> str:
        """Define an operator by its declaration, such as "f(Tensor x) -> Tensor"; gives its name.

        Raises:
            InvalidSchema: (RuntimeError) It cannot be read.
            OperatorNotDefined: (RuntimeError) There is such an operator.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise errors.InvalidArgument(f"Invalid alias_analysis type {alias_analysis}")
        self._check_alive()
        operator = registry.define(self.ns, schema, tags_of(tags))
        self._undo.append(lambda: registry.remove(operator.qualname))
        return operator.declared.name.partition("::")[2]

    def impl(
        self, op_name: str | OpOverload, fn: Kernel, dispatch_key: str = "", *,
        with_keyset: bool = False, allow_override: bool = True,
    ) -> None:  # fmt: skip
        """Register a function for an operator and a key.

        Args:
            op_name: The name of the operator, which may be defined later.
            fn: The function, or `fallthrough_kernel` for nothing.
            dispatch_key: "CPU", "CUDA" or "Meta" for a device; "CompositeExplicitAutograd" for all
                devices; "Autograd" for what runs instead of all kernels;
                "CompositeImplicitAutograd" (the default) for a function made of operations that
                have derivatives.
            with_keyset: Refused: there are no sets of keys.
            allow_override: Whether another function for the same key is replaced.

        Raises:
            ArgumentTypeError: (TypeError) `fn` cannot be called.
            OperatorNotDefined: (RuntimeError) There is one already, or no such key.
        """
        if not callable(fn):
            raise errors.ArgumentTypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        self._check_alive()
        if with_keyset:
            raise errors.NotSupported(
                "with_keyset=True: Lamina has no sets of dispatch keys to pass on",
                help=["register a function that takes the operator's arguments alone"],
            )
        if self.ns == "aten":
            raise errors.NotSupported(
                "kernels of operators in `aten` cannot be replaced",
                help=["define an operator of your own, and call that one"],
            )
        key = _checked_key(dispatch_key or self.dispatch_key)
        if fn is not fallthrough_kernel:
            self._register(self._name(op_name), fn, key, allow_override)

    def _register(self, name: str, fn: Kernel, key: str, allow_override: bool) -> None:
        operator = registry.record(f"{self.ns}::{name}")
        if key in operator.kernels and not allow_override:
            raise errors.OperatorNotDefined(
                "This is not allowed since there's already a kernel registered from python "
                f"overriding {name}'s behavior for {key} dispatch key and {self.ns} namespace.",
            )
        operator.kernels[key] = fn
        operator.function_class = None

        def undo() -> None:
            if operator.kernels.get(key) is fn:
                del operator.kernels[key]

        self._undo.append(undo)

    def _name(self, op_name: str | OpOverload) -> str:
        if isinstance(op_name, OpOverload):
            op_name = op_name.name()
        if not isinstance(op_name, str):
            raise errors.InvalidArgument(
                "impl should be passed either a name or an OpOverload object as the first "
                f"argument, got {type(op_name)}"
            )
        return op_name.rpartition("::")[2]

    def fallback(self, fn: Kernel, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Refused: a function for all operators of a key.

        Raises:
            NotSupported: (NotImplementedError) Always.
        """
        raise errors.NotSupported(
            "Library.fallback: functions for all operators are not supported",
            help=["register a function for each operator: `library.impl(name, function)`"],
        )

    def _check_alive(self) -> None:
        if not self._finalizer.alive:
            raise AssertionError("Library object has been destroyed")

    def _destroy(self) -> None:
        """Take back all that was defined and registered by this object."""
        self._finalizer()

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"


def _undo_all(steps: list[Callable[[], None]]) -> None:
    for step in reversed(steps):
        step()


def _forget(namespace: str) -> None:
    _DEFINING.pop(namespace, None)


def _checked_key(key: str) -> str:
    if key and key not in _KEYS:
        raise errors.OperatorNotDefined(
            f"could not parse dispatch key: {key}",
            help=['it is "CPU", "CUDA", "Meta", "Autograd" or "CompositeExplicitAutograd"'],
        )
    return _AS.get(key, key)


_kept: Final[list[Library]] = []


def library_for(namespace: str, lib: Library | None) -> Library:
    """The given library, or one that is kept for good."""
    if lib is None:
        lib = Library(namespace, "FRAGMENT")
        _kept.append(lib)
    return lib


_DECLARATION: Final = re.compile(r"\(.*\)\s*->.*", re.DOTALL)


def define(
    qualname: Any, schema: str, alias_analysis: str = "", *, lib: Library | None = None,
    tags: Tag | Sequence[Tag] = (),
) -> Any:  # fmt: skip
    """Define an operator; its kernels are registered with `impl`, `register_fake` and so on.

    Args:
        qualname: "namespace::name". (Or a `Library`, and its declaration with a name: then the
            result is a decorator, which registers the function too.)
        schema: Its declaration without the name: "(Tensor x, int n=1) -> Tensor".
        alias_analysis: For a `Library`, what `Library.define` takes.
        lib: The library that the operator belongs to; without it, it is there for good.
        tags: What is to be said of it.

    Raises:
        InvalidValue: (ValueError) The name or the declaration is not of that form.
        OperatorNotDefined: (RuntimeError) There is such an operator already.

    >>> import lamina
    >>> define("examples::tripled", "(Tensor x) -> Tensor")
    >>> impl("examples::tripled", "default", lambda x: x * 3)
    >>> lamina.library.ops.examples.tripled(lamina.ones(2))
    tensor([3., 3.])
    """
    if isinstance(qualname, Library):
        library, name = qualname, qualname.define(schema, alias_analysis)
        return _decorator(lambda function: library.impl(name, function))
    if not isinstance(qualname, str):
        raise errors.InvalidValue(
            "define(qualname, schema): expected qualname to be instance of str, got "
            f"{type(qualname)}"
        )
    namespace = registry.parse_qualname(qualname)[0]
    if not _DECLARATION.fullmatch(schema):
        raise errors.InvalidValue(
            'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> '
            f'Tensor" but got "{schema}"'
        )
    name = qualname.partition("::")[2]
    library_for(namespace, lib).define(name + schema, tags=tags)


def impl(
    qualname: Any, types: str | Sequence[str] = "", func: Any = None, *, lib: Library | None = None
) -> Any:
    """Register a function that computes an operator on types of devices, or "default" for all.

    Operations inside are recorded, unless a formula is registered with `register_autograd`. A
    decorator if called without a function.

    Args:
        qualname: "namespace::name". (Or a `Library`, a name and a key: then the result is a
            decorator for `Library.impl`.)
        types: The types of devices, such as "cpu", or "default".
        func: The function.
        lib: The library that the registration belongs to; without it, it is there for good.

    Raises:
        InvalidDevice: (RuntimeError) There is no such type of device.
    """
    if isinstance(qualname, Library):
        library, key = qualname, func or ""
        return _decorator(lambda function: library.impl(str(types), function, key))
    kinds = {types} if isinstance(types, str) else set(types)
    keys = {ALL_DEVICES if kind == "default" else backend_of(kind) for kind in kinds}
    namespace, name, overload = registry.parse_qualname(qualname)
    used = library_for(namespace, lib)

    def register(function: Kernel) -> None:
        for key in keys:
            used.impl(f"{name}.{overload}" if overload else name, function, key)

    return register if func is None else register(func)


def _decorator(register: Callable[[Kernel], None]) -> Callable[[Kernel], Kernel]:
    """A decorator that leaves its function as it is."""

    def decorate(function: Kernel) -> Kernel:
        register(function)
        return function

    return decorate
