"""A layer that is added after the optimizer was built."""
# fault: NOT_OPTIMIZED

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # culprit
model.append(nn.Linear(8, 2))
for _ in range(6):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    model.zero_grad()
    F.cross_entropy(model(x), t).backward()
    optimizer.step()
