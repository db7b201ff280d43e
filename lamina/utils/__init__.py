"""Tools around training: checkpointing, and data loading under the name known from PyTorch."""
