"""Divergences between two distributions of one family."""

from __future__ import annotations

from typing import Any

from lamina import errors
from lamina.autograd.backward import grad
from lamina.core.modes import enable_grad
from lamina.core.tensor import Tensor
from lamina.distributions.bernoulli import Bernoulli
from lamina.distributions.beta import Beta
from lamina.distributions.binomial import Binomial
from lamina.distributions.categorical import Categorical
from lamina.distributions.cauchy import Cauchy
from lamina.distributions.continuous_bernoulli import ContinuousBernoulli
from lamina.distributions.dirichlet import Dirichlet
from lamina.distributions.exp_family import ExponentialFamily, differentiable
from lamina.distributions.exponential import Exponential
from lamina.distributions.gamma import Gamma
from lamina.distributions.geometric import Geometric
from lamina.distributions.gumbel import Gumbel
from lamina.distributions.half_normal import HalfNormal
from lamina.distributions.independent import Independent
from lamina.distributions.kl import kl_divergence, register_kl
from lamina.distributions.laplace import Laplace
from lamina.distributions.lowrank_multivariate_normal import (
    LowRankMultivariateNormal,
    low_rank_distance,
    low_rank_log_det,
)
from lamina.distributions.multivariate_normal import (
    MultivariateNormal,
    half_log_det,
    mahalanobis,
)
from lamina.distributions.normal import Normal
from lamina.distributions.one_hot_categorical import OneHotCategorical
from lamina.distributions.pareto import Pareto
from lamina.distributions.poisson import Poisson
from lamina.distributions.transformed_distribution import TransformedDistribution
from lamina.distributions.uniform import Uniform
from lamina.distributions.utils import euler_constant, sum_rightmost
from lamina.nn.functional import softplus
from lamina.ops.triangular import linalg_solve_triangular as solve_triangular

INFINITE = float("inf")

# --- discrete ----------------------------------------------------------------------------------


def _weighted(chance: Tensor, logarithm: Tensor, other: Tensor) -> Tensor:
    """chance * logarithm; 0 where the chance is 0, else infinite where the other's is."""
    term = (chance * logarithm).masked_fill(other.eq(0), INFINITE)
    return term.masked_fill(chance.eq(0), 0)


@register_kl(Bernoulli, Bernoulli)
def _bernoulli(p: Any, q: Any) -> Tensor:
    ones = _weighted(p.probs, softplus(-q.logits) - softplus(-p.logits), q.probs)
    zeros = _weighted(1 - p.probs, softplus(q.logits) - softplus(p.logits), 1 - q.probs)
    return ones + zeros


@register_kl(Binomial, Binomial)
def _binomial(p: Any, q: Any) -> Tensor:
    if bool((p.total_count < q.total_count).any()):
        raise errors.NotSupported(
            "KL between Binomials where q.total_count > p.total_count is not implemented"
        )
    of_one = p.probs * (p.logits - q.logits) + (-p.probs).log1p() - (-q.probs).log1p()
    return (p.total_count * of_one).masked_fill(p.total_count > q.total_count, INFINITE)


@register_kl(Categorical, Categorical)
def _categorical(p: Any, q: Any) -> Tensor:
    return _weighted(p.probs, p.logits - q.logits, q.probs).sum(-1)


@register_kl(OneHotCategorical, OneHotCategorical)
def _one_hot(p: Any, q: Any) -> Tensor:
    return _categorical(p._categorical, q._categorical)


@register_kl(Geometric, Geometric)
def _geometric(p: Any, q: Any) -> Tensor:
    return -p.entropy() - (-q.probs).log1p() / p.probs - q.logits


@register_kl(Poisson, Poisson)
def _poisson(p: Any, q: Any) -> Tensor:
    return p.rate * (p.rate.log() - q.rate.log()) - (p.rate - q.rate)


# --- continuous --------------------------------------------------------------------------------


@register_kl(Beta, Beta)
def _beta(p: Any, q: Any) -> Tensor:
    return _dirichlet(p._dirichlet, q._dirichlet)


