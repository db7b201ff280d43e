"""PyTorch's own examples: models and training steps of a dozen of them, on made-up data."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

from driving import Record, first_part, on_path, stand_in, train

REPOSITORY = "pytorch/examples"
COMMIT = "77f55b912142e11fcfdf5b530231fb9c52f181e8"


def run(folder: Path, record: Record) -> None:
    """A few steps of each."""
    stand_in("torchvision", "torchvision.datasets", "torchvision.transforms", "torchvision.utils")
    stand_in("torchvision.transforms.functional", "torchvision.models", "matplotlib", "gymnasium")
    stand_in("matplotlib.pyplot", "requests")
    sys.argv = ["main.py"]
    import torchvision

    torchvision.datasets.MNIST.return_value.__len__.return_value = 8
    for example in (_mnist, _mnist_rnn, _vae, _dcgan, _super_resolution, _style, _time_sequence,
                    _language, _graphs, _policy, _forward_forward):  # fmt: skip
        example(folder, record)


def _module(folder: Path, name: str, until: str) -> Any:
    sys.modules.pop("main", None)
    return first_part(folder / name / "main.py", until)


def _images(*shape: int) -> Any:
    import torch

    return torch.rand(*shape), torch.randint(0, 10, shape[:1])


def _mnist(folder: Path, record: Record) -> None:
    import torch

    net = _module(folder, "mnist", "if __name__").Net()
    x, y = _images(8, 1, 28, 28)
    optimizer = torch.optim.Adadelta(net.parameters(), lr=1.0)
    train(optimizer, lambda: torch.nn.functional.nll_loss(net(x), y), 4, record)


def _mnist_rnn(folder: Path, record: Record) -> None:
    import torch

    net = _module(folder, "mnist_rnn", "if __name__").Net()
    x, y = _images(8, 1, 28, 28)
    optimizer = torch.optim.Adadelta(net.parameters(), lr=1.0)
    train(optimizer, lambda: torch.nn.functional.nll_loss(net(x), y), 4, record)


def _vae(folder: Path, record: Record) -> None:
    import torch

    script = _module(folder, "vae", "model = VAE")
    net = script.VAE()
    x, _ = _images(8, 1, 28, 28)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def loss() -> torch.Tensor:
        rebuilt, mu, logvar = net(x)
        parts = mu, logvar
        error = torch.nn.functional.binary_cross_entropy(rebuilt, x.view(-1, 784), reduction="sum")
        return error - 0.5 * torch.sum(1 + parts[1] - parts[0].pow(2) - parts[1].exp())

    train(optimizer, loss, 4, record)


def _dcgan(folder: Path, record: Record) -> None:
    import torch

    text = (folder / "dcgan" / "main.py").read_text(encoding="utf-8")
    start, end = text.index("# custom weights initialization"), text.index("netD = Discriminator")
    names: dict[str, Any] = {"nn": torch.nn, "torch": torch, "ngpu": 1, "nz": 16, "ngf": 8}
    names |= {"ndf": 8, "nc": 3, "device": torch.device("cpu")}
    names["opt"] = type("Options", (), {"netG": "", "netD": ""})
    exec(compile(text[start:end], "dcgan/main.py", "exec"), names)
    maker, judge = names["Generator"](1), names["Discriminator"](1)
    judge.apply(names["weights_init"])
    maker.apply(names["weights_init"])
    criterion = torch.nn.BCELoss()
    adam = [torch.optim.Adam(net.parameters(), 2e-4, (0.5, 0.999)) for net in (maker, judge)]
    real, noise, one = torch.rand(4, 3, 64, 64), torch.randn(4, 16, 1, 1), torch.ones(4)
    for _ in range(3):
        judge.zero_grad()
        fake = maker(noise)
        error = criterion(judge(real), one) + criterion(judge(fake.detach()), one * 0)
        error.backward()
        adam[1].step()
        maker.zero_grad()
        doubt = criterion(judge(fake), one)
        doubt.backward()
        adam[0].step()
        record(error.item() + doubt.item())


def _super_resolution(folder: Path, record: Record) -> None:
    import torch

    net = _own(folder / "super_resolution", "model").Net(upscale_factor=3)
    small, large = torch.rand(2, 1, 12, 12), torch.rand(2, 1, 36, 36)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
    train(optimizer, lambda: torch.nn.functional.mse_loss(net(small), large), 3, record)


def _style(folder: Path, record: Record) -> None:
    import torch

    net = _own(folder / "fast_neural_style" / "neural_style", "transformer_net").TransformerNet()
    image = torch.rand(1, 3, 32, 32)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    train(optimizer, lambda: torch.nn.functional.mse_loss(net(image) / 255, image), 2, record)


def _time_sequence(folder: Path, record: Record) -> None:
    import torch

    script = first_part(folder / "time_sequence_prediction" / "train.py", "if __name__")
    net = script.Sequence().double()
    waves = torch.sin(torch.arange(40).double() / 5 + torch.arange(4).double()[:, None])
    optimizer = torch.optim.LBFGS(net.parameters(), lr=0.8, max_iter=4)

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(net(waves[:, :-1]), waves[:, 1:])
        loss.backward()
        record(loss.item())
        return loss

    optimizer.step(closure)


def _language(folder: Path, record: Record) -> None:
    import torch

    model = _own(folder / "word_language_model", "model")
    words, targets = torch.randint(0, 50, (12, 4)), torch.randint(0, 50, (48,))
    nets = [model.RNNModel(kind, 50, 16, 16, 2, 0.2) for kind in ("LSTM", "GRU", "RNN_TANH")]
    nets.append(model.TransformerModel(50, 16, 2, 16, 2, 0.2))
    for net in nets:
        recurrent = isinstance(net, model.RNNModel)

        def loss(net=net, recurrent=recurrent) -> torch.Tensor:
            out = net(words, net.init_hidden(4))[0] if recurrent else net(words).view(-1, 50)
            return torch.nn.functional.nll_loss(out, targets)

        train(torch.optim.SGD(net.parameters(), lr=1.0), loss, 3, record)


def _graphs(folder: Path, record: Record) -> None:
    import torch

    x, y = torch.rand(30, 20), torch.randint(0, 4, (30,))
    edges = ((torch.rand(30, 30) < 0.1) | torch.eye(30).bool()).float()
    convolution = _module(folder, "gcn", "if __name__").GCN(20, 8, 4, dropout_p=0.2)
    attention = _module(folder, "gat", "if __name__").GAT(20, 8, 4, 4, dropout=0.2)
    for net in (convolution, attention):
        optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)

        def loss(net=net, sparse=net is convolution) -> torch.Tensor:
            graph = edges.to_sparse() if sparse else edges
            return torch.nn.functional.nll_loss(net(x, graph), y)

        train(optimizer, loss, 3, record)


def _policy(folder: Path, record: Record) -> None:
    import torch

    script = first_part(folder / "reinforcement_learning" / "reinforce.py", "if __name__")
    policy, optimizer = script.policy, script.optimizer
    state = torch.randn(4)
    for _ in range(3):
        for _ in range(5):
            script.select_action(state.numpy())
            policy.rewards.append(float(torch.rand(())))
        loss = sum(policy.saved_log_probs)
        script.finish_episode()
        record(loss.item())
    assert optimizer is script.optimizer


def _forward_forward(folder: Path, record: Record) -> None:
    import torch

    script = _module(folder, "mnist_forward_forward", "if __name__")
    script.args = type("Args", (), {"threshold": 2.0, "lr": 0.03, "epochs": 3, "log_interval": 1})
    script.device = torch.device("cpu")
    net = script.Net([784, 32, 32])
    good, bad = torch.rand(8, 784), torch.rand(8, 784)
    net.train(good, bad)
    record(sum(layer.weight.norm() for layer in net.layers).item())


def _own(folder: Path, name: str) -> Any:
    """A module of an example's own folder; several examples have one of the same name."""
    sys.modules.pop(name, None)
    on_path(folder)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(str(folder))
