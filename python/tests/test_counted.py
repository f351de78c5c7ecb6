"""Pixels that do not count: boxes of tables, and windows, beside NumPy's masked arrays and, where it is, astropy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import boxsum


def drawn_image(data, shape, kinds):
    """Small integers, so that sums are exact, some of which are nodata (7) or NaN; and as NumPy's masked array."""
    rng = np.random.default_rng(data.draw(st.integers(0, 999)))
    kind = data.draw(st.sampled_from(kinds))
    image = rng.integers(0, 2 if kind == "bool" else 12, shape).astype(kind)
    hidden = np.zeros(shape, bool)
    options = {}
    if image.dtype.kind == "f":
        image[rng.random(shape) < 0.2] = np.nan
        options["nan"] = "omit"
        hidden |= np.isnan(image)
    if kind != "bool" and data.draw(st.booleans()):
        options["nodata"] = 7
        hidden |= image == 7
    return image, hidden, options, rng


@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_boxes_are_of_masked_arrays(data):
    rows, cols = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 7))
    channels = data.draw(st.sampled_from([None, 3]))
    shape = (2, rows, cols) if channels is None else (2, rows, cols, channels)
    axis = None if channels is None else -1
    kinds = ["bool", "uint8", "int8", "uint16", "int16", "float16", "float32", "float64"]
    image, hidden, options, rng = drawn_image(data, shape, kinds)
    if data.draw(st.booleans()) or not options:
        options["mask"] = rng.integers(0, 3, (2, rows, cols)).astype(data.draw(st.sampled_from(["bool", "uint8"])))
        outside = options["mask"] == 0
        hidden = hidden | (outside if channels is None else outside[..., None])
    layout = data.draw(st.sampled_from(["inclusive", "padded"]))
    if data.draw(st.booleans()) and channels is None:
        image = np.asfortranarray(image)
    table = boxsum.Table.build(image, squares=True, layout=layout, channel_axis=axis, **options)

    top, left = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, cols - 1))
    height, width = data.draw(st.integers(1, rows - top)), data.draw(st.integers(1, cols - left))
    least = data.draw(st.sampled_from([None, 3]))
    part = np.ma.masked_array(image.astype(float), hidden)[:, top : top + height, left : left + width]
    count = np.ma.count(part, axis=(1, 2))
    enough = count >= (1 if least is None else least)
    box = [top, left, height, width]
    np.testing.assert_array_equal(table.count(box), count)
    np.testing.assert_array_equal(table.sum(box), np.ma.sum(part, axis=(1, 2)).filled(0))
    mean = np.where(enough, np.ma.mean(part, axis=(1, 2)).filled(0), np.nan)
    np.testing.assert_array_equal(table.mean(box, min_count=least), mean)
    np.testing.assert_array_equal(table.mean(box, min_count=least, fill=-1), np.where(enough, mean, -1))
    variance = np.where(enough, np.ma.var(part, axis=(1, 2)).filled(0), np.nan)
    np.testing.assert_allclose(table.var(box, min_count=least), variance, rtol=1e-13, atol=1e-12)
    deviation = np.sqrt(table.var(box, min_count=least))
    np.testing.assert_array_equal(table.std(box, min_count=least), deviation)
    np.testing.assert_array_equal(table.std(box, min_count=least, fill=-2), np.where(enough, deviation, -2))
    with pytest.raises(TypeError, match="fill: is 'none', must be a real number"):
        table.std(box, fill="none", out=(untouched := np.full(deviation.shape, 7.0)))
    assert (untouched == 7).all()


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_weighted_boxes(data):
    image, hidden, options, rng = drawn_image(data, (6, 9), ["uint8", "int16", "float32", "float64"])
    weights = (rng.integers(-1, 9, image.shape) / 4).astype(np.float32)
    weights[0, 0], weights[1, 1] = np.nan, np.inf
    table = boxsum.Table.build(image, squares=True, weights=weights, **options)
    assert {str(part.dtype) for part in (table.values, table.squares, table.counts)} == {"float64"}
    kept = np.where(hidden | ~(np.isfinite(weights) & (weights > 0)), 0, weights.astype(float))
    pixels = np.where(kept > 0, image, 0).astype(float)
    for top, left, height, width in [(0, 0, 6, 9), (0, 0, 1, 1), (2, 3, 2, 4), (5, 8, 1, 1)]:
        part = (slice(top, top + height), slice(left, left + width))
        box, weight = [top, left, height, width], kept[part].sum()
        assert table.count(box) == weight
        if weight == 0:
            assert np.isnan(table.mean(box)) and np.isnan(table.var(box))
            continue
        mean = np.average(pixels[part], weights=kept[part])
        variance = np.average((pixels[part] - mean) ** 2, weights=kept[part])
        np.testing.assert_allclose(table.mean(box), mean, rtol=1e-14)
        np.testing.assert_allclose(table.var(box), variance, rtol=1e-12, atol=1e-12)
        assert np.isnan(table.mean(box, min_count=weight + 0.25))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_windows_are_of_masked_arrays(data):
    rows, cols = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 40))
    image, hidden, options, rng = drawn_image(data, (rows, cols), ["uint8", "uint16", "int16", "float32", "float64"])
    if data.draw(st.booleans()):
        options["mask"] = rng.random((rows, cols)) < 0.7
        hidden = hidden | ~options["mask"]
    up, side = data.draw(st.integers(0, 4)), data.draw(st.integers(0, 20))
    least = data.draw(st.sampled_from([1, 4]))
    size, options["border"] = (2 * up + 1, 2 * side + 1), "shrink"
    whole = np.ma.masked_array(image.astype(float), hidden)
    found = {name: np.full((rows, cols), -5.0) for name in ("mean", "var", "std", "sum", "count")}
    for r in range(rows):
        for c in range(cols):
            part = whole[max(r - up, 0) : r + up + 1, max(c - side, 0) : c + side + 1]
            found["count"][r, c] = part.count()
            if part.count() >= least:
                for name in ("mean", "var", "std", "sum"):
                    found[name][r, c] = getattr(part, name)()
    results = boxsum.local_statistics(
        image, size, results=tuple(found), min_count=least, fill=-5, dtype="float64", **options
    )
    for (name, expected), result in zip(found.items(), results, strict=True):
        np.testing.assert_allclose(result, expected, rtol=1e-12, atol=1e-7 if name == "std" else 1e-12, err_msg=name)


