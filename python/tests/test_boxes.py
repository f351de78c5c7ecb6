from __future__ import annotations

from fractions import Fraction

import checks
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import boxsum


@settings(max_examples=80)
@given(data=st.data())
def test_sums_of_any_boxes(data):
    dtype = data.draw(st.sampled_from(["bool", "uint8", "int16", "uint32", "int64", "float64"]))
    rows, cols = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9))
    image = reference.random_image((rows, cols), dtype, data.draw(st.integers(0, 99)))
    layout = data.draw(st.sampled_from(["inclusive", "padded"]))
    table = boxsum.Table.build(image, layout=layout)
    boxes = []
    for _ in range(data.draw(st.integers(1, 5))):
        top, left = data.draw(st.integers(0, rows - 1)), data.draw(st.integers(0, cols - 1))
        boxes.append((top, left, data.draw(st.integers(1, rows - top)), data.draw(st.integers(1, cols - left))))
    expected = [sum(map(Fraction, image[r : r + h, c : c + w].ravel().tolist())) for r, c, h, w in boxes]
    result = table.sum(boxes)
    if image.dtype.kind == "f":
        np.testing.assert_allclose(result, np.array(expected, float), rtol=0, atol=1e-13)
    else:
        wrap = 2**64
        assert [int(value) % wrap for value in result] == [int(value) % wrap for value in expected]
    np.testing.assert_array_equal(table.sum(checks.in_format(boxes, "xyxy"), format="xyxy"), result)


@settings(max_examples=80)
@given(data=st.data())
def test_fractional_boxes_are_integrals(data):
    rows, cols = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 6))
    image = reference.random_image((rows, cols), data.draw(st.sampled_from(["uint8", "int16"])), 5)

    def interval(extent):
        return sorted(data.draw(st.lists(st.floats(0, extent, width=32), min_size=2, max_size=2, unique=True)))

    (top, bottom), (left, right) = interval(rows), interval(cols)
    exact = checks.fractional_sum(image, top, left, bottom, right)
    total = float(np.abs(image.astype(np.float64)).sum())
    table = boxsum.Table.build(image)
    result = table.sum([top, left, bottom, right], format="yxyx")
    assert result.shape == () and result.dtype == np.float64
    assert abs(Fraction(float(result)) - exact) <= Fraction(2**-48 * total)


def test_whole_boxes_as_floats_are_the_same():
    image = reference.random_image((5, 7), "uint16")
    table = boxsum.Table.build(image, squares=True)
    np.testing.assert_array_equal(table.sum(checks.BOXES.astype(float)), table.sum(checks.BOXES).astype(float))
    np.testing.assert_allclose(table.mean(checks.BOXES.astype(float)), table.mean(checks.BOXES), rtol=1e-15)
    np.testing.assert_allclose(table.var(checks.BOXES.astype(float)), table.var(checks.BOXES), rtol=1e-9)
    np.testing.assert_array_equal(table.std(checks.BOXES), np.sqrt(table.var(checks.BOXES)))


@pytest.mark.parametrize("channels", [1, 3, 6])
def test_batches_and_channels(channels):
    image = reference.random_image((2, 3, 5, 7, channels), "uint8")
    table = boxsum.Table.build(image, squares=True, channel_axis=-1)
    assert table.shape == image.shape
    boxes = checks.BOXES.reshape(1, 5, 4)
    sums, means, variances = table.sum(boxes), table.mean(boxes), table.var(boxes)
    assert sums.shape == means.shape == variances.shape == (2, 3, 1, 5, channels)
    fractions = table.sum(boxes.astype(float))
    for index in np.ndindex(2, 3):
        for i, (r, c, h, w) in enumerate(checks.BOXES.tolist()):
            for channel in range(channels):
                part = image[index][r : r + h, c : c + w, channel].ravel().tolist()
                at = (*index, 0, i, channel)
                assert sums[at] == sum(part) == fractions[at]
                assert means[at] == pytest.approx(float(reference.mean(part)), rel=1e-15)
                assert variances[at] == pytest.approx(float(reference.variance(part)), rel=1e-14)
    np.testing.assert_array_equal(table[1:4, 2:5], sums_of(image[..., 1:4, 2:5, :]))
    out = np.full((2, 3, 1, 5, channels), 9, np.uint64)
    assert table.sum(boxes, out=out) is out
    np.testing.assert_array_equal(out, sums)


def sums_of(image):
    return image.astype(np.uint64).sum((-3, -2))


