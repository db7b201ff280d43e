"""Modules of LLVM's language become functions that Python can call."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
from collections.abc import Callable
from typing import Any, Final, NamedTuple, final

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
    """The functions of a module; keeps their memory alive.

    Args:
        text: The module. Functions that carry `#0` may use the machine's whole vectors.
    """

    def __init__(self, text: str) -> None:
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

    def address_of(self, name: str) -> int:
        """Where a function or a global variable is."""
        found: int = self._engine.get_function_address(name)
        return found or int(self._engine.get_global_value_address(name))

    def function(self, name: str) -> NativeFunction:
        """A function that takes a table."""
        return _PROTOTYPE(self.address_of(name))


def add_symbol(name: str, address: int) -> None:
    """Let modules that are compiled from now on call what is at an address by a name."""
    _target().binding.add_symbol(name, address)
