"""All distributions, method by method, beside PyTorch: values, samples, gradients, texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import lamina

POSITIVE = "leaf([0.7, 2.5, 9.0])"
REAL = "leaf([-1.5, 0.4, 2.0])"
CHANCE = "leaf([0.2, 0.6, 0.9])"
WEIGHTS = "leaf([[0.2, 0.3, 0.5], [2.0, 1.0, 1.0]])"
LOGITS = "leaf([[0.2, -0.3, 1.5], [2.0, 1.0, 1.0]])"
COVARIANCE = "leaf([[2.0, 0.5, 0.3], [0.5, 1.0, 0.1], [0.3, 0.1, 0.7]])"
LOWER = "leaf([[[1.2, 0.0, 0.0], [0.5, 1.0, 0.0], [0.3, -0.4, 0.7]]] * 2)"
MEAN = "leaf([[0.1, -0.7, 1.0], [0.0, 1.0, 2.0]])"

DISTRIBUTIONS = f"""
Bernoulli({CHANCE})
Bernoulli(logits={REAL})
Beta({POSITIVE}, leaf([0.5, 3.0, 1.2]))
Binomial(5, {CHANCE})
Binomial(t.tensor([5.0, 40.0, 300.0], dtype=t.float64), {CHANCE})
Binomial(4, logits={REAL})
Categorical({WEIGHTS})
Categorical(logits={LOGITS})
Cauchy({REAL}, {POSITIVE})
Chi2({POSITIVE})
ContinuousBernoulli(leaf([0.2, 0.5, 0.4995, 0.9]))
ContinuousBernoulli(logits={REAL})
Dirichlet(leaf([[0.7, 2.5, 9.0], [1.5, 3.0, 1.0]]))
Exponential({POSITIVE})
FisherSnedecor({POSITIVE}, leaf([5.0, 3.0, 8.0]))
Gamma({POSITIVE}, leaf([0.5, 3.0, 1.2]))
GeneralizedPareto({REAL}.float(), {POSITIVE}.float(), leaf([-0.3, 0.0, 0.2]).float())
Geometric({CHANCE})
Geometric(logits={REAL})
Gumbel({REAL}, {POSITIVE})
HalfCauchy({POSITIVE})
HalfNormal({POSITIVE})
Independent(m.Normal({MEAN}, 1.0), 1)
InverseGamma(leaf([0.7, 2.5, 9.0]), leaf([0.5, 3.0, 1.2]))
Kumaraswamy({POSITIVE}, leaf([0.5, 3.0, 1.2]))
Laplace({REAL}, {POSITIVE})
LKJCholesky(3, leaf([0.7, 2.0]))
LogNormal({REAL}, leaf([0.7, 0.5, 0.2]))
LogisticNormal({MEAN}, leaf([0.7, 0.5, 0.2]))
LowRankMultivariateNormal({MEAN}, leaf([[1.0, 0.2], [0.3, 0.4], [-0.5, 0.7]]), {POSITIVE})
MixtureSameFamily(m.Categorical({WEIGHTS}), m.Normal({MEAN}, leaf([0.7, 0.5, 0.2])))
MixtureSameFamily(m.Categorical(leaf([0.3, 0.7])), m.MultivariateNormal({MEAN}, {COVARIANCE}))
Multinomial(6, {WEIGHTS})
Multinomial(6, logits={LOGITS})
MultivariateNormal({MEAN}, {COVARIANCE})
MultivariateNormal({MEAN}, precision_matrix={COVARIANCE})
MultivariateNormal(leaf([0.1, -0.7, 1.0]), scale_tril={LOWER})
NegativeBinomial(leaf([1.5, 3.0, 8.0]), {CHANCE})
NegativeBinomial(3, logits={REAL})
Normal({REAL}, {POSITIVE})
Normal(0.5, 2.0)
OneHotCategorical({WEIGHTS})
OneHotCategoricalStraightThrough(logits={LOGITS})
Pareto({POSITIVE}, leaf([0.5, 3.0, 1.2]))
Poisson(leaf([0.7, 2.5, 30.0]))
RelaxedBernoulli(t.tensor(0.7, dtype=t.float64), {CHANCE})
RelaxedBernoulli(t.tensor(0.7, dtype=t.float64), logits={REAL})
RelaxedOneHotCategorical(t.tensor(0.7, dtype=t.float64), {WEIGHTS})
RelaxedOneHotCategorical(t.tensor(0.7, dtype=t.float64), logits={LOGITS})
StudentT(leaf([0.7, 2.5, 9.0]), {REAL}, {POSITIVE})
TransformedDistribution(m.Normal({REAL}, 1.0), [m.ExpTransform(), m.AffineTransform(1.0, -2.0)])
TransformedDistribution(m.Normal({MEAN}, 1.0), m.StickBreakingTransform())
Uniform({REAL}, leaf([0.0, 1.4, 2.5]))
VonMises({REAL}, {POSITIVE})
Weibull({POSITIVE}, leaf([0.5, 3.0, 1.2]))
Wishart(leaf([3.0, 4.5]), {COVARIANCE})
Wishart(leaf([3.0, 4.5]), scale_tril={LOWER})
""".strip().splitlines()

VALUES = ["mean", "mode", "variance", "stddev", "entropy()", "perplexity()"]
pytestmark = pytest.mark.filterwarnings("ignore:Singular sample:UserWarning")

LOOSE = 5e-3
"""PyTorch's derivatives along gamma and beta samples are approximations to about four digits."""


