"""An adapter that begins at zero, beside a frozen layer, and a scheduler."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Adapted(nn.Module):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(8, 8).requires_grad_(False)
        self.down = nn.Linear(8, 2, bias=False)
        self.up = nn.Linear(2, 8, bias=False)
        nn.init.zeros_(self.up.weight)

    def forward(self, x):
        return self.base(x) + self.up(self.down(x))


model = Adapted()
trained = [p for p in model.parameters() if p.requires_grad]
optimizer = torch.optim.AdamW(trained, lr=1e-2)
schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
for _ in range(10):
    x = torch.randn(16, 8)
    optimizer.zero_grad()
    F.mse_loss(model(x), x.flip(1)).backward()
    optimizer.step()
    schedule.step()
model.eval()
with torch.inference_mode():
    model(torch.randn(2, 8))
