"""Eigenvalues, trace and density of a small network's Hessian, by derivatives of derivatives."""

from pathlib import Path

from driving import Record, on_path

REPOSITORY = "amirgholami/PyHessian"
COMMIT = "de8cf239ace21c7754ee599255897ebf3eed19cb"


def run(folder: Path, record: Record) -> None:
    """Its own ResNet of eight layers, on one random batch."""
    on_path(folder)
    import torch
    from models.resnet import resnet
    from pyhessian import hessian

    model = resnet(num_classes=10, depth=8, base_channel=8)
    data = torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))
    analysis = hessian(model, torch.nn.CrossEntropyLoss(), data=data, cuda=False)
    for value in analysis.eigenvalues(maxIter=4, top_n=2)[0]:
        record(value)
    for value in analysis.trace(maxIter=3):
        record(value)
    eigenvalues, weights = analysis.density(iter=4, n_v=1)
    for value in (*eigenvalues[0], *weights[0]):
        record(value)
