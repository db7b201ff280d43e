"""Event files for TensorBoard, written through tensorboardX: `pip install lamina[tensorboard]`."""

from lamina.utils.tensorboard.writer import SummaryWriter

__all__ = ["SummaryWriter"]
