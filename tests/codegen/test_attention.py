"""Attention by machine code and with NumPy alone, against its formula."""

import tracemalloc
from contextlib import contextmanager

import numpy as np
import pytest
from codegen import references
from codegen.machines import WAYS
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lamina
from lamina.codegen.llvm import machine
from lamina.core.generator import Generator
from lamina.devices.traced import Recorder
from lamina.nn import functional as F
from lamina.ops import attention_kernels as kernels

NATIVE = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")
EPSILON = {"f": 2e-5, "d": 1e-12}


@contextmanager
def by(way):
    """Attention by blocks whatever its size, or never."""
    names = "LEAST_SCORES", "LEAST_RECORDED", "LEAST_QUERIES"
    before = [getattr(kernels, name) for name in names]
    for name in names:
        setattr(kernels, name, 0 if way else 1 << 62)
    try:
        yield
    finally:
        for name, least in zip(names, before, strict=True):
            setattr(kernels, name, least)


def summed_to(array, shape):
    """The sum over what was broadcast."""
    array = array.sum(tuple(range(array.ndim - len(shape))))
    short = tuple(k for k, n in enumerate(shape) if n == 1 and array.shape[k] > 1)
    return array.sum(short, keepdims=True)


def check(query, key, value, mask, is_causal, scale, way, p=0.0):
    """The result and all gradients, for arrays that broadcast."""
    inputs = query, key, value
    dropped = 1.0
    if p:
        lead = [array.shape[:-2] for array in (query, key, mask) if array is not None]
        shape = (*np.broadcast_shapes(*lead), query.shape[-2], key.shape[-2])
        dropped = Generator(3).chosen(shape, np.dtype(bool), 1 - p) / (1 - p)
    expected, weights = references.attention(*inputs, mask, is_causal, scale, dropped)
    g = np.random.default_rng(1).normal(size=expected.shape).astype(query.dtype)
    gradients = references.attention_gradients(g, *inputs, weights, scale, dropped)
    sizes = references.attention_sizes(g, *inputs, weights, scale, dropped)
    lamina.manual_seed(3)
    with by(way):
        tensors = [lamina.from_numpy(array).requires_grad_() for array in inputs]
        given_mask = None if mask is None else lamina.from_numpy(mask)
        if mask is not None and mask.dtype != bool:
            tensors.append(given_mask.requires_grad_())
        made = F.scaled_dot_product_attention(
            *tensors[:3], given_mask, p, is_causal=is_causal, scale=scale
        )
        made.backward(lamina.from_numpy(g))
    near(made.detach().numpy(), expected)
    for tensor, gradient, size in zip(tensors, gradients, sizes, strict=False):
        shape = tuple(tensor.shape)
        count = gradient.size / max(tensor.numel(), 1)  # of the terms that are summed up
        near(tensor.grad.numpy(), summed_to(gradient, shape), size * np.sqrt(count))


def near(actual, expected, size=1.0):
    """No further apart than rounding explains, for terms of a size."""
    assert actual.shape == expected.shape
    size = max(np.abs(expected).max(initial=0), size)
    assert np.abs(actual - expected).max(initial=0) <= EPSILON[actual.dtype.char] * size


def laid_out(array, layout):
    """The same numbers, lying differently in memory: as models make them, or worse."""
    if layout == "heads inside" and array.ndim > 2:
        return np.ascontiguousarray(array.swapaxes(-3, -2)).swapaxes(-3, -2)
    if layout == "turned":
        return np.ascontiguousarray(array.swapaxes(-1, -2)).swapaxes(-1, -2)
    if layout == "apart":
        room = np.full((*array.shape[:-1], 3 * array.shape[-1]), np.nan, array.dtype)
        room[..., array.shape[-1] : 2 * array.shape[-1]] = array
        return room[..., array.shape[-1] : 2 * array.shape[-1]]
    return array


LAYOUTS = st.sampled_from(["dense", "heads inside", "turned", "apart"])


