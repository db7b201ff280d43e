"""Programs about modules answer in Lamina what they answer in PyTorch."""

import nn.module_programs  # noqa: F401  adds to the table
import pytest
import torch
import torch.nn.utils.prune
from nn.programs import PROGRAMS, answer, close

import lamina
import lamina.nn.utils.prune


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name):
    ours, theirs = answer(name, lamina), answer(name, torch)
    assert close(ours, theirs), (ours, theirs)
