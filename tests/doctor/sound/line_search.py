"""LBFGS, whose closure computes the gradients inside the step."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5)
x = torch.randn(32, 4)
y = x.sum(1, keepdim=True)


def closure():
    optimizer.zero_grad()
    loss = F.mse_loss(model(x), y)
    loss.backward()
    return loss


for _ in range(4):
    optimizer.step(closure)
