"""Pooling and interpolation, with values that can be read off."""

from __future__ import annotations

import pytest

import lamina
from lamina.nn import functional as F

PLANE = lamina.arange(16.0).reshape(1, 1, 4, 4)


def test_max_pool_gives_maxima_and_their_places() -> None:
    values, places = F.max_pool2d(PLANE, 2, return_indices=True)
    assert values.tolist() == [[[[5.0, 7.0], [13.0, 15.0]]]]
    assert places.tolist() == values.to(lamina.int64).tolist()


def test_padding_is_never_the_largest() -> None:
    x = lamina.full((1, 1, 2), float("-inf"))
    values, places = F.max_pool1d(x, 2, 1, 1, return_indices=True)
    assert values.tolist() == [[[float("-inf")] * 3]]
    assert all(0 <= place < 2 for place in places.flatten().tolist())


@pytest.mark.parametrize("dtype", [lamina.float32, lamina.int64])
def test_equal_elements_have_the_first_place(dtype: lamina.dtype) -> None:
    _, places = F.max_pool2d(lamina.ones(1, 4, 4, dtype=dtype), 2, return_indices=True)
    assert places.tolist() == [[[0, 2], [8, 10]]]


def test_of_several_nan_the_last_one_is_found() -> None:
    nan = float("nan")
    x = lamina.tensor([[[nan, 1.0, nan, 2.0], [3.0, 5.0, 5.0, 4.0]]])
    values, places = F.max_pool1d(x, 4, return_indices=True)
    assert places.tolist() == [[[2], [1]]]
    assert values[0, 0].isnan().item()
    assert values[0, 1].item() == 5.0


def test_overlapping_windows_add_their_gradients() -> None:
    x = lamina.tensor([[[1.0, 3.0, 2.0]]], requires_grad=True)
    F.max_pool1d(x, 2, 1).sum().backward()
    assert x.grad.tolist() == [[[0.0, 2.0, 0.0]]]


def test_a_window_over_the_end_counts_what_is_there() -> None:
    x = lamina.tensor([[[2.0, 4.0, 6.0]]])
    assert F.avg_pool1d(x, 2, ceil_mode=True).tolist() == [[[3.0, 6.0]]]
    assert F.avg_pool1d(x, 2, padding=1).tolist() == [[[1.0, 5.0]]]
    assert F.avg_pool1d(x, 2, padding=1, count_include_pad=False).tolist() == [[[2.0, 5.0]]]


def test_adaptive_windows_cover_everything() -> None:
    x = lamina.tensor([[[1.0, 2.0, 3.0, 4.0, 5.0]]])
    assert F.adaptive_avg_pool1d(x, 2).tolist() == [[[2.0, 4.0]]]
    assert F.adaptive_max_pool1d(x, 2).tolist() == [[[3.0, 5.0]]]


def test_unpooling_puts_maxima_back() -> None:
    values, places = F.max_pool2d(PLANE, 2, return_indices=True)
    back = F.max_unpool2d(values, places, 2)
    assert lamina.equal(back, lamina.where(lamina.isin(PLANE, values), PLANE, 0.0))


@pytest.mark.parametrize("mode", ["nearest", "nearest-exact", "bilinear", "bicubic", "area"])
def test_a_constant_stays_constant_at_any_size(mode: str) -> None:
    made = F.interpolate(lamina.full((1, 1, 3, 5), 2.0), (7, 4), mode=mode)
    assert lamina.allclose(made, lamina.full((1, 1, 7, 4), 2.0))


def test_linear_interpolation_keeps_lines_straight() -> None:
    x = lamina.tensor([[[0.0, 1.0, 2.0]]])
    made = F.interpolate(x, 5, mode="linear", align_corners=True)
    assert lamina.allclose(made, lamina.tensor([[[0.0, 0.5, 1.0, 1.5, 2.0]]]))


def test_the_identity_grid_reads_the_image() -> None:
    theta = lamina.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]])
    grid = F.affine_grid(theta, (1, 1, 4, 4), align_corners=False)
    assert lamina.allclose(F.grid_sample(PLANE, grid, align_corners=False), PLANE, atol=1e-5)


def test_too_much_padding_is_refused() -> None:
    with pytest.raises(RuntimeError, match="pad should be at most half"):
        F.max_pool1d(lamina.ones(1, 1, 4), 2, padding=2)
