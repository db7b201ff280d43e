"""Who did it: builds the errors about tensors and graphs, from the records that are always kept.

Each function returns (or, named `check_*` or `raise_*`, raises) one error of `lamina.errors`, with
PyTorch's phrase in the first line, the places that matter, and the repair. Nothing here runs unless
something went wrong, or is about to: so each file is loaded when one of its functions is first
called.
"""

from typing import TYPE_CHECKING

from lamina.late_loading import late_names

if TYPE_CHECKING:
    from lamina.core.blame.calls import (
        check_derivatives,
        check_devices,
        check_has_values,
        dim_out_of_range,
        not_a_tensor,
        rule_without_values,
    )
    from lamina.core.blame.kept import (
        check_inference_saved,
        check_nan,
        graph_freed,
        inference_saved,
        saved_value_modified,
    )
    from lamina.core.blame.kernels import raise_failure
    from lamina.core.blame.leaves import (
        check_assigned_data,
        check_assigned_grad,
        check_hook_result,
        check_node_hook_result,
        deepcopy_of_non_leaf,
        flag_of_non_leaf,
        grad_of_non_leaf,
        hook_without_grad,
        inference_requires_grad,
        integer_requires_grad,
        non_leaf_optimized,
        numpy_of_requiring,
        retain_without_grad,
    )
    from lamina.core.blame.passes import (
        check_root_gradient,
        input_without_grad,
        no_graph,
        non_scalar_root,
        unused_input,
    )
    from lamina.core.blame.words import (
        INFERENCE_HELP,
        a_name,
        called,
        made_note,
        name_of_object,
        node_place,
        this_place,
    )
    from lamina.core.blame.writes import (
        check_inplace,
        check_no_partial_overlap,
        check_out,
        check_out_device,
        check_out_dtype,
        check_write,
        read_only,
        stale_view,
        warn_of_resize,
    )

_HOMES = {
    "lamina.core.blame.calls": (
        "check_derivatives check_devices check_has_values dim_out_of_range not_a_tensor "
        "rule_without_values"
    ),
    "lamina.core.blame.kept": (
        "check_inference_saved check_nan graph_freed inference_saved saved_value_modified"
    ),
    "lamina.core.blame.kernels": "raise_failure",
    "lamina.core.blame.leaves": (
        "check_assigned_data check_assigned_grad check_hook_result check_node_hook_result "
        "deepcopy_of_non_leaf flag_of_non_leaf grad_of_non_leaf hook_without_grad "
        "inference_requires_grad integer_requires_grad non_leaf_optimized numpy_of_requiring "
        "retain_without_grad"
    ),
    "lamina.core.blame.passes": (
        "check_root_gradient input_without_grad no_graph non_scalar_root unused_input"
    ),
    "lamina.core.blame.words": (
        "INFERENCE_HELP a_name called made_note name_of_object node_place this_place"
    ),
    "lamina.core.blame.writes": (
        "check_inplace check_no_partial_overlap check_out check_out_device check_out_dtype "
        "check_write read_only stale_view warn_of_resize"
    ),
}
__getattr__, __dir__ = late_names(__name__, _HOMES)

__all__ = [
    "INFERENCE_HELP",
    "a_name",
    "called",
    "check_assigned_data",
    "check_assigned_grad",
    "check_derivatives",
    "check_devices",
    "check_has_values",
    "check_hook_result",
    "check_inference_saved",
    "check_inplace",
    "check_nan",
    "check_no_partial_overlap",
    "check_node_hook_result",
    "check_out",
    "check_out_device",
    "check_out_dtype",
    "check_root_gradient",
    "check_write",
    "deepcopy_of_non_leaf",
    "dim_out_of_range",
    "flag_of_non_leaf",
    "grad_of_non_leaf",
    "graph_freed",
    "hook_without_grad",
    "inference_requires_grad",
    "inference_saved",
    "input_without_grad",
    "integer_requires_grad",
    "made_note",
    "name_of_object",
    "no_graph",
    "node_place",
    "non_leaf_optimized",
    "non_scalar_root",
    "not_a_tensor",
    "numpy_of_requiring",
    "raise_failure",
    "read_only",
    "retain_without_grad",
    "rule_without_values",
    "saved_value_modified",
    "stale_view",
    "this_place",
    "unused_input",
    "warn_of_resize",
]
