"""Tensors that a module owns: `Parameter` (trained) and `Buffer` (kept, not trained).

Lazy layers have parameters and buffers whose shape is not known yet: `Uninitialized`.

Neither is a class of tensor of its own. `Parameter(data)` returns a plain `Tensor` that carries
the flag `_is_param`, and `isinstance(t, Parameter)` asks for the flag. With one concrete class
of tensor, the attribute lookups inside every op keep hitting CPython's per-site caches; a second
class at the same sites costs about 0.2 us an op, which is more than a tenth of the op.

A subclass that a program makes of `Parameter` or `Buffer` is a class of tensor like any other, and
its instances carry the flag.

Like any flag in an object's `__dict__`, it survives `copy.deepcopy` and pickling, and it is not
inherited by results: `p * 1`, `p.detach()`, `p.data` and `p.clone()` are plain tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from lamina import dtypes
from lamina.core.facts import ArrayFacts
from lamina.core.layouts import Size
from lamina.core.origins import CUT_DETACH
from lamina.core.positions import here
from lamina.core.records import note_cut
from lamina.core.tensor import Tensor, wrap
from lamina.devices import device, device_of
from lamina.errors import ArgumentTypeError, InvalidArgument, InvalidValue
from lamina.ops.creation import empty

__all__ = [
    "Buffer",
    "Parameter",
    "Uninitialized",
    "UninitializedBuffer",
    "UninitializedParameter",
    "is_lazy",
]


class _FlaggedTensor(type):
    """The one metaclass of `lamina.nn`: lets `isinstance` answer by a flag on the tensor."""

    _flag: str

    def __instancecheck__(cls, instance: object) -> bool:
        if "_flag" in cls.__dict__:
            return isinstance(instance, Tensor) and instance.__dict__.get(cls._flag, False)
        return super().__instancecheck__(instance)


def _checked(data: object, role: str) -> Tensor:
    if data is None:
        return empty(0)
    if not isinstance(data, Tensor):
        raise ArgumentTypeError(
            f"{role} is made from a tensor, not from {type(data).__name__!r}",
            help=[f"make a tensor first: `{role}(torch.tensor(...))`"],
        )
    return data


def _owned(cls: Any, tensor: Tensor) -> Any:
    """A leaf with its flag, of the class that was asked for if that is a program's own."""
    made = tensor if "_flag" in cls.__dict__ else tensor.as_subclass(cls)
    setattr(made, cls._flag, True)
    return made


class Parameter(Tensor, metaclass=_FlaggedTensor):
    """A leaf tensor that a `Module` registers, trains and saves when it is assigned to it.

    Args:
        data: the values; the parameter shares their memory. An empty tensor when left out.
        requires_grad: whether `backward` fills its `.grad`.

    Example:
        >>> import lamina
        >>> w = lamina.nn.Parameter(lamina.ones(2))
        >>> w
        Parameter containing:
        tensor([1., 1.], requires_grad=True)
        >>> isinstance(w, lamina.nn.Parameter), isinstance(w * 1, lamina.nn.Parameter)
        (True, False)
    """

    _flag = "_is_param"

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        """Flag a detached alias of `data`."""
        values = _checked(data, "Parameter")
        if values.requires_grad and values.grad_fn is not None:
            note_cut(here(), "Parameter", CUT_DETACH, [values])
        return _owned(cls, values.detach().requires_grad_(requires_grad))


class Buffer(Tensor, metaclass=_FlaggedTensor):
    """A tensor that a `Module` moves and saves with itself but does not train.

    Args:
        data: the values; the buffer shares their memory. An empty tensor when left out.
        persistent: whether it is part of the module's `state_dict`.

    Example:
        >>> import lamina
        >>> module = lamina.nn.Module()
        >>> module.steps = lamina.nn.Buffer(lamina.zeros(1))
        >>> list(module.state_dict())
        ['steps']
    """

    _flag = "_is_buffer"
    persistent: bool

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Buffer:
        """Flag a detached alias of `data`."""
        values = _checked(data, "Buffer")
        result = _owned(cls, values.detach().requires_grad_(values.requires_grad))
        result.persistent = persistent
        return result


