"""`Module`: the base of all layers and models.

What is assigned to a module is sorted by its kind: a `Parameter` into `_parameters`, a `Buffer`
into `_buffers`, a `Module` into `_modules` (three plain dicts), anything else into the object.
The rest of the class is in its bases, one subject a file: `traversal` (iteration, lookup),
`conversion` (devices, dtypes, flags), `state_dict` (saving, loading), `hooks`.
"""

from __future__ import annotations

import weakref
from typing import Any, TypeVar

from lamina.core import blame
from lamina.core.hooks import Registry
from lamina.core.positions import here
from lamina.core.records import note_plain_part
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.errors import ArgumentTypeError, MissingAttribute, ModuleNotInitialized, NotAParameter
from lamina.nn.conversion import Conversion
from lamina.nn.hooks import EVERYWHERE, HookMethods, call_with_hooks
from lamina.nn.parameter import Buffer, Parameter
from lamina.nn.registration import registered
from lamina.nn.state_dict import StateDictMethods
from lamina.nn.traversal import Traversal

__all__ = ["Module"]

ModuleType = TypeVar("ModuleType", bound="Module")

_REGISTRIES = ("_parameters", "_buffers", "_modules")
_HOOK_REGISTRIES = (
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_hooks",
    "_forward_pre_hooks",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


def _looks_trainable(value: object) -> bool:
    """Whether a plain attribute holds what should perhaps have been registered."""
    if isinstance(value, Tensor):
        return value._requires_grad
    kind = type(value)
    if kind is dict:
        value = list(value.values())  # type: ignore[attr-defined]
    elif kind is not list and kind is not tuple:
        return False
    return any(isinstance(part, Tensor | Module) for part in value)  # type: ignore[attr-defined]


def type_name(value: object) -> str:
    """Return the name of a value's type as PyTorch's messages give it: 'torch.FloatTensor'."""
    if isinstance(value, Tensor):
        return str(value.type())
    kind = type(value)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def indented(text: str, spaces: int) -> str:
    """Indent every line of `text` but the first."""
    first, *rest = text.split("\n")
    return "\n".join([first, *(" " * spaces + line for line in rest)])


class Module(Traversal, Conversion, StateDictMethods, HookMethods):
    """The base class of layers and models: holds parameters, buffers and other modules.

    Write `__init__` (call `super().__init__()` first, then assign parameters and layers to
    attributes) and `forward`; call the module itself, which runs the hooks too.

    Attributes:
        training: whether the module is in training mode; see `train` and `eval`.

    Example:
        >>> import lamina
        >>> import lamina.nn as nn
        >>> class Net(nn.Module):
        ...     def __init__(self):
        ...         super().__init__()
        ...         self.hidden = nn.Linear(4, 8)
        ...         self.out = nn.Linear(8, 2)
        ...
        ...     def forward(self, x):
        ...         return self.out(lamina.tanh(self.hidden(x)))
        >>> net = Net()
        >>> net(lamina.ones(3, 4)).shape
        torch.Size([3, 2])
        >>> net
        Net(
          (hidden): Linear(in_features=4, out_features=8, bias=True)
          (out): Linear(in_features=8, out_features=2, bias=True)
        )
    """

    training: bool
    dump_patches: bool = False

    def __init__(self) -> None:
        # Written straight into __dict__: __setattr__ needs the three dicts to be there.
        own = self.__dict__
        own["training"] = True
        own["_parameters"] = {}
        own["_buffers"] = {}
        own["_non_persistent_buffers_set"] = set()
        own["_modules"] = {}
        for name in _HOOK_REGISTRIES:
            own[name] = Registry()

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the module's output; every subclass writes its own."""
        raise NotImplementedError(
            f'Module [{type(self).__name__}] is missing the required "forward" function'
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if (
            self._forward_hooks
            or self._forward_pre_hooks
            or self._backward_hooks
            or self._backward_pre_hooks
            or EVERYWHERE
        ):
            return call_with_hooks(self, args, kwargs)
        return self.forward(*args, **kwargs)

    # -- registration ------------------------------------------------------------------------

    def register_parameter(self, name: str, param: Tensor | None) -> None:
        """Add a parameter under `name`; None reserves the name for a missing one.

        Args:
            name: an attribute name, without dots.
            param: a `Parameter` that was not computed from others.
        """
        self._check_name(name, "_parameters", "parameter")
        if param is not None and not isinstance(param, Parameter):
            raise NotAParameter(
                f"cannot assign '{type_name(param)}' object to parameter '{name}' "
                "(torch.nn.Parameter or None required)",
                help=[f"wrap it: `register_parameter({name!r}, nn.Parameter(...))`"],
            )
        if param is not None and param.grad_fn is not None:
            raise ValueError(
                f"cannot assign a non-leaf Tensor to parameter '{name}': a parameter is trained "
                "itself. To compute it from another tensor, do so in forward()"
            )
        if param is not None:
            param = registered("parameter", self, name, param)
        self._parameters[name] = param

    def register_buffer(self, name: str, tensor: Tensor | None, persistent: bool = True) -> None:
        """Add a tensor that moves with the module but is not trained, such as a running mean.

        Args:
            name: an attribute name, without dots.
            tensor: the buffer; None reserves the name.
            persistent: whether it is part of the state dict.

        Example:
            >>> import lamina
            >>> module = lamina.nn.Module()
            >>> module.register_buffer("mean", lamina.zeros(2))
            >>> module.mean
            tensor([0., 0.])
        """
        self._check_name(name, "_buffers", "buffer")
        if tensor is not None and not isinstance(tensor, Tensor):
            raise ArgumentTypeError(
                f"cannot assign '{type_name(tensor)}' object to buffer '{name}' "
                "(torch Tensor or None required)"
            )
        self._buffers[name] = registered("buffer", self, name, tensor)
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child module under `name`; None reserves the name."""
        self._check_name(name, "_modules", "module")
        if module is not None and not isinstance(module, Module):
            raise ArgumentTypeError(
                f"{type_name(module)} is not a Module subclass",
                help=["pass an instance of nn.Module: `nn.ReLU()`, not `nn.ReLU`"]
                if isinstance(module, type)
                else (),
            )
        self._modules[name] = registered("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Add a child module: another name of `add_module`."""
        self.add_module(name, module)

    def _check_name(self, name: object, registry: str, role: str) -> None:
        if "_parameters" not in self.__dict__:
            raise _not_initialized(self, role)
        if not isinstance(name, str):
            raise ArgumentTypeError(f"{role} name should be a string. Got {type_name(name)}")
        if "." in name:
            raise KeyError(f'{role} name can\'t contain ".", got: "{name}"')
        if name == "":
            raise KeyError(f'{role} name can\'t be empty string ""')
        if name in self.__dict__.get(registry, ()):
            return
        of_class = any(name in kind.__dict__ for kind in type(self).__mro__)
        # A property that cannot answer yet counts as absent, as it does for PyTorch's `hasattr`.
        if (of_class and hasattr(self, name)) or name in self._all_names():
            raise KeyError(f"attribute '{name}' already exists")

    def _all_names(self) -> set[str]:
        names = set(self.__dict__)
        for registry in _REGISTRIES:
            names.update(self.__dict__[registry])
        return names

    # -- attributes --------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        own = self.__dict__
        try:
            if name in (parameters := own["_parameters"]):
                return parameters[name]
            if name in (modules := own["_modules"]):
                return modules[name]
            if name in (buffers := own["_buffers"]):
                return buffers[name]
        except KeyError:
            pass  # before Module.__init__
        if name.startswith("__"):  # asked for by protocols, which expect not to find most of them
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise _missing(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        own = self.__dict__
        # Asking for Tensor first keeps Parameter's slower check off the path of other values.
        is_tensor = isinstance(value, Tensor)
        if is_tensor and isinstance(value, Parameter):
            replaced = own.get("_parameters", {}).get(name)
            if replaced is not None and replaced is not value:
                value.__dict__["took_place_of"] = (weakref.ref(replaced), here())
            self._forget(name, "_parameters", "parameters")
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            self._forget(name, "_modules", "module")
            own["_modules"][name] = registered("module", self, name, value)
        elif is_tensor and isinstance(value, Buffer):
            self._forget(name, "_buffers", "buffer")
            self.register_buffer(name, value, value.persistent)
        elif "_modules" not in own:
            object.__setattr__(self, name, value)
        elif name in own["_parameters"]:
            if value is not None:
                raise _no_parameter(self, name, value)
            own["_parameters"][name] = None
        elif name in own["_modules"]:
            if value is not None:
                raise ArgumentTypeError(
                    f"cannot assign '{type_name(value)}' as child module '{name}' "
                    "(torch.nn.Module or None expected)",
                    help=[f"`del module.{name}` first, to use the name for something else"],
                )
            own["_modules"][name] = registered("module", self, name, None)
        elif name in own["_buffers"]:
            if value is not None and not is_tensor:
                raise ArgumentTypeError(
                    f"cannot assign '{type_name(value)}' as buffer '{name}' "
                    "(torch.nn.Buffer, torch.Tensor or None expected)",
                    help=[f"make it a tensor: `torch.tensor(...)`; or `del module.{name}` first"],
                )
            own["_buffers"][name] = registered("buffer", self, name, value)
        else:
            object.__setattr__(self, name, value)
            if _looks_trainable(value):
                note_plain_part(self, name, here())

    def _forget(self, name: str, kept: str, role: str) -> None:
        """Clear `name` everywhere but in the registry `kept`, before it is put there."""
        own = self.__dict__
        if "_modules" not in own:
            raise _not_initialized(self, role)
        own.pop(name, None)
        for registry in _REGISTRIES:
            if registry != kept:
                own[registry].pop(name, None)
        if kept != "_buffers":
            own["_non_persistent_buffers_set"].discard(name)

    def __delattr__(self, name: str) -> None:
        for registry in _REGISTRIES:
            if name in self.__dict__.get(registry, ()):
                del self.__dict__[registry][name]
                if registry == "_buffers":
                    self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = set(dir(type(self))) | set(self.__dict__)
        if "_modules" in self.__dict__:
            names |= self._all_names()
        return sorted(name for name in names if not name[0].isdigit())

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        # A pickle of an older version may lack registries that were added since.
        for name in _HOOK_REGISTRIES:
            self.__dict__.setdefault(name, Registry())
        self.__dict__.setdefault("_non_persistent_buffers_set", set())

    # -- printing ----------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """Return what `repr` shows between the brackets; override it to show settings."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        extra_lines = extra.split("\n") if extra else []
        child_lines = [
            f"({name}): {indented(repr(child), 2)}" for name, child in self._modules.items()
        ]
        lines = extra_lines + child_lines
        if not child_lines and len(extra_lines) <= 1:
            return f"{self._get_name()}({extra})"
        return f"{self._get_name()}(\n  " + "\n  ".join(lines) + "\n)"

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Accepted for compatibility: the module goes on running as it is."""
        warn("Module.compile has no effect: use lamina.compile(step)")


def _not_initialized(module: Module, role: str) -> ModuleNotInitialized:
    return ModuleNotInitialized(
        f"cannot assign {role} before Module.__init__() call",
        help=[f"make `super().__init__()` the first line of {type(module).__name__}.__init__"],
    )


def _missing(module: Module, name: str) -> AttributeError:
    kind = type(module).__name__
    if "_modules" not in module.__dict__:
        return MissingAttribute(
            f"'{kind}' object has no attribute '{name}'",
            help=[f"make `super().__init__()` the first line of {kind}.__init__"],
        )
    return MissingAttribute(f"'{kind}' object has no attribute '{name}'")


def _no_parameter(module: Module, name: str, value: object) -> NotAParameter:
    place = blame.this_place()
    left, right = blame.reading.sides(place.expression) or (f"module.{name}", "...")
    help_lines: list[str] = []
    if isinstance(value, Tensor):
        help_lines = [
            f"to change its values: `with torch.no_grad(): {left}.copy_({right})`",
            f"to put another parameter in its place: `{left} = nn.Parameter({right})`",
        ]
    return NotAParameter(
        f"cannot assign '{type_name(value)}' as parameter '{name}' "
        f"(torch.nn.Parameter or None expected): `{name}` is a registered parameter of "
        f"{type(module).__name__}, and a plain tensor would not be trained",
        [
            (place, "assigned here"),
            *blame.made_note(module._parameters[name], "the parameter was made here"),
        ],
        help_lines,
    )
