"""Modules of LLVM's language become functions that Python can call."""

from __future__ import annotations

import ctypes
import functools
import logging
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple, final

from lamina.codegen import cache
from lamina.codegen.later import is_available as is_available
from lamina.version import __version__

NativeFunction = Callable[[int], None]
_PROTOTYPE: Final = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_SPEED_LEVEL: Final = 2
_PASSES: Final = {"loop_vectorization": False, "slp_vectorization": False, "loop_unrolling": False}

VECTORS: Final = "LAMINA_VECTORS"
"""The environment variable that says how many bytes a vector has at most: 32 or 16.

Code is then what a processor without AVX-512 runs, so that what most machines do can be tested and
measured on one that has it.
"""

_BEYOND: Final = ("avx512", "avx10", "evex512", "amx", "apx")
"""How the names of features begin that processors with vectors of 32 bytes lack."""

_log: Final = logging.getLogger(__name__)


class _Target(NamedTuple):
    binding: Any
    make_machine: Callable[[], Any]
    width: int
    registers: int
    attributes: str
    identity: tuple[str, ...]  # all but a module's text that decides about its machine code


@functools.cache
def _target() -> _Target:
    import llvmlite  # only where the extra `full` is installed
    import llvmlite.binding as binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    features = binding.get_host_cpu_features()
    most = _most_bytes()
    if most < 64:
        for name in features:
            features[name] = features[name] and not name.startswith(_BEYOND)
    triple, cpu, flags = (
        binding.get_default_triple(),
        binding.get_host_cpu_name(),
        features.flatten(),
    )
    make_machine = functools.partial(
        binding.Target.from_triple(triple).create_target_machine,
        cpu=cpu,
        features=flags,
        opt=_SPEED_LEVEL,
        jit=True,
    )
    size = min(_vector_bytes(features), most)
    attributes = (
        f'attributes #0 = {{ nounwind "prefer-vector-width"="{8 * size}" '
        f'"min-legal-vector-width"="{8 * size}" }}'
    )
    versions = (__version__, llvmlite.__version__, str(binding.llvm_version_info))
    identity = (*versions, triple, cpu, flags, f"{_SPEED_LEVEL} {_PASSES}")
    registers = _register_count(triple, features)
    return _Target(binding, make_machine, size // 4, registers, attributes, identity)


def _most_bytes() -> int:
    """How long vectors may be; a text that is neither 32 nor 16 counts as unset."""
    return {"32": 32, "16": 16}.get(os.environ.get(VECTORS, ""), 64)


def _vector_bytes(features: Mapping[str, bool]) -> int:
    """How long the vectors of a processor are; those of ARM have 16 bytes."""
    return 64 if features.get("avx512f") else 32 if features.get("avx2") else 16


def _register_count(triple: str, features: Mapping[str, bool]) -> int:
    """How many vectors a processor holds."""
    return 32 if features.get("avx512f") or triple.startswith(("aarch64", "arm64")) else 16


def lane_count() -> int:
    """How many float32 fit into a vector of this machine."""
    return _target().width


def register_count() -> int:
    """How many vectors this machine has registers for."""
    return _target().registers


@final
class Machine:
    """The functions of a module; keeps their memory alive.

    Args:
        text: The module. Functions that carry `#0` may use the machine's whole vectors. Addresses
            of this process do not belong in it: no other one would find its code in the cache.
    """

    def __init__(self, text: str) -> None:
        binding = _target().binding
        code = _object_code(text)
        empty = binding.parse_assembly("")
        self._engine = binding.create_mcjit_compiler(empty, _target().make_machine())  # owns both
        self._engine.add_object_file(binding.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def address_of(self, name: str) -> int:
        """Where a function or a global variable is."""
        found: int = self._engine.get_function_address(name)
        return found or int(self._engine.get_global_value_address(name))

    def function(self, name: str) -> NativeFunction:
        """A function that takes a table."""
        return _PROTOTYPE(self.address_of(name))


def add_symbol(name: str, address: int) -> None:
    """Let modules that are loaded from now on call what is at an address by a name."""
    _target().binding.add_symbol(name, address)


def _object_code(text: str) -> bytes:
    """The machine code of a module, as an object file: kept from before, or compiled now."""
    target = _target()
    text += target.attributes
    key = cache.key_of(text, *target.identity)
    code = cache.find(key)
    if code is None:
        started = time.perf_counter()
        code = _compiled(text)
        _log.debug("compiled %s in %.3f s", key, time.perf_counter() - started)
        cache.keep(key, code)
    return code


def _compiled(text: str) -> bytes:
    target = _target()
    binding = target.binding
    module = binding.parse_assembly(text)
    module.verify()
    options = binding.create_pipeline_tuning_options(speed_level=_SPEED_LEVEL)
    for name, is_wanted in _PASSES.items():
        setattr(options, name, is_wanted)
    machine = target.make_machine()
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    code: bytes = machine.emit_object(module)
    return code
