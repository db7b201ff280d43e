"""A recurrent network whose state is detached between steps."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
cell, head = nn.LSTMCell(3, 8), nn.Linear(8, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()], lr=1e-2)
state = torch.zeros(4, 8), torch.zeros(4, 8)
for _ in range(8):
    loss = 0.0
    for _ in range(5):
        x = torch.randn(4, 3)
        state = cell(x, state)
        loss = loss + F.mse_loss(head(state[0]), x[:, :1])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    state = state[0].detach(), state[1].detach()
