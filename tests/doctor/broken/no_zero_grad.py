"""zero_grad() is forgotten."""
# fault: NOT_CLEARED

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(8):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    F.cross_entropy(model(x), t).backward()
    optimizer.step()  # culprit
