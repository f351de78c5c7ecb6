"""What was in a box of the first frame, found again in every other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from boxsum._histograms import Binning, Distance, Match, integral_histogram
from boxsum._arrays import adapt, is_on_device, items, real, whole
from boxsum._types import Box
from boxsum.errors import InvalidArgument, Unsupported


def track(
    frames: Iterable[Any],
    box: Sequence[int],
    *,
    bins: int | Binning = 16,
    range: tuple[float, float] | None = None,
    distance: Distance = "bhattacharyya",
    search: int = 16,
    scales: Sequence[float] = (1.0,),
    threads: int = 0,
) -> Iterator[Match]:
    """Follows a box through frames: in each the window whose histogram is nearest to that of the first frame's box.

    Every window within ``search`` pixels of the last match is looked at, from one integral histogram of that part of
    the frame.

    Args:
        frames: Images of one channel and shape, (rows, cols), of the dtypes of `integral_histogram`; one at a time is
            asked for.
        box: (row, col, rows, cols) in the first frame.
        bins, range, distance, threads: As in `integral_histogram` and `histogram_distance`.
        search: How far the box may move from frame to frame, in pixels, in each direction.
        scales: Sizes that are tried in each frame, as factors of the last match's; 1.0 should be among them.

    Returns:
        An iterator of one `Match` for each frame, the given box at distance 0 for the first.

    Raises:
        InvalidArgument: a ValueError; a box outside the first frame, frames of other shapes, a search below 0, scales
            that are empty or not above 0.

    Source: Porikli 2005; the distance as in Comaniciu et al. 2003.

    >>> import numpy as np, boxsum
    >>> frames = np.zeros((3, 40, 60), np.uint8)
    >>> for number, frame in enumerate(frames):
    ...     frame[10 + 2 * number : 18 + 2 * number, 20 - number : 30 - number] = 200
    >>> [tuple(match.box) for match in boxsum.track(frames, (10, 20, 8, 10), search=4)]
    [(10, 20, 8, 10), (12, 19, 8, 10), (14, 18, 8, 10)]
    """
    if not isinstance(frames, Iterable) or getattr(frames, "ndim", 1) == 0:
        raise Unsupported(f"frames: is {frames!r}, must be images in turn")
    if whole(search, "search") < 0:
        raise InvalidArgument(f"search: is {search}, must not be negative")
    factors = [real(scale, "scales") for scale in items(scales, "scales", "numbers above 0")]
    if len(factors) == 0 or not all(0 < factor < float("inf") for factor in factors):
        raise InvalidArgument(f"scales: are {factors!r}, must be numbers above 0")
    corners = [whole(one, "box") for one in items(box, "box", "(row, col, rows, cols)")]
    if len(corners) != 4:
        raise InvalidArgument(f"box: is {box!r}, must be (row, col, rows, cols)")
    return _matches(frames, Box(*corners), bins, range, distance, search, factors, threads)


def _matches(
    frames: Iterable[Any],
    box: Box,
    bins: int | Binning,
    range: tuple[float, float] | None,
    distance: Distance,
    search: int,
    scales: Sequence[float],
    threads: int,
) -> Iterator[Match]:
    target = None
    shape: tuple[int, ...] = ()
    for number, frame in enumerate(frames):
        if not is_on_device(frame) or not hasattr(frame, "shape"):
            frame, _ = adapt(frame, "frames")
        if target is None:
            shape = tuple(frame.shape)
            if len(shape) != 2:
                raise InvalidArgument(f"frames: the first has the shape {shape}, must have rows and columns")
            inside = 0 <= box.row <= shape[0] - box.rows and 0 <= box.col <= shape[1] - box.cols
            if not inside or box.rows < 1 or box.cols < 1:
                raise InvalidArgument(f"box: is {tuple(box)}, must have pixels and lie in {shape[0]} x {shape[1]}")
            part = frame[box.row : box.row + box.rows, box.col : box.col + box.cols]
            whole = integral_histogram(part, bins, range=range, threads=threads)
            target = whole.region((0, 0, box.rows, box.cols))
            yield Match(box, 0.0)
            continue
        if tuple(frame.shape) != shape:
            raise InvalidArgument(f"frames: frame {number} has the shape {tuple(frame.shape)}, the first {shape}")
        sizes = {
            (min(max(round(box.rows * scale), 1), shape[0]), min(max(round(box.cols * scale), 1), shape[1])): None
            for scale in scales
        }
        more_rows = max(0, max(rows for rows, _ in sizes) - box.rows)
        more_cols = max(0, max(cols for _, cols in sizes) - box.cols)
        top, left = max(box.row - search - more_rows, 0), max(box.col - search - more_cols, 0)
        bottom = min(box.row + box.rows + search + more_rows, shape[0])
        right = min(box.col + box.cols + search + more_cols, shape[1])
        around = integral_histogram(frame[top:bottom, left:right], bins, range=range, threads=threads)
        (found,) = around.search(target, list(sizes), distance=distance)
        box = found.box._replace(row=found.box.row + top, col=found.box.col + left)
        yield Match(box, found.distance)
