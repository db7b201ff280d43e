"""`torch._ops`: the classes of operators."""

from __future__ import annotations

from lamina.library.operators import OperatorNamespace as _OpNamespace
from lamina.library.operators import OpOverload, OpOverloadPacket, ops

__all__ = ["OpOverload", "OpOverloadPacket", "_OpNamespace", "ops"]
