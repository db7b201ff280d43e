"""Gradients through an optimizer's steps: an inner loop that is differentiated."""

from pathlib import Path

from driving import Record, on_path

REPOSITORY = "facebookresearch/higher"
COMMIT = "15a247ac06cac0d22601322677daff0dcfff062e"


def run(folder: Path, record: Record) -> None:
    """For five optimizers: four inner steps, and the gradient of the last loss at the start."""
    on_path(folder)
    import higher
    import torch
    from torch import nn

    x = torch.randn(16, 4)
    y = x.sin().sum(1, keepdim=True)
    kinds = [
        (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
        (torch.optim.Adam, {"lr": 0.05, "amsgrad": True}),
        (torch.optim.RMSprop, {"lr": 0.05}),
        (torch.optim.Adagrad, {"lr": 0.1}),
        (torch.optim.ASGD, {"lr": 0.1}),
    ]
    for kind, settings in kinds:
        net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
        optimizer = kind(net.parameters(), **settings)
        with higher.innerloop_ctx(net, optimizer, copy_initial_weights=False) as (fast, inner):
            for _ in range(4):
                loss = nn.functional.mse_loss(fast(x), y)
                inner.step(loss)
                record(loss.item())
            nn.functional.mse_loss(fast(x), y).backward()
        record(sum(p.grad.norm() for p in net.parameters()).item())
