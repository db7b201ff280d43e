"""Functions with a derivative of the user's own: `Function`, and the `ctx` that it is given.

`ctx` is an object of its own, not the node, so that every attribute name is free for the user. What
is saved with `save_for_backward` is kept in the node as other nodes keep their values: checked for
changes in place, and freed by the backward pass.
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from lamina import errors
from lamina.autograd import function_blame, function_results
from lamina.autograd.once import once_differentiable
from lamina.codegen.later import Later
from lamina.core import blame
from lamina.core.modes import door, state
from lamina.core.node import NOTHING, Node
from lamina.core.op import raw, traced
from lamina.core.origins import CUT_BACKWARD
from lamina.core.positions import here
from lamina.core.saved import raw_saved, unpack
from lamina.core.tensor import Tensor, wrap
from lamina.core.versions import next_stamp
from lamina.core.views import refresh
from lamina.core.warning import warn

if TYPE_CHECKING:
    from lamina.autograd import function_transforms
else:
    function_transforms = Later("lamina.autograd.function_transforms")

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "once_differentiable",
]


class FunctionCtx:
    """What `forward` and `backward` of a custom Function share: saved tensors, flags, attributes.

    Any attribute may be set on it. Tensors belong into `save_for_backward`, which checks that they
    are not changed in place, and frees them after the backward pass.
    """

    needs_input_grad: tuple[bool, ...] = ()
    to_save: tuple[Any, ...] | None = None
    saved_for_forward: tuple[Any, ...] | None = None
    non_differentiable: tuple[Any, ...] | None = None
    dirty_tensors: tuple[Any, ...] | None = None
    materialize_grads = True
    is_in_jvp = False
    _node: Callable[[], Any] | None = None

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep inputs, outputs or other tensors (or None) for `backward`. Call it once."""
        for index, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise function_blame.cannot_save(index, tensor)
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors for `jvp`."""
        for index, tensor in enumerate(tensors):
            if tensor is not None and not isinstance(tensor, Tensor):
                raise function_blame.cannot_save(index, tensor)
        self.saved_for_forward = tensors

    def mark_dirty(self, *tensors: Any) -> None:
        """Name the inputs that `forward` changes in place; it must return each of them."""
        self.dirty_tensors = tensors

    def mark_shared_storage(self, *pairs: Any) -> None:
        """Does nothing any more: shared memory is noticed."""
        warn(
            "mark_shared_storage is deprecated. Tensors with shared storages are automatically "
            "tracked.",
            FutureWarning,
        )

    def mark_non_differentiable(self, *tensors: Any) -> None:
        """Name the outputs that have no gradient. Integer outputs never have one."""
        self.non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether `backward` gets zeros (True, the default) or None for outputs without one."""
        self.materialize_grads = bool(value)

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What was given to `save_for_backward`, checked for changes in place.

        In `jvp`: what was given to `save_for_forward`.
        """
        if self.is_in_jvp and self.saved_for_forward is not None:
            return self.saved_for_forward
        node = None if self._node is None else self._node()
        return () if node is None else node.saved_tensors

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name of `saved_tensors`."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors


class BackwardCFunction(Node):
    """The node of a custom Function. Attributes that were set on `ctx` can be read here too."""

    _forward_cls: ClassVar[type[Function]]

    __slots__ = ("ctx", "geometry", "kinds", "order")

    ctx: FunctionCtx
    geometry: tuple[
        Any, ...
    ]  # (shape, dtype, device) of each argument, None for other than tensors
    kinds: tuple[Any, ...]  # (shape, dtype, device) of each output
    order: tuple[int, ...] | None  # the arguments that the edges belong to, if not all in order

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """The saved tensors, checked for changes in place."""
        if self.saved is None:
            raise blame.graph_freed(self)
        return tuple(unpack(self, entry, traced) for entry in self.saved)

    @property
    def _raw_saved_tensors(self) -> tuple[Any, ...]:
        """Handles on the saved tensors, on which hooks can be put."""
        if self.saved is None:
            raise blame.graph_freed(self)
        return tuple(raw_saved(self, place) for place in range(len(self.saved)))

    def __getattr__(self, name: str) -> Any:
        if name != "ctx":
            try:
                return getattr(self.ctx, name)
            except AttributeError:
                pass
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"

    def pull(self, F: Any, g: Any) -> Any:
        """Call the user's backward, and check and fit what it returns."""
        parts = [g] if self.outputs == 1 else g
        gradients = [self._shown(part, index) for index, part in enumerate(parts)]
        before = state.grad_enabled
        door.set_grad_enabled(F is not raw)
        try:
            found = self._forward_cls._chosen_backward()(self.ctx, *gradients)
            fitted = function_results.fitted_gradients(self, found)
        finally:
            door.set_grad_enabled(before)
        if F is raw:
            fitted = [None if gradient is None else gradient._array for gradient in fitted]
        return fitted if self.order is None else [fitted[k] for k in self.order]

    def _shown(self, gradient: Any, index: int) -> Any:
        """An output's gradient as the user's backward sees it."""
        if isinstance(gradient, Tensor):
            return gradient
        origin = (self.code, self.lasti, self.name(), CUT_BACKWARD, None)
        if gradient is None:
            kind = self.kinds[index]
            if kind is None or not self.ctx.materialize_grads:
                return None
            return function_results.zeros(kind, origin)
        return wrap(function_results.as_array(gradient), origin)


