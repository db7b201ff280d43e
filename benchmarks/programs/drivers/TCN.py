"""Temporal convolutions on the adding problem, with the program's own data."""

from pathlib import Path

from driving import Record, on_path, train

REPOSITORY = "locuslab/TCN"
COMMIT = "2f8c2b817050206397458dfd1f5a25ce8a32fe65"


def run(folder: Path, record: Record) -> None:
    """Ten steps of Adam; weights are normalized, data are `Variable`s."""
    on_path(folder)
    import torch
    from TCN.adding_problem.model import TCN
    from TCN.adding_problem.utils import data_generator

    x, y = data_generator(16, 100)
    model = TCN(2, 1, [24] * 4, kernel_size=6, dropout=0.1)
    model.train()
    optimizer = torch.optim.Adam(model.parameters(), lr=4e-3)
    train(optimizer, lambda: torch.nn.functional.mse_loss(model(x), y), 10, record)