@st.composite
def attentions(draw):
    """Queries, keys and values, a mask or none, and how they are put together."""
    batch = draw(st.sampled_from([(), (1,), (3,), (2, 3), (2, 1, 2)]))
    few, many = st.integers(1, 40), st.sampled_from([1, 7, 31, 64, 144, 145, 160, 300])
    queries, keys = draw(few | many), draw(few | many)
    size, value_size = draw(st.integers(1, 37)), draw(st.integers(1, 37))
    kind = draw(st.sampled_from([np.float32, np.float64]))
    random = np.random.default_rng(draw(st.integers(0, 999)))

    def some(*shape):
        own = tuple(draw(st.sampled_from([n, n, n, 1])) for n in batch)
        own = own[draw(st.sampled_from([0, 0, 0, len(own)])) :]
        array = random.normal(size=(*own, *shape)).astype(kind)
        return laid_out(array, draw(LAYOUTS))

    arrays = some(queries, size), some(keys, size), some(keys, value_size)
    how = draw(st.sampled_from(["none", "causal", "added", "flags", "padding"]))
    mask = None
    if how in ("added", "flags"):
        mask = some(draw(st.sampled_from([queries, 1])), draw(st.sampled_from([keys, keys, 1])))
    if how == "padding":
        mask = some(1, keys)
    if how in ("flags", "padding"):
        mask = laid_out(mask > -0.5, draw(LAYOUTS))
    scale, p = draw(st.sampled_from([0.3, 1.0, -0.5])), draw(st.sampled_from([0.0, 0.0, 0.2]))
    return *arrays, mask, how == "causal", scale, p


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=50, deadline=None, suppress_health_check=list(HealthCheck))
@given(attentions())
def test_any_attention_and_its_gradients_are_its_formula(way, case):
    *arrays, p = case
    check(*arrays, way, p)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("layout", ["dense", "heads inside", "turned"])
