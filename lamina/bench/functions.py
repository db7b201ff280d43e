"""Single operations and short chains of them, on arrays that are large enough to matter."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

from lamina.bench.workloads import Workload

Call = Callable[[], Any]


def _with_backward(function: Callable[..., Any], *leaves: Any, weights: Any = None) -> Call:
    """A call that computes a function of leaves and the gradients of it."""
    for leaf in leaves:
        leaf.requires_grad_()

    def call() -> Any:
        for leaf in leaves:
            leaf.grad = None
        result = function(*leaves)
        result.backward(weights)
        return [result, *(leaf.grad for leaf in leaves)]

    return call


def _gelu(torch: Any, x: Any) -> Any:
    return 0.5 * x * (1 + torch.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))


def _gelu_forward(torch: Any) -> Call:
    torch.manual_seed(11)
    x = torch.randn(1_000_000)
    return lambda: _gelu(torch, x)


def _gelu_gradient(torch: Any) -> Call:
    torch.manual_seed(11)
    x = torch.randn(1_000_000)
    return _with_backward(lambda x: _gelu(torch, x).sum(), x)


def _softmax_nll(torch: Any) -> Call:
    torch.manual_seed(12)
    scores, classes = torch.randn(4096, 1000), torch.randint(0, 1000, (4096,))
    functional = torch.nn.functional

    def loss(scores: Any) -> Any:
        return functional.nll_loss(functional.log_softmax(scores, dim=-1), classes)

    return _with_backward(loss, scores)


def _layer_norm(torch: Any) -> Call:
    torch.manual_seed(13)
    x, weight, bias = torch.randn(4096, 768), torch.rand(768) + 0.5, torch.randn(768)
    return _with_backward(
        lambda x, weight, bias: torch.nn.functional.layer_norm(x, (768,), weight, bias),
        x, weight, bias, weights=torch.randn(4096, 768),
    )  # fmt: skip


def _adam(torch: Any) -> Call:
    torch.manual_seed(14)
    parameters = [torch.randn(10_000).requires_grad_() for _ in range(100)]
    for parameter in parameters:
        parameter.grad = torch.randn(10_000)
    optimizer = torch.optim.Adam(parameters, lr=1e-3)

    def call() -> Any:
        optimizer.step()
        return parameters[0], parameters[-1]

    return call


def _sums(torch: Any, dim: int) -> Call:
    torch.manual_seed(15)
    x = torch.rand(4096, 4096)
    return lambda: x.sum(dim=dim)


def _cumsum(torch: Any) -> Call:
    torch.manual_seed(16)
    x, weights = torch.rand(4096, 1024), torch.rand(4096, 1024)
    return _with_backward(lambda x: torch.cumsum(x, dim=1), x, weights=weights)


def _embedding(torch: Any) -> Call:
    torch.manual_seed(17)
    table, indices = torch.randn(50_000, 128), torch.randint(0, 50_000, (8192,))
    return _with_backward(
        lambda table: torch.nn.functional.embedding(indices, table),
        table, weights=torch.randn(8192, 128),
    )  # fmt: skip


def _sort(torch: Any) -> Call:
    torch.manual_seed(18)
    x = torch.rand(1024, 1024)
    return lambda: torch.sort(x, dim=-1)[0]


def _matmul(torch: Any, size: int) -> Call:
    torch.manual_seed(19)
    x, y = torch.rand(size, size) - 0.5, torch.rand(size, size) - 0.5
    return lambda: x @ y


FUNCTIONS = (
    Workload("gelu", "tanh-GELU by its formula, 1M elements, forward", _gelu_forward),
    Workload("gelu_gradient", "the same, forward and backward", _gelu_gradient),
    Workload("softmax_nll", "log-softmax and NLL loss, 4096 x 1000, and backward", _softmax_nll),
    Workload("layer_norm", "layer norm, 4096 x 768, and backward", _layer_norm, 1e-3),
    Workload("adam", "one Adam step for 100 tensors of 10,000", _adam),
    Workload("sum_rows", "sums along rows, 4096 x 4096", functools.partial(_sums, dim=1)),
    Workload("sum_columns", "sums along columns, 4096 x 4096", functools.partial(_sums, dim=0)),
    Workload("cumsum", "cumulative sums, 4096 x 1024, and backward", _cumsum),
    Workload("embedding", "8192 rows of a table of 50,000 x 128, and backward", _embedding),
    Workload("sort", "sorting 1024 rows of 1024", _sort),
    *(
        Workload(f"matmul_{n}", f"a product of {n} x {n}", functools.partial(_matmul, size=n))
        for n in (64, 256, 1024)
    ),
)
