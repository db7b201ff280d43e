"""Random programs do the same on PyTorch and on Lamina (see `programs`)."""

import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from oracle.programs import disagreement, program

import lamina


@st.composite
def programs(draw):
    return program(lambda options: draw(st.sampled_from(options)), draw(st.integers(8, 14)))


@settings(
    max_examples=300, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck)
)
@given(programs(), st.booleans())
def test_a_random_program_does_the_same(statements, every):
    found = disagreement(statements, (torch, lamina), every)
    assert found is None, "\n".join([*statements, "=>", found])
