"""What a call costs where elements are few: everyday operations on 8 x 16 numbers, and PyTorch's.

    python benchmarks/operations.py [--all]

One thread; forward without recording, and forward with the backward pass. A row is a family: the
median of the ratios of its operations, and the slowest of them. `--all` shows each operation.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import sys
from collections.abc import Callable
from typing import Any

from _report import best_seconds, has_torch, print_table

FAMILIES: dict[str, tuple[str, ...]] = {
    "arithmetic": (
        "a + b", "a + 1.5", "1 - a", "a * b", "a / b", "-a", "a ** 2", "a ** b", "a + v",
        "t.addcmul(a, a, b)", "t.lerp(a, b, 0.3)", "t.add(a, b, alpha=2)", "t.maximum(a, b)",
    ),
    "functions": (
        "a.exp()", "a.log()", "a.sqrt()", "a.tanh()", "a.sigmoid()", "F.relu(a)", "F.gelu(a)",
        "F.silu(a)", "F.softplus(a)", "F.leaky_relu(a)", "F.elu(a)", "a.erf()", "a.abs()",
        "a.clamp(0.2, 0.8)", "a.square()",
    ),
    "reductions": (
        "a.sum()", "a.sum(0)", "a.mean()", "a.mean(-1, keepdim=True)", "a.max()", "a.max(1)[0]",
        "a.amax(1)", "a.var(-1)", "a.std()", "a.norm()", "a.prod()", "a.cumsum(0)",
        "a.logsumexp(1)", "a.softmax(-1)", "F.log_softmax(a, -1)", "a.topk(3)[0]", "a.sort()[0]",
    ),
    "products": (
        "a @ m", "a @ v", "v.dot(v)", "t.bmm(c, d)", "c @ d", "c @ m", "F.linear(a, m, v)",
        "F.linear(c, m, v)", "t.addmm(v, a, m)", "t.einsum('bij,bjk->bik', c, d)", "t.outer(v, v)",
    ),
    "views": (
        "a.view(16, 8)", "a.reshape(-1)", "a.t()", "c.permute(2, 0, 1)", "a.unsqueeze(0)", "a[0]",
        "a[1:3]", "a[:, 1:3]", "a[:, None]", "v.expand(8, 16)", "c.flatten(1)", "a.chunk(2, 1)[0]",
        "a.unbind(0)[0]",
    ),
    "joining and choosing": (
        "t.cat([a, b])", "t.stack([a, b])", "t.where(mask, a, b)", "a.masked_fill(mask, 0.0)",
        "a[index]", "a.index_select(0, index)", "a.gather(0, places)", "F.embedding(index, a)",
        "a.scatter_add(0, places, b)", "a.tril()", "F.pad(a, (1, 1))", "a.repeat(2, 1)",
    ),
    "losses and layers": (
        "F.mse_loss(a, b)", "F.cross_entropy(a, classes)", "F.l1_loss(a, b)",
        "F.binary_cross_entropy_with_logits(a, b)", "F.layer_norm(a, (16,))", "F.dropout(a, 0.5)",
        "F.batch_norm(a, None, None, training=True)", "F.normalize(a, dim=-1)",
        "F.scaled_dot_product_attention(c, c, c)", "F.conv2d(image, kernel, padding=1)",
        "F.max_pool2d(image, 2)", "F.avg_pool2d(image, 2)",
    ),
    "in place": (
        "x.add_(1.0)", "x.mul_(0.5)", "x.add_(b, alpha=0.1)", "x.copy_(b)", "x.clamp_(0.1, 1.0)",
        "x.lerp_(b, 0.1)", "x.addcmul_(b, b, value=0.5)", "x.zero_()", "x.fill_(0.5)",
        "x.data.mul_(0.5)", "x.normal_()", "x.uniform_()",
    ),
    "making and asking": (
        "t.zeros(8, 16)", "t.ones(8, 16)", "t.arange(16)", "t.randn(8, 16)", "t.rand(8, 16)",
        "t.randint(0, 5, (8,))", "t.tensor([1.0, 2.0, 3.0])", "t.zeros_like(a)", "a.detach()",
        "a.clone()", "a > b", "a == b", "mask & mask", "~mask", "a.double()", "index == 3",
        "index + 1", "a.argmax(1)", "mask.any()", "s.item()", "v.tolist()", "a.shape",
    ),
}  # fmt: skip
CALLS = 200
ROUNDS = 8


LEAVES = ("a", "b", "v", "m", "c", "d", "image", "kernel")


def operands(module: Any) -> dict[str, Any]:
    """What the expressions name, for a module with PyTorch's names."""
    module.manual_seed(0)
    shapes = {
        "a": (8, 16), "b": (8, 16), "v": (16,), "m": (16, 16), "c": (4, 8, 16), "d": (4, 16, 8),
        "x": (8, 16), "image": (2, 3, 8, 8), "kernel": (4, 3, 3, 3),
    }  # fmt: skip
    found = {name: module.rand(*shape) + 0.1 for name, shape in shapes.items()}
    return found | {
        "t": module, "F": module.nn.functional, "mask": found["a"] > 0.5,
        "index": module.arange(8).flip(0), "places": module.randint(0, 8, (8, 16)),
        "classes": module.randint(0, 16, (8,)), "s": module.tensor(2.0),
    }  # fmt: skip


