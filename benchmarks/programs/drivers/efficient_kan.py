"""Kolmogorov-Arnold networks: the program's own test function, learned by LBFGS."""

from pathlib import Path

from driving import Record, on_path

REPOSITORY = "Blealtan/efficient-kan"
COMMIT = "7b6ce1c87f18c8bc90c208f6b494042344216b11"


def run(folder: Path, record: Record) -> None:
    """Six steps, one of them with a new grid, which is fitted by least squares."""
    on_path(folder / "src")
    import torch
    from efficient_kan import KAN
    from torch import nn

    kan = KAN([2, 2, 1], base_activation=nn.Identity)
    optimizer = torch.optim.LBFGS(kan.parameters(), lr=0.1)
    for step in range(6):
        x = torch.rand(256, 2)
        target = (x[:, 0] + x[:, 1]) / (1 + x[:, 0] * x[:, 1])

        def closure(x=x, target=target, step=step) -> torch.Tensor:
            optimizer.zero_grad()
            y = kan(x, update_grid=step == 0).squeeze(-1)
            loss = nn.functional.mse_loss(y, target) + 1e-5 * kan.regularization_loss(1, 0)
            loss.backward()
            return loss

        record(optimizer.step(closure).item())
