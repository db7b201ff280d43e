"""Lamina: PyTorch's tensors and autograd, small, fast, and able to say why."""
import importlib, pathlib, sys
__version__ = "0.1.0"
from lamina import dtypes as _d, errors
from lamina.core.tensor import Size, Tensor, layout, strided
from lamina.dtypes import *
from lamina.dtypes import bool_ as bool, get_default_dtype, set_default_dtype, promote_types, can_cast, dtype
from lamina.dtypes import float32 as float, float64 as double, float16 as half, int32 as int, int64 as long, int16 as short
from lamina.dtypes import complex64 as cfloat, complex128 as cdouble
from lamina.core.modes import no_grad, enable_grad, set_grad_enabled, inference_mode, is_grad_enabled, is_inference_mode_enabled
from lamina.devices import device
from lamina.core.printing import set_printoptions
import lamina.autograd as autograd
from lamina.ops import support, data, creation, conversion, random
import lamina.methods
_here = pathlib.Path(__file__).parent
for _f in sorted((_here/"ops").glob("*.py"))+sorted((_here/"methods").glob("*.py")):
    if _f.stem=="__init__": continue
    try: _m = importlib.import_module("lamina.%s.%s"%(_f.parent.name,_f.stem))
    except Exception as _e:
        print("LAMINA: chapter fails:", _f, repr(_e)[:300], file=sys.stderr); continue
    for _n in getattr(_m,"__all__",()):
        globals()[_n]=getattr(_m,_n,None)
from lamina.core.modes import no_grad
for _n in ("nn","optim","cuda","linalg","fft","special","utils"):
    try: globals()[_n]=importlib.import_module("lamina."+_n)
    except Exception as _e: print("LAMINA: namespace fails:", _n, repr(_e)[:300], file=sys.stderr)
inf=__builtins__["float"]("inf") if isinstance(__builtins__,dict) else 0
import math as _math
inf=_math.inf; nan=_math.nan; pi=_math.pi; e=_math.e
