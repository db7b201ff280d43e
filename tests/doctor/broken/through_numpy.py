"""A part of the computation is done in NumPy."""
# fault: NO_GRADIENT

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)

first, last = nn.Linear(4, 8), nn.Linear(8, 1)
optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
for _ in range(6):
    x, y = torch.randn(16, 4), torch.randn(16, 1)
    optimizer.zero_grad()
    hidden = np.tanh(first(x).detach().numpy())  # culprit
    loss = F.mse_loss(last(torch.from_numpy(hidden)), y)
    loss.backward()
    optimizer.step()
