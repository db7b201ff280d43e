"""Random small programs, run on PyTorch and on Lamina and compared after every statement.

A program is a list of statements in Python over six tensors `a` to `f`; `torch` is the module under
test. What can be seen of every tensor must agree: values, dtype, shape, strides, flags, version,
node names two levels deep, who shares memory with whom, `.grad`, what hooks were given. A statement
that raises must raise the same class on both, with the phrase that people search for, and leave
every tensor as it was.
"""

from __future__ import annotations

import builtins
import random
import warnings
from collections.abc import Callable, Sequence
from typing import Any

Choose = Callable[[Sequence[Any]], Any]

NAMES = "abcdef"

# --- statements ----------------------------------------------------------------------------------

CREATIONS = """
torch.tensor([[1., 2., 3.], [4., 5., 6.]])
torch.tensor([[1., -2., 3.], [0.5, 5., -6.]], requires_grad=True)
torch.ones(2, 3, requires_grad=True)
torch.ones(3, requires_grad=True)
torch.full((2, 1), 0.5, requires_grad=True)
torch.tensor(2., requires_grad=True)
torch.tensor(3.)
torch.tensor([1., 2., 3.])
torch.zeros(2, 3)
torch.zeros(3, 2).t()
torch.arange(6.).view(2, 3)
torch.arange(3)
torch.arange(6).view(2, 3)
torch.tensor(2)
torch.tensor([True, False, True])
torch.tensor([[1, 2, 3], [4, 5, 6]], dtype=torch.int32)
torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
torch.tensor(0.5, dtype=torch.float64)
torch.tensor([1., 2., 3.], dtype=torch.float64)
torch.tensor([1 + 2j, 3., 2j])
torch.tensor([1., 2., 3.], dtype=torch.float16, requires_grad=True)
torch.eye(3, requires_grad=True)
torch.zeros(1, 3)
torch.empty(3).fill_(1.5)
torch.linspace(0., 1., 3)
""".strip().splitlines()


def forms(text: str) -> list[str]:
    """The forms of a table, between bars."""
    return [form.strip() for form in text.split(" |") if form.strip()]


