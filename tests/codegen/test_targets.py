"""Machine code for other processors than this one: shorter vectors, ARM, other systems."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from codegen.machines import machine

from lamina.codegen.kernels import task_library
from lamina.codegen.kernels.tasks import products as product_tasks
from lamina.codegen.llvm import pool_code
from lamina.codegen.llvm.ir import KIND_OF, module

pytestmark = pytest.mark.skipif(not machine.is_available(), reason="needs llvmlite")

TARGETS = {
    "linux": ("aarch64-unknown-linux-gnu", "generic", "+neon", 4, 32),
    "darwin": ("arm64-apple-darwin23.0.0", "apple-m1", "", 4, 32),
    "win32": ("x86_64-pc-windows-msvc-elf", "haswell", "", 8, 16),
}
"""For a system: the processor, lanes of a vector, and how many vectors there are registers for."""

OF_C = {"sin", "cos", "tan", "log", "log1p", "memcpy", "memset"}
OF_SYSTEM = {
    "linux": {"sincos", "sched_getcpu", "sched_getaffinity", "pthread_setaffinity_np"},
    "darwin": set(),
    "win32": set(),
}
POSIX = {
    "clock_gettime", "pthread_cond_broadcast", "pthread_cond_wait", "pthread_mutex_lock",
    "pthread_mutex_unlock", "sched_yield",
}  # fmt: skip
OURS = {"lamina_parallel", "lamina_yield", "lamina_gemm_f", "lamina_stack_f", "lamina_product_f"}

PROGRAM = """
import json
import numpy as np
from codegen.machines import compiled, machine

texts = []
object_code = machine._object_code
machine._object_code = lambda text: texts.append(text) or object_code(text)

def program(x, y):
    hidden = np.tanh(np.matmul(x, y) + x.sum(axis=1, keepdims=True))
    shifted = np.exp(hidden - hidden.max(axis=1, keepdims=True))
    return shifted / shifted.sum(axis=1, keepdims=True), np.sin(hidden), (y > 0).sum(axis=0)

random = np.random.default_rng(0)
x, y = (random.standard_normal(shape).astype(np.float32) for shape in ((300, 70), (70, 130)))
for found, expected in zip(compiled(program, x, y, native=True)(x, y), program(x, y)):
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
print(json.dumps([text for text in texts if "lamina_worker" not in text]))
"""

CHECKS = ["test_differential", "test_products", "test_convolution"]
BEYOND_AVX2 = re.compile(r"%zmm|%[xy]mm(1[6-9]|2\d|3[01])|%k[0-7]")


@pytest.fixture(params=TARGETS)
def system(request, monkeypatch):
    """A system, for whose processor modules are written while the test runs."""
    *_, lanes, registers = TARGETS[request.param]
    here = machine._target()
    there = here._replace(width=min(lanes, here.width), registers=registers)
    monkeypatch.setattr(machine, "_target", lambda: there)
    monkeypatch.setattr(sys, "platform", request.param)
    monkeypatch.setattr(pool_code, "HAS_THREADS", request.param != "win32")
    return request.param


def assert_compiles(text, system):
    """LLVM makes an object of a module for a system, which calls what that has."""
    import llvmlite.binding as binding

    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    triple, cpu, features, lanes, _ = TARGETS[system]
    bits = 32 * lanes
    text += f'attributes #0 = {{ nounwind "prefer-vector-width"="{bits}" }}'
    parsed = binding.parse_assembly(text)
    parsed.verify()
    target = binding.Target.from_triple(triple)
    made = target.create_target_machine(cpu=cpu, features=features, jit=True)
    code = made.emit_object(parsed)
    called = set(re.findall(r"^declare .*?@(?!llvm\.)(\w+)\(", text, re.MULTILINE))
    posix = POSIX if system != "win32" else set()
    assert called <= OF_C | OF_SYSTEM[system] | posix | OURS
    assert not re.search(rb"[\0_]fmaf?\0", code), "a fused step became a call of the C library"


def test_vectors_of_32_bytes_give_the_same_results():
    """What the tests of this folder compare is compared for processors without AVX-512."""
    files = [str(Path(__file__).with_name(f"{name}.py")) for name in CHECKS]
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider"]
    command += ["-k", "not False", *files]  # what NumPy alone does has no vectors
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTEST_")}
    environment["LAMINA_VECTORS"] = "32"
    root = Path(__file__).parents[2]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=root)
    assert done.returncode == 0, done.stdout[-3000:]
    assert " passed" in done.stdout


@pytest.mark.skipif(
    machine.is_available() and machine.lane_count() < 8, reason="needs a processor with AVX2"
)
@pytest.mark.parametrize("chapter", ["convolution", "products"])
def test_vectors_of_32_bytes_take_no_instruction_of_avx512(chapter):
    program = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from codegen.test_targets import text_of
from lamina.codegen.llvm import machine

target = machine._target()
module = target.binding.parse_assembly(text_of({chapter!r}, "f") + target.attributes)
print(target.make_machine().emit_assembly(module))
"""
    environment = {**os.environ, "LAMINA_VECTORS": "32"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    assert "%ymm15" in done.stdout
    assert not BEYOND_AVX2.search(done.stdout)


def text_of(chapter, char):
    """The module of a chapter of tasks."""
    kind, width = KIND_OF[char], task_library.lanes_of(char)
    if chapter == "products":
        return module(product_tasks.product_functions(kind, width))
    return module(task_library._CHAPTERS[chapter](kind, width))


@pytest.mark.parametrize("chapter", [*task_library._CHAPTERS, "products"])
def test_tasks_compile_for_other_systems(chapter, system):
    assert_compiles(text_of(chapter, "f"), system)


def test_programs_and_the_pool_compile_for_other_systems(system):
    """In a process of its own, since plans that are made for other vectors are kept."""
    assert_compiles(pool_code.text(), system)
    program = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})\n" + PROGRAM
    environment = {**os.environ, "LAMINA_VECTORS": "32" if system == "win32" else "16"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=True)
    texts = json.loads(done.stdout)
    assert any("fmuladd" in text or "gemm" in text for text in texts)
    for text in texts:
        assert_compiles(text, system)
