"""Integral histograms of frames in turn: one is computed and searched while the next is read and the last looked at."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, NamedTuple, overload

from boxsum import _core
from boxsum._arrays import ArrayT, NumPyArray, items
from boxsum._histograms import (
    Binning,
    Distance,
    HistogramTable,
    Match,
    binning_of,
    box_numbers,
    grid_numbers,
    list_of_sizes,
)
from boxsum._types import Box, Boxes, BoxFormat, DType, Size
from boxsum.errors import InvalidArgument, Unsupported

_END: Any = object()  # behind the last frame


@dataclass(frozen=True, eq=False, kw_only=True)
class FrameRequest:
    """What `histogram_pipeline` makes of a frame. All places are in pixels of the frame.

    >>> import boxsum
    >>> request = boxsum.FrameRequest(sizes=(2, 2), target=[3, 1], count=2)  # the two windows most like the target
    >>> request.step, request.distance
    (1, 'bhattacharyya')
    """

    boxes: Boxes | None = None
    """(..., 4) integers: their histograms."""
    format: BoxFormat = "rchw"
    """Of `boxes`, as of `box_sum`."""
    sizes: int | Sequence[int] | Sequence[tuple[int, int]] | None = None
    """Windows to search for `target`, as of `HistogramTable.search`."""
    target: Any = None
    """Numbers, one for each bin, not normalised."""
    step: Size = 1
    """From one window to the next."""
    within: Sequence[int] | None = None
    """A box that the windows lie in; by default all of the region."""
    distance: Distance = "bhattacharyya"
    """As of `histogram_distance`."""
    count: int = 1
    """How many windows, best first."""
    match_histograms: bool = False
    """The histograms of these, too."""
    region: Sequence[int] | None = None
    """The box (row, col, rows, cols) that is looked at: boxes and windows lie in it; by default the whole frame."""
    tensor: bool = False
    """The region's integral histogram itself, a copy."""


class FrameResult(NamedTuple, Generic[ArrayT]):
    """What `histogram_pipeline` made of a frame; None where it was not asked for.

    >>> import numpy as np, boxsum
    >>> (result,) = boxsum.histogram_pipeline(np.zeros((1, 2, 3), np.uint8), boxsum.FrameRequest(boxes=[0, 0, 2, 3]), 2)
    >>> result.frame, result.region, result.histograms, result.matches
    (0, Box(row=0, col=0, rows=2, cols=3), array([6, 0], dtype=uint32), [])
    """

    frame: int
    """Its number, from 0."""
    image: ArrayT
    """What the source gave: the array itself, which a source that fills the same one again has overwritten."""
    region: Box
    """What was looked at."""
    histograms: ArrayT | None
    """(*boxes' leading axes, bins)"""
    matches: list[Match]
    """Best first, in pixels of the frame."""
    match_histograms: ArrayT | None
    """(matches, bins)"""
    tensor: HistogramTable[ArrayT] | None
    """Of the region, in whose pixels its boxes are."""


class PipelineReport(NamedTuple):
    """What a pipeline has done so far."""

    frames: int
    """That were handed out."""
    seconds: float
    """From the start of the first frame to the handing out of the last."""
    busy: dict[str, float]
    """Seconds of each stage, in which it had these frames: "read", which waits for the caller, "compute", "query", and
    on a GPU "upload" and "download"."""

    @property
    def frames_per_second(self) -> float:
        """0 before the first frame.

        >>> import boxsum
        >>> boxsum.PipelineReport(frames=50, seconds=2.0, busy={}).frames_per_second
        25.0
        """
        return self.frames / self.seconds if self.seconds > 0 else 0.0


Planner = Callable[[int, "FrameResult[Any] | None"], FrameRequest]


class HistogramPipeline(Iterator[FrameResult[ArrayT]]):
    """An iterator of `FrameResult`, made by `histogram_pipeline`. One thread at a time asks it for the next.

    >>> import numpy as np, boxsum
    >>> pipeline = boxsum.histogram_pipeline(iter([]), boxsum.FrameRequest(boxes=[0, 0, 1, 1]), 2)
    >>> list(pipeline)
    []
    """

    __slots__ = ("_handle", "_results", "__weakref__")

    def __init__(self, handle: Any, results: Generator[FrameResult[ArrayT], None, None]) -> None:
        self._handle = handle
        self._results = results
        if handle is not None:
            weakref.finalize(self, _core.close_pipeline, handle)  # at the interpreter's end, too: it has threads

    def __next__(self) -> FrameResult[ArrayT]:
        return next(self._results)

    def report(self) -> PipelineReport:
        """Frames and seconds so far; after the last frame, too.

        >>> import numpy as np, boxsum
        >>> frames = np.zeros((5, 20, 30), np.uint8)
        >>> pipeline = boxsum.histogram_pipeline(frames, boxsum.FrameRequest(boxes=[0, 0, 20, 30]), 2)
        >>> [int(result.histograms[0]) for result in pipeline], pipeline.report().frames
        ([600, 600, 600, 600, 600], 5)
        """
        if self._handle is None:
            return PipelineReport(0, 0.0, {})
        return PipelineReport(*_core.pipeline_report(self._handle))

    def close(self) -> None:
        """Ends it before the last frame: those in flight are dropped. Not needed behind the last one, nor where nothing
        refers to the pipeline any more.

        >>> import contextlib, itertools, numpy as np, boxsum
        >>> camera = itertools.repeat(np.zeros((20, 30), np.uint8))
        >>> request = boxsum.FrameRequest(boxes=[0, 0, 20, 30])
        >>> with contextlib.closing(boxsum.histogram_pipeline(camera, request, 2)) as pipeline:
        ...     next(pipeline).frame, next(pipeline).frame
        (0, 1)
        """
        self._results.close()
        if self._handle is not None:  # of which nothing was asked yet
            _core.close_pipeline(self._handle)