# x, y, f stand for names of the program, n for a number, S for a statement.
BINARY_FORMS = forms("""
x + y | x - y | x * y | x / y | x // y | x % y | x ** y | x @ y | x < y | x == y | x >= y |
torch.add(x, y, alpha=2) | torch.maximum(x, y) | torch.where(x > y, x, y) |
torch.sub(x, y, alpha=3) | torch.mul(x, y) | x + n | n + x | x - n | n - x | x * n | x / n |
n / x | x // n | x % n | x ** n | n ** x | x < n | x != n | x & y | torch.lerp(x, y, 0.5) |
torch.addcmul(x, y, y) | torch.dot(x, y) | torch.mm(x, y) | torch.atan2(x, y) |
torch.cat([x, y]) | torch.stack([x, y]) | torch.cat([x, y], dim=-1) | x.type_as(y) |
torch.addmm(x, y, x) | torch.minimum(x, y) | x.masked_fill(y > 1, n) | torch.logical_and(x, y)
""")
UNARY_FORMS = forms("""
-x | x.exp() | x.sin() | x.tanh() | x.sigmoid() | x.relu() | x.sqrt() | x.abs() | x.log() |
x.neg() | x.sign() | x.reciprocal() | x.square() | x.round() | x.isnan() | ~x | x.clamp(min=1) |
x.clamp(0, 2) | x.floor() | x.softmax(-1) | x.log_softmax(0) | x.logical_not() |
torch.zeros_like(x) | torch.ones_like(x) | torch.nn.functional.relu(x) | x.rsqrt() |
x.new_zeros(2) | torch.tensor(x) | torch.as_tensor(x) | x.sum() | x.sum(0) |
x.sum(-1, keepdim=True) | x.mean() | x.mean(0) | x.max() | x.max(0)[0] | x.amax(-1) | x.min() |
x.min(-1).values | x.prod() | x.prod(0) | x.var() | x.std(0) | x.norm() | x.cumsum(0) |
x.argmax() | x.any() | x.all(0) | x.logsumexp(0) | x.sort()[0] | x.median() | x.cumprod(0) |
x.trace() | x.norm(dim=0) | x.clone() | x.to(torch.float64) | x.float() | x.double() | x.long() |
x.to(torch.float32) | x.bool() | x.repeat(2, 1) | x.roll(1, 0) | x.flip(0) | x.tril() | x.half() |
x.to(torch.complex64) | x.half().float() | x[[0]] | x[x > 1] | x[torch.tensor([0, 1])] |
x.index_select(0, torch.tensor([0])) | x.nonzero() | x.masked_select(x > 0) |
x.take(torch.tensor([0, 1])) | x.gather(0, torch.zeros_like(x).long()) | torch.Tensor.add(x, 1) |
x.type(torch.float64) | x.cpu() | x.diff() | x.unique() | x.repeat_interleave(2) |
x.scatter(0, torch.zeros_like(x).long(), 1)
""")
VIEW_FORMS = forms("""
x[0] | x[1:] | x[..., 0] | x[:, 1] | x[None] | x.t() | x.T | x.view(-1) | x.reshape(-1) |
x.reshape(3, 2) | x.mT | x.view(3, 2) | x.transpose(0, -1) | x.expand(2, 3) | x.unsqueeze(0) |
x.squeeze() | x.narrow(0, 0, 1) | x.select(-1, 1) | x.permute(1, 0) | x.diagonal() | x.flatten() |
x.contiguous() | x.detach() | x.data | x.view_as(x) | x.real | x.split(1)[0] | x.unbind(0)[0] |
x.chunk(2)[1] | x.swapaxes(0, 1) | x[::2] | x[...] | x.movedim(0, -1) | x.squeeze(0) |
x.expand(3, -1) | x[-1, -1] | x[:, None] | x.imag | x.expand_as(y) | x.reshape_as(y) |
x.unsqueeze(-1) | x.ravel() | x.view(x.shape) | x.as_strided((2,), (1,)) |
torch.split(x, [1, 1])[1] | x.tensor_split(2)[0] | x.broadcast_to(2, 3) |
x.detach().requires_grad_() | torch.view_as_real(x)
""")
INPLACE_FORMS = forms("""
x += y | x -= y | x *= y | x /= y | x += n | x *= n | x.add_(y) | x.mul_(y) | x.sub_(n) |
x.div_(n) | x **= 2 | x.exp_() | x.zero_() | x.fill_(n) | x.copy_(y) | x.clamp_(min=1) |
x.sigmoid_() | x.neg_() | x.relu_() | x.sqrt_() | x.sin_() | x.abs_() | x.tanh_() |
x.add_(y, alpha=2) | x.addcmul_(y, y) | x.lerp_(y, 0.5) | x[0] = y | x[0] = n | x[x > 1] = n |
x[:, 0] += n | x[0] += y | x[...] = y | x[1:] = n | x[-1] *= 2 | x[0, 0] = y | x[[0, 1]] = n |
x[[0]] += y | x.masked_fill_(x > 1, n) | x.t_() | x.unsqueeze_(0) | x.squeeze_() |
x.transpose_(0, -1) | x.detach_() | x.requires_grad_() | x.requires_grad_(False) |
x.requires_grad = True | x.requires_grad = False | x.data = y | x.data.mul_(2) | x.data += 1 |
x.grad = None | x.grad = y | x.grad.zero_() | x.grad.mul_(2) | x.detach().mul_(2) |
x.view(-1)[0] = n | f = torch.zeros(2, 3); torch.add(x, y, out=f) |
f = torch.zeros(3); torch.exp(x, out=f) | f = torch.zeros(2, 3); torch.mul(x, n, out=f) |
x.index_fill_(0, torch.tensor([0]), n) | x.floor_divide_(2) | x.remainder_(2) | x.cumsum_(0) |
x.reciprocal_() | x.round_() | x.fill_(y) | x.fill_(y.sum()) | x.masked_fill_(x > 1, y) |
x.addmm_(y, y) | x.swapaxes_(0, 1) | x.tril_() | x.unbind(0)[0].mul_(2) | x.split(1)[0].add_(n) |
x.detach().requires_grad_().mul_(2) | x.flatten().add_(1) | x.squeeze_(0) | x.logical_not_() |
x.eq_(y) | x.lt_(n) | x.scatter_(0, torch.zeros_like(x).long(), n) | x.diagonal().fill_(2) |
x.swapdims(0, -1).mul_(y)
""")
PASS_FORMS = forms("""
x.sum().backward() | x.backward() | x.sum().backward(retain_graph=True) |
x.backward(torch.ones_like(x)) | x.sum().backward(create_graph=True) | x.backward(y.clone()) |
y, = torch.autograd.grad(x.sum(), [y]) |
y = torch.autograd.grad(x.sum(), y, create_graph=True)[0] | (x * x).sum().backward() |
y = torch.autograd.grad(x.sum(), y, allow_unused=True)[0] | x.sum().backward(inputs=[y]) |
y = torch.autograd.grad(x.sum(), y, retain_graph=True)[0] |
torch.autograd.backward([x.sum(), y.sum()]) |
f = torch.autograd.grad(x, [y, x], torch.ones_like(x), allow_unused=True) |
f = torch.autograd.grad(x.sum(), x, create_graph=True)[0] | f.sum().backward() |
y = torch.autograd.grad(x.sum(), y, allow_unused=True, materialize_grads=True)[0] |
x.exp().sum().backward() | torch.autograd.backward(x, torch.ones_like(x), inputs=[y, f]) |
(x * y).sum().backward(retain_graph=True) |
x.sum().backward(create_graph=False, retain_graph=True)
""")
HOOK_FORMS = forms("""
x.register_hook(lambda g: see(g)) | x.register_hook(lambda g: g * 2) | x.retain_grad() |
x.register_post_accumulate_grad_hook(lambda t: see(t.grad)) | x.register_hook(lambda g: see(g)) |
x.grad_fn.register_hook(lambda i, o: see(*i, *o)) |
x.grad_fn.register_prehook(lambda o: see(*o)) | see(x) | see(x.grad_fn._saved_self) |
see(x._base) | see(x.grad_fn._saved_result) | x.retain_grad() |
x.register_hook(lambda g: see(g)).remove() | see(x.grad_fn(torch.ones_like(x))) | see(x.item()) |
see(float(x)) | see(x.tolist()) | see(x.numpy().tolist()) | see(len(x)) | see(bool(x)) |
see(int(x)) | see(x.is_contiguous()) | see(x.dim()) | see(x.size(-1)) |
see(torch.allclose(x, y))
""")
LIST_FORMS = forms("""
x, y = f.split(1) | x, y = f.unbind(0) | x, y = f.chunk(2) | x, y, f = f.unbind(-1) |
x, y = y, x | x, y = f.max(0) | x, y = f | del x | x = y | x, y = f.sort(-1) |
x = x if x._base is None else x._base
""")
BLOCK_FORMS = forms("""
with torch.no_grad(): S | with torch.enable_grad(): S | with torch.inference_mode(): S |
with torch.no_grad(): S | with torch.set_grad_enabled(False): S | with torch.no_grad(): S
""")

