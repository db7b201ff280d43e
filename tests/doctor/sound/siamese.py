"""Two calls of one model before each pass, with dropout."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.1), nn.Tanh(), nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
for _ in range(8):
    x = torch.randn(16, 4)
    first = model(x)
    second = model(x + 0.1 * torch.randn(16, 4))
    third = model(torch.randn(16, 4))
    loss = F.triplet_margin_loss(first, second, third)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
