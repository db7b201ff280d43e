"""Modules of PyTorch's that Lamina has only for programs that ask: what they say on one CPU."""