NUMBERS = ["2", "2.0", "0.5", "-1", "True", "3", "1.5", "0", "1j"]


def statement(choose: Choose) -> str:
    """One statement, its parts chosen by a function that takes one of several."""
    kind = choose("cbbbuuuvvvvviiiiiippphhlwwwww")
    if kind == "w":
        block = choose(BLOCK_FORMS)
        inner = choose("bvu" if "inference" in block else "bvvviiiiipul")
        return block.replace("S", _plain(inner, choose))
    return _plain(kind, choose)


def _plain(kind: str, choose: Choose) -> str:
    x, y, f = choose(NAMES), choose(NAMES), choose(NAMES)
    forms = {
        "b": BINARY_FORMS, "u": UNARY_FORMS, "v": VIEW_FORMS, "i": INPLACE_FORMS,
        "p": PASS_FORMS, "h": HOOK_FORMS, "l": LIST_FORMS, "c": CREATIONS,
    }  # fmt: skip
    form = choose(forms[kind])
    number = choose(NUMBERS) if _uses(form, "n") else ""
    if kind in "bucv":
        form = f"r = {form}"
    return " ".join(_filled(form, {"x": x, "y": y, "f": f, "n": number, "r": f}))


def _uses(form: str, letter: str) -> bool:
    return letter in _words(form)


