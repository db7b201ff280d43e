"""Pointwise operations: values from mathematics, PyTorch's rules for kinks, ties and numbers."""

import math

import numpy as np
import pytest

import lamina
from lamina.ops import activation

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


def leaf(*values):
    return lamina.tensor(values, dtype=lamina.float64).requires_grad_()


def slope(function, *values):
    x = leaf(*values)
    return lamina.autograd.grad(function(x).sum(), x)[0].tolist()


SPECIAL = {
    "erf": (math.erf, [-3.0, -0.7, 0.0, 1e-9, 0.4, 0.99, 1.01, 2.5, 6.0]),
    "erfc": (math.erfc, [-3.0, -0.7, 0.0, 0.4, 0.5, 0.99, 2.5, 6.0, 20.0, 26.0]),
    "lgamma": (math.lgamma, [-3.3, -0.2, 1e-9, 0.5, 0.999, 1.5, 2.001, 3.0, 7.9, 8.1, 1e5]),
}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions_are_exact_to_the_last_places(name):
    function, values = SPECIAL[name]
    got = getattr(lamina, name)(lamina.tensor(values, dtype=lamina.float64)).tolist()
    np.testing.assert_allclose(got, [function(v) for v in values], rtol=2e-14, atol=1e-15)


def test_erfinv_undoes_erf():
    x = np.linspace(-5, 5, 41)
    y = lamina.tensor(x, dtype=lamina.float64)
    condition = np.exp(np.minimum(x * x, 30)) * 1e-15 + 1e-15
    assert np.all(np.abs(lamina.erfinv(lamina.erf(y)).numpy() - x) <= condition)
    assert lamina.erfinv(lamina.tensor([1.0, -1.0])).tolist() == [math.inf, -math.inf]


def test_polygamma_at_known_points():
    one = lamina.tensor([1.0], dtype=lamina.float64)
    assert lamina.digamma(one).item() == pytest.approx(-0.5772156649015329, rel=1e-15)
    assert lamina.polygamma(1, one).item() == pytest.approx(math.pi**2 / 6, rel=1e-15)
    half_below = lamina.tensor([-0.5], dtype=lamina.float64)
    assert lamina.polygamma(1, half_below).item() == pytest.approx(math.pi**2 / 2 + 4, rel=1e-14)


def test_pow_has_no_nan_slopes_at_zero():
    assert slope(lambda x: x**0, 0.0, 2.0) == [0.0, 0.0]
    assert slope(lambda x: x**2, 0.0, 2.0) == [0.0, 4.0]
    assert slope(lambda y: lamina.zeros(2, dtype=lamina.float64) ** y, 0.0, 2.0) == [0.0, 0.0]
    assert slope(lambda y: 0**y, 0.0, 2.0) == [0.0, 0.0]


def test_ties_share_the_gradient():
    same = lamina.tensor([1.0], dtype=lamina.float64)
    assert slope(lambda x: lamina.maximum(x, same), 1.0) == [0.5]
    assert slope(lambda x: lamina.fmax(x, same), 1.0) == [1.0]


def test_bounds_pass_the_gradient():
    assert slope(lambda x: x.clamp(-1, 1), -1.0, 0.0, 1.0, 2.0) == [1.0, 1.0, 1.0, 0.0]
    assert slope(activation.hardtanh, -1.0, 0.0, 1.0) == [0.0, 1.0, 0.0]
    assert slope(activation.relu, -1.0, 0.0, 1.0) == [0.0, 0.0, 1.0]


def test_integers_and_zero():
    whole = lamina.tensor([7, -7])
    assert (whole // 2).tolist() == [3, -4]
    assert lamina.div(whole, 2, rounding_mode="trunc").tolist() == [3, -3]
    assert (whole % 3).tolist() == [1, 2]
    assert (lamina.tensor([2, -1, 1]) ** lamina.tensor([-1, -3, -5])).tolist() == [0, -1, 1]
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        whole // 0
    assert (lamina.tensor([1.0]) // 0).tolist() == [math.inf]


def test_numbers_never_widen_a_tensor():
    x = lamina.tensor([0.5, 2.0])
    for result in (x * 2.5, 1 - x, 2 / x, x**0.3, 3**x, lamina.xlogy(x, 2), x.clamp(0.1, 1)):
        assert result.dtype is lamina.float32


def test_bool_has_no_difference():
    truth = lamina.tensor([True, False])
    with pytest.raises(RuntimeError, match=r"bool tensors? is not supported"):
        truth - truth
    with pytest.raises(RuntimeError, match=r"bool tensors? is not supported"):
        truth.neg()


def test_equality_with_other_things_is_false():
    assert (lamina.tensor([1.0]) == None) is False  # noqa: E711
    assert lamina.tensor([1.0]) != "a"


def test_nodes_have_pytorchs_names():
    x = leaf(0.3, 0.6)
    names = {
        "AddBackward0": x + 1, "RsubBackward1": 1 - x, "DivBackward0": x / 2,
        "PowBackward0": x**2, "PowBackward1": x**x, "PowBackward2": 2**x,
        "ClampBackward1": x.clamp(0, 1), "SigmoidBackward0": x.sigmoid(),
        "HardtanhBackward0": activation.relu6(x), "SoftmaxBackward0": x.softmax(0),
    }  # fmt: skip
    assert {type(y.grad_fn).__name__ for y in names.values()} == set(names)


def test_halves_have_gradients_of_their_dtype():
    x = lamina.tensor([0.5, 1.0], dtype=lamina.bfloat16).requires_grad_()
    for function in (lamina.erf, lambda x: x * 2.5, activation.gelu, lamina.deg2rad):
        grad = lamina.autograd.grad(function(x).sum(), x)[0]
        assert grad.dtype is lamina.bfloat16


def test_a_conjugate_of_a_real_tensor_is_the_tensor():
    x = lamina.tensor([1.0])
    assert x.conj() is x
    assert lamina.tensor([1 + 2j]).conj().tolist() == [1 - 2j]


def test_complex_views_share_memory():
    z = lamina.tensor([[1 + 2j, 3 + 4j], [5 + 6j, 7 + 8j]])
    lamina.view_as_real(z.t()).mul_(2.0)
    assert z.tolist() == [[2 + 4j, 6 + 8j], [10 + 12j, 14 + 16j]]
    z.imag.neg_()
    assert z.tolist() == [[2 - 4j, 6 - 8j], [10 - 12j, 14 - 16j]]


def test_where_with_the_condition_alone_gives_positions():
    (places,) = lamina.where(lamina.tensor([False, True, True]))
    assert places.tolist() == [1, 2]
