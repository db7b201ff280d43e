"""Random numbers for tensors that are not in order in memory; PyTorch's answers for seed 0."""

import pytest

import lamina as torch

FUNCTIONS = {
    "uniform_": (
        lambda: torch.empty(3, 2).t().uniform_(),
        [0.4963, 0.0885, 0.3074, 0.7682, 0.132, 0.6341],
    ),
    "rand_like": (
        lambda: torch.rand_like(torch.empty(3, 2).t()),
        [0.4963, 0.0885, 0.3074, 0.7682, 0.132, 0.6341],
    ),
    "a slice": (
        lambda: torch.empty(3, 4)[:, ::2].uniform_(),
        [0.4963, 0.7682, 0.0885, 0.132, 0.3074, 0.6341],
    ),
    "dropout": (lambda: torch.dropout(torch.ones(3, 2).t(), 0.5, True), [0, 2, 0, 0, 0, 0]),
    "dropout of an expanded one": (
        lambda: torch.dropout(torch.ones(1, 1).expand(3, 2), 0.5, True),
        [0, 0, 2, 0, 0, 0],
    ),
    "bernoulli": (lambda: torch.bernoulli(torch.full((3, 2), 0.5).t()), [1, 0, 1, 1, 1, 0]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_order(name):
    function, expected = FUNCTIONS[name]
    torch.manual_seed(0)
    assert function().flatten().tolist() == pytest.approx(expected, abs=1e-4)


def test_normal_numbers_come_in_pairs():
    torch.manual_seed(0)
    found = torch.empty(6, 4).t().normal_()
    assert found[:, 0].tolist() == pytest.approx([1.541, -0.293, -2.179, 0.568], abs=1e-3)
    torch.manual_seed(0)
    assert torch.equal(torch.randn_like(torch.empty(6, 4).t()), found)
