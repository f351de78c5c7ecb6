"""`skimage.feature` with `blob_doh` and `hessian_matrix_det` by boxsum."""

from __future__ import annotations

import importlib
import math
from typing import Any

import numpy as np

from boxsum._blobs import box_hessian, find_blobs
from boxsum.compat._drop_in import NotCovered, drop_in, rest_of
from boxsum.compat.skimage._images import check_plane

__getattr__, __dir__ = rest_of("skimage.feature")


def _image(image: Any) -> Any:
    """Determinants of float32 are rounded to it, and have other maxima."""
    check_plane(image)
    if image.dtype.name not in ("bool", "uint8", "uint16", "float64"):
        raise NotCovered(f"images of {image.dtype}")
    if image.dtype.kind == "f" and not np.isfinite(image).all():
        raise NotCovered("an image that is not finite")
    return image


@drop_in("skimage.feature:hessian_matrix_det", defined_in="skimage.feature.corner")
def hessian_matrix_det(image: Any, sigma: Any = 1, approximate: bool = True) -> Any:
    """Images of two axes, of bool, uint8, uint16 and float64, by boxes."""
    if not approximate:
        raise NotCovered("approximate=False")
    return box_hessian(_image(image), float(sigma))


@drop_in("skimage.feature:blob_doh", defined_in="skimage.feature.blob")
def blob_doh(
    image: Any,
    min_sigma: Any = 1,
    max_sigma: Any = 30,
    num_sigma: int = 10,
    threshold: Any = 0.01,
    overlap: float = 0.5,
    log_scale: bool = False,
    *,
    threshold_rel: Any = None,
) -> Any:
    """Images of bool, uint8, uint16 and float64. Overlapping blobs are pruned by the original's function."""
    _image(image)
    prune = getattr(importlib.import_module("skimage.feature.blob"), "_prune_blobs", None)
    if prune is None:
        raise NotCovered("a scikit-image without _prune_blobs")
    if not 1 <= min_sigma <= max_sigma or num_sigma < 1:
        raise NotCovered("scales below 1, or that do not ascend")
    if log_scale:
        sigmas = np.logspace(math.log(min_sigma, 10), math.log(max_sigma, 10), num_sigma)
    else:
        sigmas = np.linspace(min_sigma, max_sigma, num_sigma)
    blobs = find_blobs(image, sigmas, threshold=threshold, relative_threshold=threshold_rel, overlap=1)
    return prune(blobs[:, :3].copy(), overlap) if len(blobs) else np.empty((0, 3))
