"""Summed area tables, and the boxes that are read from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Generic, cast, overload

import numpy as np

from boxsum import _core
from boxsum._arrays import ArrayT, ImageT, NumPyArray, Wrap, adapt, data_type, is_on_device, numpy_of, pair, real, shape_of, whole
from boxsum._types import Boxes, BoxFormat, Corner, DType, Layout, NaN, Size
from boxsum.errors import InvalidArgument, Unsupported

ROW_ALIGNMENT = 64  # bytes; rows that start on such multiples can be written past the caches


@overload
def sat(
    image: NumPyArray,
    *,
    layout: Layout = ...,
    corner: Corner = ...,
    above: Any = ...,
    left: Any = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: NumPyArray | None = ...,
    threads: int = ...,
    algorithm: str = ...,
) -> NumPyArray: ...
@overload
def sat(
    image: ArrayT,
    *,
    layout: Layout = ...,
    corner: Corner = ...,
    above: Any = ...,
    left: Any = ...,
    dtype: DType | None = ...,
    channel_axis: int | None = ...,
    out: ArrayT | None = ...,
    threads: int = ...,
    algorithm: str = ...,
) -> ArrayT: ...
def sat(
    image: Any,
    *,
    layout: Layout = "inclusive",
    corner: Corner = "first",
    above: Any = None,
    left: Any = None,
    dtype: DType | None = None,
    channel_axis: int | None = None,
    out: Any = None,
    threads: int = 0,
    algorithm: str = "auto",
) -> Any:
    """Summed area table (integral image): entry (r, c) is the sum of all pixels above and to the left.

    Args:
        image: (..., rows, cols), or with ``channel_axis`` one axis more. NumPy's arrays and those of every library that
            speaks DLPack, in host memory or, in builds with CUDA, on a GPU, of bool, integers or real floating types.
            Calls on a GPU enqueue on its library's current stream. Axes before the last two are a batch. Any distance
            between rows and images is taken as it is, and Fortran order, too; other strides are copied and counted
            (`boxsum.memory.copies`).
        layout: ``"inclusive"`` has the image's shape and includes its own pixel, as two ``cumsum``. ``"exclusive"``
            ends before it. ``"padded"`` is that with the last row and column kept, (rows + 1) x (cols + 1): OpenCV's.
        corner: From which pixel the sums begin. ``"last"`` makes the suffix table, the mirror image of this one: entry
            (r, c) sums all pixels below and to the right, and the zeros of ``"padded"`` come last. By way of a copy.
        above, left: Where the image is a part of a larger one, the whole table's inclusive sums next to it, so that the
            result is this part of the whole table (`sat_rows` makes it part by part). ``above`` is the row of sums
            above the part, of the image's shape without its axis of rows: from the entry above and to the left of the
            first pixel on, cols + 1, or cols of them where that is 0. ``left`` is the column of sums to the left of it,
            without the axis of columns. Of images in host memory; None where there is nothing.
        dtype: Of the table. By default uint64 for bool and unsigned images, int64 for signed, float64 for floating
            ones. Integers wrap modulo 2^bits, and sums of boxes stay exact as long as they fit
            (`largest_safe_box`).
        channel_axis: The axis of channels, which are summed each by themselves; -1 for interleaved pixels.
        out: An array of exactly the result's shape and dtype to write to; never copied.
        threads: 0 chooses by size, or takes what `set_num_threads` said.
        algorithm: A name of `algorithms`, or "auto".

    Returns:
        The table, of the image's library. Floating tables have the same bits from run to run and for any number of
        threads.

    Raises:
        InvalidArgument: a ValueError; a shape, layout, ``out`` or number of threads that is wrong.
        Unsupported: a TypeError; types without tables.
        OutOfMemory: a MemoryError.

    Source: Crow, "Summed-area tables for texture mapping", 1984.

    >>> import numpy as np, boxsum
    >>> boxsum.sat(np.array([[1, 2], [3, 4]], np.uint8))
    array([[ 1,  3],
           [ 4, 10]], dtype=uint64)
    >>> boxsum.sat(np.ones((2, 3), np.float32), layout="padded")
    array([[0., 0., 0., 0.],
           [0., 1., 2., 3.],
           [0., 2., 4., 6.]])
    >>> boxsum.sat(np.array([[1, 2], [3, 4]], np.uint8), corner="last")
    array([[10,  6],
           [ 7,  4]], dtype=uint64)
    >>> boxsum.sat(np.array([[5, 6]], np.uint8), above=[4, 6])  # the last row of [[1, 2], [3, 0], [5, 6]]
    array([[ 9, 17]], dtype=uint64)
    """
    around = None if above is None and left is None else _around(above, left, image, channel_axis)
    return _core.sat(image, layout, dtype, channel_axis, out, threads, algorithm, 1, corner, around)


def _around(above: Any, left: Any, image: Any, channel_axis: int | None, suffix: str = "") -> tuple[Any, Any]:
    """The sums above a part and to its left as `_core` takes them: (batch, entries, channels)."""
    shape = shape_of(image, "image")
    axes = _axes_without_channels(shape, channel_axis)
    if len(axes) < 2:
        raise InvalidArgument(f"image: its shape is {shape}, must have rows and columns")
    found: list[Any] = []
    for given, name, gone, kept, more in ((above, "above", -2, -1, 1), (left, "left", -1, -2, 0)):
        if given is None:
            found.append(None)
            continue
        named = name + suffix
        entries = _core.numbers(given, named) if isinstance(given, (list, tuple)) else adapt(given, named)[0]
        if entries.dtype.kind not in "iuf":
            raise Unsupported(f"{named}: its dtype is {entries.dtype}, must be that of the table")
        order = [axis for axis in range(len(shape)) if axis != axes[gone]]
        expected = [shape[axis] for axis in order]
        along = order.index(axes[kept])
        longer = [extent + more * (place == along) for place, extent in enumerate(expected)]
        if list(entries.shape) not in (expected, longer):
            either = f"{tuple(longer)} or {tuple(expected)}" if more else f"{tuple(expected)}"
            raise InvalidArgument(f"{named}: its shape is {entries.shape}, must be {either}")
        if channel_axis is not None:
            entries = np.moveaxis(entries, order.index(range(len(shape))[channel_axis]), -1)
        found.append(entries.ravel())
    return found[0], found[1]


def sat_rows(
    blocks: Iterable[Any],
    *,
    layout: Layout = "inclusive",
    dtype: DType | None = None,
    channel_axis: int | None = None,
    threads: int = 0,
    algorithm: str = "auto",
) -> Iterator[NumPyArray]:
    """The table of an image that comes in blocks of rows, block by block: of one larger than memory, say.

    Args:
        blocks: Arrays of one dtype and of the same columns, in host memory, with axes as of `sat`.
        layout, dtype, channel_axis, threads, algorithm: As of `sat`.

    Returns:
        An iterator of the rows of the whole table that each block adds: as many as it has, of ``"padded"`` one more for
        the first. Only the last row of sums is kept. Integers are those of `sat` for the whole image; floating ones
        agree within the bound of their type, as each block's own sums are rounded before they are added.

    Raises:
        InvalidArgument: a ValueError; as `sat`, and for blocks of other columns.
        Unsupported: a TypeError; as `sat`, and for what is no sequence of arrays.
        OutOfMemory: a MemoryError.

    Source: Crow 1984.

    >>> import numpy as np, boxsum
    >>> image = np.arange(60, dtype=np.uint8).reshape(12, 5)
    >>> whole = np.concatenate(list(boxsum.sat_rows(np.split(image, 4), layout="padded")))
    >>> bool((whole == boxsum.sat(image, layout="padded")).all())
    True
    """
    if not isinstance(layout, str) or layout not in ("inclusive", "exclusive", "padded"):
        raise InvalidArgument(f"layout: is {layout!r}, must be one of 'inclusive', 'exclusive', 'padded'")
    if not isinstance(blocks, Iterable) or getattr(blocks, "ndim", 1) == 0:
        raise Unsupported(f"blocks: is {blocks!r}, must be arrays in turn")
    return _tables_of(blocks, layout, dtype, channel_axis, threads, algorithm)


def _tables_of(
    blocks: Iterable[Any], layout: Layout, dtype: Any, channel_axis: int | None, threads: int, algorithm: str
) -> Iterator[NumPyArray]:
    above = None
    form: tuple[Any, ...] = ()
    for given in blocks:
        block, _ = adapt(given, "blocks")
        axes = _axes_without_channels(block.shape, channel_axis)
        if len(axes) < 2:
            raise InvalidArgument(f"blocks: one has the shape {block.shape}, must have rows and columns")
        rows, cols = axes[-2:]
        if block.shape[rows] == 0:
            continue
        before, form = form, (block.dtype, *(extent for axis, extent in enumerate(block.shape) if axis != rows))
        if above is not None and form != before:
            raise InvalidArgument(f"blocks: one is of {form}, those before of {before} (dtype, and shape without rows)")
        # Padded tables have all that the other layouts have, and the last row of sums for the next block.
        table = sat(
            block, layout="padded", above=above, dtype=dtype, channel_axis=channel_axis, threads=threads, algorithm=algorithm
        )
        inner = [slice(None)] * table.ndim
        if layout != "padded":
            inner[cols] = slice(1, None) if layout == "inclusive" else slice(None, -1)
        if layout == "exclusive":
            inner[rows] = slice(None, -1)
        elif layout == "inclusive" or above is not None:
            inner[rows] = slice(1, None)
        above = np.take(table, -1, axis=rows)
        yield table[tuple(inner)]


@overload
def image_means(image: NumPyArray, *, channel_axis: int | None = ...) -> NumPyArray: ...
@overload
def image_means(image: ArrayT, *, channel_axis: int | None = ...) -> ArrayT: ...
def image_means(image: ArrayT, *, channel_axis: int | None = None) -> ArrayT:
    """The mean of every image and channel: what `Table.build` takes as ``offset``.

    Args:
        image: (..., rows, cols), as in `sat`.
        channel_axis: As in `sat`.

    Returns:
        (*batch[, channels]), float64, of the image's library and on its device. The same bits on the CPU and on a GPU.

    Raises:
        InvalidArgument: a ValueError; an image without pixels.
        Unsupported: a TypeError; as `sat`.

    Source: Hensley et al. 2005, section 4.

    >>> import numpy as np, boxsum
    >>> boxsum.image_means(np.array([[1, 2], [3, 4]], np.uint8))
    array(2.5)
    """
    return cast(ArrayT, _core.image_means(image, channel_axis))


def _narrow_signed(image: Any) -> tuple[NumPyArray, Wrap] | None:
    """What `adapt` makes of an image of int8 or int16 in host memory; None for others."""
    kind = getattr(image, "dtype", None)
    code = getattr(kind, "char", None)  # of NumPy's types, which is quick
    if code not in (None, "b", "h") or code is None and str(kind or "int8").rpartition(".")[2] not in ("int8", "int16"):
        return None
    if isinstance(image, type) or is_on_device(image):
        return None
    pixels, wrap = adapt(image, "image")
    return (pixels, wrap) if pixels.dtype.kind == "i" and pixels.dtype.itemsize <= 2 else None


def _squares(pixels: NumPyArray, wrap: Wrap) -> Any:
    """Of int8 and int16, exactly, as an array of the image's library."""
    squares = np.square(pixels, dtype=np.int32).view(np.uint32)
    return squares if wrap is None else wrap(squares)


