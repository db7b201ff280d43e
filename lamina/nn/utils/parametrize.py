"""Parameters that are computed from others: a module in front of each tells how.

`register_parametrization(layer, "weight", f)` keeps the weight as
`layer.parametrizations.weight.original`, and reading `layer.weight` computes `f(original)`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, final

from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.errors import InvalidArgument, InvalidValue
from lamina.nn.containers import ModuleDict, ModuleList
from lamina.nn.module import Module
from lamina.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]


@final
class _Cache:
    """What was computed inside `cached()`: (module, name) to tensor."""

    def __init__(self) -> None:
        self.depth = 0
        self.values: dict[tuple[int, str], Any] = {}


_cache: Final = _Cache()


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once inside the block, when it is first read.

    Example:
        >>> import lamina.nn as nn
        >>> layer = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
        >>> layer.weight is layer.weight
        False
        >>> with cached():
        ...     layer.weight is layer.weight
        True
    """
    _cache.depth += 1
    try:
        yield
    finally:
        _cache.depth -= 1
        if not _cache.depth:
            _cache.values = {}


def _computed(module: Module, name: str) -> Any:
    parametrizations = module.parametrizations[name]
    if not _cache.depth:
        return parametrizations()
    key = id(module), name
    if key not in _cache.values:
        _cache.values[key] = parametrizations()
    return _cache.values[key]


def _register(module: Module, name: str, tensor: Tensor) -> None:
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _kind(tensor: Tensor) -> dict[str, Any]:
    return {"dtype": tensor.dtype, "shape": tensor.shape, "device": tensor.device}


def _check_result(found: Any, kind: dict[str, Any], what: str, hint: str) -> None:
    """Raise if a parametrization changes what it may not: that it is a tensor, its dtype, shape."""
    if not isinstance(found, Tensor):
        raise InvalidValue(f"{what} must return a tensor. Got {type(found).__name__}.")
    for field, after in _kind(found).items():
        before = kind[field]
        if before != after:
            raise InvalidValue(
                f"Registering a parametrization may not change the {field} of the tensor, unless "
                f"{hint} flag is enabled.\nunparametrized {field}: {before}\n"
                f"parametrized {field}: {after}"
            )


def _inverted(modules: Sequence[Module], original: Tensor) -> Any:
    """Return what the modules are to compute `original` from, as far as they can tell."""
    made: Any = original
    with no_grad():
        for module in reversed(list(modules)):
            if hasattr(module, "right_inverse"):
                try:
                    made = module.right_inverse(made)
                except NotImplementedError:
                    break
    return made


class ParametrizationList(ModuleList):
    """The modules that compute one tensor, in order, and what they compute it from.

    Args:
        modules: the first takes the original tensor (or several), the others what the one before
            returned.
        original: the tensor as it was; if modules have a `right_inverse`, the originals are what
            that makes of it.
        unsafe: whether the result may have another shape or dtype.

    Attributes:
        original: what the tensor is computed from; or `original0`, `original1`, ... if a
            `right_inverse` returned several.
    """

    def __init__(self, modules: Sequence[Module], original: Tensor, unsafe: bool = False) -> None:
        if not modules:
            raise InvalidValue("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        kind, before = _kind(original), original.data
        made = _inverted(modules, original)
        if not isinstance(made, Tensor | Sequence):
            raise InvalidValue(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(made).__name__}"
            )
        self.is_tensor = isinstance(made, Tensor)
        self.ntensors = 1 if isinstance(made, Tensor) else len(made)
        if isinstance(made, Tensor):
            self._check_kind(original, made)
            with no_grad():
                original.data = made
            _register(self, "original", original)
        else:
            self._keep_several(original, made)
        if not unsafe:
            try:
                _check_result(self(), kind, "A parametrization", "`unsafe`")
            except InvalidValue:
                original.data = before
                raise

    def _keep_several(self, original: Tensor, made: Sequence[Tensor]) -> None:
        for i, part in enumerate(made):
            if not isinstance(part, Tensor):
                raise InvalidValue(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, "
                    f"tuple...). Got element {i} of the sequence with type {type(part).__name__}."
                )
            if isinstance(original, Parameter):
                part = Parameter(part, original.requires_grad)
            _register(self, f"original{i}", part.requires_grad_(original.requires_grad))

    @staticmethod
    def _check_kind(original: Tensor, made: Tensor) -> None:
        for field in ("dtype", "device"):
            before, after = getattr(original, field), getattr(made, field)
            if before != after:
                raise InvalidValue(
                    f"When `right_inverse` outputs one tensor, it may not change the {field}.\n"
                    f"original.{field}: {before}\nright_inverse(original).{field}: {after}"
                )

    def _originals(self) -> list[Tensor]:
        names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
        return [getattr(self, name) for name in names]

    def right_inverse(self, value: Tensor) -> None:
        """Set the originals so that `value` is what they give; called by `module.weight = value`.

        Args:
            value: goes through the `right_inverse` of the modules, last to first.
        """
        with no_grad():
            made: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise InvalidArgument(
                        f"parametrization {type(module).__name__} does not implement "
                        "right_inverse.",
                        help=["write one, or change the original tensor instead"],
                    )
                made = module.right_inverse(made)
            parts = [made] if isinstance(made, Tensor) else made
            originals = self._originals()
            if not isinstance(parts, Sequence) or len(parts) != len(originals):
                raise InvalidValue(
                    "'right_inverse' must return as many tensors as when the parametrization was "
                    f"registered: {len(originals)}"
                )
            for original, part in zip(originals, parts, strict=True):
                self._check_kind(original, part)
                original.data = part

    def forward(self) -> Tensor:
        """Return the tensor that the originals give."""
        first, *others = self
        made = first(*self._originals())
        for module in others:
            made = module(made)
        return made


