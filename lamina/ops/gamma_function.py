"""The logarithm of the gamma function and its derivatives."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lamina import errors
from lamina.codegen.fused import fused
from lamina.codegen.later import Later
from lamina.codegen.vectorized import vectorized
from lamina.core.arguments import native
from lamina.core.blame.words import this_place
from lamina.core.call import operation
from lamina.core.fast import unary
from lamina.core.op import TO_FLOAT
from lamina.core.samples import sample, unary_samples
from lamina.ops.chebyshev import in_double
from lamina.ops.error_function import horner

if TYPE_CHECKING:
    from lamina.ops import zeta
else:
    zeta = Later("lamina.ops.zeta")

__all__ = ["digamma", "lgamma", "mvlgamma", "polygamma"]

# lgamma(x) / ((x - 1) (x - 2)) for 1 <= x <= 2, in 2x - 3: a Chebyshev expansion, 60 digits.
_BETWEEN_ZEROS = (
    0.4831289505409809, -0.07297994795715297, 0.015727850268641094,
    -0.003913560937631769, 0.0010498186644547402, -0.00029455070139898493,
    8.510090373499432e-05, -2.5094329864078195e-05, 7.511391855641883e-06,
    -2.2742409034140543e-06, 6.948428064186312e-07, -2.1388452890262906e-07,
    6.623878077265301e-08, -2.057734525447198e-08, 6.430260727636965e-09,
    -2.0735267758524892e-09, 6.566403819263112e-10, -1.6381596734648426e-10,
    5.0258222095609345e-11, -3.53647433811882e-11, 1.1586115295157278e-11,
)  # fmt: skip
# Of the asymptotic series: B(2k) / (2k (2k - 1)) and B(2k) / 2k.
STIRLING = (
    1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400,
)  # fmt: skip
_SLOPES = (
    1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12, -3617 / 8160,
)  # fmt: skip
_FAR = 8.0


def _log_gamma_positive(x: Any) -> Any:
    far = np.maximum(x, _FAR)
    inverse = np.reciprocal(far)
    series = horner(STIRLING, inverse * inverse) * inverse
    stirling = (far - 0.5) * (np.log(far) - 1) + (series + (0.9189385332046727 - 0.5))
    # Below: step down to 1 <= z <= 2 (one step up from below 1), where a polynomial is exact.
    is_low = x < 1
    z = np.where(is_low, x + 1, np.minimum(x, _FAR))
    product = np.ones_like(x)
    for _ in range(6):
        is_above = z > 2
        z = np.where(is_above, z - 1, z)
        product = np.where(is_above, product * z, product)
    zeros = np.where(is_low, x * (x - 1), (z - 1) * (z - 2))  # x + 1 may be rounded
    near = zeros * horner(_BETWEEN_ZEROS, z * 2 - 3)
    near = near + np.where(is_low, -np.log(x), np.log(product))
    return np.where(x >= _FAR, stirling, near)


@fused
def lgamma_of(x: Any) -> Any:
    """The logarithm of the size of the gamma function of an array of floats."""
    # gamma(x) gamma(1 - x) = pi / sin(pi x)
    mirrored = x < 0.5
    value = _log_gamma_positive(np.where(mirrored, 1 - x, x))
    from_whole = np.abs(x - np.rint(x))
    reflected = 1.1447298858494002 - np.log(np.sin(from_whole * np.pi)) - value
    result = np.where(mirrored, reflected, value)
    result = np.where((x <= 0) & (x == np.floor(x)), float("inf"), result)
    return np.where(np.isnan(x), x, result).astype(x.dtype)


@vectorized()
@in_double
def _digamma(x: Any) -> Any:
    mirrored = x < 0
    z = np.where(mirrored, 1 - x, x)
    below = np.zeros_like(x)
    for _ in range(8):
        is_near = z < _FAR
        below = np.where(is_near, below + np.reciprocal(z), below)
        z = np.where(is_near, z + 1, z)
    inverse = np.reciprocal(z)
    square = inverse * inverse
    value = np.log(z) - inverse * 0.5 - square * horner(_SLOPES, square) - below
    from_whole = x - np.rint(x)
    value = np.where(mirrored, value - np.pi / np.tan(from_whole * np.pi), value)
    value = np.where(mirrored & (from_whole == 0), float("nan"), value)
    return np.where(x == 0, np.copysign(float("inf"), -x), value).astype(x.dtype)


def _cotangent_derivative(n: int, x: Any) -> Any:
    """The n-th derivative of pi cot(pi x): a polynomial in c = cot(pi x), as c' = -pi (1 + c^2)."""
    polynomial = [0.0, 1.0]
    for _ in range(n):
        slope = [k * a for k, a in enumerate(polynomial)][1:]
        polynomial = [-a for a in slope] + [0.0, 0.0]
        for k, a in enumerate(slope):
            polynomial[k + 2] -= a
    cotangent = np.reciprocal(np.tan((x - np.rint(x)) * np.pi))
    return horner(tuple(polynomial), cotangent) * np.pi ** (n + 1)