@overload
def sat_squares(
    image: NumPyArray,
    *,
    layout: Layout = ...,
    dtype: DType | None = ...,
    squares_dtype: DType | None = ...,
    above: tuple[Any, Any] | None = ...,
    left: tuple[Any, Any] | None = ...,
    channel_axis: int | None = ...,
    out: tuple[NumPyArray, NumPyArray] | None = ...,
    threads: int = ...,
    algorithm: str = ...,
) -> tuple[NumPyArray, NumPyArray]: ...
@overload
def sat_squares(
    image: ArrayT,
    *,
    layout: Layout = ...,
    dtype: DType | None = ...,
    squares_dtype: DType | None = ...,
    above: tuple[Any, Any] | None = ...,
    left: tuple[Any, Any] | None = ...,
    channel_axis: int | None = ...,
    out: tuple[ArrayT, ArrayT] | None = ...,
    threads: int = ...,
    algorithm: str = ...,
) -> tuple[ArrayT, ArrayT]: ...
def sat_squares(
    image: Any,
    *,
    layout: Layout = "inclusive",
    dtype: DType | None = None,
    squares_dtype: DType | None = None,
    above: tuple[Any, Any] | None = None,
    left: tuple[Any, Any] | None = None,
    channel_axis: int | None = None,
    out: tuple[Any, Any] | None = None,
    threads: int = 0,
    algorithm: str = "auto",
) -> Any:
    """The tables of the pixels and of their squares, in one pass over the image.

    Args:
        image: As in `sat`, of bool, uint8, uint16, float16, float32 or float64; in host memory also of int8 and int16,
            which take two passes and a copy.
        layout, channel_axis, threads, algorithm: As in `sat`.
        dtype: Of the table of pixels, as in `sat`.
        squares_dtype: Of the table of squares; by default ``dtype``'s, and uint64 for int8 and int16.
        above, left: Of parts of larger images, as in `sat`: each of both tables.
        out: Two arrays to write to.

    Returns:
        The table of pixels and that of squares.

    Raises:
        InvalidArgument: a ValueError; as `sat`.
        Unsupported: a TypeError; the message lists the types that there are.
        OutOfMemory: a MemoryError.

    Source: Crow 1984; squares as in Viola and Jones 2001.

    >>> import numpy as np, boxsum
    >>> sums, squares = boxsum.sat_squares(np.array([[1, 2], [3, 4]], np.uint8))
    >>> int(sums[1, 1]), int(squares[1, 1])
    (10, 30)
    """
    first, second = (None, None) if out is None else pair(out, "out", "two arrays, for sums and for squares")
    around: list[Any] = [None, None]
    if above is not None or left is not None:
        sides = [
            pair((None, None) if one is None else one, name, "two arrays, of sums and of squares")
            for one, name in ((above, "above"), (left, "left"))
        ]
        around = [
            _around(upper, beside, image, channel_axis, f"[{i}]")
            for i, (upper, beside) in enumerate(zip(*sides, strict=True))
        ]
    narrow = _narrow_signed(image)
    if narrow is not None:
        squared = _squares(*narrow)
        sums = _core.sat(image, layout, dtype, channel_axis, first, threads, algorithm, 1, "first", around[0])
        kind = np.uint64 if squares_dtype is None else squares_dtype
        return sums, _core.sat(squared, layout, kind, channel_axis, second, threads, algorithm, 1, "first", around[1])
    return _core.sat_squares(
        image, layout, dtype, squares_dtype, channel_axis, first, second, threads, algorithm, 1, *around
    )


