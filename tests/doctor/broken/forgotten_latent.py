"""A latent vector that asks for gradients, and is used nowhere."""
# fault: NEVER_USED

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
latent = torch.zeros(8, requires_grad=True)  # culprit
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    optimizer.zero_grad()
    F.cross_entropy(model(x), t).backward()
    optimizer.step()
