"""Has PyTorch write the checkpoints in `recorded/`: run this script with PyTorch 2.13.

The values are such that a test can say what they are without PyTorch. (`legacy.pt` names storages
by their addresses, and so differs from run to run.)
"""

import random
import sys
from collections import Counter, OrderedDict
from pathlib import Path

import numpy as np
import torch

FOLDER = Path(__file__).with_name("recorded")


class Unknown:
    """A class that nobody but this script has."""


def values(t, is_legacy):
    """One of everything that PyTorch allows in a file by default."""
    base = t.arange(12.0)
    with_attribute = t.nn.Parameter(t.arange(3.0), requires_grad=False)
    with_attribute.label = "third"
    found = {
        "slice": base[2:5],
        "columns": base.view(3, 4).t(),
        "strided": base.as_strided((2, 2), (1, 3), 4),
        "parameter": t.nn.Parameter(t.arange(2.0)),
        "with_attribute": with_attribute,
        "wants_grad": t.arange(2.0, requires_grad=True),
        "number": t.tensor(2.5),
        "empty": t.empty(2, 0),
        "size": t.Size([2, 3]),
        "dtype": t.int16,
        "device": t.device("cuda", 1),
        "layout": t.strided,
        "counts": Counter("abb"),
        "ordered": OrderedDict(b=1, a=2),
        "bytes": b"\x00\xff",
        "bytearray": bytearray(b"ab"),
        "set": {1, 2},
        "complex": 1 - 2j,
        "large": 2**70,
        "nested": [(1, -2.5, None), {"x": [True, "\u00e9"]}],
    }
    kinds = ["float64", "float16", "bfloat16", "int64", "int32", "int16", "int8", "uint8", "bool"]
    kinds += ["complex64", "complex128"]
    if not is_legacy:
        kinds += ["uint16", "uint32", "uint64", "float8_e4m3fn", "float8_e5m2"]
        found["meta"] = t.empty(3, 2, device="meta")
        found["conjugated"] = (t.ones(2, dtype=t.complex64) * (1 + 2j)).conj()
    for kind in kinds:
        found[kind] = t.tensor([0, 1, 1]).to(getattr(t, kind))
    return found


def main():
    FOLDER.mkdir(exist_ok=True)
    random.seed(0)
    torch.manual_seed(0)
    torch.save(values(torch, False), FOLDER / "values.pt")
    torch.save(values(torch, True), FOLDER / "legacy.pt", _use_new_zipfile_serialization=False)
    linear = torch.nn.Linear(2, 1)
    with torch.no_grad():
        linear.weight.copy_(torch.tensor([[1.0, 2.0]]))
        linear.bias.fill_(3.0)
    torch.save(torch.nn.Sequential(linear, torch.nn.ReLU()), FOLDER / "module.pt")
    torch.save({"a": np.float32(1.5), "b": np.arange(3.0)}, FOLDER / "numpy.pt")
    torch.save(torch.eye(2).to_sparse(), FOLDER / "sparse.pt")
    sys.modules["gone"] = sys.modules[__name__]
    Unknown.__module__ = "gone"
    torch.save({"made": Unknown()}, FOLDER / "unknown.pt")


if __name__ == "__main__":
    main()
