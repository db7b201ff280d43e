"""A model as a table: its layers, what they give, and their parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

from lamina.core.modes import no_grad
from lamina.core.tensor import Tensor
from lamina.devices.byte_counts import bytes_in_words
from lamina.nn import Module
from lamina.random import fork_rng


@final
@dataclass(frozen=True)
class Layer:
    """One line of the table.

    Attributes:
        path: The layer's name from the model on; "" for the model itself.
        kind: Its class.
        output: The shape of what it gave; "" if it was not called.
        own: The number of its own parameters' elements.
        trained: How many of them require grad.
        seen_before: The path under which the same layer stands already.
    """

    path: str
    kind: str
    output: str
    own: int
    trained: int
    seen_before: str | None = None


@final
@dataclass(frozen=True, repr=False)
class ModuleSummary:
    """The layers of a model, in order, and the sums.

    Attributes:
        layers: One entry for each place where a layer stands.
        parameters: Elements of all parameters, each counted once.
        trained: Elements of those that require grad.
        buffers: Elements of all buffers.
        nbytes: Bytes of parameters and buffers.
    """

    layers: tuple[Layer, ...]
    parameters: int
    trained: int
    buffers: int
    nbytes: int

    def __str__(self) -> str:
        rows = [("layer", "output", "parameters")]
        for layer in self.layers:
            depth = layer.path.count(".") + 1 if layer.path else 0
            name = layer.path.rpartition(".")[2]
            text = "  " * depth + (f"{name}: " if name else "") + layer.kind
            rows.append((text, layer.output, _shown_parameters(layer)))
        first, second, third = (max(len(row[k]) for row in rows) for k in range(3))
        lines = [f"{a:<{first}}  {b:<{second}}  {c:>{third}}".rstrip() for a, b, c in rows]
        lines.insert(1, "-" * (first + second + third + 4))
        frozen = self.parameters - self.trained
        sums = f"{self.parameters:,} parameters"
        sums += f", {frozen:,} of them frozen" if frozen else ""
        sums += f"; {self.buffers:,} elements in buffers" if self.buffers else ""
        return "\n".join([*lines, lines[1], f"{sums}; {bytes_in_words(self.nbytes)}"])

    __repr__ = __str__


def _shown_parameters(layer: Layer) -> str:
    if layer.seen_before is not None:
        return f"as {layer.seen_before or 'the model'}"
    if not layer.own:
        return ""
    return f"{layer.own:,}" + (" frozen" if not layer.trained else "")


def summary_of_module(module: Module, args: tuple[Any, ...], kwargs: Any) -> ModuleSummary:
    """Look at a model; where there are inputs, by a call that leaves no trace."""
    shapes = _shapes_of_outputs(module, args, kwargs) if args or kwargs else {}
    layers = tuple(_layers(module, shapes))
    parameters, buffers = list(module.parameters()), list(module.buffers())
    return ModuleSummary(
        layers,
        sum(p.numel() for p in parameters),
        sum(p.numel() for p in parameters if p.requires_grad),
        sum(b.numel() for b in buffers),
        sum(t.numel() * t.element_size() for t in [*parameters, *buffers]),
    )


def _layers(module: Module, shapes: dict[int, str]) -> Iterator[Layer]:
    seen: dict[int, str] = {}
    for path, layer in module.named_modules(remove_duplicate=False):
        own = list(layer.parameters(recurse=False))
        yield Layer(
            path, type(layer).__name__, shapes.get(id(layer), ""), sum(p.numel() for p in own),
            sum(p.numel() for p in own if p.requires_grad), seen.get(id(layer)),
        )  # fmt: skip
        seen.setdefault(id(layer), path)


def _shapes_of_outputs(module: Module, args: tuple[Any, ...], kwargs: Any) -> dict[int, str]:
    """What each layer gives, from one call in evaluation mode; modes and random stream are kept."""
    shapes: dict[int, str] = {}
    layers = list(module.modules())
    modes = [layer.training for layer in layers]
    handles = [
        layer.register_forward_hook(
            lambda layer, _, output: shapes.__setitem__(id(layer), _shape_of(output))
        )
        for layer in layers
    ]
    try:
        with no_grad(), fork_rng():
            module.eval()
            module(*args, **kwargs)
    finally:
        for handle in handles:
            handle.remove()
        for layer, mode in zip(layers, modes, strict=True):
            layer.training = mode
    return shapes


def _shape_of(output: Any) -> str:
    if isinstance(output, Tensor):
        return str(list(output.shape))
    if isinstance(output, tuple | list):
        return ", ".join(filter(None, map(_shape_of, output)))
    if isinstance(output, dict):
        return ", ".join(f"{key}: {_shape_of(value)}" for key, value in output.items())
    return ""
