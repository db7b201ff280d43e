"""Each rule of tensors and gradients, asked of the real PyTorch too (see `core.rules`)."""

import pytest
import torch
from core.rules import PROGRAMS, answer

import lamina


@pytest.mark.parametrize("name", PROGRAMS)
def test_rule(name):
    assert answer(name, lamina) == answer(name, torch)