class Side:
    """A distribution in one of the two libraries, and the leaves that it was made from."""

    def __init__(self, module: Any, text: str) -> None:
        self.module = module
        self.leaves: list[Any] = []
        space = {"m": module.distributions, "t": module, "leaf": self.leaf}
        self.distribution = eval("m." + text, space)

    def leaf(self, values: Any) -> Any:
        made = self.module.tensor(values, dtype=self.module.float64, requires_grad=True)
        self.leaves.append(made)
        return made

    def gradients(self, result: Any) -> list[Any]:
        """Gradients of a weighted sum by all leaves; zeros where there is none."""
        if not result.requires_grad:
            return [None for _ in self.leaves]
        finite = self.module.where(result.isfinite(), result, 0.0)
        weights = self.module.arange(result.numel(), dtype=self.module.float64).reshape(
            result.shape
        )
        total = (finite * (weights + 1)).sum()
        try:
            found = self.module.autograd.grad(total, self.leaves, allow_unused=True)
        except NotImplementedError:
            return [None for _ in self.leaves]
        return [None if g is None else g.numpy() for g in found]


def sides(text: str) -> tuple[Side, Side]:
    return Side(lamina, text), Side(torch, text)


def numbers(tensor: Any) -> Any:
    return tensor.detach().numpy()


def tolerance(text: str, rtol: float) -> float:
    """PyTorch has an approximation of I0 for von Mises, and float32 for generalized Pareto."""
    return max(rtol, 5e-5 if "float()" in text else 5e-6 if "VonMises" in text else 0.0)


def compare(text: str, function: Any, rtol: float = 1e-9, grad_rtol: float = 1e-7) -> None:
    """The same result, dtype and gradients; or the same class of error."""
    rtol, grad_rtol = tolerance(text, rtol), tolerance(text, grad_rtol)
    ours, theirs = sides(text)
    try:
        wanted = function(theirs)
    except Exception as error:
        with pytest.raises(type(error)):
            function(ours)
        return
    got = function(ours)
    assert str(got.dtype) == str(wanted.dtype)
    assert got.requires_grad == wanted.requires_grad
    np.testing.assert_allclose(numbers(got), numbers(wanted), rtol=rtol, atol=1e-9)
    for own, other in zip(ours.gradients(got), theirs.gradients(wanted), strict=True):
        if own is None or other is None:
            assert own is None or not own.any()
            assert other is None or not other.any()
        else:
            np.testing.assert_allclose(own, other, rtol=grad_rtol, atol=grad_rtol * 1e-2)


def seeded(side: Side) -> Any:
    side.module.manual_seed(7)
    return side.distribution


def drawn(side: Side, method: str, shape: Any) -> Any:
    """A sample from a seed. PyTorch throws the first one of a Wishart distribution away."""
    distribution = seeded(side)
    if isinstance(distribution, torch.distributions.Wishart):
        return distribution._bartlett_sampling(torch.Size(shape))
    if isinstance(distribution, lamina.distributions.Wishart):
        return distribution.rsample(shape)
    return getattr(distribution, method)(shape)


