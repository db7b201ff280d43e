r"""Divergences between distributions of different families.

Where q gives everything p does a density, $KL(p \| q) = -H(p) - E_p[\log q(x)]$, and $\log q$ asks
for few moments of p: so there is one formula for each q. Where p can be where q cannot, it is
infinite.
"""

from __future__ import annotations

import math
from typing import Any

from lamina.core.tensor import Tensor
from lamina.distributions.bernoulli import Bernoulli
from lamina.distributions.beta import Beta
from lamina.distributions.binomial import Binomial
from lamina.distributions.continuous_bernoulli import ContinuousBernoulli
from lamina.distributions.exponential import Exponential
from lamina.distributions.gamma import Gamma
from lamina.distributions.gumbel import Gumbel
from lamina.distributions.kl import register_kl
from lamina.distributions.laplace import Laplace
from lamina.distributions.normal import Normal
from lamina.distributions.pareto import Pareto
from lamina.distributions.poisson import Poisson
from lamina.distributions.uniform import Uniform
from lamina.distributions.utils import euler_constant
from lamina.ops.creation import full_like
from lamina.ops.exponential import xlogy

_INFINITE = float("inf")


def _for_each(kinds: tuple[Any, ...], target: Any) -> Any:
    """Register one function for several kinds of p."""

    def declare(function: Any) -> Any:
        for kind in kinds:
            register_kl(kind, target)(function)
        return function

    return declare


def _infinite(p: Any, q: Any) -> Tensor:
    """Infinite, with the shape of p's first parameter."""
    return full_like(getattr(p, next(iter(p.arg_constraints))), _INFINITE)


# p, and all the families that are nowhere where p may be.
for _p, _impossible in (
    (ContinuousBernoulli, (Pareto,)),
    (Beta, (Pareto,)),
    (Exponential, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gamma, (Beta, ContinuousBernoulli, Pareto, Uniform)),
    (Gumbel, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Laplace, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Normal, (Beta, ContinuousBernoulli, Exponential, Gamma, Pareto, Uniform)),
    (Pareto, (Beta, ContinuousBernoulli, Uniform)),
    (Poisson, (Bernoulli, Binomial)),
):
    for _q in _impossible:
        register_kl(_p, _q)(_infinite)

# --- moments of p ------------------------------------------------------------------------------


def _mean_logarithm(p: Any) -> Tensor:
    """E[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return _mean_logarithm_between(p.low, p.high)


def _mean_logarithm_between(low: Tensor, high: Tensor) -> Tensor:
    return (xlogy(high, high) - xlogy(low, low)) / (high - low) - 1


def _mean_exponential(p: Any, scale: Tensor) -> Tensor:
    """E[exp(-x / scale)]."""
    if isinstance(p, Normal):
        return (-p.loc / scale + 0.5 * (p.scale / scale).pow(2)).exp()
    if isinstance(p, Exponential):
        return p.rate * scale / (p.rate * scale + 1)
    if isinstance(p, Gamma):
        return (1 + 1 / (p.rate * scale)).pow(-p.concentration)
    ends = (-p.low / scale).exp() - (-p.high / scale).exp()
    return scale * ends / (p.high - p.low)


def _pareto_spread(p: Any, point: Tensor) -> Tensor:
    """E[(x - point)^2] where it is finite; not from the moments, whose gradients may be NaN."""
    mean = p.alpha * p.scale / (p.alpha - 1)
    square = p.alpha * p.scale.pow(2) / (p.alpha - 2)
    return square - 2 * point * mean + point.pow(2)


def _outside(p: Any, low: Any, high: Any, result: Tensor) -> Tensor:
    """Infinite where p, if uniform, reaches beyond [low, high]."""
    if isinstance(p, Uniform):
        result = result.masked_fill((p.low < low) | (p.high > high), _INFINITE)
    return result


# --- one formula for each q --------------------------------------------------------------------


@_for_each(
    (Beta, ContinuousBernoulli, Exponential, Gamma, Gumbel, Laplace, Pareto, Uniform), Normal
)
def _to_normal(p: Any, q: Any) -> Tensor:
    if isinstance(p, Pareto):
        spread = _pareto_spread(p, q.loc)
    else:
        spread = p.variance + (p.mean - q.loc).pow(2)
    normalizer = q.scale.log() + 0.5 * math.log(2 * math.pi)
    result = -p.entropy() + normalizer + spread / (2 * q.scale.pow(2))
    return result.masked_fill(p.alpha <= 2, _INFINITE) if isinstance(p, Pareto) else result


@_for_each((Beta, ContinuousBernoulli, Gamma, Pareto, Uniform), Exponential)
def _to_exponential(p: Any, q: Any) -> Tensor:
    result = -p.entropy() - q.rate.log() + q.rate * p.mean
    return _outside(p, 0, _INFINITE, result)


@_for_each((Beta, Exponential, Pareto, Uniform), Gamma)
def _to_gamma(p: Any, q: Any) -> Tensor:
    a, b = q.concentration, q.rate
    normalizer = a.lgamma() - a * b.log()
    result = -p.entropy() + normalizer - (a - 1) * _mean_logarithm(p) + b * p.mean
    return _outside(p, 0, _INFINITE, result)


@_for_each((Exponential, Gamma, Normal, Uniform), Gumbel)
def _to_gumbel(p: Any, q: Any) -> Tensor:
    away = (p.mean - q.loc) / q.scale
    tail = (q.loc / q.scale).exp() * _mean_exponential(p, q.scale)
    return -p.entropy() + q.scale.log() + away + tail


@_for_each((Beta, ContinuousBernoulli), Uniform)
def _to_uniform(p: Any, q: Any) -> Tensor:
    result = -p.entropy() + (q.high - q.low).log()
    return result.masked_fill((q.high < 1) | (q.low > 0), _INFINITE)


@_for_each((Beta, Uniform), ContinuousBernoulli)
def _to_continuous_bernoulli(p: Any, q: Any) -> Tensor:
    normalizer = (-q.probs).log1p() + q._log_constant()
    return _outside(p, 0, 1, -p.entropy() - p.mean * q.logits - normalizer)


@register_kl(Uniform, Beta)
def _uniform_to_beta(p: Any, q: Any) -> Tensor:
    a, b = q.concentration1, q.concentration0
    of_x = (a - 1) * _mean_logarithm_between(p.low, p.high)
    of_rest = (b - 1) * _mean_logarithm_between(1 - p.high, 1 - p.low)
    normalizer = a.lgamma() + b.lgamma() - (a + b).lgamma()
    return _outside(p, 0, 1, -p.entropy() + normalizer - of_x - of_rest)


@register_kl(Uniform, Pareto)
def _uniform_to_pareto(p: Any, q: Any) -> Tensor:
    normalizer = q.alpha.log() + q.alpha * q.scale.log()
    result = -p.entropy() - normalizer + (q.alpha + 1) * _mean_logarithm(p)
    return result.masked_fill(p.low < q.scale, _INFINITE)


@register_kl(Normal, Laplace)
def _normal_to_laplace(p: Any, q: Any) -> Tensor:
    away = (p.loc - q.loc) / p.scale
    # E|x - m| of a normal number
    distance = math.sqrt(2 / math.pi) * p.scale * (-0.5 * away.pow(2)).exp()
    distance = distance + (p.loc - q.loc) * (math.sqrt(0.5) * away).erf()
    return -p.entropy() + (2 * q.scale).log() + distance / q.scale


@register_kl(Bernoulli, Poisson)
def _bernoulli_to_poisson(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)
