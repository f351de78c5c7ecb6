"""Integral histograms: a table per bin, so that the histogram of any rectangle takes four reads per bin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic, Literal, NamedTuple, cast, overload

import numpy as np

from boxsum import _core
from boxsum._arrays import ArrayT, NumPyArray, is_on_device, is_sequence, items, numpy_of, pair, shape_of
from boxsum._types import Box, Boxes, BoxFormat, DType, Size
from boxsum.errors import InvalidArgument, Unsupported

Distance = Literal["l1", "l2", "chi-square", "intersection", "bhattacharyya"]
Outside = Literal["ignore", "clamp"]


class Match(NamedTuple):
    """A window that `HistogramTable.search` found.

    >>> import boxsum
    >>> boxsum.Match(boxsum.Box(1, 2, 3, 4), 0.5).box.rows
    3
    """

    box: Box
    distance: float


class Binning(NamedTuple):
    """Which bin a pixel falls in. Made by `uniform`, `lookup` and `indices`.

    >>> import boxsum
    >>> boxsum.Binning.uniform(16, 0, 256).bins
    16
    """

    rule: str
    bins: int
    lo: float
    hi: float
    outside: str
    table: Any

    @classmethod
    def uniform(cls, bins: int, lo: float, hi: float, outside: Outside = "ignore") -> Binning:
        """``bins`` ranges of equal width over [lo, hi), 1 to 1024 of them. Other pixels, hi among them, are not counted
        (``outside="ignore"``), or go to the first or last bin (``"clamp"``).

        >>> import numpy as np, boxsum
        >>> binning = boxsum.Binning.uniform(2, 0, 10, outside="clamp")
        >>> boxsum.integral_histogram(np.array([[-3, 4, 5, 99]], np.int16), binning).region([0, 0, 1, 4])
        array([2, 2], dtype=uint32)
        """
        return cls("uniform", bins, lo, hi, outside, None)

    @classmethod
    def lookup(cls, bins: int, table: Any) -> Binning:
        """Bin ``table[v]`` for pixel v: 256 integers for uint8 images, 65536 for uint16; 65535 is no bin. The other
        ``bins`` are 0 to bins - 1.

        >>> import numpy as np, boxsum
        >>> odd = boxsum.Binning.lookup(2, np.arange(256) % 2)
        >>> boxsum.integral_histogram(np.array([[1, 2, 3]], np.uint8), odd).region([0, 0, 1, 3])
        array([1, 2], dtype=uint32)
        """
        return cls("lookup", bins, 0, 0, "ignore", table)

    @classmethod
    def indices(cls, bins: int, outside: Outside = "ignore") -> Binning:
        """The image holds bin numbers: 0 to bins - 1; others as ``outside`` of `uniform` says.

        >>> import numpy as np, boxsum
        >>> boxsum.integral_histogram(np.array([[0, 2, 2]], np.uint8), boxsum.Binning.indices(3)).region([0, 0, 1, 3])
        array([1, 0, 2], dtype=uint32)
        """
        return cls("indices", bins, 0, bins, outside, None)


def binning_of(image: Any, bins: int | Binning, range: tuple[float, float] | None) -> Binning:
    """What ``bins=`` and ``range=`` mean for an image."""
    if isinstance(bins, Binning):
        if range is not None:
            raise InvalidArgument(f"range: is {range!r}, but bins is a Binning, which has one")
        return bins
    if range is None:
        kind = str(getattr(image, "dtype", "")).rpartition(".")[2]
        last = {"bool": 2, "uint8": 256, "uint16": 65536}.get(kind)
        if last is None:
            raise InvalidArgument(f"range: is None; for {kind or 'these'} images it must be (low, high)")
        range = (0, last)
    lo, hi = pair(range, "range", "a pair of numbers, low and high")
    return Binning.uniform(bins, lo, hi)


@overload
def integral_histogram(
    image: NumPyArray,
    bins: int | Binning = ...,
    *,
    range: tuple[float, float] | None = ...,
    weights: NumPyArray | None = ...,
    layout: Literal["inclusive", "padded"] = ...,
    dtype: DType | None = ...,
    out: NumPyArray | None = ...,
    threads: int = ...,
    algorithm: str = ...,
) -> HistogramTable[NumPyArray]: ...
@overload
def integral_histogram(
    image: ArrayT,
    bins: int | Binning = ...,
    *,
    range: tuple[float, float] | None = ...,
    weights: ArrayT | None = ...,
    layout: Literal["inclusive", "padded"] = ...,
    dtype: DType | None = ...,
    out: ArrayT | None = ...,
    threads: int = ...,
    algorithm: str = ...,
) -> HistogramTable[ArrayT]: ...
def integral_histogram(
    image: Any,
    bins: int | Binning = 32,
    *,
    range: tuple[float, float] | None = None,
    weights: Any = None,
    layout: Literal["inclusive", "padded"] = "inclusive",
    dtype: DType | None = None,
    out: Any = None,
    threads: int = 0,
    algorithm: str = "auto",
) -> Any:
    """The integral histogram of an image: entry (b, r, c) counts the pixels of bin b above and to the left of (r, c).

    Args:
        image: (..., rows, cols) of bool, int8, uint8, int16, uint16, int32, float16 or float32.
        bins: How many ranges of equal width (1 to 1024), or a `Binning`.
        range: (low, high): pixel v falls in bin floor((v - low) * (bins / (high - low))), in doubles. Pixels below low
            are not counted, nor is high itself (which ``numpy.histogram`` puts in its last bin). By default (0, 256) for
            uint8 images, (0, 65536) for uint16, (0, 2) for bool; other images need it. Not with a `Binning`, which has
            its own.
        weights: (rows, cols), or of the image's shape; float32: sums of weights instead of counts.
        layout: ``"inclusive"`` or ``"padded"`` (see `sat`).
        dtype: uint32; uint16 for images of at most 65535 pixels, in half the memory; float32 with weights.
        out: A packed array (..., bins, rows, cols) to write to.
        threads, algorithm: As in `sat`; algorithms are those of ``boxsum.algorithms("histogram")``.

    Returns:
        A `HistogramTable`.

    Raises:
        InvalidArgument: a ValueError.
        Unsupported: a TypeError.
        OutOfMemory: a MemoryError; histograms take bins * rows * cols * 4 bytes.

    Source: Porikli 2005; Poostchi et al. 2013.

    >>> import numpy as np, boxsum
    >>> histograms = boxsum.integral_histogram(np.array([[0, 64, 128], [255, 64, 3]], np.uint8), 4)
    >>> histograms.region([0, 0, 2, 2])
    array([1, 2, 0, 1], dtype=uint32)
    """
    values = _core.integral_histogram(
        image, binning_of(image, bins, range), weights, layout, dtype, out, threads, algorithm
    )
    return HistogramTable(values, layout=layout)


class TaskWorker(NamedTuple):
    """What one worker of `histogram_tasks` did."""

    name: str
    """"cpu:0", "cuda:1"."""
    tasks: int
    """In the result."""
    seconds: float
    """Busy with tasks."""
    upload_seconds: float
    failure: str
    """What it failed with; empty where it did not."""


class TasksReport(NamedTuple):
    """What `histogram_tasks` did, and how long it took.

    >>> import numpy as np, boxsum
    >>> _, report = boxsum.histogram_tasks(np.zeros((4, 4), np.uint8), 8, cpu_workers=1, bins_per_task=4)
    >>> report.tasks, report.bins_per_task, [worker.tasks for worker in report.workers]
    (2, 4, [2])
    """

    tasks: int
    bins_per_task: int
    seconds: float
    """Upload, computation and download; without the pinning."""
    pinning_seconds: float
    """Of page-locking image and result for devices."""
    pinned_bytes: int
    workers: tuple[TaskWorker, ...]


@overload
def histogram_tasks(
    image: NumPyArray,
    bins: int | Binning = ...,
    *,
    range: tuple[float, float] | None = ...,
    weights: NumPyArray | None = ...,
    layout: Literal["inclusive", "padded"] = ...,
    dtype: DType | None = ...,
    out: NumPyArray | None = ...,
    devices: Sequence[int] = ...,
    cpu_workers: int = ...,
    bins_per_task: int = ...,
    threads: int = ...,
    algorithm: str = ...,
) -> tuple[HistogramTable[NumPyArray], TasksReport]: ...
@overload
def histogram_tasks(
    image: ArrayT,
    bins: int | Binning = ...,
    *,
    range: tuple[float, float] | None = ...,
    weights: ArrayT | None = ...,
    layout: Literal["inclusive", "padded"] = ...,
    dtype: DType | None = ...,
    out: ArrayT | None = ...,
    devices: Sequence[int] = ...,
    cpu_workers: int = ...,
    bins_per_task: int = ...,
    threads: int = ...,
    algorithm: str = ...,
) -> tuple[HistogramTable[ArrayT], TasksReport]: ...
def histogram_tasks(
    image: Any,
    bins: int | Binning = 32,
    *,
    range: tuple[float, float] | None = None,
    weights: Any = None,
    layout: Literal["inclusive", "padded"] = "inclusive",
    dtype: DType | None = None,
    out: Any = None,
    devices: Sequence[int] = (),
    cpu_workers: int = 0,
    bins_per_task: int = 0,
    threads: int = 0,
    algorithm: str = "auto",
) -> Any:
    """The integral histogram of a large image in host memory by several GPUs, or by several workers on the CPU.

    Groups of bins are tasks on one queue, of which each worker takes the next when it is free.

    Args:
        image, bins, range, weights, layout, dtype, out, algorithm: As in `integral_histogram`; in host memory.
        devices: Numbers of GPUs, one worker each. By default all of the machine, and where there is none, or the package
            has no CUDA, workers on the CPU.
        cpu_workers: Above 0, so many workers on the CPU and no devices.
        bins_per_task: 0: as many as give every worker four tasks and fit a device's memory.
        threads: Of one worker on the CPU; by default one each.

    Returns:
        The `HistogramTable`, with the bits of `integral_histogram`, and a `TasksReport`.

    Raises:
        InvalidArgument: a ValueError; as `integral_histogram`, for numbers below 0 and a device named twice.
        Unsupported: a TypeError; as `integral_histogram`, and for a device that there is not.
        CudaError: a RuntimeError; every worker failed.
        OutOfMemory: a MemoryError.

    Source: Poostchi et al. 2013, section 4.6.

    >>> import numpy as np, boxsum
    >>> image = np.arange(48, dtype=np.uint8).reshape(6, 8)
    >>> histograms, report = boxsum.histogram_tasks(image, 16, cpu_workers=2, bins_per_task=4)
    >>> histograms.region([0, 0, 6, 8])[:4], report.tasks
    (array([16, 16, 16,  0], dtype=uint32), 4)
    """
    values, told = _core.histogram_tasks(
        image,
        binning_of(image, bins, range),
        weights,
        layout,
        dtype,
        out,
        threads,
        algorithm,
        items(devices, "devices", "numbers of GPUs"),
        cpu_workers,
        bins_per_task,
    )
    tasks, each, seconds, pinning, pinned, workers = told
    report = TasksReport(tasks, each, seconds, pinning, pinned, tuple(TaskWorker(*one) for one in workers))
    return HistogramTable(values, layout=layout), report


def _on_host(histogram: Any, name: str) -> Any:
    if not is_on_device(histogram):
        return histogram
    from boxsum import _devices

    return _devices.to_host(histogram, name)


def histogram_distance(a: Any, b: Any, *, distance: Distance = "bhattacharyya") -> float:
    """How far apart two histograms are, after both are divided by their totals.

    Args:
        a, b: Numbers, one for each bin; those on a GPU are waited for.
        distance: ``"l1"``, ``"l2"``, ``"chi-square"``, ``"intersection"`` (Swain and Ballard 1991) or
            ``"bhattacharyya"`` (Comaniciu et al. 2003).

    Returns:
        0 for equal shares; at most 2 for l1, 1.41 for l2 and 1 for the others.

    Raises:
        InvalidArgument: a ValueError; numbers of bins that differ, or an unknown distance.
        Unsupported: a TypeError; what is no array of real numbers.

    Source: those named above; l1, l2 and chi-square by their definitions.

    >>> import boxsum
    >>> boxsum.histogram_distance([1, 1, 2], [2, 2, 4], distance="l1")
    0.0
    """
    return _core.histogram_distance(_on_host(a, "a"), _on_host(b, "b"), distance)


class HistogramTable(Generic[ArrayT]):
    """Integral histograms and what is asked of them.

    >>> import numpy as np, boxsum
    >>> table = boxsum.integral_histogram(np.array([[0, 1], [2, 3]], np.uint8), 2, range=(0, 4), layout="padded")
    >>> table.values.shape, table.bins
    ((2, 3, 3), 2)
    >>> table.region([0, 0, 1, 2])  # the first row
    array([2, 0], dtype=uint32)
    """

    __slots__ = ("values", "layout")

    values: ArrayT
    """(..., bins, rows, cols), rows and columns one larger than the image's for "padded"."""
    layout: Literal["inclusive", "padded"]

    def __init__(self, values: ArrayT, *, layout: Literal["inclusive", "padded"]) -> None:
        """Takes histograms that exist; `integral_histogram` makes them. Raises InvalidArgument for a layout that
        histograms do not have.
        """
        if not isinstance(layout, str) or layout not in ("inclusive", "padded"):
            raise InvalidArgument(f"layout: is {layout!r}, histograms are 'inclusive' or 'padded'")
        shape = shape_of(values, "values")
        if len(shape) < 3:
            raise InvalidArgument(f"values: their shape is {shape}, must have bins, rows and columns")
        self.values = values
        self.layout = layout

    @property
    def bins(self) -> int:
        """How many each histogram has."""
        return int(cast(Any, self.values).shape[-3])

    def region(self, boxes: Boxes, *, format: BoxFormat = "rchw", normalize: bool = False) -> ArrayT:
        """Histograms of boxes.

        Args:
            boxes: (..., 4) integers in a format as of `box_sum`.
            normalize: Shares instead of counts, in float64 (of an empty histogram all 0).

        Returns:
            (*batch, *boxes' leading axes, bins), of the library of `values`. Boxes that came on a GPU are not looked
            at: one that is not inside the image has an empty histogram there.

        Raises:
            InvalidArgument: a ValueError; a box that is empty or outside the image, with its index.
            Unsupported: a TypeError; boxes with fractional edges.

        Source: Porikli 2005.

        >>> import numpy as np, boxsum
        >>> histograms = boxsum.integral_histogram(np.array([[0, 200], [200, 200]], np.uint8), 2)
        >>> histograms.region([[0, 0, 1, 2], [0, 0, 2, 2]], normalize=True)
        array([[0.5 , 0.5 ],
               [0.25, 0.75]])
        """
        result = _core.box_histograms(self.values, self.layout, box_numbers(boxes, format))
        return cast(ArrayT, _shares(result) if normalize else result)

    def windows(self, size: Size, *, step: Size = 1, within: Sequence[int] | None = None) -> ArrayT:
        """Histograms of all windows of one size on a grid.

        Args:
            size: Pixels, or (rows, cols).
            step: From one window to the next, down and to the right.
            within: A box (row, col, rows, cols) of the image that the windows lie in; by default all of it.

        Returns:
            (*batch, window rows, window columns, bins), as `region`.

        Raises:
            InvalidArgument: a ValueError.

        Source: Porikli 2005.

        >>> import numpy as np, boxsum
        >>> boxsum.integral_histogram(np.zeros((4, 6), np.uint8), 2).windows(2, step=2).shape
        (2, 3, 2)
        """
        return cast(ArrayT, _core.window_histograms(self.values, self.layout, grid_numbers(size, step, within)))

    def search(
        self,
        target: Any,
        sizes: int | Sequence[int] | Sequence[tuple[int, int]],
        *,
        step: Size = 1,
        within: Sequence[int] | None = None,
        distance: Distance = "bhattacharyya",
        count: int = 1,
        plane: int = 0,
        largest_overlap: float = 1,
    ) -> list[Match]:
        """The windows whose histograms are nearest to a target, best first.

        Args:
            target: Numbers, one for each bin, not normalised.
            sizes: A size (an integer, or rows and cols), or several for as many scales at once: pairs, as in
                ``[(5, 7), (10, 14)]``. ``(5, 7)`` and ``[5, 7]`` are both one window of 5 rows and 7 columns.
            step, within: As in `windows`.
            distance: As in `histogram_distance`.
            count: How many windows.
            plane: Which image of a batch, counted over all its axes.
            largest_overlap: Windows that have more in common with a better one are left out: their common pixels, as
                a part of those of both (0 to 1; non-maximum suppression). 1 keeps all.

        Returns:
            At most ``count`` matches. Equal distances go to the earlier size, then to the upper, then to the left one.

        Raises:
            InvalidArgument: a ValueError.

        Source: Porikli 2005.

        >>> import numpy as np, boxsum
        >>> image = np.zeros((6, 8), np.uint8)
        >>> image[2:4, 5:7] = 200
        >>> boxsum.integral_histogram(image, 8).search([0, 0, 0, 0, 0, 0, 4, 0], 2)
        [Match(box=Box(row=2, col=5, rows=2, cols=2), distance=0.0)]
        """
        grids = [grid_numbers(size, step, within) for size in list_of_sizes(sizes)]
        wanted = _on_host(target, "target")
        found = _core.best_windows(self.values, self.layout, grids, wanted, distance, count, plane, largest_overlap)
        return [Match(Box(*one[:4]), one[4]) for one in found]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NumPyArray:
        """`values`, for ``numpy.asarray`` and what calls it."""
        return numpy_of(self.values, dtype, copy)

    def __repr__(self) -> str:
        *_, bins, rows, cols = cast(Any, self.values).shape
        padded = self.layout == "padded"
        return f"<boxsum.HistogramTable of {rows - padded} x {cols - padded} pixels, {bins} bins, {self.layout}>"


