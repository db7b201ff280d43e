"""Where a whole number is wanted, a tensor of one whole number will do, as in PyTorch."""

import pytest
import torch

import lamina

PROGRAMS = """
x.narrow(0, one, two)
x.narrow(one, 0, two)
x.select(0, one)
x.unsqueeze(one)
x.chunk(two)
x.split(two)
x.view(two, -1)
x.reshape((two, 6))
x.repeat(two, one)
x.roll(one, 0)
x.topk(two)[0]
x.kthvalue(two)[0]
x.sum(one)
x.cumsum(one)
x.std(one)
x.tril(one)
x.diagonal(one)
x.unfold(0, two, one)
x.permute(one, 0)
x.transpose(0, one)
x.flatten(0, one)
x.unflatten(1, (two, 2))
x.tensor_split(two)[0]
x.repeat_interleave(two, 0)
x.gather(one, T.zeros(3, 1, dtype=T.int64))
T.zeros(two, one)
T.full((two,), 1.0)
T.arange(one, T.tensor(5), two)
T.eye(two)
T.linspace(0, 1, T.tensor(3))
T.logspace(0, 1, T.tensor(3))
T.stack([x, x], one)
T.cat([x, x], one)
T.combinations(T.arange(3), two)
T.histc(x, T.tensor(3))
T.rot90(x, one)
T.diag(T.ones(2), one)
T.vander(T.ones(2), T.tensor(3))
T.bincount(T.tensor([1, 2]), minlength=T.tensor(5))
T.nn.functional.one_hot(T.tensor([0, 1]), T.tensor(3))
T.nn.functional.pad(x, (one, two))
T.nn.functional.interpolate(x[None], size=two)
T.nn.functional.max_pool1d(x, two)
T.nn.functional.conv1d(x[None], T.ones(1, 3, 1), stride=one, padding=one)
""".strip().splitlines()


def values(library, program):
    names = {
        "T": library, "x": library.arange(12.0).reshape(3, 4),
        "one": library.tensor(1), "two": library.tensor(2),
    }  # fmt: skip
    found = eval(program, names)
    return [part.tolist() for part in found] if isinstance(found, tuple) else found.tolist()


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_tensor_of_one_number_is_a_number(program):
    ours, theirs = values(lamina, program), values(torch, program)
    assert ours == theirs