def calls(module: Any, text: str) -> list[Callable[[], object]]:
    """The call, and, if its result has a derivative, the call with its backward pass."""
    plain: Callable[[], object] = eval(f"lambda: {text}", operands(module))
    if "x." in text:
        return [plain]
    names = operands(module)
    leaves = [names[name].requires_grad_() for name in LEAVES]
    forward = eval(f"lambda: {text}", names)
    result = forward()
    if not getattr(result, "requires_grad", False):
        return [plain]
    gradient = module.ones_like(result)

    def both() -> None:
        forward().backward(gradient)
        for leaf in leaves:
            leaf.grad = None

    return [plain, both]


def measured(modules: list[Any], text: str) -> list[list[float]]:
    """Microseconds of the call, and of the call with its backward pass, for each module."""
    pairs = zip(*(calls(module, text) for module in modules), strict=True)
    return [[1e6 * time for time in best_seconds(pair, CALLS, ROUNDS)] for pair in pairs]


def family_row(family: str, found: dict[str, list[list[float]]]) -> list[str]:
    """The medians of a family's ratios, and its slowest operation."""
    cells = [family, str(len(found))]
    for way in (0, 1):
        ratios = {text: of[way][0] / of[way][1] for text, of in found.items() if len(of) > way}
        if ratios:
            worst = max(ratios, key=lambda text: ratios[text])
            median = statistics.median(ratios.values())
            cells += [f"{median:.2f}", f"{ratios[worst]:.1f} (`{worst}`)"]
        else:
            cells += ["", ""]
    return cells


def main() -> None:
    """Print a row for each family, or for each operation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--all", action="store_true", help="a row for each operation")
    shows_all = parser.parse_args().all
    if not has_torch():
        sys.exit("PyTorch is not installed: there is nothing to compare with (`make oracle`)")
    modules = [importlib.import_module(name) for name in ("lamina", "torch")]
    for module in modules:
        module.set_num_threads(1)
    rows = []
    for family, texts in FAMILIES.items():
        found = {text: measured(modules, text) for text in texts}
        if not shows_all:
            rows.append(family_row(family, found))
            continue
        for text, times in found.items():
            shown = [[f"{ours:.2f}", f"{theirs:.2f}", f"{ours / theirs:.2f}"]
                     for ours, theirs in times]  # fmt: skip
            rows.append([f"`{text}`", *shown[0], *(shown[1] if len(shown) > 1 else [""] * 3)])
    backward = "with backward"
    print_table(
        ["operation", "us", "PyTorch", "ratio", f"us, {backward}", "PyTorch", "ratio"]
        if shows_all
        else ["family", "operations", "ratio", "slowest", f"ratio, {backward}", "slowest"],
        rows,
    )


if __name__ == "__main__":
    main()