_HELP = ["call the module once with a batch: it then knows its sizes"]
_slot: Any = vars(ArrayFacts)["_array"]  # the attribute that is hidden here


class Uninitialized(Tensor):
    """A tensor with a dtype and a device, and without a shape; abstract.

    Its class hides the array from every operation. `materialize` gives it a shape and makes it a
    plain tensor with the same identity, so that an optimizer made before goes on working.
    """

    def _hidden(self) -> Any:
        return _slot.__get__(self, Tensor)

    @property
    def _array(self) -> Any:
        raise InvalidValue(
            "Attempted to use an uninitialized parameter: its shape is not known before the "
            "module's first call",
            help=_HELP,
        )

    @_array.setter
    def _array(self, array: Any) -> None:
        _slot.__set__(self, array)

    @property
    def shape(self) -> Size:
        """Raise RuntimeError: there is no shape yet."""
        raise InvalidArgument(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually "
            "happens in `load_state_dict` when trying to load an uninitialized parameter into an "
            "initialized one.",
            help=_HELP,
        )

    @property
    def dtype(self) -> dtypes.dtype:
        """The type that the elements will have."""
        return dtypes.from_numpy(self._hidden().dtype)

    @property
    def device(self) -> device:
        """Where the elements will be."""
        return device_of(self._hidden())

    def is_floating_point(self) -> bool:
        """Whether the elements will be floating point numbers."""
        return self.dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether the elements will be complex numbers."""
        return self.dtype.is_complex

    def convert(self, fn: Callable[[Tensor], Tensor]) -> None:
        """Take the dtype and the device that `fn` gives an empty tensor of this kind."""
        self._array = fn(wrap(self._hidden(), None))._array

    def materialize(self, shape: Sequence[int], device: Any = None, dtype: Any = None) -> None:
        """Become a plain tensor of a shape, with unset elements.

        Args:
            shape: the shape.
            device: where its elements are; where it was said before when left out.
            dtype: their dtype, likewise.
        """
        place = self.device if device is None else device
        made = empty(tuple(shape), device=place, dtype=self.dtype if dtype is None else dtype)
        self.__class__ = Tensor  # type: ignore[assignment]
        self.data = made

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: Any) -> Any:
        return type(self), (self.requires_grad, str(self.device), self.dtype)

    def __deepcopy__(self, memo: dict[int, Any]) -> Uninitialized:
        kind: Any = type(self)
        twin: Uninitialized = kind(self.requires_grad, self.device, self.dtype)
        memo[id(self)] = twin
        return twin


class UninitializedParameter(Uninitialized, Parameter):
    """A parameter without a shape; `materialize` gives it one.

    Args:
        requires_grad: whether it will be trained.
        device: where it will live.
        dtype: its dtype.

    Example:
        >>> weight = UninitializedParameter()
        >>> weight
        <UninitializedParameter>
        >>> weight.materialize((2, 3))
        >>> weight.shape
        torch.Size([2, 3])
    """

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: Any = None
    ) -> UninitializedParameter:
        """Make a parameter, and hide its array."""
        made: Any = Parameter(empty(0, device=device, dtype=dtype), requires_grad)
        made.__class__ = cls
        return made


class UninitializedBuffer(Uninitialized):
    """A buffer without a shape; `materialize` gives it one.

    Args:
        requires_grad: whether gradients flow to it.
        device: where it will live.
        dtype: its dtype.
        persistent: whether it is part of the module's `state_dict`.
    """

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: Any = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        """Make a buffer, and hide its array."""
        kind = {"device": device, "dtype": dtype, "requires_grad": requires_grad}
        made: Any = Buffer(empty(0, **kind), persistent=persistent)
        made.__class__ = cls
        return made


def is_lazy(param: Any) -> bool:
    """Whether something is a parameter or buffer without a shape."""
    return isinstance(param, Uninitialized)
