"""Writes recorded_printing.json, PyTorch's own answers: run this script with PyTorch 2.13.

A case says all that is needed to build the array again with NumPy alone: dtype, elements (base64 of
their bytes), the shape that they are repeated to fill, and the layout in memory.
"""

import base64
import importlib
import itertools
import json
import warnings
from math import inf, nan, prod
from pathlib import Path

REALS = {
    "zeros": [0.0, -0.0, 0.0],
    "whole": [1.0, -2.0, 30.0],
    "whole up to 1000 times": [1.0, 1000.0],
    "whole over 1000 times": [1.0, 1001.0, -7.0],
    "whole and large": [100000000.0, 99999999.0],
    "whole and larger": [100000010.0, 3e8],
    "fractions": [0.5, -0.25, 3.0, 0.0, -0.0],
    "fractions up to 1000 times": [1.5, 1500.0],
    "fractions over 1000 times": [1.5, -1502.0],
    "small": [0.0001, 0.05],
    "smaller": [0.00009, 0.05],
    "rounded up": [99.99999, 0.99999, 9.5],
    "half to even": [0.12345, 0.00005, 2.00015, 1.0625],
    "not finite": [nan, inf, -inf],
    "whole and not finite": [1.0, nan, -inf, -20.0],
    "fractions and not finite": [1.5, inf, -nan, -inf, 0.0],
    "extremes": [1e-300, 1e300, 1.0],
    "subnormal": [5e-324, 1e-45, 6e-8],
    "one": [3.14159265358979],
    "one, tiny": [-1.2e-7],
}
INTEGERS = {
    "uint8": [0, 7, 255],
    "uint16": [65535, 1, 0],
    "uint32": [4294967295, 10],
    "uint64": [18446744073709551615, 0],
    "int8": [-128, 127, 0],
    "int16": [-32768, 5],
    "int32": [-2147483648, 2147483647],
    "int64": [-9223372036854775808, 9223372036854775807, 0],
}
FLOATS = ["float16", "bfloat16", "float32", "float64"]
EIGHT_BITS = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz"]
SHAPES = [
    (), (0,), (0, 3), (2, 0, 3), (1,), (7,), (12,), (50,), (2, 3), (3, 30), (5, 1), (2, 2, 2),
    (1, 1, 1, 1), (2, 1, 3, 2), (1000,), (1001,), (2000, 2), (2, 700), (7, 8, 20), (3, 7, 2, 40),
]  # fmt: skip
OPTIONS = [
    {"precision": 0},
    {"precision": 1},
    {"precision": 8},
    {"profile": "short"},
    {"profile": "full", "linewidth": 100},
    {"linewidth": 1},
    {"linewidth": 30},
    {"linewidth": 120},
    {"sci_mode": True},
    {"sci_mode": False},
    {"sci_mode": True, "precision": 1},
    {"threshold": 0, "edgeitems": 1},
    {"threshold": 5, "edgeitems": 2},
    {"threshold": 0, "edgeitems": 0},
    {"threshold": inf, "edgeitems": 0},
    {"threshold": 10, "edgeitems": 4, "linewidth": 40},
]


def main():
    torch = importlib.import_module("torch")  # here, so that collecting tests does not need it
    warnings.simplefilter("ignore")  # PyTorch warns about beta features
    lines = [json.dumps(record(torch, case)) for case in cases(torch)]
    target = Path(__file__).with_name("recorded_printing.json")
    target.write_text("[\n" + ",\n".join(lines) + "\n]\n", encoding="utf-8")
    print(f"{len(lines)} cases in {target.name}")


def cases(torch):
    yield from value_cases(torch)
    yield from shape_cases(torch)
    yield from layout_cases(torch)
    yield from suffix_cases(torch)


def case(torch, name, values, dtype, shape=None, layout="plain", options=None, **tensor):
    wide = "complex128" if "complex" in dtype else "float64" if "float" in dtype else dtype
    cells = torch.tensor(values, dtype=getattr(torch, wide)).to(getattr(torch, dtype))
    raw = bytes(cells.view(torch.uint8).tolist())
    return {
        "name": f"{name}, {dtype}",
        "dtype": dtype,
        "data": base64.b64encode(raw).decode(),
        "shape": [len(values)] if shape is None else list(shape),
        "layout": layout,
        "options": options or {},
        "tensor": tensor,
    }


def value_cases(torch):
    for (name, values), dtype in itertools.product(REALS.items(), FLOATS):
        yield case(torch, name, values, dtype)
    for name, values in REALS.items():
        for scientific in (True, False):
            options = {"sci_mode": scientific}
            yield case(torch, f"{name}, {options}", values, "float64", options=options)
    for dtype in EIGHT_BITS:
        for name in ("zeros", "whole", "fractions and not finite", "small", "one"):
            yield case(torch, name, REALS[name], dtype)
    for dtype in ("complex64", "complex128"):
        for (name, reals), (other, imaginaries) in zip(
            REALS.items(), reversed(REALS.items()), strict=True
        ):
            values = [complex(*pair) for pair in zip(reals, itertools.cycle(imaginaries))]
            yield case(torch, f"{name} with {other}", values, dtype)
    for dtype, values in INTEGERS.items():
        yield case(torch, "extremes", values, dtype)
        yield case(torch, "one", values[:1], dtype, shape=())
    for values in ([True], [False], [True, False], [True, True]):
        yield case(torch, str(values), values, "bool")


