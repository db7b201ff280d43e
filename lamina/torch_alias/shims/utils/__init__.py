"""Private modules of `torch.utils` that libraries read."""