@pytest.mark.parametrize("text", DISTRIBUTIONS)
@pytest.mark.parametrize("name", VALUES)
def test_moments_and_entropies(text: str, name: str) -> None:
    if text.startswith("Kumaraswamy") and name == "mode":
        pytest.skip("PyTorch's is NaN; tests/distributions/test_distributions.py has ours")
    compare(text, lambda side: eval("d." + name, {"d": side.distribution}))


@pytest.mark.parametrize("text", DISTRIBUTIONS)
@pytest.mark.parametrize("shape", [(), (2,), (2, 9)])
def test_samples(text: str, shape: Any) -> None:
    compare(text, lambda side: drawn(side, "sample", shape), rtol=1e-7, grad_rtol=LOOSE)


@pytest.mark.parametrize("text", DISTRIBUTIONS)
def test_samples_with_gradients(text: str) -> None:
    compare(text, lambda side: drawn(side, "rsample", (4,)), rtol=1e-7, grad_rtol=LOOSE)


def shared_value(text: str) -> Any:
    """A sample of PyTorch's, as an array."""
    torch.manual_seed(3)
    with torch.no_grad():
        return Side(torch, text).distribution.sample((4,)).numpy()


@pytest.mark.parametrize("text", DISTRIBUTIONS)
def test_log_probabilities(text: str) -> None:
    value = shared_value(text)
    compare(text, lambda side: side.distribution.log_prob(side.module.tensor(value)))


@pytest.mark.parametrize("text", DISTRIBUTIONS)
@pytest.mark.parametrize("name", ["cdf", "icdf"])
def test_distribution_functions(text: str, name: str) -> None:
    value = shared_value(text)
    if name == "icdf":
        value = np.linspace(0.05, 0.95, value.size).reshape(value.shape)
    compare(text, lambda side: getattr(side.distribution, name)(side.module.tensor(value)))


@pytest.mark.parametrize("text", DISTRIBUTIONS)
def test_supports(text: str) -> None:
    ours, theirs = (side.distribution for side in sides(text))
    assert (ours.has_rsample, ours.has_enumerate_support) == (
        theirs.has_rsample, theirs.has_enumerate_support,
    )  # fmt: skip
    support = theirs.support
    assert (ours.support.event_dim, ours.support.is_discrete) == (
        support.event_dim, support.is_discrete,
    )  # fmt: skip
    assert type(ours.support).__name__.strip("_") == type(support).__name__.strip("_")
    value = shared_value(text)
    for shifted in (value, value + 0.25, -value, value * np.nan):
        got = ours.support.check(lamina.tensor(shifted))
        assert numbers(got).tolist() == numbers(support.check(torch.tensor(shifted))).tolist()
    for expand in (True, False):
        if ours.has_enumerate_support and "300.0" not in text:
            got, wanted = ours.enumerate_support(expand), theirs.enumerate_support(expand)
            assert numbers(got).tolist() == numbers(wanted).tolist()
            assert str(got.dtype) == str(wanted.dtype)


@pytest.mark.parametrize("text", DISTRIBUTIONS)
def test_shapes_texts_and_parameters(text: str) -> None:
    ours, theirs = (side.distribution for side in sides(text))
    assert repr(ours) == repr(theirs).replace("[inf", "[inf")
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)
    assert repr(ours.batch_shape) == repr(theirs.batch_shape)
    if hasattr(theirs, "param_shape"):
        assert tuple(ours.param_shape) == tuple(theirs.param_shape)
    expected = {name: repr(c) for name, c in theirs.arg_constraints.items()}
    if "tensor" not in str(expected):
        assert {name: repr(c) for name, c in ours.arg_constraints.items()} == expected
    for name in theirs.arg_constraints:
        got, wanted = numbers(getattr(ours, name)), numbers(getattr(theirs, name))
        np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("text", DISTRIBUTIONS)
