"""Processes that a program starts anew find Lamina under `torch` too."""

import multiprocessing.spawn

import pytest

import lamina
from tests.torch_alias.test_running import run

WITH_A_PROCESS = """
import multiprocessing
import torch

def double(queue):
    queue.put(type(torch.ones(2) * 2).__module__ + " " + torch.__version__)

if __name__ == "__main__":
    context = multiprocessing.get_context({method!r})
    queue = context.SimpleQueue()
    process = context.Process(target=double, args=(queue,))
    process.start()
    print(queue.get())
    process.join()
    print(process.exitcode)
"""
WITH_WORKERS = """
import torch
import torch.multiprocessing as mp
from torch.utils.data import DataLoader, Dataset

class Squares(Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        return torch.tensor(index) ** 2

def work(rank, queue):
    batches = DataLoader(Squares(), 2, num_workers=1, multiprocessing_context="spawn")
    for batch in batches:
        queue.put(batch.tolist())

if __name__ == "__main__":
    queue = mp.get_context("spawn").SimpleQueue()
    mp.spawn(work, args=(queue,), nprocs=1)
    print(queue.get(), queue.get())
"""


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_a_new_process_has_the_alias(program, method):
    program(main=WITH_A_PROCESS.format(method=method))
    assert run("main.py") == (0, "torch 2.13.0+lamina\n0\n", "")


def test_so_has_a_process_of_a_module(program):
    program(package__in____init__="", package__in__main=WITH_A_PROCESS.format(method="spawn"))
    assert run("-m", "package.main") == (0, "torch 2.13.0+lamina\n0\n", "")


def test_so_has_a_process_of_a_process(program):
    program(main=WITH_WORKERS)
    assert run("main.py") == (0, "[0, 1] [4, 9]\n", "")


def test_after_the_block_new_processes_are_pythons_again(free):
    before = multiprocessing.spawn.get_preparation_data
    with lamina.as_torch():
        assert multiprocessing.spawn.get_preparation_data is not before
    assert multiprocessing.spawn.get_preparation_data is before
