"""Generated arrays print the same in both libraries, under generated options."""

import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lamina import dtypes
from lamina.core import printing

torch = pytest.importorskip("torch")
tensor_str = pytest.importorskip("torch._tensor_str")

OPTIONS = st.fixed_dictionaries(
    {"profile": st.sampled_from(["default", "short", "full"])},
    optional={
        "precision": st.integers(0, 9),
        "threshold": st.sampled_from([0, 1, 5, 20, math.inf]),
        "edgeitems": st.integers(0, 5),
        "linewidth": st.integers(1, 120),
        "sci_mode": st.booleans(),
    },
)
SHAPES = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=9)
# Near the numbers at which the style changes, and where rounding shows.
REALS = st.one_of(
    st.floats(),
    st.floats(-1500, 1500),
    st.integers(-1500, 1500).map(float),
    st.sampled_from([0.0, -0.0, 1e-4, 9.9e-5, 1e8, 1e8 + 1, 999.99996, math.nan, math.inf]),
)
quick = settings(
    max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)


@pytest.fixture(autouse=True)
def _usual_settings():
    yield
    torch.set_printoptions(profile="default")
    printing.set_printoptions(profile="default")


def tensor_of(array, name):
    dtype = getattr(torch, name)
    if array.size == 0:
        return torch.empty(array.shape, dtype=dtype)
    return torch.frombuffer(bytearray(array.tobytes()), dtype=dtype).reshape(array.shape)


def arrays(kind):
    if kind.is_complex:
        elements = st.builds(complex, REALS, REALS)
        return hnp.arrays(np.complex128, SHAPES, elements=elements)
    if kind.is_floating_point:
        return hnp.arrays(np.float64, SHAPES, elements=REALS)
    return hnp.arrays(kind.numpy, SHAPES)


def both(array, name, options):
    printing.set_printoptions(**options)
    torch.set_printoptions(**options)
    tensor = tensor_of(array, name)
    expected = tensor_str._tensor_str(tensor, 2) if array.size else "[]"
    return (printing.format_array(array, indent=2), expected), tensor


@pytest.mark.parametrize("name", [kind.name for kind in dtypes.ALL_TYPES])
@quick
@given(data=st.data(), options=OPTIONS)
def test_values(name, data, options):
    kind = dtypes.BY_NAME[name]
    with np.errstate(all="ignore"):
        array = np.asarray(data.draw(arrays(kind))).astype(kind.numpy)
    (text, expected), _ = both(array, name, options)
    assert text == expected


@pytest.mark.parametrize("name", ["float16", "float32", "float64", "complex64", "complex128"])
@quick
@given(data=st.data(), options=OPTIONS)
def test_any_bits(name, data, options):
    kind = dtypes.BY_NAME[name]
    words = data.draw(hnp.arrays(np.uint8, st.integers(1, 12).map(lambda n: n * kind.itemsize)))
    (text, expected), _ = both(words.view(kind.numpy), name, options)
    assert text == expected


@pytest.mark.parametrize("owner", ["leaf", "requires grad", "computed", "parameter", "meta"])
@quick
@given(data=st.data(), options=OPTIONS)
def test_repr(owner, data, options):
    name = data.draw(st.sampled_from(["float16", "float32", "float64", "complex64", "complex128"]))
    kind = dtypes.BY_NAME[name]
    with np.errstate(all="ignore"):
        array = np.asarray(data.draw(arrays(kind))).astype(kind.numpy)
    _, tensor = both(array, name, options)
    tensor = tensor.to("meta") if owner == "meta" else tensor
    tensor.requires_grad_(owner in ("requires grad", "computed"))
    tensor = tensor * 1 if owner == "computed" else tensor
    tensor = torch.nn.Parameter(tensor) if owner == "parameter" else tensor
    if owner == "computed":
        array = tensor.detach().numpy()
    text = printing.tensor_repr(
        None if owner == "meta" else array,
        shape=array.shape,
        dtype=kind,
        device=str(tensor.device),
        device_is_default=owner != "meta",
        grad_fn_name=tensor.grad_fn.name() if tensor.grad_fn is not None else None,
        requires_grad=tensor.requires_grad,
        is_parameter=owner == "parameter",
    )
    assert text == repr(tensor)
