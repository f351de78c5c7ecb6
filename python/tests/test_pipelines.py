"""Frames in turn: results are those of each frame by itself, whatever the buffers, and errors come behind what was before."""

from __future__ import annotations

import gc
import itertools
import os
import pathlib
import subprocess
import sys
import weakref

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import boxsum
from boxsum import FrameRequest, histogram_pipeline

TASKS = pathlib.Path("/proc/self/task")
EVERYTHING = FrameRequest(boxes=[0, 0, 12, 17])


def video(count=6, dtype="uint8", shape=(12, 17)):
    return [reference.random_image(shape, dtype, seed) for seed in range(count)]


def bins_of(frame, bins, low, high):
    values = frame.astype(np.float64)
    return np.where((values >= low) & (values < high), np.floor((values - low) * (bins / (high - low))), -1).astype(int)


def sums_of(binned, weights, bins, box):
    row, col, rows, cols = box
    part = np.s_[row : row + rows, col : col + cols]
    return np.array([weights[part][binned[part] == b].sum() for b in range(bins)])


def distances(target, binned, weights, bins, size):
    """Of all windows of a size, by their rows and columns."""
    places = itertools.product(range(binned.shape[0] - size[0] + 1), range(binned.shape[1] - size[1] + 1))
    return {
        (row, col): np.abs(target / target.sum() - h / max(h.sum(), 1)).sum()
        for row, col in places
        for h in [sums_of(binned, weights, bins, (row, col, *size))]
    }


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_frames_are_what_they_are_by_themselves(data):
    dtype = data.draw(st.sampled_from(["bool", "uint8", "int8", "int16", "uint16", "int32"]))
    layout = data.draw(st.sampled_from(["inclusive", "padded"]))
    buffers = data.draw(st.integers(1, 8))
    count = data.draw(st.integers(0, 10))
    frames = video(count, dtype)
    if data.draw(st.booleans()):
        frames = [np.asfortranarray(frame) for frame in frames]
    low, high, bins = (0, 2, 2) if dtype == "bool" else (np.iinfo(dtype).min * 0.9, np.iinfo(dtype).max * 0.9, 8)
    weighing = data.draw(st.sampled_from(["none", "one", "each"]))
    ones = np.ones((12, 17), np.int64)
    weights = [ones] * count if weighing == "none" else [np.arange(204).reshape(12, 17) % (3 + n) for n in range(count)]
    if weighing == "one":
        weights = [weights[0]] * count if count else []
    floats = [one.astype(np.float32) for one in weights]
    given_weights = {"none": None, "one": floats[0] if count else ones, "each": iter(floats)}[weighing]
    region = data.draw(st.sampled_from([None, (2, 3, 8, 11)]))
    row, col, rows, cols = region or (0, 0, 12, 17)
    boxes = np.array([[[row, col, rows, cols], [row + 1, col + 2, 3, 4]]])
    small = data.draw(st.booleans()) and weighing == "none"
    target = np.arange(1, bins + 1)
    request = FrameRequest(
        boxes=boxes, tensor=True, sizes=(4, 5), target=target, distance="l1", count=3, match_histograms=True, region=region
    )
    pipeline = histogram_pipeline(
        iter(frames),
        request,
        bins,
        range=(low, high),
        weights=given_weights,
        layout=layout,
        dtype="uint16" if small else None,
        buffers=buffers,
        threads=1,
    )
    results = list(pipeline)
    assert [result.frame for result in results] == list(range(count))
    assert all(result.image is frame for result, frame in zip(results, frames, strict=True))
    of_sums = np.uint32 if weighing == "none" else np.float32
    for result, frame, weight in zip(results, frames, weights, strict=True):
        binned = bins_of(frame, bins, low, high)
        assert result.region == (row, col, rows, cols)
        assert result.histograms.shape == (1, 2, bins) and result.histograms.dtype == of_sums
        for box, histogram in zip(boxes[0], result.histograms[0], strict=True):
            np.testing.assert_array_equal(histogram, sums_of(binned, weight, bins, box))
        part = np.s_[row : row + rows, col : col + cols]
        expected = [reference.table(np.where(binned[part] == b, weight[part], 0), layout, np.int64) for b in range(bins)]
        np.testing.assert_array_equal(result.tensor.values, expected)
        assert result.tensor.values.dtype == (np.uint16 if small else of_sums) and result.tensor.layout == layout
        apart = distances(target, binned[part], weight[part], bins, (4, 5))
        found = [apart[match.box.row - row, match.box.col - col] for match in result.matches]
        np.testing.assert_allclose(found, sorted(apart.values())[:3], atol=1e-6)
        np.testing.assert_allclose([match.distance for match in result.matches], found, atol=1e-6)
        for match, histogram in zip(result.matches, result.match_histograms, strict=True):
            np.testing.assert_array_equal(histogram, sums_of(binned, weight, bins, match.box))
    assert pipeline.report().frames == count
    assert next(pipeline, None) is None


