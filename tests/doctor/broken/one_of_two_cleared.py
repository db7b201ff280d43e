"""Of two optimizers only one is cleared."""
# fault: NOT_CLEARED

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 8), nn.Linear(8, 2)
slow = torch.optim.SGD(body.parameters(), lr=1e-3)
fast = torch.optim.SGD(head.parameters(), lr=1e-1)
for _ in range(8):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    fast.zero_grad()
    F.cross_entropy(head(torch.relu(body(x))), t).backward()
    fast.step()
    slow.step()  # culprit
