"""Filters of images that arrive row by row, or are larger than memory."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from boxsum._arrays import NumPyArray, Wrap, adapt, is_sequence, whole
from boxsum._types import Border, Size
from boxsum.errors import InvalidArgument, Unsupported

_END = object()  # behind the last block
_OPEN_END = 2**40  # rows of an image whose last row has not arrived


def _extents(value: Any, name: str) -> int:
    """Of rows, of a number or a pair."""
    if is_sequence(value) and len(value) == 2:
        value = value[0]
    return whole(value, name)


def filter_rows(
    function: Callable[..., Any],
    blocks: Iterable[Any],
    size: Size,
    *,
    border: Border = "reflect",
    origin: Size = 0,
    **options: Any,
) -> Iterator[Any]:
    """Filters an image that comes in blocks of rows: of a scanner, of a file larger than memory.

    A block of results is handed out as soon as the rows that it needs are there, and only rows that are still needed
    are kept: as many as a window has, and a block. Blocks of several times the window's rows are quickest.

    Args:
        function: `box_filter`, `local_statistics`, `threshold` (not "wolf", which needs all of the image first) or
            `local_contrast`.
        blocks: Arrays (rows, cols), or (rows, cols, channels) with ``channel_axis=-1``, of one dtype, in host memory.
        size, border, origin: As of the function; not ``border="wrap"``, which begins with the last rows.
        options: The function's others, without arrays.

    Returns:
        An iterator of what the function returns for the rows in turn; together they are, to the bit, what it returns
        for the whole image. (Of floating images with fewer rows than the window, up to rounding.)

    Raises:
        InvalidArgument: a ValueError; ``border="wrap"``, blocks of other columns.
        Unsupported: a TypeError; what is no array.

    Source: the windows' definition; what a window needs is kept, and nothing else.

    >>> import numpy as np, boxsum
    >>> image = np.arange(60, dtype=np.uint8).reshape(12, 5)
    >>> parts = list(boxsum.filter_rows(boxsum.box_filter, np.split(image, 4), 3))
    >>> [len(part) for part in parts], bool((np.concatenate(parts) == boxsum.box_filter(image, 3)).all())
    ([2, 3, 3, 3, 1], True)
    """
    if isinstance(border, str) and border == "wrap":
        raise InvalidArgument("border: is 'wrap', which begins with the last rows")
    if not callable(function):
        raise Unsupported(f"function: is {function!r}, must be a filter")
    if not isinstance(blocks, Iterable) or getattr(blocks, "ndim", 1) == 0:
        raise Unsupported(f"blocks: is {blocks!r}, must be arrays in turn")
    rows = _extents(size, "size")
    above = rows // 2 + _extents(origin, "origin")
    below = rows - 1 - above
    return _results(function, blocks, size, above, below, {"border": border, "origin": origin, **options})


def _results(
    function: Callable[..., Any],
    blocks: Iterable[Any],
    size: Size,
    above: int,
    below: int,
    options: dict[str, Any],
) -> Iterator[Any]:
    kept: NumPyArray | None = None
    wrap: Wrap = None
    needed = max(above, 1)  # what "mirror" has below the last row begins above it, also where windows do not
    first = done = 0  # the row that is kept first, and that of the next result
    for given in itertools.chain(blocks, [_END]):
        if given is _END:
            if kept is None:
                return
            received = rows = first + len(kept)
            ready = rows
        else:
            block, wrap = adapt(given, "blocks")
            if block.ndim < 2:
                raise InvalidArgument(f"blocks: one has the shape {block.shape}, must have rows and columns")
            if len(block) == 0:
                continue
            if kept is not None and block.shape[1:] != kept.shape[1:]:
                raise InvalidArgument(f"blocks: one has the shape {block.shape}, those before {kept.shape[1:]} a row")
            kept = block.copy() if kept is None else np.concatenate([kept, block])
            received, rows = first + len(kept), _OPEN_END
            # The first windows may see as many rows from below, mirrored at the upper border.
            ready = received - below if received > above + below else 0
        if ready <= done:
            continue
        results = function(kept, size, part=(first, rows, done, ready), **options)
        if wrap is not None:
            results = tuple(map(wrap, results)) if isinstance(results, tuple) else wrap(results)
        yield results
        done = ready
        drop = max(0, done - needed) - first
        if drop > 0:
            kept, first = kept[drop:].copy(), first + drop