def _parametrized_class(base: type, names: Sequence[str]) -> type:
    """A subclass whose attributes `names` are computed."""

    def property_of(name: str) -> property:
        return property(
            lambda self: _computed(self, name),
            lambda self, value: self.parametrizations[name].right_inverse(value),
        )

    members: dict[str, Any] = {name: property_of(name) for name in names}
    members["__getstate__"] = _refuse_pickling
    if not hasattr(base, "__deepcopy__"):
        members["__deepcopy__"] = _deep_copy
    return type(f"Parametrized{base.__name__}", (base,), members)


def _refuse_pickling(module: Module) -> Any:
    raise InvalidArgument(
        "Serialization of parametrized modules is only supported through state_dict().",
        help=["save `module.state_dict()`, and load it into a module that is parametrized alike"],
    )


def _deep_copy(module: Module, memo: dict[int, Any]) -> Module:
    replica = module.__new__(type(module))
    memo[id(module)] = replica
    replica.__dict__.update(copy.deepcopy(module.__dict__, memo))
    return replica


def _take_class(module: Module) -> None:
    """Give a module the class whose computed attributes are those it has parametrizations for."""
    base = type_before_parametrizations(module)
    names = list(module.parametrizations) if "parametrizations" in module._modules else []
    module.__class__ = _parametrized_class(base, names) if names else base


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations; or one for the tensor of that name."""
    parametrizations = module._modules.get("parametrizations")
    if not isinstance(parametrizations, ModuleDict):
        return False
    return len(parametrizations) > 0 if tensor_name is None else tensor_name in parametrizations


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of a module by another module, from now on.

    Args:
        module: the module that has the tensor.
        tensor_name: the tensor's name.
        parametrization: takes the original tensor and returns what stands in its place. With a
            method `right_inverse`, the attribute can be assigned to; if that returns several
            tensors, all of them are kept and given to the parametrization.
        unsafe: whether the result may have another shape or dtype.

    Returns:
        The module, whose class is now named `Parametrized...`.

    Example:
        >>> import lamina
        >>> class Symmetric(lamina.nn.Module):
        ...     def forward(self, x):
        ...         return x.triu() + x.triu(1).T
        >>> layer = register_parametrization(lamina.nn.Linear(3, 3), "weight", Symmetric())
        >>> bool((layer.weight == layer.weight.T).all())
        True
        >>> list(layer.state_dict())
        ['bias', 'parametrizations.weight.original']
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        if not unsafe:
            _check_further(getattr(module, tensor_name), parametrization)
        parametrizations = module.parametrizations[tensor_name]
        parametrizations.append(parametrization)
        parametrizations.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            module.parametrizations = ModuleDict()
        module.parametrizations[tensor_name] = made
        _take_class(module)
    else:
        raise InvalidValue(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element "
            f"with name '{tensor_name}'"
        )
    return module


def _check_further(value: Tensor, parametrization: Module) -> None:
    """Raise if a parametrization on top of others changes the kind of tensor."""
    made = parametrization(value)
    _check_result(made, _kind(value), "A parametrization", "the `unsafe`")
    if hasattr(parametrization, "right_inverse"):
        try:
            back = parametrization.right_inverse(made)
        except NotImplementedError:
            return
        _check_result(back, _kind(value), "parametrization.right_inverse", "the `unsafe`")


def remove_parametrizations(
    module: Module, tensor_name: str, leave_parametrized: bool = True
) -> Module:
    """Make a computed tensor a parameter or buffer again.

    Args:
        module: the module.
        tensor_name: the tensor's name.
        leave_parametrized: whether it keeps the value that was computed; else the original one.

    Returns:
        The module, with its own class again if nothing else is computed.
    """
    if not is_parametrized(module, tensor_name):
        raise InvalidValue(f"Module {module} does not have a parametrization on {tensor_name}")
    parametrizations = module.parametrizations[tensor_name]
    if parametrizations.is_tensor:
        original = parametrizations.original
        if leave_parametrized:
            with no_grad():
                original.data = getattr(module, tensor_name)
    elif leave_parametrized:
        value = getattr(module, tensor_name)
        original = Parameter(value) if value.requires_grad else value
    else:
        raise InvalidValue(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    base = type_before_parametrizations(module)
    del module.parametrizations[tensor_name]
    if not is_parametrized(module):
        del module.parametrizations
        module.__class__ = base
    else:
        _take_class(module)
    _register(module, tensor_name, original)
    return module


def type_before_parametrizations(module: Module) -> type:
    """Return the class that a module had before its first parametrization."""
    kind = type(module)
    return kind.__bases__[0] if is_parametrized(module) and _is_ours(kind) else kind


def _is_ours(kind: type) -> bool:
    return kind.__dict__.get("__getstate__") is _refuse_pickling


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another, and the tensors behind them.

    Args:
        from_module: has the parametrizations; they are shared afterwards.
        to_module: gets them.
        tensor_name: of which tensor; all when left out.

    Returns:
        `to_module`.
    """
    if not is_parametrized(from_module):
        return to_module
    names = list(from_module.parametrizations) if tensor_name is None else [tensor_name]
    for name in names:
        given = from_module.parametrizations[name]
        if not hasattr(to_module, name):
            _register(to_module, name, copy.deepcopy(given._originals()[0]))
        for parametrization in given:
            register_parametrization(to_module, name, parametrization)
        taken = to_module.parametrizations[name]
        with no_grad():
            for target, source in zip(taken._originals(), given._originals(), strict=True):
                target.copy_(source)
    return to_module
