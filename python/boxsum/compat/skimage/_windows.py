"""Windows as scikit-image's functions take them, and cuCIM's, which are the same."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from boxsum._types import Border
from boxsum.compat._drop_in import NotCovered

BORDERS: dict[str, Border] = {
    "reflect": "reflect",
    "constant": "constant",
    "nearest": "replicate",
    "mirror": "mirror",
    "wrap": "wrap",
}


def odd_sizes(size: Any, image: Any) -> tuple[int, int]:
    """Of thresholds of window_size."""
    sizes = tuple(size) if isinstance(size, Iterable) else (size, size)
    if len(sizes) != 2:
        raise NotCovered(f"a window of {len(sizes)} axes")
    for one in sizes:
        if not isinstance(one, (int, np.integer)) or one < 1 or one % 2 == 0:
            raise NotCovered("a window whose size is not odd")
    if any(one // 2 + 1 > extent - 1 for one, extent in zip(sizes, image.shape, strict=True)):
        raise NotCovered("a window that reflects a small image more than once")
    return int(sizes[0]), int(sizes[1])


def block_sizes(size: Any) -> tuple[int, int]:
    """Of thresholds of block_size."""
    sizes = (size, size) if np.isscalar(size) else tuple(size)
    if len(sizes) != 2 or any(not isinstance(one, (int, np.integer)) or one < 1 or one % 2 == 0 for one in sizes):
        raise NotCovered("a window whose sizes are not odd")
    return int(sizes[0]), int(sizes[1])
