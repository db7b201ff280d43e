"""What a loader costs, beside PyTorch's: rows in memory, Python code, and reading that waits."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from _report import best_seconds, has_torch, print_table

ROWS, BATCH = 10_000, 64


def python_code(torch: Any) -> Any:
    """A data set that computes each sample in Python."""

    class Computed(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return 640

        def __getitem__(self, index: int) -> Any:
            return torch.tensor([float(k * index % 7) for k in range(2000)]), index

    return Computed()


def waiting(torch: Any) -> Any:
    """A data set that waits for each sample, as for a disk."""

    class Fetched(torch.utils.data.Dataset):
        def __len__(self) -> int:
            return 64

        def __getitem__(self, index: int) -> Any:
            time.sleep(0.002)
            return torch.zeros(8), index

    return Fetched()


def epochs(torch: Any, processes: dict[str, Any]) -> dict[str, Callable[[], object]]:
    """Functions that read one epoch. `processes`: how workers in processes are asked for."""
    data = torch.utils.data
    images = data.TensorDataset(torch.rand(ROWS, 1, 28, 28), torch.zeros(ROWS).long())
    computed, fetched = python_code(torch), waiting(torch)
    own = {"num_workers": 2}

    def epoch(dataset: Any, size: int, **arguments: Any) -> Callable[[], object]:
        loader = data.DataLoader(dataset, size, **arguments)
        return lambda: [None for _ in loader]

    return {
        "images in memory, shuffled": epoch(images, BATCH, shuffle=True),
        "the same, 2 workers": epoch(images, BATCH, shuffle=True, **own),
        "the same, 2 processes": epoch(images, BATCH, shuffle=True, **own, **processes),
        "Python code": epoch(computed, 32),
        "Python code, 2 workers": epoch(computed, 32, **own),
        "Python code, 2 processes": epoch(computed, 32, **own, **processes),
        "2 ms of waiting": epoch(fetched, 8),
        "2 ms of waiting, 2 workers": epoch(fetched, 8, **own),
        "one batch, 2 workers": epoch([1, 2], 2, **own),
        "one batch, 2 processes": epoch([1, 2], 2, **own, **processes),
    }


def main() -> None:
    """Print the times of an epoch, in milliseconds."""
    import lamina

    tables = [epochs(lamina, {"multiprocessing_context": "fork"})]
    if has_torch():
        import torch

        tables.append(epochs(torch, {}))
    rows = []
    for name in tables[0]:
        times = best_seconds([table[name] for table in tables], 1, 7)
        ratio = f"{times[0] / times[1]:.2f}" if len(times) == 2 else ""
        rows.append([name, *(f"{1000 * seconds:.1f}" for seconds in times), ratio])
    print_table(["epoch, ms", "Lamina", *(["PyTorch"] * has_torch()), "ratio"], rows)


if __name__ == "__main__":
    main()
