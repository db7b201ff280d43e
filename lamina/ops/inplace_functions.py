"""In-place operations as functions: `torch.exp_(x)` is `x.exp_()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lamina.core.arguments import native

__all__ = ["INPLACE"]

_NAMES: Final = """
abs_ acos_ acosh_ addmv_ arccos_ arccosh_ arcsin_ arcsinh_ arctan_ arctanh_ as_strided_ asin_ asinh_
atan_ atanh_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ conj_physical_ cos_ cosh_ deg2rad_ erf_ erfc_
exp2_ exp_ expm1_ fill_ fix_ floor_ frac_ gcd_ index_put_ lcm_ ldexp_ log10_ log1p_ log2_ log_
logit_ nan_to_num_ neg_ negative_ rad2deg_ reciprocal_ resize_as_ round_ rsqrt_ sigmoid_ sin_ sinc_
sinh_ sqrt_ square_ tan_ tanh_ trunc_ xlogy_ zero_
"""


def _function(name: str) -> Callable[..., Any]:
    @native
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(input, name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__module__ = "lamina"  # whose `__getattr__` finds it
    call.__doc__ = f"The method `{name}` as a function."
    return call


INPLACE: Final = {name: _function(name) for name in _NAMES.split()}
