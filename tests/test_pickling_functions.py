"""Functions are pickled by name: models keep them as activations, and workers are sent them."""

import pickle

import pytest

import lamina
from lamina import fft, linalg, nn, special

NAMESPACES = (lamina, nn.functional, linalg, special, fft)


@pytest.mark.parametrize("namespace", NAMESPACES, ids=lambda namespace: namespace.__name__)
def test_a_function_is_found_again(namespace):
    found = {name: getattr(namespace, name) for name in namespace.__all__}
    functions = {
        name: value
        for name, value in found.items()
        if callable(value) and not isinstance(value, type)
    }
    assert len(functions) > 15
    lost = [name for name, f in functions.items() if pickle.loads(pickle.dumps(f)) is not f]
    assert lost == []


@pytest.mark.parametrize("name", ["relu_", "exp_", "_foreach_add", "_foreach_mul_"])
def test_also_one_that_is_made_when_it_is_first_used(name):
    function = getattr(lamina, name)
    assert pickle.loads(pickle.dumps(function)) is function


def test_a_module_with_a_function_in_it():
    layer = nn.TransformerEncoderLayer(4, 2, 8, activation=lamina.tanh)
    again = pickle.loads(pickle.dumps(layer))
    assert again.activation is lamina.tanh


@pytest.mark.parametrize("kind", lamina.dtypes.ALL_TYPES, ids=str)
def test_a_dtype_is_found_again(kind):
    assert pickle.loads(pickle.dumps(kind)) is kind


def test_a_tensor_of_truths():
    assert pickle.loads(pickle.dumps(lamina.tensor([True, False]))).tolist() == [True, False]
