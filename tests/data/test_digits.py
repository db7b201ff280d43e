"""The shipped digits are the published ones."""

import hashlib

import numpy as np
import pytest

from lamina.data import load_digits

SHA256 = "87ff0c9e40dc7e2c0e34e7257799c2e3f3aec1a016363bb11cad869ec428a826"


@pytest.fixture(scope="module")
def digits():
    return load_digits()


def test_shapes_and_types(digits):
    images, labels = digits
    assert (images.shape, images.dtype) == ((1797, 8, 8), np.float32)
    assert (labels.shape, labels.dtype) == ((1797,), np.int64)


def test_pixels_are_whole_numbers_from_0_to_16(digits):
    images, _ = digits
    assert np.array_equal(np.unique(images), np.arange(17))


def test_each_class_has_its_published_count(digits):
    _, labels = digits
    assert np.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_checksum(digits):
    images, labels = digits
    content = images.astype(np.uint8).tobytes() + labels.astype(np.uint8).tobytes()
    assert hashlib.sha256(content).hexdigest() == SHA256


def test_each_call_gives_fresh_arrays():
    load_digits()[0].fill(0)
    assert load_digits()[0].any()
