"""Gradients of four batches are added on purpose."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(24):
    x, t = torch.randn(8, 4), torch.randint(0, 2, (8,))
    (F.cross_entropy(model(x), t) / 4).backward()
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
