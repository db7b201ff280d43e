"""Gradients are set to zeros, losses kept as numbers."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 1))
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
losses = []
for _ in range(10):
    x = torch.randn(16, 4)
    optimizer.zero_grad(set_to_none=False)
    loss = F.mse_loss(model(x).squeeze(-1), x.sum(1))
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print(losses[0] > 0)
