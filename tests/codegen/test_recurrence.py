"""Recurrent layers through time by machine code and with NumPy alone, against cells, step by step.

The cells agree with PyTorch's (`tests/oracle`); here each sequence is walked by itself, in float64.
"""

from contextlib import contextmanager

import numpy as np
import pytest
from codegen.machines import WAYS
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina
from lamina import nn
from lamina.codegen.kernels import recurrence_units as units
from lamina.codegen.kernels.recurrence_forms import FORMS
from lamina.nn.utils.rnn import PackedSequence, pack_padded_sequence
from lamina.ops import recurrent_kernels as kernels

NATIVE = pytest.mark.skipif(len(WAYS) == 1, reason="needs llvmlite")
TOLERANCE = {lamina.float32: 3e-5, lamina.float64: 1e-12}


@contextmanager
def by(way):
    """Walks by machine code whatever their size, or never."""
    limits = {"LEAST_WORK": 1 << 62, "STEPS_BEFORE": 1 << 62, "LEAST_STEPS": 1}
    if way:
        limits["LEAST_WORK"] = 0
    before = {name: getattr(kernels, name) for name in limits}
    for name, limit in limits.items():
        setattr(kernels, name, limit)
    try:
        yield
    finally:
        for name, limit in before.items():
            setattr(kernels, name, limit)


def layer_of(mode, size, hidden, **options):
    if mode.startswith("RNN"):
        return nn.RNN(size, hidden, nonlinearity=mode[4:].lower(), **options)
    return getattr(nn, mode)(size, hidden, **options)


def cell_of(layer, suffix):
    """A cell with one direction of a layer as float64 leaves of its own."""
    kind = {"LSTM": nn.LSTMCell, "GRU": nn.GRUCell}.get(layer.mode, nn.RNNCell)
    more = {} if kind is not nn.RNNCell else {"nonlinearity": layer.mode[4:].lower()}
    cell = kind(layer.input_size, layer.hidden_size, layer.bias, **more).double()
    for name, parameter in cell.named_parameters():
        parameter.data = getattr(layer, f"{name}_l0{suffix}").detach().double()
    return cell


def walked_by_itself(cell, sequence, state, is_reverse):
    """The outputs of a cell along one sequence, and its last state."""
    outputs = []
    for x in reversed(sequence) if is_reverse else sequence:
        state = cell(x, state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return (outputs[::-1] if is_reverse else outputs), state


def weight_like(tensor, seed):
    values = np.random.default_rng(seed).normal(size=tuple(tensor.shape))
    return lamina.tensor(values, dtype=tensor.dtype)


def total(outputs, states):
    """A number that depends on all that a walk gives, as different weights of each."""
    parts = [
        (part * weight_like(part, seed)).sum() for seed, part in enumerate([*outputs, *states])
    ]
    return sum(parts[1:], parts[0])


def assert_near(found, expected, tolerance):
    expected = expected.detach().numpy()
    size = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=0, atol=tolerance * size)


