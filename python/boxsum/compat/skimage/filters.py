"""`skimage.filters` with `threshold_niblack`, `threshold_sauvola` and `threshold_local` by boxsum."""

from __future__ import annotations

from typing import Any

import numpy as np

from boxsum._filters import box_filter, threshold
from boxsum.compat._drop_in import NotCovered, drop_in, rest_of
from boxsum.compat.skimage._images import check_plane
from boxsum.compat.skimage._windows import BORDERS, block_sizes, odd_sizes

__getattr__, __dir__ = rest_of("skimage.filters")

_TYPES = ("bool", "uint8", "uint16", "int16", "float32", "float64")


def _image(image: Any) -> Any:
    check_plane(image)
    if image.dtype.kind not in "buif" or image.dtype.itemsize > 8:
        raise NotCovered(f"images of {image.dtype}")
    return image


def _readable(image: Any) -> Any:
    """The image in a type that filters take: wide integers in a narrow one where they fit, whose sums are exact."""
    if image.dtype.name in _TYPES:
        return image
    if image.dtype.kind in "iu":
        least, most = image.min(), image.max()
        for kind in (np.uint8, np.int16, np.uint16):
            if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
                return image.astype(kind)
    return image.astype(_real(image))


def _real(image: Any) -> Any:
    """scikit-image's type of thresholds."""
    return np.float32 if image.dtype.name in ("float32", "float16") else np.float64


@drop_in("skimage.filters:threshold_niblack", defined_in="skimage.filters.thresholding")
def threshold_niblack(image: Any, window_size: Any = 15, k: float = 0.2) -> Any:
    """Images of two axes."""
    size = odd_sizes(window_size, _image(image))
    return threshold(
        _readable(image),
        size,
        method="niblack",
        k=-float(k),
        border="mirror",
        result="threshold",
        dtype=_real(image),
    )


@drop_in("skimage.filters:threshold_sauvola", defined_in="skimage.filters.thresholding")
def threshold_sauvola(image: Any, window_size: Any = 15, k: float = 0.2, r: float | None = None) -> Any:
    """Images of two axes."""
    size = odd_sizes(window_size, _image(image))
    if r is None:
        if image.dtype.kind == "f":
            r = 1.0
        elif image.dtype.kind == "b":
            r = 0.5
        else:
            limits = np.iinfo(image.dtype)
            r = 0.5 * (int(limits.max) - int(limits.min))
    if not r > 0:
        raise NotCovered("an r that is not above 0")
    return threshold(
        _readable(image),
        size,
        method="sauvola",
        k=float(k),
        r=float(r),
        border="mirror",
        result="threshold",
        dtype=_real(image),
    )


@drop_in("skimage.filters:threshold_local", defined_in="skimage.filters.thresholding")
def threshold_local(
    image: Any,
    block_size: Any = 3,
    method: str = "gaussian",
    offset: float = 0,
    mode: str = "reflect",
    param: Any = None,
    cval: float = 0,
) -> Any:
    """``method="mean"`` of images of two axes."""
    if method != "mean":
        raise NotCovered(f"method={method!r}")
    _image(image)
    sizes = block_sizes(block_size)
    if mode not in BORDERS:
        raise NotCovered(f"mode={mode!r}")
    if image.dtype.kind == "b" and mode == "constant" and cval not in (0, 1):
        raise NotCovered("a constant that is none of the image's type")
    real = _real(image)
    if image.dtype.kind in "iu" and mode == "constant" and (cval != int(cval) or not 0 <= cval <= 127):
        image = image.astype(real)  # a border of another value than pixels can have
    means = box_filter(_readable(image), sizes, border=BORDERS[mode], cval=cval, dtype=real)
    return np.subtract(means, offset, out=means) if np.isscalar(offset) else means - offset
