"""Padded and packed sequences, and recurrent layers on them."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lamina as torch
from lamina import nn
from lamina.nn.utils import rnn

PADDED = torch.arange(24.0).reshape(4, 3, 2)


def test_packing_sorts_when_it_may():
    packed = rnn.pack_padded_sequence(PADDED, [2, 4, 3], enforce_sorted=False)
    assert packed.data[:, 0].tolist() == [2, 4, 0, 8, 10, 6, 14, 16, 20]
    assert packed.batch_sizes.tolist() == [3, 3, 2, 1]
    assert packed.sorted_indices.tolist() == [1, 2, 0]
    assert packed.unsorted_indices.tolist() == [2, 0, 1]


def test_sorted_sequences_have_no_order():
    packed = rnn.pack_padded_sequence(PADDED, torch.tensor([4, 3, 2]))
    assert packed.sorted_indices is None
    assert packed.unsorted_indices is None
    assert isinstance(packed, tuple)
    assert repr(packed).startswith("PackedSequence(data=tensor([[ 0.,  1.],")


@pytest.mark.parametrize(
    ("lengths", "phrase"),
    [
        ([2, 4, 3], "must be sorted in decreasing order when `enforce_sorted` is True"),
        ([4, 3, 0], "Length of all samples has to be greater than 0"),
        ([4, 3], "Expected `len\\(lengths\\)` to be equal to batch_size, but got 2"),
        ([5, 3, 2], "the padded input is only 4 long"),
    ],
)
def test_lengths_that_cannot_be(lengths, phrase):
    with pytest.raises(RuntimeError, match=phrase):
        rnn.pack_padded_sequence(PADDED, lengths)


def test_a_longer_total_length():
    packed = rnn.pack_sequence([torch.tensor([1.0, 2.0]), torch.tensor([3.0])])
    padded, lengths = rnn.pad_packed_sequence(packed, padding_value=-1.0, total_length=3)
    assert padded.tolist() == [[1, 3], [2, -1], [-1, -1]]
    assert lengths.tolist() == [2, 1]
    with pytest.raises(ValueError, match="Expected total_length to be at least the length"):
        rnn.pad_packed_sequence(packed, total_length=1)


def test_padding_on_the_left_keeps_the_first_dtype():
    padded = rnn.pad_sequence([torch.tensor([1, 2]), torch.ones(3)], padding_side="left")
    assert padded.tolist() == [[0, 1], [1, 1], [2, 1]]
    assert padded.dtype == torch.int64


@pytest.mark.parametrize(
    ("call", "phrase"),
    [
        (lambda: rnn.pad_sequence([]), "received an empty list of sequences"),
        (lambda: rnn.pad_sequence(3), "Expected iterable for input sequences"),
        (lambda: rnn.pad_sequence([torch.ones(1)], padding_side="top"), "one of left or right"),
    ],
)
def test_what_cannot_be_padded(call, phrase):
    with pytest.raises(RuntimeError, match=phrase):
        call()


def test_converting_a_packed_sequence():
    packed = rnn.pack_sequence([torch.ones(1), torch.ones(2)], enforce_sorted=False)
    assert packed.double().data.dtype == torch.float64
    assert packed.long().sorted_indices.tolist() == [1, 0]
    assert packed.to("cpu") is packed
    assert not packed.is_cuda


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(1, 5), min_size=1, max_size=5), st.integers(0, 2))
def test_packing_and_unpacking_give_what_was_packed(lengths, dims):
    sequences = [torch.randn(length, *[2] * dims, requires_grad=True) for length in lengths]
    packed = rnn.pack_sequence(sequences, enforce_sorted=False)
    unpacked = rnn.unpack_sequence(packed)
    assert all(torch.equal(*pair) for pair in zip(unpacked, sequences, strict=True))
    (packed.data * 3).sum().backward()
    assert all(bool((sequence.grad == 3).all()) for sequence in sequences)


@settings(max_examples=15, deadline=None)
@given(
    st.sampled_from(["RNN", "GRU", "LSTM"]),
    st.lists(st.integers(1, 4), min_size=1, max_size=4),
    st.booleans(),
)
def test_a_packed_batch_is_each_sequence_by_itself(kind, lengths, bidirectional):
    torch.manual_seed(0)
    layer = getattr(nn, kind)(2, 3, num_layers=2, bidirectional=bidirectional)
    sequences = [torch.randn(length, 2) for length in lengths]
    output, last = layer(rnn.pack_sequence(sequences, enforce_sorted=False))
    last = last if kind == "LSTM" else (last,)
    for i, (sequence, found) in enumerate(zip(sequences, rnn.unpack_sequence(output), strict=True)):
        expected, state = layer(sequence)
        assert torch.allclose(found, expected, atol=1e-6)
        for part, one in zip(last, state if kind == "LSTM" else (state,), strict=True):
            assert torch.allclose(part[:, i], one, atol=1e-6)


@pytest.mark.parametrize(
    ("call", "error", "phrase"),
    [
        (lambda: nn.GRU(2, 3)(torch.ones(3, 1, 2).double()), ValueError, "does not match weight"),
        (lambda: nn.GRU(2, 3)(torch.ones(0, 1, 2)), RuntimeError, "sequence length to be larger"),
        (lambda: nn.GRU(2, 3, proj_size=1), ValueError, "only supported for LSTM, not RNN or GRU"),
        (lambda: nn.GRU(2, 3.5), TypeError, "hidden_size should be of type int, got: float"),
        (
            lambda: nn.GRU(2, 3)(torch.ones(3, 1, 2), torch.zeros(1, 2, 3)),
            RuntimeError,
            r"Expected hidden size \(1, 1, 3\), got \[1, 2, 3\]",
        ),
        (
            lambda: nn.GRU(2, 3)(torch.ones(3, 2), torch.zeros(1, 2, 3)),
            RuntimeError,
            "For unbatched 2-D input, hx should also be 2-D but got 3-D tensor",
        ),
        (
            lambda: nn.RNNCell(2, 3, nonlinearity="x")(torch.ones(2)),
            RuntimeError,
            "Unknown nonlinearity: x",
        ),
    ],
)
def test_mistakes(call, error, phrase):
    with pytest.raises(error, match=phrase):
        call()
