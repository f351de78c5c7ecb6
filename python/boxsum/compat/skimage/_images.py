"""What all drop-ins for scikit-image ask of an image."""

from __future__ import annotations

from typing import Any

import numpy as np

from boxsum.compat._drop_in import NotCovered


def check_plane(image: Any) -> None:
    """Raises `NotCovered` unless the image is an array of NumPy's own class, of two axes, with pixels."""
    if type(image) is not np.ndarray:
        raise NotCovered(f"the image is of type {type(image).__name__}")
    if image.ndim != 2:
        raise NotCovered(f"the image has {image.ndim} axes")
    if image.size == 0:
        raise NotCovered("the image is empty")