def _words(form: str) -> list[str]:
    """The form cut at names, so that single letters can be put in; text in quotes stays whole."""
    words, current = [], ""
    quoted = False
    for character in form:
        if character == "'":
            quoted = not quoted
        if quoted or character.isalnum() or character in "_.'":
            current += character
        else:
            words += [current, character]
            current = ""
    return [*words, current]


def _filled(form: str, values: dict[str, str]) -> list[str]:
    parts = []
    for word in _words(form):
        name, dot, rest = word.partition(".")
        parts.append(values.get(name, name) + dot + rest if word else "")
    return ["".join(parts)]


def program(choose: Choose, length: int) -> list[str]:
    """A creation for each name, then `length` statements."""
    made = [f"{name} = {choose(CREATIONS)}" for name in NAMES]
    return [*made, *(statement(choose) for _ in range(length))]


# --- running and comparing ------------------------------------------------------------------------

# What people search for: a message of PyTorch that has one of these must have it in Lamina too.
PHRASES = """
a leaf Variable that requires grad
a view of a leaf Variable that requires grad
element 0 of tensors does not require grad
grad can be implicitly created only for
Trying to backward through the graph a second time
modified by an inplace operation
One of the differentiated Tensors
does not require grad
more than one element of the written-to tensor refers to a single memory location
can't be cast to the desired output type
result type
only Tensors of floating point
you can only change requires_grad flags of leaf variables
cannot register a hook on a tensor that doesn't require gradient
must match the size of tensor
mat1 and mat2 shapes cannot be multiplied
expected m1 and m2 to have the same dtype
is a view and is being modified inplace
view size is not compatible
Dimension out of range
out of bounds
a Tensor with
Boolean value of Tensor with more than one value is ambiguous
only one element tensors can be converted to Python scalars
Inference tensors cannot be saved for backward
Inplace update to inference tensor outside InferenceMode
invalid for input of size
not enough values to unpack
too many values to unpack
doesn't match the broadcast shape
The size of tensor a
too many indices for tensor
Integers to negative integer powers are not allowed
Can't detach views in-place
Can't call numpy() on Tensor that requires grad
Mismatch in shape
assigned grad has data of a different
incompatible tensor type
len() of a 0-d tensor
iteration over a 0-d tensor
slice() cannot be applied to a 0-dim tensor
invalid index of a 0-dim tensor
This view is the output of a function that returns multiple views
don't support automatic differentiation
mean(): could not infer output dtype
""".strip().splitlines()


class Seen:
    """What hooks and statements showed: compared like everything else."""

    def __init__(self) -> None:
        self.log: list[Any] = []

    def __call__(self, *values: Any) -> None:
        for value in values:
            if isinstance(value, tuple):
                self(*value)
                continue
            if hasattr(value, "dtype"):
                value = [str(value.dtype), list(value.shape), numbers_of(value)]
            self.log.append(value)


def names_of(base: Any, tensors: dict[str, Any]) -> list[str]:
    """Which of the tensors a view's base is."""
    return sorted(name for name, tensor in tensors.items() if tensor is base)


def builtin_class(error: Exception) -> str:
    """The builtin class of an error."""
    return next(c.__name__ for c in type(error).__mro__ if c.__module__ == builtins.__name__)


def numbers_of(tensor: Any) -> Any:
    """Values as plain data."""
    return tensor.detach().tolist()


class Machine:
    """A module, the tensors of a program, and what was seen."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.seen = Seen()
        self.used_inference = False
        self.scope: dict[str, Any] = {"torch": torch, "see": self.seen}

    def run(self, source: str) -> tuple[str, str] | None:
        """Run a statement; the builtin class and the message of what it raised."""
        self.used_inference |= "inference_mode" in source
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                exec(compile(source, "<program>", "exec"), self.scope)
            except Exception as error:
                return builtin_class(error), str(error)
        return None

    def state(self) -> dict[str, Any]:
        """All that can be seen of the tensors."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tensors = self.tensors()
            found: dict[str, Any] = {
                name: description(tensor) for name, tensor in sorted(tensors.items())
            }
            found["memory"] = groups({n: t.data_ptr() for n, t in tensors.items() if t.numel()})
            found["objects"] = groups({n: id(t) for n, t in tensors.items()})
            found["bases"] = {n: names_of(t._base, tensors) for n, t in tensors.items()}
            found["seen"] = list(self.seen.log)
            found["others"] = {
                name: repr(value) if isinstance(value, int | float | list) else type(value).__name__
                for name, value in self.scope.items()
                if name in NAMES and not isinstance(value, self.torch.Tensor | tuple)
            }
        return found

    def tensors(self) -> dict[str, Any]:
        """The tensors by name; those in tuples too."""
        found = {}
        for name, value in self.scope.items():
            if isinstance(value, self.torch.Tensor):
                found[name] = value
            elif isinstance(value, tuple):
                for index, item in enumerate(value):
                    if isinstance(item, self.torch.Tensor):
                        found[f"{name}[{index}]"] = item
        return found


