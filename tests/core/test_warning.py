"""Warnings point at the user's line, however deep in the library they are given."""

import ast
import warnings
from pathlib import Path

import numpy as np
import pytest

import lamina as torch
from lamina import errors, nn
from lamina.nn import functional as F

HOUSE = Path(torch.__file__).parent


def net_with_hook():
    net = nn.Sequential(nn.Linear(2, 2))
    net.register_full_backward_hook(lambda module, given, out: None)
    return net


def read_only():
    array = np.ones(2)
    array.flags.writeable = False
    return array


# Each is an expression on one line: what is warned of must be that line.
CASES = {
    "mse_loss": lambda: F.mse_loss(torch.ones(2, 1), torch.ones(2)),
    "MSELoss": lambda: nn.MSELoss()(torch.ones(2, 1), torch.ones(2)),
    "l1 in a Sequential": lambda: nn.L1Loss()(nn.Sequential()(torch.ones(2, 1)), torch.ones(2)),
    "kl_div": lambda: F.kl_div(torch.ones(2), torch.ones(2), reduction="mean"),
    "KLDivLoss": lambda: nn.KLDivLoss(reduction="mean")(torch.ones(2), torch.ones(2)),
    "size_average": lambda: F.l1_loss(torch.ones(2), torch.ones(2), size_average=True),
    "size_average of a layer": lambda: nn.L1Loss(size_average=True),
    "dropout2d": lambda: F.dropout2d(torch.ones(2, 3)),
    "Dropout2d": lambda: nn.Dropout2d()(torch.ones(2, 3)),
    "T": lambda: torch.ones(2, 2, 2).T,
    "chain_matmul": lambda: torch.chain_matmul(torch.ones(2, 2), torch.ones(2, 2)),
    "upsample": lambda: F.upsample(torch.ones(1, 1, 2), 4),
    "complex": lambda: torch.ones(2, dtype=torch.complex64).to(torch.float32),
    "complex, assigned": lambda: torch.ones(2).copy_(torch.ones(2, dtype=torch.complex64)),
    "uint8 index": lambda: torch.ones(2)[torch.ones(2, dtype=torch.uint8)],
    "copy": lambda: torch.tensor(torch.ones(2)),
    "read-only": lambda: torch.from_numpy(read_only()),
    "float": lambda: float(torch.ones(1, requires_grad=True)),
    "grad": lambda: (torch.ones(1, requires_grad=True) * 2).grad,
    "create_graph": lambda: torch.ones((), requires_grad=True).sin().backward(create_graph=True),
    "cov": lambda: torch.cov(torch.ones(2, 1)),
    "stft": lambda: torch.stft(torch.ones(8), 4, return_complex=True),
    "out": lambda: torch.add(torch.ones(3), 1, out=torch.ones(2)),
    "LSTM": lambda: nn.LSTM(2, 2, dropout=0.5),
    "init": lambda: nn.init.xavier_uniform(torch.ones(2, 2)),
    "empty": lambda: nn.init.kaiming_uniform_(torch.ones(0, 2)),
    "optimizer": lambda: torch.optim.SGD([torch.ones(2, requires_grad=True)] * 2, lr=0.1),
    "storage": lambda: torch.ones(2).storage(),
    "backward hook": lambda: net_with_hook()(torch.ones(1, 2)).sum().backward(),
    "checkpoint": lambda: torch.utils.checkpoint.checkpoint(torch.sin, torch.ones(2)),
    "split": lambda: torch.utils.data.random_split(range(1), [0.5, 0.5]),
    "compile": lambda: torch.compile(lambda x: x * x.sum().item())(torch.ones(2)),
    "anomaly": lambda: torch.autograd.detect_anomaly(),
    "gradcheck": lambda: torch.autograd.gradcheck(torch.sin, torch.ones(1, requires_grad=True)),
    "autocast": lambda: torch.get_autocast_gpu_dtype(),
}


@pytest.mark.parametrize("name", CASES)
def test_the_line_is_the_users(name):
    case = CASES[name]
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("always")
        try:
            case()
        except errors.LaminaError:
            assert name == "gradcheck"  # in single precision, and so it warned
    assert log
    assert {entry.filename for entry in log} == {__file__}
    assert {entry.lineno for entry in log} == {case.__code__.co_firstlineno}


def test_a_place_is_told_once():
    with warnings.catch_warnings(record=True) as log:
        warnings.simplefilter("default")
        for _ in range(3):
            F.mse_loss(torch.ones(2, 1), torch.ones(2))
    assert len(log) == 1


def test_a_filter_by_module_is_one_by_the_users_module():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", module=__name__.replace(".", r"\."))
        F.mse_loss(torch.ones(2, 1), torch.ones(2))


def test_no_file_of_the_house_counts_frames_itself():
    found = []
    for path in HOUSE.rglob("*.py"):
        if path == HOUSE / "core" / "warning.py":
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        found += [
            (path.name, node.lineno)
            for node in ast.walk(tree)
            if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("warnings.warn")
        ]
    assert found == []
