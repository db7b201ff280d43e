"""Gradient descent without an optimizer, and one layer updated by hand beside one."""

import torch
from torch import nn

torch.manual_seed(0)
w = torch.randn(4, 1, requires_grad=True)
model = nn.Linear(1, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    x = torch.randn(16, 4)
    y = x.sum(1, keepdim=True)
    loss = ((model(x @ w) - y) ** 2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    with torch.no_grad():
        w -= 0.1 * w.grad
        w.grad = None
