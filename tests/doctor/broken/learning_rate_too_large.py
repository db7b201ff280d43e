"""A learning rate under which least squares diverges."""
# fault: EXPLODING_GRADIENT

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
x, y = torch.randn(32, 8) * 3, torch.randn(32, 1)
for _ in range(14):
    optimizer.zero_grad()
    F.mse_loss(model(x), y).backward()
    optimizer.step()  # culprit
