from __future__ import annotations

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import boxsum

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "uint16",
    "int16",
    "uint32",
    "int32",
    "uint64",
    "int64",
    "float16",
    "float32",
    "float64",
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", reference.LAYOUTS)
def test_default_types(dtype, layout):
    for shape in ((1, 1), (3, 5), (2, 3, 4), (33, 70)):
        if "float" in dtype and shape[0] > 4:
            continue
        image = reference.random_image(shape, dtype)
        expected = reference.table(image, layout, reference.default_dtype(dtype))
        reference.assert_tables_equal(boxsum.sat(image, layout=layout), expected, image)


TABLES = ["uint32", "int32", "uint64", "int64", "float32", "float64"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type_is_computed_or_refused_with_a_list(dtype):
    image = reference.random_image((4, 5), dtype)
    computed = []
    for table in TABLES:
        try:
            result = boxsum.sat(image, dtype=table)
        except boxsum.Unsupported as error:
            assert str(error).startswith(f"dtype: {dtype} images have no tables of {table}, but of ")
            continue
        computed.append(table)
        if table == "float32" and dtype not in ("float16", "float32"):
            expected = image.astype(np.float64).cumsum(0).cumsum(1)
            largest = np.abs(image.astype(np.float64)).sum()
            np.testing.assert_allclose(result, expected, rtol=0, atol=1e-6 * largest)
        else:
            reference.assert_tables_equal(result, reference.table(image, "inclusive", table), image)
    assert str(np.dtype(reference.default_dtype(dtype))) in computed


@settings(max_examples=60)
@given(data=st.data())
def test_any_strides(data):
    """Slices, steps, reversed, transposed and broadcast images, in batches and with channels."""
    dtype = data.draw(st.sampled_from(["uint8", "int16", "int64", "float64"]))
    axes = data.draw(st.integers(2, 4))
    shape = tuple(data.draw(st.lists(st.integers(1, 6), min_size=axes, max_size=axes)))
    image = reference.random_image(tuple(2 * extent for extent in shape), dtype, 7)
    image = image[tuple(slice(None, None, data.draw(st.sampled_from([1, 2, -1]))) for _ in shape)]
    image = image.transpose(data.draw(st.permutations(range(axes))))
    if data.draw(st.booleans()):
        image = np.broadcast_to(image[:1], image.shape)
    channel_axis = data.draw(st.sampled_from([None] + list(range(-axes, axes)))) if axes > 2 else None
    layout = data.draw(st.sampled_from(reference.LAYOUTS))
    corner = data.draw(st.sampled_from(["first", "last"]))
    before = image.copy()
    result = boxsum.sat(image, layout=layout, channel_axis=channel_axis, corner=corner)
    expected_image = before if channel_axis is None else np.moveaxis(before, channel_axis, 0)
    kind = reference.default_dtype(dtype)
    if corner == "first":
        expected = reference.table(expected_image, layout, kind)
    else:
        expected = reference.table(expected_image[..., ::-1, ::-1], layout, kind)[..., ::-1, ::-1]
    if channel_axis is not None:
        expected = np.moveaxis(expected, 0, channel_axis)
    reference.assert_tables_equal(result, expected, expected_image)
    np.testing.assert_array_equal(image, before)

    out = np.full_like(result, 77)
    assert boxsum.sat(image, layout=layout, channel_axis=channel_axis, corner=corner, out=out) is out
    np.testing.assert_array_equal(out, result)


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("dtype", ["uint8", "int64", "float32"])
def test_channels(channels, dtype):
    image = reference.random_image((2, 4, 5, channels), dtype)
    expected = np.moveaxis(reference.table(np.moveaxis(image, -1, 1), "padded", reference.default_dtype(dtype)), 1, -1)
    result = boxsum.sat(image, layout="padded", channel_axis=-1)
    reference.assert_tables_equal(result, expected, np.moveaxis(image, -1, 1))


def test_common_layouts_are_not_copied():
    image = reference.random_image((6, 8, 10, 3), "uint8")
    before = boxsum.memory.copies()
    boxsum.sat(image[..., 0, :, :])
    boxsum.sat(image[0, :, :, 0].copy(order="F"))
    boxsum.sat(image[0, 2:5, 1:7], channel_axis=-1)
    boxsum.sat(np.ascontiguousarray(image[..., 0])[:, 1:5, 2:9])
    boxsum.sat(image.transpose(0, 3, 1, 2).copy())
    boxsum.sat(image[0, ..., 0].copy() > 100)
    boxsum.sat(reference.random_image((4, 4), "int64"))
    image.flags.writeable = False
    boxsum.sat(image, channel_axis=-1)
    assert boxsum.memory.copies() == before
    boxsum.sat(image[0, ::-1, ::2, 0])
    assert boxsum.memory.copies() == before + 1


def test_byte_order_and_alignment():
    image = reference.random_image((3, 4), "int32")
    expected = boxsum.sat(image)
    np.testing.assert_array_equal(boxsum.sat(image.astype(">i4")), expected)
    unaligned = np.frombuffer(b"x" + image.tobytes(), np.uint8)[1:].view(np.int32).reshape(3, 4)
    np.testing.assert_array_equal(boxsum.sat(unaligned), expected)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0), (0, 3, 4), (2, 0, 4)])
