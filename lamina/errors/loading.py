"""L10xx: data sets, batches, and the workers that load them."""

from __future__ import annotations

from typing import final

from .base import LaminaError, LaminaWarning


@final
class DatasetMismatch(LaminaError, AssertionError):
    """Tensors or data sets do not go together, or there are none.

    The first dimension counts the samples, in each of them.

    Fails:
        torch.utils.data.TensorDataset(torch.ones(3, 2), torch.ones(4))
    Works:
        torch.utils.data.TensorDataset(torch.ones(3, 2), torch.ones(3))
    """

    code = "L1001"


@final
class CollateMismatch(LaminaError, RuntimeError):
    """Samples of different shapes or lengths cannot become one batch.

    A batch is a tensor with one dimension more, in which each sample is one row.

    Fails:
        torch.utils.data.default_collate([torch.ones(2), torch.ones(3)])
    Works:
        torch.utils.data.default_collate([torch.ones(3), torch.ones(3)])
    """

    code = "L1002"


@final
class CollateMissingKey(LaminaError, KeyError):
    """A sample lacks a key that the first sample of its batch has.

    Samples become a batch key by key.

    Fails:
        samples = [{"image": 1, "label": 0}, {"image": 2}]
        torch.utils.data.default_collate(samples)
    Works:
        samples = [{"image": 1, "label": 0}, {"image": 2, "label": 1}]
        torch.utils.data.default_collate(samples)
    """

    code = "L1003"

    def __str__(self) -> str:
        # KeyError's own shows the text as a literal, in quotes and on one line.
        return str(self.args[0])


@final
class WorkerFailed(LaminaError, RuntimeError):
    """A worker of a DataLoader ended by itself, or gave nothing in time.

    A sample takes longer than `timeout`, or the system ended the worker: memory is short.

    Fails:
        import threading


        class Slow:
            def __len__(self):
                return 1

            def __getitem__(self, index):
                threading.Event().wait(1.0)
                return index


        loader = torch.utils.data.DataLoader(Slow(), num_workers=1, timeout=0.1)
        next(iter(loader))
    Works:
        import threading


        class Slow:
            def __len__(self):
                return 1

            def __getitem__(self, index):
                threading.Event().wait(0.1)
                return index


        loader = torch.utils.data.DataLoader(Slow(), num_workers=1, timeout=60)
        next(iter(loader))
    """

    code = "L1004"


@final
class DatasetWarning(LaminaWarning):
    """A data set is not as long as it said, or has no elements.

    A split of nothing gives an empty data set, from which no batch comes.

    Warns:
        torch.utils.data.random_split(range(1), [0.5, 0.5])
    Works:
        torch.utils.data.random_split(range(2), [0.5, 0.5])
    """

    code = "L1005"
