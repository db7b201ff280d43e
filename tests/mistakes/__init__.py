"""Mistakes that users make, as a table: run on Lamina here, and on PyTorch in tests/oracle."""