def _request_numbers(request: Any) -> tuple[Any, ...]:
    if not isinstance(request, FrameRequest):
        raise Unsupported(f"request: is {request!r}, must be a FrameRequest, or a function that makes one for each frame")
    sizes = [] if request.sizes is None else list_of_sizes(request.sizes)
    if sizes and request.target is None:
        raise InvalidArgument("request: target is None, but sizes says which windows to compare with it")
    region = request.region
    if region is not None and len(items(region, "request: region", "a box (row, col, rows, cols)")) != 4:
        raise InvalidArgument(f"request: region is {region!r}, must be a box (row, col, rows, cols)")
    return (
        region,
        bool(request.tensor),
        None if request.boxes is None else box_numbers(request.boxes, request.format),
        [grid_numbers(size, request.step, request.within) for size in sizes],
        request.target,
        request.distance,
        request.count,
        bool(request.match_histograms),
    )


def _in_turn(weights: Any) -> Iterator[Any]:
    if weights is None or getattr(weights, "ndim", 0) == 2:
        return itertools.repeat(weights)
    try:
        return iter(weights)
    except TypeError:
        raise Unsupported(f"weights: is {weights!r}, must be one array for all frames, or arrays in turn") from None


@overload
def histogram_pipeline(
    frames: NumPyArray | Iterable[NumPyArray],
    request: FrameRequest | Planner,
    bins: int | Binning = ...,
    *,
    range: tuple[float, float] | None = ...,
    weights: NumPyArray | Iterable[NumPyArray] | None = ...,
    layout: Literal["inclusive", "padded"] = ...,
    dtype: DType | None = ...,
    buffers: int = ...,
    device: int | None = ...,
    threads: int = ...,
    algorithm: str = ...,
) -> HistogramPipeline[NumPyArray]: ...
@overload
def histogram_pipeline(
    frames: Iterable[ArrayT],
    request: FrameRequest | Planner,
    bins: int | Binning = ...,
    *,
    range: tuple[float, float] | None = ...,
    weights: ArrayT | Iterable[ArrayT] | None = ...,
    layout: Literal["inclusive", "padded"] = ...,
    dtype: DType | None = ...,
    buffers: int = ...,
    device: int | None = ...,
    threads: int = ...,
    algorithm: str = ...,
) -> HistogramPipeline[ArrayT]: ...
def histogram_pipeline(
    frames: Iterable[Any],
    request: FrameRequest | Planner,
    bins: int | Binning = 32,
    *,
    range: tuple[float, float] | None = None,
    weights: Any = None,
    layout: Literal["inclusive", "padded"] = "inclusive",
    dtype: DType | None = None,
    buffers: int = 2,
    device: int | None = None,
    threads: int = 0,
    algorithm: str = "auto",
) -> Any:
    """Histograms of boxes, the best windows, or integral histograms of one frame after another.

    While the caller looks at one result, the pipeline's threads compute, search and copy the next ones; frames are asked
    for in the caller's own thread, while the one before is computed. Results do not depend on `buffers`.

    Args:
        frames: Images (rows, cols) of one shape and dtype, of the dtypes of `integral_histogram`, in host memory; each is
            copied before the next one is asked for. The first is asked for at once.
        request: A `FrameRequest`, the same for all; or a function of a frame's number and the `FrameResult` before it
            (None for frame 0) that returns one: then a frame waits for the result before, as tracking does.
        bins, range, threads, algorithm: As in `integral_histogram`.
        weights: float32, (rows, cols) for all frames, or one after another: sums of weights instead of counts.
        layout: Of integral histograms that are handed out, ``"inclusive"`` or ``"padded"``.
        dtype: Of these, uint32; uint16 for regions of at most 65535 pixels; float32 with weights.
        buffers: Frames in flight, 1 to 8, that of the result in hand among them.
        device: The number of a GPU; by default the CPU.

    Returns:
        A `HistogramPipeline`, an iterator of one `FrameResult` for each frame, in order. What the source, the function
        or a stage raises is raised behind the results of all frames before.

    Raises:
        InvalidArgument: a ValueError; a request that does not fit the frames, buffers outside 1 to 8.
        Unsupported: a TypeError; dtypes and algorithms, a device that there is not, frames on a GPU.
        CudaError: a RuntimeError.
        OutOfMemory: a MemoryError; every buffer has an integral histogram of the region.

    Source: Poostchi et al. 2013, sections 4.3 to 4.5.

    >>> import numpy as np, boxsum
    >>> frames = [np.full((20, 30), 100 * number, np.uint8) for number in (0, 1, 2)]
    >>> request = boxsum.FrameRequest(boxes=[(0, 0, 4, 4), (2, 2, 5, 6)])
    >>> [result.histograms.tolist() for result in boxsum.histogram_pipeline(frames, request, 2)]
    [[[16, 0], [30, 0]], [[16, 0], [30, 0]], [[0, 16], [0, 30]]]
    """
    if not isinstance(frames, Iterable) or getattr(frames, "ndim", 1) == 0:
        raise Unsupported(f"frames: is {frames!r}, must be images in turn")
    planner = None if isinstance(request, FrameRequest) or not callable(request) else request
    numbers = None if planner is not None else _request_numbers(request)
    of_frames, of_weights = iter(frames), _in_turn(weights)
    first = next(of_frames, _END)
    if first is _END:
        return HistogramPipeline(None, _nothing())
    handle = _core.open_pipeline(
        first, weights is not None, binning_of(first, bins, range), numbers, layout, dtype, buffers, device, threads, algorithm
    )
    source = _Source(handle, itertools.chain([first], of_frames), of_weights)
    return HistogramPipeline(handle, _results_of(handle, source, planner, int(buffers), layout))


