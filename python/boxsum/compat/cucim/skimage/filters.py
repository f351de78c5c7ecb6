"""`cucim.skimage.filters` with `threshold_niblack`, `threshold_sauvola` and `threshold_local` by boxsum."""

from __future__ import annotations

from typing import Any

import numpy as np

from boxsum._filters import box_filter, threshold
from boxsum.compat._drop_in import NotCovered, drop_in, rest_of
from boxsum.compat.cucim.skimage._images import check_plane
from boxsum.compat.skimage._windows import BORDERS, block_sizes, odd_sizes

__getattr__, __dir__ = rest_of("cucim.skimage.filters")


def _image(image: Any) -> Any:
    check_plane(image)
    if image.dtype.name not in ("uint8", "uint16", "int16", "float32", "float64"):
        raise NotCovered(f"images of {image.dtype}")
    return image


def _real(image: Any) -> Any:
    """What cuCIM makes of the image's dtype: float32 of all integers here, which scikit-image makes float64 of."""
    return np.float64 if image.dtype == np.float64 else np.float32


@drop_in("cucim.skimage.filters:threshold_niblack", defined_in="cucim.skimage.filters.thresholding")
def threshold_niblack(image: Any, window_size: Any = 15, k: float = 0.2) -> Any:
    """Images of two axes, of uint8, uint16, int16, float32 and float64; thresholds are float32 but of float64."""
    size = odd_sizes(window_size, _image(image))
    return threshold(image, size, method="niblack", k=-float(k), border="mirror", result="threshold", dtype=_real(image))


@drop_in("cucim.skimage.filters:threshold_sauvola", defined_in="cucim.skimage.filters.thresholding")
def threshold_sauvola(image: Any, window_size: Any = 15, k: float = 0.2, r: float | None = None) -> Any:
    """Images of two axes, of uint8, uint16, int16, float32 and float64; thresholds are float32 but of float64."""
    size = odd_sizes(window_size, _image(image))
    if r is None and image.dtype.kind == "f":
        r = 1.0
    elif r is None:
        limits = np.iinfo(image.dtype)
        r = 0.5 * (int(limits.max) - int(limits.min))
    if not r > 0:
        raise NotCovered("an r that is not above 0")
    return threshold(
        image, size, method="sauvola", k=float(k), r=float(r), border="mirror", result="threshold", dtype=_real(image)
    )


@drop_in("cucim.skimage.filters:threshold_local", defined_in="cucim.skimage.filters.thresholding")
def threshold_local(
    image: Any,
    block_size: Any = 3,
    method: str = "gaussian",
    offset: float = 0,
    mode: str = "reflect",
    param: Any = None,
    cval: float = 0,
) -> Any:
    """``method="mean"`` of images of two axes, of uint8, uint16, int16, float32 and float64; thresholds are float32 but of
    float64."""
    if method != "mean":
        raise NotCovered(f"method={method!r}")
    _image(image)
    sizes = block_sizes(block_size)
    if mode not in BORDERS:
        raise NotCovered(f"mode={mode!r}")
    real = _real(image)
    if image.dtype.kind in "iu" and mode == "constant" and (cval != int(cval) or not 0 <= cval <= 127):
        image = image.astype(real)  # a border of another value than pixels can have
    means = box_filter(image, sizes, border=BORDERS[mode], cval=cval, dtype=real)
    return means - offset
