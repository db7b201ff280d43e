"""Functions by position give what those of `nn.functional` give, and refuse unknown modes."""

import pytest

import lamina as torch
from lamina.nn import functional as F

x, y, z = (torch.randn(4, 3, generator=torch.Generator().manual_seed(k)) for k in range(3))
target = torch.tensor([1.0, -1.0, 1.0, -1.0])
image, grid = torch.randn(1, 2, 4, 4), torch.rand(1, 3, 3, 2)


@pytest.mark.parametrize(("number", "name"), [(0, "none"), (1, "mean"), (2, "sum")])
def test_losses(number, name):
    pairs = [
        (torch.binary_cross_entropy_with_logits(x, y, None, z, number),
         F.binary_cross_entropy_with_logits(x, y, pos_weight=z, reduction=name)),
        (torch.poisson_nll_loss(x, y.abs(), True, False, 1e-8, number),
         F.poisson_nll_loss(x, y.abs(), reduction=name)),
        (torch.hinge_embedding_loss(x[:, 0], target, 0.5, number),
         F.hinge_embedding_loss(x[:, 0], target, 0.5, reduction=name)),
        (torch.margin_ranking_loss(x[:, 0], y[:, 0], target, 0.5, number),
         F.margin_ranking_loss(x[:, 0], y[:, 0], target, 0.5, reduction=name)),
        (torch.cosine_embedding_loss(x, y, target, 0.5, number),
         F.cosine_embedding_loss(x, y, target, 0.5, reduction=name)),
        (torch.triplet_margin_loss(x, y, z, 2.0, 1.0, 1e-6, True, number),
         F.triplet_margin_loss(x, y, z, 2.0, 1.0, swap=True, reduction=name)),
    ]  # fmt: skip
    assert [torch.equal(found, expected) for found, expected in pairs] == [True] * len(pairs)


def test_divergences():
    each = F.kl_div(x, y.abs(), reduction="none")
    assert torch.equal(torch.kl_div(x, y.abs(), 0), each)
    assert torch.equal(torch.kl_div(x, y.abs()), each)
    assert torch.equal(torch.kl_div(x, y.abs(), 1), each.mean())
    logarithms = F.kl_div(x, y, reduction="sum", log_target=True)
    assert torch.equal(torch.kl_div(x, y, 2, log_target=True), logarithms)


def test_rows_padding_and_places():
    indices = torch.tensor([2, 0])
    assert torch.equal(torch.embedding(x, indices), x[indices])
    assert torch.equal(torch.constant_pad_nd(x, (1, 2), 5), F.pad(x, (1, 2), value=5))
    theta = torch.tensor([[[1.0, 0, 0.1], [0, 1, 0]]])
    assert torch.equal(
        torch.affine_grid_generator(theta, (1, 2, 3, 3), False),
        F.affine_grid(theta, (1, 2, 3, 3), align_corners=False),
    )
    assert torch.equal(
        torch.grid_sampler(image, grid, 1, 2, True),
        F.grid_sample(image, grid, "nearest", "reflection", align_corners=True),
    )


def test_a_padding_row_gets_no_gradient():
    weight = torch.ones(3, 2, requires_grad=True)
    torch.embedding(weight, torch.tensor([0, 1]), 1).sum().backward()
    assert weight.grad.tolist() == [[1, 1], [0, 0], [0, 0]]


def test_norms():
    assert torch.equal(torch.frobenius_norm(x, (0, 1)), torch.linalg.norm(x))
    assert torch.equal(torch.frobenius_norm(x, 1, True), x.norm(dim=1, keepdim=True))
    assert torch.equal(torch.nuclear_norm(x), torch.linalg.matrix_norm(x, "nuc"))
    assert torch.equal(torch.nuclear_norm(x, True), torch.nuclear_norm(x).reshape(1, 1))


def test_an_unknown_mode_is_refused():
    with pytest.raises(RuntimeError, match="3 is not a valid value for reduction"):
        torch.kl_div(x, y, 3)


def test_claims_stop_a_program():
    torch._assert(torch.tensor(True), "fine")
    torch._assert_async(torch.tensor(2))
    with pytest.raises(AssertionError, match="wrong shape"):
        torch._assert(x.shape == (3,), "wrong shape")
    with pytest.raises(RuntimeError, match="single nonzero value, but got zero"):
        torch._assert_async(torch.tensor(0.0))
