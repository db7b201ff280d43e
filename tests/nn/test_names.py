"""Names that programs import from deeper inside PyTorch's nn."""

import typing

import pytest

from lamina import nn


@pytest.mark.parametrize(
    ("file", "base", "layer"),
    [
        ("batchnorm", "_BatchNorm", nn.BatchNorm2d(1)),
        ("batchnorm", "_NormBase", nn.InstanceNorm1d(1)),
        ("instancenorm", "_InstanceNorm", nn.InstanceNorm2d(1)),
        ("conv", "_ConvNd", nn.Conv1d(1, 1, 1)),
        ("conv", "_ConvTransposeNd", nn.ConvTranspose2d(1, 1, 1)),
        ("dropout", "_DropoutNd", nn.Dropout2d()),
        ("loss", "_Loss", nn.L1Loss()),
        ("loss", "_WeightedLoss", nn.NLLLoss()),
        ("pooling", "_MaxPoolNd", nn.MaxPool1d(2)),
        ("pooling", "_AdaptiveAvgPoolNd", nn.AdaptiveAvgPool2d(1)),
        ("padding", "_ConstantPadNd", nn.ZeroPad2d(1)),
    ],
)
def test_bases(file, base, layer):
    assert isinstance(layer, getattr(getattr(nn.modules, file), base))


def test_reading_of_sizes():
    utils = nn.modules.utils
    assert utils._pair(3) == (3, 3)
    assert utils._triple([1, 2, 3]) == (1, 2, 3)
    assert utils._ntuple(5)(0) == (0,) * 5
    assert utils._list_with_default((None, 2), (7, 8, 9)) == [8, 2]
    with pytest.raises(ValueError, match="at least 3"):
        utils._list_with_default((None, 2), (8, 9))


def test_types_of_sizes():
    assert typing.get_args(nn.common_types._size_2_t) == (int, tuple[int, int])
    assert typing.get_args(nn.common_types._size_1_t) == (int, tuple[int])


def test_every_layer_is_in_modules_too():
    assert nn.modules.Conv2d is nn.Conv2d
    assert nn.modules.module.Module is nn.Module
    assert nn.parameter.Parameter is nn.Parameter
