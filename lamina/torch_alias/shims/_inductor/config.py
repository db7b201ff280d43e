"""`torch._inductor.config`: the switches that programs set are kept, and change nothing."""

from __future__ import annotations

from types import SimpleNamespace

__all__ = [
    "coordinate_descent_check_all_directions",
    "coordinate_descent_tuning",
    "epilogue_fusion",
    "force_fuse_int_mm_with_mul",
    "fx_graph_cache",
    "max_autotune",
    "triton",
    "use_mixed_mm",
]

coordinate_descent_tuning = coordinate_descent_check_all_directions = False
epilogue_fusion = fx_graph_cache = True
force_fuse_int_mm_with_mul = max_autotune = use_mixed_mm = False
triton = SimpleNamespace(cudagraphs=False, unique_kernel_names=True)
