"""Thirty optimizers that are not PyTorch's own, each on the same small network."""

from pathlib import Path

from driving import Record, on_path, stand_in, train

REPOSITORY = "jettify/pytorch-optimizer"
COMMIT = "19c3e41952b94f2d60db06e559ee9a1433b25e53"
NAMES = (
    "A2GradExp", "A2GradInc", "A2GradUni", "AccSGD", "AdaBelief", "AdaBound", "AdaMod", "Adafactor",
    "Adahessian", "AdamP", "AggMo", "Apollo", "DiffGrad", "LARS", "Lamb", "MADGRAD", "NovoGrad",
    "PID", "QHAdam", "QHM", "RAdam", "SGDP", "SGDW", "SWATS", "Shampoo", "Yogi",
)  # fmt: skip


def run(folder: Path, record: Record) -> None:
    """Five steps with each."""
    on_path(folder)
    stand_in("pytorch_ranger")
    import pytorch_ranger
    import torch

    for name in ("Ranger", "RangerQH", "RangerVA"):
        setattr(pytorch_ranger, name, type(name, (), {}))
    import torch_optimizer
    from torch import nn

    x = torch.randn(32, 8)
    y = x.sin().sum(1, keepdim=True)
    for name in NAMES:
        torch.manual_seed(0)
        net = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 1))
        kind = getattr(torch_optimizer, name)
        optimizer = kind(net.parameters())
        if name == "Adahessian":  # it asks for the graph of the gradients
            for _ in range(5):
                optimizer.zero_grad()
                loss = nn.functional.mse_loss(net(x), y)
                loss.backward(create_graph=True)
                optimizer.step()
                record(loss.item())
        else:
            train(optimizer, lambda net=net: nn.functional.mse_loss(net(x), y), 5, record)
