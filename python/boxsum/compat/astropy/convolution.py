"""`astropy.convolution` with `convolve` by boxsum where all weights of the kernel are equal (Box2DKernel)."""

from __future__ import annotations

from typing import Any

import numpy as np

from boxsum._filters import box_filter
from boxsum._types import Border
from boxsum.compat._drop_in import NotCovered, drop_in, rest_of

__getattr__, __dir__ = rest_of("astropy.convolution")

_BORDERS: dict[Any, Border] = {"fill": "constant", "extend": "replicate", "wrap": "wrap", None: "shrink"}


@drop_in("astropy.convolution:convolve", defined_in="astropy.convolution.convolve")
def convolve(
    array: Any,
    kernel: Any,
    boundary: Any = "fill",
    fill_value: float = 0.0,
    nan_treatment: str = "interpolate",
    normalize_kernel: Any = True,
    mask: Any = None,
    preserve_nan: bool = False,
    normalization_zero_tol: float = 1e-8,
) -> Any:
    """Arrays of one and two axes, of integers, float32 and float64; NaN interpolated or filled."""
    if type(array) is not np.ndarray:
        raise NotCovered(f"an array of type {type(array).__name__}")
    if array.ndim not in (1, 2) or array.size == 0:
        raise NotCovered(f"an array of {array.ndim} axes, or empty")
    if array.dtype.kind not in "iu" and array.dtype.name not in ("float32", "float64"):
        raise NotCovered(f"arrays of {array.dtype}")
    weights = np.asarray(getattr(kernel, "array", kernel))
    if np.ma.isMaskedArray(kernel) or weights.ndim != array.ndim or weights.dtype.kind not in "iuf":
        raise NotCovered("a kernel that is no array of as many axes")
    total = float(weights.sum())
    if any(extent % 2 == 0 for extent in weights.shape) or not np.isfinite(total):
        raise NotCovered("a kernel of an even size, or not finite")
    if weights.min() <= 0 or weights.max() - weights.min() > 1e-12 * weights.max() or total < 1e-2:
        raise NotCovered("a kernel whose weights differ")
    if boundary not in _BORDERS or not np.isfinite(fill_value):
        raise NotCovered(f"boundary={boundary!r} with {fill_value}")
    if boundary is None and any(one <= 2 * (of // 2) for one, of in zip(array.shape, weights.shape, strict=True)):
        raise NotCovered("a kernel that has no room in the array")
    if nan_treatment not in ("interpolate", "fill") or not isinstance(normalize_kernel, (bool, np.bool_)):
        raise NotCovered(f"nan_treatment={nan_treatment!r}")
    pixels = array.astype(np.float64, copy=False)
    if mask is not None:
        if type(mask) is not np.ndarray or mask.shape != array.shape:
            raise NotCovered("a mask that is no array of the same shape")
        pixels = np.where(mask.astype(bool), np.nan, pixels)
    blank = np.isnan(pixels) if array.dtype.kind == "f" or mask is not None else np.zeros(array.shape, bool)
    any_blank = bool(blank.any())
    if any_blank and nan_treatment == "fill":
        pixels = np.where(blank, fill_value, pixels)
    interpolate = any_blank and nan_treatment == "interpolate"
    result = box_filter(
        np.atleast_2d(pixels),
        (1, weights.shape[0]) if array.ndim == 1 else (weights.shape[0], weights.shape[1]),
        border=_BORDERS[boundary],
        cval=fill_value,
        nan="omit" if interpolate else "propagate",
    ).reshape(array.shape)
    if boundary is None:  # zeros where the kernel reaches beyond the edge
        inner = tuple(slice(of // 2, one - of // 2) for one, of in zip(array.shape, weights.shape, strict=True))
        edges = np.ones(array.shape, bool)
        edges[inner] = False
        result[edges] = 0
    if interpolate and not preserve_nan and np.isnan(result).any():
        raise NotCovered("windows of NaN alone, of which astropy warns")
    if not normalize_kernel:
        result *= total
    if preserve_nan:
        result[blank] = np.nan
    return result.astype(array.dtype, copy=False) if array.dtype.kind == "f" else result  # of its byte order, too
