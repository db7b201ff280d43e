"""Moving averages of a network's weights while it is trained."""

from pathlib import Path

from driving import Record, on_path

REPOSITORY = "lucidrains/ema-pytorch"
COMMIT = "72d498dc544bd43f7ebe963cc8533021dde44f88"


def run(folder: Path, record: Record) -> None:
    """Twenty steps; `EMA` in its plain and foreach form, and Karras' averages."""
    on_path(folder)
    import torch
    from ema_pytorch import EMA
    from ema_pytorch.post_hoc_ema import KarrasEMA
    from torch import nn

    net = nn.Sequential(nn.Linear(16, 32), nn.BatchNorm1d(32), nn.GELU(), nn.Linear(32, 1))
    x = torch.randn(32, 16)
    averages = [
        EMA(net, beta=0.9, update_after_step=2, update_every=2),
        EMA(net, beta=0.99, update_after_step=0, update_every=1, use_foreach=True),
        KarrasEMA(net, sigma_rel=0.1),
    ]
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    for _ in range(20):
        optimizer.zero_grad()
        loss = (net(x) - x.sum(1, keepdim=True)).abs().mean()
        loss.backward()
        optimizer.step()
        for average in averages:
            average.update()
        record(sum(average(x).norm() for average in averages) + loss)
