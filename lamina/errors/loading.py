"""L10xx: data sets, batches, and the workers that load them."""

from __future__ import annotations

from typing import final

from .base import LaminaError, LaminaWarning


@final
class DatasetMismatch(LaminaError, AssertionError):
    """Tensors or data sets do not go together, or there are none.

    Fails:
        TensorDataset(torch.ones(3, 2), torch.ones(4))
    Works:
        TensorDataset(torch.ones(3, 2), torch.ones(3))
    """

    code = "L1001"


@final
class CollateMismatch(LaminaError, RuntimeError):
    """Samples of different shapes or lengths cannot become one batch.

    Fails:
        default_collate([torch.ones(2), torch.ones(3)])
    Works:
        default_collate([torch.ones(3), torch.ones(3)])
    """

    code = "L1002"


@final
class CollateMissingKey(LaminaError, KeyError):
    """A sample lacks a key that the first sample of its batch has.

    Fails:
        default_collate([{'image': 1, 'label': 0}, {'image': 2}])
    Works:
        default_collate([{'image': 1, 'label': 0}, {'image': 2, 'label': 1}])
    """

    code = "L1003"

    def __str__(self) -> str:
        # KeyError's own shows the text as a literal, in quotes and on one line.
        return str(self.args[0])


@final
class WorkerFailed(LaminaError, RuntimeError):
    """A worker of a DataLoader ended by itself, or gave nothing in time.

    Fails:
        next(iter(DataLoader(slow, num_workers=1, timeout=1)))
    Works:
        next(iter(DataLoader(slow, num_workers=1, timeout=60)))
    """

    code = "L1004"


@final
class DatasetWarning(LaminaWarning):
    """A data set is not as long as it said, or has no elements.

    Warns:
        random_split(range(3), [0.1, 0.9])
    Works:
        random_split(range(3), [0.4, 0.6])
    """

    code = "L1005"