@pytest.mark.parametrize("layout", reference.LAYOUTS)
def test_no_pixels(shape, layout):
    image = np.zeros(shape, np.uint8)
    last = boxsum.sat(image, layout=layout, corner="last")
    np.testing.assert_array_equal(last, reference.table(image, layout, np.uint64))
    np.testing.assert_array_equal(boxsum.sat(image, layout=layout), reference.table(image, layout, np.uint64))
    for one in boxsum.sat_squares(image, layout=layout):
        np.testing.assert_array_equal(one, reference.table(image, layout, np.uint64))


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "uint16", "int16", "float16", "float32", "float64"])
def test_squares(dtype):
    image = reference.random_image((2, 5, 7), dtype)
    for layout in reference.LAYOUTS:
        sums, squares = boxsum.sat_squares(image, layout=layout)
        kind = reference.default_dtype(dtype)
        reference.assert_tables_equal(sums, reference.table(image, layout, kind), image)
        squared = image.astype(np.float64) ** 2 if "float" in dtype else image.astype(object) ** 2
        squares_kind = np.uint64 if np.dtype(dtype).kind == "i" else kind
        reference.assert_tables_equal(squares, reference.table(squared, layout, squares_kind), squared)


def test_results_from_the_pool_are_arrays_like_others():
    image = reference.random_image((200, 300), "uint8")
    result = boxsum.sat(image)
    assert result.flags.c_contiguous and result.flags.writeable and result.flags.aligned
    assert result.base is not None
    result[0, 0] = 1
    values = boxsum.Table.build(image).values
    assert values.strides[0] % 64 == 0 and values[:, 1:].ctypes.data % 64 == 0
    np.testing.assert_array_equal(values[1:, 1:], boxsum.sat(image))


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float64"])
def test_sums_of_tables_lie_on_lines_of_memory(dtype):
    """Behind the zeros of padded ones; where the table is small, and grows from its first column."""
    for shape, axis in (((90, 130), None), ((3, 90, 130), None), ((90, 130, 3), -1), ((4, 90, 130), 0)):
        image = reference.random_image(shape, "uint8")
        for order in "CF":
            for layout in ("inclusive", "exclusive", "padded"):
                table = boxsum.Table.build(np.asarray(image, order=order), dtype=dtype, layout=layout, channel_axis=axis)
                assert table.values.flags.aligned
                sums = table.values
                if layout == "padded":
                    spatial = [at for at in range(sums.ndim) if axis is None or at != axis % sums.ndim][-2:]
                    along = min(spatial, key=lambda at: sums.strides[at])
                    sums = sums[(slice(None),) * along + (slice(1, None),)]
                assert sums.ctypes.data % 64 == 0, (shape, axis, order, layout)
                plain = boxsum.sat(image, dtype=dtype, layout=layout, channel_axis=axis)
                np.testing.assert_array_equal(table.values, plain)
    large = boxsum.Table.build(np.ones((1500, 3000), np.uint8), dtype="float64").values
    assert large.ctypes.data % 64 == 0 and large[-1, -1] == 1500 * 3000
    grown = boxsum.Table.build(np.ones((90, 130), np.uint8), dtype="float64", origin=(45, 65)).values
    assert grown.ctypes.data % 64 == 0 and grown[-1, -1] == 45 * 65


def test_threads_and_algorithms_give_the_same():
    image = reference.random_image((400, 700), "uint8")
    expected = boxsum.sat(image, threads=1)
    np.testing.assert_array_equal(boxsum.sat(image, threads=2), expected)
    np.testing.assert_array_equal(boxsum.sat(image, algorithm="reference"), expected)
    with boxsum.num_threads(2):
        assert boxsum.get_num_threads() == 2
        np.testing.assert_array_equal(boxsum.sat(image), expected)
    assert boxsum.get_num_threads() == 0


def test_buffers_and_subclasses():
    assert boxsum.sat(memoryview(bytes(range(6))).cast("B", (2, 3))).tolist() == [[0, 1, 3], [3, 8, 15]]

    class Image(np.ndarray):
        pass

    assert type(boxsum.sat(np.ones((2, 2), np.uint8).view(Image))) is np.ndarray


class OnTheHost:
    """An array library of four lines, which speaks DLPack and the array standard."""

    def __init__(self, values):
        self.values = values

    @property
    def shape(self):
        return self.values.shape

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    def __array_namespace__(self):
        return self

    def from_dlpack(self, other):
        return OnTheHost(np.from_dlpack(other))


def test_other_libraries_get_their_own_arrays():
    image = reference.random_image((3, 4), "uint8")
    result = boxsum.sat(OnTheHost(image))
    assert isinstance(result, OnTheHost)
    np.testing.assert_array_equal(result.values, boxsum.sat(image))
    out = OnTheHost(np.zeros((3, 4), np.uint64))
    assert boxsum.sat(image, out=out) is out
    np.testing.assert_array_equal(out.values, result.values)
    table = boxsum.Table.build(OnTheHost(image), squares=True)
    assert isinstance(table.sum([[0, 0, 2, 2]]), OnTheHost)


def test_largest_safe_box():
    assert boxsum.largest_safe_box("uint8", np.uint32) == (2**32 - 1) // 255
    assert boxsum.largest_safe_box("int8", "int32") == (2**31 - 1) // 128
    assert boxsum.largest_safe_box("int8", "uint32") == 0
    assert boxsum.largest_safe_box(bool, "float32") == 2**24
    assert boxsum.largest_safe_box(bool, "uint64") == 2**63 - 1
    assert boxsum.largest_safe_box("uint16", "uint64", squares=True) == (2**64 - 1) // 65535**2
    assert boxsum.largest_safe_box("float32", "float64") == 0