@register_kl(Dirichlet, Dirichlet)
def _dirichlet(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    total, other = a.sum(-1), b.sum(-1)
    normalizers = total.lgamma() - other.lgamma() - (a.lgamma() - b.lgamma()).sum(-1)
    slopes = a.digamma() - total.digamma().unsqueeze(-1)
    return normalizers + ((a - b) * slopes).sum(-1)


@register_kl(Cauchy, Cauchy)
def _cauchy(p: Any, q: Any) -> Tensor:
    # Chyzak and Nielsen (2019), "A closed-form formula for the Kullback-Leibler divergence between
    # Cauchy distributions".
    top = (p.scale + q.scale).pow(2) + (p.loc - q.loc).pow(2)
    return top.log() - (4 * p.scale * q.scale).log()


@register_kl(ContinuousBernoulli, ContinuousBernoulli)
def _continuous_bernoulli(p: Any, q: Any) -> Tensor:
    of_p = p._log_constant() + (-p.probs).log1p()
    of_q = q._log_constant() + (-q.probs).log1p()
    return p.mean * (p.logits - q.logits) + of_p - of_q


@register_kl(Exponential, Exponential)
def _exponential(p: Any, q: Any) -> Tensor:
    ratio = q.rate / p.rate
    return -ratio.log() + ratio - 1


@register_kl(Gamma, Gamma)
def _gamma(p: Any, q: Any) -> Tensor:
    a, b = p.concentration, q.concentration
    rates = b * (p.rate / q.rate).log() + (q.rate - p.rate) * (a / p.rate)
    return rates + b.lgamma() - a.lgamma() + (a - b) * a.digamma()


@register_kl(Gumbel, Gumbel)
def _gumbel(p: Any, q: Any) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc) / q.scale
    mean = -ratio.log() + away + ratio * euler_constant
    return mean + ((1 + ratio).lgamma() - away).exp() - (1 + euler_constant)


@register_kl(HalfNormal, HalfNormal)
def _half_normal(p: Any, q: Any) -> Tensor:
    return _normal(p.base_dist, q.base_dist)


@register_kl(Laplace, Laplace)
def _laplace(p: Any, q: Any) -> Tensor:
    ratio, away = p.scale / q.scale, (p.loc - q.loc).abs()
    return -ratio.log() + away / q.scale + ratio * (-away / p.scale).exp() - 1


@register_kl(Normal, Normal)
def _normal(p: Any, q: Any) -> Tensor:
    ratio = (p.scale / q.scale).pow(2)
    return 0.5 * (ratio + ((p.loc - q.loc) / q.scale).pow(2) - 1 - ratio.log())


@register_kl(Pareto, Pareto)
def _pareto(p: Any, q: Any) -> Tensor:
    ratio = q.alpha / p.alpha
    result = q.alpha * (p.scale / q.scale).log() - ratio.log() + ratio - 1
    return result.masked_fill(p.scale < q.scale, INFINITE)


@register_kl(Uniform, Uniform)
def _uniform(p: Any, q: Any) -> Tensor:
    result = ((q.high - q.low) / (p.high - p.low)).log()
    return result.masked_fill((q.low > p.low) | (q.high < p.high), INFINITE)


# --- multivariate normal -----------------------------------------------------------------------


def _trace(scale: Tensor, factor: Tensor) -> Tensor:
    r"""$\mathrm{tr}((L L^T)^{-1} W W^T)$."""
    return solve_triangular(scale, factor, upper=False).pow(2).sum((-2, -1))


def _check_events(p: Any, q: Any) -> int:
    if p.event_shape != q.event_shape:
        raise errors.InvalidValue(
            f"KL-divergence between two {type(p).__name__} with different event shapes cannot be "
            "computed"
        )
    return int(p.event_shape[0])


@register_kl(MultivariateNormal, MultivariateNormal)
def _multivariate(p: Any, q: Any) -> Tensor:
    n = _check_events(p, q)
    ours, theirs = p._unbroadcasted_scale_tril, q._unbroadcasted_scale_tril
    spread = _trace(theirs, ours) + mahalanobis(theirs, q.loc - p.loc)
    return half_log_det(theirs) - half_log_det(ours) + 0.5 * (spread - n)


