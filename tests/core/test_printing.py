"""Tensors print as PyTorch prints them, by its recorded answers and by the rules behind them."""

import base64
import json
import time
import tracemalloc
from math import inf
from pathlib import Path

import numpy as np
import pytest

from lamina import dtypes, errors
from lamina.core import printing

RECORDED = json.loads(Path(__file__).with_name("recorded_printing.json").read_text("utf-8"))
VALUES = [case for case in RECORDED if "values" in case]


@pytest.fixture(autouse=True)
def _usual_settings():
    yield
    printing.set_printoptions(profile="default")
    dtypes.set_default_dtype(dtypes.float32)


def array_of(case):
    kind = dtypes.BY_NAME[case["dtype"]]
    if kind in dtypes.EXTENDED_TYPES:
        pytest.importorskip("ml_dtypes")
    base = np.frombuffer(base64.b64decode(case["data"]), kind.numpy)
    if case["layout"] == "broadcast":
        return np.broadcast_to(base, case["shape"])
    array = np.resize(base, case["shape"])
    if case["layout"] == "transposed":
        return array.T
    return array[..., ::2] if case["layout"] == "step" else array


def text_of(array, dtype=dtypes.float32, **changes):
    usual = {
        "shape": () if array is None else array.shape,
        "device": "cpu",
        "device_is_default": True,
        "grad_fn_name": None,
        "requires_grad": False,
    }
    return printing.tensor_repr(array, dtype=dtype, **usual | changes)


# --- recorded answers --------------------------------------------------------------------------


def name_of(case):
    return case["name"]


@pytest.mark.parametrize("case", VALUES, ids=name_of)
def test_values_print_as_recorded(case):
    array = array_of(case)
    printing.set_printoptions(**case["options"])
    assert printing.format_array(array, indent=3) == case["values"]


@pytest.mark.parametrize("case", RECORDED, ids=name_of)
def test_repr_is_as_recorded(case):
    array = array_of(case)
    printing.set_printoptions(**case["options"])
    owner = dict(case["tensor"])
    dtypes.set_default_dtype(dtypes.BY_NAME[owner.pop("default", "float32")])
    is_meta = owner.get("device") == "meta"
    text = text_of(
        None if is_meta else array,
        dtypes.BY_NAME[case["dtype"]],
        shape=array.shape,
        device_is_default=not is_meta,
        **owner,
    )
    assert text == case["repr"]


# --- arrays ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "array",
    [
        np.broadcast_to(np.float32(1.5), (10**8,)),
        np.broadcast_to(np.arange(3), (10**8, 3)),
        np.broadcast_to(np.complex64(1j), (5, 10**8)),
        np.broadcast_to(np.float16(1), (10**4, 10**4, 10**4)),
    ],
    ids=lambda array: str(array.shape),
)
def test_a_summary_reads_no_more_than_it_shows(array):
    tracemalloc.start()
    began = time.perf_counter()
    text = printing.format_array(array)
    elapsed = time.perf_counter() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "..." in text
    assert peak < 10**6
    assert elapsed < 1


def test_a_summary_of_the_most_dimensions_that_numpy_has():
    array = np.broadcast_to(np.int64(1), (1,) * 63 + (2000,))
    printing.set_printoptions(linewidth=100)
    assert printing.format_array(array).strip("[]") == "1, 1, 1,  ..., 1, 1, 1"


def test_an_edge_of_zero_hides_a_summary_but_not_one_number():
    printing.set_printoptions(threshold=0, edgeitems=0)
    assert printing.format_array(np.arange(3)) == "[...]"
    assert printing.format_array(np.array(3)) == "3"


def test_a_negative_edge_counts_as_zero():
    printing.set_printoptions(threshold=0, edgeitems=-1)
    assert printing.format_array(np.arange(3)) == "[...]"


def test_reversed_and_foreign_byte_orders_print_their_values():
    assert printing.format_array(np.arange(3)[::-1]) == "[2, 1, 0]"
    assert printing.format_array(np.array([1.5, -2], ">f4")) == "[ 1.5000, -2.0000]"


def test_dtype_converts_what_is_shown():
    array = np.broadcast_to(np.int64(2), (10**8,))
    assert printing.format_array(array, dtype=dtypes.float32) == "[2., 2., 2.,  ..., 2., 2., 2.]"


def test_signalling_nan_does_not_warn():
    array = np.array([0x7F800001, 0x3F800000], np.uint32).view(np.float32)
    assert printing.format_array(array) == "[nan, 1.]"


def test_printing_leaves_the_array_as_it_was():
    array = np.array([1.5, np.nan, -0.0])
    before = array.tobytes()
    printing.format_array(array)
    assert array.tobytes() == before


def test_elements_that_no_tensor_has_are_refused():
    with pytest.raises(errors.LaminaError, match="type <U1"):
        printing.format_array(np.array(["a"]))


# --- suffixes that need another device, or none ------------------------------------------------


def test_a_device_that_is_not_the_default_is_named_first():
    text = text_of(np.ones(2), dtypes.float64, device="cuda:0", device_is_default=False)
    assert text == "tensor([1., 1.], device='cuda:0', dtype=torch.float64)"


def test_the_device_of_an_empty_tensor_comes_before_its_size():
    text = text_of(np.ones((0, 3)), device="cuda:1", device_is_default=False)
    assert text == "tensor([], device='cuda:1', size=(0, 3))"


def test_the_default_device_is_not_named():
    assert text_of(np.ones(1), device="cuda:0") == "tensor([1.])"


def test_a_meta_tensor_names_device_and_size():
    text = text_of(None, shape=(2, 3), device="meta", device_is_default=False)
    assert text == "tensor(..., device='meta', size=(2, 3))"


def test_grad_fn_stands_for_requires_grad():
    text = text_of(np.array(2.0), grad_fn_name="MeanBackward0", requires_grad=True)
    assert text == "tensor(2., grad_fn=<MeanBackward0>)"


# --- options -----------------------------------------------------------------------------------


def settings():
    return {name: getattr(printing.options, name) for name in printing.PrintOptions.__slots__}


@pytest.mark.parametrize(
    ("profile", "expected"),
    [("default", (4, 1000, 3)), ("short", (2, 1000, 2)), ("FULL", (4, inf, 3))],
)
def test_profiles(profile, expected):
    printing.set_printoptions(profile=profile)
    now = printing.options
    assert (now.precision, now.threshold, now.edgeitems) == expected
    assert (now.linewidth, now.sci_mode) == (80, None)


def test_an_argument_overrides_the_profile():
    printing.set_printoptions(profile="short", precision=7)
    assert (printing.options.precision, printing.options.edgeitems) == (7, 2)


def test_what_is_left_out_stays_except_sci_mode():
    printing.set_printoptions(precision=2, edgeitems=1, linewidth=50, threshold=5, sci_mode=True)
    before = settings()
    printing.set_printoptions()
    assert settings() == before | {"sci_mode": None}


def test_an_unknown_profile_changes_nothing():
    before = settings()
    printing.set_printoptions(profile="bogus")
    assert settings() == before


def test_options_take_no_unknown_names():
    with pytest.raises(AttributeError):
        printing.options.digits = 3