def check(mode, lengths, size, hidden, dtype, way, *, bias, is_packed):
    """Outputs, last states and all gradients of both directions are those of cells."""
    lamina.manual_seed(len(lengths) + hidden)
    layer = layer_of(mode, size, hidden, bias=bias, bidirectional=True).to(dtype)
    wide = [lamina.randn(n, size, dtype=lamina.float64, requires_grad=True) for n in lengths]
    parts = 2 if mode == "LSTM" else 1
    first = [lamina.randn(2, len(lengths), hidden).double().requires_grad_() for _ in range(parts)]
    x = nn.utils.rnn.pad_sequence(wide).detach().to(dtype).requires_grad_()
    given_state = [part.detach().to(dtype).requires_grad_() for part in first]
    with by(way):
        packed = pack_padded_sequence(x, lengths) if is_packed else x
        output, last = layer(packed, tuple(given_state) if parts == 2 else given_state[0])
        last = last if parts == 2 else (last,)
        if is_packed:
            output, _ = nn.utils.rnn.pad_packed_sequence(output)
        found = [output[:n, k] for k, n in enumerate(lengths)]
        total(found, last).backward()

    cells = [cell_of(layer, suffix) for suffix in ("", "_reverse")]
    outputs, ends = [], []
    for k, sequence in enumerate(wide):
        both = []
        for direction, cell in enumerate(cells):
            state = tuple(part[direction, k] for part in first)
            state = state if parts == 2 else state[0]
            both.append(walked_by_itself(cell, sequence.unbind(0), state, direction == 1))
        outputs.append(
            lamina.stack([lamina.cat(pair) for pair in zip(both[0][0], both[1][0], strict=True)])
        )
        ends.append([end if parts == 2 else (end,) for _, end in both])
    states = [
        lamina.stack([lamina.stack([end[d][p] for end in ends]) for d in range(2)])
        for p in range(parts)
    ]
    total(outputs, states).backward()
    tolerance = TOLERANCE[dtype]
    for one, other in zip([*found, *last], [*outputs, *states], strict=True):
        assert_near(one, other, tolerance)
    for k, sequence in enumerate(wide):
        assert_near(x.grad[: lengths[k], k], sequence.grad, 10 * tolerance)
    for one, other in zip(given_state, first, strict=True):
        assert_near(one.grad, other.grad, 10 * tolerance)
    for suffix, cell in zip(("", "_reverse"), cells, strict=True):
        for name, parameter in cell.named_parameters():
            assert_near(getattr(layer, f"{name}_l0{suffix}").grad, parameter.grad, 10 * tolerance)


@pytest.mark.parametrize("way", WAYS)
@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from(sorted(FORMS)),
    st.lists(st.integers(1, 5), min_size=1, max_size=9),
    st.integers(1, 5),
    st.sampled_from([1, 3, 16, 17, 70]),
    st.sampled_from([lamina.float32, lamina.float64]),
    st.booleans(),
    st.booleans(),
)
def test_a_walk_is_that_of_cells(way, mode, lengths, size, hidden, dtype, bias, is_packed):
    lengths = sorted(lengths, reverse=True) if is_packed else [max(lengths)] * len(lengths)
    check(mode, lengths, size, hidden, dtype, way, bias=bias, is_packed=is_packed)


@NATIVE
@pytest.mark.parametrize("mode", sorted(FORMS))
def test_many_sequences_and_units(mode):
    check(mode, [4] * 33, 20, 130, lamina.float32, True, bias=True, is_packed=False)


@NATIVE
@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_TANH"])
def test_either_way_goes_back_where_the_other_came(mode):
    layer = layer_of(mode, 3, 5)
    x = lamina.randn(4, 2, 3)
    found = []
    for there, back in [(True, False), (False, True), (False, False)]:
        with by(there):
            output, _ = layer(x)
        with by(back):
            found.append(lamina.autograd.grad(output.square().sum(), list(layer.parameters())))
    for grads in found[:2]:
        for one, other in zip(grads, found[2], strict=True):
            assert_near(one, other, 1e-5)


@NATIVE
@pytest.mark.parametrize("mode", sorted(FORMS))
def test_what_is_not_finite_goes_through(mode):
    layer = layer_of(mode, 3, 5)
    x = lamina.zeros(4, 3, 3)
    x[1, 0], x[1, 1, 1] = float("nan"), float("inf")
    found = []
    for way in (True, False):
        with by(way):
            found.append(layer(x)[0].detach().numpy())
    assert np.isnan(found[0][1:, 0]).all()
    assert np.isfinite(found[0][:, 2]).all()
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)


