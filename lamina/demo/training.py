"""A classifier of handwritten digits, trained in seconds, and where its gradients went."""

from __future__ import annotations

import time
from typing import Any

import lamina
from lamina import nn
from lamina.data import load_digits
from lamina.demo.screen import Screen

SEED = 0
HELD_OUT = 360
BATCH = 32
EPOCHS = 30
HIDDEN = 128
GOAL = 0.97


class Digits(nn.Module):
    """64 pixels, one hidden layer, ten classes."""

    def __init__(self) -> None:
        super().__init__()
        self.hidden = nn.Linear(64, HIDDEN)
        self.relu = nn.ReLU()
        self.classes = nn.Linear(HIDDEN, 10)

    def forward(self, pixels: lamina.Tensor) -> lamina.Tensor:
        """Scores for the ten digits; `pixels` is (batch, 64)."""
        return self.classes(self.relu(self.hidden(pixels)))


def load_split() -> tuple[lamina.Tensor, lamina.Tensor, lamina.Tensor, lamina.Tensor]:
    """Training images and labels, then held-out ones: a fixed random split."""
    images, labels = load_digits()
    pixels = lamina.from_numpy(images.reshape(len(images), 64) / 16)
    targets = lamina.from_numpy(labels)
    order = lamina.randperm(len(images), generator=lamina.Generator().manual_seed(SEED))
    test, train = order[:HELD_OUT], order[HELD_OUT:]
    return pixels[train], targets[train], pixels[test], targets[test]


def accuracy(model: nn.Module, pixels: lamina.Tensor, labels: lamina.Tensor) -> float:
    """The share of images that the model classifies rightly."""
    model.eval()
    with lamina.no_grad():
        right = (model(pixels).argmax(dim=1) == labels).float().mean().item()
    model.train()
    return float(right)


def train(screen: Screen) -> tuple[Digits, float, float]:
    """Train on the digits; the model, its accuracy on held-out images, and the seconds taken."""
    lamina.manual_seed(SEED)
    pixels, labels, test_pixels, test_labels = load_split()
    model = Digits()
    optimizer = lamina.optim.Adam(model.parameters(), lr=3e-3)
    loss_function = nn.CrossEntropyLoss()
    count = len(pixels)
    starts = [(epoch, start) for epoch in range(EPOCHS) for start in range(0, count, BATCH)]
    order = lamina.randperm(count)
    started = time.monotonic()
    for _, start in screen.bar(starts, len(starts), "training"):
        if start == 0:
            order = lamina.randperm(count)
        batch = order[start : start + BATCH]
        optimizer.zero_grad()
        loss = loss_function(model(pixels[batch]), labels[batch])
        loss.backward()
        optimizer.step()
    return model, accuracy(model, test_pixels, test_labels), time.monotonic() - started


def show_training(screen: Screen) -> bool:
    """Train, print the result, and where every gradient went; whether the goal was reached."""
    screen.title("A classifier of handwritten digits")
    screen.line(f"1797 images of 8 x 8 pixels (UCI optical digits), {HELD_OUT} of them held out.")
    model, reached, seconds = train(screen)
    verdict = "" if reached >= GOAL else f", short of the goal of {GOAL:.0%}"
    screen.line(f"{reached:.1%} of the held-out images are right, after {seconds:.1f} s{verdict}.")
    _show_gradients(screen, model)
    return reached >= GOAL


def _show_gradients(screen: Screen, model: Digits) -> None:
    """One backward pass, told node by node: what arrives where, and what is kept."""
    pixels, labels, _, _ = load_split()
    model.zero_grad()
    loss = nn.CrossEntropyLoss()(model(pixels[:BATCH]), labels[:BATCH])
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    screen.title("Where every gradient went")
    screen.line("loss.backward() goes through these operations, newest first:")
    screen.line()
    for node in _nodes_of(loss):
        targets = [_target(edge, names) for edge, _ in node.next_functions]
        screen.line(f"    {type(node).__name__:<22} -> {', '.join(targets)}")
    loss.backward()
    screen.line()
    screen.line("and the leaves keep what arrived (intermediates passed theirs on):")
    screen.line()
    for name, parameter in model.named_parameters():
        assert parameter.grad is not None, "backward() reaches every parameter"
        norm = parameter.grad.norm().item()
        shape = "x".join(map(str, parameter.shape))
        screen.line(f"    {name:<16} {shape:>8}   |grad| = {norm:.4f}")


def _nodes_of(loss: lamina.Tensor) -> list[Any]:
    """The nodes of a loss, in the order in which the engine runs them."""
    found: dict[Any, None] = {}
    waiting = [loss.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is None or node in found or not node.next_functions:
            continue
        found[node] = None
        waiting += [edge for edge, _ in node.next_functions]
    return sorted(found, key=lambda node: -node._sequence_nr())


def _target(node: Any, names: dict[int, str]) -> str:
    if node is None:
        return "(no gradient wanted)"
    variable = getattr(node, "variable", None)
    return type(node).__name__ if variable is None else f"{names.get(id(variable), 'a leaf')}.grad"
