"""Convolution and patches, against sums written out."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import lamina
from lamina.nn import functional as F


def by_hand(x: Any, w: Any, stride: int, padding: int, dilation: int, groups: int) -> Any:
    """A two-dimensional convolution as its definition has it."""
    x = np.pad(x, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    outputs, per_group, height, width = w.shape
    rows = (x.shape[2] - dilation * (height - 1) - 1) // stride + 1
    columns = (x.shape[3] - dilation * (width - 1) - 1) // stride + 1
    made = np.zeros((x.shape[0], outputs, rows, columns))
    for o, i, j in product(range(outputs), range(rows), range(columns)):
        first = o // (outputs // groups) * per_group
        for c, a, b in product(range(per_group), range(height), range(width)):
            place = i * stride + a * dilation, j * stride + b * dilation
            made[:, o, i, j] += w[o, c, a, b] * x[:, first + c, place[0], place[1]]
    return made


@pytest.mark.parametrize(
    ("stride", "padding", "dilation", "groups"), [(1, 0, 1, 1), (2, 1, 2, 2), (1, 2, 1, 4)]
)
def test_convolution_is_its_definition(
    stride: int, padding: int, dilation: int, groups: int
) -> None:
    random = np.random.default_rng(0)
    x, w = random.normal(size=(2, 4, 7, 6)), random.normal(size=(4, 4 // groups, 3, 2))
    made = F.conv2d(
        lamina.from_numpy(x), lamina.from_numpy(w), None, stride, padding, dilation, groups
    )
    assert np.allclose(made.numpy(), by_hand(x, w, stride, padding, dilation, groups))


def test_transposed_convolution_is_the_transpose() -> None:
    random = np.random.default_rng(0)
    w = lamina.from_numpy(random.normal(size=(3, 2, 3, 2)))
    x = lamina.from_numpy(random.normal(size=(1, 2, 7, 6)))
    y = F.conv2d(x, w, stride=2, padding=1)
    v = lamina.from_numpy(random.normal(size=tuple(y.shape)))
    back = F.conv_transpose2d(v, w, stride=2, padding=1, output_padding=(0, 0))
    assert back.shape == x.shape
    assert (y * v).sum().item() == pytest.approx((x * back).sum().item())


def test_same_padding_keeps_the_size() -> None:
    x, w = lamina.ones(1, 1, 6), lamina.ones(1, 1, 4)
    assert F.conv1d(x, w, padding="same").tolist() == [[[3.0, 4.0, 4.0, 4.0, 3.0, 2.0]]]


def test_one_sample_needs_no_batch() -> None:
    x, w = lamina.randn(2, 5, 5), lamina.randn(3, 2, 3, 3)
    assert F.conv2d(x, w).shape == (3, 3, 3)


def test_wrong_channels_are_named() -> None:
    with pytest.raises(RuntimeError, match=r"expected input.* to have 3 channels, but got 2"):
        F.conv2d(lamina.ones(1, 2, 5, 5), lamina.ones(4, 3, 3, 3))


def test_a_kernel_larger_than_the_input_is_refused() -> None:
    with pytest.raises(RuntimeError, match="Kernel size can't be greater than actual input size"):
        F.conv1d(lamina.ones(1, 1, 2), lamina.ones(1, 1, 3))


def test_fold_adds_what_unfold_takes() -> None:
    x = lamina.randn(1, 2, 4, 4)
    columns = F.unfold(x, 2, stride=2)
    assert columns.shape == (1, 8, 4)
    assert lamina.equal(F.fold(columns, (4, 4), 2, stride=2), x)


def test_pixel_shuffle_lays_channels_out_as_blocks() -> None:
    x = lamina.arange(4.0).reshape(1, 4, 1, 1)
    assert F.pixel_shuffle(x, 2).tolist() == [[[[0.0, 1.0], [2.0, 3.0]]]]
    assert lamina.equal(F.pixel_unshuffle(F.pixel_shuffle(x, 2), 2), x)