def test_expanded(text: str) -> None:
    def expanded(side: Side) -> Any:
        distribution = side.distribution
        return distribution.expand((2, *distribution.batch_shape))

    value = shared_value(text)[:2]
    compare(text, lambda side: expanded(side).log_prob(side.module.tensor(value)))
    compare(text, lambda side: expanded(side).mean)

    def sampled(side: Side) -> Any:
        made = expanded(side)
        side.module.manual_seed(1)
        return made.sample((3,))

    if "Wishart" not in text:
        compare(text, sampled, rtol=1e-7)
    ours, theirs = (expanded(side) for side in sides(text))
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape)
    assert tuple(ours.event_shape) == tuple(theirs.event_shape)


# --- divergences -------------------------------------------------------------------------------

PAIRS = {
    "Bernoulli": ["(leaf([0.2, 0.6, 1.0]))", "(leaf([0.5, 0.0, 0.3]))"],
    "Beta": [f"({POSITIVE}, leaf([0.5, 3.0, 1.2]))", "(leaf([1.0, 2.0, 3.0]), 2.0)"],
    "Binomial": [f"(5, {CHANCE})", "(t.tensor([5, 4, 5]), leaf([0.5, 0.3, 0.3]))"],
    "Categorical": [f"({WEIGHTS})", f"(logits={LOGITS})"],
    "Cauchy": [f"({REAL}, {POSITIVE})", "(0.0, leaf([0.5, 3.0, 1.2]))"],
    "ContinuousBernoulli": [f"({CHANCE})", "(leaf([0.5, 0.1, 0.3]))"],
    "Dirichlet": [f"({WEIGHTS})", "(leaf([1.0, 2.0, 0.4]))"],
    "Exponential": [f"({POSITIVE})", "(leaf([0.5, 3.0, 1.2]))"],
    "Gamma": [f"({POSITIVE}, leaf([0.5, 3.0, 1.2]))", "(leaf([1.0, 2.0, 3.0]), 2.0)"],
    "Geometric": [f"({CHANCE})", f"(logits={REAL})"],
    "Gumbel": [f"({REAL}, {POSITIVE})", "(0.5, leaf([0.5, 3.0, 1.2]))"],
    "HalfNormal": [f"({POSITIVE})", "(leaf([0.5, 3.0, 1.2]))"],
    "Independent": [f"(m.Normal({MEAN}, 1.0), 1)", "(m.Normal(0.0, leaf([1.0, 2.0, 0.5])), 1)"],
    "Laplace": [f"({REAL}, {POSITIVE})", "(0.5, leaf([0.5, 3.0, 1.2]))"],
    "LowRankMultivariateNormal": [
        f"({MEAN}, leaf([[1.0], [0.3], [-0.5]]), {POSITIVE})",
        "(leaf([0.0, 0.0, 1.0]), leaf([[1.0, 0.1], [0.3, 0.0], [0.5, 1.0]]), leaf([1.0] * 3))",
    ],
    "MultivariateNormal": [f"({MEAN}, {COVARIANCE})", f"({MEAN} * 2, scale_tril={LOWER})"],
    "Normal": [f"({REAL}, {POSITIVE})", "(0.5, leaf([0.5, 3.0, 1.2]))"],
    "OneHotCategorical": [f"({WEIGHTS})", f"(logits={LOGITS})"],
    "Pareto": [
        "(leaf([0.7, 2.5, 9.0]), leaf([2.5, 3.0, 1.2]))",
        "(leaf([0.5, 2.5, 10.0]), leaf([1.0, 2.0, 3.0]))",
    ],
    "Poisson": [f"({POSITIVE})", "(leaf([0.5, 3.0, 1.2]))"],
    "TransformedDistribution": [
        f"(m.Normal({MEAN}, 1.0), [m.StickBreakingTransform()])",
        f"(m.Normal({MEAN} * 2, 1.0), [m.StickBreakingTransform()])",
    ],
    "Uniform": [
        "(leaf([-1.0, 0.2, 0.1]), leaf([2.0, 0.9, 0.6]))",
        "(leaf([0.0, -2.0, 0.1]), leaf([1.0, 9.0, 0.6]))",
    ],
    "ExponentialFamily": [],
}  # fmt: skip
REGISTERED = sorted((p.__name__, q.__name__) for p, q in torch.distributions.kl._KL_REGISTRY)