def shape_cases(torch):
    samples = {
        "int64": list(range(-3, 113, 5)),
        "float32": [value / 8 for value in range(-40, 400, 21)],
        "complex64": [complex(value / 4, -value) for value in range(-5, 9)],
        "bool": [True, False, True],
    }
    for dtype, shape in itertools.product(samples, SHAPES):
        yield case(torch, f"shape {shape}", samples[dtype], dtype, shape)
    for options, dtype in itertools.product(OPTIONS, samples):
        for shape in ((), (0,), (13,), (3, 9), (2, 6, 3)):
            name = f"shape {shape}, {options}"
            yield case(torch, name, samples[dtype], dtype, shape, options=options)


def layout_cases(torch):
    values = list(range(-1, 36))
    for layout, dtype in itertools.product(("transposed", "step"), ("int32", "float16")):
        for shape in ((10, 12), (3, 4, 10), (40, 50)):
            yield case(torch, f"{layout} {shape}", values, dtype, shape, layout)
    for dtype in ("bool", "int64", "bfloat16", "float32", "complex64"):
        for shape in ((10**8, 3), (5, 10**8, 3), (10**4, 10**4, 10**4, 3)):
            yield case(torch, f"broadcast {shape}", [1, 0, 1], dtype, shape, "broadcast")


def suffix_cases(torch):
    values = [0.5, 1.5, -2.0]
    owners = [
        {},
        {"requires_grad": True},
        {"requires_grad": True, "grad_fn_name": "MulBackward0"},
        {"requires_grad": True, "is_parameter": True},
        {"is_parameter": True},
        {"requires_grad": True, "class_name": "Quantity"},
    ]
    for owner, dtype, shape in itertools.product(
        owners, ("float32", "float64"), ((), (0,), (2, 0), (3,), (4, 3))
    ):
        yield case(torch, f"{owner} {shape}", values, dtype, shape, **owner)
        yield case(torch, f"meta {owner} {shape}", values, dtype, shape, device="meta", **owner)
    for width in range(24, 96, 3):
        for shape in ((4,), (2, 4)):
            name, options = f"linewidth {width} {shape}", {"linewidth": width}
            yield case(torch, name, values, "float64", shape, options=options, **owners[2])
            yield case(
                torch, f"meta {name}", values, "float64", shape,
                options=options, device="meta", **owners[3],
            )  # fmt: skip
    for default, dtype in itertools.product(
        ("float16", "bfloat16", "float32", "float64"),
        ("bool", "int32", "int64", *FLOATS, "complex64", "complex128"),
    ):
        for shape in ((0,), (2,)):
            name = f"default {default} {shape}"
            yield case(torch, name, [1, 0], dtype, shape, default=default)
        yield case(torch, f"meta {name}", [1], dtype, (2,), default=default, device="meta")


def record(torch, case):
    """The case with PyTorch's answers: the whole text, and for plain tensors the values alone."""
    printing = importlib.import_module("torch._tensor_str")
    owner = case["tensor"]
    torch.set_printoptions(profile="default")
    torch.set_printoptions(**case["options"])
    torch.set_default_dtype(getattr(torch, owner.get("default", "float32")))
    tensor = build(torch, case)
    if not owner and tensor.numel():
        case = case | {"values": printing._tensor_str(tensor, 3)}
    if owner.get("device") == "meta":
        tensor = tensor.to("meta")
    return case | {"repr": repr(own(torch, tensor, owner))}


def build(torch, case):
    raw = base64.b64decode(case["data"])
    dtype, shape = getattr(torch, case["dtype"]), case["shape"]
    if case["layout"] == "broadcast":
        return torch.frombuffer(bytearray(raw), dtype=dtype).expand(shape)
    size = prod(shape) * dtype.itemsize
    filled = bytearray((raw * (size // len(raw) + 1))[:size])
    tensor = torch.frombuffer(filled, dtype=dtype) if size else torch.empty(0, dtype=dtype)
    tensor = tensor.reshape(shape)
    if case["layout"] == "transposed":
        return tensor.permute(*reversed(range(tensor.ndim)))
    return tensor[..., ::2] if case["layout"] == "step" else tensor


def own(torch, tensor, owner):
    requires_grad = owner.get("requires_grad", False)
    if owner.get("is_parameter"):
        return torch.nn.Parameter(tensor, requires_grad=requires_grad)
    if "class_name" in owner:
        tensor = tensor.as_subclass(type(owner["class_name"], (torch.Tensor,), {}))
    tensor.requires_grad_(requires_grad)
    if "grad_fn_name" in owner:
        tensor = tensor * 1
        assert tensor.grad_fn.name() == owner["grad_fn_name"]
    return tensor


if __name__ == "__main__":
    main()
