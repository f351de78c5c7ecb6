"""What all drop-ins for scikit-image ask of an image."""

from __future__ import annotations

from typing import Any

import numpy as np

from boxsum import _core
from boxsum.compat._drop_in import NotCovered


def check_plane(image: Any) -> None:
    """Raises `NotCovered` unless the image is an array of NumPy's own class, of two axes, with pixels."""
    if type(image) is not np.ndarray:
        raise NotCovered(f"the image is of type {type(image).__name__}")
    if image.ndim != 2:
        raise NotCovered(f"the image has {image.ndim} axes")
    if image.size == 0:
        raise NotCovered("the image is empty")


def sums_of_windows(ii: Any, first: Any, last: Any) -> Any:
    """``integrate`` of a table of two axes: of the windows from rows and columns ``first`` to ``last``, both inside."""
    if first.shape != last.shape or first.ndim != 2 or first.shape[1] != 2:
        raise NotCovered(f"windows of shapes {first.shape} and {last.shape}")
    if first.dtype.kind not in "iu" or last.dtype.kind not in "iu":
        raise NotCovered("windows that are no integers")
    shape = np.array(ii.shape)
    first, last = (np.where(one < 0, one + shape, one).astype(np.int64) for one in (first, last))
    if (last < first).any():
        raise NotCovered("a window ends before it starts")
    if (first < 0).any() or (last >= shape).any():
        raise NotCovered("a window is outside the table")
    boxes = np.concatenate([first, last + 1], axis=1)
    sums = _core.box_query("sum", ii, None, boxes, "inclusive", "yxyx", None, None, None)
    return sums.astype(np.float64, copy=False)