def test_bare_tables():
    image = reference.random_image((5, 7), "uint8")
    for table in (boxsum.sat(image), boxsum.sat(np.asfortranarray(image)), boxsum.sat(image)[::1]):
        expected = [int(image[r : r + h, c : c + w].sum()) for r, c, h, w in checks.BOXES.tolist()]
        assert boxsum.box_sum(table, checks.BOXES, layout="inclusive").tolist() == expected
        halves = boxsum.box_sum(table, [[0.0, 0.0, 2.5, 3.0]], layout="inclusive")
        assert halves.tolist() == [float(checks.fractional_sum(image, 0, 0, 2.5, 3))]
    exclusive = boxsum.sat(image, layout="exclusive")
    assert int(boxsum.box_sum(exclusive, [0, 0, 4, 6], layout="exclusive")) == int(image[:4, :6].sum())
    with pytest.raises(boxsum.InvalidArgument, match=r"boxes\[0\]: .*exclusive"):
        boxsum.box_sum(exclusive, [0, 0, 5, 6], layout="exclusive")


def test_variances_of_constant_windows_are_zero():
    table = boxsum.Table.build(np.full((9, 9), 65535, np.uint16), squares=True)
    assert table.var([[0, 0, 9, 9], [2, 3, 4, 5]]).tolist() == [0, 0]


def test_windows_by_slices():
    image = reference.random_image((5, 7), "uint8")
    table = boxsum.Table.build(image)
    assert table[:, :] == image.sum()
    assert table[-2:, 1:-1] == image[-2:, 1:-1].sum()
    assert table[2:100, :3] == image[2:, :3].sum()
    with pytest.raises(ValueError, match="window: is .* no pixels"):
        table[3:3, :]
    with pytest.raises(TypeError, match="window: its step is 2"):
        table[::2, :]
    for wrong in (3, (3, 4), (slice(1),), (slice(1), slice(1), slice(1))):
        with pytest.raises(TypeError, match="window: is"):
            table[wrong]


def test_no_boxes():
    table = boxsum.Table.build(np.ones((2, 2), np.uint8))
    assert table.sum(np.zeros((0, 4), int)).shape == (0,)


@pytest.mark.parametrize(
    ("box", "format", "words"),
    [
        ([0, 0, 6, 1], "rchw", r"boxes\[1\]: .* lies outside the 5 x 7"),
        ([-1, 0, 1, 1], "rchw", r"boxes\[1\]: .* lies outside"),
        ([0, 0, 0, 1], "rchw", r"boxes\[1\]: .* is empty"),
        ([2, 2, 2, 3], "xyxy", r"boxes\[1\]: .* is empty"),
        ([0, 0, 2**62, 2**62], "xywh", r"boxes\[1\]: .* lies outside"),
        ([-(2**63), 0, 2**63 - 1, 1], "yxyx", r"boxes\[1\]: "),
        ([0.0, 0.0, 5.5, 1.0], "rchw", r"boxes\[1\]: .*rows 0 to 5\.5, .* lie outside the 5 x 7"),
        ([1.0, 1.0, 1.0, 2.0], "yxyx", r"boxes\[1\]: .* are empty"),
        ([0.0, float("nan"), 1.0, 2.0], "yxyx", r"boxes\[1\]: "),
        ([0.0, 0.0, float("inf"), 2.0], "yxyx", r"boxes\[1\]: .* lie outside"),
    ],
)
def test_wrong_boxes_are_named(box, format, words):
    image = reference.random_image((5, 7), "uint8")
    for layout_of_memory in (image, np.asfortranarray(image)):
        table = boxsum.sat(layout_of_memory)
        good = checks.in_format(np.array([0, 0, 1, 1]), format).astype(np.asarray(box).dtype)
        out = np.full(2, 5, np.float64 if isinstance(box[0], float) else np.uint64)
        with pytest.raises(boxsum.InvalidArgument, match=words):
            boxsum.box_sum(table, [good.tolist(), box], layout="inclusive", format=format, out=out)
        assert out.tolist() == [5, 5]


