"""The programs behind fused kernels. Apart from `fused`, which every operation's file imports."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from lamina.codegen.executable import Executable
from lamina.codegen.graph import CALL
from lamina.codegen.lowering import lower
from lamina.devices.dispatched import replace, visit
from lamina.devices.traced import Recorder, TracedArray


def program_of(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], arrays: list[Any]
) -> Callable[[list[Any]], Any] | None:
    """What computes a function of arrays like these, given them.

    None if loops and products alone cannot.
    """
    recorder = Recorder()
    try:
        with recorder, np.errstate(all="ignore"):
            lifted = replace((args, kwargs), (np.ndarray,), recorder.input)
            result = function(*lifted[0], **lifted[1])
    except Exception:
        return None  # the function itself says what is wrong
    made: list[Any] = []
    visit(result, (TracedArray,), made.append)
    graph = lower(recorder.program, [array.ref for array in made])
    if len(recorder.inputs) != len(arrays) or graph.writes:
        return None  # it reached an array of its own, whose elements may change
    if any(node.kind == CALL for node in graph.nodes):
        return None
    run = Executable(graph, pooled=False, lasting=()).run
    if isinstance(result, TracedArray):
        return lambda given: run(given)[0]

    def several(given: list[Any]) -> Any:
        found = iter(run(given))
        return replace(result, (TracedArray,), lambda _: next(found))

    return several