@NATIVE
@pytest.mark.parametrize("mode", ["LSTM", "GRU", "RNN_RELU"])
def test_each_sequence_has_the_same_bits_in_any_batch(mode):
    """So results depend neither on the number of threads nor on how a batch is cut for them."""
    layer, x = layer_of(mode, 7, 20), lamina.randn(6, 13, 7)
    with by(True), lamina.no_grad():
        together, _ = layer(x)
        apart = lamina.cat([layer(part)[0] for part in x.split(1, 1)], 1)
    assert lamina.equal(together, apart)


@contextmanager
def units_shared(least):
    """Threads share the units of layers whose weights have so many bytes."""
    before = units.LEAST_WEIGHT, units.LEAST_FOR_MANY
    units.LEAST_WEIGHT = units.LEAST_FOR_MANY = least
    try:
        yield
    finally:
        units.LEAST_WEIGHT, units.LEAST_FOR_MANY = before


def outputs_and_gradients(layer, data, first):
    leaves = (*first, *layer.parameters())
    for leaf in leaves:
        leaf.grad = None
    output, last = layer(data, first if len(first) > 1 else first[0])
    output = output.data if isinstance(output, PackedSequence) else output
    last = last if isinstance(last, tuple) else (last,)
    total([output], last).backward()
    return [output, *last, *(leaf.grad for leaf in leaves)]


@NATIVE
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("mode", sorted(FORMS))
@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=1, max_size=14),
    st.sampled_from([1, 16, 17, 70, 130, 200]),
    st.sampled_from([lamina.float32, lamina.float64]),
    st.booleans(),
    st.booleans(),
)
def test_sharing_units_gives_the_same_bits(mode, threads, lengths, hidden, dtype, bias, is_packed):
    layer = layer_of(mode, 5, hidden, bias=bias, bidirectional=True).to(dtype)
    data = lamina.randn(max(lengths), len(lengths), 5, dtype=dtype)
    shape = 2, len(lengths), hidden
    parts = range(2 if mode == "LSTM" else 1)
    first = tuple(lamina.randn(shape, dtype=dtype, requires_grad=True) for _ in parts)
    if is_packed:
        data = pack_padded_sequence(data, sorted(lengths, reverse=True))
    before = lamina.get_num_threads()
    lamina.set_num_threads(min(threads, before))
    try:
        with by(True):
            with units_shared(1 << 62):
                expected = outputs_and_gradients(layer, data, first)
            with units_shared(0):
                found = outputs_and_gradients(layer, data, first)
    finally:
        lamina.set_num_threads(before)
    assert all(map(lamina.equal, found, expected))


@NATIVE
@pytest.mark.parametrize("name", ["weight_ih_l0", "weight_hh_l0", "bias_hh_l0"])
def test_parameters_of_another_shape_are_refused(name):
    """Machine code would read behind their end."""
    layer, x = nn.GRU(3, 5), lamina.randn(4, 2, 3)
    setattr(layer, name, nn.Parameter(getattr(layer, name)[:4].detach().clone()))
    with by(True), pytest.raises((RuntimeError, ValueError)):
        layer(x)


@NATIVE
@pytest.mark.parametrize("sizes", [[2, 3, 1], [2, 2, 1], [3, 2, 2]])
def test_packed_sequences_that_cannot_be_are_refused(sizes):
    packed = nn.utils.rnn.PackedSequence(lamina.randn(6, 3), lamina.tensor(sizes))
    with by(True), pytest.raises((RuntimeError, ValueError)):
        nn.LSTM(3, 5)(packed)


@NATIVE
def test_what_a_hook_gives_back_is_looked_at():
    layer, x = nn.RNN(3, 5), lamina.randn(4, 2, 3)
    with lamina.autograd.graph.saved_tensors_hooks(
        lambda tensor: tensor.detach(),
        lambda tensor: tensor[:2] if tensor.ndim == 3 and tensor.shape[1] == 1 else tensor,
    ):
        output, _ = layer(x)
    with by(True), pytest.raises((RuntimeError, ValueError)):
        output.sum().backward()
