"""Stacks of products by kernels of our own, eager and compiled, against NumPy in a wider dtype."""

import numpy as np
import pytest
from codegen.machines import compiled
from codegen.test_products import assert_product, for_all_sizes, native, with_tiles
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina as torch
from lamina.codegen.kernels import products

STACKS = st.sampled_from([
    ((3,), (3,)), ((4, 3), (4, 3)), ((4, 3), (3,)), ((3,), (4, 1)), ((1, 5), (2, 1)), ((), (3,)),
    ((3,), ()), ((2, 3, 2), (2, 1, 2)), ((2, 1, 2, 1), (3, 1, 2)),
])  # fmt: skip
SIZES = st.integers(1, 40) | st.sampled_from([64, 97])
LAYOUTS = st.sampled_from(["by rows", "by columns", "heads", "apart", "backwards"])
"""`heads`: the stack's last axis lies between rows and columns, as in attention's views."""


def stack(random, axes, rows, columns, kind, layout):
    """Numbers that lie in memory in one way or another."""
    count = len(axes)
    if layout == "by columns":
        return stack(random, axes, columns, rows, kind, "by rows").swapaxes(-1, -2)
    if layout == "heads" and axes:
        made = stack(random, (*axes[:-1], rows), axes[-1], columns, kind, "by rows")
        return made.swapaxes(count - 1, count)
    if layout == "apart":
        return stack(random, axes, rows + 2, columns + 3, kind, "by rows")[..., 1:-1, 2:-1]
    if layout == "backwards":
        return stack(random, axes, rows, columns, kind, "by rows")[::-1]
    return random.standard_normal((*axes, rows, columns)).astype(kind)


def wide(*arrays):
    """Arrays in float64."""
    return [array.astype(np.float64) for array in arrays]


@settings(max_examples=80, deadline=None)
@given(
    axes=STACKS, sizes=st.tuples(SIZES, SIZES, SIZES | st.sampled_from([600])),
    layouts=st.tuples(LAYOUTS, LAYOUTS), kind=st.sampled_from(["f", "d"]),
    seed=st.integers(0, 1000),
)  # fmt: skip
@native
def test_stacks_of_all_shapes_and_layouts(axes, sizes, layouts, kind, seed):
    random = np.random.default_rng(seed)
    rows, columns, depth = sizes
    x = stack(random, axes[0], rows, depth, kind, layouts[0])
    y = stack(random, axes[1], depth, columns, kind, layouts[1])
    with for_all_sizes():
        assert_product(products.multiplied(x, y), x, y)


@settings(max_examples=30, deadline=None)
@given(
    axes=STACKS, sizes=st.tuples(SIZES, SIZES, SIZES), layouts=st.tuples(LAYOUTS, LAYOUTS),
    seed=st.integers(0, 1000),
)  # fmt: skip
@native
def test_compiled_stacks(axes, sizes, layouts, seed):
    random = np.random.default_rng(seed)
    rows, columns, depth = sizes
    x = stack(random, axes[0], rows, depth, "f", layouts[0])
    y = stack(random, axes[1], depth, columns, "f", layouts[1])
    with for_all_sizes():
        product, doubled = compiled(lambda a, b: (a @ b, 2 * (a @ (b + 1))), x, y, native=True)(
            x, y
        )
    assert_product(product, x, y)
    a, b = wide(x, y)
    np.testing.assert_allclose(doubled, 2 * (a @ (b + 1)), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize(
    ("left", "right"),
    [((16, 24, 40), (16, 40, 24)), ((2, 6, 32, 20), (6, 20, 32)), ((40, 64), (12, 64, 24))],
)
def test_gradients_of_stacks(left, right, is_compiled):
    random = np.random.default_rng(3)
    x, y = random.standard_normal(left), random.standard_normal(right)
    g = random.standard_normal((x @ y).shape)
    a, b = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    multiply = torch.compile(torch.matmul) if is_compiled else torch.matmul
    multiply(a, b).backward(torch.tensor(g))
    of_x, of_y = g @ y.swapaxes(-1, -2), x.swapaxes(-1, -2) @ g
    of_x = of_x.sum(tuple(range(of_x.ndim - x.ndim)))
    of_y = of_y.sum(tuple(range(of_y.ndim - y.ndim)))
    np.testing.assert_allclose(a.grad.numpy(), of_x, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(b.grad.numpy(), of_y, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["matmul", "bmm", "einsum", "baddbmm"])
def test_every_way_to_a_stack(name):
    random = np.random.default_rng(4)
    x, y = stack(random, (9,), 30, 40, "f", "by rows"), stack(random, (9,), 40, 50, "f", "heads")
    a, b = torch.from_numpy(x), torch.from_numpy(y)
    found = {
        "matmul": lambda: a @ b,
        "bmm": lambda: torch.bmm(a, b),
        "einsum": lambda: torch.einsum("bij,bjk->bik", a, b),
        "baddbmm": lambda: torch.baddbmm(torch.zeros(9, 30, 50), a, b),
    }[name]()
    assert found.is_contiguous()
    assert_product(found.numpy(), x, y)


@native
def test_numbers_that_are_not_finite_stay_in_their_rows():
    random = np.random.default_rng(5)
    x, y = stack(random, (5,), 13, 20, "f", "by rows"), stack(random, (5,), 20, 19, "f", "by rows")
    x[2, 12, 19], y[4, 0, 18], x[0, 0, 0] = np.inf, np.nan, -np.inf
    with for_all_sizes(), np.errstate(invalid="ignore"):
        found, expected = products.multiplied(x, y), np.matmul(x, y)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))


@pytest.mark.parametrize(
    ("left", "right"),
    [((0, 300, 40), (0, 40, 90)), ((30, 0, 99), (30, 99, 99)), ((9, 99, 0), (9, 0, 99))],
)
def test_stacks_of_nothing(left, right):
    found = torch.ones(left) @ torch.ones(right)
    assert found.shape == (*left[:-1], right[-1])
    assert not found.any()


@with_tiles
def test_stacks_that_do_not_fit_are_refused():
    x, y = np.ones((3, 90, 90), "f"), np.ones((4, 90, 90), "f")
    with pytest.raises(ValueError, match="broadcast"):
        products.multiplied(x, y)
    with pytest.raises(ValueError, match="mismatch"):
        products.multiplied(x, y[:3, :80])
