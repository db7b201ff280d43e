"""mse_loss of (N, 1) and (N,)."""
# fault: OUTER_BROADCAST

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
for _ in range(5):
    x = torch.randn(16, 4)
    y = x.sum(1)
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()  # culprit
    optimizer.step()
