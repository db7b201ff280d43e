"""OpenMP: threads are Lamina's own (`lamina.set_num_threads`)."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: there is no OpenMP."""
    return False
