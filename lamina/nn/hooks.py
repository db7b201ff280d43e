"""Functions that run around a module's forward and backward, and the handles that remove them.

A hook sits either on one module (`module.register_forward_hook(f)`) or on every module
(`register_module_forward_hook(f)`); those on every module run first. A module without hooks does
not come here: its `__call__` goes straight to `forward`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple, final

from lamina.core.hooks import Registry, RemovableHandle, registries
from lamina.core.warning import warn
from lamina.errors import HookResultInvalid
from lamina.nn.backward_hooks import BackwardObserver

if TYPE_CHECKING:
    from lamina.nn.module import Module

__all__ = [
    "EVERYWHERE",
    "Hook",
    "HookMethods",
    "RemovableHandle",
    "call_with_hooks",
    "register_module_backward_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
]


class Hook(NamedTuple):
    """A registered function and how it wants to be called."""

    function: Callable[..., Any]
    with_kwargs: bool = False
    always_call: bool = False


def register(registry: Any, entry: Any, prepend: bool = False) -> RemovableHandle:
    """Add `entry` to `registry` under a new id, last or (with `prepend`) first."""
    handle = RemovableHandle(registry)
    registry[handle.id] = entry
    if prepend:
        registry.move_to_end(handle.id, last=False)
    return handle


# Hooks on every module: id -> (kind, hook). One dict of all kinds, so that `Module.__call__` needs
# to test only one global for emptiness.
EVERYWHERE: Final[Any] = Registry()


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before the forward of every module in the program."""
    return register(EVERYWHERE, ("_forward_pre_hooks", Hook(hook)))


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward of every module in the program."""
    return register(EVERYWHERE, ("_forward_hooks", Hook(hook, with_kwargs, always_call)))


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward of every module in the program."""
    return register(EVERYWHERE, ("_backward_pre_hooks", Hook(hook)))


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward of every module."""
    return register(EVERYWHERE, ("_backward_hooks", Hook(hook)))


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `register_module_full_backward_hook`, which replaced this older name."""
    return register_module_full_backward_hook(hook)


@final
class _ByKind:
    """The hooks on every module, sorted by their kind again after registries changed."""

    def __init__(self) -> None:
        self._changes = -1
        self._known: dict[str, list[tuple[int, Hook]]] = {}

    def of(self, kind: str) -> list[tuple[int, Hook]]:
        """Those of one kind."""
        if self._changes != registries.changes:
            self._changes = registries.changes
            self._known = {}
            for key, (its_kind, hook) in EVERYWHERE.items():
                self._known.setdefault(its_kind, []).append((key, hook))
        return self._known.get(kind, [])


_everywhere: Final = _ByKind()


def _hooks_for(module: Module, kind: str) -> list[tuple[int, Hook]]:
    own = getattr(module, kind)
    found = _everywhere.of(kind)
    return [*found, *own.items()] if own else found


def _run_forward_pre_hooks(
    module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    for _, hook in _hooks_for(module, "_forward_pre_hooks"):
        if hook.with_kwargs:
            changed = hook.function(module, args, kwargs)
            if changed is None:
                continue
            if not (isinstance(changed, tuple) and len(changed) == 2):
                raise HookResultInvalid(
                    "a forward pre-hook must return None or a tuple of (new_args, new_kwargs), "
                    f"and this one returned {changed!r}",
                    help=["return `(args, kwargs)`: args a tuple, kwargs a dict"],
                )
            args, kwargs = changed
        else:
            changed = hook.function(module, args)
            if changed is not None:
                args = changed if isinstance(changed, tuple) else (changed,)
    return args, kwargs


def _run_forward_hook(
    module: Module, hook: Hook, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any
) -> Any:
    if hook.with_kwargs:
        changed = hook.function(module, args, kwargs, result)
    else:
        changed = hook.function(module, args, result)
    return result if changed is None else changed


def _observer_of_backward(module: Module) -> BackwardObserver | None:
    hooks = _hooks_for(module, "_backward_hooks")
    pre_hooks = _hooks_for(module, "_backward_pre_hooks")
    if not (hooks or pre_hooks):
        return None
    functions = ([hook.function for _, hook in each] for each in (hooks, pre_hooks))
    return BackwardObserver(module, *functions)


def call_with_hooks(module: Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run `module.forward` with every hook that concerns it.

    The order: forward pre-hooks, inputs marked for backward hooks, forward, forward hooks,
    outputs marked for backward hooks. A forward hook with `always_call` runs even when something
    before it raised; an error of its own is then reported as a warning.
    """
    forward_hooks = dict(_hooks_for(module, "_forward_hooks"))
    waiting = {key: hook for key, hook in forward_hooks.items() if hook.always_call}
    result = None
    try:
        args, kwargs = _run_forward_pre_hooks(module, args, kwargs)
        observer = _observer_of_backward(module)
        if observer is not None:
            args = observer.watch_inputs(args)
        result = module.forward(*args, **kwargs)
        for key, hook in forward_hooks.items():
            waiting.pop(key, None)
            result = _run_forward_hook(module, hook, args, kwargs, result)
        return result if observer is None else observer.watch_outputs(result)
    except Exception:
        for hook in waiting.values():
            try:
                _run_forward_hook(module, hook, args, kwargs, result)
            except Exception as error:
                warn(
                    "a forward hook with always_call=True raised while another error was on its "
                    f"way; its own error is dropped: {error}"
                )
        raise


class HookMethods:
    """The part of `Module` that registers hooks."""

    _forward_hooks: Any
    _forward_pre_hooks: Any
    _backward_hooks: Any
    _backward_pre_hooks: Any

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before `forward`; what it returns replaces the arguments.

        Args:
            hook: the function. With `with_kwargs` it is called as `hook(module, args, kwargs)`
                and returns None or `(args, kwargs)`.
            prepend: whether it runs before the hooks that are there already.
            with_kwargs: whether it is given the keyword arguments.
        """
        return register(self._forward_pre_hooks, Hook(hook, with_kwargs), prepend)

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after `forward`; what it returns replaces the output.

        Args:
            hook: the function. With `with_kwargs` it is called as
                `hook(module, args, kwargs, output)`.
            prepend: whether it runs before the hooks that are there already.
            with_kwargs: whether it is given the keyword arguments.
            always_call: whether it runs also when `forward` raises.

        Example:
            >>> import lamina
            >>> layer = lamina.nn.ReLU()
            >>> shapes = []
            >>> with layer.register_forward_hook(lambda m, args, out: shapes.append(out.shape)):
            ...     _ = layer(lamina.ones(2, 3))
            >>> shapes
            [torch.Size([2, 3])]
        """
        return register(self._forward_hooks, Hook(hook, with_kwargs, always_call), prepend)

    def register_full_backward_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the module's backward.

        `grad_output` is a tuple with one gradient for each output. A tuple that the hook returns
        takes its place.
        """
        return register(self._backward_pre_hooks, Hook(hook), prepend)

    def register_full_backward_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after the gradients of the inputs are known.

        Both are tuples, with None for an argument that is no tensor or needs no gradient. A tuple
        that the hook returns takes the place of `grad_input`. Modules with these hooks hand their
        forward aliases of its inputs and outputs, so changing either in place is an error.
        """
        return register(self._backward_hooks, Hook(hook), prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `register_full_backward_hook`, which replaced this older name."""
        return self.register_full_backward_hook(hook)
