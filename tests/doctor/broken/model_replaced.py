"""The model is made anew after the optimizer was built."""
# fault: NOT_IN_MODEL

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def make_model():
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))


model = make_model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)  # culprit
model = make_model()
for _ in range(6):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    optimizer.zero_grad()
    F.cross_entropy(model(x), t).backward()
    optimizer.step()
