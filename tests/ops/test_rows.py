"""Rows by their numbers in large tables: looked up, and added into, in each of the ways."""

import numpy as np
import pytest

import lamina
from lamina import errors
from lamina.codegen.kernels import rows as native
from lamina.ops import row_kernels

functional = lamina.nn.functional
# The shape of a table, the axis along which rows are counted, and how many are named.
CASES = [
    ((500, 128), 0, 700), ((40, 33), 0, 2000), ((50_001,), 0, 60_000), ((30, 90, 17), 1, 80),
    ((200, 300), 1, 250), ((4, 3), 0, 5), ((7, 70), 0, 0),
]  # fmt: skip


@pytest.fixture(params=["any", "numpy"])
def way(request, monkeypatch):
    """With machine code where it is installed, and with NumPy alone."""
    if request.param == "numpy":
        monkeypatch.setattr(row_kernels.rows, "can_add", lambda *args: False)
        monkeypatch.setattr(row_kernels.rows, "can_copy", lambda *args: False)


def example(shape, axis, count, kind="float32", index_kind="int64"):
    """A table, the numbers of rows in it (many of them twice), and rows to be added."""
    generator = np.random.default_rng(2)
    table = (generator.standard_normal(shape) * 9).astype(kind)
    index = generator.integers(0, shape[axis], count).astype(index_kind)
    listed_shape = (*shape[:axis], count, *shape[axis + 1 :])
    return table, index, (generator.standard_normal(listed_shape) * 9).astype(kind)


def added(table, index, axis, listed):
    """The table with rows added one after another."""
    made = table.copy()
    for place, row in enumerate(index):
        before = (slice(None),) * axis
        made[(*before, row)] += listed[(*before, place)]
    return made


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("index_kind", ["int32", "int64"])
@pytest.mark.parametrize(("shape", "axis", "count"), CASES)
def test_rows_are_copied(shape, axis, count, index_kind):
    for kind in ("float32", "int16", "complex128", "bool"):
        table, index, _ = example(shape, axis, count, kind, index_kind)
        found = lamina.tensor(table).index_select(axis, lamina.tensor(index))
        assert np.array_equal(found.numpy(), np.take(table, index, axis))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("kind", ["float32", "float64", "int32", "int64", "int8"])
@pytest.mark.parametrize(("shape", "axis", "count"), CASES)
def test_rows_are_added_in_their_order(shape, axis, count, kind):
    table, index, listed = example(shape, axis, count, kind)
    x, numbers, rows = (lamina.tensor(each) for each in (table, index, listed))
    expected = added(table, index, axis, listed)
    assert np.array_equal(x.index_add(axis, numbers, rows).numpy(), expected)
    if axis == 0:
        put = x.index_put((numbers - shape[0],), rows, accumulate=True)
        assert np.array_equal(put.numpy(), expected)
    assert np.array_equal(x.numpy(), table)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("index_kind", ["int32", "int64"])
@pytest.mark.parametrize(("shape", "axis", "count"), CASES)
def test_gradients_of_looked_up_rows(shape, axis, count, index_kind):
    table, index, listed = example(shape, axis, count, index_kind=index_kind)
    expected = added(np.zeros_like(table), index, axis, listed)
    numbers, g = lamina.tensor(index), lamina.tensor(listed)
    x = lamina.tensor(table, requires_grad=True)
    x.index_select(axis, numbers).backward(g)
    assert np.array_equal(x.grad.numpy(), expected)
    x.grad = None
    key = (slice(None),) * axis
    x[(*key, numbers.long() - shape[axis])].backward(g)
    assert np.array_equal(x.grad.numpy(), expected)
    if x.ndim == 2 and axis == 0:
        x.grad = None
        functional.embedding(numbers, x).backward(g)
        assert np.array_equal(x.grad.numpy(), expected)


