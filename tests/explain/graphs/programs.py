"""Programs whose graphs are read: each returns the tensor to begin at, and what must stay alive."""

import lamina as torch
from lamina import nn
from lamina.nn import functional as F


class Twice(torch.autograd.Function):
    """A custom function that counts how often its backward is called."""

    calls = 0

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(ctx, g):
        Twice.calls += 1
        return g * 2


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width)
        )

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class Net(nn.Module):
    def __init__(self, width=4, depth=2):
        super().__init__()
        self.start = nn.Linear(3, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(depth)])
        self.head = nn.Linear(width, 2)

    def forward(self, x):
        x = torch.tanh(self.start(x))
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def leaf(*shape):
    return torch.randn(*shape, requires_grad=True)


def product():
    w, x = leaf(3), torch.arange(3.0)
    return (w * x).sum(), (w, x)


def shared():
    x = leaf(3)
    h = torch.tanh(x)
    return (h * h + h).sum(), x


def broadcast():
    a, b = leaf(4, 1), leaf(3)
    return (a * b + 2).mean(), (a, b)


def classifier():
    net = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 3))
    return F.cross_entropy(net(torch.randn(4, 5)), torch.tensor([0, 1, 2, 1])), net


def residual():
    net = Net()
    return net(torch.randn(5, 3)).pow(2).mean(), net


def recurrent():
    net = nn.LSTM(3, 4)
    out, (h, c) = net(torch.randn(3, 2, 3))
    return out.sum() + h.sum() + c.sum(), net


def attention():
    q, k, v = leaf(2, 5, 4), leaf(2, 5, 4), leaf(2, 5, 4)
    weights = F.softmax(q @ k.transpose(-2, -1) / 2, dim=-1)
    return (weights @ v).sum(), (q, k, v)


def convolution():
    net = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
    return net(torch.randn(2, 1, 8, 8)).sum(), net


def several_results():
    x = leaf(6)
    a, b, c = x.split(2)
    values, _ = torch.sort(a * c)
    return values.sum() + b.prod(), x


def undefined_results():
    x = leaf(4)
    a, b = x.unbind(0)[:2]
    return a * b, x


def indexing():
    x = leaf(5, 3)
    return x[torch.tensor([0, 2, 2])].sum() + x[1:3, ::2].sum() + x[x > 0].sum(), x


def written_part():
    x = leaf(4)
    y = x * 3
    y[1:3] = y[:2] * 2
    return y.sum(), x


def custom():
    x = leaf(3)
    return Twice.apply(x).sum(), x


def retained():
    x = leaf(3)
    h = x * 2
    h.retain_grad()
    return (h * h).sum(), (x, h)


def mixed_dtypes():
    x, y = leaf(3), torch.randn(3, dtype=torch.float64, requires_grad=True)
    return (x * y + x.double()).sum(), (x, y)


def frozen():
    net = Net()
    net.start.requires_grad_(False)
    return net(torch.randn(2, 3)).sum(), net


PROGRAMS = [
    product, shared, broadcast, classifier, residual, recurrent, attention, convolution,
    several_results, undefined_results, indexing, written_part, custom, retained, mixed_dtypes,
    frozen,
]  # fmt: skip
