"""The optimizer gets the head alone, and the body is not frozen."""
# fault: NOT_OPTIMIZED

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
body, head = nn.Linear(4, 8), nn.Linear(8, 2)
optimizer = torch.optim.Adam(head.parameters(), lr=1e-2)  # culprit
for _ in range(6):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    body.zero_grad()
    head.zero_grad()
    F.cross_entropy(head(torch.relu(body(x))), t).backward()
    optimizer.step()
