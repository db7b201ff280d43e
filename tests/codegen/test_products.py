"""Products of matrices by kernels of our own, against products in a wider dtype."""

import ctypes
import threading
from contextlib import contextmanager

import numpy as np
import pytest
from codegen.machines import compiled
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina as torch
from lamina.codegen.kernels import product_plans, products
from lamina.codegen.llvm import machine
from lamina.devices import thread_count

native = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")
with_tiles = pytest.mark.skipif(not product_plans.has_tiles("f"), reason="needs llvmlite, and AVX2")

SIZES = st.integers(1, 60) | st.sampled_from([24, 64, 96, 97, 128, 191])
LAYOUTS = st.sampled_from(["by rows", "by columns", "far rows", "far columns", "one row", "lifted"])


@contextmanager
def for_all_sizes(in_panels=False):
    """Our kernels also make products that are left to BLAS elsewhere, as they lie or packed."""
    limits = dict.fromkeys(("LEAST_PRODUCTS", "LEAST_ROWS", "LEAST_COLUMNS"), 0)
    limits["MOST_AS_THEY_LIE"] = dict.fromkeys((16, 32), 0 if in_panels else 1 << 62)
    before = {name: getattr(product_plans, name) for name in limits}
    for name, limit in limits.items():
        setattr(product_plans, name, limit)
    products._prepared.cache_clear()
    try:
        yield
    finally:
        for name, limit in before.items():
            setattr(product_plans, name, limit)
        products._prepared.cache_clear()


def matrix(random, rows, columns, kind, layout="by rows"):
    """Numbers that lie in memory in one way or another."""
    if layout == "by columns":
        return matrix(random, columns, rows, kind).T
    if layout == "far columns":
        return matrix(random, columns, rows, kind, "far rows").T
    if layout == "far rows":
        return random.standard_normal((rows, columns + 5)).astype(kind)[:, 3:-2]
    if layout == "one row":
        return np.broadcast_to(random.standard_normal(columns).astype(kind), (rows, columns))
    if layout == "lifted":
        return matrix(random, rows, columns, kind)[::-1]
    return random.standard_normal((rows, columns)).astype(kind)


def assert_product(found, x, y):
    """The product, or stack of products, as near as rounding allows."""
    wide = np.longdouble if x.dtype == np.float64 else np.float64
    expected = np.matmul(x.astype(wide), y.astype(wide))
    size = np.matmul(np.abs(x).astype(wide), np.abs(y).astype(wide))
    assert found.dtype == x.dtype
    assert found.flags.c_contiguous
    assert np.all(np.abs(found - expected) <= np.finfo(x.dtype).eps * (x.shape[-1] + 2) * size)


@settings(max_examples=150, deadline=None)
@given(
    sizes=st.tuples(SIZES, SIZES, SIZES | st.sampled_from([384, 385, 800])),
    layouts=st.tuples(LAYOUTS, LAYOUTS), kind=st.sampled_from(["f", "d"]),
    in_panels=st.booleans(), seed=st.integers(0, 1000),
)  # fmt: skip
@native
def test_products_of_all_sizes_and_layouts(sizes, layouts, kind, in_panels, seed):
    random = np.random.default_rng(seed)
    rows, columns, depth = sizes
    x = matrix(random, rows, depth, kind, layouts[0])
    y = matrix(random, depth, columns, kind, layouts[1])
    with for_all_sizes(in_panels):
        assert_product(products.multiplied(x, y), x, y)


@with_tiles
def test_which_products_are_made_by_our_kernels():
    rows, turned = (1, 0), (0, 1)
    cases = [
        ((128, 128), (128, 128), rows, "stack"),
        ((100, 100), (100, 100), turned, "stack"),
        ((512, 512), (512, 512), turned, "product"),
        ((1024, 1024), (1024, 1024), rows, "product"),
        ((512, 16, 16), (512, 16, 16), rows, "stack"),
        ((32, 32), (32, 32), rows, None),
        ((2, 999), (999, 999), rows, None),
        ((999, 999), (999, 2), rows, None),
    ]
    for left, right, order, expected in cases:
        steps = [np.empty(shape, "f").strides for shape in (left, right)]
        if order == turned:
            steps[1] = steps[1][::-1]
        factors = product_plans.Factors(
            "f", left[:-2], (left[-2], right[-1], left[-1]), *steps, 4 * right[-1]
        )
        found = product_plans.plan(factors)
        assert (found and found.function) == expected


@native
def test_numbers_that_are_not_finite_stay_where_they_are():
    random = np.random.default_rng(0)
    x, y = matrix(random, 50, 70, "f"), matrix(random, 70, 45, "f")
    x[49, 69], y[0, 44], x[3, 0] = np.inf, np.nan, -np.inf
    with for_all_sizes(), np.errstate(invalid="ignore"):
        found, expected = products.multiplied(x, y), np.dot(x, y)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
    np.testing.assert_array_equal(np.isinf(found), np.isinf(expected))