def box_numbers(boxes: Boxes, format: BoxFormat) -> Any:
    """Boxes as (row, col, rows, cols)."""
    if is_on_device(boxes):
        from boxsum import _devices

        return _devices.in_order(boxes, format, False)
    if isinstance(format, str) and format == "rchw":
        return boxes
    numbers = _core.numbers(boxes, "boxes")
    if numbers.ndim == 0 or numbers.shape[-1] != 4:
        raise InvalidArgument(f"boxes: their shape is {numbers.shape}, the last extent must be 4")
    a, b, c, d = np.moveaxis(numbers, -1, 0)
    orders = {"yxyx": (a, b, c - a, d - b), "xyxy": (b, a, d - b, c - a), "xywh": (b, a, d, c)}
    if not isinstance(format, str) or format not in orders:
        raise InvalidArgument(f"format: is {format!r}, must be one of 'rchw', 'yxyx', 'xyxy', 'xywh'")
    return np.stack(orders[format], axis=-1)


def _pair(value: Any, name: str) -> tuple[int, int]:
    if is_sequence(value):
        return pair(value, name, "an integer or a pair of them, rows and columns")
    return value, value


def grid_numbers(size: Any, step: Any, within: Sequence[int] | None) -> tuple[int, int, int, int, Any]:
    """Windows as (rows, cols, row_step, col_step, within)."""
    if within is not None and len(items(within, "within", "a box (row, col, rows, cols)")) != 4:
        raise InvalidArgument(f"within: is {within!r}, must be a box (row, col, rows, cols)")
    return (*_pair(size, "size"), *_pair(step, "step"), within)


def list_of_sizes(sizes: Any) -> list[Any]:
    """One size as a list of one: an integer, a pair of integers (of whatever sequence); otherwise pairs."""
    if not is_sequence(sizes):
        return [sizes]
    if len(sizes) == 2 and not any(map(is_sequence, sizes)):
        return [sizes]
    for one in sizes:
        if not is_sequence(one):
            raise InvalidArgument(f"sizes: is {sizes!r}; several sizes are pairs, [(5, 5), (7, 7)]")
    return list(sizes)


def _shares(histograms: Any) -> Any:
    if not isinstance(histograms, np.ndarray):
        from boxsum import _devices

        return _devices.shares(histograms)
    totals = histograms.sum(axis=-1, dtype=np.float64, keepdims=True)
    shares: NumPyArray = np.divide(histograms, totals, out=np.zeros(histograms.shape), where=totals != 0)
    return shares
