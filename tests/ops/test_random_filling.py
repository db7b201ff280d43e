"""Filling in place with random numbers."""

import pytest

import lamina

FILLS = {
    "uniform_": lambda t: t.uniform_(),
    "normal_": lambda t: t.normal_(),
    "random_": lambda t: t.random_(),
    "random_ below": lambda t: t.random_(7),
    "bernoulli_": lambda t: t.bernoulli_(),
    "bernoulli_ each": lambda t: t.bernoulli_(lamina.full((3,), 0.5)),
    "exponential_": lambda t: t.exponential_(),
    "cauchy_": lambda t: t.cauchy_(),
    "geometric_": lambda t: t.geometric_(0.5),
    "log_normal_": lambda t: t.log_normal_(),
}
REFUSED = {
    "a leaf": lambda: lamina.ones(3, requires_grad=True),
    "a view of a leaf": lambda: lamina.ones(4, requires_grad=True)[:3],
    "elements that share memory": lambda: lamina.ones(1).expand(3),
}


@pytest.mark.parametrize("fill", FILLS)
@pytest.mark.parametrize("target", REFUSED)
def test_a_fill_that_is_refused_draws_nothing(fill, target):
    """As in PyTorch: the generator is where it was."""
    lamina.manual_seed(0)
    before = lamina.get_rng_state()
    with pytest.raises(RuntimeError):
        FILLS[fill](REFUSED[target]())
    assert lamina.equal(lamina.get_rng_state(), before)
