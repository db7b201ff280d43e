"""Stochastic differential equations, with gradients by the adjoint method."""

from pathlib import Path

from driving import Record, on_path, stand_in, train

REPOSITORY = "google-research/torchsde"
COMMIT = "eb3a00e31cbd56176270066ed2f62c394cf6acb7"


def run(folder: Path, record: Record) -> None:
    """Three steps each, by three methods, plainly and by the adjoint. Needs trampoline."""
    on_path(folder)
    stand_in("boltons")
    import torch
    import torchsde
    from torch import nn

    class Process(nn.Module):
        def __init__(self, sde_type: str) -> None:
            super().__init__()
            self.noise_type, self.sde_type = "diagonal", sde_type
            self.drift, self.spread = nn.Linear(2, 2), nn.Linear(2, 2)

        def f(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.tanh(self.drift(y))

        def g(self, t: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return torch.sigmoid(self.spread(y))

    times = torch.linspace(0.0, 1.0, 5)
    for sde_type, method in (("ito", "euler"), ("ito", "srk"), ("stratonovich", "midpoint")):
        for solve in (torchsde.sdeint, torchsde.sdeint_adjoint):
            process = Process(sde_type)

            def loss(process=process, method=method, solve=solve) -> torch.Tensor:
                noise = torchsde.BrownianInterval(
                    t0=0.0, t1=1.0, size=(8, 2), entropy=7, levy_area_approximation="space-time"
                )
                found = solve(process, torch.ones(8, 2), times, bm=noise, dt=0.1, method=method)
                return found[-1].square().mean()

            train(torch.optim.SGD(process.parameters(), lr=0.1), loss, 3, record)