LOOKS: dict[str, Callable[[Any], Any]] = {
    # First what is drawn from the graph: it makes views current.
    "grad_fn": lambda t: graph(t.grad_fn, 3),
    "values": lambda t: numbers_of(t),
    "dtype": lambda t: str(t.dtype),
    "shape": lambda t: list(t.shape),
    "strides": lambda t: [s for s, n in zip(t.stride(), t.shape, strict=True) if n > 1 < t.numel()],
    "requires_grad": lambda t: t.requires_grad,
    "is_leaf": lambda t: t.is_leaf,
    "is_inference": lambda t: t.is_inference(),
    "version": lambda t: t._version,
    "output_nr": lambda t: t.output_nr,
    "retains_grad": lambda t: t.retains_grad,
    "grad": lambda t: grad_of(t.grad),
}


def description(tensor: Any) -> dict[str, Any]:
    """What can be seen of one tensor."""
    return {name: _looked(look, tensor) for name, look in LOOKS.items()}


def _looked(look: Callable[[Any], Any], tensor: Any) -> Any:
    try:
        return look(tensor)
    except Exception as error:
        return f"raises {builtin_class(error)}"


def grad_of(grad: Any) -> Any:
    """What can be seen of a gradient."""
    if grad is None:
        return None
    return [numbers_of(grad), str(grad.dtype), list(grad.shape), graph(grad.grad_fn, 1)]


def graph(node: Any, depth: int) -> Any:
    """Names of a node and of the nodes before it."""
    if node is None:
        return None
    if depth == 1:
        return node.name()
    if node.name() == "torch::autograd::NotImplemented":
        return node.name()
    return [node.name(), *([graph(n, depth - 1), k] for n, k in node.next_functions)]


def groups(values: dict[str, Any]) -> list[list[str]]:
    """The names that share a value."""
    found: dict[Any, list[str]] = {}
    for name, value in values.items():
        found.setdefault(value, []).append(name)
    return sorted(sorted(names) for names in found.values() if len(names) > 1)


