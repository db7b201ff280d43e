"""The branch of where() that is not chosen has an infinite derivative."""
# fault: NOT_FINITE

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(5):
    x = torch.randn(16, 4)
    optimizer.zero_grad()
    y = model(x)
    roots = torch.where(y > 0, torch.sqrt(y), y)  # culprit
    roots.sum().backward()
    optimizer.step()