@pytest.mark.parametrize("pair", REGISTERED, ids="-".join)
def test_divergences(pair: tuple[str, str]) -> None:
    first, second = pair
    if first == "ExponentialFamily":
        first = second = "Wishart"
        texts = [f"(leaf(4.0), {COVARIANCE})", f"(leaf(5.0), {COVARIANCE} * 2)"]
    else:
        texts = [PAIRS[first][0], PAIRS[second][1]]
    if pair == ("ContinuousBernoulli", "Uniform"):  # PyTorch's is infinite for the unit interval
        texts[1] = "(leaf([-0.1, -2.0, 0.1]), leaf([1.1, 9.0, 0.6]))"
    text = f"kl_divergence(m.{first}{texts[0]}, m.{second}{texts[1]})"
    if first == "Wishart":  # PyTorch's has no gradient by p
        ours, theirs = (numbers(side.distribution) for side in sides(text))
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    else:
        compare(text, lambda side: side.distribution, grad_rtol=1e-6)


# --- transforms --------------------------------------------------------------------------------

TRANSFORMS = """
AbsTransform()
AffineTransform(leaf([1.0, 2.0, 3.0]), leaf([-1.0, 2.0, 0.5]))
AffineTransform(1.0, -2.0, event_dim=1)
ComposeTransform([m.ExpTransform(), m.AffineTransform(1.0, 3.0)])
ComposeTransform([m.TanhTransform(), m.StickBreakingTransform()])
CorrCholeskyTransform()
CumulativeDistributionTransform(m.Normal(0.0, 1.0))
ExpTransform()
ExpTransform(cache_size=1)
ExpTransform().inv.inv
IndependentTransform(m.ExpTransform(), 1)
LowerCholeskyTransform()
PositiveDefiniteTransform()
PowerTransform(leaf([2.0, -1.0, 0.5]))
ReshapeTransform((3,), (1, 3))
SigmoidTransform()
SoftmaxTransform()
SoftplusTransform()
StickBreakingTransform()
TanhTransform()
CatTransform([m.ExpTransform(), m.TanhTransform()], -1, [1, 2])
StackTransform([m.ExpTransform(), m.TanhTransform(), m.SigmoidTransform()], -1)
biject_to(m.constraints.simplex)
biject_to(m.constraints.greater_than(2.0))
biject_to(m.constraints.interval(1.0, 3.0))
biject_to(m.constraints.corr_cholesky)
transform_to(m.constraints.simplex)
transform_to(m.constraints.less_than(2.0))
transform_to(m.constraints.lower_cholesky)
transform_to(m.constraints.positive_definite)
transform_to(m.constraints.independent(m.constraints.positive, 1))
transform_to(m.constraints.cat([m.constraints.real, m.constraints.positive], -1, [1, 2]))
""".strip().splitlines()


def argument_for(text: str) -> Any:
    if (
        "LowerCholesky" in text
        or "PositiveDefinite" in text
        or "lower_" in text
        or "definite" in text
    ):
        return np.array([[[0.4, 0.2, 0.3], [0.1, -0.2, 0.5], [0.9, -0.5, 0.3]]] * 2)
    return np.array([[0.4, 0.3, 0.7], [1.2, 0.5, 0.1]])


@pytest.mark.parametrize("text", TRANSFORMS)
def test_transforms(text: str) -> None:
    x = argument_for(text)
    y = numbers(Side(torch, text).distribution(torch.tensor(x)))
    compare(text, lambda side: side.distribution(side.leaf(x.tolist())))
    compare(text, lambda side: side.distribution.inv(side.leaf(y.tolist())))

    def slope(side: Side) -> Any:
        given = side.leaf(x.tolist())
        return side.distribution.log_abs_det_jacobian(given, side.distribution(given))

    compare(text, slope)
    compare(text, lambda side: side.module.as_tensor(side.distribution.sign))
    ours, theirs = (side.distribution for side in sides(text))
    assert repr(ours) == repr(theirs)
    assert ours.bijective == theirs.bijective
    assert repr(ours.domain) == repr(theirs.domain)
    assert repr(ours.codomain) == repr(theirs.codomain)
    for name, shape in (("forward_shape", x.shape), ("inverse_shape", y.shape)):
        assert tuple(getattr(ours, name)(shape)) == tuple(getattr(theirs, name)(shape))


