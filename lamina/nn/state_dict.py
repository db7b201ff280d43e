"""Saving a tree of modules as a flat dict of tensors, and loading one back.

The layout is PyTorch's: dotted names to detached tensors that share memory with the module, and
an attribute `_metadata` with the version of each module.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from lamina.core.hooks import RemovableHandle
from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError, HookResultInvalid, StateDictMismatch
from lamina.nn.hooks import register
from lamina.nn.parameter import Parameter

if TYPE_CHECKING:
    from lamina.nn.module import Module

__all__ = ["StateDict", "StateDictMethods", "_IncompatibleKeys"]

EXTRA_STATE: Final = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """What `load_state_dict` found: names that were missing and names that nobody expected."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return super().__repr__()

    __str__ = __repr__


class StateDict(OrderedDict[str, Any]):
    """An ordered dict that can carry the versions of the modules it came from."""

    _metadata: OrderedDict[str, dict[str, Any]]

    def __repr__(self) -> str:
        return repr(OrderedDict(self))


class _StateHook(NamedTuple):
    function: Callable[..., Any]
    may_replace: bool


class _PreLoadHook(NamedTuple):
    function: Callable[..., Any]
    takes_module: bool


class StateDictMethods:
    """The part of `Module` that saves and loads."""

    _version: int = 1
    _parameters: dict[str, Tensor | None]
    _buffers: dict[str, Tensor | None]
    if TYPE_CHECKING:  # typing.get_type_hints(cls) finds no Module here
        _modules: dict[str, Module | None]
    _non_persistent_buffers_set: set[str]
    _state_dict_hooks: Any
    _state_dict_pre_hooks: Any
    _load_state_dict_pre_hooks: Any
    _load_state_dict_post_hooks: Any

    def get_extra_state(self) -> Any:
        """Return what the state dict keeps beside tensors; override with `set_extra_state`."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: override get_extra_state")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` returned; override both."""
        raise RuntimeError(f"{type(self).__name__} has no extra state: override set_extra_state")

    def _own_state(self) -> Iterator[tuple[str, Tensor]]:
        """Yield `(name, tensor)` for the parameters and persistent buffers held directly."""
        for name, parameter in self._parameters.items():
            if parameter is not None:
                yield name, parameter
        for name, buffer in self._buffers.items():
            if buffer is not None and name not in self._non_persistent_buffers_set:
                yield name, buffer

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        """Put this module's own state, without its children's, into `destination`."""
        for name, tensor in self._own_state():
            destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not StateDictMethods.get_extra_state:
            destination[prefix + EXTRA_STATE] = self.get_extra_state()

    def state_dict(
        self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False
    ) -> Any:
        """Return the parameters and persistent buffers by dotted name.

        The tensors share memory with the module: a later training step shows in them. Use
        `copy.deepcopy` for a snapshot.

        Args:
            args: the three keywords by position, as old programs pass them.
            destination: the dict to fill; a new one when left out.
            prefix: what to put before each name.
            keep_vars: whether to store the parameters themselves, still part of autograd.

        Example:
            >>> import lamina.nn as nn
            >>> list(nn.Sequential(nn.Linear(2, 1), nn.BatchNorm1d(1)).state_dict())[:3]
            ['0.weight', '0.bias', '1.weight']
        """
        for name, value in zip(("destination", "prefix", "keep_vars"), args, strict=False):
            if name == "destination":
                destination = value
            elif name == "prefix":
                prefix = value
            else:
                keep_vars = value
        if destination is None:
            destination = StateDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        all_metadata = getattr(destination, "_metadata", None)
        if all_metadata is not None:
            all_metadata[prefix[:-1]] = metadata
        for hook in self._state_dict_pre_hooks.values():
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                child.state_dict(destination=destination, prefix=below, keep_vars=keep_vars)
        return self._after_saving(destination, prefix, metadata)

    def _after_saving(self, destination: Any, prefix: str, metadata: dict[str, Any]) -> Any:
        for hook in self._state_dict_hooks.values():
            answer = hook.function(self, destination, prefix, metadata)
            if answer is not None:
                if not hook.may_replace:
                    raise HookResultInvalid("a state_dict post-hook must return None")
                destination = answer
        return destination

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the module's state is saved."""
        return register(self._state_dict_pre_hooks, hook)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, metadata)` after saving; it may edit the dict."""
        return register(self._state_dict_hooks, _StateHook(hook, may_replace=False))

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return register(self._state_dict_hooks, _StateHook(hook, may_replace=True))

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook` before the module's state is loaded.

        Args:
            hook: called as `hook(module, state_dict, prefix, metadata, strict, missing_keys,
                unexpected_keys, error_messages)`; it may edit the dict and the lists.
        """
        return register(self._load_state_dict_pre_hooks, _PreLoadHook(hook, takes_module=True))

    def _register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], with_module: bool = False
    ) -> RemovableHandle:
        return register(self._load_state_dict_pre_hooks, _PreLoadHook(hook, with_module))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` after loading; it may edit the two lists."""
        return register(self._load_state_dict_post_hooks, hook)

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        """Load this module's own state; what does not fit is added to the three lists."""
        lists = (missing_keys, unexpected_keys, error_msgs)
        for hook in self._load_state_dict_pre_hooks.values():
            first = (self,) if hook.takes_module else ()
            hook.function(*first, state_dict, prefix, local_metadata, strict, *lists)
        assign = local_metadata.get("assign_to_params_buffers", False)
        own_names = set()
        for name, tensor in self._own_state():
            own_names.add(name)
            if prefix + name in state_dict:
                self._load_one(name, tensor, state_dict[prefix + name], prefix, assign, error_msgs)
            elif strict:
                missing_keys.append(prefix + name)
        extra_key = prefix + EXTRA_STATE
        if type(self).set_extra_state is not StateDictMethods.set_extra_state:
            if extra_key in state_dict:
                self.set_extra_state(state_dict[extra_key])
            elif strict:
                missing_keys.append(extra_key)
            own_names.add(EXTRA_STATE)
        if strict:
            for key in state_dict:
                name, _, below = key.removeprefix(prefix).partition(".")
                expected = name in self._modules if below else name in own_names
                if key.startswith(prefix) and not expected:
                    unexpected_keys.append(key)

    def _load_one(
        self, name: str, tensor: Tensor, value: Any, prefix: str, assign: bool, errors: list[str]
    ) -> None:
        key = prefix + name
        if not isinstance(value, Tensor):
            errors.append(
                f'the parameter named "{key}": expected a Tensor from the checkpoint, '
                f"received {type(value)}"
            )
            return
        if tensor.ndim == 0 and value.shape == (1,):
            value = value[0]
        if value.shape != tensor.shape:
            errors.append(
                f"size mismatch for {key}: the checkpoint has shape {value.shape}, "
                f"the current model has {tensor.shape}."
            )
            return
        try:
            if assign:
                self._assign_one(name, tensor, value)
            else:
                with no_grad():
                    tensor.copy_(value)
        except Exception as error:
            errors.append(
                f'while copying the parameter named "{key}" (shape {tensor.shape} in the model, '
                f"{value.shape} in the checkpoint), an exception occurred: {error}"
            )

    def _assign_one(self, name: str, tensor: Tensor, value: Tensor) -> None:
        if isinstance(tensor, Parameter):
            if isinstance(value, Parameter):
                value.requires_grad_(tensor.requires_grad)
            else:
                value = Parameter(value, tensor.requires_grad)
        setattr(self, name, value)

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> _IncompatibleKeys:
        """Copy the values of a state dict into the parameters and buffers.

        Args:
            state_dict: names to tensors, as `state_dict()` returns them.
            strict: whether missing and unexpected names are an error. Shapes must fit always.
            assign: whether to keep the given tensors themselves instead of copying their values
                (the dtype and device are then theirs). `requires_grad` stays the module's.

        Returns:
            The missing and the unexpected names.

        Example:
            >>> import lamina.nn as nn
            >>> nn.Linear(2, 2).load_state_dict(nn.Linear(2, 2).state_dict())
            <All keys matched successfully>
        """
        if not isinstance(state_dict, Mapping):
            raise ArgumentTypeError(
                f"Expected state_dict to be dict-like, got {type(state_dict)}",
                help=["pass what `state_dict()` returned, or what `torch.load(...)` read"],
            )
        found = _Loading(state_dict, assign)
        found.load(self, StateDict(state_dict), "")
        errors = list(found.errors)
        if strict:
            if found.unexpected:
                errors.insert(0, f"Unexpected key(s) in state_dict: {_quoted(found.unexpected)}. ")
            if found.missing:
                errors.insert(0, f"Missing key(s) in state_dict: {_quoted(found.missing)}. ")
        if errors:
            raise StateDictMismatch(
                f"Error(s) in loading state_dict for {type(self).__name__}:\n\t"
                + "\n\t".join(errors),
                help=_repairs(found),
            )
        return _IncompatibleKeys(found.missing, found.unexpected)


