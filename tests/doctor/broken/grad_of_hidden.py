"""The gradient of a hidden layer is read without retain_grad()."""
# fault: GRADIENT_OF_NON_LEAF

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 8)
head = nn.Linear(8, 2)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
for _ in range(4):
    x, t = torch.randn(16, 4), torch.randint(0, 2, (16,))
    optimizer.zero_grad()
    hidden = torch.tanh(model(x))
    F.cross_entropy(head(hidden), t).backward()
    print(hidden.grad)  # culprit
    optimizer.step()
