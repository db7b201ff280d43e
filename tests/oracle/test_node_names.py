"""The nodes that operations leave, and how their results lie in memory, are PyTorch's."""

from __future__ import annotations

from typing import Any

import all_chapters  # noqa: F401  the whole catalogue
import pytest
import torch
from oracle import both

import lamina
from lamina.core.op import catalogue

EXPRESSIONS = """
x + y|x + 2|2 - x|x - y|x * 2|2 / x|x / y|x ** 2|2 ** x|x ** y|-x|x @ y.T|x // 2|x % 2|x % y|abs(x)
x[0]|x[:, 1:]|x[..., None]|x[i]|x[x > 0]|x[0, 1]|x[:, i]|x.T|x.mT|x.view(-1)|x.reshape(3, 2)
x.T.reshape(-1)|x.flatten()|x.squeeze()|x[None].squeeze(0)|x[None].squeeze((0, 1))
x.t().contiguous()
x.sum()|x.sum(0)|x.sum((0, 1))|x.sum(0, keepdim=True)|x.mean()|x.mean(1)|x.prod()|x.prod(1)
x.max()|x.max(0)[0]|x.max(x * 2)|x.min()|x.min(0)[0]|x.amax(0)|x.median()|x.median(0)[0]|x.std()
x.var(0)|x.norm()|x.norm(dim=0)|x.norm(p=1)|x.cumsum(0)|x.cumprod(0)|x.logsumexp(0)|x.nanmedian()
x.softmax(0)|x.log_softmax(0)|x.clamp(0, 1)|x.clamp(min=0)|x.clamp(max=0)|x.clamp(x, y)|x.relu()
x.double()|x.float()|x.to(m.float64)|x.half()|x.clone()|x.detach().requires_grad_()
x.expand(2, 2, 3)
x.repeat(2, 1)|x.permute(1, 0)|x.transpose(0, 1)|x.unbind()[0]|x.split(1)[0]|x.chunk(2)[0]
x.masked_fill(x > 0, 1)|x.masked_fill(x > 0, x.sum())|x.masked_select(x > 0)|x.where(x > 0, y)
x.index_select(0, i)|x.gather(1, j)|x.scatter(1, j, y)|x.scatter(1, j, 1.0)|x.scatter_add(1, j, y)
x.index_add(0, i, y)|x.index_fill(0, i, 1.0)|x.index_copy(0, i, y)|x.take(i)|x.sort()[0]
x.topk(1)[0]
x.argsort()|x.diagonal()|x.diag()|x.tril()|x.flip(0)|x.roll(1)|x.unfold(1, 2, 1)|x.kthvalue(1)[0]
x.lerp(y, 0.5)|x.lerp(y, y)|x.div(y, rounding_mode='floor')|x.div(2, rounding_mode='trunc')
x.round()
x.round(decimals=1)|x.fmod(2)|x.fmod(y)|x.remainder(2)|x.copysign(1)|x.xlogy(y)|x.xlogy(2)
x.addmm(x, x.T @ y)|m.addmv(x.sum(1), x, y[0])|m.addcmul(x, x, y)|m.addcdiv(x, x, y)
m.outer(x[0], y[0])
m.cat([x, y])|m.stack([x, y])|m.hstack([x, y])|m.vstack([x, y])|m.einsum('ij,kj->ik', x, y)
m.dot(x[0], y[0])
m.mv(x, y[0])|m.bmm(x[None], y.T[None])|m.matmul(x, y.T[None])|m.block_diag(x, y)|m.logaddexp(x, y)
m.where(x > 0, x, 0.0)|m.maximum(x, y)|m.atan2(x, y)|m.hypot(x, y)|m.complex(x, y)|m.polar(x, y)
m.trace(x)
m.linalg.vector_norm(x)|m.linalg.norm(x)|m.linalg.det(x @ x.T)|m.linalg.inv(x @ x.T)|m.cdist(x, y)
m.linalg.cholesky(x @ x.T)|m.linalg.svdvals(x)|m.linalg.eigvalsh(x @ x.T)|m.linalg.solve(x @ x.T, y)
F.relu(x)|F.gelu(x)|F.silu(x)|F.elu(x)|F.celu(x)|F.selu(x)|F.leaky_relu(x)|F.softplus(x)|F.mish(x)
F.hardtanh(x)|F.relu6(x)|F.hardswish(x)|F.hardsigmoid(x)|F.logsigmoid(x)|F.glu(p)|F.prelu(x, w)
F.threshold(x, 0, 1)|F.softshrink(x)|F.hardshrink(x)|F.tanhshrink(x)|F.softsign(x)|F.rrelu(x)
F.linear(x, y)|F.linear(x, y, b)|F.linear(x[0], y, b)|F.linear(x[None], y, b)|F.linear(x[None], y)
F.bilinear(x, y, z)
F.dropout(x)|F.normalize(x)|F.layer_norm(x, (3,))|F.group_norm(x[None], 1)
F.batch_norm(x, None, None, training=True)
F.instance_norm(p[None])|F.rms_norm(x, (3,))|F.local_response_norm(q, 2)|F.pad(x, (1, 1))
F.embedding(i, x)
F.pad(q, (1, 1, 1, 1), mode='reflect')|F.pad(q, (1, 1, 1, 1), mode='replicate')
F.pad(p, (1, 1), mode='circular')
F.conv1d(p, z1)|F.conv2d(q, z2)|F.conv_transpose2d(q, z2, padding=1)|F.max_pool1d(p, 2)
F.max_pool2d(q, 2)
F.max_pool2d(q, 2, return_indices=True)[0]|F.avg_pool1d(p, 2)|F.avg_pool2d(q, 2)
F.adaptive_avg_pool2d(q, 1)
F.adaptive_avg_pool2d(q, 2)|F.adaptive_max_pool2d(q, 2)|F.adaptive_avg_pool1d(p, 2)
F.lp_pool2d(q, 2, 2)
F.interpolate(q, scale_factor=2)|F.interpolate(q, scale_factor=2, mode='bilinear')|F.unfold(q, 2)
F.interpolate(q, scale_factor=2, mode='bicubic')|F.interpolate(q, 2, mode='area')
F.pixel_shuffle(q, 2)
F.fold(F.unfold(q, 2), (4, 4), 2)|F.mse_loss(x, y)|F.l1_loss(x, y)|F.smooth_l1_loss(x, y)
F.huber_loss(x, y)
F.cross_entropy(x, k)|F.nll_loss(x, k)|F.kl_div(x, y)|F.binary_cross_entropy_with_logits(x, y)
F.soft_margin_loss(x, y.detach())
F.binary_cross_entropy(x.sigmoid(), y.sigmoid())|F.cross_entropy(x, y.softmax(1))
F.cosine_similarity(x, y)
F.triplet_margin_loss(x, y, x + 1)|F.margin_ranking_loss(x[0], y[0], b2)|F.poisson_nll_loss(x, y)
F.multi_margin_loss(x, k)
F.gaussian_nll_loss(x, y, x * x)|F.hinge_embedding_loss(x, y)|F.pairwise_distance(x, y)|F.one_hot(i)
m.logit(x)
F.scaled_dot_product_attention(x, y, y)|F.grid_sample(q, g)|F.affine_grid(t, (1, 1, 2, 2))
F.upsample(q, scale_factor=2)
F.embedding_bag(i, x, o)|F.gumbel_softmax(x)|F.alpha_dropout(x, 0.5, True)|F.dropout2d(q)
F.ctc_loss(c, k2, l1, l2)
x.add_(1)|x.mul_(2)|x.exp_()|x.zero_()|x.fill_(2.0)|x.copy_(y)|x.clamp_(0, 1)
x.masked_fill_(x > 0, 1.0)
x.relu_()|x.div_(y)|x.sub_(y)|x.pow_(2)|x.t_()|x.unsqueeze_(0)|x.index_fill_(0, i, 1.0)|x.normal_()
x.uniform_()
"""

