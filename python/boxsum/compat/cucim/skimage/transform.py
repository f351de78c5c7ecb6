"""`cucim.skimage.transform` with `integral_image` and `integrate` by boxsum."""

from __future__ import annotations

from typing import Any

import numpy as np

from boxsum._tables import sat
from boxsum.compat._drop_in import NotCovered, drop_in, rest_of
from boxsum.compat.cucim.skimage._images import check_plane
from boxsum.compat.skimage._images import sums_of_windows

__getattr__, __dir__ = rest_of("cucim.skimage.transform")


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
    return sums_of_windows(ii, _on_host(start), _on_host(end))
