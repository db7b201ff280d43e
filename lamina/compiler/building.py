"""From a recording to what runs: one executable, or two where gradients may be asked for later."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any, Final, final

import numpy as np

from lamina.codegen.executable import Executable
from lamina.codegen.graph import Graph, View
from lamina.codegen.lowering import lower
from lamina.codegen.partition import split
from lamina.compiler.capturing import Recording
from lamina.compiler.sources import Reached, Source
from lamina.core.tensor import Tensor
from lamina.devices.recording import ArrayType, Ref

MOST_KEPT: Final = 1 << 16
"""Bytes of gradients whose memory serves again in the next backward pass (0.5 us each)."""


class CannotCompile(Exception):
    """A recording that no program can be made of; its text says why."""


@final
@dataclass(slots=True)
class Input:
    """One input of a program.

    Attributes:
        source: Where it comes from.
        type: Its shape, dtype and strides.
        is_written: Whether the program writes into it.
        owners: The tensors that had its array when it was captured.
    """

    source: Source
    type: ArrayType
    is_written: bool
    owners: list[Tensor]


@final
@dataclass(slots=True)
class Backward:
    """The second half of a program: what runs when gradients are asked for.

    Attributes:
        executable: The captured backward pass.
        targets: Where its gradients go.
        inputs: Which inputs of the program it reads again.
        kinds: Shape and dtype of each result's gradient.
        positions: For each target which output is its gradient; None if it has none.
        lock: Is held while the executable runs.
    """

    executable: Executable
    targets: list[Source]
    inputs: list[Source]
    kinds: list[tuple[Any, Any]]
    positions: tuple[int | None, ...]
    lock: threading.Lock = field(default_factory=threading.Lock)


@final
@dataclass(slots=True)
class Parts:
    """What a program consists of.

    Attributes:
        executable: What computes the results.
        inputs: What it reads and writes.
        backward: What computes gradients.
        kept: How many of the executable's last outputs are for `backward`.
    """

    executable: Executable
    inputs: list[Input]
    backward: Backward | None = None
    kept: int = 0


@final
@dataclass(slots=True)
class _Inputs:
    """The recorded program's inputs, sorted into what they are."""

    outer: list[int] = field(default_factory=list)
    later: list[int] = field(default_factory=list)
    constants: dict[Ref, Any] = field(default_factory=dict)


def build(recording: Recording) -> Parts:
    """Compile a recording.

    Raises:
        CannotCompile: If it does what no program can.
    """
    program, derivative = recording.recorder.program, recording.derivative
    found = _sorted_inputs(recording)
    wanted = [result.ref for result in recording.results if result.ref is not None]
    now = len(wanted)
    if derivative is not None:
        wanted += [g.ref for g in derivative.gradients if g is not None]
    graph = lower(program, wanted, found.constants)
    # The graph's inputs are the program's in order, without the constants.
    value_of = dict(zip(sorted([*found.outer, *found.later]), graph.inputs, strict=True))
    targets = {target for target, _ in graph.writes}
    inputs = [_input(recording, k, value_of[k] in targets) for k in found.outer]
    if derivative is None:
        return Parts(Executable(graph), inputs)
    later = {value_of[k] for k in found.later}
    source_of = {value_of[k]: i.source for k, i in zip(found.outer, inputs, strict=True)}
    return _in_two(recording, graph, now, later, source_of, inputs)


def _sorted_inputs(recording: Recording) -> _Inputs:
    found = _Inputs()
    derivative, recorder = recording.derivative, recording.recorder
    cotangents = {array.ref for array in derivative.cotangents} if derivative is not None else ()
    for k, ref in enumerate(recorder.program.inputs):
        if recording.sources[k] is not None:
            found.outer.append(k)
        elif ref in cotangents:
            found.later.append(k)
        else:
            found.constants[ref] = np.array(recorder.inputs[k])
    return found


def _input(recording: Recording, k: int, is_written: bool) -> Input:
    program, source = recording.recorder.program, recording.sources[k]
    assert source is not None
    if is_written and not source.is_tensor:
        raise CannotCompile(f"{source.name} was changed in place")
    kind = program.types[program.inputs[k].id]
    return Input(source, kind, is_written, recording.owners[k])


def _in_two(
    recording: Recording, graph: Graph, now: int, later: set[int], source_of: dict[int, Source],
    inputs: list[Input],
) -> Parts:  # fmt: skip
    derivative = recording.derivative
    assert derivative is not None
    parts = split(graph, now, later)
    if parts is None:
        raise CannotCompile("its derivative needs values of a tensor that it changes in place")
    count = iter(range(len(derivative.gradients)))
    positions = tuple(None if g is None else next(count) for g in derivative.gradients)
    kinds = [(array.shape, array.dtype) for array in derivative.cotangents]
    sources = [source_of[value] for value in parts.inputs]
    lasting = [k for k, s in enumerate(sources, len(parts.kept)) if isinstance(s, Reached)]
    executable = Executable(parts.later, pooled=_are_small(parts.later), lasting=lasting)
    owned = {id(owner): entry.source for entry in inputs for owner in entry.owners}
    backward = Backward(
        executable,
        [owned.get(id(t)) or Reached(t, "a tensor") for t in derivative.targets],
        sources,
        kinds,
        positions,
    )
    return Parts(Executable(parts.now), inputs, backward, len(parts.kept))


def _are_small(graph: Graph) -> bool:
    """Whether what a graph gives takes little memory, which may then stay for the next run."""
    outputs = [graph.values[o.value] for o in graph.outputs if isinstance(o, View)]
    return sum(value.nbytes for value in outputs) <= MOST_KEPT
