"""Writes recorded_nn.json, PyTorch's own answers: run this script with PyTorch 2.13.

Arguments are written as Python literals, tensors as nested lists of numbers with 7 digits.
"""

import json
import warnings
from pathlib import Path

import torch

# Name of the layer, its arguments, and the shape of the input (or "integers").
LAYERS = [
    ("Linear", (4, 3), {}, (2, 4)),
    ("Linear", (4, 3), {"bias": False}, (4,)),
    ("Identity", (), {}, (2, 4)),
    ("ReLU", (), {}, (2, 4)),
    ("ReLU6", (), {}, (2, 4)),
    ("Hardtanh", (-0.5, 0.7), {}, (2, 4)),
    ("LeakyReLU", (0.2,), {}, (2, 4)),
    ("ELU", (0.7,), {}, (2, 4)),
    ("SELU", (), {}, (2, 4)),
    ("CELU", (0.7,), {}, (2, 4)),
    ("GELU", (), {}, (2, 4)),
    ("GELU", ("tanh",), {}, (2, 4)),
    ("SiLU", (), {}, (2, 4)),
    ("Mish", (), {}, (2, 4)),
    ("Hardswish", (), {}, (2, 4)),
    ("Hardsigmoid", (), {}, (2, 4)),
    ("Sigmoid", (), {}, (2, 4)),
    ("LogSigmoid", (), {}, (2, 4)),
    ("Tanh", (), {}, (2, 4)),
    ("Softplus", (2.0, 1.0), {}, (2, 4)),
    ("Softsign", (), {}, (2, 4)),
    ("Tanhshrink", (), {}, (2, 4)),
    ("Hardshrink", (0.3,), {}, (2, 4)),
    ("Softshrink", (0.3,), {}, (2, 4)),
    ("Threshold", (0.1, 20.0), {}, (2, 4)),
    ("GLU", (), {}, (2, 4)),
    ("PReLU", (4,), {}, (2, 4, 3)),
    ("Softmax", (1,), {}, (2, 4)),
    ("LogSoftmax", (1,), {}, (2, 4)),
    ("Softmin", (1,), {}, (2, 4)),
    ("Softmax2d", (), {}, (2, 3, 4, 4)),
    ("Flatten", (), {}, (2, 3, 4)),
    ("Unflatten", (1, (2, 2)), {}, (2, 4)),
    ("Embedding", (10, 3), {}, "integers"),
    ("Embedding", (10, 3), {"padding_idx": -3}, "integers"),
    ("LayerNorm", (4,), {}, (2, 3, 4)),
    ("LayerNorm", ((3, 4),), {"bias": False}, (2, 3, 4)),
    ("LayerNorm", (4,), {"elementwise_affine": False}, (2, 3, 4)),
    ("RMSNorm", (4,), {}, (2, 3, 4)),
    ("GroupNorm", (2, 6), {}, (2, 6, 4)),
    ("BatchNorm1d", (4,), {}, (5, 4)),
    ("BatchNorm1d", (4,), {"momentum": None}, (5, 4, 3)),
    ("BatchNorm2d", (4,), {"affine": False}, (5, 4, 3, 2)),
    ("BatchNorm3d", (2,), {"track_running_stats": False}, (2, 2, 3, 2, 2)),
    ("InstanceNorm2d", (3,), {"affine": True, "track_running_stats": True}, (2, 3, 4, 4)),
    ("Conv1d", (4, 6, 3), {"stride": 2, "padding": 1}, (2, 4, 9)),
    ("Conv2d", (4, 6, (3, 2)), {"groups": 2, "dilation": (1, 2)}, (2, 4, 7, 6)),
    ("Conv2d", (4, 6, 3), {"padding": "same", "bias": False}, (2, 4, 7, 6)),
    ("Conv2d", (2, 3, 3), {"padding": 1, "padding_mode": "reflect"}, (2, 2, 5, 5)),
    ("Conv2d", (2, 3, 3), {"padding": (1, 2), "padding_mode": "circular"}, (2, 2, 5, 5)),
    ("Conv3d", (2, 3, 2), {}, (1, 2, 3, 4, 4)),
    ("ConvTranspose1d", (4, 6, 3), {"stride": 2}, (2, 4, 5)),
    ("ConvTranspose2d", (4, 6, 3), {"stride": 2, "output_padding": 1, "groups": 2}, (2, 4, 5, 5)),
    ("ConvTranspose3d", (2, 3, 2), {}, (1, 2, 3, 3, 3)),
    ("MaxPool1d", (2,), {}, (2, 3, 9)),
    ("MaxPool2d", (3, 2, 1), {"ceil_mode": True}, (2, 3, 9, 8)),
    ("MaxPool3d", (2,), {}, (1, 2, 4, 4, 4)),
    ("AvgPool1d", (2,), {}, (2, 3, 9)),
    ("AvgPool2d", (3, 2, 1), {"count_include_pad": False}, (2, 3, 9, 8)),
    ("AvgPool3d", (2,), {}, (1, 2, 4, 4, 4)),
    ("AdaptiveAvgPool1d", (3,), {}, (2, 3, 7)),
    ("AdaptiveAvgPool2d", ((None, 3),), {}, (2, 3, 7, 7)),
    ("AdaptiveMaxPool2d", (2,), {}, (2, 3, 7, 7)),
    ("RNN", (4, 5), {"num_layers": 2, "nonlinearity": "relu"}, (6, 2, 4)),
    ("RNN", (4, 5), {"bidirectional": True, "bias": False}, (6, 4)),
    ("GRU", (4, 5), {"num_layers": 2, "batch_first": True, "bidirectional": True}, (2, 6, 4)),
    ("LSTM", (4, 5), {"num_layers": 2, "batch_first": True}, (2, 6, 4)),
    ("LSTM", (4, 5), {"proj_size": 3, "bidirectional": True}, (6, 2, 4)),
    ("RNNCell", (4, 5), {}, (2, 4)),
    ("GRUCell", (4, 5), {"bias": False}, (4,)),
    ("LSTMCell", (4, 5), {}, (2, 4)),
    ("Dropout", (0.3,), {}, (2, 4)),
    ("Dropout2d", (0.3,), {}, (2, 4, 3, 3)),
]

