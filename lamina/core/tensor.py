"""The tensor: an array, its place in the graph, and its gradient.

Only what every operation needs stands here. Operations become methods in `lamina.methods`.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, Self

import numpy as np

from lamina import errors
from lamina.codegen.later import Later
from lamina.core import blame, records
from lamina.core.facts import ArrayFacts
from lamina.core.hooks import RemovableHandle, add_hook, hooks_of
from lamina.core.modes import door, state
from lamina.core.node import Node, OutputEdge
from lamina.core.origins import CUT_DATA, CUT_FROZEN
from lamina.core.positions import here
from lamina.core.versions import INFERENCE, VersionCell, next_stamp
from lamina.core.views import View, inherits_flag, refresh
from lamina.core.warning import warn
from lamina.devices import backend_of, current_default, device, to_device
from lamina.devices.batched import BatchedArray, batches_of

if TYPE_CHECKING:
    from lamina.core import printing
else:
    printing = Later("lamina.core.printing")


class Tensor(ArrayFacts):
    """An array of numbers of one dtype on one device, that may be part of a graph.

    `Tensor(2, 3)` makes an uninitialised tensor of that shape and `Tensor([1, 2])` one of those
    values, both of the default dtype; `lamina.tensor` is the better way to make one from data.
    """

    __slots__ = (
        "__dict__", "__weakref__", "_grad", "_hooks", "_node", "_origin", "_requires_grad", "_view",
    )  # fmt: skip

    _node: Any
    _requires_grad: bool
    _grad: Any
    _view: View | None
    _origin: Any
    _hooks: Any

    if TYPE_CHECKING:
        # Operations become methods in lamina.methods; type checkers learn of operators here.
        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: Any) -> Tensor: ...
        def __radd__(self, other: Any) -> Tensor: ...
        def __sub__(self, other: Any) -> Tensor: ...
        def __rsub__(self, other: Any) -> Tensor: ...
        def __mul__(self, other: Any) -> Tensor: ...
        def __rmul__(self, other: Any) -> Tensor: ...
        def __truediv__(self, other: Any) -> Tensor: ...
        def __rtruediv__(self, other: Any) -> Tensor: ...
        def __floordiv__(self, other: Any) -> Tensor: ...
        def __mod__(self, other: Any) -> Tensor: ...
        def __pow__(self, other: Any) -> Tensor: ...
        def __rpow__(self, other: Any) -> Tensor: ...
        def __matmul__(self, other: Any) -> Tensor: ...
        def __and__(self, other: Any) -> Tensor: ...
        def __or__(self, other: Any) -> Tensor: ...
        def __xor__(self, other: Any) -> Tensor: ...
        def __lshift__(self, other: Any) -> Tensor: ...
        def __rshift__(self, other: Any) -> Tensor: ...
        def __contains__(self, element: Any) -> bool: ...
        def __invert__(self) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __lt__(self, other: Any) -> Tensor: ...
        def __le__(self, other: Any) -> Tensor: ...
        def __gt__(self, other: Any) -> Tensor: ...
        def __ge__(self, other: Any) -> Tensor: ...
        def __getitem__(self, index: Any) -> Tensor: ...
        def __setitem__(self, index: Any, value: Any) -> None: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def __bool__(self) -> bool: ...
        def __int__(self) -> int: ...
        def __float__(self) -> float: ...
        def __index__(self) -> int: ...

    _is_param = False
    grad_cleared_at: Any = None
    grad_filled_at: Any = None

    # `Tensor(2, 3)` and `Tensor([1, 2])` come with the methods: see ops/typed_tensors.

    # --- its place in the graph ---------------------------------------------------------------

    @property
    def requires_grad(self) -> bool:
        """Whether gradients flow to or through this tensor."""
        if self._view is not None and (not self._requires_grad or inherits_flag(self)):
            return bool(self._view.base._requires_grad and self.dtype.is_differentiable)
        return self._requires_grad

    @requires_grad.setter
    def requires_grad(self, wanted: bool) -> None:
        self._set_requires_grad(wanted, as_method=False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Ask for gradients to be collected in `.grad` (or no longer). Returns the same object."""
        self._set_requires_grad(requires_grad, as_method=True)
        return self

    def _set_requires_grad(self, wanted: bool, as_method: bool) -> None:
        if self.grad_fn is not None:
            if wanted and as_method:
                return
            raise blame.flag_of_non_leaf(self, wanted)
        if wanted and not self.dtype.is_differentiable:
            raise blame.integer_requires_grad(self.dtype, at_creation=False)
        if wanted and self._cell is INFERENCE and not state.inference:
            raise blame.inference_requires_grad(self)
        self._note_flag(bool(wanted))
        # A view of something that requires grad goes on doing so.
        self._requires_grad = bool(wanted) or (
            self._view is not None
            and self._view.base._requires_grad
            and self.dtype.is_differentiable
        )

    def _note_flag(self, wanted: bool) -> None:
        """Note where gradients were asked for or declined; and a flag set on a passing `.data`."""
        place = here()
        notes = self.__dict__
        owner = notes["data_of"]() if "data_of" in notes else None
        if owner is not None:
            owner.__dict__["flag_set_through_data"] = place
        if wanted:
            if not self._requires_grad or self._view is not None:  # else it was asked before
                notes["asked_at"] = (next_stamp(), *place)
            if "created" in notes:
                self._origin = notes.pop("created")
        elif self._requires_grad:
            notes["frozen_at"] = place
            notes.setdefault("created", self._origin)
            self._origin = (*place, "requires_grad_", CUT_FROZEN, None)

    @property
    def grad_fn(self) -> Node | None:
        """The node of the operation that made this tensor; None for a leaf."""
        refresh(self)
        node = self._node
        return node.node if node.__class__ is OutputEdge else node

    @property
    def output_nr(self) -> int:
        """Which output of `grad_fn` this tensor is."""
        return self._node.index if isinstance(self._node, OutputEdge) else 0

    @property
    def is_leaf(self) -> bool:
        """Whether no recorded operation made this tensor, or it does not require grad."""
        return (not self._requires_grad and self._view is None) or self.grad_fn is None

    @property
    def _base(self) -> Tensor | None:
        return None if self._view is None else self._view.base

    def _is_view(self) -> bool:
        return self._view is not None

    @property
    def _version(self) -> int:
        if self._cell is INFERENCE:
            raise errors.InferenceTensorError(
                "Inference tensors do not track version counter.", help=[blame.INFERENCE_HELP]
            )
        return 0 if self._cell is None else self._cell.version

    # --- its gradient -------------------------------------------------------------------------

    @property
    def grad(self) -> Tensor | None:
        """The gradient collected so far; None before a backward pass, and for non-leaves."""
        is_missing = self._grad is None and self._requires_grad and self._node is not None
        if is_missing and not self.retains_grad:
            warn(blame.grad_of_non_leaf(self))
        found: Tensor | None = self._grad
        return found

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        if value is None:
            if self._grad is not None:
                self.grad_cleared_at = here()
        else:
            blame.check_assigned_grad(self, value)
        self._grad = value

    @grad.deleter
    def grad(self) -> None:
        self.grad = None

    @property
    def retains_grad(self) -> bool:
        """Whether this non-leaf was asked to keep its gradient."""
        node = self._node.node if self._node.__class__ is OutputEdge else self._node
        hooks = None if node is None else node._hooks
        return hooks is not None and self.output_nr in hooks.retained

    def retain_grad(self) -> None:
        """Keep the gradient of this non-leaf in `.grad`, from the next backward pass on."""
        if not self.requires_grad:
            raise blame.retain_without_grad(self)
        node = self.grad_fn
        if node is not None:
            retain(self, node)

    def register_hook(self, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
        """Call `hook(grad)` whenever this tensor's gradient is computed; it may return another."""
        if not self.requires_grad:
            raise blame.hook_without_grad(self)
        node = self.grad_fn
        return add_hook(hooks_of(self if node is None else node).of_output(self.output_nr), hook)

    def register_post_accumulate_grad_hook(self, hook: Callable[[Tensor], None]) -> RemovableHandle:
        """Call `hook(tensor)` after a gradient was added to this leaf's `.grad`."""
        if not self.requires_grad:
            raise blame.hook_without_grad(self)
        if self.grad_fn is not None:
            raise errors.NotALeafFlag(
                "post accumulate grad hooks cannot be registered on non-leaf tensors",
                help=["use register_hook, which also works on computed tensors"],
            )
        return add_hook(hooks_of(self).post_accumulate, hook)

    # --- copies and conversions ---------------------------------------------------------------

    @property
    def data(self) -> Tensor:
        """The same memory outside the graph. Changes through it go unnoticed: prefer detach()."""
        if self.requires_grad:
            alias = wrap(self._array, (*here(), "data", CUT_DATA, None))
        else:
            alias = wrap(self._array, (*here(), "data", None, root_of(self)))
        alias._cell = INFERENCE if self._cell is INFERENCE else None
        alias.__dict__["data_of"] = weakref.ref(self)
        return alias

    @data.setter
    def data(self, value: Tensor) -> None:
        blame.check_assigned_data(self, value)
        set_array(self, value._array)
        note_change_through_data(self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        # The values travel and the history stays: what comes out is a leaf, as in PyTorch.
        blame.check_has_values(self, "pickle")
        array = backend_of(self.device).to_host(self._array)
        state_of = {
            key: value for key, value in self.__dict__.items() if key not in records.PRIVATE
        }
        facts = array, self.dtype, str(self.device), self._requires_grad, state_of
        return _rebuild, facts if type(self) is Tensor else (*facts, type(self))

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        if id(self) in memo:
            known: Tensor = memo[id(self)]
            return known
        if not self.is_leaf:
            raise blame.deepcopy_of_non_leaf(self)
        twin = wrap(self._array.copy(), (*here(), "deepcopy", None, None), type(self))
        memo[id(self)] = twin
        twin._requires_grad = self._requires_grad
        if self._grad is not None:
            twin._grad = self._grad.__deepcopy__(memo)
        twin.__dict__.update({k: v for k, v in self.__dict__.items() if k not in records.PRIVATE})
        return twin

    # Written in C: the engine's tables are keyed by leaves. A lookup never gets to the elementwise
    # `==`, since hashes of different objects differ.
    __hash__ = object.__hash__

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        if self._array.__class__ is BatchedArray:
            held = repr(wrap(self._array.values, None))
            return printing.batched_repr(held, len(batches_of(self._array)), self._array.is_same)
        if self.is_sparse:
            return printing.sparse_repr(
                self._array,
                self.dtype,
                grad_fn_name=None if self.grad_fn is None else type(self.grad_fn).__name__,
                requires_grad=self._requires_grad,
            )
        is_captured = getattr(self._array, "recorder", None) is not None
        has_values = not (is_captured or self.is_meta)
        node = self.grad_fn
        place = self.device
        return printing.tensor_repr(
            backend_of(place).to_host(self._array) if has_values else None,
            shape=tuple(self._array.shape),
            dtype=self.dtype,
            device=str(place),
            device_is_default=place is current_default(),
            grad_fn_name=None if node is None else type(node).__name__,
            requires_grad=self._requires_grad,
            is_parameter=self._is_param,
            class_name="tensor" if type(self) is Tensor else type(self).__name__,
            is_captured=is_captured,
        )

    def __len__(self) -> int:
        if not self._array.ndim:
            raise TypeError("len() of a 0-d tensor")
        return int(self._array.shape[0])

    # NumPy must not loop over our elements in `array * tensor`.
    __array_priority__ = 1000


_new: Final[Any] = object.__new__


def fill_slots(made: Any, array: Any, origin: Any) -> None:
    """Set every slot of a new tensor that is outside the graph."""
    made._array = array
    made._node = made._grad = made._view = made._hooks = made._shape = None
    made._requires_grad = False
    made._cell = INFERENCE if door.is_watched and state.inference else None
    made._origin = origin


def set_array(tensor: Tensor, array: Any) -> None:
    """Give a tensor another array: the only way to do so."""
    tensor._array = array
    tensor._shape = None


def note_change_through_data(owner: Tensor) -> None:
    """Note that values were changed where autograd does not see it."""
    known = owner.__dict__.get("changed_through_data", ())
    owner.__dict__["changed_through_data"] = (*known[-7:], (next_stamp(), *here()))


def wrap(array: Any, origin: Any, kind: type[Tensor] = Tensor) -> Tensor:
    """A new tensor around an array, outside the graph."""
    made: Tensor = _new(kind)
    fill_slots(made, array, origin)
    return made


def root_of(*sources: Any) -> Any:
    """The origin of the first cause among the sources: a cut if there is one, else a creation."""
    first = None
    for source in sources:
        if not isinstance(source, Tensor):
            continue
        origin = source._origin
        if origin is None:
            continue
        cause = origin[4] or origin
        if cause[3] is not None:
            return cause
        first = first or cause
    return first


def cell_of(tensor: Tensor) -> VersionCell:
    """The version cell of a tensor's memory, made when first needed."""
    cell: VersionCell = tensor._cell
    if cell is None:
        cell = tensor._cell = VersionCell()
    return cell


def retain(tensor: Tensor, node: Node) -> None:
    """Have a node write its gradient into the tensor's `.grad`."""
    hooks_of(node).retain(tensor.output_nr, tensor)


def _rebuild(
    array: np.ndarray[Any, Any],
    kind: Any,
    where: str,
    requires_grad: bool,
    attributes: dict[str, Any],
    cls: type[Tensor] = Tensor,
) -> Tensor:
    made = wrap(to_device(array, device(where)), (*here(), "unpickled", None, None), cls)
    made._requires_grad = requires_grad
    made.__dict__.update(attributes)
    return made
