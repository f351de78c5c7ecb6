from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import boxsum

BORDERS = ("shrink", "reflect", "replicate", "constant", "mirror", "wrap")


@settings(max_examples=60)
@given(data=st.data())
def test_means_of_any_windows(data):
    dtype = data.draw(st.sampled_from(["bool", "uint8", "uint16", "int16", "float32", "float64"]))
    rows, cols = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 7))
    image = reference.random_image((rows, cols), dtype, data.draw(st.integers(0, 99)))
    size = (data.draw(st.integers(1, 8)), data.draw(st.integers(1, 8)))
    origin = tuple(data.draw(st.integers(-(extent // 2), (extent - 1) // 2)) for extent in size)
    border = data.draw(st.sampled_from(BORDERS))
    cval = data.draw(st.integers(0, 1))
    numbers = image.astype(np.uint8) if dtype == "bool" else image
    lists = reference.windows(numbers, size, border, cval, origin)
    means = reference.each(lists, reference.mean, object)
    given_image = np.asfortranarray(image) if data.draw(st.booleans()) else image
    options = {"border": border, "cval": cval, "origin": origin}
    result = boxsum.box_filter(given_image, size, **options)
    if dtype == "bool" or dtype.startswith("float"):
        assert result.dtype == (np.float64 if dtype == "bool" else np.dtype(dtype))
        tolerance = {"float32": 1e-7}.get(dtype, 1e-14)
        np.testing.assert_allclose(result, means.astype(float), rtol=0, atol=tolerance)
    else:
        expected = np.array([[reference.half_up(one) for one in row] for row in means], dtype)
        np.testing.assert_array_equal(result, expected)
        assert result.dtype == np.dtype(dtype)
    for precise in (np.float32, np.float64):
        wide = boxsum.box_filter(given_image, size, dtype=precise, **options)
        assert wide.dtype == precise
        scale = max(1.0, float(np.abs(numbers.astype(float)).max()))
        np.testing.assert_allclose(wide, means.astype(float), rtol=0, atol=scale * 4 * float(np.finfo(precise).eps))


@pytest.mark.parametrize("dtype", ["uint32", "int32", "float16"])
def test_means_and_sums_of_wider_types(dtype):
    image = reference.random_image((9, 7), dtype, 5)
    means = boxsum.box_filter(image, 3, border="shrink")
    sums = boxsum.box_filter(image, 3, stat="sum", border="shrink")
    assert means.dtype == np.dtype(dtype)
    assert sums.dtype == (np.float64 if dtype == "float16" else np.int64)
    for row in range(9):
        for col in range(7):
            window = image[max(row - 1, 0):row + 2, max(col - 1, 0):col + 2].ravel()
            total = sum(Fraction(one.item()) for one in window)
            assert sums[row, col].item() == total
            if dtype != "float16":
                assert means[row, col].item() == math.floor(total / len(window) + Fraction(1, 2))
            else:
                assert means[row, col] == np.float16(float(total / len(window)))


@settings(max_examples=40)
@given(data=st.data())
def test_statistics_and_what_is_made_of_them(data):
    dtype = data.draw(st.sampled_from(["uint8", "int16", "float64"]))
    image = reference.random_image((data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))), dtype, 3)
    size = (data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5)))
    origin = tuple(data.draw(st.integers(-(extent // 2), (extent - 1) // 2)) for extent in size)
    border = data.draw(st.sampled_from(BORDERS))
    lists = reference.windows(image, size, border, 0, origin)
    given = {"border": border, "origin": origin}
    means = reference.each(lists, reference.mean, float)
    variances = reference.each(lists, reference.variance, float)
    order = data.draw(st.permutations(["mean", "var", "std"]))
    results = dict(zip(order, boxsum.local_statistics(image, size, results=order, **given), strict=True))
    scale = float(np.abs(image.astype(float)).max()) + 1
    np.testing.assert_allclose(results["mean"], means, rtol=1e-14, atol=1e-14 * scale)
    np.testing.assert_allclose(results["var"], variances, rtol=1e-13, atol=1e-14 * scale**2)
    np.testing.assert_allclose(results["std"], np.sqrt(variances), rtol=1e-13, atol=1e-7 * scale)
    assert (results["var"] >= 0).all()

    contrast = boxsum.local_contrast(image, size, epsilon=0.5, **given)
    expected = (image - means) / np.maximum(np.sqrt(variances), 0.5)
    assert contrast.dtype == np.float32
    np.testing.assert_allclose(contrast, expected, rtol=1e-5, atol=1e-5)
    precise = boxsum.local_contrast(image, size, epsilon=0.5, dtype="float64", **given)
    np.testing.assert_allclose(precise, expected, rtol=1e-6, atol=1e-6)

    pixels, deviations = image.astype(float), np.sqrt(variances)
    half = {"uint8": 127.5, "int16": 32767.5, "float64": 0.5}[dtype]
    largest = deviations.max() or 1.0
    thresholds = {
        "bradley": means * (1 - 0.15),
        "niblack": means - 0.2 * deviations,
        "sauvola": means * (1 + 0.2 * (deviations / half - 1)),
        "wolf": means - 0.5 * (1 - deviations / largest) * (means - pixels.min()),
        "nick": means - 0.2 * np.sqrt(deviations**2 + means**2),
        "phansalkar": means * (1 + 2 * np.exp(-10 * means / (2 * half)) + 0.25 * (deviations / half - 1)),
    }
    for method, threshold in thresholds.items():
        if not np.isfinite(threshold).all() or np.abs(threshold).max() > 1e12:
            continue  # where phansalkar's exponential leaves all images
        given_threshold = boxsum.threshold(image, size, method=method, **given, result="threshold")
        assert given_threshold.dtype == np.float64
        np.testing.assert_allclose(given_threshold, threshold, rtol=1e-9, atol=1e-7 * scale)
        mask = boxsum.threshold(image, size, method=method, **given)
        assert mask.dtype == np.bool_
        clear = np.abs(pixels - threshold) > 1e-7 * scale
        np.testing.assert_array_equal(mask[clear], (pixels > threshold)[clear])
        binary = boxsum.threshold(image, size, method=method, **given, result="binary")
        np.testing.assert_array_equal(binary, mask.astype(np.uint8) * 255)
        assert set(np.unique(mask.view(np.uint8))) <= {0, 1}


@settings(max_examples=60)
@given(data=st.data())
def test_pixels_that_count(data):
    """Masks, weights, NaN and nodata, for borders that repeat the image or end it."""
    dtype = data.draw(st.sampled_from(["uint8", "int16", "float64"]))
    rows, cols = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    image = reference.random_image((rows, cols), dtype, data.draw(st.integers(0, 99)))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    border = data.draw(st.sampled_from(["shrink", "reflect", "mirror", "wrap", "replicate"]))
    size = (data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5)))
    counts = np.ones((rows, cols))
    options = {}
    if data.draw(st.booleans()):
        mask = rng.integers(0, 2, (rows, cols)).astype(data.draw(st.sampled_from([bool, np.uint8])))
        options["mask"] = np.asfortranarray(mask) if data.draw(st.booleans()) else mask
        counts = counts * mask
    weighted = data.draw(st.booleans())
    if weighted:
        options["weights"] = rng.uniform(0.5, 2, (rows, cols)).astype(np.float32)
        counts = counts * options["weights"]
    if dtype == "float64":
        image[rng.integers(0, 3, (rows, cols)) == 0] = math.nan
        options["nan"] = "omit"
        counts = counts * ~np.isnan(image)
    if data.draw(st.booleans()):
        options["nodata"] = float(np.nan_to_num(image.flat[0]))
        counts = counts * (image != options["nodata"])
    options["min_count"] = data.draw(st.sampled_from([None, 1.5 if weighted else 2]))
    options["fill"] = data.draw(st.sampled_from([None, -7.0]))
    results = boxsum.local_statistics(
        image, size, results=("count", "mean", "var", "sum"), border=border, dtype="float64", **options
    )
    filtered = boxsum.box_filter(image, size, border=border, dtype="float64", **options)
    np.testing.assert_array_equal(np.isnan(filtered), np.isnan(results[1]))
    values = np.nan_to_num(image.astype(float))
    of_pixels = reference.windows(values, size, border)
    of_counts = reference.windows(counts, size, border)
    least = options["min_count"] or 0
    blank = math.nan if options["fill"] is None else options["fill"]
    for r, c in np.ndindex(rows, cols):
        x, w = np.array(of_pixels[r][c]), np.array(of_counts[r][c])
        total = w.sum()
        assert results[0][r, c] == pytest.approx(total, abs=1e-6)
        if abs(total - least) < 1e-6 and weighted:
            continue
        if total == 0 or total < least:
            expected = [blank, blank]
        else:
            middle = (w * x).sum() / total
            expected = [middle, (w * (x - middle) ** 2).sum() / total]
        scale = max(1.0, float(np.abs(values).max()))
        np.testing.assert_allclose(results[1][r, c], expected[0], rtol=0, atol=1e-6 * scale)
        np.testing.assert_allclose(results[2][r, c], expected[1], rtol=0, atol=1e-6 * scale**2)
        np.testing.assert_allclose(filtered[r, c], expected[0], rtol=0, atol=1e-6 * scale)
        if total >= least and total > 0:
            np.testing.assert_allclose(results[3][r, c], (w * x).sum(), rtol=0, atol=1e-5 * scale)


def test_rounding():
    image = np.array([[0, 1, 2, 3, 3, 3, 3]], np.uint8)
    exact = boxsum.box_filter(image, (1, 2), dtype="float64")
    np.testing.assert_array_equal(boxsum.box_filter(image, (1, 2)), np.floor(exact + 0.5))
    np.testing.assert_array_equal(boxsum.box_filter(image, (1, 2), rounding="floor"), np.floor(exact))


@pytest.mark.parametrize("border", BORDERS)
@pytest.mark.parametrize("radius_dtype", ["uint8", "uint16", "int32", "uint32", "int64", "int8", "int16", "uint64"])
def test_radius_per_pixel(border, radius_dtype):
    image = reference.random_image((2, 5, 7), "uint16", 2)
    radius = np.random.default_rng(3).integers(0, 5, (5, 7)).astype(radius_dtype)
    result = boxsum.variable_box_filter(image, radius, border=border, cval=9)
    for turned in (
        boxsum.variable_box_filter(np.stack([image[0]] * 2)[0].copy(order="F"), radius, border=border, cval=9),
        boxsum.variable_box_filter(image[0], np.asfortranarray(radius), border=border, cval=9),
        boxsum.variable_box_filter(image[:1], radius[None], border=border, cval=9)[0],
    ):
        np.testing.assert_array_equal(turned, result[0])
    for r, c in np.ndindex(5, 7):
        one = 2 * int(radius[r, c]) + 1
        for plane in range(2):
            pixels = reference.windows(image[plane], (one, one), border, 9)[r][c]
            assert result[plane, r, c] == reference.half_up(reference.mean(pixels))


def test_rounding_of_radii_and_the_largest():
    image = reference.random_image((6, 8), "uint8", 4)
    radius = np.random.default_rng(5).integers(0, 4, image.shape)
    down = boxsum.variable_box_filter(image, radius, rounding="floor", border="replicate", largest_radius=3)
    exact = boxsum.variable_box_filter(image, radius, border="replicate", dtype="float64")
    np.testing.assert_array_equal(down, np.floor(exact))
    assert (down != boxsum.variable_box_filter(image, radius, border="replicate")).any()
    with pytest.raises(ValueError, match="radius: .*3.*largest_radius is 2"):
        boxsum.variable_box_filter(image, radius, largest_radius=2)
    with pytest.raises(ValueError, match="rounding: is 'up', must be one of 'half_up', 'floor'"):
        boxsum.variable_box_filter(image, radius, rounding="up")


FILTERS = {
    "box_filter": {"stat": "mean"},
    "threshold": {"method": "phansalkar"},
    "local_contrast": {"epsilon": 0.5},
    "local_statistics": {"results": ("var", "sum")},
}


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_parts_of_an_image_and_rows_that_arrive(data):
    dtype = data.draw(st.sampled_from(["uint8", "int16", "float32", "float64"]))
    rows = data.draw(st.integers(12, 40))
    channels = data.draw(st.sampled_from([(), (3,)]))
    image = reference.random_image((rows, 9, *channels), dtype, data.draw(st.integers(0, 99)))
    border = data.draw(st.sampled_from(["shrink", "reflect", "replicate", "constant", "mirror"]))
    name = data.draw(st.sampled_from(sorted(FILTERS)))
    size = (data.draw(st.integers(1, 9)), data.draw(st.integers(1, 5)))
    origin = tuple(data.draw(st.integers(-(extent // 2), (extent - 1) // 2)) for extent in size)
    options = {"border": border, "origin": origin, **FILTERS[name]}
    if channels:
        options["channel_axis"] = -1
    function = getattr(boxsum, name)
    whole = np.asarray(function(image, size, **options))
    row_axis = whole.ndim - image.ndim

    above = size[0] // 2 + origin[0]
    below = size[0] - 1 - above
    first = data.draw(st.integers(0, rows - 10))
    end = data.draw(st.integers(first + 10, rows))
    # What the upper and the lower border mirror lies in parts of ten rows.
    part = np.asarray(function(image[first:end], size, part=(first, rows), **options))
    start, stop = (0 if first == 0 else first + above), (rows if end == rows else end - below)
    np.testing.assert_array_equal(part, whole.take(range(start, stop), row_axis))

    cuts = sorted(data.draw(st.lists(st.integers(0, rows), max_size=6)))
    blocks = iter(np.split(image, cuts))
    parts = [np.asarray(one) for one in boxsum.filter_rows(function, blocks, size, **options)]
    np.testing.assert_array_equal(np.concatenate(parts, row_axis), whole)


@pytest.mark.parametrize("border", [border for border in BORDERS if border != "wrap"])
def test_rows_that_arrive_by_windows_that_begin_or_end_at_their_pixel(border):
    image = reference.random_image((12, 5), "int16", 2)
    for size in range(1, 8):
        for origin in {-(size // 2), (size - 1) // 2}:
            for rows in (1, 4, 5):
                blocks = [image[row : row + rows] for row in range(0, 12, rows)]
                options = {"border": border, "origin": (origin, 0)}
                parts = list(boxsum.filter_rows(boxsum.box_filter, blocks, (size, 1), **options))
                np.testing.assert_array_equal(np.concatenate(parts), boxsum.box_filter(image, (size, 1), **options))


def test_rows_that_arrive_are_kept_no_longer_than_needed():
    kept = []

    def spy(image, size, **options):
        kept.append(len(image))
        return boxsum.box_filter(image, size, **options)

    image = reference.random_image((400, 20), "uint8", 1)
    parts = boxsum.filter_rows(spy, (image[row : row + 8] for row in range(0, 400, 8)), (21, 5), origin=(3, 0))
    np.testing.assert_array_equal(np.concatenate(list(parts)), boxsum.box_filter(image, (21, 5), origin=(3, 0)))
    assert max(kept) <= 21 + 8 and len(kept) > 40
    small = image[:5]
    (whole,) = boxsum.filter_rows(boxsum.box_filter, [small[:2], small[2:]], 9)
    np.testing.assert_array_equal(whole, boxsum.box_filter(small, 9))
    assert list(boxsum.filter_rows(boxsum.box_filter, [], 9)) == []


def test_every_argument_has_its_name():
    image = reference.random_image((6, 7), "uint8", 4)
    np.testing.assert_array_equal(boxsum.box_filter(image=image, size=5), boxsum.box_filter(image, 5))
    np.testing.assert_array_equal(boxsum.threshold(image=image, size=5), boxsum.threshold(image, 5))
    radius = np.ones((6, 7), np.int64)
    named = boxsum.variable_box_filter(image=image, radius=radius)
    np.testing.assert_array_equal(named, boxsum.box_filter(image, 3))


@pytest.mark.parametrize("dtype", ["uint8", "float32", "float64", "bool"])
def test_contrast_in_double(dtype):
    image = reference.random_image((2, 9, 11, 3), dtype, 4)
    single = boxsum.local_contrast(image, (3, 5), epsilon=0.25, channel_axis=-1)
    double = boxsum.local_contrast(image, (3, 5), epsilon=0.25, channel_axis=-1, dtype="float64")
    assert single.dtype == np.float32 and double.dtype == np.float64
    np.testing.assert_allclose(single, double, rtol=1e-6, atol=1e-6)
    mean, std = boxsum.local_statistics(image, (3, 5), channel_axis=-1, dtype="float64")
    np.testing.assert_array_equal(double, (image - mean) / np.maximum(std, 0.25))
    plane = np.asfortranarray(image[0, ..., 0])
    out = np.full_like(plane, np.nan, dtype=float)
    assert boxsum.local_contrast(plane, (3, 5), epsilon=0.25, dtype=float, out=out) is out
    np.testing.assert_allclose(out, double[0, ..., 0], rtol=0, atol=1e-10)  # rows and columns in the other order
    mask = np.random.default_rng(3).integers(0, 2, plane.shape).astype(bool)
    for fill in (None, -7.0):
        options = {"mask": mask, "min_count": 4, "fill": fill}
        single = boxsum.local_contrast(plane, 3, **options)
        double = boxsum.local_contrast(plane, 3, dtype="float64", **options)
        np.testing.assert_allclose(single, double, rtol=1e-5, atol=1e-5)
        blank = np.isnan(double) if fill is None else double == fill
        assert blank[~mask].all() and not blank[mask].all()
    with pytest.raises(ValueError, match="out: its strides are none"):
        boxsum.local_contrast(plane, 3, dtype="float64", out=np.empty(plane.shape))
    with pytest.raises(ValueError, match=r"out: its shape is \(9, 10\), must be \(9, 11\)"):
        boxsum.local_contrast(plane, 3, dtype="float64", out=np.empty((9, 10)))
    with pytest.raises(TypeError, match="fill: is 'x', must be a real number"):
        boxsum.local_contrast(plane, 3, dtype="float64", fill="x")


def test_contrasts_in_double_beyond_single():
    image = np.array([[0, 1e-200]])  # its variance is below all numbers
    options = {"epsilon": 1e-250, "dtype": "float64"}
    plain = boxsum.local_contrast(image, (1, 3), **options)
    np.testing.assert_allclose(plain, [[-1e50 / 3, 1e50 / 3]], rtol=1e-14)
    for more in ({"nan": "omit"}, {"mask": np.ones((1, 2), bool)}, {"min_count": 2}, {"nodata": 5, "fill": 7}):
        np.testing.assert_allclose(boxsum.local_contrast(image, (1, 3), **options, **more), plain, rtol=1e-14)
    image = np.array([[0, 1e-200, np.nan]])
    blank = boxsum.local_contrast(image, (1, 3), nan="omit", fill=7, **options) == 7
    assert blank.tolist() == [[False, False, True]]


def test_contrasts_are_marked_only_where_some_may_have_none(monkeypatch):
    marked = []

    def terms(*given, original=boxsum._core.contrast_terms):
        found = original(*given)
        marked.append(found[2] is not None)
        return found

    monkeypatch.setattr(boxsum._core, "contrast_terms", terms)
    image = reference.random_image((6, 7), "uint8", 3)
    for more in ({}, {"part": (0, 9)}, {"fill": 3}):
        boxsum.local_contrast(image, 3, dtype="float64", **more)
    assert marked == [False] * 3
    ones = np.ones(image.shape, np.float32)
    for more in ({"mask": ones > 0}, {"weights": ones}, {"nan": "omit"}, {"nodata": 3}, {"min_count": 2}):
        boxsum.local_contrast(image, 3, dtype="float64", **more)
    assert marked[3:] == [True] * 5


@pytest.mark.parametrize("channels", [(), (3,)])
def test_contrast_in_double_of_parts(channels):
    image = reference.random_image((30, 11, *channels), "int16", 6)
    options = {"dtype": "float64", "origin": (1, 0), **({"channel_axis": -1} if channels else {})}
    for more in ({}, {"nodata": int(image.flat[40]), "min_count": 3, "fill": 8}):
        whole = boxsum.local_contrast(image, (4, 3), **options, **more)
        part = boxsum.local_contrast(image[8:20], (4, 3), part=(8, 30), **options, **more)
        np.testing.assert_array_equal(part, whole[11:20])
        asked = boxsum.local_contrast(image[8:20], (4, 3), part=(8, 30, 13, 17), **options, **more)
        np.testing.assert_array_equal(asked, whole[13:17])
        parts = boxsum.filter_rows(boxsum.local_contrast, np.split(image, 5), (4, 3), **options, **more)
        np.testing.assert_array_equal(np.concatenate(list(parts)), whole)


@pytest.mark.parametrize("direction", ["convolution", "correlation"])
@pytest.mark.parametrize("border", ["constant", "replicate", "reflect"])
def test_convolution(direction, border):
    rng = np.random.default_rng(3)
    for dtype in ("uint8", "int16", "float32", "float64", "bool"):
        image = reference.random_image((6, 9), dtype, 5)
        for rows, cols in ((3, 3), (2, 5), (1, 4)):
            kernel = rng.integers(-8, 9, (rows, cols))
            laid = kernel if direction == "correlation" else kernel[::-1, ::-1]
            # A turned kernel of even size has the pixel before its middle, as SciPy's.
            origin = (0, 0) if direction == "correlation" else tuple(-(1 - n % 2) for n in (rows, cols))
            lists = reference.windows(image.astype(float), (rows, cols), border, 3, origin)
            expected = reference.each(lists, lambda pixels: float(np.dot(laid.ravel(), pixels)), float)
            for given in (image, np.asfortranarray(image)):
                result = boxsum.convolve(given, kernel.tolist(), direction=direction, border=border, cval=3)
                assert result.dtype == (np.float32 if dtype == "float32" else np.float64)
                scale = float(np.abs(image.astype(float)).max()) * 8 * rows * cols
                np.testing.assert_allclose(result, expected, rtol=0, atol=scale * np.finfo(result.dtype).eps * 16)
                named = boxsum.convolve(
                    given, kernel, direction=direction, border=border, cval=3, algorithm="reference"
                )
                np.testing.assert_allclose(named, expected, rtol=0, atol=scale * np.finfo(result.dtype).eps * 16)


def test_convolution_in_batches_and_out():
    image = reference.random_image((2, 6, 7, 3), "float32", 2)
    kernel = [[0, 1, 0], [1, -4, 1], [0, 1, 0]]
    out = np.full(image.shape, np.nan, np.float64)
    assert boxsum.convolve(image, kernel, dtype="float64", channel_axis=-1, out=out) is out
    for plane, channel in np.ndindex(2, 3):
        one = boxsum.convolve(np.ascontiguousarray(image[plane, ..., channel]), kernel, dtype="float64")
        np.testing.assert_array_equal(out[plane, ..., channel], one)


@pytest.mark.parametrize("channels", [1, 3, 7])
def test_batches_and_channels(channels):
    image = reference.random_image((2, 6, 5, channels), "uint8")
    filtered = boxsum.box_filter(image, 3, channel_axis=-1)
    first = boxsum.box_filter(np.moveaxis(image, -1, 0).copy(), 3, channel_axis=0)
    mask = boxsum.threshold(image, 3, channel_axis=-1)
    radius = np.random.default_rng(1).integers(0, 3, (6, 5)).astype(np.uint8)
    variable = boxsum.variable_box_filter(image, radius, channel_axis=-1)
    for plane in range(2):
        for channel in range(channels):
            one = np.ascontiguousarray(image[plane, ..., channel])
            expected = boxsum.box_filter(one, 3)
            np.testing.assert_array_equal(filtered[plane, ..., channel], expected)
            np.testing.assert_array_equal(first[channel, plane], expected)
            np.testing.assert_array_equal(mask[plane, ..., channel], boxsum.threshold(one, 3))
            np.testing.assert_array_equal(variable[plane, ..., channel], boxsum.variable_box_filter(one, radius))


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
@pytest.mark.parametrize("channels", [2, 5])
def test_batches_of_arrays_beside_channels_wherever_these_lie(axis, channels):
    rng = np.random.default_rng(5)
    image = reference.random_image((channels, 2, 6, 7), "uint8", 5)
    mask, radius, guide = rng.random((2, 6, 7)) < 0.7, rng.integers(0, 3, (2, 6, 7)), rng.random((2, 6, 7))
    weights = rng.integers(0, 3, (2, 6, 7)).astype(np.float32)
    calls = {
        "box_filter": lambda x, i, **how: boxsum.box_filter(x, 3, mask=mask[i], weights=weights[i], **how),
        "variable_box_filter": lambda x, i, **how: boxsum.variable_box_filter(x, radius[i], mask=mask[i], **how),
        "variable_blur": lambda x, i, **how: boxsum.variable_blur(x, radius[i], **how),
        "guided_filter": lambda x, i, **how: boxsum.guided_filter(x, 3, guide=guide[i], mask=mask[i], **how),
        "Table": lambda x, i, **how: boxsum.Table.build(x, mask=mask[i], weights=weights[i], **how).sum([0, 1, 5, 4]),
    }
    for name, call in calls.items():
        wanted = np.stack([np.stack([call(image[k, i].copy(), i) for i in range(2)]) for k in range(channels)])
        given = np.moveaxis(image, 0, axis)
        for memory in (given, given.copy(), np.asfortranarray(given), given[..., ::-1].copy()[..., ::-1]):
            got = call(memory, slice(None), channel_axis=axis)
            if name != "Table":
                np.testing.assert_allclose(np.moveaxis(got, axis, 0), wanted, rtol=1e-12, err_msg=name)
            else:
                np.testing.assert_array_equal(np.sort(got, axis=None), np.sort(wanted, axis=None))


def test_guides_have_the_batch_of_the_image():
    image = reference.random_image((2, 3, 6, 7), "float64", 5)
    for shape in ((3, 2, 6, 7), (6, 6, 7)):
        with pytest.raises(ValueError, match="^guide: its shape is .*, but the batch must be that of the image"):
            boxsum.guided_filter(image, 3, guide=np.ones(shape))
    with pytest.raises(ValueError, match="^guide: its shape is .* with channels$"):
        boxsum.guided_filter(image[0], 3, guide=np.ones((3, 6, 7)), channel_axis=0)
    guide = reference.random_image((1, 1, 6, 7), "float64", 6)
    by_one = boxsum.guided_filter(image, 3, guide=guide)
    np.testing.assert_array_equal(by_one, boxsum.guided_filter(image, 3, guide=guide[0, 0]))


def test_thresholds_of_bool_are_those_of_values_from_0_to_1():
    image = reference.random_image((9, 11), "bool", 3)
    for method in ("bradley", "niblack", "sauvola", "wolf", "nick", "singh", "phansalkar"):
        limits = boxsum.threshold(image, 5, method=method, result="threshold")
        of_numbers = boxsum.threshold(image.astype("float64"), 5, method=method, result="threshold")
        np.testing.assert_allclose(limits, of_numbers, rtol=1e-12, err_msg=method)


def test_masks_hold_nothing_but_bools():
    image = reference.random_image((3, 4), "uint8", 3)
    valid = np.zeros((3, 4), bool)
    assert boxsum.threshold(image, 3, mask=valid, fill=1).view(np.uint8).tolist() == [[1] * 4] * 3
    with pytest.raises(ValueError, match=r"^fill: is 5, must be 0 or 1, as the result is of bool"):
        boxsum.threshold(image, 3, mask=valid, fill=5)
    assert (boxsum.threshold(image, 3, mask=valid, fill=5, result="binary") == 5).all()


def test_out_is_written_and_nothing_else():
    image = reference.random_image((6, 8), "uint8")
    frame = np.full((10, 20), 99, np.uint8)
    out = frame[2:8, 4:12]
    assert boxsum.box_filter(image, 3, out=out) is out
    np.testing.assert_array_equal(out, boxsum.box_filter(image, 3))
    frame[2:8, 4:12] = 99
    assert (frame == 99).all()
    outs = [np.empty((6, 8)), np.empty((6, 8))]
    results = boxsum.local_statistics(image, 3, results=("std", "mean"), out=outs)
    assert results[0] is outs[0] and results[1] is outs[1]
    np.testing.assert_array_equal(outs[1], boxsum.box_filter(image, 3, dtype="float64"))
    mask = np.ones((6, 8), bool)
    assert boxsum.threshold(image, 3, out=mask) is mask
    np.testing.assert_array_equal(mask, boxsum.threshold(image, 3))


def test_nan_stays_in_its_windows():
    image = np.ones((9, 9))
    image[4, 4] = math.nan
    result = boxsum.box_filter(image, 3)
    inside = np.zeros((9, 9), bool)
    inside[3:6, 3:6] = True
    np.testing.assert_array_equal(np.isnan(result), inside)
    assert (result[~inside] == 1).all()


def test_no_pixels():
    for function in (boxsum.box_filter, boxsum.threshold, boxsum.local_contrast):
        assert function(np.zeros((0, 5), np.uint8), 3).shape == (0, 5)
    mean, std = boxsum.local_statistics(np.zeros((2, 0, 5), np.uint8), 3)
    assert mean.shape == std.shape == (2, 0, 5)


def test_arguments_are_named():
    image = np.ones((4, 5), np.uint8)
    cases = [
        (ValueError, "size: is 0, must be at least 1", lambda: boxsum.box_filter(image, 0)),
        (TypeError, r"size: is \(3, 3, 3\), must be an integer or a pair", lambda: boxsum.box_filter(image, (3, 3, 3))),
        (TypeError, "size: is 2.5, must be", lambda: boxsum.box_filter(image, 2.5)),
        (ValueError, "origin: is 2, must be -1 to 1 for a size of 3", lambda: boxsum.box_filter(image, 3, origin=2)),
        (ValueError, "border: is 'edge', must be one of 'shrink'", lambda: boxsum.box_filter(image, 3, border="edge")),
        (ValueError, "cval: is 256.*uint8", lambda: boxsum.box_filter(image, 3, border="constant", cval=256)),
        (TypeError, "cval: is 'x', must be a real number", lambda: boxsum.box_filter(image, 3, cval="x")),
        (
            TypeError,
            "dtype: is int32, must be uint8, float32 or float64",
            lambda: boxsum.box_filter(image, 3, dtype="int32"),
        ),
        (TypeError, "image: its dtype is int64, filters take", lambda: boxsum.box_filter(image.astype(int), 3)),
        (TypeError, "image: its dtype is complex128", lambda: boxsum.box_filter(image.astype(complex), 3)),
        (ValueError, "image: its shape is .5,., must have rows and columns", lambda: boxsum.box_filter(image[0], 3)),
        (
            ValueError,
            "channel_axis: is 2, but the image has 2 axes",
            lambda: boxsum.box_filter(image, 3, channel_axis=2),
        ),
        (ValueError, "threads: is -1", lambda: boxsum.box_filter(image, 3, threads=-1)),
        (TypeError, "threads: is 'two', must be an integer", lambda: boxsum.box_filter(image, 3, threads="two")),
        (
            ValueError,
            r"out: its shape is \(4, 4\), must be \(4, 5\)",
            lambda: boxsum.box_filter(image, 3, out=np.zeros((4, 4), np.uint8)),
        ),
        (
            TypeError,
            "out: its dtype is float64, must be uint8",
            lambda: boxsum.box_filter(image, 3, out=np.zeros((4, 5))),
        ),
        (ValueError, "out: overlaps image", lambda: boxsum.box_filter(image, 3, out=image)),
        (ValueError, "out: its strides", lambda: boxsum.box_filter(image, 3, out=np.zeros((4, 10), np.uint8)[:, ::2])),
        (
            ValueError,
            "results: 'mean' is named twice",
            lambda: boxsum.local_statistics(image, 3, results=("mean", "mean")),
        ),
        (ValueError, "results: is 'max', must be one of", lambda: boxsum.local_statistics(image, 3, results=("max",))),
        (ValueError, "results: is empty", lambda: boxsum.local_statistics(image, 3, results=())),
        (
            ValueError,
            "out: has 1 arrays, must have one for each of the 2",
            lambda: boxsum.local_statistics(image, 3, out=[image]),
        ),
        (
            TypeError,
            "dtype: is uint8, must be float32 or float64",
            lambda: boxsum.local_statistics(image, 3, dtype="uint8"),
        ),
        (TypeError, "part: is 3, must be", lambda: boxsum.box_filter(image, 3, part=3)),
        (ValueError, "part: begins at row 7 of 5", lambda: boxsum.box_filter(image, 3, part=(7, 5))),
        (ValueError, "part: rows 2 to 5 have no row", lambda: boxsum.box_filter(image, 9, part=(2, 90))),
        (ValueError, "border: is 'wrap'", lambda: boxsum.filter_rows(boxsum.box_filter, [image], 3, border="wrap")),
        (
            ValueError,
            "blocks: one has the shape",
            lambda: list(boxsum.filter_rows(boxsum.box_filter, [image, image[:, 1:]], 3)),
        ),
        (ValueError, "nan: is 'drop', must be one of", lambda: boxsum.box_filter(image, 3, nan="drop")),
        (ValueError, "rounding: is 'up', must be one of", lambda: boxsum.box_filter(image, 3, rounding="up")),
        (ValueError, "stat: is 'max', must be one of", lambda: boxsum.box_filter(image, 3, stat="max")),
        (
            TypeError,
            "mask: its dtype is float64, must be bool or uint8",
            lambda: boxsum.box_filter(image, 3, mask=np.ones((4, 5))),
        ),
        (ValueError, "mask: its shape is .4, 4.", lambda: boxsum.box_filter(image, 3, mask=image[:, 1:])),
        (
            TypeError,
            "weights: their dtype is float64, must be float32",
            lambda: boxsum.box_filter(image, 3, weights=np.ones((4, 5))),
        ),
        (ValueError, "min_count: is 0", lambda: boxsum.box_filter(image, 3, min_count=0)),
        (ValueError, "nodata: is 300", lambda: boxsum.box_filter(image, 3, nodata=300)),
        (
            ValueError,
            "dtype: has a meaning for result='threshold' only",
            lambda: boxsum.threshold(image, 3, dtype="float32"),
        ),
        (ValueError, "method: is 'otsu', must be one of", lambda: boxsum.threshold(image, 3, method="otsu")),
        (
            ValueError,
            "result: is 'grey', must be one of 'mask', 'binary', 'threshold'",
            lambda: boxsum.threshold(image, 3, result="grey"),
        ),
        (ValueError, "k: is inf, must be finite", lambda: boxsum.threshold(image, 3, k=math.inf)),
        (ValueError, "r: is 3, but has no meaning", lambda: boxsum.threshold(image, 3, method="niblack", r=3)),
        (ValueError, "kernel: has 1 axes", lambda: boxsum.convolve(image, [1, 2])),
        (ValueError, "kernel", lambda: boxsum.convolve(image, [[1.0, math.nan]])),
        (TypeError, "kernel: its dtype is", lambda: boxsum.convolve(image, [["a"]])),
        (ValueError, "direction: is 'up'", lambda: boxsum.convolve(image, [[1]], direction="up")),
        (ValueError, "border: is shrink", lambda: boxsum.convolve(image, [[1]], border="shrink")),
        (TypeError, "algorithm: no .* 'fft'; there are simd", lambda: boxsum.convolve(image, [[1]], algorithm="fft")),
        (TypeError, "dtype: is uint8, must be float32 or", lambda: boxsum.convolve(image, [[1]], dtype="uint8")),
        (TypeError, "image: its dtype is int64, conv", lambda: boxsum.convolve(image.astype(int), [[1]])),
        (ValueError, "epsilon: is 0", lambda: boxsum.local_contrast(image, 3, epsilon=0)),
        (ValueError, "epsilon: is 0", lambda: boxsum.local_contrast(image, 3, epsilon=0, dtype="float64")),
        (TypeError, "dtype: is int8, must be float32", lambda: boxsum.local_contrast(image, 3, dtype="int8")),
        (
            TypeError,
            "out: its dtype is uint8, must be float64",
            lambda: boxsum.local_contrast(image, 3, dtype="float64", out=image),
        ),
        (
            ValueError,
            "radius: its shape is .4, 4., which is not that of the image",
            lambda: boxsum.variable_box_filter(image, image[:, :4]),
        ),
        (ValueError, "radius: .*-1", lambda: boxsum.variable_box_filter(image, np.full((4, 5), -1))),
        (TypeError, "radius: .*float64", lambda: boxsum.variable_box_filter(image, np.ones((4, 5)))),
    ]
    for kind, words, call in cases:
        with pytest.raises(kind, match=words) as raised:
            call()
        assert isinstance(raised.value, boxsum.Error)


def test_read_only_images_and_outputs():
    image = reference.random_image((4, 5), "uint8")
    expected = boxsum.box_filter(image, 3)
    image.flags.writeable = False
    np.testing.assert_array_equal(boxsum.box_filter(image, 3), expected)
    with pytest.raises(ValueError, match="out: is read-only"):
        boxsum.box_filter(image.copy(), 3, out=image)


def test_exact_where_floats_are_not():
    """Means of 16-bit images over windows whose sums no 32-bit number holds."""
    image = np.full((300, 300), 65535, np.uint16)
    image[::2] = 65534
    result = boxsum.box_filter(image, 301, dtype="float64")
    lists = np.pad(image, 150, mode="symmetric").astype(np.uint64)
    assert result[150, 150] == float(Fraction(int(lists[150:451, 150:451].sum()), 301 * 301))


def _guided(image, guide, size, border, epsilon, origin=(0, 0)):
    """The definition, of one channel and a guide of (rows, cols, channels)."""
    rows, cols, channels = guide.shape
    planes = [reference.windows(guide[..., i].astype(float), size, border, 0, origin) for i in range(channels)]
    pixels = reference.windows(image.astype(float), size, border, 0, origin)
    fits = np.empty((rows, cols, channels + 1))
    for r, c in np.ndindex(rows, cols):
        x, p = np.array([plane[r][c] for plane in planes]), np.array(pixels[r][c])
        centred = x - x.mean(1, keepdims=True)
        covariance = centred @ centred.T / p.size + epsilon * np.eye(channels)
        a = np.linalg.solve(covariance, centred @ (p - p.mean()) / p.size)
        fits[r, c] = [*a, p.mean() - a @ x.mean(1)]
    # The windows that contain a pixel reach as far from it as its own does on the other side.
    others = [extent - 1 - 2 * (extent // 2) - moved for extent, moved in zip(size, origin)]
    means = [reference.windows(fits[..., i], size, border, 0, others) for i in range(channels + 1)]
    result = np.empty((rows, cols))
    for r, c in np.ndindex(rows, cols):
        *a, b = [np.mean(mean[r][c]) for mean in means]
        result[r, c] = np.dot(a, guide[r, c]) + b
    return result


@pytest.mark.parametrize("border", [border for border in BORDERS if border != "constant"])
def test_guided_filter(border):
    image, guide = reference.random_image((8, 9), "float64", 1), reference.random_image((8, 9, 3), "float64", 2)
    epsilon = 0.01
    for size in ((3, 3), (5, 3)):
        expected = _guided(image, image[..., None], size, border, epsilon)
        np.testing.assert_allclose(boxsum.guided_filter(image, size, epsilon=epsilon, border=border), expected, atol=1e-9)
        expected = _guided(image, guide, size, border, epsilon)
        given = {"guide": guide, "epsilon": epsilon, "border": border, "guide_channel_axis": -1}
        found = boxsum.guided_filter(image, size, **given)
        np.testing.assert_allclose(found, expected, atol=1e-9)
        both = np.stack([image, 2 * image], -1)
        np.testing.assert_allclose(
            boxsum.guided_filter(both, size, channel_axis=-1, **given), np.stack([found, 2 * found], -1), atol=1e-9
        )
        np.testing.assert_array_equal(boxsum.guided_filter(np.asfortranarray(image), size, **given), found)
    for size, origin in (((4, 3), (0, 1)), ((2, 5), (-1, -2)), ((3, 4), (1, 1))):
        expected = _guided(image, image[..., None], size, border, epsilon, origin)
        alone = {"epsilon": epsilon, "border": border, "origin": origin}
        np.testing.assert_allclose(boxsum.guided_filter(image, size, **alone), expected, atol=1e-9)
        expected = _guided(image, guide, size, border, epsilon, origin)
        by_colours = boxsum.guided_filter(image, size, origin=origin, **given)
        np.testing.assert_allclose(by_colours, expected, atol=1e-9)
        turned = np.asfortranarray(image)
        np.testing.assert_array_equal(boxsum.guided_filter(turned, size, origin=origin, **given), by_colours)
    with pytest.raises(ValueError, match="origin: is 2, must be -1 to 1 for a size of 3"):
        boxsum.guided_filter(image, 3, origin=2)
    with pytest.raises(ValueError, match="guide: has no pixels, but the image has"):
        boxsum.guided_filter(image, 3, guide=image[:0])
    with pytest.raises(ValueError, match="guide: cols is 9, but that of the image is 8"):
        boxsum.guided_filter(image[:, :8], 3, guide=image)
    with pytest.raises(ValueError, match="epsilon: is 0"):
        boxsum.guided_filter(image, 3, epsilon=0)
    with pytest.raises(TypeError, match="border: is constant"):
        boxsum.guided_filter(image, 3, border="constant")
    bools = image > 0
    np.testing.assert_array_equal(boxsum.guided_filter(bools, 3), boxsum.guided_filter(bools, 3, epsilon=0.01))
    given = {"epsilon": epsilon, "border": border, "guide_channel_axis": 0}
    first = guide.transpose(2, 0, 1)
    for planes in (first, first.copy()):
        np.testing.assert_array_equal(boxsum.guided_filter(image, (5, 3), guide=planes, **given), found)


def _non_local(image, size, patch, strength, noise, border, origin=(0, 0)):
    """The definition, of an image (rows, cols, channels)."""
    rows, cols, channels = image.shape
    mode = {"reflect": "symmetric", "mirror": "reflect", "replicate": "edge", "wrap": "wrap", "shrink": "constant", "constant": "constant"}[border]
    reach = [s + p // 2 for s, p in zip(size, patch)]
    before = [extent // 2 + moved for extent, moved in zip(size, origin)]
    padded = np.pad(image.astype(float), [(reach[0],) * 2, (reach[1],) * 2, (0, 0)], mode)
    there = np.pad(np.ones((rows, cols)), [(reach[0],) * 2, (reach[1],) * 2], "constant" if border == "shrink" else "edge")
    result = np.empty(image.shape)
    up, side = patch[0] // 2, patch[1] // 2

    def around(array, r, c):
        return array[r - up : r + up + 1, c - side : c + side + 1]

    for r, c in np.ndindex(rows, cols):
        y, x = r + reach[0], c + reach[1]
        weights, values = 0.0, np.zeros(channels)
        for i in range(y - before[0], y - before[0] + size[0]):
            for j in range(x - before[1], x - before[1] + size[1]):
                if not there[i, j]:
                    continue
                both = around(there, i, j) * around(there, y, x)
                squares = ((around(padded, i, j) - around(padded, y, x)) ** 2).sum(-1)
                distance = (both * squares).sum() / both.sum() / channels
                weight = np.exp(-max(0.0, distance - 2 * noise**2) / strength**2) if (i, j) != (y, x) else 1.0
                weights += weight
                values += weight * padded[i, j]
        result[r, c] = values / weights
    return result


@pytest.mark.parametrize("border", BORDERS)
def test_non_local_means(border):
    image = reference.random_image((9, 8, 2), "float64", 3)
    given = {"patch": (3, 5), "strength": 0.3, "noise": 0.1, "border": border}
    expected = _non_local(image, (5, 3), (3, 5), 0.3, 0.1, border)
    found = boxsum.non_local_means(image, (5, 3), channel_axis=-1, **given)
    np.testing.assert_allclose(found, expected, atol=1e-11)
    one = _non_local(image[..., :1], (5, 3), (3, 5), 0.3, 0.1, border)[..., 0]
    np.testing.assert_allclose(boxsum.non_local_means(image[..., 0], (5, 3), **given), one, atol=1e-11)
    turned = boxsum.non_local_means(np.asfortranarray(image[..., 0]), (5, 3), **given)
    np.testing.assert_allclose(turned, one, atol=1e-11)
    for size, origin in (((5, 4), (-2, 1)), ((3, 2), (1, -1))):
        expected = _non_local(image, size, (3, 5), 0.3, 0.1, border, origin)
        moved = boxsum.non_local_means(image, size, origin=origin, channel_axis=-1, **given)
        np.testing.assert_allclose(moved, expected, atol=1e-11)
        turned = np.asfortranarray(image[..., 0])
        one = boxsum.non_local_means(image[..., 0], size, origin=origin, **given)
        np.testing.assert_allclose(boxsum.non_local_means(turned, size, origin=origin, **given), one, atol=1e-11)
    bytes_ = (image[..., 0] * 255).astype(np.uint8)
    expected = _non_local(bytes_[..., None], (5, 5), (3, 3), 10, 0, border)[..., 0]
    found = boxsum.non_local_means(bytes_, 5, patch=3, border=border, dtype="float64")
    np.testing.assert_allclose(found, expected, atol=255 / 2**17)
    floor = boxsum.non_local_means(bytes_, 5, patch=3, border=border, rounding="floor")
    np.testing.assert_array_equal(floor, found.astype(np.uint8))


def test_non_local_means_of_scikit_image():
    """The exact mode weighs a patch by a Gaussian; where the patch is one pixel, there is nothing to weigh."""
    restoration = pytest.importorskip("skimage.restoration")
    image = reference.random_image((16, 17), "float64", 4)
    theirs = restoration.denoise_nl_means(image, patch_size=1, patch_distance=3, h=0.2, fast_mode=False)
    ours = boxsum.non_local_means(image, 7, patch=1, strength=0.2, border="mirror")
    # Their sums end where a distance is above 5 h^2, and their exponential is approximate.
    np.testing.assert_allclose(ours, theirs, atol=0.02)


def test_non_local_means_refusals():
    image = np.zeros((4, 5), np.uint8)
    assert boxsum.non_local_means(image[:0]).shape == (0, 5)
    np.testing.assert_array_equal(boxsum.non_local_means(np.eye(4, dtype=bool), patch=1), np.eye(4))
    for argument, error, message in (
        ({"patch": 0}, ValueError, "patch: is 0, must be at least 1"),
        ({"strength": 0}, ValueError, "strength: is 0"),
        ({"noise": -1}, ValueError, "noise: is -1"),
        ({"rounding": "up"}, ValueError, "rounding"),
        ({"dtype": "int32"}, TypeError, "dtype: is int32"),
        ({"size": 1027, "border": "wrap"}, TypeError, "size: above is 513, at most 512 is supported"),
    ):
        with pytest.raises(error, match=message):
            boxsum.non_local_means(image, **argument)
    with pytest.raises(TypeError, match="image: type is int16, must be uint8, uint16, float32 or float64"):
        boxsum.non_local_means(image.astype(np.int16))


def test_colours_are_looked_at_together_wherever_they_lie():
    image = reference.random_image((12, 15, 3), "uint8", 3)
    planes = np.ascontiguousarray(np.moveaxis(image, -1, 0))
    expected = boxsum.non_local_means(image, 5, patch=3, strength=90, channel_axis=-1)
    separately = [boxsum.non_local_means(plane, 5, patch=3, strength=90) for plane in planes]
    assert (expected != np.stack(separately, -1)).any()
    mirrored = boxsum.non_local_means(image[..., ::-1], 5, patch=3, strength=90, channel_axis=-1)
    np.testing.assert_array_equal(mirrored[..., ::-1], expected)
    of_planes = boxsum.non_local_means(planes, 5, patch=3, strength=90, channel_axis=0)
    np.testing.assert_array_equal(np.moveaxis(of_planes, 0, -1), expected)
    expected = boxsum.guided_filter(image[..., 0], 3, guide=image, guide_channel_axis=-1)
    np.testing.assert_array_equal(boxsum.guided_filter(image[..., 0], 3, guide=planes, guide_channel_axis=0), expected)
    for wrong, call in (
        ("image", lambda x: boxsum.non_local_means(x, 3, patch=3, channel_axis=-1)),
        ("guide", lambda x: boxsum.guided_filter(x[..., 0], 3, guide=x, guide_channel_axis=-1)),
    ):
        with pytest.raises(boxsum.Unsupported, match=f"^{wrong}: has 5 channels, must have 1 to 4"):
            call(np.zeros((6, 7, 5)))


def test_guided_filters_round_as_they_are_told():
    image = reference.random_image((20, 31), "uint8", 4)
    exact = boxsum.guided_filter(image, 5, dtype="float64")
    np.testing.assert_array_equal(boxsum.guided_filter(image, 5), np.floor(exact + 0.5))
    np.testing.assert_array_equal(boxsum.guided_filter(image, 5, rounding="floor"), np.floor(exact))
    with pytest.raises(boxsum.InvalidArgument, match="rounding: is 'up', must be one of 'half_up', 'floor'"):
        boxsum.guided_filter(image, 5, rounding="up")


def _counting_box(image: np.ndarray, weights: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Weighted means of cut-off windows, by their words; NaN where nothing counts."""
    rows, cols = image.shape
    result = np.full(image.shape, np.nan)
    for r in range(rows):
        for c in range(cols):
            k = int(radius[r, c])
            window = slice(max(r - k, 0), r + k + 1), slice(max(c - k, 0), c + k + 1)
            if weights[window].sum() > 0:
                result[r, c] = (weights[window] * image[window]).sum() / weights[window].sum()
    return result


def test_radii_of_pixels_that_count() -> None:
    rng = np.random.default_rng(3)
    image = rng.integers(0, 256, (9, 11)).astype(np.float64)
    radius = rng.integers(0, 4, image.shape)
    mask = rng.integers(0, 2, image.shape).astype(bool)
    weights = (rng.integers(0, 5, image.shape) / 4).astype(np.float32)
    image[~mask] = 1e30
    seen = np.where(mask, image, 0)
    got = boxsum.variable_box_filter(image, radius, border="shrink", mask=mask)
    np.testing.assert_allclose(got, _counting_box(seen, mask.astype(float), radius), rtol=1e-12)
    got = boxsum.variable_box_filter(image, radius, border="shrink", mask=mask, weights=weights, fill=-1)
    wanted = _counting_box(seen, mask * weights.astype(float), radius)
    np.testing.assert_allclose(got, np.nan_to_num(wanted, nan=-1), rtol=1e-12)
    bytes_ = seen.astype(np.uint8)
    assert boxsum.variable_box_filter(bytes_, radius * 0, nodata=int(bytes_[0, 0]), fill=7)[0, 0] == 7
    with pytest.raises(ValueError, match="mask: its shape is"):
        boxsum.variable_box_filter(image, radius, mask=mask[1:])
    with pytest.raises(ValueError, match="min_count: is 0, must be at least 1"):
        boxsum.variable_box_filter(image, radius, min_count=0)


def test_guided_filter_of_pixels_that_count() -> None:
    rng = np.random.default_rng(4)
    guide = rng.random((12, 14))
    image = 3 * guide + 1  # a linear function of the guide everywhere, so gaps are filled exactly
    mask = rng.random(image.shape) < 0.7
    spoilt = np.where(mask, image, np.nan)
    by_mask = boxsum.guided_filter(spoilt, 5, guide=guide, epsilon=1e-12, mask=mask)
    np.testing.assert_allclose(by_mask, image, rtol=1e-6)
    by_nan = boxsum.guided_filter(spoilt, 5, guide=guide, epsilon=1e-12, nan="omit")
    np.testing.assert_allclose(by_nan, image, rtol=1e-6)
    itself = boxsum.guided_filter(spoilt, 5, nan="omit", fill=-9)
    assert (itself[~mask] == -9).all() and (itself[mask] > 0).all()
    with pytest.raises(TypeError, match="weights: their dtype is float64"):
        boxsum.guided_filter(image, 5, weights=guide)


def test_how_much_counted() -> None:
    """`count` of filters with one result beside that of `local_statistics`, and where it means something else."""
    rng = np.random.default_rng(6)
    image = reference.random_image((9, 11), "float64", 7)
    mask = rng.integers(0, 3, image.shape) > 0
    weights = (rng.integers(0, 5, image.shape) / 4).astype(np.float32)
    for samples in ({}, {"mask": mask}, {"mask": mask, "weights": weights}):
        kind = np.float64 if "weights" in samples else np.uint32
        given = {"origin": (0, 1), "border": "mirror", **samples}
        (expected,) = boxsum.local_statistics(image, (4, 3), results=("count",), **given)
        for filtered, name, more in (
            (boxsum.box_filter, "mean", {}),
            (boxsum.box_filter, "sum", {"stat": "sum"}),
            (boxsum.threshold, "threshold", {}),
            (boxsum.local_contrast, "contrast", {}),
            (boxsum.local_contrast, "contrast in double", {"dtype": "float64"}),
            (boxsum.guided_filter, "guided", {}),
        ):
            count = np.full(image.shape, 99, kind)
            result = filtered(image, (4, 3), count=count, **given, **more)
            np.testing.assert_array_equal(count, expected, err_msg=name)
            np.testing.assert_allclose(result, filtered(image, (4, 3), **given, **more), rtol=1e-6)
        radius = rng.integers(0, 4, image.shape)
        counting = mask * (weights.astype(float) if "weights" in samples else 1) if samples else np.ones(image.shape)
        count = np.empty(image.shape, kind)
        boxsum.variable_box_filter(image, radius, border="shrink", count=count, **samples)
        for r, c in np.ndindex(*image.shape):
            k = radius[r, c]
            assert count[r, c] == counting[max(r - k, 0) : r + k + 1, max(c - k, 0) : c + k + 1].sum()
        # Of patches of one pixel: a pixel that counts was compared with all that count, another one with none.
        boxsum.non_local_means(image, (4, 3), patch=1, strength=1e9, count=count, **given)
        np.testing.assert_array_equal(count, np.where(counting > 0, expected, 0))
    rows = np.empty((4, 11), np.uint32)
    boxsum.box_filter(image[2:8], 3, mask=mask[2:8], part=(2, 9), count=rows)
    (expected,) = boxsum.local_statistics(image, 3, results=("count",), mask=mask)
    np.testing.assert_array_equal(rows, expected[3:7])
    colours = np.stack([image] * 3, -1)
    counts = np.empty(colours.shape, np.uint32)
    boxsum.non_local_means(colours, 3, patch=3, channel_axis=-1, border="wrap", count=counts)
    assert (counts == 9).all()
    with pytest.raises(TypeError, match="count: its dtype is int64, must be uint32"):
        boxsum.box_filter(image, 3, count=np.empty(image.shape, np.int64))
    with pytest.raises(TypeError, match="count: its dtype is uint32, must be float64"):
        boxsum.guided_filter(image, 3, weights=weights, count=np.empty(image.shape, np.uint32))
    with pytest.raises(ValueError, match=r"count: its shape is \(9, 10\), must be \(9, 11\)"):
        boxsum.non_local_means(image, 3, count=np.empty((9, 10), np.uint32))
    one = np.empty(image.shape, np.float64)
    for call in (
        lambda **more: boxsum.variable_box_filter(image, radius, **more),
        lambda **more: boxsum.box_filter(image, 3, **more),
        lambda **more: boxsum.box_filter(image, 3, stat="sum", **more),
        lambda **more: boxsum.threshold(image, 3, result="threshold", **more),
        lambda **more: boxsum.local_contrast(image, 3, dtype="float64", **more),
        lambda **more: boxsum.guided_filter(image, 3, **more),
        lambda **more: boxsum.non_local_means(image, 3, **more),
    ):
        with pytest.raises(ValueError, match="^count: overlaps out$"):
            call(weights=weights, out=one, count=one)


def test_non_local_means_of_pixels_that_count() -> None:
    rng = np.random.default_rng(5)
    image = np.where(np.arange(16) < 8, 20.0, 90.0) + np.zeros((10, 1))
    mask = rng.random(image.shape) < 0.8
    spoilt = np.where(mask, image, np.nan)
    got = boxsum.non_local_means(spoilt, 7, patch=3, strength=5, nan="omit")
    np.testing.assert_allclose(got[mask], image[mask], rtol=1e-12)
    assert np.isfinite(got).all()
    assert (boxsum.non_local_means(spoilt, 7, patch=3, strength=5, nan="omit", min_count=10, fill=-1) == -1).all()
    with pytest.raises(ValueError, match="fill: is 300"):
        boxsum.non_local_means(image.astype(np.uint8), 7, fill=300)
