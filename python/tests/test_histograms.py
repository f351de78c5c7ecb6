from __future__ import annotations

import checks
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import boxsum


def counts(bins_of, bins, box):
    r, c, h, w = box
    part = bins_of[r : r + h, c : c + w].ravel()
    return np.bincount(part[part >= 0], minlength=bins)


@pytest.mark.parametrize("layout", ["inclusive", "padded"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "uint16", "int16", "int32", "float16", "float32"])
def test_counts(layout, dtype):
    image = reference.random_image((5, 7), dtype, 4)
    lo, hi = (-0.5, 0.75) if "float" in dtype else (0, 2) if dtype == "bool" else (-50, 90)
    bins = 5
    histograms = boxsum.integral_histogram(image, bins, range=(lo, hi), layout=layout)
    assert histograms.bins == bins and histograms.values.dtype == np.uint32
    values = image.astype(np.float64)
    bins_of = np.where(
        (values >= lo) & (values < hi), np.minimum(np.floor((values - lo) * (bins / (hi - lo))), bins - 1), -1
    )
    bins_of = bins_of.astype(int)
    expected = [reference.table((bins_of == b).astype(np.uint8), layout, np.uint32) for b in range(bins)]
    np.testing.assert_array_equal(histograms.values, expected)
    np.testing.assert_array_equal(
        boxsum.integral_histogram(np.asfortranarray(image), bins, range=(lo, hi), layout=layout).values, expected
    )
    for box in checks.BOXES.tolist():
        np.testing.assert_array_equal(histograms.region(box), counts(bins_of, bins, box))
    shares = histograms.region([0, 0, 5, 7], normalize=True)
    total = (bins_of >= 0).sum()
    np.testing.assert_allclose(shares, counts(bins_of, bins, (0, 0, 5, 7)) / max(total, 1))


