"""Operators that programs define: a Python function as one operation, with a derivative, shapes and
rules of its own.

`custom_op` makes one; `ops` finds it, by namespace and name:

>>> import lamina
>>> @custom_op("examples::scaled", mutates_args=())
... def scaled(x: lamina.Tensor, factor: float = 2.0) -> lamina.Tensor:
...     return x * factor
>>> ops.examples.scaled(lamina.ones(2), 3.0)
tensor([3., 3.])
>>> ops.examples.scaled.default._schema
examples::scaled(Tensor x, float factor=2.) -> Tensor
"""

from lamina.library.checks import opcheck
from lamina.library.custom import CustomOpDef, custom_op
from lamina.library.inference import infer_schema
from lamina.library.libraries import Library, define, fallthrough_kernel, impl
from lamina.library.operators import OpOverload, ops
from lamina.library.registration import (
    get_ctx,
    impl_abstract,
    register_autocast,
    register_autograd,
    register_fake,
    register_kernel,
    register_torch_dispatch,
    register_vmap,
    triton_op,
    wrap_triton,
)

__all__ = [
    "CustomOpDef",
    "Library",
    "OpOverload",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "ops",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]
