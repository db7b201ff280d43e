"""Every layer as one line of `layers.txt`: how to make it, and what to call it with.

A line is `constructor | inputs`. In the inputs, `R` is normal and `U` between 0 and 1, both with
gradients; `N` is normal without one, `I(high, *shape)` whole numbers, `S` signs, `B` booleans.
"""

import math
import warnings
from pathlib import Path

import numpy as np

LINES = Path(__file__).with_name("layers.txt").read_text(encoding="utf-8").splitlines()
CASES = [tuple(line.split(" | ")) for line in LINES]


class Inputs:
    """Makes the same random inputs in either library, and remembers those that require grad."""

    def __init__(self, library):
        self.library = library
        self.random = np.random.RandomState(5)
        self.leaves = []

    def made(self, values, requires_grad):
        """A tensor of rounded numbers, which are the same in float32 everywhere."""
        rounded = np.round(np.asarray(values) * 1024) / 1024
        tensor = self.library.tensor(rounded.astype(np.float32).tolist())
        if requires_grad:
            self.leaves.append(tensor.requires_grad_())
        return tensor

    def scope(self):
        """The names that a line of the table may use."""
        random, library = self.random, self.library
        return {
            "torch": library,
            "nn": library.nn,
            "F": library.nn.functional,
            "inf": math.inf,
            "R": lambda *shape: self.made(random.standard_normal(shape), True),
            "N": lambda *shape: self.made(random.standard_normal(shape), False),
            "U": lambda *shape: self.made(random.uniform(0.05, 0.95, shape), True),
            "S": lambda *shape: library.tensor((random.randint(0, 2, shape) * 2.0 - 1).tolist()),
            "B": lambda *shape: library.tensor((random.rand(*shape) < 0.3).tolist()),
            "I": lambda high, *shape: library.tensor(random.randint(0, high, shape).tolist()),
        }


def flat(value):
    """The tensors in nested tuples, as arrays."""
    if value is None:
        return []
    if isinstance(value, tuple | list):
        return [array for part in value for array in flat(part)]
    if repr(value).startswith("<Uninitialized"):  # the state of a lazy layer
        return [np.zeros(0)]
    return [value.detach().numpy()] if hasattr(value, "detach") else [np.asarray(value)]


def _tensors(value):
    if isinstance(value, tuple | list):
        return [tensor for part in value for tensor in _tensors(part)]
    return [value] if hasattr(value, "requires_grad") and value.requires_grad else []


def weights(shape):
    """Fixed numbers of a shape, by which results are weighted."""
    return np.cos(np.arange(math.prod(shape), dtype=np.float32)).reshape(shape)


def _backward(library, out, leaves, parameters):
    results = _tensors(out)
    if not results:
        return []
    total = sum((part * library.tensor(weights(part.shape).tolist())).sum() for part in results)
    total.backward()
    gradients = [leaf.grad for leaf in (*leaves, *parameters)]
    return [np.zeros(0) if grad is None else grad.detach().numpy() for grad in gradients]


def report(library, constructor, inputs):
    """What a layer is and does: its text, and arrays by name.

    It runs in training mode, in evaluation mode, and in evaluation mode without gradients, where
    PyTorch has kernels of its own for some layers.
    """
    found = {}
    for mode in ("train", "eval", "frozen"):
        given = Inputs(library)
        scope = given.scope()
        library.manual_seed(3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = eval(f"nn.{constructor}", scope)
            if mode == "train":
                found["repr"] = repr(module)
                found["names"] = list(module.state_dict())
                found["state"] = flat(list(module.state_dict().values()))
            module.train(mode == "train")
            library.manual_seed(7)
            with library.set_grad_enabled(mode != "frozen"):
                out = eval(f"module({inputs})", scope | {"module": module})
        found[f"{mode} output"] = flat(out)
        if mode != "frozen":
            parameters = list(module.parameters())
            found[f"{mode} gradients"] = _backward(library, out, given.leaves, parameters)
        if mode == "train":
            found["state after"] = flat(list(module.state_dict().values()))
    return found


def fingerprint(array):
    """A shape, a dtype and four numbers, which change when anything in an array does."""
    values = np.asarray(array, dtype=np.float64).reshape(-1)
    places = np.arange(values.size)
    sums = [values.sum(), (values * np.cos(places)).sum(), (values * np.sin(3 * places)).sum()]
    norm = np.sqrt((values**2).sum())
    return [list(array.shape), array.dtype.name, *(float(f"{n:.6g}") for n in (*sums, norm))]


def recorded(library, constructor, inputs):
    """The report with arrays as fingerprints: what a file of answers keeps."""
    found = report(library, constructor, inputs)
    return {
        name: value if name in ("repr", "names") else [fingerprint(array) for array in value]
        for name, value in found.items()
    }
