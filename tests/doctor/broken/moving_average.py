"""A moving average of losses that are tensors."""
# fault: GRAPH_CARRIED_OVER

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
average = torch.tensor(0.0)
for _ in range(8):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    optimizer.zero_grad()
    loss = F.cross_entropy(model(x), t)
    loss.backward()
    optimizer.step()
    average = 0.9 * average + 0.1 * loss  # culprit