@pytest.mark.parametrize("border, boundary", [("replicate", "extend"), ("wrap", "wrap"), ("constant", "fill")])
def test_windows_with_nan_beside_astropy(border, boundary):
    """astropy fills NaN by interpolation with the kernel, which of a box is the mean of what counts.

    Its differences: it takes odd sizes only, has no border that shrinks or mirrors, works in float64 by one product a
    weight, and gives NaN with a warning where nothing counts.
    """
    convolution = pytest.importorskip("astropy.convolution")
    rng = np.random.default_rng(5)
    image = rng.normal(1000, 3, (37, 53))
    image[rng.random(image.shape) < 0.3] = np.nan
    hidden = rng.random(image.shape) < 0.2
    kernel = np.ones((5, 7))
    for mask in (None, hidden):
        expected = convolution.convolve(
            image, kernel, boundary=boundary, fill_value=0.0, nan_treatment="interpolate", mask=mask
        )
        counted = None if mask is None else ~mask
        result = boxsum.box_filter(image, kernel.shape, border=border, nan="omit", mask=counted)
        np.testing.assert_allclose(result, expected, rtol=1e-12)


def test_what_is_wrong():
    image = np.ones((3, 4), np.float32)
    plain, counted = boxsum.Table.build(image, squares=True), boxsum.Table.build(image, squares=True, nan="omit")
    assert repr(counted) == "<boxsum.Table of 3 x 4 pixels, padded, float64 and squares and counts>"
    box = [0, 0, 2, 2]
    for kind, text, call in (
        (ValueError, "counts: this table has none", lambda: plain.count(box)),
        (ValueError, "min_count: has no meaning", lambda: plain.mean(box, min_count=2)),
        (ValueError, "fill: has no meaning", lambda: plain.var(box, fill=2)),
        (ValueError, "min_count: is -1, must be finite", lambda: counted.mean(box, min_count=-1)),
        (TypeError, "counts: windows of a table", lambda: counted.window_means(3)),
        (TypeError, "boxes: have fractional edges", lambda: counted.mean([0.0, 0.5, 1.0, 1.0])),
        (TypeError, "mask: its dtype is float32", lambda: boxsum.Table.build(image, mask=image)),
        (ValueError, "mask: its shape is .4, 3.", lambda: boxsum.Table.build(image, mask=np.ones((4, 3), bool))),
        (TypeError, "weights: their dtype is bool", lambda: boxsum.Table.build(image, weights=image > 0)),
        (ValueError, "nan: is 'skip'", lambda: boxsum.Table.build(image, nan="skip")),
        (ValueError, "nodata: is 300", lambda: boxsum.Table.build(image.astype(np.uint8), nodata=300)),
        (TypeError, "offset", lambda: boxsum.Table.build(image, nan="omit", offset=1.5)),
        (TypeError, "float64", lambda: boxsum.Table.build(image, weights=image, dtype="float32")),
    ):
        with pytest.raises(kind, match=text):
            call()


def test_images_without_pixels():
    table = boxsum.Table.build(np.ones((0, 4), np.uint8), squares=True, nodata=3)
    assert table.values.shape == table.counts.shape == table.squares.shape == (1, 5)
    assert not table.counts.any()
