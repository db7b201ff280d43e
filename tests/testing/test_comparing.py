"""`assert_close` raises exactly where values are not close, and says where."""

import pytest

import lamina as torch
from lamina.testing import assert_allclose, assert_close


@pytest.mark.parametrize(
    ("dtype", "close", "far"),
    [
        (torch.float64, 5e-8, 1e-6),
        (torch.float32, 5e-6, 1e-3),
        (torch.float16, 1e-3, 1e-1),
    ],
)
def test_tolerances_follow_from_the_dtype(dtype, close, far):
    one = torch.ones(3, dtype=dtype)
    assert_close(one, one + close)
    with pytest.raises(AssertionError, match="Tensor-likes are not close!"):
        assert_close(one, one + far)


def test_whole_numbers_must_be_equal():
    with pytest.raises(AssertionError, match="Tensor-likes are not equal!"):
        assert_close(torch.tensor([1, 2]), torch.tensor([1, 3]))


def test_the_error_counts_and_names_the_worst():
    actual, expected = torch.tensor([[1.0, 5.0]]), torch.tensor([[2.0, 2.0]])
    with pytest.raises(AssertionError) as error:
        assert_close(actual, expected)
    lines = str(error.value).splitlines()
    assert lines[2] == "Mismatched elements: 2 / 2 (100.0%)"
    assert lines[3].startswith("Greatest absolute difference: 3.0 at index (0, 1)")


def test_the_place_in_a_tree_is_named():
    with pytest.raises(AssertionError, match=r"item \['a'\]\[1\]$"):
        assert_close({"a": [1, 2]}, {"a": [1, 3]})


def test_the_text_may_be_ones_own():
    with pytest.raises(AssertionError, match=r"^own$"):
        assert_close(1.0, 2.0, msg="own")
    with pytest.raises(AssertionError, match=r"^own: Scalars"):
        assert_close(1.0, 2.0, msg=lambda text: "own: " + text)


def test_nan_equals_nan_on_request():
    nan = torch.tensor([float("nan")])
    assert_close(nan, nan, equal_nan=True)
    with pytest.raises(AssertionError):
        assert_close(nan, nan)


def test_the_older_form_compares_with_numbers():
    with pytest.warns(FutureWarning, match="assert_allclose"):
        assert_allclose(torch.tensor([1.0]), [1.0])
