"""The data sets that come with Lamina, as NumPy arrays."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

__all__ = ["load_digits"]


def load_digits() -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Real handwritten digits: 1797 grey images of 8 x 8 pixels, ten classes.

    The test part of "Optical Recognition of Handwritten Digits" (E. Alpaydin and C. Kaynak, 1998),
    UCI Machine Learning Repository, licence CC BY 4.0.

    Returns:
        images: float32, shape (1797, 8, 8), whole numbers 0 (paper) to 16 (ink).
        labels: int64, shape (1797,), the digits 0 to 9.

    Example:
        >>> images, labels = load_digits()
        >>> images.shape, labels[:5].tolist()
        ((1797, 8, 8), [0, 1, 2, 3, 4])
    """
    with np.load(Path(__file__).with_name("digits.npz"), allow_pickle=False) as stored:
        return stored["images"].astype(np.float32), stored["labels"].astype(np.int64)
