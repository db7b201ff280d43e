"""An encoder whose output is detached on the way."""
# fault: NO_GRADIENT

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
encoder, head = nn.Linear(4, 8), nn.Linear(8, 2)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
for _ in range(6):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    optimizer.zero_grad()
    features = torch.tanh(encoder(x)).detach()  # culprit
    loss = F.cross_entropy(head(features), t)
    loss.backward()
    optimizer.step()