@overload
def box_sum(
    table: NumPyArray,
    boxes: Boxes,
    *,
    layout: Layout,
    format: BoxFormat = ...,
    channel_axis: int | None = ...,
    out: NumPyArray | None = ...,
) -> NumPyArray: ...
@overload
def box_sum(
    table: ArrayT,
    boxes: Boxes,
    *,
    layout: Layout,
    format: BoxFormat = ...,
    channel_axis: int | None = ...,
    out: ArrayT | None = ...,
) -> ArrayT: ...
def box_sum(
    table: ArrayT,
    boxes: Boxes,
    *,
    layout: Layout,
    format: BoxFormat = "rchw",
    channel_axis: int | None = None,
    out: ArrayT | None = None,
) -> ArrayT:
    """Sums of the image over boxes, from a table that is a bare array: four reads each, however large the boxes.

    Args:
        table: (..., rows, cols) as `sat` made it.
        boxes: (..., 4). Integers are whole pixels. Floating numbers are edges within pixels, pixel (r, c) being the
            square from (r, c) to (r + 1, c + 1): the result is the integral of the image over the box, exact up to
            the rounding of its last additions.
        layout: Of the table; a bare array does not say it. `Table` knows.
        format: ``"rchw"``: row, column, rows, columns. ``"yxyx"``: first row and column, and those behind the last.
            ``"xyxy"``: the same, columns first (torchvision's). ``"xywh"``: column, row, columns, rows (COCO's).
        channel_axis: As in `sat`.
        out: An array to write to, packed.

    Returns:
        (*batch, *boxes' leading axes[, channels]): the table's dtype, or float64 for fractional boxes.

    Raises:
        InvalidArgument: a ValueError; a box that is empty or outside the image, with its index.
        Unsupported: a TypeError; a table of another dtype.

    Source: Crow 1984; the four reads as in Chen et al. 2018, figure 1.

    >>> import numpy as np, boxsum
    >>> table = boxsum.sat(np.arange(12, dtype=np.uint8).reshape(3, 4), layout="padded")
    >>> boxsum.box_sum(table, [[1, 1, 2, 2], [0, 0, 3, 4]], layout="padded")
    array([30, 66], dtype=uint64)
    >>> boxsum.box_sum(table, [0.5, 0.0, 1.0, 1.0], layout="padded")  # half of pixel 0 and half of pixel 4
    array(2.)
    """
    return cast(ArrayT, _core.box_query("sum", table, None, boxes, layout, format, channel_axis, out, None))