def test_gradients_of_results_that_are_moved_on(way, layout):
    random = np.random.default_rng(0)
    inputs = [laid_out(random.normal(size=(2, 3, 50, 8)), "heads inside") for _ in range(3)]
    g = laid_out(random.normal(size=(2, 3, 50, 8)), layout)
    _, weights = references.attention(*inputs, None, True, 0.5)
    expected = references.attention_gradients(g, *inputs, weights, 0.5)
    with by(way):
        tensors = [lamina.from_numpy(array).requires_grad_() for array in inputs]
        made = F.scaled_dot_product_attention(*tensors, is_causal=True, scale=0.5)
        made.backward(lamina.from_numpy(g))
    for tensor, gradient in zip(tensors, expected[:3], strict=True):
        near(tensor.grad.numpy(), gradient, 10.0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("is_causal", [False, True])
def test_scores_far_apart_do_not_overflow(way, is_causal):
    random = np.random.default_rng(0)
    query, key, value = (300 * random.normal(size=(2, 200, 8)) for _ in range(3))
    expected, _ = references.attention(query, key, value, None, is_causal, 1.0)
    with by(way):
        made = F.scaled_dot_product_attention(
            *map(lamina.from_numpy, (query, key, value)), is_causal=is_causal, scale=1.0
        )
    assert np.allclose(made.numpy(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_a_query_that_sees_no_key_gets_zeros_and_has_no_gradient(way):
    random = np.random.default_rng(0)
    query, key, value = (random.normal(size=(2, 160, 8)).astype(np.float32) for _ in range(3))
    mask = random.random((160, 160)) > 0.5
    mask[[0, 40, 159]] = False
    check(query, key, value, mask, False, 1.0, way)
    with by(way):
        q = lamina.from_numpy(query).requires_grad_()
        made = F.scaled_dot_product_attention(q, *map(lamina.from_numpy, (key, value, mask)))
        made.sum().backward()
    for array in (made.detach().numpy(), q.grad.numpy()):
        assert not array[:, [0, 40, 159]].any()
        assert array[:, 1].any()


@NATIVE
def test_what_is_not_finite_stays_where_it_belongs():
    random = np.random.default_rng(0)
    query, key, value = (random.normal(size=(1, 1, 70, 6)).astype(np.float32) for _ in range(3))
    query[0, 0, 3, 1], query[0, 0, 20, 2] = np.nan, np.inf
    key[0, 0, 60, 2], value[0, 0, 50, 4] = np.nan, np.inf
    with by(True):
        tensors = [lamina.from_numpy(array) for array in (query, key, value)]
        made = F.scaled_dot_product_attention(*tensors, is_causal=True).numpy()
    is_finite = np.isfinite(made)
    assert not is_finite[0, 0, [3, 20]].any()
    assert not is_finite[0, 0, 60:].any()
    assert not is_finite[0, 0, 50:60, 4].any()
    assert is_finite[0, 0, :3].all()
    assert is_finite[0, 0, 4:20].all()


@NATIVE
@pytest.mark.parametrize("is_causal", [False, True])
def test_the_number_of_threads_changes_no_bit(is_causal):
    random = np.random.default_rng(0)
    arrays = [random.normal(size=(3, 150, 20)).astype(np.float32) for _ in range(3)]
    before = lamina.get_num_threads()
    made = []
    try:
        with by(True):
            for count in (1, 2):
                lamina.set_num_threads(count)
                tensors = [lamina.tensor(array).requires_grad_() for array in arrays]
                y = F.scaled_dot_product_attention(*tensors, is_causal=is_causal)
                (y * y).sum().backward()
                made.append([y.detach(), *(tensor.grad for tensor in tensors)])
    finally:
        lamina.set_num_threads(before)
    for one, two in zip(*made, strict=True):
        assert np.array_equal(one.numpy(), two.numpy())


@NATIVE
def test_attention_is_one_step_of_a_program():
    recorder = Recorder()
    with recorder:
        x = recorder.input(np.ones((2, 3, 40, 8), np.float32))
        made, sums = kernels.attend_by_blocks(x, x, x, None, None, True, 0.5, 1.0)
        gradients = kernels.attend_by_blocks_backward(
            x, x, x, x, None, None, made, sums, True, 0.5, 1.0, False
        )
    both = [kernels.attend_by_blocks, kernels.attend_by_blocks_backward]
    assert [step.function for step in recorder.program.steps] == both
    assert [gradient.shape for gradient in gradients] == [x.shape] * 3
    (again,) = recorder.replay(recorder.inputs, [made])
    assert np.allclose(again, 1)


@NATIVE
@pytest.mark.parametrize("layout", ["dense", "heads inside", "turned"])
@pytest.mark.parametrize("shape", [(2, 3, 40, 8), (1, 1, 900, 8), (2, 3, 2, 40, 8)])
def test_a_recording_knows_how_results_lie(layout, shape):
    x = laid_out(np.ones(shape, np.float32), layout)

    def both(x):
        made, sums = kernels.attend_by_blocks(x, x, x, None, None, True, 0.5, 1.0)
        return (
            made, sums,
            *kernels.attend_by_blocks_backward(
                made, x, x, x, x[..., :1], x[..., :1] > 0, made, sums, True, 0.5, 1.0, True
            ),
        )  # fmt: skip

    recorder = Recorder()
    with recorder:
        said = both(recorder.input(x))
    for told, made in zip(said, both(x), strict=True):
        assert (told.shape, told.dtype, told.strides) == (made.shape, made.dtype, made.strides)


@NATIVE
def test_memory_does_not_grow_with_the_square_of_the_length():
    peaks = []
    for length in (1024, 4096):
        x = lamina.ones(1, 1, length, 8, requires_grad=True)
        F.scaled_dot_product_attention(x, x, x).sum().backward()
        tracemalloc.start()
        try:
            F.scaled_dot_product_attention(x, x, x).sum().backward()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 8 * peaks[0]
    assert peaks[1] < 4096 * 4096  # a quarter of all scores


@NATIVE
def test_dropout_keeps_a_byte_for_each_weight():
    x = lamina.ones(1, 1, 2048, 8, requires_grad=True)
    F.scaled_dot_product_attention(x, x, x, dropout_p=0.1).sum().backward()
    tracemalloc.start()
    try:
        F.scaled_dot_product_attention(x, x, x, dropout_p=0.1).sum().backward()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert 2048 * 2048 < peak < 2 * 2048 * 2048


@pytest.mark.parametrize("way", WAYS)
def test_a_compiled_function_drops_what_an_eager_one_drops(way):
    lamina.manual_seed(0)
    q, k, v = (lamina.randn(2, 3, 40, 8) for _ in range(3))

    def function(q, k, v):
        return F.scaled_dot_product_attention(2 * q, k, v, dropout_p=0.3)

    found = []
    with by(way):
        for call in (function, lamina.compile(function)):
            lamina.manual_seed(1)
            found.append([call(q, k, v) for _ in range(3)])
    for eager, compiled in zip(*found, strict=True):
        assert lamina.allclose(eager, compiled, atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
def test_dropping_everything_gives_zeros_and_draws_nothing(way):
    x = lamina.ones(2, 20, 4, requires_grad=True)
    lamina.manual_seed(1)
    before = lamina.get_rng_state()
    with by(way):
        made = F.scaled_dot_product_attention(x, x, x, dropout_p=1.0)
        made.sum().backward()
    assert not made.any()
    assert not x.grad.any()
    assert lamina.get_rng_state().equal(before)


@pytest.mark.parametrize("way", WAYS)
def test_a_compiled_function_gives_the_same(way):
    random = np.random.default_rng(0)
    arrays = [random.normal(size=(2, 3, 40, 8)).astype(np.float32) for _ in range(3)]
    function = lamina.compile(
        lambda q, k, v: F.scaled_dot_product_attention(2 * q, k, v, is_causal=True)
    )
    expected, _ = references.attention(2 * arrays[0], *arrays[1:], None, True, 8**-0.5)
    with by(way):
        for _ in range(3):
            near(function(*map(lamina.from_numpy, arrays)).numpy(), expected)


@pytest.mark.parametrize("way", WAYS)
def test_second_derivatives_are_those_of_finite_differences(way):
    lamina.manual_seed(0)
    q, k, v = (lamina.randn(2, 4, 3, dtype=lamina.float64, requires_grad=True) for _ in range(3))
    mask = lamina.tensor([[True, False, True, True]] * 3 + [[False] * 4])
    with by(way):
        for how in ({"is_causal": True}, {"attn_mask": mask}):
            assert lamina.autograd.gradgradcheck(
                lambda *inputs, how=how: F.scaled_dot_product_attention(*inputs, **how), (q, k, v)
            )


@pytest.mark.parametrize("way", WAYS)
def test_mapped_attention_is_that_of_each_sample(way):
    lamina.manual_seed(0)
    q, k, v = lamina.randn(3, 2, 20, 8), lamina.randn(3, 2, 30, 8), lamina.randn(2, 30, 8)
    with by(way):
        mapped = lamina.vmap(F.scaled_dot_product_attention, (0, 0, None))(q, k, v)
        single = [F.scaled_dot_product_attention(a, b, v) for a, b in zip(q, k, strict=True)]
    assert lamina.allclose(mapped, lamina.stack(single), atol=1e-6)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("places", [(0, 0, None), (0, None, None), (None, 0, 0)])
def test_mapped_gradients_are_those_of_each_sample(way, places):
    lamina.manual_seed(0)
    q, k, v = (lamina.randn(*[3] * (place == 0), 2, 20, 8) for place in places)

    def total(*inputs):
        return (F.scaled_dot_product_attention(*inputs, is_causal=True) ** 2).sum()

    gradient = lamina.func.grad(total, (0, 1, 2))
    with by(way):
        mapped = lamina.vmap(gradient, places)(q, k, v)
        single = [gradient(*(x if x.dim() == 3 else x[i] for x in (q, k, v))) for i in range(3)]
    for all_samples, one_each in zip(mapped, zip(*single, strict=True), strict=True):
        assert lamina.allclose(all_samples, lamina.stack(one_each), atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_the_gradient_of_a_mask(way):
    lamina.manual_seed(0)
    inputs = [lamina.randn(2, 5, 3, dtype=lamina.float64) for _ in range(3)]
    mask = lamina.randn(5, 5, dtype=lamina.float64, requires_grad=True)
    with by(way):
        assert lamina.autograd.gradcheck(
            lambda m: F.scaled_dot_product_attention(*inputs, attn_mask=m), [mask]
        )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("shape", [(20, 30), (3, 2, 20, 30), (2, 1, 30)])
def test_mapped_gradients_of_a_mask_are_those_of_each_sample(way, shape):
    lamina.manual_seed(0)
    q, k, v = lamina.randn(3, 2, 20, 8), lamina.randn(3, 2, 30, 8), lamina.randn(2, 30, 8)
    mask = lamina.randn(shape)
    places = (0, 0, None, 0 if len(shape) == 4 else None)

    def total(*inputs):
        return (F.scaled_dot_product_attention(*inputs) ** 2).sum()

    gradient = lamina.func.grad(total, 3)
    with by(way):
        mapped = lamina.vmap(gradient, places)(q, k, v, mask)
        masks = mask if len(shape) == 4 else [mask] * 3
        single = [gradient(a, b, v, m) for a, b, m in zip(q, k, masks, strict=True)]
    assert lamina.allclose(mapped, lamina.stack(single), atol=1e-5)


@pytest.mark.parametrize("way", WAYS)
def test_second_derivatives_with_dropout(way):
    lamina.manual_seed(0)
    inputs = [lamina.randn(2, 4, 3, dtype=lamina.float64, requires_grad=True) for _ in range(3)]

    def function(*inputs):
        lamina.manual_seed(5)
        return F.scaled_dot_product_attention(*inputs, dropout_p=0.4)

    with by(way):
        assert lamina.autograd.gradcheck(function, inputs)
        assert lamina.autograd.gradgradcheck(function, inputs)


@NATIVE
def test_gradients_of_halves_have_their_precision():
    lamina.manual_seed(0)
    exact = [lamina.randn(1, 100, 16) for _ in range(3)]
    found = []
    for kind in (lamina.float32, lamina.bfloat16):
        inputs = [x.detach().to(kind, copy=True).requires_grad_() for x in exact]
        with by(True):
            F.scaled_dot_product_attention(*inputs).sum().backward()
        found.append(inputs[0].grad.float())
    assert (found[0] - found[1]).abs().max() < 0.02 * found[0].abs().max()
