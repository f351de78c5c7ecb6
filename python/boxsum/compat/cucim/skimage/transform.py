"""`cucim.skimage.transform` with `integral_image` and `integrate` by boxsum."""

from __future__ import annotations

from typing import Any

import numpy as np

from boxsum import _core
from boxsum._tables import sat
from boxsum.compat._drop_in import NotCovered, drop_in, rest_of
from boxsum.compat.cucim.skimage._images import check_plane

__getattr__ = rest_of("cucim.skimage.transform")


@drop_in("cucim.skimage.transform:integral_image", defined_in="cucim.skimage.transform.integral")
def integral_image(image: Any, *, dtype: Any = None) -> Any:
    """Images of two axes; integers wrap in ``dtype`` as ``cumsum`` does, which by default is uint64 or int64."""
    check_plane(image)
    kind = image.dtype.kind
    if dtype is None:
        if kind not in "uif":
            raise NotCovered(f"images of {image.dtype}")
        dtype = {"u": np.uint64, "i": np.int64, "f": np.float64}[kind]
    table = np.dtype(dtype)
    if table.kind == "f" and table.itemsize < 8:
        raise NotCovered(f"sums in {table}, whose roundings depend on the order")
    return sat(image, dtype=table)


def _on_host(corners: Any) -> Any:
    return np.atleast_2d(np.array(corners.get() if hasattr(corners, "get") else corners))


@drop_in("cucim.skimage.transform:integrate", defined_in="cucim.skimage.transform.integral")
def integrate(ii: Any, start: Any, end: Any) -> Any:
    """Tables of two axes. Right for floating tables, too, whose corners the original takes for integers."""
    check_plane(ii)
    first, last = _on_host(start), _on_host(end)
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
    sums = _core.box_query("sum", ii, None, boxes, "inclusive", "yxyx", None, None)
    return sums.astype(np.float64, copy=False)