@overload
def box_mean(
    table: NumPyArray,
    boxes: Boxes,
    *,
    layout: Layout,
    format: BoxFormat = ...,
    channel_axis: int | None = ...,
    out: NumPyArray | None = ...,
) -> NumPyArray: ...
@overload
def box_mean(
    table: ArrayT,
    boxes: Boxes,
    *,
    layout: Layout,
    format: BoxFormat = ...,
    channel_axis: int | None = ...,
    out: ArrayT | None = ...,
) -> ArrayT: ...
def box_mean(
    table: ArrayT,
    boxes: Boxes,
    *,
    layout: Layout,
    format: BoxFormat = "rchw",
    channel_axis: int | None = None,
    out: ArrayT | None = None,
) -> ArrayT:
    """Means over boxes: `box_sum` divided by the area, in float64. Arguments, errors and source are `box_sum`'s.

    >>> import numpy as np, boxsum
    >>> table = boxsum.sat(np.arange(12, dtype=np.uint8).reshape(3, 4))
    >>> float(boxsum.box_mean(table, [1, 1, 2, 2], layout="inclusive"))
    7.5
    """
    return cast(ArrayT, _core.box_query("mean", table, None, boxes, layout, format, channel_axis, out, None))


@overload
def box_var(
    table: NumPyArray,
    squares: NumPyArray,
    boxes: Boxes,
    *,
    layout: Layout,
    format: BoxFormat = ...,
    channel_axis: int | None = ...,
    out: NumPyArray | None = ...,
) -> NumPyArray: ...
@overload
def box_var(
    table: ArrayT,
    squares: ArrayT,
    boxes: Boxes,
    *,
    layout: Layout,
    format: BoxFormat = ...,
    channel_axis: int | None = ...,
    out: ArrayT | None = ...,
) -> ArrayT: ...
def box_var(
    table: ArrayT,
    squares: ArrayT,
    boxes: Boxes,
    *,
    layout: Layout,
    format: BoxFormat = "rchw",
    channel_axis: int | None = None,
    out: ArrayT | None = None,
) -> ArrayT:
    """Population variances over boxes, in float64, from the two tables of `sat_squares`.

    From integer tables the numerator is exact, so a variance is never negative and that of a constant box is 0.
    Otherwise, and for fractional boxes, it is a difference in float64, clipped at 0. Arguments and errors are
    `box_sum`'s.

    Source: Viola and Jones 2001.

    >>> import numpy as np, boxsum
    >>> sums, squares = boxsum.sat_squares(np.array([[1, 2], [3, 4]], np.uint8))
    >>> float(boxsum.box_var(sums, squares, [0, 0, 2, 2], layout="inclusive"))
    1.25
    """
    return cast(ArrayT, _core.box_query("var", table, squares, boxes, layout, format, channel_axis, out, None))


def box_var_bound(
    table: Any,
    squares: Any,
    boxes: Boxes,
    *,
    layout: Layout,
    format: BoxFormat = "rchw",
    channel_axis: int | None = None,
    out: NumPyArray | None = None,
) -> NumPyArray:
    """How far `box_var` may be from the variance of the pixels whose sums the tables hold, at most, in float64.

    Sums of squares cancel: with an offset of 10^6 and a deviation of 1, float64 tables leave four digits or none, and this
    says which. Of two integer tables it is a unit in the last place, as long as both box sums fit their types. Of host
    arrays and boxes of whole pixels; arguments and errors are `box_sum`'s.

    Source: the bound of floating tables on the four entries of each, and the roundings of the query.

    >>> import numpy as np, boxsum
    >>> image = np.array([[1e6, 1e6 + 2]])
    >>> sums, squares = boxsum.sat_squares(image)
    >>> bound = boxsum.box_var_bound(sums, squares, [0, 0, 1, 2], layout="inclusive")
    >>> abs(float(boxsum.box_var(sums, squares, [0, 0, 1, 2], layout="inclusive")) - 1) <= float(bound) < 0.1
    True
    """
    found = _core.box_query("var_bound", table, squares, boxes, layout, format, channel_axis, out, None)
    return cast(NumPyArray, found)


