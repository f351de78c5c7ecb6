"""Blobs: bright and dark spots by determinants of Hessians, which boxes approximate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from boxsum import _core
from boxsum._arrays import ArrayT, NumPyArray
from boxsum._types import DType


@overload
def box_hessian(
    image: NumPyArray, sigma: float, *, dtype: DType | None = ..., out: NumPyArray | None = ..., threads: int = ...
) -> NumPyArray: ...
@overload
def box_hessian(
    image: ArrayT, sigma: float, *, dtype: DType | None = ..., out: ArrayT | None = ..., threads: int = ...
) -> ArrayT: ...
def box_hessian(image: Any, sigma: float, *, dtype: DType | None = None, out: Any = None, threads: int = 0) -> Any:
    """The determinant of the Hessian around every pixel, by 32 reads of a table, whatever the scale.

    It is scikit-image's ``hessian_matrix_det(image, sigma)`` within rounding; sums of integer images are exact, with the
    same bits on the CPU and on a GPU.

    Args:
        image: (..., rows, cols) of bool, uint8, uint16, float32 or float64; values of uint8 and uint16 are in parts of
            their largest.
        sigma: The scale in pixels, at least 1.
        dtype: Of the result, float64 (the default) or float32.
        out, threads: As in `sat`. ``out`` does not overlap the image.

    Returns:
        An array of the image's shape and library.

    Raises:
        InvalidArgument: a ValueError; a sigma below 1.
        Unsupported: a TypeError; another dtype, integer images whose sums may reach 2**53.
        OutOfMemory: a MemoryError.

    Source: Bay, Tuytelaars and Van Gool 2006.

    >>> import numpy as np, boxsum
    >>> spot = np.zeros((7, 7))
    >>> spot[2:5, 2:5] = 1
    >>> boxsum.box_hessian(spot, 2)[2, 2:5].round(3)
    array([0.062, 0.042, 0.007])
    """
    return _core.box_hessian(image, sigma, dtype, out, threads)


@overload
def find_blobs(
    image: NumPyArray,
    sigmas: Sequence[float] | Any = ...,
    *,
    threshold: float | None = ...,
    relative_threshold: float | None = ...,
    overlap: float = ...,
    threads: int = ...,
) -> NumPyArray: ...
@overload
def find_blobs(
    image: ArrayT,
    sigmas: Sequence[float] | Any = ...,
    *,
    threshold: float | None = ...,
    relative_threshold: float | None = ...,
    overlap: float = ...,
    threads: int = ...,
) -> ArrayT: ...
def find_blobs(
    image: Any,
    sigmas: Sequence[float] | Any = None,
    *,
    threshold: float | None = 0.01,
    relative_threshold: float | None = None,
    overlap: float = 0.5,
    threads: int = 0,
) -> Any:
    """Blobs of an image: where `box_hessian` is greatest among its neighbours in rows, columns and scales.

    It is scikit-image's ``blob_doh``; `boxsum.compat` has it under that name. Of maxima that are exactly equal all are
    found, and pairs that overlap are looked at in the order of their determinants. Its boxes lie so that places are about
    a pixel above and left of the middle.

    Args:
        image: (rows, cols), as of `box_hessian`.
        sigmas: Scales in pixels, ascending, each at least 1; None: ``numpy.linspace(1, 30, 10)``.
        threshold: What the determinant exceeds; None: the least of all.
        relative_threshold: Which part of the greatest determinant it exceeds, too; None: no such bound.
        overlap: Of two blobs, disks of radius ``sqrt(2) * sigma``, that share more than this part of the smaller one's
            area the smaller goes, of two of one sigma that of the greater determinant; 0 to 1, 1: none goes.
        threads: As in `sat`.

    Returns:
        (blobs, 4) float64: row, column, sigma, which is about the radius, and determinant; the greatest first. Of the
        image's library, and on its device; there the call waits, as it must know how many there are.

    Raises:
        InvalidArgument: a ValueError.
        Unsupported: a TypeError; another dtype, more axes.
        OutOfMemory: a MemoryError.

    Source: Bay, Tuytelaars and Van Gool 2006.

    >>> import numpy as np, boxsum
    >>> y, x = np.ogrid[:60, :60]
    >>> disk = np.hypot(y - 30, x - 20) < 8
    >>> boxsum.find_blobs(disk, (4, 6, 8, 10))[:, :3]
    array([[29., 19.,  8.]])
    """
    if sigmas is None:
        sigmas = np.linspace(1, 30, 10)
    return _core.find_blobs(image, sigmas, threshold, relative_threshold, overlap, threads)