# What Lamina puts together from other operations than PyTorch does, with the same gradients.
COMPOSED_OTHERWISE = {
    "m.matmul(x, y.T[None])",
    "F.cross_entropy(x, y.softmax(1))",
    "F.pairwise_distance(x, y)",
    "F.scaled_dot_product_attention(x, y, y)",
    "F.affine_grid(t, (1, 1, 2, 2))",
}

NAMED = [line for row in EXPRESSIONS.split("\n") for line in row.split("|") if line]


def names(module: Any) -> dict[str, Any]:
    """What the expressions are written with; `x` is no leaf, so that it may be changed in place."""

    def made(*size: int) -> Any:
        count = torch.Size(size).numel()
        line = ((module.arange(count, dtype=module.float32) * 7 + 3) % 11) / 11 + 0.1
        return line.reshape(size).requires_grad_()

    return {
        "m": module, "F": module.nn.functional, "x": made(2, 3).clone(), "y": made(2, 3) * 0.5,
        "p": made(1, 2, 4), "q": made(1, 4, 4, 4), "b": made(2), "w": made(1), "z": made(4, 3, 3),
        "b2": module.ones(3), "z1": made(3, 2, 2), "z2": made(4, 4, 2, 2), "t": made(1, 2, 3),
        "i": module.tensor([0, 1]), "j": module.tensor([[0, 1, 2], [2, 1, 0]]),
        "g": made(1, 2, 2, 2),
        "k": module.tensor([0, 2]), "o": module.tensor([0]), "c": made(4, 1, 3).log_softmax(2),
        "k2": module.tensor([[1, 2]]), "l1": module.tensor([4]), "l2": module.tensor([2]),
    }  # fmt: skip


def facts(tensor: Any) -> tuple[str, bool]:
    return type(tensor.grad_fn).__name__, tensor.requires_grad


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", both.WITH_SAMPLES)
def test_samples_leave_the_same_nodes_and_layouts(name: str) -> None:
    for label, ours, theirs in both.results(catalogue[name]):
        for mine, other in zip(ours, theirs, strict=True):
            assert facts(mine) == facts(other), label
            assert mine.is_contiguous() or not other.is_contiguous(), label


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", NAMED)
def test_expressions_leave_the_same_nodes_and_layouts(expression: str) -> None:
    mine, other = (eval(expression, names(module)) for module in (lamina, torch))
    assert (facts(mine) == facts(other)) is (expression not in COMPOSED_OTHERWISE)
    assert mine.is_contiguous() or not other.is_contiguous()