def _nothing() -> Generator[Any, None, None]:
    yield from ()


class _Source:
    """Frames with their weights, and what went wrong with the next one, which comes behind all before it."""

    def __init__(self, handle: Any, frames: Iterator[Any], weights: Iterator[Any]) -> None:
        self.handle = handle
        self.frames = frames
        self.weights = weights
        self.failure: Exception | None = None
        self.read: list[Any] = []
        self.count = 0

    def next(self) -> Any:
        """A frame, or _END."""
        if self.failure is not None:
            return _END
        try:
            return next(self.frames, _END)
        except Exception as failure:
            self.failure = failure
            return _END

    def put(self, frame: Any, until_read: bool) -> None:
        try:
            weight = next(self.weights, _END)
            if weight is _END:
                raise InvalidArgument(f"weights: end before frame {self.count}")
            _core.put_frame(self.handle, frame, weight, until_read)
        except Exception as failure:
            self.failure = failure
            return
        self.read.append(frame)
        self.count += 1


def _results_of(
    handle: Any,
    source: _Source,
    planner: Planner | None,
    buffers: int,
    layout: Literal["inclusive", "padded"],
) -> Generator[FrameResult[Any], None, None]:
    """Reads ahead as many frames as there are buffers beside the one that is handed out.

    While the caller has a result, the frames behind it are computed; the next one is asked for while they are.
    """

    def plan(frame: int, previous: FrameResult[Any] | None) -> None:
        if planner is None:
            return
        try:
            _core.put_request(handle, _request_numbers(planner(frame, previous)))
        except Exception as failure:
            source.failure = failure
            del source.read[:]  # what was read behind the frame of which nothing is made
            source.count = frame

    done = 0
    previous: FrameResult[Any] | None = None
    try:
        while source.count < buffers - 1 and (frame := source.next()) is not _END:
            source.put(frame, True)
        if source.count > 0:
            plan(0, None)
        while True:
            frame = source.next()
            if source.count == done and frame is not _END:  # one buffer, which the frame before still has
                source.put(frame, False)
                if source.count > done:
                    plan(done, previous)
                frame = _END
            if source.count == done:
                break
            try:
                found = _core.next_frame(handle)
            except Exception as problem:
                problem.add_note(f"in frame {done} of the pipeline")
                raise
            if frame is not _END:
                source.put(frame, True)
            region, histograms, matches, match_histograms, tensor = found
            previous = FrameResult(
                done,
                source.read.pop(0),
                Box(*region),
                histograms,
                [Match(Box(*one[:4]), one[4]) for one in matches],
                match_histograms,
                None if tensor is None else HistogramTable(tensor, layout=layout),
            )
            done += 1
            if source.count > done:
                plan(done, previous)
            yield previous
        if source.failure is not None:
            raise source.failure
    finally:
        _core.close_pipeline(handle)