def test_arguments_are_named():
    table = boxsum.Table.build(np.ones((3, 3), np.uint8))
    for boxes, words in (
        ([1, 2, 3], r"boxes: their shape is \(3,\)"),
        (np.ones((2, 3), int), "the last extent must be 4"),
    ):
        with pytest.raises(ValueError, match=words):
            table.sum(boxes)
    with pytest.raises(ValueError, match="format: is 'hw', must be one of 'rchw'"):
        table.sum([0, 0, 1, 1], format="hw")
    with pytest.raises(TypeError, match="boxes: its dtype is bool"):
        table.sum(np.ones((1, 4), bool))
    with pytest.raises(ValueError, match="squares: this table has none"):
        table.var([0, 0, 1, 1])
    with pytest.raises(TypeError, match="table: its dtype is uint8, tables are"):
        boxsum.box_sum(np.ones((2, 2), np.uint8), [0, 0, 1, 1], layout="inclusive")
    with pytest.raises(ValueError, match=r"squares: their shape is \(2, 2\), must be that of the table, \(3, 3\)"):
        boxsum.box_var(np.ones((3, 3)), np.ones((2, 2)), [0, 0, 1, 1], layout="inclusive")
    with pytest.raises(ValueError, match="layout: is 'odd', must be one of"):
        boxsum.Table(np.ones((2, 2)), layout="odd")
    with pytest.raises(boxsum.Unsupported, match=r"layout: is not given; .*Table\.build\(\) makes one of an image"):
        boxsum.Table(np.ones((2, 2)))
    with pytest.raises(TypeError, match="out: its dtype is int32, must be uint64"):
        table.sum([[0, 0, 1, 1]], out=np.zeros(1, np.int32))
    with pytest.raises(ValueError, match=r"out: its shape is \(2,\), must be \(1,\)"):
        table.sum([[0, 0, 1, 1]], out=np.zeros(2, np.uint64))


@pytest.mark.parametrize("layout", ["inclusive", "padded"])
def test_windows_of_a_table(layout):
    image = reference.random_image((2, 6, 9), "uint8", 5)
    table = boxsum.Table.build(image, layout=layout, squares=True)
    for size, origin in ((3, 0), ((4, 2), (1, 0)), ((1, 5), (0, -2)), (20, 0)):
        both = (size, size) if isinstance(size, int) else size
        moved = (origin, origin) if isinstance(origin, int) else origin
        sums, means, variances = (
            np.stack(
                [
                    reference.each(reference.windows(plane, both, "shrink", 0, moved), function, float)
                    for plane in image.astype(int)
                ]
            )
            for function in (sum, reference.mean, reference.variance)
        )
        got = table.window_sums(size, origin=origin)
        assert got.dtype == np.uint64
        np.testing.assert_array_equal(got, sums)
        np.testing.assert_allclose(table.window_means(size, origin=origin), means, rtol=1e-15)
        np.testing.assert_allclose(table.window_variances(size, origin=origin), variances, rtol=1e-14)
        single = table.window_means(size, origin=origin, dtype="float32")
        assert single.dtype == np.float32
        np.testing.assert_allclose(single, means, rtol=1e-7)
    turned = boxsum.Table.build(np.asfortranarray(image[0]), layout=layout)
    expected = boxsum.box_filter(image[0], (3, 5), stat="sum", border="shrink")
    np.testing.assert_array_equal(turned.window_sums((3, 5)), expected)
    colours = boxsum.Table.build(np.moveaxis(image, 0, -1).copy(), layout=layout, channel_axis=-1)
    np.testing.assert_array_equal(np.moveaxis(colours.window_sums(3), -1, 0), table.window_sums(3))
    out = np.zeros(image.shape)
    assert table.window_means(3, out=out) is out
    np.testing.assert_array_equal(out, table.window_means(3))


def test_windows_of_a_table_name_their_arguments():
    image = np.ones((4, 5), np.uint8)
    table = boxsum.Table.build(image)
    cases = [
        (ValueError, "size: is 0", lambda: table.window_sums(0)),
        (ValueError, "squares: this table has none", lambda: table.window_variances(3)),
        (ValueError, r"out: its shape is \(5, 6\), must be \(4, 5\)", lambda: table.window_sums(3, out=table.values)),
        (TypeError, "dtype: is int8, must be float32 or", lambda: table.window_means(3, dtype="int8")),
        (TypeError, "exclusive", lambda: boxsum.Table.build(image, layout="exclusive").window_sums(3)),
    ]
    for kind, words, call in cases:
        with pytest.raises(kind, match=words) as raised:
            call()
        assert isinstance(raised.value, boxsum.Error)


def test_deviations_are_written_where_they_are_wanted():
    table = boxsum.Table.build(reference.random_image((6, 7), "uint8", 1), squares=True)
    boxes = [[0, 0, 2, 3], [1, 1, 4, 4]]
    out = np.full(2, np.nan)
    assert table.std(boxes, out=out) is out
    np.testing.assert_array_equal(out, np.sqrt(table.var(boxes)))
    np.testing.assert_array_equal(table.std(boxes=boxes), out)