LOSSES = [
    ("MSELoss", {}, "same"),
    ("MSELoss", {"reduction": "none"}, "same"),
    ("L1Loss", {"reduction": "sum"}, "same"),
    ("SmoothL1Loss", {"beta": 0.5}, "same"),
    ("HuberLoss", {"delta": 0.5}, "same"),
    ("KLDivLoss", {"reduction": "batchmean"}, "probabilities"),
    ("BCELoss", {}, "binary"),
    ("BCEWithLogitsLoss", {}, "probabilities"),
    ("CrossEntropyLoss", {"label_smoothing": 0.1, "ignore_index": 2}, "classes"),
    ("CrossEntropyLoss", {}, "probabilities"),
    ("NLLLoss", {"reduction": "sum"}, "classes"),
]

INITS = [
    ("uniform_", (-1.0, 2.0), (5, 4)),
    ("normal_", (1.0, 2.0), (5, 4)),
    ("trunc_normal_", (), (5, 4)),
    ("trunc_normal_", (0.0, 1.0, 1.5, 3.0), (5, 4)),
    ("constant_", (0.5,), (5, 4)),
    ("ones_", (), (5, 4)),
    ("zeros_", (), (5, 4)),
    ("eye_", (), (5, 4)),
    ("dirac_", (2,), (4, 3, 3)),
    ("xavier_uniform_", (0.5,), (5, 4, 3)),
    ("xavier_normal_", (), (5, 4)),
    ("kaiming_uniform_", (0.2, "fan_out"), (5, 4)),
    ("kaiming_normal_", (0, "fan_in", "relu"), (5, 4)),
    ("orthogonal_", (2.0,), (3, 5)),
    ("orthogonal_", (), (5, 3)),
    ("sparse_", (0.4,), (5, 4)),
]

OPTIMIZERS = [
    ("SGD", {"lr": 0.01}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}),
    ("SGD", {"lr": 0.01, "momentum": 0.9, "dampening": 0.1}),
    ("SGD", {"lr": 1e-5, "maximize": True}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1}),
    ("Adam", {"lr": 0.01, "betas": (0.5, 0.9), "eps": 1e-3}),
    ("AdamW", {"lr": 0.01}),
    ("AdamW", {"lr": 0.01, "maximize": True, "amsgrad": True}),
]

SCHEDULES = [
    ("StepLR", (3,), {}),
    ("MultiStepLR", ([3, 3, 7],), {}),
    ("ExponentialLR", (0.9,), {}),
    ("CosineAnnealingLR", (5, 0.01), {}),
    ("LinearLR", (), {}),
    ("ConstantLR", (), {}),
    ("PolynomialLR", (7, 2.0), {}),
    ("OneCycleLR", (1.0,), {"total_steps": 30}),
    ("OneCycleLR", (1.0,), {"epochs": 3, "steps_per_epoch": 10, "three_phase": True}),
    ("CosineAnnealingWarmRestarts", (3, 2), {}),
]


