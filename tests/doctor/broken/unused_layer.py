"""A layer that forward() forgets."""
# fault: NO_GRADIENT

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 8)
        self.second = nn.Linear(8, 8)
        self.last = nn.Linear(8, 2)

    def forward(self, x):
        return self.last(torch.relu(self.first(x)))


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
for _ in range(6):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    optimizer.zero_grad()
    F.cross_entropy(model(x), t).backward()  # culprit
    optimizer.step()
