"""A bias so negative that no unit ever fires."""
# fault: ZERO_GRADIENT

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
nn.init.constant_(model[0].bias, -100.0)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    optimizer.zero_grad()
    F.cross_entropy(model(x), t).backward()
    optimizer.step()