def differences(expected: Any, actual: Any, path: str = "") -> list[str]:
    """Where two states differ."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        return [
            line
            for key in sorted({*expected, *actual})
            for line in differences(
                expected.get(key, "absent"), actual.get(key, "absent"), f"{path}.{key}"
            )
        ]
    if is_close(expected, actual, _tolerance(path)):
        return []
    return [f"{path[1:]}: {expected} there, {actual} here"]


def _tolerance(path: str) -> float:
    return 2e-3


def is_close(expected: Any, actual: Any, tolerance: float) -> bool:
    """Equality, of numbers up to rounding; NaN equals NaN."""
    if isinstance(expected, list | tuple) and isinstance(actual, list | tuple):
        return len(expected) == len(actual) and all(
            is_close(e, a, tolerance) for e, a in zip(expected, actual, strict=True)
        )
    if isinstance(expected, complex) and isinstance(actual, complex):
        return is_close(expected.real, actual.real, tolerance) and is_close(
            expected.imag, actual.imag, tolerance
        )
    if isinstance(expected, float) and isinstance(actual, float):
        if expected != expected or actual != actual:
            return expected != expected and actual != actual
        if expected == actual:
            return True
        return abs(expected - actual) <= tolerance * max(1.0, abs(expected))
    return bool(type(expected) is type(actual) and expected == actual)


def disagreement(statements: list[str], modules: tuple[Any, Any], every: bool = True) -> str | None:
    """The first difference between PyTorch and Lamina on a program, or None.

    With `every` False tensors are looked at only at the end: looking makes views current.
    """
    machines = [Machine(module) for module in modules]
    every = every or any("inference_mode" in source for source in statements)
    before: list[Any] = [None, None]
    try:
        for number, source in enumerate(statements):
            there, here = (machine.run(source) for machine in machines)
            found = _outcome(there, here)
            if not found and (every or (number == len(statements) - 1 and not there)):
                states = [machine.state() for machine in machines]
                if there and before[0] is not None and differences(before[0], states[0]):
                    return None  # PyTorch left a statement half done
                found = differences(*states)
                before = states
            if found and not is_free(source, machines, found, there):
                return f"{source}\n    " + "\n    ".join(found)
            if not every and there and there[0] == "IndexError":
                return None  # PyTorch may have written some elements
            if found or _layouts(machines[0]) != _layouts(machines[1]):
                return None
    finally:
        for module in modules:
            module.set_grad_enabled(True)
    return None


def _layouts(machine: Machine) -> dict[str, Any]:
    return {name: LOOKS["strides"](tensor) for name, tensor in machine.tensors().items()}


def is_free(source: str, machines: list[Machine], found: list[str], there: Any) -> bool:
    """Whether differences are ones that PyTorch's documentation leaves open, or its defects.

    The order of dimensions of a result of mixed layouts; whether a gradient is an expanded view;
    `out=` that is given other memory by one and made larger in place by the other; dtypes for
    which only PyTorch's kernel is missing; integers that require grad, after an integer tensor was
    filled with one that does.
    """
    if there and (there[0] == "NotImplementedError" or "without overflow" in there[1]):
        return True
    if all(".retains_grad" in line for line in found) or "not NoneType" in found[0]:
        return True
    # Kernels of PyTorch that get an inference tensor count some writes of their own.
    if all(".version:" in line for line in found) and machines[0].used_inference:
        return True
    if "out=" in source and any(line.startswith("memory") for line in found):
        return True
    if all(".strides:" in line or ("bases." in line and ": [] there" in line) for line in found):
        return True
    if "UnsafeViewBackward0" in found[0]:
        return True  # a product in batches, in other steps
    if "more than one element of the written-to tensor" in found[0]:
        return True
    if any("complex32" in line for line in found):
        return True  # no dtype of NumPy
    return any(
        tensor.requires_grad and not (tensor.is_floating_point() or tensor.is_complex())
        for tensor in machines[0].tensors().values()
    )


def _outcome(there: Any, here: Any) -> list[str]:
    """How what was raised differs."""
    if (there is None) != (here is None) or (there and not alike(there[0], here[0])):
        return [f"raised: {there} there, {here} here"]
    if there and not any(text in here[1] for text in ("nference tensor", "not implemented for")):
        return [
            f"phrase {phrase!r} of {there} missing here: {here[1]}"
            for phrase in PHRASES
            if phrase in there[1] and phrase not in here[1]
        ]
    return []


def alike(there: str, here: str) -> bool:
    """Whether the same `except` catches both: NotImplementedError is a RuntimeError."""
    families = {"NotImplementedError": "RuntimeError"}
    return families.get(there, there) == families.get(here, here)


def shrunk(statements: list[str], modules: tuple[Any, Any], every: bool) -> list[str]:
    """The program without the statements that a disagreement does not need."""
    kept = list(statements)
    index = len(kept) - 1
    while index >= 0:
        shorter = kept[:index] + kept[index + 1 :]
        if disagreement(shorter, modules, every) is not None:
            kept = shorter
        index -= 1
    return kept


def search(modules: tuple[Any, Any], seeds: range, length: int) -> None:
    """Print the disagreements of many programs, each as short as possible, one of a kind."""
    known: set[str] = set()
    for seed in seeds:
        source = random.Random(seed)
        made = program(source.choice, length)
        found = disagreement(made, modules, every := seed % 3 > 0)
        if found is None:
            continue
        made = shrunk(made, modules, every)
        found = disagreement(made, modules, every) or found
        kind = "".join(c for c in found.split("\n")[0] if c not in NAMES)[:60]
        if kind in known:
            continue
        known.add(kind)
        print(f"--- seed {seed}", *made, "=>", found, sep="\n", flush=True)


if __name__ == "__main__":
    import sys

    import torch

    import lamina

    start, stop, size = (int(argument) for argument in sys.argv[1:])
    search((torch, lamina), range(start, stop), size)
