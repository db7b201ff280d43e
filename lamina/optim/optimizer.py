"""`Optimizer`: parameter groups, their settings, the state of each parameter, and the step.

An optimizer states its formula once, for one parameter, in `_update` (or for all parameters of a
group, in `_update_all`); the loop over groups, the closure and the hooks are here. The formulas are
plain arithmetic on tensors and read no tensor's value into Python, so a step can be captured and
compiled as it stands.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any, Final, final

from lamina.core.blame import a_name, non_leaf_optimized, this_place
from lamina.core.hooks import Registry, RemovableHandle
from lamina.core.modes import enable_grad, set_grad_enabled
from lamina.core.positions import here
from lamina.core.records import optimizers
from lamina.core.tensor import Tensor
from lamina.core.warning import warn
from lamina.errors import (
    ArgumentTypeError,
    HookResultInvalid,
    OptimizerArgumentError,
)
from lamina.optim.sources import SourceOfParameters
from lamina.optim.state import drop, loaded_state, numbered_state, zero

__all__ = [
    "Optimizer",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]


@final
class _Required:
    """The default of a setting that every group must give itself."""

    def __repr__(self) -> str:
        return "<required parameter>"


required: Final = _Required()

STEP_PRE_HOOKS: Final[Any] = Registry()
STEP_POST_HOOKS: Final[Any] = Registry()


def _hooked(registry: Any, hook: Callable[..., Any]) -> RemovableHandle:
    handle = RemovableHandle(registry)
    registry[handle.id] = hook
    return handle


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before each step of every optimizer."""
    return _hooked(STEP_PRE_HOOKS, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after each step of every optimizer."""
    return _hooked(STEP_POST_HOOKS, hook)


def _all_hooks(first: Any, second: Any) -> Iterable[Any]:
    """The hooks of two registries, as they are now: a hook may add others, or take itself off."""
    return [*first.values(), *second.values()] if first or second else ()


def _with_hooks(step: Callable[..., Any]) -> Callable[..., Any]:
    """Return `step` with the step hooks around it, also when a subclass wrote it.

    A `step` that calls `super().step()` runs them once, and an object that only stands for another
    optimizer (accelerate's; it never calls `Optimizer.__init__`) leaves them to that one.
    """

    @functools.wraps(step)
    def hooked(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if self._in_step or "_optimizer_step_pre_hooks" not in self.__dict__:
            return step(self, *args, **kwargs)
        self._in_step = True
        args = (self, *args)  # as hooks see them, and may return them changed
        try:
            for hook in _all_hooks(STEP_PRE_HOOKS, self._optimizer_step_pre_hooks):
                changed = hook(self, args, kwargs)
                if changed is None:
                    continue
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise HookResultInvalid(
                        "a step pre-hook must return None or a tuple of (new_args, new_kwargs), "
                        f"but got {changed!r}"
                    )
                args, kwargs = changed
            result = step(*args, **kwargs)
            self._opt_called = True
            for hook in _all_hooks(self._optimizer_step_post_hooks, STEP_POST_HOOKS):
                hook(self, args, kwargs)
            return result
        finally:
            self._in_step = False

    hooked._notes_call = True  # type: ignore[attr-defined]  # schedulers ask
    return hooked


class Optimizer:
    """The base of all optimizers.

    A subclass passes its settings as `defaults` and writes `_update`; or it writes `step` whole,
    as optimizers made for PyTorch do.

    Args:
        params: tensors, `(name, tensor)` pairs, or dicts with "params" and settings of their own.
        defaults: the settings of groups that do not give their own.

    Attributes:
        param_groups: one dict a group: "params" and the settings.
        state: what the optimizer remembers of each parameter, by parameter.

    Example:
        >>> import lamina
        >>> w = lamina.ones(1, requires_grad=True)
        >>> optimizer = lamina.optim.SGD([w], lr=0.1)
        >>> (w * 3).sum().backward()
        >>> optimizer.step()
        >>> w
        tensor([0.7000], requires_grad=True)
    """

    _in_step = False
    _opt_called = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _with_hooks(cls.__dict__["step"])  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._reset_hooks()
        if isinstance(params, Tensor):
            raise ArgumentTypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {params.type()}",
                [(this_place(), "given here")],
                [f"put it in a list: `{type(self).__name__}([{a_name(params, 'w')}])`"],
            )
        self.state: Any = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        source = SourceOfParameters(params)
        groups = list(params)
        if not groups:
            raise source.empty()
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)
        self._built_at = here()
        optimizers.add(self)

    def _reset_hooks(self) -> None:
        self._optimizer_step_pre_hooks: Any = Registry()
        self._optimizer_step_post_hooks: Any = Registry()
        self._optimizer_state_dict_pre_hooks: Any = Registry()
        self._optimizer_state_dict_post_hooks: Any = Registry()
        self._optimizer_load_state_dict_pre_hooks: Any = Registry()
        self._optimizer_load_state_dict_post_hooks: Any = Registry()

    # -- groups ------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with settings of their own, such as layers that are thawed later.

        Args:
            param_group: "params" and any settings that differ from the defaults.
        """
        if not isinstance(param_group, dict):
            raise ArgumentTypeError(f"param_group must be a dict, but got {type(param_group)}")
        params, names = _params_and_names(param_group["params"])
        for param in params:
            self._check_param(param)
        param_group["params"] = params
        if names:
            param_group["param_names"] = names
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise OptimizerArgumentError(
                    "parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        self._check_group(param_group)
        self.param_groups.append(param_group)

    def _check_param(self, param: Any) -> None:
        if not isinstance(param, Tensor):
            raise ArgumentTypeError(
                "optimizer can only optimize Tensors, but one of the params is "
                f"{type(param).__name__}",
                help=["pass `model.parameters()`, or a list of leaf tensors"],
            )
        if param.is_leaf or param.retains_grad or self.defaults.get("differentiable"):
            return
        raise non_leaf_optimized(param)

    def _check_group(self, new: dict[str, Any]) -> None:
        ids = {id(param) for param in new["params"]}
        if len(ids) != len(new["params"]):
            warn(
                "optimizer contains a parameter group with duplicate parameters: they will be "
                "updated more than once in a step"
            )
        for group in self.param_groups:
            if ("param_names" in new) != ("param_names" in group):
                raise OptimizerArgumentError(
                    "all optimizer param groups should be with/without names: the new one is "
                    + ("with names" if "param_names" in new else "without names")
                )
            if not ids.isdisjoint(id(param) for param in group["params"]):
                raise OptimizerArgumentError(
                    "some parameters appear in more than one parameter group"
                )

    # -- the step ----------------------------------------------------------------------------

    @_with_hooks
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update every parameter that has a gradient.

        Args:
            closure: computes the loss and its gradients again, and returns the loss.

        Returns:
            What the closure returned.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        is_recorded = bool(self.defaults.get("differentiable", False))
        for group in self.param_groups:
            if not is_recorded and self._update_again(group):
                continue
            with set_grad_enabled(is_recorded):
                params = group["params"]
                found = [(param, param.grad) for param in params]
                pairs = [pair for pair in found if pair[1] is not None]
                if len(set(map(id, params))) == len(params):
                    self._update_all(pairs, group)
                    continue
                for pair in pairs:  # one that stands there twice is updated twice, in turn
                    self._update_all([pair], group)
        return loss

    def _update_again(self, group: dict[str, Any]) -> bool:
        """Update a group in a quicker way if all is as it was in the last step; whether it is."""
        return False

    def _update_all(self, pairs: list[tuple[Tensor, Tensor]], group: dict[str, Any]) -> None:
        """Change the parameters of a group, each given with its gradient."""
        for param, grad in pairs:
            self._update(param, grad, group)

    def _update(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        """Change one parameter in place; `self.state[param]` is an empty dict the first time."""
        raise NotImplementedError(f"{type(self).__name__} has neither `_update` nor `step`")

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of all parameters.

        Args:
            set_to_none: whether `.grad` becomes None (default) or is filled with zeros.
        """
        for group in self.param_groups:
            if set_to_none:
                drop(group["params"])
                continue
            for param in group["params"]:
                zero(param)

    # -- saving ------------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """Return the state and the groups, with each parameter replaced by its number.

        The tensors are the optimizer's own, not copies.
        """
        for pre_hook in self._optimizer_state_dict_pre_hooks.values():
            pre_hook(self)
        result = numbered_state(self.param_groups, self.state)
        for post_hook in self._optimizer_state_dict_post_hooks.values():
            changed = post_hook(self, result)
            if changed is not None:
                result = changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state saved by `state_dict`, for parameters in the same order.

        Args:
            state_dict: the saved state; floating point tensors take the dtype and device of their
                parameter, "step" only where the optimizer asks for it.
        """
        state_dict = state_dict.copy()
        for pre_hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = pre_hook(self, state_dict)
            if changed is not None:
                state_dict = changed
        groups, state = loaded_state(
            self.param_groups, deepcopy(state_dict["param_groups"]), state_dict["state"]
        )
        self.__setstate__({"state": state, "param_groups": groups})
        for post_hook in self._optimizer_load_state_dict_post_hooks.values():
            post_hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults,
            "state": self.state,
            "param_groups": self.param_groups,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._reset_hooks()
        self.defaults.setdefault("differentiable", False)

    # -- hooks -------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step; it may return new arguments."""
        return _hooked(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return _hooked(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` before the state is saved."""
        return _placed(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` after saving; it may return another dict."""
        return _placed(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before loading; it may return another dict."""
        return _placed(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(optimizer)` after loading."""
        return _placed(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines.append(f"Parameter Group {i}")
            lines.extend(f"    {key}: {group[key]}" for key in sorted(group) if key != "params")
        return "\n".join(lines) + "\n)"


def _placed(registry: Any, hook: Callable[..., Any], prepend: bool) -> RemovableHandle:
    handle = _hooked(registry, hook)
    if prepend:
        registry.move_to_end(handle.id, last=False)
    return handle


def _params_and_names(given: Any) -> tuple[list[Any], list[str]]:
    """Return the parameters of a group as a list, and their names where they came in pairs."""
    if isinstance(given, Tensor):
        return [given], []
    if isinstance(given, set):
        raise ArgumentTypeError(
            "optimizer parameters need to be organized in ordered collections, but a set has "
            "another order in each run",
            help=["use a list instead"],
        )
    entries: list[Any] = list(given) if isinstance(given, Iterable) else [given]
    names = [entry[0] for entry in entries if isinstance(entry, tuple)]
    if names and len(names) != len(entries):
        raise OptimizerArgumentError(
            "all optimizer params should be with/without names. Some param names are missing"
        )
    return [entry[1] if isinstance(entry, tuple) else entry for entry in entries], names
