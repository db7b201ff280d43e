"""Memory that processes share: what one writes into a tensor, the others read."""

import multiprocessing
import subprocess
import sys

import pytest

import lamina as torch

PROGRAM = """
import sys
import lamina as torch
import lamina.multiprocessing as mp

def train(model, x, y):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(100):
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    model.count.add_(1)
    assert isinstance(model.weight, torch.nn.Parameter) and model.weight.is_shared()

def main():
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    model.register_buffer("count", torch.zeros(1, dtype=torch.int64))
    x = torch.randn(50, 3)
    y = x @ torch.tensor([[1.0], [-2.0], [3.0]])
    first = torch.nn.functional.mse_loss(model(x), y)
    assert model.share_memory() is model
    processes = mp.get_context(sys.argv[1])
    for _ in range(2):  # one after the other: the second goes on where the first stopped
        worker = processes.Process(target=train, args=(model, x, y))
        worker.start()
        worker.join()
    last = torch.nn.functional.mse_loss(model(x), y)
    print(bool(last < first / 1000), model.count.item(), model.weight.grad)

if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_train_one_model(tmp_path, method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"needs {method}")
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    command = [sys.executable, str(script), method]
    done = subprocess.run(command, capture_output=True, text=True, timeout=50, check=False)
    assert (done.stdout, done.stderr) == ("True 2 None\n", "")


def test_facts_of_a_shared_tensor():
    x = torch.arange(6.0).reshape(2, 3).clone().requires_grad_()
    assert not x.is_shared()
    assert x.share_memory_() is x
    assert x.is_shared()
    assert x[1:].is_shared()
    assert not x.clone().is_shared()
    assert (x.tolist(), x.requires_grad, x.is_leaf) == ([[0, 1, 2], [3, 4, 5]], True, True)
    place = x.data_ptr()
    assert x.share_memory_().data_ptr() == place


@pytest.mark.parametrize("dtype", [torch.bool, torch.float16, torch.complex64])
@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_every_kind_of_tensor(dtype, shape):
    x = torch.ones(shape, dtype=dtype)
    expected = x.tolist()
    assert x.share_memory_().tolist() == expected
    x.zero_()
    assert not x.any()


def test_what_an_optimizer_works_on_stays_where_it_is():
    x = torch.ones(40_000, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.5)
    for _ in range(3):
        x.grad = torch.ones(40_000)
        optimizer.step()
    with pytest.raises(NotImplementedError, match="before an optimizer's first step"):
        x.share_memory_()


def test_memory_that_others_show_stays_where_it_is():
    x = torch.ones(3)
    view = x[1:]
    for tensor in (x, view, torch.from_numpy(x.numpy())):
        with pytest.raises(NotImplementedError, match=r"clone\(\)\.share_memory_\(\)"):
            tensor.share_memory_()
    assert not x.is_shared()


def test_tensors_without_elements_to_share():
    with pytest.raises(NotImplementedError, match="is sparse"):
        torch.eye(2).to_sparse().share_memory_()
    with pytest.raises(RuntimeError, match="only available on CPU"):
        torch.ones(2, device="meta").share_memory_()


def test_pickled_outside_of_a_start_it_is_a_copy():
    x = torch.ones(2).share_memory_()
    sent = multiprocessing.reduction.ForkingPickler.dumps(x)
    copied = multiprocessing.reduction.ForkingPickler.loads(sent)
    assert copied.tolist() == [1, 1]
    assert not copied.is_shared()
