"""Distributions by what mathematics asks of them: sums, integrals, moments, inverses, samples."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina
from lamina import distributions as D
from lamina.errors import LaminaError

INF = float("inf")


def f64(*values):
    return lamina.tensor(values, dtype=lamina.float64)


def number(value):
    return lamina.tensor(value, dtype=lamina.float64)


# A distribution of numbers, and the interval that has all but a negligible part of it.
CONTINUOUS = {
    "beta": (lambda: D.Beta(number(2.5), number(3.5)), 0, 1),
    "cauchy": (lambda: D.Cauchy(number(0.3), number(0.5)), -INF, INF),
    "chi2": (lambda: D.Chi2(number(3.5)), 0, INF),
    "continuous_bernoulli": (lambda: D.ContinuousBernoulli(number(0.3)), 0, 1),
    "continuous_bernoulli_half": (lambda: D.ContinuousBernoulli(number(0.4999)), 0, 1),
    "exponential": (lambda: D.Exponential(number(1.7)), 0, INF),
    "fisher": (lambda: D.FisherSnedecor(number(3.0), number(9.0)), 0, INF),
    "gamma": (lambda: D.Gamma(number(2.5), number(1.5)), 0, INF),
    "generalized_pareto": (
        lambda: D.GeneralizedPareto(number(0.5), number(1.0), number(0.2)), 0.5, INF,
    ),
    "gumbel": (lambda: D.Gumbel(number(0.5), number(1.5)), -INF, INF),
    "half_cauchy": (lambda: D.HalfCauchy(number(1.5)), 0, INF),
    "half_normal": (lambda: D.HalfNormal(number(1.5)), 0, INF),
    "inverse_gamma": (lambda: D.InverseGamma(number(4.5), number(1.5)), 0, INF),
    "kumaraswamy": (lambda: D.Kumaraswamy(number(2.5), number(3.5)), 0, 1),
    "laplace": (lambda: D.Laplace(number(0.5), number(1.5)), -INF, INF),
    "log_normal": (lambda: D.LogNormal(number(0.5), number(0.6)), 0, INF),
    "normal": (lambda: D.Normal(number(0.5), number(1.5)), -INF, INF),
    "pareto": (lambda: D.Pareto(number(1.5), number(4.5)), 1.5, INF),
    "relaxed_bernoulli": (lambda: D.RelaxedBernoulli(number(0.9), probs=number(0.4)), 0, 1),
    "student": (lambda: D.StudentT(number(6.5), number(0.5), number(1.5)), -INF, INF),
    "uniform": (lambda: D.Uniform(number(-0.5), number(1.5)), -0.5, 1.5),
    "von_mises": (lambda: D.VonMises(number(0.5), number(1.5)), 0.5 - math.pi, 0.5 + math.pi),
    "weibull": (lambda: D.Weibull(number(1.5), number(2.5)), 0, INF),
    "mixture": (
        lambda: D.MixtureSameFamily(D.Categorical(f64(3, 7)), D.Normal(f64(-1, 1), f64(0.5, 1))),
        -INF, INF,
    ),
}  # fmt: skip
DISCRETE = {
    "bernoulli": lambda: D.Bernoulli(number(0.3)),
    "binomial": lambda: D.Binomial(7, number(0.3)),
    "categorical": lambda: D.Categorical(f64(1, 2, 3)),
    "geometric": lambda: D.Geometric(number(0.3)),
    "negative_binomial": lambda: D.NegativeBinomial(number(2.5), number(0.3)),
    "poisson": lambda: D.Poisson(number(3.5)),
    "one_hot": lambda: D.OneHotCategorical(f64(1, 2, 3)),
}
VECTORS = {
    "dirichlet": lambda: D.Dirichlet(f64(2.5, 1.5, 3.0)),
    "multinomial": lambda: D.Multinomial(5, f64(1, 2, 3)),
    "multivariate": lambda: D.MultivariateNormal(f64(1, 2), lamina.eye(2).double()),
    "low_rank": lambda: D.LowRankMultivariateNormal(f64(1, 2), f64(1, 0.5)[:, None], f64(0.5, 1)),
}
ONLY_SAMPLED_MOMENTS = {"von_mises", "cauchy", "half_cauchy", "relaxed_bernoulli"}


def quadrature(low, high, count=60001):
    """Places and weights of the double exponential rule (Takahasi and Mori 1974)."""
    t = np.linspace(-4.5, 4.5, count)
    step = t[1] - t[0]
    if low == -INF:
        x = np.sinh(np.pi / 2 * np.sinh(t * 0.7))
        slope = np.pi / 2 * 0.7 * np.cosh(t * 0.7) * np.cosh(np.pi / 2 * np.sinh(t * 0.7))
    elif high == INF:
        x = low + np.exp(np.pi / 2 * np.sinh(t * 0.7))
        slope = np.pi / 2 * 0.7 * np.cosh(t * 0.7) * (x - low)
    else:
        u = np.pi / 2 * np.sinh(t * 0.65)
        x = low + (high - low) / (1 + np.exp(-2 * u))
        slope = (high - low) * np.pi / 2 * 0.65 * np.cosh(t * 0.65) / (2 * np.cosh(u) ** 2)
    inside = (x > low) & (x < high) & np.isfinite(slope)
    return x[inside], (slope * step)[inside]


def density_of(distribution, low, high):
    x, weights = quadrature(low, high)
    density = distribution.log_prob(lamina.tensor(x)).exp().numpy()
    return x, np.where(density > 0, density * weights, 0), density


@pytest.mark.parametrize("name", CONTINUOUS)
def test_densities_have_integral_one(name):
    make, low, high = CONTINUOUS[name]
    _, mass, _ = density_of(make(), low, high)
    assert mass.sum() == pytest.approx(1, abs=2e-5)


@pytest.mark.parametrize("name", sorted(CONTINUOUS.keys() - ONLY_SAMPLED_MOMENTS))
def test_moments_are_integrals(name):
    make, low, high = CONTINUOUS[name]
    distribution = make()
    x, mass, _ = density_of(distribution, low, high)
    mean = (x * mass).sum()
    assert distribution.mean.item() == pytest.approx(mean, rel=1e-4)
    assert distribution.variance.item() == pytest.approx(((x - mean) ** 2 * mass).sum(), rel=1e-3)
    assert distribution.stddev.item() == pytest.approx(distribution.variance.item() ** 0.5)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_entropies_are_integrals(name):
    make, low, high = CONTINUOUS[name]
    distribution = make()
    try:
        entropy = distribution.entropy().item()
    except NotImplementedError:
        assert name in ("fisher", "relaxed_bernoulli", "von_mises", "mixture")
        return
    _, mass, density = density_of(distribution, low, high)
    wanted = -(mass * np.log(np.where(density > 0, density, 1))).sum()
    assert entropy == pytest.approx(wanted, rel=1e-3)
    assert distribution.perplexity().item() == pytest.approx(math.exp(entropy))


@pytest.mark.parametrize("name", CONTINUOUS)
def test_distribution_functions_are_integrals(name):
    make, low, high = CONTINUOUS[name]
    distribution = make()
    x, mass, _ = density_of(distribution, low, high)
    chances = mass.cumsum()
    places = np.searchsorted(chances, [0.1, 0.5, 0.9])
    try:
        got = distribution.cdf(lamina.tensor(x[places])).numpy()
    except NotImplementedError:
        assert name in ("beta", "fisher", "relaxed_bernoulli", "student", "von_mises")
        return
    np.testing.assert_allclose(got, chances[places], atol=2e-3)
    try:
        back = distribution.icdf(lamina.tensor(got)).numpy()
    except NotImplementedError:
        assert name in ("chi2", "gamma", "inverse_gamma", "mixture")
        return
    np.testing.assert_allclose(back, x[places], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", CONTINUOUS)
def test_modes_are_the_highest_places(name):
    make, low, high = CONTINUOUS[name]
    distribution = make()
    try:
        mode = distribution.mode
    except NotImplementedError:
        return
    if mode.isnan():
        assert name == "uniform"
        return
    _, _, density = density_of(distribution, low, high)
    at_mode = distribution.log_prob(mode + (1e-9 if name == "half_normal" else 0)).exp().item()
    assert at_mode >= density.max() * (1 - 1e-6)


@pytest.mark.parametrize("name", DISCRETE)
def test_probabilities_have_sum_one(name):
    distribution = DISCRETE[name]()
    values = (
        distribution.enumerate_support()
        if distribution.has_enumerate_support
        else lamina.arange(200, dtype=lamina.float64)
    )
    logs = distribution.log_prob(values)
    chances = logs.exp().numpy()
    assert chances.sum() == pytest.approx(1, abs=1e-12)
    if name not in ("categorical", "one_hot"):
        mean = (values.numpy() * chances).sum()
        assert distribution.mean.item() == pytest.approx(mean)
        spread = ((values.numpy() - mean) ** 2 * chances).sum()
        assert distribution.variance.item() == pytest.approx(spread)
        assert values.numpy()[chances.argmax()] == distribution.mode.item()
    if name not in ("negative_binomial", "poisson"):
        assert distribution.entropy().item() == pytest.approx(-(chances * np.log(chances)).sum())


def test_multinomial_probabilities_and_entropy():
    distribution = D.Multinomial(4, f64(0.2, 0.3, 0.5))
    values = [(i, j, 4 - i - j) for i in range(5) for j in range(5 - i)]
    logs = distribution.log_prob(lamina.tensor(values, dtype=lamina.float64)).numpy()
    assert np.exp(logs).sum() == pytest.approx(1)
    assert distribution.entropy().item() == pytest.approx(-(np.exp(logs) * logs).sum())


SAMPLED = {name: make for name, (make, _, _) in CONTINUOUS.items()} | DISCRETE | VECTORS


@pytest.mark.parametrize("name", SAMPLED)
def test_samples_have_the_moments_and_are_of_the_support(name):
    lamina.manual_seed(0)
    distribution = SAMPLED[name]()
    sample = distribution.sample((3000,))
    assert not sample.requires_grad
    assert bool(distribution.support.check(sample).all())
    if name in ONLY_SAMPLED_MOMENTS | {"categorical"}:
        return
    spread = distribution.stddev.detach().numpy()
    error = np.abs(sample.double().mean(0).numpy() - distribution.mean.numpy())
    assert (error < 5 * spread / 3000**0.5 + 1e-12).all()


# --- divergences -------------------------------------------------------------------------------

CROSSED = [
    "beta", "continuous_bernoulli", "exponential", "gamma", "gumbel", "laplace", "normal", "pareto",
    "uniform",
]  # fmt: skip
NOT_WRITTEN = ("beta", "continuous_bernoulli", "gamma", "gumbel", "laplace", "pareto")


@pytest.mark.parametrize("pair", list(itertools.product(CROSSED, CROSSED)), ids="-".join)
def test_divergences_are_integrals(pair):
    (make_p, low, high), (make_q, q_low, q_high) = (CONTINUOUS[name] for name in pair)
    if pair == ("uniform", "pareto"):
        make_p, low, high = (lambda: D.Uniform(number(2.0), number(3.0))), 2.0, 3.0
    elif pair[0] == "uniform" and q_low > -1:
        make_p, low, high = (lambda: D.Uniform(number(0.25), number(0.75))), 0.25, 0.75
    p, q = make_p(), make_q()
    try:
        got = D.kl_divergence(p, q).item()
    except NotImplementedError:
        assert pair[1] in NOT_WRITTEN
        return
    if low < q_low or high > q_high:
        assert got == INF
        return
    x, mass, density = density_of(p, low, high)
    there = lamina.tensor(x)
    with np.errstate(all="ignore"):
        terms = mass * (np.log(density) - q.log_prob(there).numpy())
    assert got == pytest.approx(np.where(mass > 1e-300, terms, 0).sum(), rel=1e-3, abs=1e-5)


def test_divergence_of_a_distribution_from_itself_is_zero():
    for make in [*SAMPLED.values(), lambda: D.Wishart(number(4.0), lamina.eye(2).double())]:
        try:
            assert D.kl_divergence(make(), make()).item() == pytest.approx(0, abs=1e-9)
        except NotImplementedError:
            continue


def test_the_nearest_registered_divergence_is_taken():
    class Narrow(D.Normal):
        pass

    class Narrower(Narrow):
        pass

    @D.register_kl(Narrow, D.Normal)
    def left(p, q):
        return number(1.0)

    assert D.kl_divergence(Narrower(0.0, 1.0), D.Normal(0.0, 1.0)).item() == 1.0
    assert D.kl_divergence(D.Normal(0.0, 1.0), Narrower(0.0, 1.0)).item() == 0.0

    @D.register_kl(D.Normal, Narrow)
    def right(p, q):
        return number(2.0)

    with pytest.warns(RuntimeWarning, match="Ambiguous"):
        D.kl_divergence(Narrower(0.0, 1.0), Narrower(0.0, 1.0))


# --- transforms --------------------------------------------------------------------------------

BIJECTIONS = [
    D.ExpTransform(), D.SigmoidTransform(), D.TanhTransform(), D.SoftplusTransform(),
    D.AffineTransform(1.0, -2.0), D.ComposeTransform([D.ExpTransform(), D.PowerTransform(0.5)]),
    D.StickBreakingTransform(), D.CorrCholeskyTransform(),
    D.CatTransform([D.ExpTransform(), D.TanhTransform()], -1, [1, 2]),
    D.StackTransform([D.ExpTransform(), D.TanhTransform(), D.identity_transform], -1),
    D.IndependentTransform(D.ExpTransform(), 1), D.ReshapeTransform((3,), (1, 3)),
]  # fmt: skip


@given(
    values=st.lists(st.floats(-2, 2), min_size=3, max_size=3), k=st.integers(0, len(BIJECTIONS) - 1)
)
@settings(deadline=None)
def test_bijections_have_their_inverse_and_their_jacobian(values, k):
    transform, x = BIJECTIONS[k], f64(*values)
    y = transform(x)
    assert bool(transform.codomain.check(y).all())
    np.testing.assert_allclose(transform.inv(y).numpy(), values, atol=1e-6)

    def independent_part(x):
        y = transform(x)
        if isinstance(transform, D.StickBreakingTransform):
            return y[:-1]
        if isinstance(transform, D.CorrCholeskyTransform):
            return lamina.stack([y[1, 0], y[2, 0], y[2, 1]])
        return y.reshape(-1)

    jacobian = lamina.autograd.functional.jacobian(independent_part, x)
    wanted = float(np.log(np.abs(np.linalg.det(jacobian.numpy()))))
    assert transform.log_abs_det_jacobian(x, y).sum().item() == pytest.approx(wanted, abs=1e-5)


CONSTRAINTS = [
    "real", "positive", "nonnegative", "unit_interval", "simplex", "lower_cholesky",
    "positive_definite", "corr_cholesky",
]  # fmt: skip


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("registry", [D.biject_to, D.transform_to])
def test_registries_lead_into_constraints(name, registry):
    constraint = getattr(D.constraints, name)
    if registry is D.biject_to and name in ("lower_cholesky", "positive_definite"):
        with pytest.raises(NotImplementedError, match="Cannot transform"):
            registry(constraint)
        return
    x = lamina.tensor(np.random.default_rng(0).normal(size=(3, 3)))
    assert bool(constraint.check(registry(constraint)(x)).all())


def test_caches_give_the_very_argument_back():
    transform = D.TanhTransform(cache_size=1)
    x = f64(20.0)
    assert transform.inv(transform(x)) is x
    assert not math.isfinite(transform.with_cache(0).inv(D.TanhTransform()(x)).item())
    assert transform.inv.inv is transform


# --- the base ----------------------------------------------------------------------------------


def test_values_and_parameters_are_checked_unless_told_otherwise():
    with pytest.raises(ValueError, match="Expected parameter scale") as caught:
        D.Normal(0.0, -1.0)
    assert isinstance(caught.value, LaminaError)
    assert caught.value.code == "L704"
    assert D.Normal(0.0, -1.0, validate_args=False).scale.item() == -1.0
    assert D.Exponential(1.0, validate_args=False).log_prob(lamina.tensor(-1.0)).item() == 1.0
    D.Distribution.set_default_validate_args(False)
    try:
        D.Normal(0.0, -1.0)
    finally:
        D.Distribution.set_default_validate_args(True)


def test_logits_and_probabilities_are_each_others():
    for kind, probs in ((D.Bernoulli, f64(0.3)), (D.Categorical, f64(0.3, 0.7))):
        made = kind(probs)
        assert "logits" not in vars(made)
        np.testing.assert_allclose(kind(logits=made.logits).probs.numpy(), probs.numpy())
        assert "logits" in vars(made)


def test_expanded_distributions_keep_their_class_and_checks():
    made = D.Gumbel(f64(1.0, 2.0), 1.0).expand((3, 2))
    assert type(made) is D.Gumbel
    assert made.batch_shape == (3, 2)
    assert made.sample().shape == (3, 2)
    with pytest.raises(ValueError, match="to be within the support"):
        D.Exponential(1.0).expand([2]).log_prob(f64(-1.0, 1.0))


def test_subclasses_with_a_constructor_of_their_own_must_expand_themselves():
    class Standard(D.Normal):
        def __init__(self, name):
            self.name = name
            super().__init__(0.0, 1.0)

    with pytest.raises(NotImplementedError, match=r"must also define a custom \.expand\(\) method"):
        Standard("x").expand([2])

    class Whole(Standard):
        def expand(self, batch_shape, _instance=None):
            new = self._get_checked_instance(Whole, _instance)
            new.name = self.name
            return super().expand(batch_shape, _instance=new)

    made = Whole("x").expand([2])
    assert made.name == "x"
    assert made.mean.tolist() == [0.0, 0.0]


def test_a_distribution_of_the_users_own():
    class Point(D.Distribution):
        arg_constraints = {"at": D.constraints.real}  # noqa: RUF012  as programs write it
        support = D.constraints.real

        def __init__(self, at):
            self.at = at
            super().__init__(at.shape)

        def log_prob(self, value):
            self._validate_sample(value)
            return lamina.where(value == self.at, 0.0, -INF)

    made = D.Independent(Point(f64(1.0, 2.0)), 1)
    assert made.log_prob(f64(1.0, 2.0)).item() == 0.0
    with pytest.raises(NotImplementedError):
        made.rsample()


def test_policy_gradients_and_reparameterization_flow():
    logits = f64(0.1, 0.2, 0.3).requires_grad_()
    policy = D.Categorical(logits=logits)
    (-policy.log_prob(policy.sample())).backward()
    assert logits.grad.sum().item() == pytest.approx(0, abs=1e-12)
    shape = f64(2.0).requires_grad_()
    lamina.manual_seed(0)
    D.Gamma(shape, f64(1.0)).rsample((2000,)).mean().backward()
    assert shape.grad.item() == pytest.approx(1.0, abs=0.1)  # the mean is the shape


def test_samples_of_a_seed_come_again_and_states_stay_right():
    lamina.manual_seed(1)
    first = [
        D.Gamma(f64(0.5), f64(1.0)).sample(),
        D.Binomial(20, f64(0.5)).sample(),
        lamina.randn(3),
    ]
    lamina.manual_seed(1)
    second = [
        D.Gamma(f64(0.5), f64(1.0)).sample(),
        D.Binomial(20, f64(0.5)).sample(),
        lamina.randn(3),
    ]
    assert [t.tolist() for t in first] == [t.tolist() for t in second]
