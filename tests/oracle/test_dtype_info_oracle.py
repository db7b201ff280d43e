"""Limits of dtypes: PyTorch's numbers, for formats that NumPy lacks too."""

import pytest
import torch

import lamina

FLOATING = [
    "float16", "float32", "float64", "complex64", "complex128", "bfloat16", "float8_e4m3fn",
    "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
]  # fmt: skip
INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]


@pytest.mark.parametrize("name", FLOATING)
def test_limits_of_floating_point_dtypes(name):
    ours, theirs = lamina.finfo(getattr(lamina, name)), torch.finfo(getattr(torch, name))
    assert repr(ours) == repr(theirs)
    for field in ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny"):
        assert getattr(ours, field) == getattr(theirs, field), field


@pytest.mark.parametrize("name", INTEGERS)
def test_limits_of_integer_dtypes(name):
    ours, theirs = lamina.iinfo(getattr(lamina, name)), torch.iinfo(getattr(torch, name))
    for field in ("bits", "dtype", "max", "min"):
        assert getattr(ours, field) == getattr(theirs, field), field