def largest_safe_box(image_dtype: DType, table_dtype: DType, *, squares: bool = False) -> int:
    """The number of pixels up to which the sum of a box is certain to be exact, whatever is in the image.

    Args:
        image_dtype, table_dtype: Types of NumPy's.
        squares: Of a table of squared pixels.

    Returns:
        Pixels; 0 where no box is certain (floating images).

    Raises:
        Unsupported: a TypeError; what is no element type.

    Source: arithmetic; the largest sum that the table's type holds, by the largest pixel.

    >>> import boxsum
    >>> boxsum.largest_safe_box("uint8", "uint32")
    16843009
    """
    image, table = data_type(image_dtype, "image_dtype"), data_type(table_dtype, "table_dtype")
    narrow = {"bool": 1, "int8": 128}.get(image.name)
    if narrow is None:
        return _core.largest_safe_box(image, table, bool(squares))
    if table.kind == "f":
        most = 2 ** (np.finfo(table).nmant + 1)
    elif table.kind in "iu":
        most = int(np.iinfo(table).max)
    else:
        raise Unsupported(f"table_dtype: is {table.name}, no type of tables")
    if narrow == 128 and table.kind == "u" and not squares:
        return 0
    return int(min(most // (narrow**2 if squares else narrow), 2**63 - 1))


def _axes_without_channels(shape: tuple[int, ...], channel_axis: int | None) -> list[int]:
    axes = list(range(len(shape)))
    if channel_axis is not None:
        if not -len(axes) <= whole(channel_axis, "channel_axis") < len(axes):
            raise InvalidArgument(f"channel_axis: is {channel_axis}, but there are {len(axes)} axes")
        del axes[channel_axis]
    return axes


_FIRST = (0, 0)


def _form_of(
    layout: Layout, origin: Any, offset: Any, shape: tuple[int, ...], channel_axis: int | None
) -> tuple[tuple[int, int], Any, Any]:
    """Origin and offset as they are kept, and what tells `_core` of them beside the layout."""
    if origin is _FIRST and type(offset) is float and offset == 0:
        return origin, offset, layout
    row, col = (whole(part, "origin") for part in pair(origin, "origin", "a pair of integers, row and column"))
    if isinstance(offset, (int, float)):
        offset = real(offset, "offset")
        plain = offset == 0 and row == 0 and col == 0
        return (row, col), offset, layout if plain else (layout, row, col, offset)
    if is_on_device(offset):
        from boxsum import _devices

        offset = _devices.to_host(offset, "offset")
    numbers = _core.numbers(offset, "offset").astype(np.float64)
    if numbers.ndim == 0:
        return (row, col), float(numbers), (layout, row, col, float(numbers))
    leading = tuple(shape[axis] for axis in _axes_without_channels(shape, channel_axis)[:-2])
    leading += () if channel_axis is None else (shape[channel_axis],)
    if numbers.shape != leading:
        raise InvalidArgument(f"offset: its shape is {numbers.shape}, must be {leading}")
    return (row, col), numbers, (layout, row, col, np.ascontiguousarray(numbers).ravel())


def _counted(
    image: Any,
    form: Any,
    dtype: DType | None,
    squares_dtype: DType | None,
    channel_axis: int | None,
    threads: int,
    algorithm: str,
    samples: tuple[Any, Any, NaN, float | None],
    squares: bool,
) -> tuple[Any, Any, Any]:
    """The tables of the pixels that count, of their squares (or None) and of how many count."""

    def made(pixels: Any, entries: DType | None, which: Any, both: bool) -> tuple[Any, Any, Any]:
        found = _core.sat_counted(
            pixels, form, entries, squares_dtype, channel_axis, threads, algorithm, ROW_ALIGNMENT, which, both
        )
        return cast("tuple[Any, Any, Any]", found)

    mask, weights, nan, nodata = samples
    narrow = _narrow_signed(image) if squares and weights is None else None
    if narrow is None:
        return made(image, dtype, samples, squares)
    values, _, counts = made(image, dtype, samples, False)
    pixels, wrap = narrow
    if nodata is not None:
        pixels = np.where(pixels == nodata, pixels.dtype.type(0), pixels)  # as which it is summed
    squared = _squares(pixels, wrap)
    kind = np.uint64 if squares_dtype is None else squares_dtype
    second, _, _ = made(squared, kind, (mask, None, nan, None), False)
    return values, second, counts


def _with_squares(
    image: Any,
    form: Any,
    layout: Layout,
    offset: Any,
    dtype: DType | None,
    squares_dtype: DType | None,
    channel_axis: int | None,
    threads: int,
    algorithm: str,
) -> Any:
    """The tables of the pixels and of their squares."""
    narrow = _narrow_signed(image)
    if narrow is None:
        return _core.sat_squares(
            image, form, dtype, squares_dtype, channel_axis, None, None, threads, algorithm, ROW_ALIGNMENT, None, None
        )
    squared = _squares(*narrow)
    if form != layout and np.any(offset):
        raise Unsupported("offset: tables of squares have one where both tables are floating")
    kind = np.uint64 if squares_dtype is None else squares_dtype
    return tuple(
        _core.sat(pixels, form, entries, channel_axis, None, threads, algorithm, ROW_ALIGNMENT, "first", None)
        for pixels, entries in ((image, dtype), (squared, kind))
    )


class Table(Generic[ArrayT]):
    """A table that knows how it is to be read. Rows start on 64 bytes, which is fastest.

    Tables can be pickled and copied; ``numpy.asarray(table)`` is its `values`.

    >>> import numpy as np, boxsum
    >>> table = boxsum.Table.build(np.arange(12, dtype=np.uint8).reshape(3, 4), squares=True)
    >>> table
    <boxsum.Table of 3 x 4 pixels, padded, uint64 and squares>
    >>> int(table[1:3, 1:3])
    30
    >>> table.mean([[1, 1, 2, 2]]), table.var([1, 1, 2, 2])
    (array([7.5]), array(4.25))
    """

    __slots__ = ("values", "squares", "counts", "layout", "shape", "channel_axis", "origin", "offset", "_form")

    values: ArrayT
    """The table itself; its shape is one larger per axis than the image's for "padded"."""
    squares: ArrayT | None
    """The table of squares, where it was asked for."""
    counts: ArrayT | None
    """The table of how many pixels count, or of their weights, where some may not."""
    layout: Layout
    shape: tuple[int, ...]
    """The image's."""
    channel_axis: int | None
    origin: tuple[int, int]
    """The pixel that the table grows from, (0, 0) where nothing else was asked for."""
    offset: Any
    """What was taken from every pixel: a number, or an array of (*batch[, channels])."""

    def __init__(
        self,
        values: ArrayT,
        squares: ArrayT | None = None,
        *,
        counts: ArrayT | None = None,
        layout: Layout | None = None,
        channel_axis: int | None = None,
        origin: tuple[int, int] = _FIRST,
        offset: Any = 0.0,
    ) -> None:
        """Takes tables that exist, whose layout must be said; `build` makes them of an image. Raises InvalidArgument for an
        unknown layout or axis, Unsupported for what is no array and for no layout.
        """
        if layout is None:
            raise Unsupported(
                "layout: is not given; Table() takes a table that exists, and Table.build() makes one of an image"
            )
        if not isinstance(layout, str) or layout not in ("inclusive", "exclusive", "padded"):
            raise InvalidArgument(f"layout: is {layout!r}, must be one of 'inclusive', 'exclusive', 'padded'")
        self.values = values
        self.squares = squares
        self.counts = counts
        self.layout = layout
        self.channel_axis = channel_axis
        shape = shape_of(values, "values")
        extents = list(shape)
        for axis in _axes_without_channels(shape, channel_axis)[-2:]:
            extents[axis] -= layout == "padded"
        self.shape = tuple(extents)
        self.origin, self.offset, self._form = _form_of(layout, origin, offset, self.shape, channel_axis)

    @overload
    @classmethod
    def build(
        cls,
        image: NumPyArray,
        *,
        squares: bool = ...,
        layout: Layout = ...,
        dtype: DType | None = ...,
        squares_dtype: DType | None = ...,
        channel_axis: int | None = ...,
        origin: tuple[int, int] = ...,
        offset: Any = ...,
        mask: Any = ...,
        weights: Any = ...,
        nan: NaN = ...,
        nodata: float | None = ...,
        threads: int = ...,
        algorithm: str = ...,
    ) -> Table[NumPyArray]: ...
    @overload
    @classmethod
    def build(
        cls,
        image: ImageT,
        *,
        squares: bool = ...,
        layout: Layout = ...,
        dtype: DType | None = ...,
        squares_dtype: DType | None = ...,
        channel_axis: int | None = ...,
        origin: tuple[int, int] = ...,
        offset: Any = ...,
        mask: Any = ...,
        weights: Any = ...,
        nan: NaN = ...,
        nodata: float | None = ...,
        threads: int = ...,
        algorithm: str = ...,
    ) -> Table[ImageT]: ...
    @classmethod
    def build(
        cls,
        image: Any,
        *,
        squares: bool = False,
        layout: Layout = "padded",
        dtype: DType | None = None,
        squares_dtype: DType | None = None,
        channel_axis: int | None = None,
        origin: tuple[int, int] = _FIRST,
        offset: Any = 0.0,
        mask: Any = None,
        weights: Any = None,
        nan: NaN = "propagate",
        nodata: float | None = None,
        threads: int = 0,
        algorithm: str = "auto",
    ) -> Any:
        """Makes the table of an image, and that of its squares where ``squares`` says so (for variances).

        A floating table of a large image loses what its large entries do not hold. Two remedies keep them small, and
        queries undo both.

        Args:
            origin: (row, col) of the pixel that the table grows from, in all four directions: the middle makes entries
                a quarter as large. Of padded and exclusive tables.
            offset: What is taken from every pixel before it is summed: a number, or one for every image and channel,
                (*batch[, channels]), as `image_means` makes them. Integer tables take integers. Numbers on a GPU are
                waited for.
            mask, weights, nan, nodata: Which pixels count, as in `box_filter`. Where one is given, the table has `counts`,
                pixels that do not count are summed as 0, and `mean`, `var` and `std` are of those that do. With weights
                all tables are float64. Without an offset.
            image, squares, layout, dtype, squares_dtype, channel_axis, threads, algorithm: As in `sat` and
                `sat_squares`.

        Returns:
            A `Table` of arrays of the image's library.

        Raises:
            InvalidArgument: a ValueError; as `sat`, and for an origin outside the image and an offset of another shape.
            Unsupported: a TypeError; as `sat` and `sat_squares`.
            OutOfMemory: a MemoryError.

        Source: Hensley et al. 2005, section 4.

        >>> import numpy as np, boxsum
        >>> image = np.full((300, 400), 1.7, np.float32)
        >>> plain = boxsum.Table.build(image, dtype="float32")
        >>> table = boxsum.Table.build(image, dtype="float32", offset=boxsum.image_means(image), origin=(150, 200))
        >>> box = [290, 390, 10, 10]
        >>> bool(table.mean(box) == image[0, 0]), bool(plain.mean(box) == image[0, 0])
        (True, False)
        >>> dem = boxsum.Table.build(np.array([[10, -9999, 14], [-9999, -9999, 18]], np.int16), nodata=-9999)
        >>> boxes = [[0, 0, 2, 3], [0, 1, 2, 1]]
        >>> dem.mean(boxes), dem.count(boxes)
        (array([14., nan]), array([3, 0], dtype=uint32))
        """
        shape = shape_of(image, "image")
        origin, offset, form = _form_of(layout, origin, offset, shape, channel_axis)
        counts: Any = None
        second: Any = None
        counting = mask is not None or weights is not None or nodata is not None
        if counting or not isinstance(nan, str) or nan != "propagate":
            samples = (mask, weights, nan, nodata)
            values, second, counts = _counted(
                image, form, dtype, squares_dtype, channel_axis, threads, algorithm, samples, squares
            )
        elif squares:
            values, second = _with_squares(
                image, form, layout, offset, dtype, squares_dtype, channel_axis, threads, algorithm
            )
        else:
            values = _core.sat(image, form, dtype, channel_axis, None, threads, algorithm, ROW_ALIGNMENT, "first", None)
        # A small table takes less time than to look at all of it again, as Table() does.
        made = cls.__new__(cls)
        made.values, made.squares, made.counts = values, second, counts
        made.layout, made.shape, made.channel_axis = layout, tuple(shape), channel_axis
        made.origin, made.offset, made._form = origin, offset, form
        return made

    def sum(self, boxes: Boxes, *, format: BoxFormat = "rchw", out: ArrayT | None = None) -> ArrayT:
        """Sums over boxes; see `box_sum`, also for boxes, format, out, errors and source. With `counts`, of the pixels that
        count.

        >>> import numpy as np, boxsum
        >>> boxsum.Table.build(np.arange(12, dtype=np.uint8).reshape(3, 4)).sum([[1, 1, 2, 2], [0, 0, 3, 4]])
        array([30, 66], dtype=uint64)
        """
        return cast(
            ArrayT, _core.box_query("sum", self.values, None, boxes, self._form, format, self.channel_axis, out, None)
        )

    def count(self, boxes: Boxes, *, format: BoxFormat = "rchw", out: ArrayT | None = None) -> ArrayT:
        """How many pixels of boxes count, or their weights: sums of `counts`, as in `box_sum`.

        Takes boxes, format and out as `box_sum` does. Raises InvalidArgument where every pixel counts, by a table
        without counts.

        >>> import numpy as np, boxsum
        >>> boxsum.Table.build(np.array([[1.0, np.nan, 3.0]]), nan="omit").count([0, 0, 1, 3])
        array(2, dtype=uint32)
        """
        if self.counts is None:
            raise InvalidArgument("counts: this table has none; Table.build(image, nodata=...) makes them")
        return cast(
            ArrayT, _core.box_query("sum", self.counts, None, boxes, self._form, format, self.channel_axis, out, None)
        )

    def mean(
        self,
        boxes: Boxes,
        *,
        format: BoxFormat = "rchw",
        min_count: float | None = None,
        fill: float | None = None,
        out: ArrayT | None = None,
    ) -> ArrayT:
        """Means over boxes, in float64; see `box_mean`. With `counts`, of the pixels that count.

        Args:
            boxes, format, out: As in `box_sum`. With counts, boxes of whole pixels.
            min_count: Where fewer pixels count (or less weight), and where none does, the result is ``fill``. Of tables
                with counts.
            fill: By default NaN.

        Raises:
            InvalidArgument: a ValueError; also ``min_count`` or ``fill`` of a table whose pixels all count.

        >>> import numpy as np, boxsum
        >>> table = boxsum.Table.build(np.array([[1.0, np.nan, 3.0]]), nan="omit")
        >>> table.mean([[0, 0, 1, 3], [0, 1, 1, 1]], fill=-1)
        array([ 2., -1.])
        """
        return self._of_pixels("mean", None, boxes, format, min_count, fill, out)

    def var(
        self,
        boxes: Boxes,
        *,
        format: BoxFormat = "rchw",
        min_count: float | None = None,
        fill: float | None = None,
        out: ArrayT | None = None,
    ) -> ArrayT:
        """Population variances over boxes, in float64; see `box_var`. Needs ``build(..., squares=True)``. With `counts`,
        of the pixels that count; ``min_count`` and ``fill`` as in `mean`, boxes, format and out as in `box_sum`.

        >>> import numpy as np, boxsum
        >>> boxsum.Table.build(np.array([[1, 2], [3, 4]], np.uint8), squares=True).var([0, 0, 2, 2])
        array(1.25)
        """
        if self.squares is None:
            raise InvalidArgument("squares: this table has none; Table.build(image, squares=True) makes them")
        return self._of_pixels("var", self.squares, boxes, format, min_count, fill, out)

    def var_bound(self, boxes: Boxes, *, format: BoxFormat = "rchw", out: NumPyArray | None = None) -> NumPyArray:
        """How far `var` may be off, at most; see `box_var_bound`, also for boxes, format and out. With `counts`, of the
        pixels that count, and NaN where none does; not with weights.

        >>> import numpy as np, boxsum
        >>> table = boxsum.Table.build(np.array([[1, 2], [3, 4]], np.uint8), squares=True)
        >>> float(table.var_bound([0, 0, 2, 2])) < 1e-15
        True
        """
        if self.squares is None:
            raise InvalidArgument("squares: this table has none; Table.build(image, squares=True) makes them")
        return cast(NumPyArray, self._of_pixels("var_bound", self.squares, boxes, format, None, None, out))

    def std(
        self,
        boxes: Boxes,
        *,
        format: BoxFormat = "rchw",
        min_count: float | None = None,
        fill: float | None = None,
        out: ArrayT | None = None,
    ) -> ArrayT:
        """Standard deviations over boxes, in float64: the roots of `var`, with its arguments (boxes, format, min_count,
        fill, out).

        >>> import numpy as np, boxsum
        >>> boxsum.Table.build(np.array([[1, 3]], np.uint8), squares=True).std([0, 0, 1, 2])
        array(1.)
        """
        value = None if fill is None else real(fill, "fill")
        missing = None if fill is None else -1.0  # as no variance is
        result = self.var(boxes, format=format, min_count=min_count, fill=missing, out=out)
        if is_on_device(result):
            from boxsum import _devices

            _devices.root(result, value)
            return result
        memory, _ = adapt(result, "out")
        if value is None:
            np.sqrt(memory, out=memory)
        else:
            np.sqrt(memory, out=memory, where=memory >= 0)
            memory[memory < 0] = value
        return result

    def _of_pixels(
        self, stat: str, squares: Any, boxes: Any, format: str, min_count: Any, fill: Any, out: Any
    ) -> ArrayT:
        counting = None
        if self.counts is not None:
            counting = (self.counts, 0.0 if min_count is None else min_count, np.nan if fill is None else fill)
        elif min_count is not None or fill is not None:
            name = "fill" if min_count is None else "min_count"
            raise InvalidArgument(f"{name}: has no meaning for a table whose pixels all count")
        found = _core.box_query(
            stat, self.values, squares, boxes, self._form, format, self.channel_axis, out, counting
        )
        return cast(ArrayT, found)

    def window_sums(
        self, size: Size, *, origin: Size = 0, out: ArrayT | None = None, threads: int = 0
    ) -> ArrayT:
        """Sums of the window around every pixel, cut off at the image's border, in the table's dtype.

        One table serves windows of any size, in a call each: many sizes of one image, say. For one size alone
        `box_filter` needs no table.

        Args:
            size: Pixels of the window, or (rows, cols); as in `box_filter`.
            origin: As in `box_filter`.
            out: An array of the image's shape to write to.
            threads: As in `sat`.

        Returns:
            An array of the image's shape. Integers wrap as the table's do: a sum that fits the dtype is exact.

        Raises:
            InvalidArgument: a ValueError; a size, origin or ``out`` that is wrong.
            Unsupported: a TypeError; an exclusive table, which lacks the last sums.

        Source: Crow 1984.

        >>> import numpy as np, boxsum
        >>> boxsum.Table.build(np.array([[1, 2, 3, 4]], np.uint8)).window_sums(3)
        array([[3, 6, 9, 7]], dtype=uint64)
        """
        return self._windows("sum", size, origin, None, out, threads)

    def window_means(
        self,
        size: Size,
        *,
        origin: Size = 0,
        dtype: DType | None = None,
        out: ArrayT | None = None,
        threads: int = 0,
    ) -> ArrayT:
        """Means of the window around every pixel, as `window_sums` (size, origin, out, threads); in float64 or, by
        ``dtype``, float32.

        >>> import numpy as np, boxsum
        >>> boxsum.Table.build(np.array([[1, 2, 3, 4]], np.uint8)).window_means(3)
        array([[1.5, 2. , 3. , 3.5]])
        """
        return self._windows("mean", size, origin, dtype, out, threads)

    def window_variances(
        self,
        size: Size,
        *,
        origin: Size = 0,
        dtype: DType | None = None,
        out: ArrayT | None = None,
        threads: int = 0,
    ) -> ArrayT:
        """Population variances of the window around every pixel, as `window_means` (size, origin, dtype, out, threads).
        Needs ``build(..., squares=True)``.

        >>> import numpy as np, boxsum
        >>> boxsum.Table.build(np.array([[1, 2, 3, 4]], np.uint8), squares=True).window_variances(3).round(3)
        array([[0.25 , 0.667, 0.667, 0.25 ]])
        """
        if self.squares is None:
            raise InvalidArgument("squares: this table has none; Table.build(image, squares=True) makes them")
        return self._windows("var", size, origin, dtype, out, threads)

    def _windows(self, stat: str, size: Any, origin: Any, dtype: Any, out: Any, threads: int) -> ArrayT:
        if stat != "sum" and self.counts is not None:
            raise Unsupported("counts: windows of a table count every pixel; box_filter takes masks")
        found = _core.window_query(
            stat, self.values, self.squares, size, origin, self._form, dtype, self.channel_axis, out, threads
        )
        return cast(ArrayT, found)

    def __getitem__(self, window: tuple[slice, slice]) -> Any:
        """The sum of a window, ``table[10:20, 5:9]``: rows 10 to 19, columns 5 to 8. Ends are cut as Python's are.

        Returns a scalar, or (*batch[, channels]). Raises InvalidArgument for a window without pixels, Unsupported for
        steps and for what is no pair of slices.

        >>> import numpy as np, boxsum
        >>> int(boxsum.Table.build(np.arange(12, dtype=np.uint8).reshape(3, 4))[1:, -2:])
        34
        """
        if not (isinstance(window, tuple) and len(window) == 2 and all(isinstance(part, slice) for part in window)):
            raise Unsupported(f"window: is {window!r}, must be two slices, rows and columns")
        edges = []
        for part, axis in zip(window, _axes_without_channels(self.shape, self.channel_axis)[-2:], strict=True):
            try:
                start, stop, step = part.indices(self.shape[axis])
            except TypeError as problem:
                raise Unsupported(f"window: is {window!r} ({problem})") from None
            if step != 1:
                raise Unsupported(f"window: its step is {step}, must be 1")
            edges.append((start, stop))
        (top, bottom), (left, right) = edges
        if top >= bottom or left >= right:
            raise InvalidArgument(f"window: is [{top}:{bottom}, {left}:{right}], which has no pixels")
        result = self.sum((top, left, bottom, right), format="yxyx")
        return cast(Any, result)[()]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumPyArray:
        """`values`, for ``numpy.asarray`` and what calls it."""
        return numpy_of(self.values, dtype, copy)

    def __repr__(self) -> str:
        extents = " x ".join(str(extent) for extent in self.shape)
        kind = str(cast(Any, self.values).dtype)
        squares = ("" if self.squares is None else " and squares") + ("" if self.counts is None else " and counts")
        origin = "" if self.origin == (0, 0) else f", origin {self.origin}"
        offset = "" if isinstance(self.offset, float) and self.offset == 0 else f", offset {self.offset}"
        return f"<boxsum.Table of {extents} pixels, {self.layout}, {kind}{squares}{origin}{offset}>"
