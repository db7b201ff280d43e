"""Wrappers for several devices, which here run their module on the one it is on."""

from lamina.nn.parallel.data_parallel import DataParallel, data_parallel
from lamina.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]
