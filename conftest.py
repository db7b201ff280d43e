"""What all tests share: machine code in a folder of its own, and little for the collector to do."""

import gc
import sys
import tempfile

import pytest


def pytest_collection_finish():
    """Take what is there before the first test out of the collector's sight.

    Twenty thousand tests are millions of objects, which each `gc.collect()` of a test, and whatever
    looks for living tensors, would walk through.
    """
    gc.collect()
    gc.freeze()


def pytest_runtest_setup(item):
    """Leave out the example of `as_torch`, which refuses where the real PyTorch is loaded."""
    if item.name == "lamina.torch_alias.scope.as_torch" and "torch" in sys.modules:
        pytest.skip("the real PyTorch is loaded")


@pytest.fixture(autouse=True, scope="session")
def cache_of_its_own():
    with (
        tempfile.TemporaryDirectory(prefix="lamina-cache-") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("LAMINA_CACHE_DIR", folder)
        yield
