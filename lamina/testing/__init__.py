"""What tests of numerical programs use: `assert_close`, with PyTorch's tolerances and its words."""

from lamina.testing.comparing import assert_allclose, assert_close

__all__ = ["assert_allclose", "assert_close"]
