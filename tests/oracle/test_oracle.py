"""The oracle itself."""

import torch


def test_the_oracle_is_the_version_that_lamina_follows():
    assert torch.__version__.split("+")[0] == "2.13.0"
