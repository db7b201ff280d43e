"""Whole tensors print as PyTorch prints them, after all usual operations."""

import warnings

import pytest
import torch

import lamina

# `x` and `y` require grad; `p` and `i` are plain.
EXPRESSIONS = """
x
y
p
i
x + 1
x * 2
x - y
x / y
1 / x
2 ** x
x ** 2
-x
x @ y.t()
x.sum()
x.sum(0)
x.mean()
x.mean(1, keepdim=True)
x.max()
x.max(0)
x.max(0).values
x.min(1)
x.sort(1)
x.topk(2)
x.std()
x.exp()
x.log()
x.sqrt()
x.sigmoid()
x.tanh()
x.relu()
x.abs()
x.softmax(1)
x.log_softmax(1)
x.t()
x.T
x.view(-1)
x.reshape(3, 2)
x.flatten()
x[0]
x[0, 1]
x[:, 1:]
x[x > 1]
x[[1, 0]]
x.unsqueeze(0)
x.squeeze()
x.expand(2, 2, 3)
x.split(1)
x.unbind(0)
x.chunk(2, 1)
torch.cat([x, y])
torch.stack([x, y], 2)
torch.where(x > 1, x, y)
x.clamp(0, 1)
x.detach()
x.data
x.clone()
x.double()
x.half()
x.to(torch.bfloat16)
x.to(torch.complex64)
x.long()
x > 1
x == y
x.isnan()
x.argmax()
x.any()
x.numel()
x.shape
x.size()
x.dtype
x.device
x.grad
x.is_leaf
x.stride()
x * 1e6
x * 1e-6
x * torch.tensor([1e5, 1., 1e-3])
x * float("inf")
x - x / 0
p.requires_grad_()
p * 1.0
p.double()
i + 1
i / 2
i.float().requires_grad_()
torch.zeros(0)
torch.zeros(0, 3)
torch.zeros(2, 0, requires_grad=True)
torch.tensor(3.5, requires_grad=True)
torch.tensor(3.5, dtype=torch.float64)
torch.tensor(7)
torch.tensor(True)
torch.tensor([])
torch.tensor([1 + 2j, 0.5])
torch.tensor([1e-10, 1.0])
torch.tensor([1e10, 1.0])
torch.tensor([float("nan"), 1.0])
torch.arange(1500)
torch.arange(1500.0)
torch.arange(2000.0).view(40, 50) * 0.5
torch.ones(20, 30, 40)
torch.linspace(0, 1, 30)
torch.eye(3)
torch.full((2, 2), 0.1)
torch.nn.Parameter(torch.ones(2))
torch.nn.Parameter(torch.ones(2)) * 2
torch.nn.functional.linear(x, y)
torch.nn.functional.mse_loss(x, y)
torch.nn.functional.dropout(x, 0.0)
torch.ones(2, device="meta")
torch.ones(2, device="meta", requires_grad=True) * 2
torch.autograd.grad((x * y).sum(), x)
torch.autograd.grad((x * y).sum(), x, create_graph=True)
x.grad_fn
(x * 2).detach_()
(x * 2).mul_(3)
(x * 2).t().mul_(3)
(x * 2)[0].zero_()
torch.ones(2, 3).copy_(x)
torch.float32
torch.device("cuda", 1)
torch.Size([2, 3])
torch.finfo(torch.float32).max
torch.iinfo(torch.int8)
torch.strided
torch.ones(2, dtype=torch.uint8)
torch.randn(2, 3, requires_grad=True)
torch.rand(3)
torch.randint(0, 10, (4,))
torch.randperm(5)
torch.max(x, 1)
torch.linalg.norm(x)
torch.linalg.qr(p)
torch.linalg.slogdet(p @ p.t())
""".strip().splitlines()


def text(module, expression):
    """What an expression prints."""
    module.manual_seed(0)
    scope = {"torch": module}
    scope["x"] = module.tensor([[0.5, 1.25, 2.0], [3.0, 0.1, 1.0]], requires_grad=True)
    scope["y"] = module.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], requires_grad=True)
    scope["p"] = module.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    scope["i"] = module.tensor([[1, -2], [300, 4]])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return repr(eval(expression, scope))


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_prints_the_same(expression):
    assert text(lamina, expression) == text(torch, expression)
