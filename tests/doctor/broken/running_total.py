"""A running total of losses that are tensors."""
# fault: GRAPH_CARRIED_OVER

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
total = 0
for _ in range(8):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), t)
    total += loss  # culprit
    loss.backward()
    optimizer.step()
print(total.item())