@with_tiles
@pytest.mark.parametrize("adds", [False, True])
@pytest.mark.parametrize("is_turned", [False, True])
@pytest.mark.parametrize("in_panels", [False, True])
def test_nothing_beside_the_result_is_written(in_panels, is_turned, adds):
    random = np.random.default_rng(1)
    x = matrix(random, 101, 730, "f")
    y = matrix(random, 730, 67, "f", "by columns" if is_turned else "by rows")
    whole = random.standard_normal((103, 80)).astype("f")
    before, result = whole.copy(), whole[1:-1, 5:72]
    with for_all_sizes(in_panels):
        plan = product_plans.plan(
            product_plans.Factors(
                "f", (), (101, 67, 730), x.strides, y.strides, result.strides[0], adds
            )
        )
    assert plan.function == ("product" if in_panels else "stack")
    memory = np.full(plan.nbytes + 128, 7, np.uint8)
    start = -(-memory.ctypes.data // 64) * 64
    table = list(plan.numbers)
    table[:4] = x.ctypes.data, y.ctypes.data, result.ctypes.data, start
    address = products.address_of_product(plan.function, "f")
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)((ctypes.c_int64 * len(table))(*table))
    expected = x @ y + (before[1:-1, 5:72] if adds else 0)
    np.testing.assert_allclose(result, expected, rtol=1e-4, atol=1e-4)
    whole[1:-1, 5:72] = before[1:-1, 5:72]
    np.testing.assert_array_equal(whole, before)
    assert np.all(memory[start - memory.ctypes.data + plan.nbytes :] == 7)


@with_tiles
def test_results_do_not_depend_on_the_number_of_threads():
    random = np.random.default_rng(2)
    factors = [
        (torch.tensor(random.standard_normal(left)), torch.tensor(random.standard_normal(right)))
        for left, right in (((300, 500), (500, 400)), ((9, 70, 90), (9, 90, 80)))
    ]
    before = torch.get_num_threads()
    try:
        found = []
        for count in (1, before, 1):
            torch.set_num_threads(count)
            found.append([(x @ y).numpy().tobytes() for x, y in factors])
    finally:
        torch.set_num_threads(before)
    assert found[0] == found[1] == found[2]


@native
def test_several_threads_multiply_at_once():
    random = np.random.default_rng(3)
    x, y = matrix(random, 150, 200, "f"), matrix(random, 200, 150, "f")
    expected, found = products.multiplied(x, y), []

    def work():
        found.extend(np.array_equal(products.multiplied(x, y), expected) for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 600
    assert all(found)


@pytest.mark.parametrize("is_compiled", [False, True])
def test_blas_keeps_its_threads(is_compiled):
    read = thread_count.blas_function("openblas_get_num_threads")
    if read is None:
        pytest.skip("another BLAS")
    before = read()
    x, y = torch.ones(3, 400), torch.ones(400, 400)
    multiply = torch.compile(torch.mm) if is_compiled and machine.is_available() else torch.mm
    for _ in range(3):
        multiply(x, y)
    assert read() == before
    with thread_count.blas_alone, thread_count.blas_alone:
        assert read() == 1
    assert read() == before


def test_a_setting_made_meanwhile_holds_afterwards():
    read = thread_count.blas_function("openblas_get_num_threads")
    if read is None or thread_count.capacity() < 2:
        pytest.skip("another BLAS, or one core")
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        with thread_count.blas_alone:
            torch.set_num_threads(2)
            assert read() == 1
        assert read() == 2
    finally:
        torch.set_num_threads(before)


@native
def test_compiled_products_and_sums_of_them():
    random = np.random.default_rng(4)
    x, y = matrix(random, 90, 200, "f"), matrix(random, 200, 110, "f")

    def function(a, b):
        return a @ b, a.dot(b) + (2 * a).dot(3 * b), (b.T @ a.T) * 2

    run = compiled(function, x, y, native=True)
    product, total, turned = run(x, y)
    assert_product(product, x, y)
    np.testing.assert_allclose(total, 7 * product, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(turned, 2 * product.T, rtol=1e-4, atol=1e-4)


def test_gradients_of_a_large_product():
    random = np.random.default_rng(5)
    x, y = matrix(random, 70, 150, "d"), matrix(random, 150, 90, "d")
    g = matrix(random, 70, 90, "d")
    a, b = torch.tensor(x, requires_grad=True), torch.tensor(y, requires_grad=True)
    (a @ b).backward(torch.tensor(g))
    np.testing.assert_allclose(a.grad.numpy(), np.einsum("ij,kj->ik", g, y), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(b.grad.numpy(), np.einsum("ij,ik->jk", x, g), rtol=1e-12, atol=1e-12)
