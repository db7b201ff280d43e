"""Whole training steps: gradients away, forward, loss, backward, optimizer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lamina.bench.workloads import Workload

Step = Callable[[], Any]


def _step(model: Any, optimizer: Any, loss_of: Callable[[], Any]) -> Step:
    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
        return loss

    return step


def micro_mlp(torch: Any) -> Step:
    """Two hidden layers of 16 on 32 points of the plane: the costs of small operations."""
    torch.manual_seed(1)
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 1)
    )
    points = torch.rand(32, 2) * 2 - 1
    sides = torch.where(points.prod(dim=1, keepdim=True) > 0, 1.0, -1.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def loss() -> Any:
        margins = 1 - sides * model(points)
        weights = sum((p * p).sum() for p in model.parameters())
        return margins.clamp(min=0).mean() + 1e-4 * weights

    return _step(model, optimizer, loss)


def mlp(torch: Any) -> Step:
    """A classifier of images of 28 x 28 with two hidden layers of 512."""
    torch.manual_seed(2)
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    images, classes = torch.rand(128, 784), torch.randint(0, 10, (128,))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return _step(model, optimizer, lambda: nn.functional.cross_entropy(model(images), classes))


def cnn(torch: Any) -> Step:
    """Two convolutions with pooling, and two linear layers."""
    torch.manual_seed(3)
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    images, classes = torch.rand(64, 1, 28, 28), torch.randint(0, 10, (64,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return _step(model, optimizer, lambda: nn.functional.cross_entropy(model(images), classes))


def lstm(torch: Any) -> Step:
    """A recurrent layer over 64 positions, and a classifier of its last output."""
    torch.manual_seed(4)
    nn = torch.nn
    layer, last = nn.LSTM(64, 128, batch_first=True), nn.Linear(128, 10)
    both = nn.ModuleList([layer, last])
    sequences, classes = torch.randn(32, 64, 64), torch.randint(0, 10, (32,))
    optimizer = torch.optim.Adam(both.parameters(), lr=1e-3)

    def loss() -> Any:
        outputs, _ = layer(sequences)
        return nn.functional.cross_entropy(last(outputs[:, -1]), classes)

    return _step(both, optimizer, loss)


def gpt(torch: Any) -> Step:
    """A small transformer that predicts the next of 65 characters."""
    torch.manual_seed(5)
    model = transformer(torch, characters=65, width=128, heads=4, layers=4, length=64)
    text = torch.randint(0, 65, (12, 65))
    given, wanted = text[:, :-1].contiguous(), text[:, 1:].contiguous()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.1)

    def loss() -> Any:
        guesses = model(given)
        return torch.nn.functional.cross_entropy(guesses.reshape(-1, 65), wanted.reshape(-1))

    return _step(model, optimizer, loss)


def transformer(
    torch: Any, *, characters: int, width: int, heads: int, layers: int, length: int
) -> Any:
    """A decoder: blocks of causal attention and a wide layer, each behind a layer norm."""
    nn, functional = torch.nn, torch.nn.functional

    class Attention(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.enter, self.leave = nn.Linear(width, 3 * width), nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            batch, time, _ = x.shape
            parts = self.enter(x).view(batch, time, 3, heads, width // heads)
            q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
            mixed = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.leave(mixed.transpose(1, 2).reshape(batch, time, width))

    class Block(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.first, self.attention = nn.LayerNorm(width), Attention()
            self.second, self.wide = nn.LayerNorm(width), nn.Linear(width, 4 * width)
            self.narrow = nn.Linear(4 * width, width)

        def forward(self, x: Any) -> Any:
            x = x + self.attention(self.first(x))
            hidden = functional.gelu(self.wide(self.second(x)), approximate="tanh")
            return x + self.narrow(hidden)

    class Decoder(nn.Module):  # type: ignore[name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.symbols = nn.Embedding(characters, width)
            self.places = nn.Embedding(length, width)
            self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, characters, bias=False)

        def forward(self, text: Any) -> Any:
            x = self.symbols(text) + self.places(torch.arange(text.shape[1]))
            return self.head(self.norm(self.blocks(x)))

    return Decoder()


STEPS = (
    Workload("micro_mlp", "a step of a 2-16-16-1 network, SGD", micro_mlp, 1e-3),
    Workload("mlp", "a step of a 784-512-512-10 network, batch 128, Adam", mlp, 1e-3),
    Workload("cnn", "a step of a small convolutional network, batch 64, SGD", cnn, 1e-3),
    Workload("lstm", "a step of an LSTM of 128 over 64 positions, batch 32, Adam", lstm, 1e-3),
    Workload("gpt", "a step of a transformer, 4 layers of 128, AdamW", gpt, 1e-3),
)