class _Loading:
    """One run of `load_state_dict` over a tree of modules, and what it found."""

    def __init__(self, state_dict: Mapping[str, Any], assign: bool) -> None:
        self.metadata: Mapping[str, Any] = getattr(state_dict, "_metadata", None) or {}
        self.assign = assign
        self.missing: list[str] = []
        self.unexpected: list[str] = []
        self.errors: list[str] = []

    def load(self, module: Any, state: StateDict, prefix: str) -> None:
        metadata = dict(self.metadata.get(prefix[:-1], {}))
        if self.assign:
            metadata["assign_to_params_buffers"] = True
        state._metadata = self.metadata  # type: ignore[assignment]
        module._load_from_state_dict(
            state, prefix, metadata, True, self.missing, self.unexpected, self.errors
        )
        for name, child in module._modules.items():
            if child is not None:
                below = f"{prefix}{name}."
                part = {key: value for key, value in state.items() if key.startswith(below)}
                self.load(child, StateDict(part), below)
        keys = _IncompatibleKeys(self.missing, self.unexpected)
        for hook in module._load_state_dict_post_hooks.values():
            if hook(module, keys) is not None:
                raise HookResultInvalid(
                    "a load_state_dict post-hook must return None",
                    help=["edit `incompatible_keys` in place"],
                )


def _quoted(names: list[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def _repairs(found: _Loading) -> list[str]:
    """Guess at what makes the names fit: a prefix that one side has and the other lacks."""
    missing, unexpected = set(found.missing), found.unexpected
    for name in unexpected:
        first, _, rest = name.partition(".")
        if rest in missing and all(key.startswith(first + ".") for key in unexpected):
            return [
                f"the checkpoint's names begin with `{first}.`; take it off: "
                f"`{{k.removeprefix('{first}.'): v for k, v in state.items()}}`"
            ]
        added = [key for key in missing if key.endswith("." + name)]
        if added:
            return [
                f"the module's names begin with `{added[0].removesuffix(name)}`; load into that "
                "part of it, or put it before each name of the checkpoint"
            ]
    if (found.missing or found.unexpected) and not found.errors:
        return ["`strict=False` loads the names that match and leaves the others"]
    return []
