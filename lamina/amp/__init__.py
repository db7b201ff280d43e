"""`amp`: mixed precision. `autocast` chooses dtypes by operation, `GradScaler` scales the loss.

| file | what it holds |
|---|---|
| `autocast_mode.py` | the context, and the functions that ask and set |
| `policies.py` | which operations are cast to what |
| `casting.py` | the casts, and the state of a thread |
| `grad_scaler.py` | `GradScaler` |
"""

from lamina.amp.autocast_mode import autocast, custom_bwd, custom_fwd, is_autocast_available
from lamina.amp.grad_scaler import GradScaler

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd", "is_autocast_available"]
