"""Evaluation is recorded, and nothing comes of it."""
# fault: RECORDED_IN_VAIN

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _epoch in range(3):
    model.train()
    for _ in range(4):
        x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), t).backward()
        optimizer.step()
    model.eval()
    for _ in range(5):
        model(torch.randn(16, 4)).argmax(1)  # culprit
