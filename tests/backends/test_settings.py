"""Settings of a process that are kept, and change nothing."""

import re
import warnings

import pytest

import lamina as torch


@pytest.fixture(autouse=True)
def as_before():
    precision = torch.get_float32_matmul_precision()
    yield
    torch.set_float32_matmul_precision(precision)
    torch.use_deterministic_algorithms(False)
    torch.set_warn_always(False)


def test_precision_of_products():
    assert torch.get_float32_matmul_precision() == "highest"
    torch.set_float32_matmul_precision("medium")
    assert torch.get_float32_matmul_precision() == "medium"
    with pytest.warns(UserWarning, match="not one of 'highest', 'high', or 'medium'"):
        torch.set_float32_matmul_precision("low")
    assert torch.get_float32_matmul_precision() == "medium"


def test_deterministic_algorithms():
    states = []
    for call in (
        lambda: torch.use_deterministic_algorithms(True),
        lambda: torch.use_deterministic_algorithms(True, warn_only=True),
        lambda: torch.set_deterministic_debug_mode("default"),
        lambda: torch.set_deterministic_debug_mode(2),
    ):
        call()
        states.append((
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
            torch.get_deterministic_debug_mode(),
        ))  # fmt: skip
    assert states == [(True, False, 2), (True, True, 1), (False, False, 0), (True, False, 2)]


@pytest.mark.parametrize(
    ("call", "error", "phrase"),
    [
        (lambda: torch.set_deterministic_debug_mode("x"), RuntimeError, "one of `default`, `warn`"),
        (lambda: torch.set_deterministic_debug_mode(5), RuntimeError, "expected 0, 1, or 2"),
        (lambda: torch.set_deterministic_debug_mode(1.5), TypeError, "must be str or int"),
        (lambda: torch.set_num_interop_threads(0), RuntimeError, "expects a positive integer"),
    ],
)
def test_mistakes(call, error, phrase):
    with pytest.raises(error, match=re.escape(phrase)):
        call()


def test_small_settings():
    assert torch.set_flush_denormal(False) is True
    torch.set_warn_always(True)
    assert torch.is_warn_always_enabled()
    assert torch.get_num_interop_threads() >= 1


def test_attention_kernels_are_chosen_in_a_block():
    cuda = torch.backends.cuda
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        with cuda.sdp_kernel(enable_flash=False, enable_math=True):
            assert (cuda.flash_sdp_enabled(), cuda.math_sdp_enabled()) == (False, True)
    assert cuda.flash_sdp_enabled()
    with pytest.warns(FutureWarning, match="sdp_kernel"), cuda.sdp_kernel():
        pass


def test_flags_of_cudnn_hold_in_a_block():
    cudnn = torch.backends.cudnn
    before = cudnn.enabled, cudnn.benchmark, cudnn.benchmark_limit
    with cudnn.flags(enabled=False, benchmark=True):
        assert (cudnn.enabled, cudnn.benchmark) == (False, True)
    assert (cudnn.enabled, cudnn.benchmark, cudnn.benchmark_limit) == before
    assert cudnn.is_acceptable(torch.ones(1)) is False


def test_the_processor_is_named():
    assert torch.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")
