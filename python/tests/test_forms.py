"""Tables that grow from a pixel inside, or of pixels less an offset: other entries, the same answers."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction

import checks
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import boxsum


def entries(image, layout, row, col, offset):
    """From the definition: the integral from the origin to the entry, in Python's numbers."""
    less = [[Fraction(float(pixel)) - Fraction(offset) for pixel in line] for line in image.tolist()]
    rows, cols = image.shape
    more = layout == "padded"

    def between(a, b):
        return range(min(a, b), max(a, b))

    def entry(r, c):
        total = sum((less[i][j] for i in between(row, r) for j in between(col, c)), Fraction(0))
        return -total if (r < row) != (c < col) else total

    if layout == "inclusive":
        return [[entry(r + 1, c + 1) for c in range(cols)] for r in range(rows)]
    return [[entry(r, c) for c in range(cols + more)] for r in range(rows + more)]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_entries_and_boxes(data):
    kind = data.draw(st.sampled_from(["int64", "float64"]))
    rows, cols = data.draw(st.integers(2, 6)), data.draw(st.integers(2, 6))
    numbers = reference.random_image((rows, cols), "int8", data.draw(st.integers(0, 99)))
    image = numbers.astype("int16" if kind == "int64" else kind)
    if data.draw(st.booleans()):
        image = np.asfortranarray(image)
    layout = data.draw(st.sampled_from(["padded", "exclusive", "inclusive"]))
    limit = {"padded": 1, "exclusive": 0, "inclusive": 0}[layout]
    origin = (0, 0)
    if layout != "inclusive":
        origin = (data.draw(st.integers(0, rows - 1 + limit)), data.draw(st.integers(0, cols - 1 + limit)))
    offset = data.draw(st.integers(-20, 20)) / (1 if kind == "int64" else 4)  # sums are exact
    table = boxsum.Table.build(image, layout=layout, dtype=kind, origin=origin, offset=offset)
    expected = np.array(entries(image, layout, *origin, offset), dtype=object)
    np.testing.assert_array_equal(table.values.astype(object), expected)

    answered = [extent - (layout == "exclusive") for extent in (rows, cols)]
    top, left = (data.draw(st.integers(0, extent - 1)) for extent in answered)
    height = data.draw(st.integers(1, answered[0] - top))
    width = data.draw(st.integers(1, answered[1] - left))
    part = image[top : top + height, left : left + width].astype(float)
    box = [top, left, height, width]
    assert table.sum(box) == part.sum()
    assert table.sum(np.array(box, float)) == part.sum()
    assert table.mean(box) == pytest.approx(part.sum() / part.size, rel=1e-14, abs=1e-14)
    assert table[top : top + height, left : left + width] == part.sum()


@pytest.mark.parametrize("channels", [2, 6])
def test_an_offset_for_every_image_and_channel(channels):
    image = reference.random_image((3, 5, 7, channels), "float64") + np.arange(channels) * 100
    offset = boxsum.image_means(image, channel_axis=-1)
    np.testing.assert_allclose(offset, image.mean((1, 2)), rtol=1e-14)
    plain = boxsum.Table.build(image, squares=True, channel_axis=-1)
    table = boxsum.Table.build(image, squares=True, channel_axis=-1, offset=offset, origin=(2, 3))
    less = image - offset[:, None, None, :]
    np.testing.assert_allclose(table.values[:, -1, -1], less[:, 2:, 3:].sum((1, 2)), rtol=0, atol=1e-12)
    boxes = checks.BOXES
    for given_boxes in (boxes, boxes + 0.0):
        np.testing.assert_allclose(table.sum(given_boxes), plain.sum(given_boxes), rtol=1e-13)
        np.testing.assert_allclose(table.mean(given_boxes), plain.mean(given_boxes), rtol=1e-13)
        exact = np.array(
            [
                [[reference.variance(one[r : r + h, c : c + w, k].ravel().tolist()) for k in range(channels)]
                 for r, c, h, w in boxes.tolist()]
                for one in image
            ],
            float,
        )
        np.testing.assert_allclose(table.var(given_boxes), exact, rtol=0, atol=1e-14)
    np.testing.assert_allclose(table.window_sums(3), plain.window_sums(3), rtol=1e-12)
    np.testing.assert_allclose(table.window_means(3), plain.window_means(3), rtol=1e-12)
    (exact,) = boxsum.local_statistics(image, 3, results=("var",), border="shrink", channel_axis=-1)
    np.testing.assert_allclose(table.window_variances(3), exact, rtol=0, atol=1e-13)


