"""`skimage.transform` with `integral_image` and `integrate` by boxsum."""

from __future__ import annotations

from typing import Any

import numpy as np

from boxsum._tables import sat
from boxsum.compat._drop_in import NotCovered, drop_in, rest_of
from boxsum.compat.skimage._images import check_plane, sums_of_windows

__getattr__, __dir__ = rest_of("skimage.transform")


@drop_in("skimage.transform:integral_image", defined_in="skimage.transform.integral")
def integral_image(image: Any, *, dtype: Any = None) -> Any:
    """Images of two axes; integers wrap in ``dtype`` as ``cumsum`` does, which by default is uint64 or int64."""
    check_plane(image)
    kind = image.dtype.kind
    if dtype is None:
        if kind == "b":
            dtype = np.int64  # cumsum's
        elif kind not in "uif":
            raise NotCovered(f"images of {image.dtype}")
        else:
            dtype = {"u": np.uint64, "i": np.int64, "f": np.float64}[kind]
    table = np.dtype(dtype)
    if table.kind == "f" and table.itemsize < 8:
        raise NotCovered(f"sums in {table}, whose roundings depend on the order")
    return sat(image, dtype=table)


@drop_in("skimage.transform:integrate", defined_in="skimage.transform.integral")
def integrate(ii: Any, start: Any, end: Any) -> Any:
    """Tables of two axes and of the types that boxsum makes. Exact where the original goes through float64."""
    if type(ii) is not np.ndarray or ii.ndim != 2:
        raise NotCovered("the table is no array of two axes")
    return sums_of_windows(ii, np.atleast_2d(np.array(start)), np.atleast_2d(np.array(end)))
