"""Per-sample gradients, variances and curvature, by hooks on every layer."""

from pathlib import Path

from driving import Record, on_path

REPOSITORY = "f-dangel/backpack"
COMMIT = "366bcd603cb48e561155919537565e03f4574825"


def run(folder: Path, record: Record) -> None:
    """A dozen quantities of a small convolutional network. Needs unfoldNd for convolutions' own."""
    on_path(folder)
    import torch
    from backpack import backpack, extend, extensions
    from torch import nn

    net = extend(nn.Sequential(
        nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 8),
        nn.Sigmoid(), nn.Linear(8, 3),
    ))  # fmt: skip
    criterion = extend(nn.CrossEntropyLoss())
    x, y = torch.randn(5, 1, 8, 8), torch.randint(0, 3, (5,))
    names = {"BatchGrad": "grad_batch", "BatchL2Grad": "batch_l2", "SumGradSquared":
             "sum_grad_squared", "Variance": "variance", "DiagGGNExact": "diag_ggn_exact",
             "DiagGGNMC": "diag_ggn_mc", "DiagHessian": "diag_h", "KFAC": "kfac", "KFLR": "kflr",
             "KFRA": "kfra"}  # fmt: skip
    for name, attribute in names.items():
        torch.manual_seed(0)
        net.zero_grad()
        loss = criterion(net(x), y)
        with backpack(getattr(extensions, name)()):
            loss.backward()
        for parameter in net.parameters():
            value = getattr(parameter, attribute)
            parts = value if isinstance(value, list) else [value]
            record(sum(part.norm() for part in parts))
