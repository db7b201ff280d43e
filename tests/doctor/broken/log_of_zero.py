"""The logarithm of a probability that can be zero."""
# fault: NOT_FINITE

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(6):
    x = torch.randn(16, 4) * (1 if step < 3 else 1e4)
    optimizer.zero_grad()
    p = torch.softmax(model(x), dim=1)
    loss = (p * torch.log(p)).sum()  # culprit
    loss.backward()
    optimizer.step()
