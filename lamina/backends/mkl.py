"""Intel's library of linear algebra: products are those of NumPy's BLAS."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: which BLAS NumPy uses, `numpy.show_config()` says."""
    return False
