"""Kolmogorov-Arnold networks with plots and symbols: the fit of a function of two variables."""

import tempfile
from pathlib import Path

from driving import Record, on_path, stand_in

REPOSITORY = "KindXiaoming/pykan"
COMMIT = "ecde4ec3274d3bef1ad737479cf126aed38ab530"


def run(folder: Path, record: Record) -> None:
    """Five steps of LBFGS with new grids, then five of Adam, by the program's own `fit`."""
    on_path(folder)
    stand_in("matplotlib", "matplotlib.pyplot", "pandas", "yaml", "sklearn", "sklearn.linear_model")
    stand_in("sklearn.cluster")
    import torch
    from kan import KAN
    from kan.utils import create_dataset

    def function(x: torch.Tensor) -> torch.Tensor:
        return torch.exp(torch.sin(torch.pi * x[:, [0]]) + x[:, [1]] ** 2)

    dataset = create_dataset(function, n_var=2, train_num=200, test_num=50)
    with tempfile.TemporaryDirectory() as checkpoints:
        model = KAN(width=[2, 3, 1], grid=3, k=3, seed=0, ckpt_path=checkpoints, auto_save=False)
        for words in ({"opt": "LBFGS"}, {"opt": "Adam", "lr": 0.01, "update_grid": False}):
            found = model.fit(dataset, steps=5, lamb=0.001, **words)
            for loss in found["train_loss"]:
                record(loss)
