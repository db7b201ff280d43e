"""The causes that `why` can name: each member's value says what it means."""

from __future__ import annotations

from enum import Enum


class Cause(Enum):
    """Why a tensor has the gradient it has, or has none."""

    FINE = "nothing is wrong: the gradient is there, or the next backward pass will bring it"
    NON_LEAF_NOT_RETAINED = "the gradient of an intermediate result was passed on, not kept"
    MOVED_AFTER_REQUIRES_GRAD = "a move or cast made a new tensor; the leaf is the one before it"
    LEAF_LOST = "the name holds a computed tensor: rebound, or written to in place"
    NEVER_REQUIRED = "nothing that it was computed from ever required grad"
    UNTOLD = "it does not require grad, and PyTorch keeps no record of why"
    FROZEN = "requires_grad was switched off"
    NOT_RECORDED = "made while recording was off: no_grad, or a pass without create_graph"
    INFERENCE_TENSOR = "made in inference mode"
    DETACHED = "the path goes through detach(), .data or a new Parameter"
    CONVERTED_TO_PYTHON = "the values were read out or copied, and their graph was left behind"
    INTEGER_DTYPE = "integers carry no gradient"
    NOT_DIFFERENTIABLE = "the operation has no derivative"
    ZERO_DERIVATIVE = "the derivative is zero wherever it exists"
    ZERO_GRADIENT = "the gradient is there, and all zeros: nothing changes with the tensor here"
    REPLACED_BY_HOOK = "a hook returned another gradient than the one that was computed"
    GRAPH_FREED = "an earlier backward pass freed the graph through which the gradient would come"
    BACKWARD_NOT_RUN = "no backward pass has filled .grad yet"
    NOT_REACHED = "no path leads from what was differentiated to this tensor"
    CLEARED = "the gradient was removed after it had been filled"
    ACCUMULATED = "several backward passes added to .grad"
    GRAPH_CARRIED_OVER = "the tensor keeps the graphs of earlier iterations alive"
    SHARED_MEMORY = "another tensor over the same memory was changed"
    DONE_THROUGH_DATA = "something was done to .data, where autograd does not see it"
    OPTIMIZER_LACKS_PARAMETER = "no optimizer holds this tensor"
    PARAMETER_NOT_REGISTERED = "the module does not know the tensor as its parameter"
    NAN = "an operation without a finite value or derivative at this point"
