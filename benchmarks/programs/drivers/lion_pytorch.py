"""The optimizer Lion, in its plain and its foreach form, on a small network."""

from pathlib import Path

from driving import Record, on_path, train

REPOSITORY = "lucidrains/lion-pytorch"
COMMIT = "6a74fdc0ba572ab5683dc0270c66c20ecbc02d09"


def run(folder: Path, record: Record) -> None:
    """Twenty steps with each form."""
    on_path(folder)
    import torch
    from lion_pytorch import Lion
    from lion_pytorch.foreach import Lion as ForeachLion
    from torch import nn

    x = torch.randn(64, 20)
    y = x.sin().sum(1, keepdim=True)
    for kind in (Lion, ForeachLion):
        net = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 1))
        optimizer = kind(net.parameters(), lr=1e-3, weight_decay=1e-2)
        train(optimizer, lambda net=net: nn.functional.mse_loss(net(x), y), 20, record)
