"""Tests keep machine code in a folder of their own, which is empty when they begin."""

import tempfile

import pytest


@pytest.fixture(autouse=True, scope="session")
def cache_of_its_own():
    with (
        tempfile.TemporaryDirectory(prefix="lamina-cache-") as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("LAMINA_CACHE_DIR", folder)
        yield
