"""The model is evaluated with dropout switched on."""
# fault: TRAINING_MODE

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _epoch in range(3):
    for _ in range(4):
        x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
        optimizer.zero_grad()
        F.cross_entropy(model(x), t).backward()
        optimizer.step()
    with torch.no_grad():
        for _ in range(4):
            model(torch.randn(16, 4))  # culprit
