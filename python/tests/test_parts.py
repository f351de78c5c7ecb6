"""Tables of parts of a larger image: they are the parts of its table."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import boxsum


def whole_table(image, dtype, channel_axis):
    """Padded, in Python's integers: of every channel by itself, channels where the image has them."""
    if channel_axis is None:
        return reference.table(image, "padded", dtype)
    planes = np.moveaxis(image, channel_axis, 0)
    return np.moveaxis(np.stack([reference.table(plane, "padded", dtype) for plane in planes]), 0, channel_axis)


def at(array, axes, rows, cols):
    which = [slice(None)] * array.ndim
    which[axes[0]], which[axes[1]] = rows, cols
    return array[tuple(which)]


def part_of(whole, axes, layout, top, bottom, left, right):
    more = layout == "padded"
    first = layout == "inclusive"
    return at(whole, axes, slice(top + first, bottom + first + more), slice(left + first, right + first + more))


@st.composite
def parts(draw):
    """An image, its axis of channels, its axes of rows and columns, and a part of it."""
    dtype = draw(st.sampled_from(["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "uint64", "int64"]))
    rows, cols = draw(st.integers(1, 7)), draw(st.integers(1, 7))
    batch = draw(st.sampled_from([(), (2,), (2, 3)]))
    shape, channel_axis = (*batch, rows, cols), None
    axes = (len(batch), len(batch) + 1)
    if draw(st.booleans()):
        channels = draw(st.sampled_from([1, 3, 5]))
        where = draw(st.sampled_from([-1, len(batch)]))
        if where == -1:
            shape, channel_axis = (*shape, channels), -1
        else:
            shape, channel_axis = (*batch, channels, rows, cols), len(batch)
            axes = (axes[0] + 1, axes[1] + 1)
    image = reference.random_image(shape, dtype, draw(st.integers(0, 99)))
    if draw(st.booleans()):
        image = np.asfortranarray(image)
    top, left = draw(st.integers(0, rows - 1)), draw(st.integers(0, cols - 1))
    bottom, right = draw(st.integers(top + 1, rows)), draw(st.integers(left + 1, cols))
    return image, channel_axis, axes, (top, bottom, left, right)


def sums_around(whole, axes, top, bottom, left, right, with_corner):
    above = at(whole, axes, top, slice(left if with_corner else left + 1, right + 1))
    return above, at(whole, axes, slice(top + 1, bottom + 1), left)


@settings(max_examples=150, deadline=None)
@given(case=parts(), layout=st.sampled_from(reference.LAYOUTS), data=st.data())
def test_parts_are_those_of_the_whole_table(case, layout, data):
    image, channel_axis, axes, where = case
    top, bottom, left, right = where
    dtype = reference.default_dtype(image.dtype)
    whole = whole_table(image, dtype, channel_axis)
    above, beside = sums_around(whole, axes, *where, with_corner=left > 0 or data.draw(st.booleans()))
    pixels = at(image, axes, slice(top, bottom), slice(left, right))
    out = None
    expected = part_of(whole, axes, layout, *where)
    if image.flags.c_contiguous and channel_axis != -1 and data.draw(st.booleans()):
        out = np.full(expected.shape, 77, dtype)
    given_above = None if top == 0 and data.draw(st.booleans()) else above
    given_left = None if left == 0 and data.draw(st.booleans()) else beside
    table = boxsum.sat(pixels, layout=layout, channel_axis=channel_axis, above=given_above, left=given_left, out=out)
    assert table.dtype == dtype
    np.testing.assert_array_equal(table, expected)
    assert out is None or table is out


def test_planes_of_one_pixel_are_planes():
    image = np.array([5, 6, 7], np.uint8).reshape(3, 1, 1)
    out = np.full((3, 2, 2), 77, np.uint64)
    assert boxsum.sat(image, layout="padded", channel_axis=0, out=out) is out
    np.testing.assert_array_equal(out, [[[0, 0], [0, n]] for n in (5, 6, 7)])


@settings(max_examples=60, deadline=None)
@given(case=parts(), layout=st.sampled_from(reference.LAYOUTS))
def test_squares_of_parts(case, layout):
    image, channel_axis, axes, where = case
    if image.dtype.name not in ("bool", "uint8", "uint16", "int8", "int16"):
        image = image.astype(np.int8)
    top, bottom, left, right = where
    kinds = reference.default_dtype(image.dtype), np.uint64
    wholes = [whole_table(image, kinds[0], channel_axis), whole_table(image.astype(object) ** 2, kinds[1], channel_axis)]
    around = [sums_around(whole, axes, *where, with_corner=True) for whole in wholes]
    above, beside = zip(*around, strict=True)
    pixels = at(image, axes, slice(top, bottom), slice(left, right))
    tables = boxsum.sat_squares(
        pixels, layout=layout, channel_axis=channel_axis, squares_dtype=np.uint64, above=above, left=beside
    )
    for table, whole in zip(tables, wholes, strict=True):
        np.testing.assert_array_equal(table, part_of(whole, axes, layout, *where))


@settings(max_examples=60, deadline=None)
@given(data=st.data(), layout=st.sampled_from(reference.LAYOUTS))
def test_rows_that_arrive(data, layout):
    image, channel_axis, axes, _ = data.draw(parts())
    dtype = reference.default_dtype(image.dtype)
    whole = whole_table(image, dtype, channel_axis)
    cuts = sorted(data.draw(st.lists(st.integers(0, image.shape[axes[0]]), max_size=4)))  # some blocks are empty
    blocks = np.split(image, cuts, axis=axes[0])
    made = list(boxsum.sat_rows(iter(blocks), layout=layout, channel_axis=channel_axis))
    rows, cols = image.shape[axes[0]], image.shape[axes[1]]
    expected = part_of(whole, axes, layout, 0, rows, 0, cols)
    np.testing.assert_array_equal(np.concatenate(made, axis=axes[0]), expected)
    first = layout == "padded"
    assert [one.shape[axes[0]] for one in made] == [
        block.shape[axes[0]] + (first and i == 0)
        for i, block in enumerate(one for one in blocks if one.shape[axes[0]] > 0)
    ]


def test_floating_parts_are_within_the_bound():
    image = reference.random_image((40, 30), "float32", 5)
    whole = reference.table(image, "inclusive", np.float64)
    made = np.concatenate(list(boxsum.sat_rows(np.split(image, [7, 8, 29]))))
    reference.assert_tables_equal(made, whole, image)
    part = boxsum.sat(image[10:, 20:], above=whole[9, 19:], left=whole[10:, 19])
    np.testing.assert_allclose(part, whole[10:, 20:], rtol=0, atol=1e-12)


def test_a_whole_table_from_four_parts_in_place():
    image = reference.random_image((64, 96), "uint8", 6)
    table = np.full((65, 97), 123456789, np.int32)
    for top, bottom in ((0, 33), (33, 64)):
        for left, right in ((0, 50), (50, 96)):
            # What is around a part has been written by those before; of the first there is nothing.
            above = table[top, left : right + 1] if top > 0 else None
            beside = table[top + 1 : bottom + 1, left] if left > 0 else None
            boxsum.sat(
                image[top:bottom, left:right], layout="padded", dtype="int32", above=above, left=beside,
                out=table[top : bottom + 1, left : right + 1],
            )
    np.testing.assert_array_equal(table, reference.table(image, "padded", np.int32))


WRONG = [
    ({"above": np.zeros(3, np.uint64)}, "above: its shape is (3,), must be (6,) or (5,)"),
    ({"left": np.zeros((4, 1), np.uint64)}, "left: its shape is (4, 1), must be (4,)"),
    ({"above": np.zeros(6, np.uint64), "corner": "last"}, "corner: is 'last', parts of tables are summed from the first"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=lambda one: str(one)[:20])
def test_errors(arguments, message):
    with pytest.raises(boxsum.InvalidArgument) as caught:
        boxsum.sat(np.zeros((4, 5), np.uint8), **arguments)
    assert str(caught.value) == message


def test_errors_of_types_and_blocks():
    image = np.zeros((4, 5), np.uint8)
    with pytest.raises(boxsum.Unsupported, match="above: is a 'str'|above: is of type str"):
        boxsum.sat(image, above="zeros")
    with pytest.raises(boxsum.InvalidArgument, match=r"image: its shape is \(0, 5\), a part must have pixels|image: its shape is 0 x 5"):
        boxsum.sat(image[:0], above=np.zeros(6, np.uint64))
    with pytest.raises(boxsum.Unsupported, match="left: is 5, must be two arrays, of sums and of squares"):
        boxsum.sat_squares(image, left=5)
    with pytest.raises(boxsum.InvalidArgument, match=r"left\[1\]: its shape is \(3,\), must be \(4,\)"):
        boxsum.sat_squares(image, left=(None, np.zeros(3, np.uint64)))
    with pytest.raises(boxsum.Unsupported, match="blocks: is 3, must be arrays in turn"):
        boxsum.sat_rows(3)
    with pytest.raises(boxsum.InvalidArgument, match="layout: is 'outer'"):
        boxsum.sat_rows([image], layout="outer")
    with pytest.raises(boxsum.InvalidArgument, match="blocks: one is of"):
        list(boxsum.sat_rows([image, image[:, :3]]))
    with pytest.raises(boxsum.InvalidArgument, match="blocks: one is of"):
        list(boxsum.sat_rows([image, image.astype(np.uint16)]))
    with pytest.raises(boxsum.InvalidArgument, match="must have rows and columns"):
        list(boxsum.sat_rows([image[0]]))


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_bounds_of_variances(data):
    offset = data.draw(st.sampled_from([0, 1e3, 1e6, 1e9]))
    image = offset + reference.random_image((6, 7), "float64", data.draw(st.integers(0, 99)))
    table = boxsum.Table.build(image, squares=True)
    top, left = data.draw(st.integers(0, 5)), data.draw(st.integers(0, 6))
    rows, cols = data.draw(st.integers(1, 6 - top)), data.draw(st.integers(1, 7 - left))
    box = [top, left, rows, cols]
    exact = reference.variance(image[top : top + rows, left : left + cols].ravel().tolist())
    bound = table.var_bound(box)
    assert abs(Fraction(float(table.var(box))) - exact) <= Fraction(float(bound))
    assert float(bound) < 1e-10 * max(offset, 1) ** 2
    again = boxsum.box_var_bound(table.values, table.squares, [box], layout="padded")
    assert again.tolist() == [float(bound)]


def test_bounds_of_variances_are_of_host_tables_of_whole_pixels():
    table = boxsum.Table.build(np.ones((3, 4)))
    with pytest.raises(boxsum.InvalidArgument, match="squares: this table has none"):
        table.var_bound([0, 0, 1, 1])
    table = boxsum.Table.build(np.ones((3, 4)), squares=True)
    with pytest.raises(boxsum.Unsupported, match="boxes: have fractional edges, but bounds are of whole pixels"):
        table.var_bound([0.5, 0, 1, 1])
    colours = boxsum.Table.build(reference.random_image((2, 4, 5, 3), "uint8", 1), squares=True, channel_axis=-1)
    bounds = colours.var_bound([[0, 0, 4, 5], [1, 1, 2, 2]])
    assert bounds.shape == (2, 2, 3)
    assert (bounds > 0).all() and (bounds < 1e-10).all()
