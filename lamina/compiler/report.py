"""What `explain()` of a compiled function tells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from lamina.codegen.graph import Node

if TYPE_CHECKING:
    from lamina.compiler.function import CompiledFunction
    from lamina.compiler.program import Program


@final
class Report:
    """The programs of a compiled function, and why there are as many.

    Attributes:
        programs: One entry a program, oldest first.
        splits: What made each program but the first necessary.
        refusals: Why calls ran eagerly.
    """

    def __init__(self, function: CompiledFunction) -> None:
        self._name = getattr(function, "__name__", "function")
        self.programs = [_summary(program) for program in reversed(function.programs)]
        self.splits = list(function.splits)
        self.refusals = list(dict.fromkeys(function.refusals))

    def __str__(self) -> str:
        lines = [f"{self._name}: {len(self.programs)} programs"]
        for k, entry in enumerate(self.programs, start=1):
            lines.append(f"  program {k}: ran {entry['runs']} times; {entry['operations']}")
            if not entry["is_worth_it"]:
                lines.append("    the function itself runs: so little is quicker as it is")
            lines.append(f"    loops: {entry['loops']}, products: {entry['products']}, ")
            lines[-1] += f"calls of NumPy: {entry['calls']}"
            lines.append(f"    memory: {entry['arena']} bytes beside inputs and results")
            lines.append(f"    inputs: {', '.join(entry['inputs'])}")
        lines += [f"  compiled again, since {why}" for why in self.splits]
        lines += [f"  ran eagerly: {why}" for why in self.refusals]
        return "\n".join(lines)

    __repr__ = __str__


def _summary(program: Program) -> dict[str, Any]:
    executable = program.parts.executable
    backward = program.parts.backward
    steps = list(executable.schedule.steps)
    arena = executable.plan.arena
    if backward is not None:
        steps += backward.executable.schedule.steps
        arena += backward.executable.plan.arena
    loops = [step for step in steps if not isinstance(step, Node)]
    others = [step for step in steps if isinstance(step, Node)]
    fused = sum(len(loop.nodes) for loop in loops)
    calls = [step.op for step in others if step.kind == "call"]
    return {
        "runs": program.runs,
        "is_worth_it": program.is_worth_it,
        "operations": f"{fused} operations in {len(loops)} loops",
        "loops": len(loops),
        "products": len(others) - len(calls),
        "calls": len(calls),
        "arena": arena,
        "inputs": [entry.source.name for entry in program.parts.inputs],
        "is_native": executable.is_native,
    }
