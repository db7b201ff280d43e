"""What failed before, and is kept alive by its traceback, is no hindrance to a capture."""

import threading

import pytest

import lamina
from lamina import errors


def positive(x):
    return lamina.where(x.sum() > 0, x, -x)


def compiled(function):
    return lamina.compile(function, fullgraph=True)(lamina.ones(2)).tolist()


def test_a_tensor_that_was_not_finished():
    with lamina.inference_mode():
        made = lamina.ones(1)
    with pytest.raises(errors.InferenceTensorError) as kept:
        lamina.ones(1, requires_grad=True) * made
    assert compiled(positive) == [1.0, 1.0]
    assert kept.value.code == "L210"


def test_a_traced_tensor_of_a_failed_capture_while_other_threads_run():
    with pytest.raises(errors.CaptureError) as kept:
        compiled(lambda x: x if x.sum().item() > 0 else -x)
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        assert compiled(positive) == [1.0, 1.0]
    finally:
        done.set()
        other.join()
    assert kept.value.code == "L903"