@register_kl(LowRankMultivariateNormal, LowRankMultivariateNormal)
@register_kl(MultivariateNormal, LowRankMultivariateNormal)
def _to_low_rank(p: Any, q: Any) -> Tensor:
    n, is_low = _check_events(p, q), isinstance(p, LowRankMultivariateNormal)
    factor, diagonal = q._unbroadcasted_cov_factor, q._unbroadcasted_cov_diag
    distance = low_rank_distance(factor, diagonal, q.loc - p.loc, q._capacitance_tril)
    log_det = low_rank_log_det(diagonal, q._capacitance_tril)
    if is_low:
        own_log_det = low_rank_log_det(p._unbroadcasted_cov_diag, p._capacitance_tril)
        parts = [p._unbroadcasted_cov_factor, p._unbroadcasted_cov_diag.sqrt().diag_embed()]
    else:
        own_log_det = 2 * half_log_det(p._unbroadcasted_scale_tril)
        parts = [p._unbroadcasted_scale_tril]
    # tr((W W^T + D)^-1 V V^T) for each part of p's covariance, by Woodbury's identity
    trace: Any = 0
    scaled = factor.mT / diagonal.unsqueeze(-2)
    for part in parts:
        inner = _trace(q._capacitance_tril, scaled @ part)
        trace = trace + (part.pow(2) / diagonal.unsqueeze(-1)).sum((-2, -1)) - inner
    return 0.5 * (log_det - own_log_det + distance + trace - n)


@register_kl(LowRankMultivariateNormal, MultivariateNormal)
def _from_low_rank(p: Any, q: Any) -> Tensor:
    n, scale = _check_events(p, q), q._unbroadcasted_scale_tril
    own_log_det = low_rank_log_det(p._unbroadcasted_cov_diag, p._capacitance_tril)
    trace = _trace(scale, p._unbroadcasted_cov_factor)
    trace = trace + _trace(scale, p._unbroadcasted_cov_diag.sqrt().diag_embed())
    distance = mahalanobis(scale, q.loc - p.loc)
    return half_log_det(scale) + 0.5 * (trace + distance - own_log_det - n)


# --- distributions made of others --------------------------------------------------------------


@register_kl(ExponentialFamily, ExponentialFamily)
def _exponential_family(p: Any, q: Any) -> Tensor:
    """Bregman's divergence of the log normalizer (Nielsen and Nock 2010)."""
    if type(p) is not type(q):
        raise errors.NotSupported(
            "The cross KL-divergence between different exponential families cannot be computed "
            "using Bregman divergences"
        )
    natural = differentiable(p._natural_params)
    with enable_grad():
        normalizer = p._log_normalizer(*natural)
        slopes = grad(normalizer.sum(), natural, create_graph=True)
    result = q._log_normalizer(*q._natural_params) - normalizer
    for ours, theirs, slope in zip(natural, q._natural_params, slopes, strict=True):
        result = result - sum_rightmost((theirs - ours) * slope, len(q.event_shape))
    return result


@register_kl(TransformedDistribution, TransformedDistribution)
def _transformed(p: Any, q: Any) -> Tensor:
    if p.transforms != q.transforms or p.event_shape != q.event_shape:
        raise errors.NotSupported("KL between transformed distributions with other transforms")
    base = kl_divergence(p.base_dist, q.base_dist)
    return sum_rightmost(base, len(p.event_shape) - len(p.base_dist.event_shape))


@register_kl(Independent, Independent)
def _independent(p: Any, q: Any) -> Tensor:
    if p.reinterpreted_batch_ndims != q.reinterpreted_batch_ndims:
        raise errors.NotSupported("KL between Independent with other reinterpreted_batch_ndims")
    return sum_rightmost(kl_divergence(p.base_dist, q.base_dist), p.reinterpreted_batch_ndims)
