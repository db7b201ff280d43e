"""Networks for CIFAR-10, of every family, on random images."""

from pathlib import Path

from driving import Record, on_path, train

REPOSITORY = "kuangliu/pytorch-cifar"
COMMIT = "49b7aa97b0c12fe0d4054e670403a16b6b834ddd"
SMALL = ("LeNet", "MobileNetV2", "ShuffleNetV2", "EfficientNetB0", "PNASNetA", "RegNetX_200MF")
LARGE = ("ResNet18", "SENet18", "densenet_cifar")


def run(folder: Path, record: Record) -> None:
    """Two steps with each of nine networks; EfficientNet drops whole paths at random."""
    on_path(folder)
    import models
    import torch

    images, labels = torch.randn(4, 3, 32, 32), torch.randint(0, 10, (4,))
    criterion = torch.nn.CrossEntropyLoss()
    for name in (*SMALL, *LARGE):
        kind = getattr(models, name)
        net = kind(1) if name == "ShuffleNetV2" else kind()
        optimizer = torch.optim.SGD(net.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4)
        train(optimizer, lambda net=net: criterion(net(images), labels), 2, record)
