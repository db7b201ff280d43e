"""Probability distributions: samples, densities, entropies, divergences, and transforms."""

from lamina.distributions import constraints, transforms, utils
from lamina.distributions import kl_across as kl_across
from lamina.distributions import kl_within as kl_within
from lamina.distributions.bernoulli import Bernoulli
from lamina.distributions.beta import Beta
from lamina.distributions.binomial import Binomial
from lamina.distributions.categorical import Categorical
from lamina.distributions.cauchy import Cauchy
from lamina.distributions.chi2 import Chi2
from lamina.distributions.constraint_registry import biject_to, transform_to
from lamina.distributions.continuous_bernoulli import ContinuousBernoulli
from lamina.distributions.dirichlet import Dirichlet
from lamina.distributions.distribution import Distribution
from lamina.distributions.exp_family import ExponentialFamily
from lamina.distributions.exponential import Exponential
from lamina.distributions.fishersnedecor import FisherSnedecor
from lamina.distributions.gamma import Gamma
from lamina.distributions.generalized_pareto import GeneralizedPareto
from lamina.distributions.geometric import Geometric
from lamina.distributions.gumbel import Gumbel
from lamina.distributions.half_cauchy import HalfCauchy
from lamina.distributions.half_normal import HalfNormal
from lamina.distributions.independent import Independent
from lamina.distributions.inverse_gamma import InverseGamma
from lamina.distributions.kl import kl_divergence, register_kl
from lamina.distributions.kumaraswamy import Kumaraswamy
from lamina.distributions.laplace import Laplace
from lamina.distributions.lkj_cholesky import LKJCholesky
from lamina.distributions.log_normal import LogNormal
from lamina.distributions.logistic_normal import LogisticNormal
from lamina.distributions.lowrank_multivariate_normal import LowRankMultivariateNormal
from lamina.distributions.mixture_same_family import MixtureSameFamily
from lamina.distributions.multinomial import Multinomial
from lamina.distributions.multivariate_normal import MultivariateNormal
from lamina.distributions.negative_binomial import NegativeBinomial
from lamina.distributions.normal import Normal
from lamina.distributions.one_hot_categorical import (
    OneHotCategorical,
    OneHotCategoricalStraightThrough,
)
from lamina.distributions.pareto import Pareto
from lamina.distributions.poisson import Poisson
from lamina.distributions.relaxed_bernoulli import RelaxedBernoulli
from lamina.distributions.relaxed_categorical import RelaxedOneHotCategorical
from lamina.distributions.studentT import StudentT
from lamina.distributions.transformed_distribution import TransformedDistribution
from lamina.distributions.transforms import (
    AbsTransform,
    AffineTransform,
    CatTransform,
    ComposeTransform,
    CorrCholeskyTransform,
    CumulativeDistributionTransform,
    ExpTransform,
    IndependentTransform,
    LowerCholeskyTransform,
    PositiveDefiniteTransform,
    PowerTransform,
    ReshapeTransform,
    SigmoidTransform,
    SoftmaxTransform,
    SoftplusTransform,
    StackTransform,
    StickBreakingTransform,
    TanhTransform,
    Transform,
    identity_transform,
)
from lamina.distributions.uniform import Uniform
from lamina.distributions.von_mises import VonMises
from lamina.distributions.weibull import Weibull
from lamina.distributions.wishart import Wishart

__all__ = [
    "AbsTransform",
    "AffineTransform",
    "Bernoulli",
    "Beta",
    "Binomial",
    "CatTransform",
    "Categorical",
    "Cauchy",
    "Chi2",
    "ComposeTransform",
    "ContinuousBernoulli",
    "CorrCholeskyTransform",
    "CumulativeDistributionTransform",
    "Dirichlet",
    "Distribution",
    "ExpTransform",
    "Exponential",
    "ExponentialFamily",
    "FisherSnedecor",
    "Gamma",
    "GeneralizedPareto",
    "Geometric",
    "Gumbel",
    "HalfCauchy",
    "HalfNormal",
    "Independent",
    "IndependentTransform",
    "InverseGamma",
    "Kumaraswamy",
    "LKJCholesky",
    "Laplace",
    "LogNormal",
    "LogisticNormal",
    "LowRankMultivariateNormal",
    "LowerCholeskyTransform",
    "MixtureSameFamily",
    "Multinomial",
    "MultivariateNormal",
    "NegativeBinomial",
    "Normal",
    "OneHotCategorical",
    "OneHotCategoricalStraightThrough",
    "Pareto",
    "Poisson",
    "PositiveDefiniteTransform",
    "PowerTransform",
    "RelaxedBernoulli",
    "RelaxedOneHotCategorical",
    "ReshapeTransform",
    "SigmoidTransform",
    "SoftmaxTransform",
    "SoftplusTransform",
    "StackTransform",
    "StickBreakingTransform",
    "StudentT",
    "TanhTransform",
    "Transform",
    "TransformedDistribution",
    "Uniform",
    "VonMises",
    "Weibull",
    "Wishart",
    "biject_to",
    "constraints",
    "identity_transform",
    "kl_divergence",
    "register_kl",
    "transform_to",
    "transforms",
    "utils",
]
