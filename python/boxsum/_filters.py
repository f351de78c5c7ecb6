"""Filters: what a window around every pixel says, by running sums: the window's area does not count.

What grows with a window all the same: where a border continues the image, its continuation is summed, too, which shows
where the window is not small beside the image (least with "shrink", which continues nothing, and most with "reflect",
"mirror" and "wrap"); and of floating images as many rows as a window has are kept, which leave the caches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np

from boxsum import _core
from boxsum._arrays import ArrayT, NumPyArray, adapt, data_type, is_on_device, real
from boxsum._types import Border, DType, NaN, Part, Size
from boxsum.errors import InvalidArgument, Unsupported

Statistic = Literal["mean", "var", "std", "sum", "count"]
ThresholdMethod = Literal["bradley", "niblack", "sauvola", "wolf", "nick", "singh", "phansalkar"]
ThresholdResult = Literal["mask", "binary", "threshold"]
Rounding = Literal["half_up", "floor"]
Direction = Literal["convolution", "correlation"]


def _sampling(
    mask: Any,
    weights: Any,
    nan: NaN,
    nodata: float | None,
    min_count: float | None,
    fill: float | None,
    part: Part | None,
) -> tuple[Any, ...] | None:
    """What says which pixels count, and which of a larger image they are; None where all do and they are all."""
    if (
        mask is None
        and weights is None
        and isinstance(nan, str)
        and nan == "propagate"
        and nodata is None
        and min_count is None
        and fill is None
        and part is None
    ):
        return None
    return mask, weights, nan, nodata, min_count, fill, part


@overload
def box_filter(
    image: NumPyArray,
    size: Size,
    *,
    stat: Literal["mean", "sum"] = ...,
    border: Border = ...,
    cval: float = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    part: Part | None = ...,
    origin: Size = ...,
    rounding: Rounding = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: NumPyArray | None = ...,
    count: NumPyArray | None = ...,
    threads: int = ...,
) -> NumPyArray: ...
@overload
def box_filter(
    image: ArrayT,
    size: Size,
    *,
    stat: Literal["mean", "sum"] = ...,
    border: Border = ...,
    cval: float = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    part: Part | None = ...,
    origin: Size = ...,
    rounding: Rounding = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: ArrayT | None = ...,
    count: ArrayT | None = ...,
    threads: int = ...,
) -> ArrayT: ...
def box_filter(
    image: Any,
    size: Size,
    *,
    stat: Literal["mean", "sum"] = "mean",
    border: Border = "reflect",
    cval: float = 0,
    mask: Any = None,
    weights: Any = None,
    nan: NaN = "propagate",
    nodata: float | None = None,
    min_count: float | None = None,
    fill: float | None = None,
    part: Part | None = None,
    origin: Size = 0,
    rounding: Rounding = "half_up",
    dtype: DType | None = None,
    channel_axis: int | None = None,
    out: Any = None,
    count: Any = None,
    threads: int = 0,
) -> Any:
    """Box mean (box blur): every pixel becomes the mean, or the sum, of the window around it.

    Args:
        image: (..., rows, cols), with ``channel_axis`` one axis more; of bool, uint8, uint16, int16, uint32, int32,
            float16, float32 or float64. Axes before are a batch. As for `sat`, strides that a window cannot run over are copied.
        size: Pixels of the window, or (rows, cols); at least 1. The pixel is in the middle, of an even size behind it.
        stat: ``"mean"`` or ``"sum"``.
        border: What windows see beyond the image. ``"shrink"``: nothing, windows are cut off. ``"reflect"``: the
            mirrored image, edge pixel repeated (SciPy's word). ``"mirror"``: the same, edge pixel not repeated
            (NumPy's and PyTorch's "reflect", OpenCV's default). ``"replicate"``: the edge pixel. ``"wrap"``: the image
            again. ``"constant"``: ``cval``. Where windows are not small beside the image, ``"shrink"`` is the quickest.
        cval: With ``border="constant"``; of integer images an integer in the range of their dtype.
        origin: Moves the window up and left by so many pixels, as SciPy's does.
        mask: (rows, cols), or with the image's batch before; bool or uint8: pixels where it is 0 do not count, whatever
            they hold.
        weights: As masks, float32: of the pixels, which count as much. One that is not above 0 takes its pixel out.
        nan: ``"omit"``: NaN pixels do not count; ``"propagate"``: they make the results of their windows NaN.
        nodata: Pixels of this value do not count.
        min_count: Where fewer pixels (or a smaller sum of weights) count in a window, and where none does, the result
            is ``fill``.
        fill: By default NaN, and 0 in results of integer type.
        part: (first, rows): the image is the rows from ``first`` on of an image of so many rows. Borders are then those
            of the whole, and results, with its bits, are of the rows whose windows lie in the part: all but the first
            and last few, unless the whole ends there. Not with ``border="wrap"``. `filter_rows` does it for all parts.
        rounding: Of results of integer type: ``"half_up"`` or ``"floor"``.
        dtype: Of means the image's (of bool images float64), float32 or float64; of sums int64 for integer images and
            float64 for floating ones or with weights, or int32 or float32.
        channel_axis, out, threads: As in `sat`. ``out`` does not overlap the image.
        count: An array of the result's shape to write to what counted in each window: the number of pixels (uint32) or,
            with weights, their sum (float64). Never ``fill``.

    Returns:
        An array of the image's shape and library. Window sums of integer images are exact; those of floating ones are
        made of additions in float64 only, so a NaN or a huge pixel acts on the windows that contain it and no other.

    Raises:
        InvalidArgument: a ValueError; a size, border, origin or ``out`` that is wrong.
        Unsupported: a TypeError; another dtype.
        OutOfMemory: a MemoryError.

    Source: McDonnell 1981; for floating images van Herk 1992, Gil and Werman 1993.

    >>> import numpy as np, boxsum
    >>> boxsum.box_filter(np.array([[0, 0, 9, 0, 0]], np.uint8), (1, 3))
    array([[0, 3, 3, 3, 0]], dtype=uint8)
    >>> boxsum.box_filter(np.array([[1.0, 3.0]]), (1, 3), border="shrink")
    array([[2., 2.]])
    >>> boxsum.box_filter(np.array([[1.0, np.nan, 3.0]]), (1, 3), nan="omit")
    array([[1., 2., 3.]])
    """
    sampling = _sampling(mask, weights, nan, nodata, min_count, fill, part)
    return _core.box_filter(
        image, size, stat, border, cval, origin, sampling, rounding, dtype, channel_axis, out, count, threads
    )


@overload
def variable_box_filter(
    image: NumPyArray,
    radius: Any,
    *,
    border: Border = ...,
    cval: float = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    largest_radius: int | None = ...,
    rounding: Rounding = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: NumPyArray | None = ...,
    count: NumPyArray | None = ...,
    threads: int = ...,
) -> NumPyArray: ...
@overload
def variable_box_filter(
    image: ArrayT,
    radius: Any,
    *,
    border: Border = ...,
    cval: float = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    largest_radius: int | None = ...,
    rounding: Rounding = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: ArrayT | None = ...,
    count: ArrayT | None = ...,
    threads: int = ...,
) -> ArrayT: ...
def variable_box_filter(
    image: Any,
    radius: Any,
    *,
    border: Border = "reflect",
    cval: float = 0,
    mask: Any = None,
    weights: Any = None,
    nan: NaN = "propagate",
    nodata: float | None = None,
    min_count: float | None = None,
    fill: float | None = None,
    largest_radius: int | None = None,
    rounding: Rounding = "half_up",
    dtype: DType | None = None,
    channel_axis: int | None = None,
    out: Any = None,
    count: Any = None,
    threads: int = 0,
) -> Any:
    """Box mean with a radius per pixel: the window of a pixel has 2 * radius + 1 rows and as many columns.

    Four reads of a table per pixel, whatever the radius: a depth of field from a depth map, say.

    Args:
        image: As in `box_filter`. Of floating images, means carry an error that grows with the image's sum
            (``docs/concepts.md``).
        radius: (rows, cols), or with the image's batch before; of any integer dtype, 0 to 2^31 - 1.
        border, cval, mask, weights, nan, nodata, min_count, fill, rounding, dtype, channel_axis, out, count, threads: As
            in `box_filter`. Sums of weights carry an error as means of floating images do.
        largest_radius: No radius exceeds it. Of arrays on a GPU, whose radii nobody looks at, greater ones act as it and
            negative ones as 0.

    Returns:
        An array of the image's shape and library.

    Raises:
        InvalidArgument: a ValueError; as `box_filter`, and for a radius that is negative or above ``largest_radius``.
        Unsupported: a TypeError; radii that are no integers.
        OutOfMemory: a MemoryError.

    Source: Crow 1984.

    >>> import numpy as np, boxsum
    >>> boxsum.variable_box_filter(np.array([[0.0, 3.0, 9.0]]), np.array([[0, 1, 0]]), border="replicate")
    array([[0., 4., 9.]])
    >>> boxsum.variable_box_filter(np.array([[0.0, 3.0, 9.0]]), np.array([[0, 1, 0]]), border="shrink", nodata=3)
    array([[0. , 4.5, 9. ]])
    """
    sampling = _sampling(mask, weights, nan, nodata, min_count, fill, None)
    return _core.variable_box_filter(
        image, _radii(radius), largest_radius, border, cval, sampling, rounding, dtype, channel_axis, out, count, threads
    )


_RADIUS_TYPES = ("uint8", "uint16", "uint32", "int32")


def _radii(radius: Any) -> Any:
    """Of a type that the library takes."""
    if is_on_device(radius):
        if str(getattr(radius, "dtype", "")).rpartition(".")[2] in _RADIUS_TYPES:
            return radius
        from boxsum import _devices

        return _devices.int32(radius)
    if isinstance(radius, (int, float)):
        raise Unsupported(
            f"radius: is {radius}, must be an array, one for each pixel; box_filter() has one size for all, 2 * radius + 1"
        )
    radii, _ = adapt(radius, "radius")
    if radii.dtype.kind not in "iu":
        raise Unsupported(f"radius: its dtype is {radii.dtype.name}, must be an integer")
    if radii.dtype.name not in _RADIUS_TYPES:
        largest = np.iinfo(np.int32).max
        wrong = radii[(radii < 0) | (radii > largest)]
        if wrong.size:
            raise InvalidArgument(f"radius: has {wrong.flat[0]}, must be 0 to {largest}")
        radii = radii.astype(np.int32)
    return radii


@overload
def variable_blur(
    image: NumPyArray,
    radius: Any,
    *,
    order: int = ...,
    largest_radius: int | None = ...,
    rounding: Rounding = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: NumPyArray | None = ...,
    threads: int = ...,
) -> NumPyArray: ...
@overload
def variable_blur(
    image: ArrayT,
    radius: Any,
    *,
    order: int = ...,
    largest_radius: int | None = ...,
    rounding: Rounding = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: ArrayT | None = ...,
    threads: int = ...,
) -> ArrayT: ...
def variable_blur(
    image: Any,
    radius: Any,
    *,
    order: int = 2,
    largest_radius: int | None = None,
    rounding: Rounding = "half_up",
    dtype: DType | None = None,
    channel_axis: int | None = None,
    out: Any = None,
    threads: int = 0,
) -> Any:
    """Smooth blur with a radius per pixel: the box of 2 * radius + 1 rows and columns, convolved with itself.

    It reaches order * radius pixels far and falls off to its edge where the order is above 1. At the border of the
    image it is cut off, and its weights are those that are left. (order + 1)^2 reads of a table of tables per pixel,
    whatever the radius; sums of weighted pixels are exact.

    Args:
        image: (..., rows, cols) of uint8 or uint16.
        radius: As in `variable_box_filter`.
        order: How many boxes: 1 is a box, 2 a tent, 3 a quadratic spline.
        largest_radius: No radius exceeds it. Of arrays on a GPU, whose radii nobody looks at, greater ones act as it and
            negative ones as 0; there the table has (rows + order * largest_radius) * (cols + order * largest_radius)
            entries of 8 bytes, and it must be given unless radii are uint8 (255).
        rounding, dtype, channel_axis, out, threads: As in `box_filter`.

    Returns:
        An array of the image's shape and library.

    Raises:
        InvalidArgument: a ValueError; as `variable_box_filter`, and for another order.
        Unsupported: a TypeError; images of other types, and radii whose weights 64 bits do not hold (of uint8 8199 at
            order 2 and 322 at order 3, of uint16 2047 and 127).
        OutOfMemory: a MemoryError.

    Source: Heckbert, "Filtering by repeated integration", 1986.

    >>> import numpy as np, boxsum
    >>> image = np.array([[0, 0, 90, 0, 0]], np.uint8)
    >>> boxsum.variable_blur(image, np.array([[1, 1, 1, 1, 0]]), order=2)
    array([[15, 23, 30, 23,  0]], dtype=uint8)
    """
    return _core.variable_blur(image, _radii(radius), order, largest_radius, rounding, dtype, channel_axis, out, threads)


@overload
def local_statistics(
    image: NumPyArray,
    size: Size,
    *,
    results: Sequence[Statistic] = ...,
    border: Border = ...,
    cval: float = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    part: Part | None = ...,
    origin: Size = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: Sequence[NumPyArray] | None = ...,
    threads: int = ...,
) -> tuple[NumPyArray, ...]: ...
@overload
def local_statistics(
    image: ArrayT,
    size: Size,
    *,
    results: Sequence[Statistic] = ...,
    border: Border = ...,
    cval: float = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    part: Part | None = ...,
    origin: Size = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: Sequence[ArrayT] | None = ...,
    threads: int = ...,
) -> tuple[ArrayT, ...]: ...
def local_statistics(
    image: Any,
    size: Size,
    *,
    results: Sequence[Statistic] = ("mean", "std"),
    border: Border = "reflect",
    cval: float = 0,
    mask: Any = None,
    weights: Any = None,
    nan: NaN = "propagate",
    nodata: float | None = None,
    min_count: float | None = None,
    fill: float | None = None,
    part: Part | None = None,
    origin: Size = 0,
    dtype: DType | None = None,
    channel_axis: int | None = None,
    out: Sequence[Any] | None = None,
    threads: int = 0,
) -> Any:
    """Mean, population variance, standard deviation and sum of the window around every pixel, in one pass.

    Args:
        image, size, border, cval, origin, mask, weights, nan, nodata, min_count, fill, part, channel_axis, threads: As
            in `box_filter`.
        results: Which, in the order wanted: ``"mean"``, ``"var"``, ``"std"``; ``"sum"`` (int64, or float64 for floating
            images and with weights); ``"count"``, what counted in each window (uint32, with weights float64).
        dtype: float64 or float32, of mean, var and std; by default float32 for float32 images and float64 for others.
        out: One array for each of the results.

    Returns:
        One array for each of ``results``. Variances are never negative, and exactly 0 where a window is constant.

    Raises:
        InvalidArgument: a ValueError; as `box_filter`, and for unknown or repeated results.
        Unsupported: a TypeError.
        OutOfMemory: a MemoryError.

    Source: exact integer numerators for integer images; Chan, Golub and LeVeque 1979 for floating ones, but for float32
    images whose pixels may not count: squared distances from one of a window's, up to as many times less exact as count.

    >>> import numpy as np, boxsum
    >>> mean, std = boxsum.local_statistics(np.array([[1, 3, 5]], np.uint8), (1, 3), border="shrink")
    >>> mean, std.round(3)
    (array([[2., 3., 4.]]), array([[1.   , 1.633, 1.   ]]))
    """
    sampling = _sampling(mask, weights, nan, nodata, min_count, fill, part)
    return _core.local_statistics(
        image, size, results, border, cval, origin, sampling, dtype, channel_axis, out, threads
    )


@overload
def threshold(
    image: NumPyArray,
    size: Size = ...,
    *,
    method: ThresholdMethod = ...,
    k: float | None = ...,
    r: float | None = ...,
    p: float | None = ...,
    q: float | None = ...,
    border: Border = ...,
    cval: float = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    part: Part | None = ...,
    origin: Size = ...,
    result: ThresholdResult = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: NumPyArray | None = ...,
    count: NumPyArray | None = ...,
    threads: int = ...,
) -> NumPyArray: ...
@overload
def threshold(
    image: ArrayT,
    size: Size = ...,
    *,
    method: ThresholdMethod = ...,
    k: float | None = ...,
    r: float | None = ...,
    p: float | None = ...,
    q: float | None = ...,
    border: Border = ...,
    cval: float = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    part: Part | None = ...,
    origin: Size = ...,
    result: ThresholdResult = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: ArrayT | None = ...,
    count: ArrayT | None = ...,
    threads: int = ...,
) -> ArrayT: ...
def threshold(
    image: Any,
    size: Size = 15,
    *,
    method: ThresholdMethod = "sauvola",
    k: float | None = None,
    r: float | None = None,
    p: float | None = None,
    q: float | None = None,
    border: Border = "reflect",
    cval: float = 0,
    mask: Any = None,
    weights: Any = None,
    nan: NaN = "propagate",
    nodata: float | None = None,
    min_count: float | None = None,
    fill: float | None = None,
    part: Part | None = None,
    origin: Size = 0,
    result: ThresholdResult = "mask",
    dtype: DType | None = None,
    channel_axis: int | None = None,
    out: Any = None,
    count: Any = None,
    threads: int = 0,
) -> Any:
    """Adaptive threshold: True where a pixel is above the threshold of its window, or that threshold itself.

    With m and s the window's mean and standard deviation the threshold is, by ``method``,

    - ``"bradley"``: m (1 - k), k = 0.15 (Bradley and Roth 2007);
    - ``"niblack"``: m + k s, k = -0.2 (Niblack 1986; scikit-image's k has the opposite sign);
    - ``"sauvola"``: m (1 + k (s / r - 1)), k = 0.2 (Sauvola and Pietikainen 2000);
    - ``"wolf"``: m - k (1 - s / s_max) (m - I_min), k = 0.5 (Wolf and Jolion 2004);
    - ``"nick"``: m + k sqrt(s^2 + m^2), k = -0.2 (Khurshid et al. 2009);
    - ``"singh"``: m (1 + k (d / (2 r - d) - 1)) with d = |pixel - m|, k = 0.2 (Singh et al. 2011);
    - ``"phansalkar"``: m (1 + p exp(-q m / (2 r)) + k (s / r - 1)), k = 0.25, p = 2, q = 10 (Phansalkar et al. 2011).

    Args:
        image, size, border, cval, origin, mask, weights, nan, nodata, min_count, fill, part, channel_axis, count,
            threads: As in `box_filter`. A pixel that does not count itself has the result ``fill``.
        method: See above.
        k, p, q: By default the method's.
        r: Of sauvola, singh and phansalkar; by default half the range of the image's dtype: 127.5 for uint8, and 0.5
            for bool and floating images, which are taken to lie in 0 to 1 (scikit-image takes -1 to 1, hence 1).
        result: ``"mask"`` is an array of bool, ``"binary"`` one of uint8 with 0 and 255, ``"threshold"`` the
            thresholds.
        dtype: Of thresholds: float64 or float32; by default float32 for float32 images.
        out: An array to write to.

    Returns:
        An array of the image's shape and library.

    Raises:
        InvalidArgument: a ValueError; as `box_filter`, and for k or r that are not finite, or an r without meaning.
        Unsupported: a TypeError.
        OutOfMemory: a MemoryError.

    Source: the method's, above; moments of windows from sums as in Shafait, Keysers and Breuel 2008.

    >>> import numpy as np, boxsum
    >>> page = np.array([[200, 210, 40, 205, 198]], np.uint8)
    >>> boxsum.threshold(page, (1, 5))
    array([[ True,  True, False,  True,  True]])
    """
    sampling = _sampling(mask, weights, nan, nodata, min_count, fill, part)
    return _core.threshold(
        image,
        size,
        method,
        (k, r, p, q),
        border,
        cval,
        origin,
        sampling,
        result,
        dtype,
        channel_axis,
        out,
        count,
        threads,
    )


@overload
def local_contrast(
    image: NumPyArray,
    size: Size = ...,
    *,
    epsilon: float = ...,
    border: Border = ...,
    cval: float = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    part: Part | None = ...,
    origin: Size = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: NumPyArray | None = ...,
    count: NumPyArray | None = ...,
    threads: int = ...,
) -> NumPyArray: ...
@overload
def local_contrast(
    image: ArrayT,
    size: Size = ...,
    *,
    epsilon: float = ...,
    border: Border = ...,
    cval: float = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    part: Part | None = ...,
    origin: Size = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: ArrayT | None = ...,
    count: ArrayT | None = ...,
    threads: int = ...,
) -> ArrayT: ...
def local_contrast(
    image: Any,
    size: Size = 15,
    *,
    epsilon: float = 1e-6,
    border: Border = "reflect",
    cval: float = 0,
    mask: Any = None,
    weights: Any = None,
    nan: NaN = "propagate",
    nodata: float | None = None,
    min_count: float | None = None,
    fill: float | None = None,
    part: Part | None = None,
    origin: Size = 0,
    dtype: DType | None = None,
    channel_axis: int | None = None,
    out: Any = None,
    count: Any = None,
    threads: int = 0,
) -> Any:
    """Local contrast normalisation: (pixel - m) / max(s, epsilon), with the window's mean m and deviation s.

    Args:
        image, size, border, cval, origin, mask, weights, nan, nodata, min_count, fill, part, channel_axis, count,
            threads: As in `box_filter`. A pixel that does not count itself has the result ``fill``.
        epsilon: The smallest divisor, in the image's units: finite, above 0.
        dtype: float32, which is the default and written directly, or float64, from mean and deviation.
        out: An array to write to.

    Returns:
        An array of the image's shape and library.

    Raises:
        InvalidArgument: a ValueError; as `box_filter`, and for the epsilon.
        Unsupported: a TypeError.
        OutOfMemory: a MemoryError.

    Source: the definition, with the moments of `local_statistics`.

    >>> import numpy as np, boxsum
    >>> boxsum.local_contrast(np.array([[1.0, 3.0, 5.0]]), (1, 3), border="shrink").round(3)
    array([[-1.,  0.,  1.]], dtype=float32)
    """
    sampling = _sampling(mask, weights, nan, nodata, min_count, fill, part)
    kind = data_type(np.float32 if dtype is None else dtype, "dtype")
    if kind != np.float32 and kind != np.float64:
        raise Unsupported(f"dtype: is {kind}, must be float32 or float64")
    given = image, size, epsilon, border, cval, origin, sampling, channel_axis, out, count, threads
    return _core.local_contrast(*given) if kind == np.float32 else _contrast_in_double(fill, *given)


def _contrast_in_double(fill: float | None, image: Any, size: Any, epsilon: float, *given: Any) -> Any:
    epsilon = real(epsilon, "epsilon")
    if not 0 < epsilon < np.inf:
        raise InvalidArgument(f"epsilon: is {epsilon}, must be finite and above 0")
    # What has no result is marked by the library's float32 contrasts, which are -inf there and nowhere else.
    result, deviation, marked, axis, first = _core.contrast_terms(image, size, *given)
    on_device = is_on_device(image)
    if on_device:
        from boxsum import _devices

        pixels, means, deviations = (_devices.own(one, "image") for one in (image, result, deviation))
    else:
        pixels, means, deviations = (adapt(one, "image")[0] for one in (image, result, deviation))
    of_results = [slice(None)] * means.ndim
    of_results[axis] = slice(first, first + means.shape[axis])
    pixels = pixels[tuple(of_results)]
    blank = np.nan if fill is None else float(fill)
    if on_device:
        marks = None if marked is None else _devices.own(marked, "image")
        _devices.contrast(pixels, means, deviations, epsilon, marks, blank)
    else:
        np.subtract(pixels, means, out=means)
        np.divide(means, np.maximum(deviations, epsilon, out=deviations), out=means)
        if marked is not None:
            means[np.isneginf(adapt(marked, "image")[0])] = blank
    return result


@overload
def convolve(
    image: NumPyArray,
    kernel: Any,
    *,
    direction: Direction = ...,
    border: Literal["constant", "replicate", "reflect"] = ...,
    cval: float = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: NumPyArray | None = ...,
    threads: int = ...,
    algorithm: str = ...,
) -> NumPyArray: ...
@overload
def convolve(
    image: ArrayT,
    kernel: Any,
    *,
    direction: Direction = ...,
    border: Literal["constant", "replicate", "reflect"] = ...,
    cval: float = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: ArrayT | None = ...,
    threads: int = ...,
    algorithm: str = ...,
) -> ArrayT: ...
def convolve(
    image: Any,
    kernel: Any,
    *,
    direction: Direction = "convolution",
    border: Literal["constant", "replicate", "reflect"] = "reflect",
    cval: float = 0,
    dtype: DType | None = None,
    channel_axis: int | None = None,
    out: Any = None,
    threads: int = 0,
    algorithm: str = "auto",
) -> Any:
    """Two-dimensional convolution with a kernel of any weights, in direct form.

    Args:
        image: As in `box_filter`.
        kernel: (rows, cols) finite numbers, 1 x 1 to 64 x 64.
        direction: ``"convolution"`` turns the kernel by 180 degrees (SciPy's ``convolve``); ``"correlation"`` lays it
            on the image as it is (SciPy's ``correlate``, OpenCV's ``filter2D``).
        border, cval: As in `box_filter`: ``"reflect"``, ``"replicate"`` or ``"constant"``.
        dtype: float32 or float64, in which it is computed; by default float32 for float32 images and float64 for
            others. float64 images have float64 results.
        channel_axis, out, threads: As in `box_filter`.
        algorithm: One of ``boxsum.algorithms("convolve")`` by name: on the CPU ``"simd"`` or ``"reference"``, on a GPU
            ``"systolic"``, ``"tiled"``, ``"ssam"`` or ``"direct"``.

    Returns:
        An array of the image's shape and library.

    Raises:
        InvalidArgument: a ValueError; a kernel, border or ``out`` that is wrong.
        Unsupported: a TypeError; another dtype, or an algorithm that does not take it, does not run there, or does not exist.
        OutOfMemory: a MemoryError.

    Source: the definition.

    >>> import numpy as np, boxsum
    >>> boxsum.convolve(np.array([[0.0, 0.0, 1.0, 0.0, 0.0]]), [[1, 2, 3]])
    array([[0., 1., 2., 3., 0.]])
    """
    return _core.convolve(image, kernel, direction, border, cval, dtype, channel_axis, out, threads, algorithm)


@overload
def guided_filter(
    image: NumPyArray,
    size: Size,
    *,
    guide: Any = ...,
    epsilon: float | None = ...,
    border: Border = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    origin: Size = ...,
    rounding: Rounding = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    guide_channel_axis: int | None = ...,
    out: NumPyArray | None = ...,
    count: NumPyArray | None = ...,
    threads: int = ...,
) -> NumPyArray: ...
@overload
def guided_filter(
    image: ArrayT,
    size: Size,
    *,
    guide: Any = ...,
    epsilon: float | None = ...,
    border: Border = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    origin: Size = ...,
    rounding: Rounding = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    guide_channel_axis: int | None = ...,
    out: ArrayT | None = ...,
    count: ArrayT | None = ...,
    threads: int = ...,
) -> ArrayT: ...
def guided_filter(
    image: Any,
    size: Size,
    *,
    guide: Any = None,
    epsilon: float | None = None,
    border: Border = "reflect",
    mask: Any = None,
    weights: Any = None,
    nan: NaN = "propagate",
    nodata: float | None = None,
    min_count: float | None = None,
    fill: float | None = None,
    origin: Size = 0,
    rounding: Rounding = "half_up",
    dtype: DType | None = None,
    channel_axis: int | None = None,
    guide_channel_axis: int | None = None,
    out: Any = None,
    count: Any = None,
    threads: int = 0,
) -> Any:
    """Guided filter: smooths the image and keeps the edges of the guide, at a cost that the window does not change.

    In every window the image is fitted by a linear function of the guide; a pixel becomes the mean of what the windows
    that contain it make of its guide.

    Args:
        image: (..., rows, cols), with ``channel_axis`` one axis more; of bool, uint8, uint16, float32 or float64. Every
            channel is filtered by itself.
        size: As in `box_filter`; ``2 * radius + 1`` of OpenCV's radius.
        guide: (rows, cols), or with the image's batch before; with ``guide_channel_axis`` one axis more, of 1 to 4
            channels. Dtypes as of the image. By default every channel of the image is its own guide.
        epsilon: Variances of the guide that are well below it are smoothed, those well above it are edges; finite,
            above 0. By default the square of a tenth of the guide's range: 650.25 for uint8, 42948362.25 for uint16,
            0.01 for floating guides and bool.
        border: As in `box_filter`, but not ``"constant"``.
        origin: As in `box_filter`, of the windows that are fitted; a pixel's result is made of those that contain it.
        mask, weights, nan, nodata, min_count: As in `box_filter`, of the image's pixels: fits are of what counts, and
            there is none where too little does. With ``nan="omit"`` pixels whose guide is NaN do not count, either.
        fill: As in `box_filter`: where no window around a pixel has a fit, where its guide is left out for NaN and,
            without a guide, where the pixel itself does not count. With one, such pixels are filled from their guide.
        rounding: Of results of integer type: ``"half_up"`` or ``"floor"``.
        dtype: The image's (of bool images float64), float32 or float64.
        channel_axis, out, threads: As in `sat`. ``out`` does not overlap the image or the guide.
        count: As in `box_filter`: what counted in the window around a pixel, of which its own fit is made.

    Returns:
        An array of the image's shape and library. Variances do not cancel, so a small epsilon loses no accuracy. On a
        device the fits are rounded to 24 bits, unless image, guide or result is of float64.

    Raises:
        InvalidArgument: a ValueError; as `box_filter`, and for the epsilon and a guide of another shape or place.
        Unsupported: a TypeError; another dtype.
        OutOfMemory: a MemoryError.

    Source: He, Sun and Tang 2010.

    >>> import numpy as np, boxsum
    >>> step = np.array([[0.0, 0.1, 0.0, 0.1, 1.0, 0.9, 1.0, 0.9]])
    >>> boxsum.guided_filter(step, (1, 3), epsilon=0.01).round(2)
    array([[0.03, 0.05, 0.03, 0.11, 0.97, 0.92, 0.95, 0.93]])
    """
    sampling = _sampling(mask, weights, nan, nodata, min_count, fill, None)
    return _core.guided_filter(
        image,
        size,
        guide,
        epsilon,
        border,
        origin,
        sampling,
        rounding,
        dtype,
        channel_axis,
        guide_channel_axis,
        out,
        count,
        threads,
    )


@overload
def non_local_means(
    image: NumPyArray,
    size: Size = ...,
    *,
    patch: Size = ...,
    strength: float | None = ...,
    noise: float = ...,
    border: Border = ...,
    cval: float = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    origin: Size = ...,
    rounding: Rounding = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: NumPyArray | None = ...,
    count: NumPyArray | None = ...,
    threads: int = ...,
) -> NumPyArray: ...
@overload
def non_local_means(
    image: ArrayT,
    size: Size = ...,
    *,
    patch: Size = ...,
    strength: float | None = ...,
    noise: float = ...,
    border: Border = ...,
    cval: float = ...,
    mask: Any = ...,
    weights: Any = ...,
    nan: NaN = ...,
    nodata: float | None = ...,
    min_count: float | None = ...,
    fill: float | None = ...,
    origin: Size = ...,
    rounding: Rounding = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: ArrayT | None = ...,
    count: ArrayT | None = ...,
    threads: int = ...,
) -> ArrayT: ...
def non_local_means(
    image: Any,
    size: Size = 21,
    *,
    patch: Size = 7,
    strength: float | None = None,
    noise: float = 0.0,
    border: Border = "reflect",
    cval: float = 0.0,
    mask: Any = None,
    weights: Any = None,
    nan: NaN = "propagate",
    nodata: float | None = None,
    min_count: float | None = None,
    fill: float | None = None,
    origin: Size = 0,
    rounding: Rounding = "half_up",
    dtype: DType | None = None,
    channel_axis: int | None = None,
    out: Any = None,
    count: Any = None,
    threads: int = 0,
) -> Any:
    """Non-local means: the mean of a search window's pixels, weighted by how alike their surroundings are.

    With D the mean squared difference of the patches around two pixels, over the patch and the channels, the weight is
    ``exp(-max(0, D - 2 * noise**2) / strength**2)``; a pixel's own is 1. Patches are whole: scikit-image's fast mode
    compares patches of one row and column less, and OpenCV takes weights from a table.

    Args:
        image: (..., rows, cols), with ``channel_axis`` one axis more, of at most 4 channels, which have one weight; of
            bool, uint8, uint16, float32 or float64.
        size: Rows and cols of the search window, or one number for both.
        patch: The same of what is compared, at most 129.
        strength: Patches that differ by it, root mean square, have 1/e of the weight of equal ones; above 0, in the image's
            units. By default 10 of 255 parts of the range: 10 for uint8, 2570 for uint16, 10 / 255 for bool and floating images.
        noise: Standard deviation of the noise in the image, which no difference is blamed for; in the image's units.
        border, cval: As in `box_filter`.
        origin: As in `box_filter`, of the search window.
        mask, weights, nan, nodata: As in `box_filter`; the channels of a pixel count together. Patches are compared by
            what counts in both, which takes many times as long with weights.
        min_count: Patches that share fewer pixels that count (or a smaller sum of products of their weights) are not
            compared.
        fill: As in `box_filter`: where nothing that counts is near enough and alike.
        rounding: Of integers: ``"half_up"`` or ``"floor"``.
        dtype: The image's (of bool images float64), float32 or float64.
        channel_axis, out, threads: As in `sat`. ``out`` does not overlap the image.
        count: As in `box_filter`, but of the pixels whose patches were compared with the pixel's own, for every channel.

    Returns:
        An array of the image's shape and library; of floating images within 2**-40 of the search window's largest magnitude,
        of integers within 2**-17, before it is rounded.

    Raises:
        InvalidArgument: a ValueError; as `box_filter`, and for the patch, the strength and the noise.
        Unsupported: a TypeError; another dtype, other channels, windows that reach more than 512 pixels.
        OutOfMemory: a MemoryError.

    Source: Buades, Coll and Morel 2005; sums of patches as in Darbon et al. 2008.

    >>> import numpy as np, boxsum
    >>> edge = np.array([[10, 12, 11, 9, 90, 91, 88, 90]], np.uint8)
    >>> boxsum.non_local_means(edge, (1, 7), patch=(1, 3))
    array([[11, 11, 11,  9, 90, 90, 89, 90]], dtype=uint8)
    """
    sampling = _sampling(mask, weights, nan, nodata, min_count, fill, None)
    return _core.non_local_means(
        image,
        size,
        patch,
        strength,
        noise,
        border,
        cval,
        origin,
        sampling,
        rounding,
        dtype,
        channel_axis,
        out,
        count,
        threads,
    )
