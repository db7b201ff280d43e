"""The workloads of `lamina bench` are the same computation on both libraries."""

import pytest
import torch

import lamina
from lamina.bench.catalogue import WORKLOADS
from lamina.bench.rounds import difference
from lamina.bench.workloads import numbers


@pytest.mark.parametrize("workload", WORKLOADS.values(), ids=lambda workload: workload.name)
def test_a_workload_gives_pytorchs_results(workload):
    ours, theirs = (
        [numbers(call()) for _ in range(3)]
        for call in (workload.build(lamina), workload.build(torch))
    )
    assert difference(ours, theirs, workload.rtol) == ""