def test_binnings_weights_and_batches():
    image = reference.random_image((2, 3, 4), "uint8", 5)
    lookup = np.arange(256) % 7
    lookup[lookup == 6] = 65535
    table = boxsum.integral_histogram(image, boxsum.Binning.lookup(6, lookup))
    assert table.values.shape == (2, 6, 3, 4)
    regions = table.region([[0, 0, 3, 4], [1, 1, 2, 2]])
    assert regions.shape == (2, 2, 6)
    for plane in range(2):
        bins_of = np.where(image[plane] % 7 == 6, -1, (image[plane] % 7).astype(int))
        np.testing.assert_array_equal(regions[plane, 0], counts(bins_of, 6, (0, 0, 3, 4)))
        np.testing.assert_array_equal(regions[plane, 1], counts(bins_of, 6, (1, 1, 2, 2)))

    indices = image % 5
    np.testing.assert_array_equal(
        boxsum.integral_histogram(indices, boxsum.Binning.indices(5)).region([0, 0, 3, 4])[0],
        np.bincount(indices[0].ravel(), minlength=5),
    )
    clamped = boxsum.integral_histogram(image, boxsum.Binning.uniform(4, 64, 128, "clamp")).region([0, 0, 3, 4])
    assert clamped.sum() == image.size
    small = boxsum.integral_histogram(image, 4, dtype=np.uint16)
    assert small.values.dtype == np.uint16
    np.testing.assert_array_equal(small.values, boxsum.integral_histogram(image, 4).values)

    for weights in (reference.random_image((2, 3, 4), "float32", 6), reference.random_image((3, 4), "float32", 6)):
        if weights.ndim == 2:
            image, weights = image[0], weights
        sums = boxsum.integral_histogram(image, 4, weights=weights)
        assert sums.values.dtype == np.float32
        expected = [np.where(image // 64 == b, weights, 0).astype(float).sum((-2, -1)) for b in range(4)]
        np.testing.assert_allclose(sums.region([0, 0, 3, 4]), np.moveaxis(expected, 0, -1), atol=1e-5)


def test_windows_and_search():
    image = reference.random_image((9, 12), "uint8", 8)
    histograms = boxsum.integral_histogram(image, 8)
    windows = histograms.windows((3, 4), step=(2, 3))
    assert windows.shape == (4, 3, 8)
    bins_of = (image // 32).astype(int)
    for i, j in np.ndindex(4, 3):
        np.testing.assert_array_equal(windows[i, j], counts(bins_of, 8, (2 * i, 3 * j, 3, 4)))
    region = histograms.windows(2, within=(1, 2, 3, 5))
    assert region.shape == (2, 4, 8)
    np.testing.assert_array_equal(region[1, 3], counts(bins_of, 8, (2, 5, 2, 2)))
    assert histograms.windows(20).shape[-1] == 8 and histograms.windows(20).size == 0

    target = counts(bins_of, 8, (4, 6, 3, 4))
    best = histograms.search(target, (3, 4), count=5)
    assert best[0].box == (4, 6, 3, 4) and best[0].distance < 1e-7
    assert [one.distance for one in best] == sorted(one.distance for one in best)
    every = [
        boxsum.histogram_distance(target, counts(bins_of, 8, (r, c, 3, 4)), distance="l1")
        for r in range(7)
        for c in range(9)
    ]
    found = histograms.search(target, [(3, 4)], distance="l1", count=1000)
    np.testing.assert_allclose([one.distance for one in found], np.sort(every), atol=1e-15)
    several = histograms.search(target, [(3, 4), (3, 3)], count=3)
    assert several[0].box == (4, 6, 3, 4)
    # A pair is a size, whatever sequence it is.
    for size in ([3, 4], np.array([3, 4]), [(3, 4)], ((3, 4),), np.array([[3, 4]])):
        assert histograms.search(target, size, count=5) == best
    assert histograms.search(target, sizes=(3, 4), within=(4, 6, 3, 4)) == best[:1]
    assert histograms.search(target, 3, count=3) == histograms.search(target, [3, 3], count=3)


def test_search_without_overlap():
    image = reference.random_image((9, 12), "uint8", 8)
    histograms = boxsum.integral_histogram(image, 8)
    target = histograms.region([4, 6, 3, 4])
    apart = histograms.search(target, (3, 4), count=100, largest_overlap=0)
    covered = np.zeros(image.shape, int)
    for match in apart:
        row, col, rows, cols = match.box
        covered[row : row + rows, col : col + cols] += 1
    assert covered.max() == 1 and apart[0].box == (4, 6, 3, 4)
    assert 1 < len(apart) < len(histograms.search(target, (3, 4), count=100))


@pytest.mark.parametrize("wrong", [[3], [3, 4, 5], [(3, 4), 5]])
def test_sizes_that_are_none(wrong):
    histograms = boxsum.integral_histogram(np.zeros((9, 12), np.uint8), 4)
    with pytest.raises(ValueError, match="sizes: is .* several sizes are pairs"):
        histograms.search([1, 0, 0, 0], wrong)


@pytest.mark.parametrize("scales", [(1.0,), (0.8, 1.0, 1.25)])
def test_track(scales):
    rng = np.random.default_rng(7)
    frames = rng.integers(0, 60, (5, 70, 90), dtype=np.uint8)
    thing = rng.integers(100, 256, (12, 16), dtype=np.uint8)
    places = [(20, 30), (26, 24), (29, 31), (40, 38), (47, 44)]
    for frame, (row, col) in zip(frames, places, strict=True):
        frame[row : row + 12, col : col + 16] = thing
    found = list(boxsum.track(iter(frames), (20, 30, 12, 16), search=12, scales=scales))
    assert [tuple(match.box) for match in found] == [(*place, 12, 16) for place in places]
    assert all(match.distance < 1e-7 for match in found)
    # What moves further than it is looked for is not found.
    lost = list(boxsum.track(frames, (20, 30, 12, 16), search=2))
    assert tuple(lost[1].box) != (26, 24, 12, 16)


def test_track_names_its_arguments():
    frames = np.zeros((2, 20, 30), np.uint8)
    cases = [
        ("search: is -1", lambda: boxsum.track(frames, (1, 1, 4, 4), search=-1)),
        ("scales: are", lambda: boxsum.track(frames, (1, 1, 4, 4), scales=())),
        ("box: is .1, 1, 4., must be", lambda: boxsum.track(frames, (1, 1, 4))),
        ("box: is .18, 1, 4, 4., must have pixels", lambda: list(boxsum.track(frames, (18, 1, 4, 4)))),
        ("frames: frame 1 has the shape", lambda: list(boxsum.track([frames[0], frames[1, 1:]], (1, 1, 4, 4)))),
    ]
    for words, call in cases:
        with pytest.raises(boxsum.InvalidArgument, match=words):
            call()


def test_distances():
    rng = np.random.default_rng(1)
    a, b = rng.integers(0, 50, 16), rng.integers(0, 50, 16)
    p, q = a / a.sum(), b / b.sum()
    expected = {
        "l1": np.abs(p - q).sum(),
        "l2": np.sqrt(((p - q) ** 2).sum()),
        "chi-square": 0.5 * np.nansum((p - q) ** 2 / np.where(p + q > 0, p + q, np.nan)),
        "intersection": 1 - np.minimum(p, q).sum(),
        "bhattacharyya": np.sqrt(1 - np.sqrt(p * q).sum()),
    }
    for distance, value in expected.items():
        assert boxsum.histogram_distance(a, b, distance=distance) == pytest.approx(value, abs=1e-12)


def test_arguments_are_named():
    image = np.zeros((4, 5), np.uint8)
    histograms = boxsum.integral_histogram(image, 4)
    cases = [
        (ValueError, "range: is None; for float32 images", lambda: boxsum.integral_histogram(image.astype("f4"), 4)),
        (
            ValueError,
            "range: is .0, 1., but bins is a Binning",
            lambda: boxsum.integral_histogram(image, boxsum.Binning.indices(3), range=(0, 1)),
        ),
        (ValueError, "bins", lambda: boxsum.integral_histogram(image, 0)),
        (ValueError, "bins", lambda: boxsum.integral_histogram(image, 5000)),
        (
            ValueError,
            "outside: is 'wrap', must be one of",
            lambda: boxsum.integral_histogram(image, boxsum.Binning.uniform(3, 0, 9, "wrap")),
        ),
        (
            TypeError,
            "image: its dtype is float64, histograms take",
            lambda: boxsum.integral_histogram(image.astype(float), 4, range=(0, 1)),
        ),
        (
            TypeError,
            "weights: their dtype is float64, must be float32",
            lambda: boxsum.integral_histogram(image, 4, weights=np.ones((4, 5))),
        ),
        (
            ValueError,
            "weights: its shape is .4, 4.",
            lambda: boxsum.integral_histogram(image, 4, weights=np.ones((4, 4), "f4")),
        ),
        (
            ValueError,
            "layout: is 'exclusive', histograms are",
            lambda: boxsum.HistogramTable(histograms.values, layout="exclusive"),
        ),
        (ValueError, "exclusive", lambda: boxsum.integral_histogram(image, 4, layout="exclusive")),
        (TypeError, "dtype: is int64", lambda: boxsum.integral_histogram(image, 4, dtype=int)),
        (ValueError, r"boxes\[1\]: .*lies outside", lambda: histograms.region([[0, 0, 1, 1], [3, 3, 2, 2]])),
        (TypeError, "boxes: are floating", lambda: histograms.region([0.0, 0.0, 1.0, 1.0])),
        (ValueError, "format: is 'xx'", lambda: histograms.region([0, 0, 1, 1], format="xx")),
        (ValueError, "windows: .*must be at least 1", lambda: histograms.windows(0)),
        (ValueError, "within: is .1, 2., must be a box", lambda: histograms.windows(1, within=(1, 2))),
        (ValueError, "distance: is 'emd', must be one of", lambda: histograms.search([1, 1, 1, 1], 2, distance="emd")),
        (ValueError, "target", lambda: histograms.search([1, 1], 2)),
        (ValueError, "count", lambda: histograms.search([1, 1, 1, 1], 2, count=0)),
    ]
    for kind, words, call in cases:
        with pytest.raises(kind, match=words) as raised:
            call()
        assert isinstance(raised.value, boxsum.Error)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_tasks_of_workers_make_the_same_histograms(data):
    dtype = data.draw(st.sampled_from(["bool", "uint8", "int8", "int16", "uint16", "int32", "float32"]))
    batch = data.draw(st.sampled_from([(), (3,)]))
    image = reference.random_image((*batch, 6, 7), dtype, data.draw(st.integers(0, 99)))
    limits = {"bool": (0, 2), "float32": (-1, 1)}.get(dtype) or (int(image.min()), int(image.max()) + 1)
    bins = data.draw(st.integers(1, 9))
    layout = data.draw(st.sampled_from(["inclusive", "padded"]))
    weights = reference.random_image((6, 7), "float32", 3) if data.draw(st.booleans()) else None
    more = layout == "padded"
    out = np.full((*batch, bins, 6 + more, 7 + more), 77, np.uint32 if weights is None else np.float32)
    each = data.draw(st.integers(0, bins))
    made, report = boxsum.histogram_tasks(
        image, bins, range=limits, weights=weights, layout=layout, out=out, cpu_workers=2, bins_per_task=each
    )
    alone = boxsum.integral_histogram(image, bins, range=limits, weights=weights, layout=layout)
    np.testing.assert_array_equal(made.values, alone.values)
    assert made.values is out and made.layout == layout
    if weights is None:
        low, high = limits
        for b in range(bins):
            falls = np.floor((image.astype(np.float64) - low) * (bins / (high - low))) == b
            if dtype == "float32":  # whose bins are found in its own arithmetic: compared above
                break
            np.testing.assert_array_equal(made.values[..., b, :, :], reference.table(falls, layout, np.uint32))
    assert [worker.name for worker in report.workers] == ["cpu:0", "cpu:1"]
    assert sum(worker.tasks for worker in report.workers) == report.tasks
    assert report.bins_per_task >= 1 and (each == 0 or report.bins_per_task == each)
    assert report.tasks == -(-bins // report.bins_per_task)
    assert {worker.failure for worker in report.workers} == {""}


def test_tasks_name_what_is_wrong():
    image = np.zeros((4, 5), np.uint8)
    for words, options in (
        ("cpu_workers: is -1", {"cpu_workers": -1}),
        ("bins_per_task: is -2", {"cpu_workers": 1, "bins_per_task": -2}),
        ("devices: is -1", {"devices": [-1]}),
        ("cpu_workers: is 2", {"cpu_workers": 2, "devices": [0]}),
    ):
        with pytest.raises(boxsum.InvalidArgument, match=words):
            boxsum.histogram_tasks(image, 4, **options)
    with pytest.raises(boxsum.Unsupported, match="devices: is 3, must be numbers of GPUs"):
        boxsum.histogram_tasks(image, 4, devices=3)
    with pytest.raises(boxsum.Unsupported, match="device"):
        boxsum.histogram_tasks(image, 4, devices=[1000])


def test_weights_of_one_image_are_those_of_a_batch():
    image = reference.random_image((3, 5, 6), "uint8", 8)
    weights = (np.arange(30, dtype=np.float32).reshape(5, 6) - 7) / 4  # sums are exact
    made = boxsum.integral_histogram(image, 4, weights=weights)
    for b in range(4):
        for plane in range(3):
            expected = np.where(image[plane] // 64 == b, weights.astype(np.float64), 0).cumsum(0).cumsum(1)
            np.testing.assert_array_equal(made.values[plane, b], expected)
    each = np.stack([weights, 2 * weights, -weights])
    np.testing.assert_array_equal(boxsum.integral_histogram(image, 4, weights=each).values[0], made.values[0])
