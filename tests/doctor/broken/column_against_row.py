"""Predictions of shape (N, 1) against targets of shape (N,)."""
# fault: OUTER_BROADCAST

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    x = torch.randn(16, 4)
    y = x.sum(1)
    optimizer.zero_grad()
    loss = ((model(x) - y) ** 2).mean()  # culprit
    loss.backward()
    optimizer.step()
