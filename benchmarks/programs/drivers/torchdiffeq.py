"""Differential equations whose right side is a network; gradients by the adjoint method."""

from pathlib import Path

from driving import Record, on_path, train

REPOSITORY = "rtqichen/torchdiffeq"
COMMIT = "657943acefa826ef04c025ebeb1ff5e9d60dc268"


def run(folder: Path, record: Record) -> None:
    """Three steps each with solvers of fixed and of chosen steps, and with the adjoint method."""
    on_path(folder)
    import torch
    from torch import nn
    from torchdiffeq import odeint, odeint_adjoint

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

        def forward(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return self.net(y**3)

    start = torch.tensor([[2.0, 0.0]])
    times = torch.linspace(0.0, 2.0, 8)
    target = torch.stack([2 * (2 * times).cos(), 2 * (2 * times).sin()], -1)[:, None]
    for solve in (odeint, odeint_adjoint):
        for method in ("dopri5", "rk4", "euler", "implicit_adams"):
            field = Field()
            optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-3)

            def loss(solve=solve, method=method, field=field) -> torch.Tensor:
                found = solve(field, start, times, method=method, rtol=1e-4, atol=1e-5)
                return (found - target).abs().mean()

            train(optimizer, loss, 3, record)
