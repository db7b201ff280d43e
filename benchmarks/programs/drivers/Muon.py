"""The optimizer Muon with Adam beside it, for one process, on a small network."""

from pathlib import Path

from driving import Record, on_path, train

REPOSITORY = "KellerJordan/Muon"
COMMIT = "857d1adc159e098212f828d927460782d3da59e9"


def run(folder: Path, record: Record) -> None:
    """Twenty steps; Muon's own arithmetic is in bfloat16."""
    on_path(folder)
    import torch
    from muon import SingleDeviceMuonWithAuxAdam
    from torch import nn

    net = nn.Sequential(
        nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 1)
    )
    x = torch.randn(64, 20)
    y = x.sin().sum(1, keepdim=True)
    matrices = [p for p in net.parameters() if p.ndim == 2]
    others = [p for p in net.parameters() if p.ndim != 2]
    optimizer = SingleDeviceMuonWithAuxAdam(
        [{"params": matrices, "use_muon": True}, {"params": others, "use_muon": False}]
    )
    train(optimizer, lambda: nn.functional.mse_loss(net(x), y), 20, record)
