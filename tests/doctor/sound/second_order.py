"""A penalty on the gradient, through create_graph."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(2, 8), nn.Tanh(), nn.Linear(8, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(8):
    x = torch.randn(16, 2, requires_grad=True)
    y = model(x)
    (slope,) = torch.autograd.grad(y.sum(), x, create_graph=True)
    loss = (slope.norm(dim=1) - 1).square().mean() + y.square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