class FunctionMeta(type):
    """Gives each Function the class of its nodes, named after it: `TwiceBackward`."""

    def __init__(cls, name: str, bases: tuple[type, ...], attributes: dict[str, Any]) -> None:
        cls._backward_cls = type(
            name + "Backward",
            (BackwardCFunction,),
            {"_forward_cls": cls, "__slots__": (), "__module__": cls.__module__},
        )
        # `ctx` has the name of the node too: in PyTorch it is the node.
        cls._context_cls = type(name + "Backward", (FunctionCtx,), {"__module__": cls.__module__})
        super().__init__(name, bases, attributes)


class Function(metaclass=FunctionMeta):
    r"""An operation with a derivative that you write yourself.

    Subclass it with two static methods, and call `apply`:

    >>> import lamina
    >>> class Twice(lamina.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return x * 2
    ...
    ...     @staticmethod
    ...     def backward(ctx, gradient):
    ...         return gradient * 2
    >>> x = lamina.tensor(3.0, requires_grad=True)
    >>> Twice.apply(x).backward()
    >>> x.grad
    tensor(2.)

    `forward` runs without recording. `backward` gets one gradient for each output and returns one
    for each argument of `forward`, None where there is none; it is recorded if the pass is
    (`create_graph=True`), so it can be differentiated again if it is made of differentiable
    operations. Instead of taking `ctx`, `forward` may be written without it, beside a static method
    `setup_context(ctx, inputs, output)`.
    """

    generate_vmap_rule = False
    _backward_cls: ClassVar[type[BackwardCFunction]]
    _context_cls: ClassVar[type[FunctionCtx]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise errors.LegacyFunction(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method.",
            [(blame.this_place(), "called here"), function_blame.forward_note(type(self))],
            [
                "write `@staticmethod` above forward and backward, and call "
                f"`{type(self).__name__}.apply(...)`"
            ],
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs. To be written by the subclass."""
        raise errors.BackwardNotWritten(
            "You must implement the forward function for custom autograd.Function.",
            [(blame.this_place(), "applied here")],
            ["write a static method `forward(ctx, ...)`"],
        )

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Save what `backward` needs, for a `forward` without `ctx`."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Compute the gradients of the arguments. To be written by the subclass."""
        raise errors.BackwardNotWritten(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Forward mode: tangents of the outputs from those of the arguments."""
        raise errors.BackwardNotWritten(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The rule for `vmap`."""
        raise errors.BackwardNotWritten(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or "
            "set generate_vmap_rule=True."
        )

    @classmethod
    def _chosen_backward(cls) -> Callable[..., Any]:
        """The method that computes gradients: `backward`, or `vjp`."""
        has_backward = cls.backward is not Function.backward
        has_vjp = cls.vjp is not Function.vjp
        if has_backward and has_vjp:
            raise errors.InvalidArgument(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
                "You should only implement one of them."
            )
        if not has_backward and not has_vjp:
            raise function_blame.no_backward(cls)
        return cls.vjp if has_vjp else cls.backward

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run `forward`, and record the call if an argument requires grad."""
        is_split = cls.setup_context is not Function.setup_context
        if is_split or kwargs:
            args = _in_order(cls.forward, args, kwargs, is_split)
        if door.is_watched:
            if state.duals and (level := function_transforms.level_of(args)) is not None:
                return function_transforms.with_tangents(cls, args, cls._applied, level)
            if state.mappings and cls.vmap is not Function.vmap:
                mapping = function_transforms.mapping_of(args)
                if mapping is not None:
                    function_transforms.check_rule(cls)
                    return function_transforms.by_own_rule(cls.vmap, args, mapping)
        return cls._applied(args)[0]

    @classmethod
    def _applied(cls, args: tuple[Any, ...]) -> tuple[Any, FunctionCtx]:
        """The outputs for bound arguments, and the ctx that the methods share."""
        if cls.setup_context is Function.setup_context:
            return record_call(cls, args, lambda ctx: cls.forward(ctx, *args))

        def forward(ctx: FunctionCtx) -> Any:
            output = cls.forward(*args)
            cls.setup_context(ctx, args, output)
            return output

        return record_call(cls, args, forward)


def record_call(
    cls: type[Function], args: tuple[Any, ...], forward: Callable[[FunctionCtx], Any]
) -> tuple[Any, FunctionCtx]:
    """Run one call of a Function, and record it if an argument requires grad.

    Args:
        cls: The Function: its nodes, and what they do in a backward pass.
        args: The arguments, tensors and others.
        forward: Computes the outputs, unrecorded, and sets up the ctx it is given.

    Returns:
        The outputs, and the ctx.
    """
    place = here()
    for argument in args:
        if isinstance(argument, Tensor) and argument._view is not None:
            refresh(argument)
    ctx = cls._context_cls()
    ctx.needs_input_grad = tuple(isinstance(a, Tensor) and a.requires_grad for a in args)
    records = state.grad_enabled and any(ctx.needs_input_grad)
    before = state.grad_enabled
    door.set_grad_enabled(False)
    try:
        output = forward(ctx)
    finally:
        door.set_grad_enabled(before)
    call = function_results.Call(cls, ctx, args, place)
    outputs = output if isinstance(output, tuple) else (output,)
    if records:
        node = _new_node(cls, ctx, args, place)
        made = function_results.recorded_outputs(call, node, outputs)
    else:
        made = function_results.plain_outputs(call, outputs)
    return (made if isinstance(output, tuple) else made[0]), ctx


def _in_order(
    forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], is_split: bool
) -> tuple[Any, ...]:
    """All arguments by position; a `forward` without ctx gets its defaults filled in."""
    bound = inspect.signature(forward).bind(*(() if is_split else (None,)), *args, **kwargs)
    if bound.kwargs:
        raise TypeError(
            f"forward() got an unexpected keyword argument '{next(iter(bound.kwargs))}'"
        )
    if is_split:
        bound.apply_defaults()
        return bound.args
    return bound.args[1:]


def _new_node(
    cls: type[Function], ctx: FunctionCtx, args: tuple[Any, ...], place: Any
) -> BackwardCFunction:
    node = cls._backward_cls()
    node.ctx = ctx
    node.next = tuple(function_results.edge_of(argument) for argument in args)
    node.geometry = tuple(function_results.geometry_of(argument) for argument in args)
    node.code, node.lasti = place
    node.context = node.freed_at = node._hooks = node.order = None
    node.saved = NOTHING
    node.stamp = next_stamp()
    ctx._node = weakref.ref(node)
    return node


class InplaceFunction(Function):
    """A Function with a flag that says whether it works in place; kept for old programs."""

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace
