"""Networks of sines: an image is fitted by its values, then by its gradient and its Laplacian."""

from pathlib import Path

from driving import Record, on_path, stand_in, train

REPOSITORY = "vsitzmann/siren"
COMMIT = "4df34baee3f0f9c8f351630992c1fe1f69114b5f"


def run(folder: Path, record: Record) -> None:
    """Six steps on values; three on gradients and three on Laplacians, by double backward."""
    on_path(folder)
    stand_in("torchvision", "torchvision.transforms", "torchvision.datasets", "ordered_set", "PIL")
    stand_in("torchvision.datasets.utils", "torchvision.transforms.functional", "h5py")
    import torch
    from diff_operators import gradient, laplace
    from modules import SingleBVPNet

    net = SingleBVPNet(out_features=1, type="sine", in_features=2, hidden_features=32)
    lines = torch.linspace(-1, 1, 12)
    grid = torch.stack(torch.meshgrid(lines, lines, indexing="ij"), -1).view(1, -1, 2)
    image = torch.exp(-4 * grid.square().sum(-1, keepdim=True))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def values() -> torch.Tensor:
        return (net({"coords": grid})["model_out"] - image).square().mean()

    def gradients() -> torch.Tensor:
        out = net({"coords": grid})
        return (gradient(out["model_out"], out["model_in"]) + 8 * grid * image).square().mean()

    def laplacians() -> torch.Tensor:
        out = net({"coords": grid})
        return (laplace(out["model_out"], out["model_in"]) / 1000 - image).square().mean()

    for steps, loss in ((6, values), (3, gradients), (3, laplacians)):
        train(optimizer, loss, steps, record)