def test_what_is_not_asked_for_is_none():
    (result,) = histogram_pipeline(video(1), FrameRequest(sizes=3, target=[1, 2]), 2)
    assert result.histograms is None and result.tensor is None and result.match_histograms is None
    (result,) = histogram_pipeline(video(1), EVERYTHING, 2)
    assert result.histograms.shape == (2,) and result.matches == []
    (result,) = histogram_pipeline(video(1), FrameRequest(boxes=np.empty((0, 4), int), tensor=True), 2)
    assert result.histograms.shape == (0, 2)
    (result,) = histogram_pipeline(video(1), FrameRequest(boxes=[[2, 1, 5, 4]], format="xyxy"), 2)
    np.testing.assert_array_equal(result.histograms[0], boxsum.integral_histogram(result.image, 2).region([1, 2, 3, 3]))


@pytest.mark.parametrize("buffers", range(1, 9))
def test_a_source_may_fill_one_array_again_and_again(buffers):
    def camera():
        memory = np.empty((12, 17), np.uint8)
        for frame in video(9):
            memory[...] = frame
            yield memory

    results = histogram_pipeline(camera(), FrameRequest(boxes=[3, 2, 7, 8]), 4, buffers=buffers)
    for result, frame in zip(results, video(9), strict=True):
        np.testing.assert_array_equal(result.histograms, sums_of(frame // 64, np.ones(frame.shape), 4, (3, 2, 7, 8)))


@pytest.mark.parametrize("buffers", range(1, 9))
def test_a_function_plans_each_frame_from_the_result_before(buffers):
    """What `track` does."""
    rng = np.random.default_rng(7)
    frames = rng.integers(0, 60, (6, 70, 90), dtype=np.uint8)
    thing = rng.integers(100, 256, (12, 16), dtype=np.uint8)
    places = [(20, 30), (26, 24), (29, 31), (40, 38), (47, 44), (50, 60)]
    for frame, (row, col) in zip(frames, places, strict=True):
        frame[row : row + 12, col : col + 16] = thing
    asked = []

    def plan(number, before):
        asked.append((number, before and before.frame))
        if before is None:
            return FrameRequest(boxes=[20, 30, 12, 16])
        row, col = before.matches[0].box[:2] if before.matches else (20, 30)
        target = before.histograms if before.match_histograms is None else before.match_histograms[0]
        around = (max(row - 16, 0), max(col - 16, 0), min(44, 70 - max(row - 16, 0)), min(48, 90 - max(col - 16, 0)))
        return FrameRequest(sizes=(12, 16), target=target, region=around, match_histograms=True)

    found = list(histogram_pipeline(frames, plan, 16, buffers=buffers))
    assert [tuple(result.matches[0].box) for result in found[1:]] == [(*place, 12, 16) for place in places[1:]]
    assert asked == [(number, number - 1 if number else None) for number in range(6)]
    assert [result.region.rows for result in found] == [70, 44, 44, 44, 44, 39]


def failing(frames, problem):
    yield from frames
    raise problem


@pytest.mark.parametrize("buffers", range(1, 9))
@pytest.mark.parametrize("planned", [False, True])
def test_what_fails_comes_behind_all_frames_before(buffers, planned):
    frames = video(6)
    request = (lambda number, before: EVERYTHING) if planned else EVERYTHING

    def wrong(instead):
        return lambda number, before: instead() if number == 3 else EVERYTHING

    cases = [
        (failing(frames[:3], KeyError("camera")), request, {}, KeyError, "camera"),
        (frames[:3] + [frames[3][1:]], request, {}, boxsum.InvalidArgument, r"frames: one is \(11, 17\) of uint8"),
        (frames[:3] + [frames[3].astype("f4")], request, {}, boxsum.InvalidArgument, r"of float32, the first was .*uint8"),
        (frames[:3] + [None], request, {}, boxsum.Unsupported, "frames: is of type NoneType"),
        (frames, request, {"weights": [np.ones((12, 17), "f4")] * 3}, boxsum.InvalidArgument, "weights: end before frame 3"),
        (frames, wrong(lambda: 1 // 0), {}, ZeroDivisionError, "division"),
        (frames, wrong(lambda: None), {}, boxsum.Unsupported, "request: is None"),
        (frames, wrong(lambda: FrameRequest(boxes=[9, 9, 9, 9])), {}, boxsum.InvalidArgument, r"boxes\[0\]: .* outside"),
    ]
    for source, asks, options, kind, words in cases:
        pipeline = histogram_pipeline(source, asks, 4, buffers=buffers, **options)
        assert [next(pipeline).frame for _ in range(3)] == [0, 1, 2]
        with pytest.raises(kind, match=words):
            next(pipeline)
        assert next(pipeline, None) is None and pipeline.report().frames == 3


def test_errors_are_raised_at_once():
    frame = video(1)
    for words, options in (
        ("buffers: is 0, must be 1 to 8", {"buffers": 0}),
        ("buffers: is 9", {"buffers": 9}),
        ("device: is -1", {"device": -1}),
        ("layout: is 'exclusive'", {"layout": "exclusive"}),
        ("range: is .*, but bins is a Binning", {"bins": boxsum.Binning.indices(4), "range": (0, 3)}),
    ):
        with pytest.raises(boxsum.InvalidArgument, match=words):
            histogram_pipeline(frame, EVERYTHING, **{"bins": 4, **options})
    for words, options in (
        ("dtype: is float32, must be uint32 or uint16", {"dtype": "float32"}),
        ("dtype: is uint32, sums of weights", {"dtype": "uint32", "weights": np.ones((12, 17), "f4")}),
        ("device", {"device": 1000}),
        ("weights: is 3", {"weights": 3}),
        ("algorithm", {"algorithm": "no"}),
    ):
        with pytest.raises(boxsum.Unsupported, match=words):
            histogram_pipeline(frame, EVERYTHING, 4, **options)
    target = [1, 2, 3, 4]
    for words, request in (
        ("request: asks for nothing", FrameRequest()),
        ("request: target is None", FrameRequest(sizes=3)),
        ("request: target has 2 values", FrameRequest(sizes=3, target=[1, 2])),
        ("request: region is", FrameRequest(region=(1, 2, 3), tensor=True)),
        ("request: region: .* outside", FrameRequest(region=(1, 2, 30, 4), tensor=True)),
        ("request: count is 0", FrameRequest(sizes=3, target=target, count=0)),
        ("row_step is 0", FrameRequest(sizes=3, target=target, step=0)),
        ("distance: is 'far'", FrameRequest(sizes=3, target=target, distance="far")),
    ):
        with pytest.raises(boxsum.InvalidArgument, match=words):
            histogram_pipeline(frame, request, 4)
    for words, wrong in (("frames: is 3, must be images in turn", 3), (r"int64", [frame[0].astype("i8")])):
        with pytest.raises(boxsum.Error, match=words):
            histogram_pipeline(wrong, EVERYTHING, 4)
    assert list(histogram_pipeline([], EVERYTHING, 4)) == []
    assert histogram_pipeline([], EVERYTHING, 4).report().frames == 0


def test_batches_are_frames_and_weights_of_one_are_of_all():
    batch = reference.random_image((3, 6, 7), "uint8", 5)
    weights = (np.arange(42, dtype=np.float32).reshape(6, 7) - 7) / 4
    request = FrameRequest(boxes=[1, 1, 4, 5])
    for one, frame in zip(histogram_pipeline(batch, request, 4, weights=weights), batch, strict=True):
        np.testing.assert_array_equal(one.histograms, sums_of(frame // 64, weights, 4, (1, 1, 4, 5)))
    indices = boxsum.Binning.indices(3)
    for one, frame in zip(histogram_pipeline(batch % 3, request, indices), batch, strict=True):
        np.testing.assert_array_equal(one.histograms, np.bincount((frame % 3)[1:5, 1:6].ravel(), minlength=3))


@pytest.mark.skipif(not TASKS.exists(), reason="no /proc")
@pytest.mark.parametrize("buffers", [1, 2, 5])
def test_threads_and_memory_end_with_the_pipeline(buffers):
    frame = np.zeros((300, 400), np.uint8)
    request = FrameRequest(boxes=[0, 0, 30, 40])
    list(histogram_pipeline([frame], request, 16, threads=1))
    gc.collect()
    threads, used = len(list(TASKS.iterdir())), boxsum.memory.usage().used_bytes

    def begun():
        pipeline = histogram_pipeline(itertools.repeat(frame), request, 16, buffers=buffers, threads=1)
        next(pipeline)
        assert len(list(TASKS.iterdir())) > threads
        return pipeline

    pipeline = begun()
    alive = weakref.ref(pipeline)
    del pipeline
    gc.collect()
    assert alive() is None
    pipeline = begun()
    pipeline.close()
    pipeline.close()
    assert next(pipeline, None) is None and pipeline.report().frames == 1
    pipeline = histogram_pipeline([frame], request, 16, buffers=buffers, threads=1)
    pipeline.close()
    assert next(pipeline, None) is None and pipeline.report().frames == 0
    pipeline = histogram_pipeline([frame] * 3, request, 16, buffers=buffers, threads=1)
    assert len(list(pipeline)) == 3
    pipeline = histogram_pipeline(failing([frame] * 3, KeyError("camera")), request, 16, buffers=buffers, threads=1)
    with pytest.raises(KeyError):
        list(pipeline)
    gc.collect()
    assert len(list(TASKS.iterdir())) == threads
    assert boxsum.memory.usage().used_bytes == used


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_after_fork():
    frame = np.zeros((300, 400), np.uint8)
    request = FrameRequest(boxes=[0, 0, 30, 40])
    pipeline = histogram_pipeline(itertools.repeat(frame), request, 16, buffers=3)
    next(pipeline)
    child = os.fork()
    if child == 0:
        try:
            next(pipeline)
            os._exit(1)
        except boxsum.InvalidArgument:
            del pipeline
            gc.collect()
            again = histogram_pipeline(itertools.repeat(frame), request, 16)
            os._exit(0 if next(again).histograms[0] == 1200 else 2)
    assert os.waitpid(child, 0)[1] == 0
    assert next(pipeline).histograms[0] == 1200


def test_one_in_flight_at_the_end_of_the_process():
    code = (
        "import itertools, sys, numpy as np, boxsum\n"
        "frames = itertools.repeat(np.zeros((500, 600), np.uint8))\n"
        "kept = boxsum.histogram_pipeline(frames, boxsum.FrameRequest(boxes=[0, 0, 9, 9]), 32, buffers=4)\n"
        "print(next(kept).histograms[0])\n"
        "sys.kept = [kept]\n"
        "sys.kept.append(sys.kept)\n"
    )
    result = subprocess.run([sys.executable, "-X", "dev", "-c", code], capture_output=True, text=True, timeout=600)
    assert (result.stdout, result.stderr, result.returncode) == ("81\n", "", 0)
