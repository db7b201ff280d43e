"""Apple's GPUs: not there."""

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """False: Lamina has no device `mps`."""
    return False


def is_built() -> bool:
    """False: Lamina has no device `mps`."""
    return False