def plain(value):
    """Tensors, and tuples of them, as lists of numbers."""
    if isinstance(value, tuple):
        return [plain(part) for part in value]
    if isinstance(value, list):
        return [plain(part) for part in value]
    if isinstance(value, torch.Tensor):
        return plain(value.detach().tolist())
    return float(f"{value:.7g}") if isinstance(value, float) else value


def first(out):
    return out[0] if isinstance(out, tuple) else out


def layer(name, args, kwargs, shape):
    torch.manual_seed(3)
    module = getattr(torch.nn, name)(*args, **kwargs)
    case = {"name": name, "args": repr(args), "kwargs": repr(kwargs), "repr": repr(module)}
    case["state"] = {key: plain(value) for key, value in module.state_dict().items()}
    if shape == "integers":
        x = torch.tensor([[1, 7, 7], [0, 9, 2]])
    else:
        torch.manual_seed(5)
        # Numbers that JSON's seven digits hold exactly, or input and answer would not belong
        # together.
        x = (torch.randn(shape) * 1024).round() / 1024
        x.requires_grad_()
    case["input"] = plain(x)
    torch.manual_seed(7)
    out = module(x)
    case["output"] = plain(out)
    if first(out).requires_grad:
        (first(out) ** 2).sum().backward()
        case["grads"] = [plain(p.grad) for p in module.parameters()]
        case["input_grad"] = None if x.grad is None else plain(x.grad)
    case["eval"] = plain(module.eval()(x))
    return case


def loss(name, kwargs, target):
    torch.manual_seed(2)
    x = torch.randn(4, 3)
    x = (x.sigmoid() if target == "binary" else x).mul(1024).round().div(1024).requires_grad_()
    y = {
        "same": torch.randn(4, 3).mul(1024).round() / 1024,
        "probabilities": torch.tensor([[0.5, 0.25, 0.25]] * 4),
        "binary": torch.tensor([[0.0, 1.0, 0.25]] * 4),
        "classes": torch.tensor([0, 2, 1, 1]),
    }[target]
    module = getattr(torch.nn, name)(**kwargs)
    result = module(x, y)
    result.sum().backward()
    case = {"name": name, "kwargs": repr(kwargs), "input": plain(x), "target": plain(y)}
    return case | {"output": plain(result), "input_grad": plain(x.grad), "repr": repr(module)}


def initializer(name, args, shape):
    torch.manual_seed(11)
    result = getattr(torch.nn.init, name)(torch.empty(shape), *args)
    return {"name": name, "args": repr(args), "shape": shape, "output": plain(result)}


def optimizer(name, settings):
    torch.manual_seed(1)
    parameters = [torch.randn(7, 5), torch.randn(3), torch.tensor(0.5)]
    w, b, single = (p.requires_grad_() for p in parameters)
    made = getattr(torch.optim, name)([w, b, single], **settings)
    for _ in range(100):
        made.zero_grad()
        ((w.abs() ** 3).sum() + 3 * (b * b).sum() + (single - 2) ** 2).backward()
        made.step()
    state = made.state_dict()
    case = {"name": name, "settings": repr(settings), "repr": repr(made)}
    case["parameters"] = [plain(p) for p in parameters]
    case["param_groups"] = repr(state["param_groups"])
    case["state"] = [
        {key: plain(value) for key, value in entry.items()} for entry in state["state"].values()
    ]
    return case


def schedule(name, args, kwargs):
    made = torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.5, momentum=0.9)
    scheduler = getattr(torch.optim.lr_scheduler, name)(made, *args, **kwargs)
    trace = []
    for _ in range(20):
        made.step()
        scheduler.step()
        trace.append([made.param_groups[0]["lr"], made.param_groups[0]["momentum"]])
    return {"name": name, "args": repr(args), "kwargs": repr(kwargs), "trace": plain(trace)}


def main():
    warnings.simplefilter("ignore")
    recorded = {
        "torch": torch.__version__,
        "layers": [layer(*case) for case in LAYERS],
        "losses": [loss(*case) for case in LOSSES],
        "initializers": [initializer(*case) for case in INITS],
        "optimizers": [optimizer(*case) for case in OPTIMIZERS],
        "schedules": [schedule(*case) for case in SCHEDULES],
    }
    text = json.dumps(recorded, separators=(",", ":"))
    Path(__file__).with_name("recorded_nn.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
