"""Modules of LLVM's language become functions that Python can call."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, final

from lamina.codegen.graph import Graph, Node
from lamina.codegen.llvm.ir import Function
from lamina.codegen.llvm.loops import LoopWriter, write_nest
from lamina.codegen.llvm.products import write_product
from lamina.codegen.memory import Plan
from lamina.codegen.schedule import Loop, Nest, Step

NativeFunction = Callable[[int], None]
_PROTOTYPE: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


@functools.cache
def is_available() -> bool:
    """Whether llvmlite (the extra `full`) is installed."""
    return importlib.util.find_spec("llvmlite") is not None


class _Target(NamedTuple):
    binding: Any
    make_machine: Callable[[], Any]
    width: int
    attributes: str


@functools.cache
def _target() -> _Target:
    import llvmlite.binding as binding  # only where the extra `full` is installed

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    features = binding.get_host_cpu_features()
    make_machine = functools.partial(
        binding.Target.from_default_triple().create_target_machine,
        cpu=binding.get_host_cpu_name(),
        features=features.flatten(),
        opt=2,
        jit=True,
    )
    bits = 512 if features.get("avx512f") else 256 if features.get("avx2") else 128
    attributes = (
        f'attributes #0 = {{ nounwind "prefer-vector-width"="{bits}" '
        f'"min-legal-vector-width"="{bits}" }}'
    )
    return _Target(binding, make_machine, bits // 32, attributes)


def lane_count() -> int:
    """How many float32 fit into a vector of this machine."""
    return _target().width


@final
class Machine:
    """Keeps the memory of some compiled functions alive."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        target = _target()
        binding = target.binding
        module = binding.parse_assembly(text + target.attributes)
        module.verify()
        options = binding.create_pipeline_tuning_options(speed_level=2)
        options.loop_vectorization = options.slp_vectorization = False
        options.loop_unrolling = False
        machine = target.make_machine()
        builder = binding.create_pass_builder(machine, options)
        builder.getModulePassManager().run(module, builder)
        self._engine = binding.create_mcjit_compiler(module, machine)  # it owns both from now on
        self._engine.finalize_object()
        self.functions: list[NativeFunction] = [
            _PROTOTYPE(self._engine.get_function_address(name)) for name in names
        ]


def write_segment(
    name: str, steps: Sequence[Step], graph: Graph, plan: Plan, scratch: dict[int, int]
) -> Function:
    """One function that does some steps. `scratch` has the accumulators' places in the arena."""
    function = Function(name)
    known: dict[int, str] = {}

    def base_of(slot: int) -> str:
        if slot not in known:
            at, loaded = f"%at{slot}", f"%base{slot}"
            function.slots.append(f"  {at} = getelementptr i64, ptr %table, i64 {slot}")
            function.slots.append(f"  {loaded} = load ptr, ptr {at}")
            known[slot] = loaded
        return known[slot]

    def address(value: int) -> str:
        if value in plan.slots:
            return base_of(plan.slots[value])
        return in_arena(plan.offsets[value] + graph.values[value].lead)

    def in_arena(offset: int) -> str:
        return function.give(f"getelementptr i8, ptr {base_of(0)}, i64 {offset}")

    def accumulators(node: Node) -> str | None:
        place = scratch.get(node.results[0])
        return None if place is None else in_arena(place)

    def writer(loop: Loop, **more: Any) -> LoopWriter:
        return LoopWriter(function, graph, loop, address, accumulators, lane_count(), **more)

    for step in steps:
        if isinstance(step, Loop):
            writer(step).write()
        elif isinstance(step, Nest):
            write_nest(step, writer, function)
        else:
            write_product(function, graph, step, address)
    return function


def compile_segments(functions: Sequence[Function]) -> Machine:
    """Machine code for some functions, in one module."""
    declared = sorted({line for function in functions for line in function.declared})
    texts = [function.text() for function in functions]
    text = "\n".join([*declared, *texts])
    text = text.replace("(ptr noalias %table) {", "(ptr noalias %table) #0 {")
    return Machine(text, [function.name for function in functions])
