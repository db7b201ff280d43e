"""What recurrent networks live on: panels, parts made in place, sums of products, sinking.

The references are NumPy's own results in float64.
"""

import numpy as np
import pytest
from codegen.machines import WAYS, compiled, graph_of
from hypothesis import given, settings
from hypothesis import strategies as st

from lamina.codegen.executable import Executable
from lamina.codegen.llvm import machine
from lamina.codegen.passes import join_products, make_in_place, simplify, use_panels
from lamina.codegen.passes.accumulating import accumulate
from lamina.codegen.schedule import schedule

needs_machine_code = pytest.mark.skipif(len(WAYS) == 1, reason="needs llvmlite")
LANES = 4


def random(*shape, dtype=np.float32, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def several(count):
    return [random(2, 3, seed=k) for k in range(count)]


def stacked(arrays):
    """`np.stack`, as it is recorded here."""
    return np.concatenate([x[None] for x in arrays])


def lines_after(change, graph):
    change(graph)
    return [line for line in str(graph).splitlines() if "input" not in line]


# --- panels --------------------------------------------------------------------------------------


def four_products(w, bias, *rows):
    return tuple(x @ w + bias for x in rows)


def test_a_factor_of_several_products_is_laid_out_in_panels_once():
    graph = graph_of(four_products, random(3, 16), random(16), *several(4))
    lines = lines_after(lambda graph: use_panels(graph, LANES), graph)
    assert lines[0] == "%14: float32[2,3,8] = copy(%0{2,3,8: 8,16,1})"
    assert lines[1] == "%7: float32[2,16] = matmul_panels(%2, %14, %1{2,16: 0,1})"
    assert len(lines) == 1 + 4 + 1


@pytest.mark.parametrize(
    ("function", "w"),
    [
        (lambda w, *rows: tuple(x @ w for x in rows), random(3, 12)),  # no whole panels
        (lambda w, *rows: tuple(x @ w for x in rows[:2]), random(3, 16)),  # too few products
        (lambda w, *rows: tuple(np.tile(x, (33, 1)) @ w for x in rows), random(3, 16)),  # many rows
    ],
)
def test_other_products_stay_as_they_are(function, w):
    graph = graph_of(function, w, *several(4))
    assert not any("panels" in line for line in lines_after(lambda g: use_panels(g, LANES), graph))


def test_a_product_that_others_read_too_is_not_taken_into_a_sum():
    def function(w, c, *rows):
        products = [x @ w for x in rows]
        return (*products, *[product + c for product in products])

    graph = graph_of(function, random(3, 16), random(2, 16), *several(4))
    assert sum("add(" in line for line in lines_after(lambda g: use_panels(g, LANES), graph)) == 4


@st.composite
def panel_cases(draw):
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    width = 2 * (machine.lane_count() * 4 // np.dtype(dtype).itemsize)
    rows, depth = draw(st.integers(1, 64)), draw(st.integers(1, 40))
    columns = width * draw(st.integers(1, 3))
    layout = draw(st.sampled_from(["rows", "columns", "steps", "backwards"]))
    addends = draw(st.lists(st.sampled_from(["full", "row", "column", "number"]), max_size=2))
    turned = draw(st.booleans())
    return dtype, rows, depth, columns, layout, addends, turned


def laid_out(x, layout):
    if layout == "columns":
        return np.ascontiguousarray(x.T).T
    if layout == "steps":
        return np.repeat(x, 2, axis=1)[:, ::2]
    return np.ascontiguousarray(x[:, ::-1])[:, ::-1] if layout == "backwards" else x


@needs_machine_code
@settings(max_examples=30, deadline=None)
@given(panel_cases())
def test_products_with_panels_are_products(case):
    dtype, rows, depth, columns, layout, addends, turned = case
    shapes = {"full": (rows, columns), "row": (columns,), "column": (rows, 1), "number": (1, 1)}
    w = random(columns, depth, dtype=dtype).T if turned else random(depth, columns, dtype=dtype)
    given = [random(*shapes[kind], dtype=dtype, seed=k) for k, kind in enumerate(addends)]
    lefts = [laid_out(random(rows, depth, dtype=dtype, seed=9 + k), layout) for k in range(4)]

    def function(w, *arrays):
        extra, xs = arrays[: len(given)], arrays[len(given) :]
        found = []
        for x in xs:
            y = x @ w
            for addend in extra:
                y = y + addend
            found.append(y)
        return tuple(found)

    executable = Executable(graph_of(function, w, *given, *lefts), native=True)
    assert "panels" in str(executable.schedule)
    wide = [array.astype(np.float64) for array in (w, *given, *lefts)]
    bound = 30 * np.finfo(dtype).eps
    for actual, expected in zip(executable.run([w, *given, *lefts]), function(*wide), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=bound, atol=bound * depth)


@needs_machine_code
def test_what_is_not_finite_goes_through_panels():
    w = random(4, 2 * machine.lane_count())
    w[0, 0], w[1, 1] = np.inf, np.nan
    rows = [random(3, 4, seed=k) for k in range(4)]
    found = compiled(lambda w, *xs: tuple(x @ w for x in xs), w, *rows, native=True)(w, *rows)
    for x, actual in zip(rows, found, strict=True):
        np.testing.assert_allclose(actual, x @ w, rtol=1e-5, atol=1e-5)


# --- parts made in place, and sums of products ---------------------------------------------------


def states(w, x):
    """The states of a small recurrent network, stacked."""
    found = []
    for _ in range(3):
        x = np.tanh(x @ w)
        found.append(x)
    return stacked(found)


def test_parts_of_a_stack_are_made_there():
    graph = graph_of(states, random(4, 4), random(2, 4))
    lines = lines_after(make_in_place, graph)
    assert sum("tanh" in line for line in lines) == 3
    assert not any("copy" in line for line in lines)
    assert len(graph.inside) == 3


@pytest.mark.parametrize("native", WAYS)
def test_stacks_made_in_place_have_the_same_elements(native):
    w, x = random(4, 4), random(2, 4)

    def function(w, x):
        found = states(w, x)
        return found, found[::-1].copy(), np.sum(found, axis=0), np.concatenate([x, x])

    found = compiled(function, w, x, native=native)(w, x)
    for actual, expected in zip(found, function(w, x), strict=True):
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("native", WAYS)
def test_a_part_that_is_asked_for_itself_has_memory_of_its_own(native):
    def function(x):
        y = np.exp(x)
        return y, stacked([y, y * 2])

    x = random(2, 3)
    y, both = compiled(function, x, native=native)(x)
    np.testing.assert_allclose(y, np.exp(x), rtol=1e-6)
    np.testing.assert_array_equal(both, stacked([y, y * 2]))
    y[...] = 0
    assert both.all()


def through_time(w, x, g):
    """The gradient of a weight that is used in each step: a sum of products of stacks' parts."""
    inputs, errors = [], []
    for _ in range(4):
        inputs.append(x)
        x = np.tanh(x @ w)
        g = g * (1 - x * x)
        errors.append(g)
    total = inputs[3].T @ errors[3]
    for k in (2, 1, 0):
        total = total + inputs[k].T @ errors[k]
    return total, stacked(inputs[1:]), stacked(errors)


def test_a_sum_of_products_of_neighbours_is_one_product():
    graph = graph_of(through_time, random(8, 8), random(2, 8), random(2, 8, seed=1))
    accumulate(graph)
    make_in_place(graph)
    products = sum(node.kind == "product" for node in graph.nodes)
    join_products(graph)
    left = [node for node in graph.nodes if node.kind == "product"]
    assert (products, len(left)) == (8, 4 + 1 + 1)  # in the first step the input is no part
    assert left[-1].operands[0].shape == (8, 6)


@pytest.mark.parametrize("native", WAYS)
def test_sums_of_products_have_the_same_elements(native):
    arrays = random(8, 8), random(2, 8), random(2, 8, seed=1)
    found = compiled(through_time, *arrays, native=native)(*arrays)
    expected = through_time(*(array.astype(np.float64) for array in arrays))
    for actual, reference in zip(found, expected, strict=True):
        np.testing.assert_allclose(actual, reference, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("native", WAYS)
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_neighbours_are_found_in_any_order_and_others_stay(native, order):
    def function(a, b, c, d):
        total = c.T @ d
        for k in order:
            total = total + a[2 * k : 2 * k + 2].T @ b[2 * k : 2 * k + 2]
        return total

    arrays = [random(6, 5, seed=1), random(6, 7, seed=2), random(2, 5), random(2, 7)]
    graph = graph_of(function, *arrays)
    simplify(graph)
    assert [node.kind for node in graph.nodes] == ["product"] * 2
    found = compiled(function, *arrays, native=native)(*arrays)[0]
    np.testing.assert_allclose(found, function(*arrays), rtol=1e-5, atol=1e-5)


# --- sinking -------------------------------------------------------------------------------------


def test_what_is_made_of_kept_values_is_made_where_it_is_read():
    def function(x, w):
        y = np.tanh(x)
        slope = 1 - y * y
        return y, (y @ w) * slope

    graph = graph_of(function, random(8, 8), random(8, 8))
    simplify(graph)
    loops = [[node.op for node in step.nodes] for step in schedule(graph).steps[::2]]
    assert loops == [["tanh"], ["multiply", "subtract", "multiply"]]


def test_what_would_keep_more_stays():
    def function(x, a, b, c, w):
        y = np.exp(x + a * b) * c
        return (x @ w) * y

    arrays = [random(8, 8, seed=k) for k in range(5)]
    graph = graph_of(function, *arrays)
    simplify(graph)
    first = next(step for step in schedule(graph).steps if hasattr(step, "stored"))
    assert [node.op for node in first.nodes] == ["multiply", "add", "exp", "multiply"]


@pytest.mark.parametrize("native", WAYS)
def test_nothing_sinks_below_a_change_of_what_it_reads(native):
    def function(x, w):
        y = x * 2
        z = y @ w
        x += 1
        return z * y

    x, w = random(4, 4), random(4, 4, seed=1)
    executable = Executable(graph_of(function, x, w), native=native)
    changed = x.copy()
    (found,) = executable.run([changed, w])
    np.testing.assert_allclose(found, ((x * 2) @ w) * (x * 2), rtol=1e-5)
    np.testing.assert_array_equal(changed, x + 1)


# --- random recurrences --------------------------------------------------------------------------


@st.composite
def recurrences(draw):
    """A recurrent network with some of its states stacked, in some order, and sums of products."""
    count = draw(st.integers(2, 6))
    every = st.integers(0, count - 1)
    return {
        "count": count,
        "size": draw(st.sampled_from([3, 8, 32])),
        "rows": draw(st.sampled_from([1, 2, 5])),
        "stacks": draw(st.lists(st.lists(every, min_size=1, max_size=6), min_size=1, max_size=2)),
        "pairs": draw(st.lists(st.tuples(every, every), min_size=2, max_size=6)),
        "returned": draw(st.sets(every, max_size=2)),
        "axis": draw(st.sampled_from([0, 1])),
        "writes": draw(st.booleans()),
    }


def recurrence(plan, w, b, x, g):
    states, errors = [], []
    for _ in range(plan["count"]):
        x = np.tanh(x @ w + b)
        g = g * (1 - x * x)
        states.append(x)
        errors.append(g)
    total = 0
    for first, second in plan["pairs"]:
        product = states[first].T @ errors[second]
        total = product if isinstance(total, int) else total + product
    joined = [np.concatenate([states[k] for k in ks], axis=plan["axis"]) for ks in plan["stacks"]]
    joined += [stacked([errors[k] for k in plan["stacks"][0]])]
    if plan["writes"]:
        b += 1
    return (total, *joined, np.sum(joined[-1], axis=0), *(states[k] for k in plan["returned"]))


@pytest.mark.parametrize("native", WAYS)
@settings(max_examples=60, deadline=None)
@given(recurrences())
def test_random_recurrences(native, plan):
    size, rows = plan["size"], plan["rows"]
    arrays = [
        random(size, size) / size,
        random(size),
        random(rows, size),
        random(rows, size, seed=1),
    ]

    def function(*given):
        return recurrence(plan, *given)

    executable = Executable(graph_of(function, *arrays), native=native)
    given = [array.copy() for array in arrays]
    expected = function(*(array.astype(np.float64) for array in arrays))
    for actual, reference in zip(executable.run(given), expected, strict=True):
        np.testing.assert_allclose(actual, reference, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(given[1], arrays[1] + plan["writes"])
