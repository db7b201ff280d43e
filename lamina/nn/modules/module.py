"""The base of all modules, and hooks on all of them. The place where PyTorch has them."""

from lamina.nn.hooks import (
    register_module_backward_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
)
from lamina.nn.module import Module
from lamina.nn.module import indented as _addindent
from lamina.nn.registration import (
    register_module_buffer_registration_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
)
from lamina.nn.state_dict import EXTRA_STATE as _EXTRA_STATE_KEY_SUFFIX
from lamina.nn.state_dict import _IncompatibleKeys

__all__ = [
    "Module",
    "_EXTRA_STATE_KEY_SUFFIX",
    "_IncompatibleKeys",
    "_addindent",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