def _polygamma(input: Any, n: int) -> Any:
    if n < 0:
        raise errors.InvalidArgument("polygamma(n, x) does not support negative n.")
    if n == 0:
        return _digamma(input)
    mirrored = input <= 0
    sign = -1.0 if n % 2 == 0 else 1.0
    value = zeta.hurwitz(n + 1.0, np.where(mirrored, 1 - input, input)) * (sign * math.factorial(n))
    # The n-th derivative of digamma(1 - x) - digamma(x) = pi cot(pi x).
    reflected = -sign * value - _cotangent_derivative(n, input)
    value = np.where(mirrored, reflected, value)
    return np.where(mirrored & (input == np.floor(input)), sign * float("inf"), value).astype(
        input.dtype
    )


_away_from_poles = unary_samples(0.3, 4.0)

lgamma = unary(
    "lgamma",
    lambda input: lgamma_of(input),
    grad=lambda F, g, input: g * F.digamma(input),
    samples=_away_from_poles,
    doc="The natural logarithm of the absolute value of the gamma function of each element.",
)
digamma = unary(
    "digamma",
    _digamma,
    grad=lambda F, g, input: g * F.polygamma(input, 1),
    samples=_away_from_poles,
    doc="The slope of the logarithm of the gamma function at each element.",
)
polygamma_of = operation(
    "polygamma",
    _polygamma,
    grad={"input": lambda F, g, input, n: g * F.polygamma(input, n + 1)},
    dtypes=TO_FLOAT,
    samples=lambda make: [sample(make(3, 4, low=0.5, high=4.0), n) for n in (0, 1, 2, 3)],
    doc="The n-th derivative of `digamma` at each element.",
)


@native
def polygamma(n: int, input: Any, *, out: Any = None) -> Any:
    """The n-th derivative of `digamma` at each element."""
    return polygamma_of(input, n, out=out)


def _mvlgamma(input: Any, p: int) -> Any:
    if p < 1:
        raise errors.InvalidArgument(
            f"mvlgamma: p has to be greater than or equal to 1, but got {p}",
            [(this_place(), "called here")],
        )
    # DLMF 35.3.4, as a sum of logarithms.
    value: Any = p * (p - 1) * 0.25 * math.log(math.pi)
    for k in range(p):
        value = value + lgamma_of(input - 0.5 * k)
    return value.astype(input.dtype)


def _mvlgamma_rule(F: Any, g: Any, input: Any, p: int) -> Any:
    slope = F.digamma(input)
    for k in range(1, p):
        slope = slope + F.digamma(input - 0.5 * k)
    return g * slope


mvlgamma = operation(
    "mvlgamma",
    _mvlgamma,
    grad={"input": _mvlgamma_rule},
    dtypes=TO_FLOAT,
    samples=lambda make: [sample(make(3, 4, low=1.5, high=4.0), p) for p in (1, 3)],
    doc=r"""The logarithm of the multivariate gamma function of dimension p, of each element.

    $\log \Gamma_p(a) = \frac{p(p-1)}{4} \log \pi + \sum_{k<p} \log \Gamma(a - k/2)$, for
    $a > (p - 1) / 2$.

    >>> import lamina
    >>> lamina.mvlgamma(lamina.tensor([2.0]), 2)
    tensor([0.4516])
    """,
)
