"""A frozen body below a head that is trained."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 8), nn.Linear(8, 2)
body.requires_grad_(False)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
for _ in range(6):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    optimizer.zero_grad()
    F.cross_entropy(head(torch.relu(body(x))), t).backward()
    optimizer.step()
