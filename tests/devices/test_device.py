"""Device objects follow PyTorch's: names, equality, errors, and the default device."""

from __future__ import annotations

import copy
import pickle
import threading

import pytest

from lamina.devices import CPU, current_default, device, resolve, set_default
from lamina.errors import ArgumentTypeError, InvalidDevice


@pytest.mark.parametrize(
    ("arguments", "type_", "index"),
    [
        (("cpu",), "cpu", None),
        (("cuda",), "cuda", None),
        (("cuda:1",), "cuda", 1),
        (("cuda", 1), "cuda", 1),
        (("cuda", None), "cuda", None),
        ((2,), "cuda", 2),
        (("meta",), "meta", None),
        (("cpu:0",), "cpu", 0),
        (("mps",), "mps", None),
        ((device("cuda:1"),), "cuda", 1),
    ],
)
def test_device_has_type_and_index(arguments, type_, index):
    made = device(*arguments)
    assert (made.type, made.index) == (type_, index)


def test_keywords_are_accepted():
    assert device(type="cuda", index=1) is device("cuda:1")
    assert device(device="cuda:2") is device("cuda:2")


def test_repr_and_str_are_pytorchs():
    assert repr(device("cuda:1")) == "device(type='cuda', index=1)"
    assert repr(device("cpu")) == "device(type='cpu')"
    assert str(device("cuda:1")) == "cuda:1"
    assert str(device("meta")) == "meta"


def test_equal_devices_are_one_object_and_indices_distinguish():
    assert device("cuda:0") is device("cuda", 0)
    assert device("cuda") != device("cuda:0")
    assert device("cpu") != "cpu"
    assert len({device("cpu"), device("cpu"), device("cuda")}) == 2


def test_devices_survive_pickle_and_copy():
    for name in ("cpu", "cuda:1", "meta"):
        made = device(name)
        assert pickle.loads(pickle.dumps(made)) is made
        assert copy.deepcopy(made) is made
        assert copy.copy(made) is made


def test_a_device_cannot_be_changed():
    with pytest.raises(AttributeError):
        device("cpu").type = "cuda"


@pytest.mark.parametrize(
    ("arguments", "phrase"),
    [
        (("foo",), "Expected one of cpu, cuda, .* device type at start of device string: foo"),
        (("CUDA",), "device type at start of device string: CUDA"),
        (("cuda:",), "Invalid device string: 'cuda:'"),
        (("cuda:01",), "Invalid device string: 'cuda:01'"),
        (("cuda:-1",), "Invalid device string: 'cuda:-1'"),
        (("cuda:1:2",), "Invalid device string: 'cuda:1:2'"),
        ((":1",), "Invalid device string: ':1'"),
        (("",), "Device string must not be empty"),
        (("cuda:1", 1), "must not include an index because index was passed explicitly"),
        (("cuda", -1), "Device index must not be negative"),
        ((-1,), "Device index must not be negative"),
    ],
)
def test_bad_strings_raise_pytorchs_runtime_error(arguments, phrase):
    with pytest.raises(InvalidDevice, match=phrase) as caught:
        device(*arguments)
    assert isinstance(caught.value, RuntimeError)
    assert caught.value.help


@pytest.mark.parametrize("arguments", [(), (None,), (1.5,), (True,), ("cuda", "1"), ("cuda", 1.0)])
def test_other_arguments_raise_type_error(arguments):
    with pytest.raises(ArgumentTypeError):
        device(*arguments)


def test_a_near_miss_is_named_in_the_help():
    with pytest.raises(InvalidDevice) as caught:
        device("gpu")
    assert "cuda" in caught.value.help[0]


def test_blocks_nest_and_the_default_holds_outside():
    assert current_default() is CPU
    with device("meta"):
        assert current_default() is device("meta")
        with device("cpu"):
            assert current_default() is CPU
        assert current_default() is device("meta")
    try:
        set_default(device("meta"))
        assert current_default() is device("meta")
        with CPU:
            assert current_default() is CPU
    finally:
        set_default(None)
    assert current_default() is CPU


def test_the_default_belongs_to_the_thread():
    seen = []
    with device("meta"):
        thread = threading.Thread(target=lambda: seen.append(current_default()))
        thread.start()
        thread.join()
    assert seen == [CPU]


def test_resolve_drops_the_index_of_the_cpu():
    assert resolve(device("cpu:0")) is CPU
    with pytest.raises(InvalidDevice, match="no mps device"):
        resolve(device("mps"))