@pytest.mark.usefixtures("way")
def test_padding_and_frequencies_of_an_embedding():
    table, index, listed = example((100, 64), 0, 3000)
    x = lamina.tensor(table, requires_grad=True)
    found = functional.embedding(
        lamina.tensor(index).reshape(60, 50), x, padding_idx=7, scale_grad_by_freq=True
    )
    found.backward(lamina.tensor(listed).reshape(60, 50, 64))
    weight = np.where(index == 7, 0, 1 / np.bincount(index)[index]).astype(np.float32)
    expected = added(np.zeros_like(table), index, 0, listed * weight[:, None])
    assert np.allclose(x.grad.numpy(), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.usefixtures("way")
def test_strided_broadcast_and_read_only_arrays():
    table, index, listed = example((300, 256), 0, 400)
    numbers = lamina.tensor(np.repeat(index, 2))[::2]
    x = lamina.tensor(np.repeat(table, 2, axis=1))[:, ::2]
    assert np.array_equal(x.index_select(0, numbers).numpy(), table[index])
    wide = lamina.tensor(listed[:1]).expand(400, 256)
    expected = added(table, index, 0, np.broadcast_to(listed[:1], (400, 256)))
    assert np.array_equal(x.index_add(0, numbers, wide).numpy(), expected)
    turned = lamina.tensor(np.asfortranarray(listed))
    assert np.array_equal(x.index_add(0, numbers, turned).numpy(), added(table, index, 0, listed))


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("wrong", [-1, 500])
def test_numbers_out_of_range_are_refused(wrong):
    table, index, listed = example((500, 128), 0, 700)
    index[300] = wrong
    x, numbers, rows = (lamina.tensor(each) for each in (table, index, listed))
    with pytest.raises(errors.IndexOutOfRange):
        functional.embedding(numbers, x)
    with pytest.raises(errors.IndexOutOfRange):
        x.index_select(0, numbers)
    with pytest.raises(errors.LaminaError):
        x.index_add(0, numbers, rows)
    if wrong > 0:
        with pytest.raises(errors.IndexOutOfRange):
            x.index_put((numbers,), rows, accumulate=True)
    with pytest.raises(IndexError):
        row_kernels.summed_rows(listed, np.where(index < 0, 500, index), 0, (500, 128), "f4")


def test_compiled_programs_add_rows_in_one_step():
    table, index, listed = example((500, 128), 0, 700)
    numbers, g = lamina.tensor(index), lamina.tensor(listed)

    def step(x):
        x.grad = None
        functional.embedding(numbers, x).backward(g)
        return x.grad

    program = lamina.compile(step)
    x = lamina.tensor(table, requires_grad=True)
    expected = added(np.zeros_like(table), index, 0, listed)
    for found in (program(x), program(x)):
        assert np.array_equal(found.numpy(), expected)
    assert "summed_rows(" in str(program.program())


@pytest.mark.skipif(not native.is_available(), reason="machine code needs llvmlite")
def test_large_tables_are_left_to_machine_code_if_all_numbers_are_rows():
    table, index, listed = example((500, 128), 0, 700)
    assert native.can_copy(table, index, 0)
    assert native.can_add(listed, index, 0, table.shape)
    for number in (-1, 500):
        index[5] = number
        assert not native.can_copy(table, index, 0)
        assert not native.can_add(listed, index, 0, table.shape)


# --- one index for each element ------------------------------------------------------------------

ALONG = [
    ((300, 200), 1, 250), ((300, 200), 0, 400), ((9000,), 0, 50_000), ((6, 40, 170), 1, 60),
    ((3, 4), 1, 2), ((2, 5, 3), 0, 4),
]  # fmt: skip


@pytest.fixture(params=["any", "numpy"])
def way_along(request, monkeypatch):
    """With machine code where it is installed, and with NumPy alone."""
    if request.param == "numpy":
        monkeypatch.setattr(row_kernels.along, "can_add", lambda *args: False)
        monkeypatch.setattr(row_kernels.along, "can_copy", lambda *args: False)


def example_along(shape, axis, count, kind="float32", index_kind="int64"):
    """A table, an index for each of `count` places along an axis, and numbers of its shape."""
    generator = np.random.default_rng(4)
    index_shape = (*shape[:axis], count, *shape[axis + 1 :])
    index = generator.integers(0, shape[axis], index_shape).astype(index_kind)
    table, listed = (generator.standard_normal(s) * 9 for s in (shape, index_shape))
    return table.astype(kind), index, listed.astype(kind)


def added_along(table, index, axis, listed):
    """The table with numbers added one after another."""
    made = table.copy()
    places = list(np.indices(index.shape))
    places[axis] = index
    np.add.at(made, tuple(places), listed)
    return made


@pytest.mark.usefixtures("way_along")
@pytest.mark.parametrize("index_kind", ["int32", "int64"])
@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "uint8", "bool"])
@pytest.mark.parametrize(("shape", "axis", "count"), ALONG)
def test_gather(shape, axis, count, kind, index_kind):
    table, index, _ = example_along(shape, axis, count, kind, index_kind)
    found = lamina.tensor(table).gather(axis, lamina.tensor(index))
    assert np.array_equal(found.numpy(), np.take_along_axis(table, index, axis))


@pytest.mark.usefixtures("way_along")
@pytest.mark.parametrize("index_kind", ["int32", "int64"])
@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "uint8"])
@pytest.mark.parametrize(("shape", "axis", "count"), ALONG)
def test_scatter_add(shape, axis, count, kind, index_kind):
    table, index, listed = example_along(shape, axis, count, kind, index_kind)
    x, numbers, source = (lamina.tensor(each) for each in (table, index, listed))
    expected = added_along(table, index, axis, listed)
    assert np.array_equal(x.scatter_add(axis, numbers, source).numpy(), expected)
    assert np.array_equal(x.numpy(), table)


@pytest.mark.usefixtures("way_along")
@pytest.mark.parametrize(("shape", "axis", "count"), ALONG)
def test_gradient_of_gather(shape, axis, count):
    table, index, listed = example_along(shape, axis, count)
    x = lamina.tensor(table, requires_grad=True)
    x.gather(axis, lamina.tensor(index)).backward(lamina.tensor(listed))
    expected = added_along(np.zeros_like(table), index, axis, listed)
    assert np.array_equal(x.grad.numpy(), expected)


@pytest.mark.usefixtures("way_along")
def test_an_index_that_reaches_only_a_part():
    table, index, listed = example_along((400, 300), 1, 200)
    part = index[:250]
    x, numbers = lamina.tensor(table), lamina.tensor(part)
    expected = np.take_along_axis(table[:250], part, 1)
    assert np.array_equal(x.gather(1, numbers).numpy(), expected)
    assert np.array_equal(x.T.gather(0, numbers.T).numpy(), expected.T)
    found = x.scatter_add(1, numbers, lamina.tensor(listed))
    assert np.array_equal(found.numpy(), added_along(table, part, 1, listed[:250]))


@pytest.mark.usefixtures("way_along")
@pytest.mark.parametrize("wrong", [-1, 200])
def test_an_index_out_of_range_is_refused(wrong):
    table, index, listed = example_along((300, 200), 1, 250)
    index[17, 3] = wrong
    x, numbers = lamina.tensor(table), lamina.tensor(index)
    with pytest.raises(errors.LaminaError, match="out of bounds"):
        x.gather(1, numbers)
    with pytest.raises(errors.LaminaError, match="out of bounds"):
        x.scatter_add(1, numbers, lamina.tensor(listed))
