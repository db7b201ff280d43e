"""Tensors that a module owns: `Parameter` (trained) and `Buffer` (kept, not trained).

Neither is a class of tensor of its own. `Parameter(data)` returns a plain `Tensor` that carries
the flag `_is_param`, and `isinstance(t, Parameter)` asks for the flag. With one concrete class
of tensor, the attribute lookups inside every op keep hitting CPython's per-site caches; a second
class at the same sites costs about 0.2 us an op, which is more than a tenth of the op.

Like any flag in an object's `__dict__`, it survives `copy.deepcopy` and pickling, and it is not
inherited by results: `p * 1`, `p.detach()`, `p.data` and `p.clone()` are plain tensors.
"""

from __future__ import annotations

from typing import Any

from lamina.core.origins import CUT_DETACH
from lamina.core.provenance import here
from lamina.core.records import note_cut
from lamina.core.tensor import Tensor
from lamina.errors import ArgumentTypeError
from lamina.ops.creation import empty

__all__ = ["Buffer", "Parameter"]


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
        result: Any = values.detach().requires_grad_(requires_grad)
        result._is_param = True
        return result


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
        result: Any = values.detach().requires_grad_(values.requires_grad)
        result._is_buffer = True
        result.persistent = persistent
        return result
