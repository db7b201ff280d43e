"""Names of `torch.func` that need nothing here: `functionalize`; and a look inside a `vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from lamina import errors
from lamina.core import blame
from lamina.core.positions import here
from lamina.core.tensor import Tensor, wrap
from lamina.devices.batched import BatchedArray

__all__ = ["debug_unwrap", "functionalize"]

Function = Callable[..., Any]


def functionalize(func: Function, *, remove: str = "mutations") -> Function:
    """The function itself, in effect: changes in place need no removing here.

    PyTorch rewrites them for its tracers. Lamina's compiler records writes as they are.

    Args:
        func: Any function.
        remove: "mutations" or "mutations_and_views".

    >>> import lamina
    >>> lamina.func.functionalize(lambda x: x.add_(1))(lamina.zeros(2))
    tensor([1., 1.])
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise errors.InvalidArgument(
            f"functionalize(f, remove='mutations'): received invalid argument for remove={remove}",
            [(blame.this_place(), "asked for here")],
            ["say remove='mutations' or remove='mutations_and_views'"],
        )

    @functools.wraps(func)
    def functionalized(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return functionalized


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """What a tensor holds inside a `vmap`: the samples along a first dimension. For looking only.

    Args:
        tensor: A tensor; one outside of any `vmap` is returned as it is.
        recurse: Go through all mappings around it; False for the innermost alone.

    >>> import lamina
    >>> _ = lamina.vmap(lambda x: print(lamina.func.debug_unwrap(x)) or x)(lamina.arange(3))
    tensor([0, 1, 2])
    """
    array = tensor._array
    if array.__class__ is not BatchedArray:
        return tensor
    while array.__class__ is BatchedArray:
        array = array.values
        if not recurse:
            break
    return wrap(array, (*here(), "debug_unwrap", None, None))