# --- mistakes ----------------------------------------------------------------------------------

MISTAKES = """
Normal(0.0, -1.0)|Expected parameter scale
Normal(0.0, 1.0).log_prob(3)|value argument to log_prob must be a Tensor
Normal("a", 1.0)|Input arguments must all be instances of Number
Normal(t.zeros(2), t.zeros(3))|
Normal(t.zeros(2), 1.0).log_prob(t.zeros(3))|Value is not broadcastable
Normal(0.0, 1.0).enumerate_support()|
Normal(t.zeros(2), 1.0).expand([3])|
Uniform(1.0, 0.0)|
Uniform(0.0, 1.0).log_prob(t.tensor(3.0))|to be within the support
Bernoulli()|Either `probs` or `logits` must be specified, but not both.
Bernoulli(t.tensor(1.5))|to satisfy the constraint
Categorical(t.tensor(1.0))|must be at least one-dimensional
Categorical(probs=t.ones(2), logits=t.ones(2))|Either `probs` or `logits`
Categorical(t.tensor([-1.0, 2.0]))|to satisfy the constraint Simplex()
Categorical(t.ones(3)).rsample()|
Categorical(t.ones(3)).icdf(t.tensor(0.5))|
Categorical(t.ones(3)).log_prob(t.tensor(3))|to be within the support
Geometric(t.tensor(0.0))|to be positive but found invalid values
Dirichlet(t.tensor(1.0))|must be at least one-dimensional
Binomial(t.tensor([2, 3]), t.tensor(0.5)).enumerate_support()|Inhomogeneous total count
Multinomial(t.tensor([2]), t.ones(2))|inhomogeneous total_count is not supported
Multinomial(3, t.ones(2)).log_prob(t.tensor([1.0, 3.0]))|to be within the support
Independent(m.Normal(0.0, 1.0), 1)|Expected reinterpreted_batch_ndims <=
LKJCholesky(1)|Expected dim to be an integer greater than or equal to 2
MixtureSameFamily(3, 4)|The Mixture distribution needs to be an
MixtureSameFamily(m.Categorical(t.ones(3)), m.Normal(t.zeros(2), 1.0))|does not equal
MultivariateNormal(t.zeros(2))|Exactly one of covariance_matrix
MultivariateNormal(t.zeros(2), -t.eye(2))|to satisfy the constraint PositiveDefinite()
MultivariateNormal(t.tensor(0.0), t.eye(2))|loc must be at least one-dimensional
Wishart(t.tensor(0.5), t.eye(2))|expected to be greater than ndim - 1
TransformedDistribution(m.Normal(0.0, 1.0), m.StickBreakingTransform())|base_distribution needs
TransformedDistribution(m.Normal(0.0, 1.0), 3)|transforms must be a Transform or list
kl_divergence(m.Normal(0.0, 1.0), m.Cauchy(0.0, 1.0))|No KL(p || q) is implemented
register_kl(3, 4)|
biject_to(m.constraints.integer_interval(0, 3))|Cannot transform _IntegerInterval constraints
biject_to.register(3, 4)|Expected constraint to be either a Constraint subclass or instance
ExpTransform(cache_size=2)|cache_size must be 0 or 1
ReshapeTransform((2,), (3,))|have different numbers of elements
Distribution(validate_args=False).sample()|
Distribution.set_default_validate_args(3)|
constraints.dependent.check(t.tensor(1.0))|Cannot determine validity of dependent constraint
""".strip().splitlines()


@pytest.mark.parametrize("row", MISTAKES)
def test_mistakes(row: str) -> None:
    text, words = row.split("|", 1)
    raised = []
    for module in (lamina, torch):
        try:
            eval("m." + text, {"m": module.distributions, "t": module})
        except Exception as error:
            raised.append(error)
    assert len(raised) == 2
    ours, theirs = raised
    assert isinstance(ours, type(theirs))
    assert words in str(ours).replace("\n", " ")
    assert words in str(theirs).replace("\n", " ")
