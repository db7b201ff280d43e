"""A generator and a discriminator with two optimizers."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 2))
critic = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 1))
of_generator = torch.optim.Adam(generator.parameters(), lr=1e-3)
of_critic = torch.optim.Adam(critic.parameters(), lr=1e-3)
for _ in range(10):
    real, noise = torch.randn(16, 2), torch.randn(16, 2)
    with torch.no_grad():
        fake = generator(noise)
    of_critic.zero_grad()
    loss = F.softplus(-critic(real)).mean() + F.softplus(critic(fake)).mean()
    loss.backward()
    of_critic.step()
    of_generator.zero_grad()
    F.softplus(-critic(generator(noise))).mean().backward()
    of_generator.step()