def test_float32_tables_hold_more():
    image = reference.random_image((900, 1000), "float32") + np.float32(1000)
    exact = float(image[880:890, 980:990].astype(float).mean())
    box = [880, 980, 10, 10]
    plain = boxsum.Table.build(image, dtype="float32")
    table = boxsum.Table.build(image, dtype="float32", offset=1000.0, origin=(450, 500))
    assert abs(float(plain.mean(box)) - exact) > 0.01
    assert abs(float(table.mean(box)) - exact) < 0.001
    assert repr(table) == "<boxsum.Table of 900 x 1000 pixels, padded, float32, origin (450, 500), offset 1000.0>"


COPIES = [pickle.loads, copy.copy, copy.deepcopy]


@pytest.mark.parametrize("way", COPIES, ids=lambda way: way.__name__)
def test_copies_are_read_as_the_original_is(way):
    image = reference.random_image((2, 5, 12), "uint8")
    forms = [
        {"squares": True},
        {"layout": "inclusive"},
        {"squares": True, "nodata": 3},
        {"dtype": "float64", "offset": np.array([1.0, 2.5]), "origin": (1, 2)},
        {"channel_axis": 0},
    ]
    for form in forms:
        table = boxsum.Table.build(image, **form)
        again = way(pickle.dumps(table) if way is pickle.loads else table)
        assert repr(again) == repr(table) and again.shape == table.shape
        for question in (table.sum, table.mean, *([table.var, table.std] if table.squares is not None else [])):
            answer = getattr(again, question.__name__)(checks.BOXES)
            np.testing.assert_array_equal(answer, question(checks.BOXES))
        np.testing.assert_array_equal(np.asarray(again), table.values)
        assert np.asarray(table) is table.values and np.array(table) is not table.values
        assert np.asarray(table, np.float32).dtype == np.float32
    with pytest.raises(boxsum.InvalidArgument, match="copy: is False, but values of uint64 become float32"):
        table.__array__(np.float32, copy=False)
    histograms = boxsum.integral_histogram(image, 4)
    again = way(pickle.dumps(histograms) if way is pickle.loads else histograms)
    assert repr(again) == repr(histograms)
    np.testing.assert_array_equal(np.asarray(again), histograms.values)
    np.testing.assert_array_equal(again.region(checks.BOXES), histograms.region(checks.BOXES))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "uint32", "int64", "float16", "float32"])
def test_image_means(dtype):
    image = reference.random_image((2, 5, 7), dtype)
    expected = [float(reference.mean(one.ravel().tolist())) for one in image]
    np.testing.assert_allclose(boxsum.image_means(image), expected, rtol=1e-14)
    np.testing.assert_allclose(boxsum.image_means(image[0].T), expected[0], rtol=1e-14)


@pytest.mark.parametrize(
    ("kind", "words", "call"),
    [
        (ValueError, r"offset: its shape is \(3,\), must be \(2,\)", {"offset": np.ones(3)}),
        (ValueError, "sums: origin.row is 9, must be 0 to 4|out: origin.row is 9", {"origin": (9, 0)}),
        (TypeError, "origin: is 3, must be a pair of integers", {"origin": 3}),
        (ValueError, "offset: is 0.5, but a table of int64 takes integers", {"offset": 0.5}),
        (ValueError, "an origin needs the layout padded or exclusive", {"origin": (1, 1), "layout": "inclusive"}),
    ],
)
def test_errors(kind, words, call):
    with pytest.raises(kind, match=words):
        boxsum.Table.build(np.ones((2, 4, 5), np.int16), **call)
    with pytest.raises(ValueError, match="it has no pixels"):
        boxsum.image_means(np.ones((0, 4)))
    with pytest.raises(ValueError, match="corner: is 'top', must be one of 'first', 'last'"):
        boxsum.sat(np.ones((2, 2)), corner="top")
