"""Every layer of the table is PyTorch's: text, first weights, results and gradients."""

import importlib
import inspect
import pkgutil
import warnings

import numpy as np
import pytest
import torch
from nn.layer_table import CASES, Inputs, report

import lamina

# Layers that say `*args` in PyTorch and name their arguments here, or the other way round.
WRITTEN_OUT = {"Module", "RNN", "LogSigmoid", "Sigmoid", "Softmax2d", "Softsign", "Tanh"}
WRITTEN_OUT |= {"Tanhshrink"}
# They have no forward of their own.
WITHOUT_FORWARD = {"Module", "ModuleDict", "ModuleList", "ParameterDict", "ParameterList"}
WITHOUT_FORWARD |= {"Container", "RNNBase", "RNNCellBase"}


def same(ours, theirs):
    assert len(ours) == len(theirs)
    for one, other in zip(ours, theirs, strict=True):
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=2e-5)


@pytest.mark.parametrize(("constructor", "inputs"), CASES, ids=[case[0] for case in CASES])
def test_a_layer(constructor, inputs):
    ours, theirs = report(lamina, constructor, inputs), report(torch, constructor, inputs)
    assert ours["repr"] == theirs["repr"]
    assert ours["names"] == theirs["names"]
    for name in theirs.keys() - {"repr", "names"}:
        same(ours[name], theirs[name])


# They have attributes for several devices, or keep the reasons of a fast path elsewhere.
OTHER_ATTRIBUTES = ("DataParallel", "MultiheadAttention", "TransformerEncoderLayer")


@pytest.mark.parametrize("constructor", sorted({case[0] for case in CASES}))
def test_the_attributes_of_a_layer(constructor):
    if constructor.startswith(OTHER_ATTRIBUTES):
        pytest.skip("has other attributes")
    found = []
    for library in (lamina, torch):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = eval(f"nn.{constructor}", Inputs(library).scope())
        attributes = {name: v for name, v in vars(module).items() if not name.startswith("_")}
        found.append({name: repr(v) for name, v in attributes.items() if not callable(v)})
    assert found[0] == found[1]


LAYERS = [
    name
    for name, kind in vars(torch.nn).items()
    if isinstance(kind, type) and issubclass(kind, torch.nn.Module)
]


def parameters(function):
    """Names, kinds and defaults of a function's parameters."""
    return [
        (parameter.name, parameter.kind, getattr(parameter.default, "__name__", parameter.default))
        for parameter in inspect.signature(function).parameters.values()
    ]


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_takes_the_same_arguments(name):
    ours, theirs = getattr(lamina.nn, name), getattr(torch.nn, name)
    if name not in WRITTEN_OUT:
        assert parameters(ours.__init__) == parameters(theirs.__init__)
    if name not in WITHOUT_FORWARD:
        assert parameters(ours.forward) == parameters(theirs.forward)


def test_every_layer_is_in_the_table():
    missing = set(LAYERS) - {constructor.partition("(")[0] for constructor, _ in CASES}
    assert missing == WITHOUT_FORWARD


@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
@pytest.mark.parametrize("ends", [True, False])
def test_padding_of_an_encoder_without_gradients(ends):
    """In evaluation mode PyTorch computes with nested tensors: padded ends come out as zeros."""
    mask = [[False, False, True, True] if ends else [False, True, False, True], [False] * 4]
    results = []
    for library in (lamina, torch):
        library.manual_seed(0)
        nn = library.nn
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        stack = nn.TransformerEncoder(layer, 2, nn.LayerNorm(8)).eval()
        with library.no_grad():
            x = library.randn(2, 4, 8)
            results.append([stack(x, src_key_padding_mask=library.tensor(mask)).numpy()])
    same(*results)


FILES = sorted(module.name for module in pkgutil.iter_modules(torch.nn.modules.__path__))
NOT_HERE = {"_functions", "linear_cross_entropy", "linear_cross_entropy_options"}


@pytest.mark.parametrize("file", sorted(set(FILES) - NOT_HERE))
def test_layers_stand_in_pytorchs_files_too(file):
    theirs = importlib.import_module(f"torch.nn.modules.{file}")
    ours = getattr(lamina.nn.modules, file)
    public = [name for name in getattr(theirs, "__all__", ()) if name[0].isupper()]
    missing = [name for name in public if not hasattr(ours, name)]
    assert missing == []
    assert all(
        getattr(ours, name) is getattr(lamina.nn, name, None)
        for name in public
        if hasattr(torch.nn, name)
    )
