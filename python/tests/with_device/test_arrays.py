"""Arrays on a device: the same results as on the CPU, of the same library, and errors that say what is wrong."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import reference

import boxsum

LAYOUTS = ("inclusive", "exclusive", "padded")
IMAGE = reference.random_image((2, 37, 53), np.uint8, 1)


def tables_of(image, **options):
    """The CPU's, which its own tests compare with the definition."""
    return boxsum.sat(image, **options)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tables(library, emulated, layout):
    pairs = [(np.uint8, "uint32"), (np.float32, "float32"), (np.float64, "float64"), (bool, "uint32")]
    if not emulated:
        pairs += [(np.uint8, None), (np.uint16, None), (np.int16, None), (np.int32, None), (np.float32, None)]
        pairs += [(np.int8, None), (np.float16, None), (np.uint16, "float64"), (np.uint32, None)]
    for dtype, table in pairs:
        image = reference.random_image((2, 37, 53), dtype, 3)
        if np.dtype(dtype).kind == "f":
            image = (image * 64).astype(np.int8).astype(dtype)  # sums are exact in any order
        expected = tables_of(image, layout=layout, dtype=table)
        actual = library.down(boxsum.sat(library.up(image), layout=layout, dtype=table))
        np.testing.assert_array_equal(actual, expected.view(library.dtype(expected.dtype)))
        assert actual.dtype == library.dtype(expected.dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_tables_from_the_last_corner(library, layout):
    kind = "int32" if library.tensors else "uint32"
    for image, axis in ((IMAGE, None), (IMAGE[0, :, :, None].repeat(3, 2), -1), (np.asfortranarray(IMAGE[1]), None)):
        options = {"layout": layout, "dtype": kind, "channel_axis": axis, "corner": "last"}
        expected = tables_of(image, **options)
        np.testing.assert_array_equal(library.down(boxsum.sat(library.up(image), **options)), expected)
        out = library.empty(expected.shape, kind)
        assert boxsum.sat(library.up(np.ascontiguousarray(image)), out=out, **options) is out
        np.testing.assert_array_equal(library.down(out), expected)


def test_tables_with_an_origin_and_an_offset(library):
    kind = "int32" if library.tensors else "uint32"
    boxes = np.array([[0, 0, 2, 3], [1, 1, 3, 4], [2, 0, 1, 1]])
    for form in ({"origin": (1, 2)}, {"offset": 2.0}, {"offset": boxsum.image_means(IMAGE).round(), "origin": (2, 1)}):
        host = boxsum.Table.build(IMAGE, dtype=kind, **form)
        table = boxsum.Table.build(library.up(IMAGE), dtype=kind, **form)
        np.testing.assert_array_equal(library.down(table.values), host.values)
        np.testing.assert_array_equal(library.down(table.sum(library.up(boxes))), host.sum(boxes))


def test_tables_of_64_bit_integers(library, emulated):
    if emulated:
        pytest.skip("the emulated device has no 32u64u")
    for dtype in (np.int64, np.uint64):
        if library.tensors and dtype == np.uint64:
            continue
        image = reference.random_image((2, 5, 7), dtype, 4)
        for layout, axis in itertools.product(LAYOUTS, (None, 0)):
            expected = tables_of(image, layout=layout, channel_axis=axis)
            actual = boxsum.sat(library.up(image), layout=layout, channel_axis=axis)
            np.testing.assert_array_equal(library.down(actual), expected)


def test_strides_channels_and_fortran_order(library):
    wide = reference.random_image((3, 40, 60, 4), np.uint8, 5)
    before = boxsum.memory.copies()
    cases = [
        (wide[..., 0].copy()[:, 3:33, 5:50], None),
        (wide[0], -1),
        (wide[0, ..., :2].copy(), -1),
        (np.asfortranarray(wide[0, ..., 0]), None),
        (wide.transpose(0, 3, 1, 2).copy(), 1),
    ]
    for image, axis in cases:
        expected = tables_of(image, channel_axis=axis, dtype="uint32")
        actual = boxsum.sat(library.up(image.copy(order="K")), channel_axis=axis, dtype="uint32")
        np.testing.assert_array_equal(library.down(actual), expected)
    assert boxsum.memory.copies() == before
    image = library.up(wide[0, ..., 0].copy())
    actual = boxsum.sat(image[:, ::2], dtype="uint32")
    np.testing.assert_array_equal(library.down(actual), tables_of(wide[0, :, ::2, 0], dtype="uint32"))
    assert boxsum.memory.copies() > before


def test_views_of_any_strides(library):
    views = [lambda x: x[::2], lambda x: x[3:, ::3], lambda x: x[:, 5:6], lambda x: x[4:5]]
    views += [lambda view: view.transpose(1, 0)[::2, 1:]]
    if not library.tensors:  # PyTorch has no steps below 0
        views += [lambda x: x[::-1], lambda x: x[:, ::-1], lambda x: x[::-1, ::-2], lambda x: x.transpose(1, 0)[::-1]]
    there = library.up(IMAGE[0])
    for view in views:
        expected, actual = np.ascontiguousarray(view(IMAGE[0])), view(there)
        np.testing.assert_array_equal(library.down(actual), expected)
        kind = "int32" if library.tensors else "uint32"
        for corner in ("first", "last"):
            table = boxsum.sat(actual, dtype=kind, corner=corner)
            np.testing.assert_array_equal(library.down(table), tables_of(expected, dtype=kind, corner=corner))
        np.testing.assert_array_equal(library.down(boxsum.box_filter(actual, 3)), boxsum.box_filter(expected, 3))
        blurred = boxsum.variable_box_filter(actual, library.up(np.full(expected.shape, 2, np.uint8)))
        np.testing.assert_array_equal(
            library.down(blurred), boxsum.variable_box_filter(expected, np.full(expected.shape, 2, np.uint8))
        )
        masked = boxsum.box_filter(library.up(np.ascontiguousarray(expected)), 3, mask=actual)
        np.testing.assert_array_equal(library.down(masked), boxsum.box_filter(expected, 3, mask=expected))
        counts = boxsum.integral_histogram(actual, 4).values
        np.testing.assert_array_equal(library.down(counts), boxsum.integral_histogram(expected, 4).values)


def test_results_go_where_they_are_told(library):
    image = library.up(IMAGE[0])
    out = library.empty((38, 54), np.uint32) if not library.tensors else library.empty((38, 54), np.int32)
    kind = "int32" if library.tensors else "uint32"
    if library.tensors:
        expected = tables_of(IMAGE[0], layout="padded", dtype="int32")
    else:
        expected = tables_of(IMAGE[0], layout="padded", dtype="uint32")
    assert boxsum.sat(image, layout="padded", dtype=kind, out=out) is out
    np.testing.assert_array_equal(library.down(out), expected)
    with pytest.raises(boxsum.InvalidArgument, match=r"out: its shape is \(38, 54\), must be \(37, 53\)"):
        boxsum.sat(image, dtype=kind, out=out)
    with pytest.raises(boxsum.Unsupported, match="out: its dtype is"):
        boxsum.sat(image, layout="padded", dtype="float32", out=out)
    with pytest.raises(boxsum.InvalidArgument, match="out: is in host memory, but image is on cuda:0"):
        boxsum.sat(image, layout="padded", dtype="uint32", out=np.empty((38, 54), np.uint32))
    with pytest.raises(boxsum.InvalidArgument, match="out: is on cuda:0, but image is in host memory"):
        boxsum.sat(IMAGE[0], layout="padded", dtype=kind, out=out)


def test_arrays_that_describe_themselves(library, emulated):
    if not emulated:
        pytest.skip("PyTorch's tensors do, in all tests here")
    import emulated_cupy

    asked = emulated_cupy.exchanges
    for pixels in (IMAGE, np.asfortranarray(IMAGE[0])):
        there = library.up(pixels)
        image = emulated_cupy.exchanging._on(there._memory, there._host)
        asked.clear()
        actual = library.down(boxsum.sat(image, dtype="uint32"))
        np.testing.assert_array_equal(actual, tables_of(pixels, dtype="uint32"))
        assert asked == ["described", ("stream", 2, 0)]
    out = emulated_cupy.exchanging((37, 53), np.uint32)
    assert boxsum.sat(library.up(IMAGE[0]), dtype="uint32", out=out) is out
    np.testing.assert_array_equal(out.get(), tables_of(IMAGE[0], dtype="uint32"))
    with pytest.raises(boxsum.InvalidArgument, match="out: is on cuda:0, but image is in host memory"):
        boxsum.sat(IMAGE[0], dtype="uint32", out=out)


class Foreign:
    """An array of no library that is known here, by DLPack."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **words):
        return self._array.__dlpack__(**words)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_arrays_of_other_libraries(library, emulated):
    kind = "uint32" if emulated else "int32"
    table = boxsum.sat(Foreign(library.up(IMAGE[0])), layout="padded", dtype=kind)
    assert type(table).__module__.partition(".")[0] in ("cupy", "torch")
    expected = tables_of(IMAGE[0], layout="padded", dtype=kind)
    boxes = np.array([[1, 2, 3, 4], [5, 6, 20, 30]])
    sums = boxsum.box_sum(table, Foreign(library.up(boxes)), layout="padded")
    for actual, wanted in ((table, expected), (sums, boxsum.box_sum(expected, boxes, layout="padded"))):
        np.testing.assert_array_equal(actual.cpu().numpy() if hasattr(actual, "cpu") else actual.get(), wanted)


def test_radii_that_are_no_integers(library):
    image = library.up(IMAGE[0])
    for dtype in (np.float32, bool):
        with pytest.raises(boxsum.Unsupported, match=f"radius: its dtype is .*{np.dtype(dtype).name}, must be an integer"):
            boxsum.variable_box_filter(image, library.up(np.ones((37, 53), dtype)))


def test_squares(library):
    sums, squares = boxsum.sat_squares(library.up(IMAGE), dtype="uint32", squares_dtype="uint64")
    expected = boxsum.sat_squares(IMAGE, dtype="uint32", squares_dtype="uint64")
    np.testing.assert_array_equal(library.down(sums), expected[0])
    np.testing.assert_array_equal(library.down(squares), expected[1].view(library.dtype(np.uint64)))


BOXES = np.array([[[0, 0, 1, 1], [1, 2, 3, 4]], [[5, 6, 20, 30], [0, 0, 36, 52]]])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_boxes(library, layout):
    options = {"dtype": "uint32", "squares_dtype": "uint64", "squares": True, "layout": layout}
    rgb = reference.random_image((37, 53, 3), np.uint8, 6)
    cases = [(IMAGE[0], None), (IMAGE, None), (np.asfortranarray(IMAGE[0]), None), (rgb[..., :1], -1)]
    cases.append((reference.random_image((2, 3, 37, 53), np.uint8, 8), 1))
    for image, axis in cases:
        host = boxsum.Table.build(image, channel_axis=axis, **options)
        table = boxsum.Table.build(library.up(image), channel_axis=axis, **options)
        for boxes in (BOXES, library.up(BOXES), BOXES[0].tolist()):
            on_host = BOXES[0] if isinstance(boxes, list) else BOXES
            np.testing.assert_array_equal(library.down(table.sum(boxes)), host.sum(on_host))
            np.testing.assert_array_equal(library.down(table.mean(boxes)), host.mean(on_host))
            np.testing.assert_array_equal(library.down(table.var(boxes)), host.var(on_host))
        np.testing.assert_allclose(library.down(table.std(BOXES)), host.std(BOXES), rtol=1e-15)
    table = boxsum.Table.build(library.up(IMAGE[0]), **options)
    for format, one in (("yxyx", [1, 2, 4, 6]), ("xyxy", [2, 1, 6, 4]), ("xywh", [2, 1, 4, 3])):
        for boxes in (one, library.up(np.array(one))):
            assert int(table.sum(boxes, format=format)) == int(IMAGE[0, 1:4, 2:6].sum())
    assert int(table[1:4, 2:6]) == int(IMAGE[0, 1:4, 2:6].sum())


def test_boxes_that_are_wrong(library):
    table = boxsum.Table.build(library.up(IMAGE[0]), dtype="uint32")
    with pytest.raises(boxsum.InvalidArgument, match=r"boxes\[1\]: .*37 x 53"):
        table.sum([[0, 0, 1, 1], [0, 0, 38, 1]])
    with pytest.raises(boxsum.InvalidArgument, match="boxes: their shape is"):
        table.sum(library.up(np.zeros((4, 3), np.int64)))
    with pytest.raises(boxsum.InvalidArgument, match=r"boxes\[1\]: .*rows 0 to 37\.5, .* lie outside the 37 x 53"):
        table.sum([[0, 0, 1, 1], [0, 0, 37.5, 1]])
    for wrong in (np.zeros((1, 4), bool), library.up(np.zeros((1, 4), bool))):
        with pytest.raises(boxsum.Unsupported, match="boxes: their dtype is .*bool; they must be integers or floating"):
            table.sum(wrong)
    # Those on the device are not looked at: their answer is 0, or NaN.
    assert int(table.sum(library.up(np.array([0, 0, 38, 1])))) == 0
    assert np.isnan(library.down(table.sum(library.up(np.array([0, 0, 37.5, 1])))))
    histograms = boxsum.integral_histogram(library.up(IMAGE[0]), 4)
    for boxes in ([[0.5, 0, 1, 1]], library.up(np.zeros((1, 4)))):
        with pytest.raises(boxsum.Unsupported, match="boxes: .*histograms take boxes of whole pixels"):
            histograms.region(boxes)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_boxes_with_edges_within_pixels(library, layout):
    options = {"dtype": "uint32", "squares_dtype": "uint64", "squares": True, "layout": layout}
    edges = np.random.default_rng(5).uniform(0, 1, (3, 40, 4)) * [17, 25, 17, 25] + [1, 0, 18, 26]  # yxyx
    edges[1] = np.floor(edges[1] * 4) / 4
    cases = [(IMAGE[0], None), (IMAGE, None), (np.asfortranarray(IMAGE[0]), None)]
    cases += [(reference.random_image((2, 3, 37, 53), np.uint8, 8), 1)]
    for image, axis in cases:
        host = boxsum.Table.build(image, channel_axis=axis, **options)
        table = boxsum.Table.build(library.up(image), channel_axis=axis, **options)
        for format in ("rchw", "yxyx", "xyxy", "xywh"):
            boxes = edges.copy()
            if format in ("rchw", "xywh"):
                boxes[..., 2:] -= boxes[..., :2]
            if format in ("xyxy", "xywh"):
                boxes = boxes[..., [1, 0, 3, 2]]
            for given in (boxes, library.up(boxes), boxes.astype(np.float32), library.up(boxes.astype(np.float32))):
                rounded = library.down(given) if type(given) is not np.ndarray else given
                for stat in ("sum", "mean", "var"):
                    actual = library.down(getattr(table, stat)(given, format=format))
                    np.testing.assert_array_equal(actual, getattr(host, stat)(rounded, format=format))
                    assert actual.dtype == np.float64
    out = library.empty((2, 3, 40, 3), np.float64)
    assert table.sum(edges, format="yxyx", out=out) is out
    whole = boxsum.box_sum(table.values, [[0.0, 0.0, 36.0, 52.0]], layout=layout, channel_axis=axis)
    np.testing.assert_array_equal(library.down(whole), library.down(table.sum([[0, 0, 36, 52]])))
    for form in ({"origin": (3, 4), "layout": "padded"}, {"offset": 7.0, "layout": layout}):
        host = boxsum.Table.build(IMAGE[0], dtype="uint32", **form)
        table = boxsum.Table.build(library.up(IMAGE[0]), dtype="uint32", **form)
        for stat in ("sum", "mean"):
            actual = library.down(getattr(table, stat)(edges, format="yxyx"))
            np.testing.assert_array_equal(actual, getattr(host, stat)(edges, format="yxyx"))


BORDERS = ("shrink", "reflect", "replicate", "constant", "mirror", "wrap")


@pytest.mark.parametrize("border", BORDERS)
def test_filters_of_integers(library, border):
    for dtype in (np.uint8, np.uint16, np.int16):
        image = reference.random_image((2, 20, 27), dtype, 7)
        there = library.up(image)
        options = {"border": border, "cval": 3}
        for size, origin in ((5, 0), ((4, 7), (1, -2))):
            expected = boxsum.box_filter(image, size, origin=origin, **options)
            actual = boxsum.box_filter(there, size, origin=origin, **options)
            np.testing.assert_array_equal(library.down(actual), expected)
            expected = boxsum.local_statistics(image, size, origin=origin, results=("std", "mean", "var"), **options)
            actual = boxsum.local_statistics(there, size, origin=origin, results=("std", "mean", "var"), **options)
            for one, other in zip(actual, expected, strict=True):
                np.testing.assert_array_equal(library.down(one), other)
            for function in (boxsum.threshold, boxsum.local_contrast):
                expected = function(image, size, origin=origin, **options)
                actual = function(there, size, origin=origin, **options)
                np.testing.assert_array_equal(library.down(actual), expected)
        for method in ("bradley", "sauvola", "niblack", "wolf"):
            expected = boxsum.threshold(image, 7, method=method, **options)
            actual = boxsum.threshold(there, 7, method=method, **options)
            assert library.down(actual).dtype == bool
            np.testing.assert_array_equal(library.down(actual), expected)
        expected = boxsum.local_contrast(image, 7, **options)
        np.testing.assert_array_equal(library.down(boxsum.local_contrast(there, 7, **options)), expected)


def test_contrast_in_double(library):
    rng = np.random.default_rng(8)
    for dtype in (bool, np.uint8, np.uint16, np.int16, np.float64):
        image = reference.random_image((2, 20, 27), dtype, 7)
        mask = rng.integers(0, 4, image.shape) > 0
        for turned in (image, np.asfortranarray(image)):
            for samples in ({}, {"mask": mask, "min_count": 4, "fill": -7}):
                options = {"epsilon": 0.25, "origin": (1, 0), "dtype": "float64"}
                there = {name: library.up(x) if isinstance(x, np.ndarray) else x for name, x in samples.items()}
                expected = boxsum.local_contrast(turned, (4, 5), **options, **samples)
                actual = library.down(boxsum.local_contrast(library.up(turned), (4, 5), **options, **there))
                assert actual.dtype == np.float64
                np.testing.assert_allclose(actual, expected, rtol=1e-9, atol=1e-9)
        out = library.empty(image.shape, "float64")
        assert boxsum.local_contrast(library.up(image), (4, 5), out=out, **options) is out
        np.testing.assert_array_equal(library.down(out), library.down(boxsum.local_contrast(library.up(image), (4, 5), **options)))
        expected = boxsum.local_contrast(image[:, 5:15], (4, 5), part=(5, 20), **options)
        actual = boxsum.local_contrast(library.up(image[:, 5:15]), (4, 5), part=(5, 20), **options)
        np.testing.assert_allclose(library.down(actual), expected, rtol=1e-9, atol=1e-9)
    with pytest.raises(boxsum.InvalidArgument, match="out: is in host memory, but image is on cuda:0"):
        boxsum.local_contrast(library.up(IMAGE), 3, dtype="float64", out=np.empty(IMAGE.shape))
    tiny = np.array([[0, 1e-200]])  # its variance is below all numbers
    options = {"epsilon": 1e-250, "dtype": "float64", "nan": "omit"}
    found = library.down(boxsum.local_contrast(library.up(tiny), (1, 3), **options))
    np.testing.assert_allclose(found, boxsum.local_contrast(tiny, (1, 3), **options), rtol=1e-12)
    assert np.isfinite(found).all()
    image = library.up(reference.random_image((20, 27), "float64", 7))
    there = library.up(np.ones((20, 27), np.float32))
    for call in (
        lambda **more: boxsum.box_filter(image, 3, stat="sum", **more),
        lambda **more: boxsum.local_contrast(image, 3, dtype="float64", **more),
    ):
        with pytest.raises(boxsum.InvalidArgument, match="^out: overlaps image"):
            call(out=image)
        one = library.empty((20, 27), "float64")
        with pytest.raises(boxsum.InvalidArgument, match="^count: overlaps out"):
            call(out=one, count=one, weights=there)


def test_how_much_counted(library):
    rng = np.random.default_rng(9)
    image = IMAGE[0]
    mask, weights = rng.integers(0, 3, image.shape) > 0, rng.integers(0, 5, image.shape).astype(np.float32) / 4
    radius = rng.integers(0, 5, image.shape).astype(np.uint8)
    for samples, kind in (({"mask": mask}, "uint32"), ({"mask": mask, "weights": weights}, "float64")):
        there = {name: library.up(x) for name, x in samples.items()}
        for function, given in (
            (boxsum.box_filter, (3,)),
            (boxsum.threshold, (3,)),
            (boxsum.local_contrast, (3,)),
            (boxsum.guided_filter, (3,)),
            (boxsum.variable_box_filter, (radius,)),
            (boxsum.non_local_means, (3,)),
        ):
            expected, found = np.empty(image.shape, kind), library.empty(image.shape, kind)
            more = {} if function is boxsum.guided_filter else {"border": "replicate"}
            function(image, *given, count=expected, **samples, **more)
            on_device = [library.up(x) if isinstance(x, np.ndarray) else x for x in given]
            function(library.up(image), *on_device, count=found, **there, **more)
            np.testing.assert_array_equal(library.down(found), expected)


def test_filters_of_floats(library, emulated):
    # Through tables of float64, for which the emulated device has no float32 images.
    image = reference.random_image((24, 31), np.float64 if emulated else np.float32, 9)
    there = library.up(image)
    for border in ("shrink", "reflect", "replicate", "constant"):
        expected = boxsum.box_filter(image, 5, border=border, dtype="float64")
        actual = boxsum.box_filter(there, 5, border=border, dtype="float64")
        np.testing.assert_allclose(library.down(actual), expected, rtol=0, atol=1e-13)
    radius = np.arange(24 * 31).reshape(24, 31) % 4
    expected = boxsum.variable_box_filter(image, radius, dtype="float64")
    actual = boxsum.variable_box_filter(there, library.up(radius), dtype="float64")
    np.testing.assert_allclose(library.down(actual), expected, rtol=0, atol=1e-12)
    # Radii on the device are not looked at.
    expected = boxsum.variable_box_filter(IMAGE[0], np.clip(IMAGE[0] % 7, 1, 4) - 1, rounding="floor", largest_radius=3)
    radius_there = library.up(IMAGE[0].astype(np.int32) % 7 - 1)
    actual = boxsum.variable_box_filter(library.up(IMAGE[0]), radius_there, rounding="floor", largest_radius=3)
    np.testing.assert_array_equal(library.down(actual), expected)
    with pytest.raises(boxsum.InvalidArgument, match="radius: is in host memory, but image is on cuda:0"):
        boxsum.variable_box_filter(there, radius)


def test_non_local_means(library):
    for border in BORDERS:
        given = {"border": border, "cval": 3, "dtype": "float64", "origin": (-1, 2)}
        for dtype, patch, bound in ((np.uint8, 7, 2**-8), (np.uint16, (3, 5), 1), (np.float64, 3, 2**-32)):
            image = reference.random_image((2, 21, 24), dtype, 12)
            expected = boxsum.non_local_means(image, 5, patch=patch, **given)
            for turned in (image, np.asfortranarray(image)):
                actual = boxsum.non_local_means(library.up(turned), 5, patch=patch, **given)
                np.testing.assert_allclose(library.down(actual), expected, rtol=0, atol=bound)
            expected = boxsum.non_local_means(image.reshape(21, 24, 2), 5, patch=patch, channel_axis=-1, **given)
            actual = boxsum.non_local_means(library.up(image.reshape(21, 24, 2)), 5, patch=patch, channel_axis=-1, **given)
            np.testing.assert_allclose(library.down(actual), expected, rtol=0, atol=bound)
    whole = library.down(boxsum.non_local_means(library.up(IMAGE[0] > 99), 3, patch=3))
    np.testing.assert_allclose(whole, boxsum.non_local_means(IMAGE[0] > 99, 3, patch=3), rtol=0, atol=2**-16)
    image = reference.random_image((2, 21, 24), np.float32, 13)
    image[:, 3, 4] = np.nan
    mask = np.random.default_rng(5).integers(0, 2, image.shape, np.uint8)
    how = {"patch": 3, "strength": 0.1, "nan": "omit", "min_count": 2, "fill": -1}
    expected = boxsum.non_local_means(image, 5, mask=mask, **how)
    actual = boxsum.non_local_means(library.up(image), 5, mask=library.up(mask), **how)
    np.testing.assert_allclose(library.down(actual), expected, rtol=2**-23, atol=0)
    with pytest.raises(boxsum.InvalidArgument, match="strength: is 0"):
        boxsum.non_local_means(library.up(IMAGE), 3, strength=0)


def test_shadows(library):
    rng = np.random.default_rng(12)
    depths = reference.random_image((23, 31), np.uint8, 12)
    forms = [{"dtype": "uint32", "squares_dtype": "uint64"}, {"dtype": "uint32", "squares_dtype": "uint64", "layout": "inclusive"}]
    corners = rng.uniform(-2, 20, (17, 12, 2))
    rectangle = np.concatenate([corners, rng.uniform(0, 9, (17, 12, 2))], -1)
    receiver = rng.uniform(0, 255, (17, 12))
    options = {"min_variance": 4.0, "bleeding": 0.1}
    for form in forms:
        there = boxsum.Table.build(library.up(depths), squares=True, **form)
        here = boxsum.Table.build(depths, squares=True, **form)
        for dtype in (np.float32, np.float64):
            given = receiver.astype(dtype), rectangle.astype(dtype)
            expected = boxsum.variance_shadows(here, *given, **options)
            for turn in (np.ascontiguousarray, lambda x: x[::2, ::-1], lambda x: x.swapaxes(0, 1).copy().swapaxes(0, 1)):
                want = boxsum.variance_shadows(here, *map(turn, given), **options)
                actual = library.down(boxsum.variance_shadows(there, *(library.up(turn(one)) for one in given), **options))
                assert actual.dtype == dtype
                np.testing.assert_array_equal(actual, want)
            out = library.empty((17, 12), dtype)
            assert boxsum.variance_shadows(there, *map(library.up, given), out=out, **options) is out
            np.testing.assert_array_equal(library.down(out), expected)
    nothing = boxsum.variance_shadows(there, library.up(np.ones((0, 4))), library.up(np.ones((0, 4, 4))))
    assert nothing.shape == (0, 4)
    with pytest.raises(boxsum.InvalidArgument, match="receiver: is in host memory, but table is on cuda:0"):
        boxsum.variance_shadows(there, *given)
    with pytest.raises(boxsum.InvalidArgument, match="receiver: is on cuda:0, but table is in host memory"):
        boxsum.variance_shadows(here, library.up(given[0]), given[1])
    with pytest.raises(boxsum.InvalidArgument, match="out: overlaps receiver"):
        overlapped = library.up(given[0])
        boxsum.variance_shadows(there, overlapped, library.up(given[1]), out=overlapped)
    with pytest.raises(boxsum.InvalidArgument, match="min_variance: is -1"):
        boxsum.variance_shadows(there, *map(library.up, given), min_variance=-1)


def test_results_that_overlap_what_is_read(library):
    table = boxsum.Table.build(library.up(IMAGE[0]), dtype="uint32").values
    boxes = library.up(np.array([[0, 0, 2, 2]] * 4))
    with pytest.raises(boxsum.InvalidArgument, match="out: overlaps table"):
        boxsum.box_sum(table, boxes, layout="padded", out=table[1, :4])


def test_convolution(library):
    kernel = np.arange(15).reshape(3, 5) / 16  # of a size that all algorithms take
    for dtype, result in ((np.uint8, None), (np.uint8, "float32"), (np.int16, "float32"), (np.float64, None)):
        image = reference.random_image((19, 30), dtype, 10)
        expected = boxsum.convolve(image, kernel, border="replicate", dtype=result)
        for turned in (image, np.asfortranarray(image)):
            actual = boxsum.convolve(library.up(turned), kernel, border="replicate", dtype=result)
            np.testing.assert_allclose(library.down(actual), expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
    image = reference.random_image((19, 30), np.float32, 11)
    expected = boxsum.convolve(image, kernel)
    for algorithm in ("systolic", "tiled", "ssam", "direct"):
        actual = library.down(boxsum.convolve(library.up(image), kernel, algorithm=algorithm))
        np.testing.assert_allclose(actual, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())
    boxsum.convolve(library.up(IMAGE[0]), kernel, dtype="float32", algorithm="direct")  # whose plan is kept
    with pytest.raises(boxsum.Unsupported, match="ssam"):
        boxsum.convolve(library.up(IMAGE[0]), kernel, dtype="float32", algorithm="ssam")
    with pytest.raises(boxsum.Error, match="algorithm 'simd' runs on cpu, but the call is for cuda"):
        boxsum.convolve(library.up(image), kernel, algorithm="simd")


@pytest.mark.parametrize("buffers", [1, 2, 5])
def test_pipelines_on_a_device_are_those_of_the_host(buffers):
    frames = IMAGE[:, :20, :30]
    weights = (np.arange(600, dtype=np.float32).reshape(20, 30) - 99) / 4  # sums are exact
    request = boxsum.FrameRequest(
        boxes=[[1, 2, 3, 4], [2, 3, 15, 20]], tensor=True, sizes=(5, 6), target=range(1, 9), match_histograms=True, region=(1, 2, 17, 25)
    )
    for options in ({}, {"weights": weights}, {"layout": "padded", "dtype": "uint16"}):
        host = list(boxsum.histogram_pipeline(frames, request, 8, **options))
        there = boxsum.histogram_pipeline(frames, request, 8, buffers=buffers, device=0, **options)
        for one, other in zip(host, there, strict=True):
            assert (one.frame, one.region, [match.box for match in one.matches]) == (
                other.frame, other.region, [match.box for match in other.matches],
            )
            for a, b in ((one.histograms, other.histograms), (one.match_histograms, other.match_histograms), (one.tensor.values, other.tensor.values)):
                np.testing.assert_array_equal(a, b)
        assert set(there.report().busy) == {"read", "upload", "compute", "query", "download"}


def test_histograms(library):
    image = IMAGE[:, :20, :30]
    weights = (np.arange(600, dtype=np.float32).reshape(20, 30) - 99) / 4  # of one image, for all; sums are exact
    host = boxsum.integral_histogram(image, 8, weights=weights)
    there = boxsum.integral_histogram(library.up(image), 8, weights=library.up(weights))
    np.testing.assert_array_equal(library.down(there.values), host.values)
    with pytest.raises(boxsum.Unsupported, match="image: is on a GPU, tasks are made of images in host memory"):
        boxsum.histogram_tasks(library.up(image), 8)
    with pytest.raises(boxsum.Unsupported, match="frames: are on a GPU, a pipeline takes frames in host memory"):
        boxsum.histogram_pipeline([library.up(IMAGE[0])], boxsum.FrameRequest(tensor=True), 8)
    with pytest.raises(boxsum.Unsupported, match="image: is on a GPU, parts of tables are made in host memory"):
        boxsum.sat(library.up(image[0]), above=[0] * 30)
    for layout in ("inclusive", "padded"):
        host = boxsum.integral_histogram(image, 8, layout=layout)
        there = boxsum.integral_histogram(library.up(image), 8, layout=layout)
        np.testing.assert_array_equal(library.down(there.values), host.values)
        boxes = [[0, 0, 4, 5], [3, 2, 17, 28]]
        for given in (boxes, library.up(np.array(boxes))):
            np.testing.assert_array_equal(library.down(there.region(given)), host.region(boxes))
            shares = library.down(there.region(given, normalize=True))
            np.testing.assert_allclose(shares, host.region(boxes, normalize=True), rtol=1e-15)
        corners = [[0, 0, 4, 5], [2, 3, 20, 30]]
        found = there.region(library.up(np.array(corners)), format="yxyx")
        np.testing.assert_array_equal(library.down(found), host.region(corners, format="yxyx"))
        windows = there.windows((6, 8), step=(3, 5), within=(1, 2, 17, 27))
        np.testing.assert_array_equal(library.down(windows), host.windows((6, 8), step=(3, 5), within=(1, 2, 17, 27)))
        target = host.region([3, 4, 6, 8])[1]
        for wanted in (target, library.up(target.astype(np.float64))):
            assert there.search(wanted, (6, 8), count=5, plane=1) == host.search(target, (6, 8), count=5, plane=1)
        with pytest.raises(boxsum.InvalidArgument, match=r"boxes\[1\]"):
            there.region([[0, 0, 1, 1], [-1, 0, 1, 1]])


def test_working_memory_is_given_back(library, emulated):
    image = library.up(IMAGE[0])
    expected = tables_of(IMAGE[0], dtype="uint32")
    for _ in range(3):
        np.testing.assert_array_equal(library.down(boxsum.sat(image, dtype="uint32")), expected)
        if emulated:
            assert library.module.lent() > 0
        boxsum.cuda.trim()
        if emulated:
            assert library.module.lent() == 0


def test_guided_filter(library):
    for dtype in (np.uint8, np.float32, np.float64):
        image, guide = (reference.random_image((2, 24, 31), dtype, seed) for seed in (3, 4))
        there, by = library.up(image), library.up(guide)
        for border in (border for border in BORDERS if border != "constant"):
            for given, on_device in (({}, {}), ({"guide": guide}, {"guide": by}), ({"guide": guide[1]}, {"guide": by[1]})):
                how = {"border": border, "dtype": "float64", "origin": (1, -2) if given else 0}
                expected = boxsum.guided_filter(image, (5, 7), **given, **how)
                actual = boxsum.guided_filter(there, (5, 7), **on_device, **how)
                np.testing.assert_allclose(library.down(actual), expected, rtol=0, atol=1e-11 * image.max())
        actual = library.down(boxsum.guided_filter(there, 3, guide=by))
        assert actual.dtype == dtype
        np.testing.assert_allclose(actual, boxsum.guided_filter(image, 3, guide=guide), atol=1 if dtype == np.uint8 else 1e-6)
    for channels in (2, 3, 4):
        colours = reference.random_image((24, 31, channels), np.uint8, channels)
        expected = boxsum.guided_filter(image, (5, 7), guide=colours, guide_channel_axis=-1)
        actual = boxsum.guided_filter(there, (5, 7), guide=library.up(colours), guide_channel_axis=-1)
        np.testing.assert_allclose(library.down(actual), expected, rtol=0, atol=1e-11 * image.max())
    mask = np.random.default_rng(5).integers(0, 2, image.shape, np.uint8)
    image[:, 3, 4] = np.nan
    for given, on_device in (({}, {}), ({"guide": guide}, {"guide": by})):
        how = {"nan": "omit", "min_count": 4, "fill": -1}
        expected = boxsum.guided_filter(image, (5, 7), mask=mask, **given, **how)
        actual = boxsum.guided_filter(library.up(image), (5, 7), mask=library.up(mask), **on_device, **how)
        np.testing.assert_allclose(library.down(actual), expected, rtol=0, atol=1e-11 * np.nanmax(image))
    with pytest.raises(boxsum.InvalidArgument, match="guide: is in host memory, but image is on cuda:0"):
        boxsum.guided_filter(there, 3, guide=guide)


def test_tracking(library):
    frames = np.zeros((3, 30, 40), np.uint8)
    for number, frame in enumerate(frames):
        frame[10 + 2 * number : 18 + 2 * number, 20 - number : 30 - number] = 200
    expected = list(boxsum.track(frames, (10, 20, 8, 10), search=3))
    actual = list(boxsum.track((library.up(frame) for frame in frames), (10, 20, 8, 10), search=3))
    assert actual == expected


def test_pixels_that_do_not_count(library):
    mask = IMAGE[0] > 3
    expected = boxsum.box_filter(IMAGE[0], 3, mask=mask)
    np.testing.assert_array_equal(library.down(boxsum.box_filter(library.up(IMAGE[0]), 3, mask=library.up(mask))), expected)


def test_pixels_that_do_not_count_by_radii(library):
    rng = np.random.default_rng(3)
    radius = rng.integers(0, 6, (37, 53)).astype(np.uint8)
    mask, weights = rng.integers(0, 3, (37, 53)) > 0, rng.integers(-1, 5, (37, 53)).astype(np.float32) / 4
    holes = np.where(rng.integers(0, 5, IMAGE.shape) > 0, IMAGE, np.nan)
    for border in BORDERS:
        for image, samples in (
            (IMAGE, {}),
            (IMAGE, {"mask": mask, "nodata": 7, "min_count": 5, "fill": 3}),
            (holes, {"nan": "omit", "mask": mask, "dtype": "float64"}),
            (holes, {"nan": "omit", "weights": weights, "min_count": 1.5, "dtype": "float64"}),
        ):
            expected = boxsum.variable_box_filter(image, radius, border=border, **samples)
            there = {name: library.up(x) if isinstance(x, np.ndarray) else x for name, x in samples.items()}
            actual = boxsum.variable_box_filter(library.up(image), library.up(radius), border=border, **there)
            np.testing.assert_array_equal(library.down(actual), expected)


def test_tables_of_pixels_that_do_not_count(library, emulated):
    boxes = np.array([[0, 0, 37, 53], [1, 2, 1, 1], [5, 6, 20, 30], [36, 52, 1, 1], [0, 0, 2, 2]])
    rng = np.random.default_rng(3)
    mask, weights = rng.integers(0, 3, (37, 53)) > 0, rng.integers(-1, 5, (37, 53)).astype(np.float32) / 4
    holes = np.where(rng.integers(0, 4, (2, 37, 53)) == 0, np.nan, rng.integers(0, 50, (2, 37, 53)))
    integers = {"dtype": "uint32", "squares_dtype": "uint64"}
    cases = [
        (IMAGE, {"mask": mask}, integers),
        (IMAGE, {"mask": mask.astype(np.uint8), "nodata": 3}, integers),
        (np.asfortranarray(IMAGE[0]), {"nodata": 7}, integers),
        (IMAGE[0, ..., None].repeat(3, -1), {"mask": mask, "nodata": 7}, integers | {"channel_axis": -1}),
        (holes, {"nan": "omit"}, {"squares": not emulated}),
        (holes, {"nodata": np.nan, "mask": mask}, {"squares": not emulated}),
        (IMAGE, {"weights": weights}, {}),
        (holes, {"weights": weights, "mask": mask, "nan": "omit"}, {}),
    ]
    if not emulated:
        cases += [(IMAGE, {"mask": mask}, {}), (holes.astype(np.float32), {"nan": "omit"}, {})]
        cases += [(holes.astype(np.float16), {"nan": "omit"}, {}), (IMAGE.astype(np.int16), {"nodata": 3}, {"squares": False})]
    for image, samples, options in cases:
        for layout in ("padded", "inclusive"):
            given = {"squares": True, "layout": layout} | options
            host = boxsum.Table.build(image, **samples, **given)
            up = {name: library.up(one) if isinstance(one, np.ndarray) else one for name, one in samples.items()}
            table = boxsum.Table.build(library.up(image), **up, **given)
            for part in ("values", "squares", "counts"):
                if getattr(host, part) is not None:
                    expected, actual = np.asarray(getattr(host, part)), library.down(getattr(table, part))
                    np.testing.assert_array_equal(actual, expected.view(library.dtype(expected.dtype)))
            for there in (boxes, library.up(boxes)):
                np.testing.assert_array_equal(library.down(table.count(there)), host.count(boxes))
                np.testing.assert_array_equal(library.down(table.sum(there)), host.sum(boxes))
                for least, fill in ((None, None), (2, -1.5), (300, None)):
                    wanted = {"min_count": least, "fill": fill}
                    np.testing.assert_array_equal(library.down(table.mean(there, **wanted)), host.mean(boxes, **wanted))
                    if host.squares is not None:
                        actual = library.down(table.var(there, **wanted))
                        np.testing.assert_array_equal(actual, host.var(boxes, **wanted))
                        actual = library.down(table.std(there, **wanted))
                        np.testing.assert_allclose(actual, host.std(boxes, **wanted), rtol=1e-15)
    with pytest.raises(boxsum.Unsupported, match="boxes: have fractional edges, but"):
        table.mean([[0.5, 0.0, 2.0, 2.0]])
    with pytest.raises(boxsum.InvalidArgument, match="mask: is in host memory, but image is on cuda:0"):
        boxsum.Table.build(library.up(IMAGE), mask=mask, dtype="uint32")
    with pytest.raises(boxsum.Unsupported, match="offset"):
        boxsum.Table.build(library.up(IMAGE), mask=library.up(mask), offset=3.0, dtype="uint32")
    if not library.tensors:
        with pytest.raises(boxsum.Unsupported, match="image: its dtype is uint64, of whose tables on a GPU every pixel"):
            boxsum.Table.build(library.up(IMAGE.astype(np.uint64)), mask=library.up(mask))


def test_windows_of_tables(library):
    kind = "int32" if library.tensors else "uint32"
    host = boxsum.Table.build(IMAGE, dtype=kind)
    table = boxsum.Table.build(library.up(IMAGE), dtype=kind)
    colours = boxsum.Table(host.values[:, None].repeat(3, 1), layout="padded", channel_axis=1)
    for here, there in (
        (host, table),
        (boxsum.Table(np.asfortranarray(host.values[0]), layout="padded"), boxsum.Table(table.values[0], layout="padded")),
        (colours, boxsum.Table(library.up(colours.values), layout="padded", channel_axis=1)),
    ):
        np.testing.assert_array_equal(library.down(there.window_sums((3, 8), origin=(1, 0))), here.window_sums((3, 8), origin=(1, 0)))
        for dtype in ("float32", "float64"):
            actual = library.down(there.window_means(31, dtype=dtype))
            np.testing.assert_array_equal(actual, here.window_means(31, dtype=dtype))
    sums, squares = tables_of(IMAGE, dtype=kind), tables_of(np.square(IMAGE.astype(np.float64)), dtype="float64")
    here = boxsum.Table(sums, squares, layout="inclusive")
    there = boxsum.Table(library.up(sums), library.up(squares), layout="inclusive")
    out = library.empty(IMAGE.shape, "float32")
    assert there.window_variances(5, out=out, dtype="float32") is out
    np.testing.assert_array_equal(library.down(out), here.window_variances(5, dtype="float32"))
    with pytest.raises(boxsum.InvalidArgument, match="squares: is in host memory, but table is on cuda:0"):
        boxsum.Table(library.up(sums), squares, layout="inclusive").window_variances(5)
    with pytest.raises(boxsum.InvalidArgument, match="out: is in host memory"):
        table.window_sums(3, out=np.zeros(IMAGE.shape, kind))


@pytest.mark.parametrize("order", [1, 2, 3])
def test_depth_of_field(library, order):
    depth = reference.random_image((37, 53), np.uint8, 8).astype(np.float32) / 16
    lens = {"focus": 4.5, "aperture": 9.0, "largest_radius": 12}
    radii = boxsum.circles_of_confusion(depth, **lens)
    there = boxsum.circles_of_confusion(library.up(depth), **lens)
    np.testing.assert_array_equal(library.down(there), radii)
    assert boxsum.circles_of_confusion(library.up(depth), out=there, **lens) is there
    photo = np.moveaxis(IMAGE[0, :, :, None].repeat(3, 2), -1, 0).copy()
    for image, axis in ((IMAGE, None), (photo, 0), (np.asfortranarray(IMAGE[1]), None)):
        for dtype in (None, "float32"):
            options = {"order": order, "channel_axis": axis, "dtype": dtype}
            expected = boxsum.variable_blur(image, radii, **options)
            for given in ({}, {"largest_radius": 12}):
                actual = boxsum.variable_blur(library.up(image), there, **options, **given)
                np.testing.assert_array_equal(library.down(actual), expected)
    wide = library.up(radii.astype(np.int64) - 3)
    expected = boxsum.variable_blur(IMAGE, np.clip(radii.astype(np.int64) - 3, 0, 7), order=order)
    np.testing.assert_array_equal(library.down(boxsum.variable_blur(library.up(IMAGE), wide, order=order, largest_radius=7)), expected)
    with pytest.raises(boxsum.InvalidArgument, match="largest_radius: is not given"):
        boxsum.variable_blur(library.up(IMAGE), wide)
    with pytest.raises(boxsum.InvalidArgument, match="radius: is in host memory, but image is on cuda:0"):
        boxsum.variable_blur(library.up(IMAGE), radii)
    with pytest.raises(boxsum.InvalidArgument, match="radius: is 12 at plane 0"):
        boxsum.variable_blur(IMAGE, np.full_like(radii, 12), largest_radius=11)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "uint32", "int64", "float16", "float32", "float64"])
def test_image_means_have_the_bits_of_the_host(library, dtype):
    if library.tensors and dtype == "uint32":
        pytest.skip("PyTorch makes no copies of it")
    image = (IMAGE[:, :, :48].reshape(IMAGE.shape[0], -1, 16, 3) % 100).astype(dtype)
    if np.dtype(dtype).kind == "f":
        image = (image / 7).astype(dtype)
    for pixels, axis in ((image, -1), (image[..., 1], None), (image[0, ..., 0].T, None), (image[0, ::2, ::-1, 2], None)):
        given = library.up(np.ascontiguousarray(pixels)) if axis is None else library.up(pixels)
        found = library.down(boxsum.image_means(given, channel_axis=axis))
        expected = boxsum.image_means(np.ascontiguousarray(pixels), channel_axis=axis)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)


def test_tables_take_means_on_the_device_as_offsets(library):
    image = IMAGE.astype(np.float64) / 7
    on_device = library.up(image)
    table = boxsum.Table.build(on_device, offset=boxsum.image_means(on_device), origin=(2, 3))
    host = boxsum.Table.build(image, offset=boxsum.image_means(image), origin=(2, 3))
    np.testing.assert_array_equal(table.offset, host.offset)
    np.testing.assert_allclose(library.down(table.mean([[1, 2, 3, 4]])), host.mean([[1, 2, 3, 4]]), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint16", "float32", "float64"])
def test_blobs(library, dtype):
    y, x = np.ogrid[:60, :70]
    disks = (np.hypot(y - 30, x - 20) < 8) | (np.hypot(y - 15, x - 50) < 5)
    top = {"u": np.iinfo(dtype).max} if np.dtype(dtype).kind == "u" else {}
    image = (disks * top.get("u", 1)).astype(dtype)
    for dtype_out in ("float64", "float32"):
        expected = boxsum.box_hessian(image, 3.5, dtype=dtype_out)
        found = library.down(boxsum.box_hessian(library.up(image), 3.5, dtype=dtype_out))
        assert found.dtype == expected.dtype
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12 if dtype_out == "float64" else 1e-6)
        if top:
            np.testing.assert_array_equal(found, expected)
    out = library.empty(image.shape, "float64")
    assert boxsum.box_hessian(library.up(image), 3.5, out=out) is out
    np.testing.assert_allclose(library.down(out), boxsum.box_hessian(image, 3.5), rtol=0, atol=1e-12)
    batch = library.down(boxsum.box_hessian(library.up(np.stack([image, image[::-1]])), 2))
    np.testing.assert_allclose(batch[1], boxsum.box_hessian(image[::-1], 2), rtol=0, atol=1e-12)
    sigmas = (3, 4, 6, 8, 10)
    blobs = library.down(boxsum.find_blobs(library.up(image), sigmas))
    assert len(blobs) == 2
    np.testing.assert_allclose(blobs, boxsum.find_blobs(image, sigmas), rtol=0, atol=1e-12)
    assert library.down(boxsum.find_blobs(library.up(image), sigmas, threshold=1e9)).shape == (0, 4)
    with pytest.raises(boxsum.InvalidArgument, match="sigma: is 0.5"):
        boxsum.box_hessian(library.up(image), 0.5)
    with pytest.raises(boxsum.InvalidArgument, match="out: is in host memory, but image is on cuda:0"):
        boxsum.box_hessian(library.up(image), 2, out=np.empty(image.shape))


def test_distances_of_histograms_on_the_device(library):
    histograms = boxsum.integral_histogram(library.up(IMAGE[0]), 16).region([[1, 2, 10, 20], [5, 6, 7, 8]])
    host = boxsum.integral_histogram(IMAGE[0], 16).region([[1, 2, 10, 20], [5, 6, 7, 8]])
    assert boxsum.histogram_distance(histograms[0], host[1]) == boxsum.histogram_distance(host[0], host[1]) > 0


def test_what_only_the_cpu_does_is_refused(library):
    image = library.up(IMAGE[0])
    with pytest.raises(boxsum.Unsupported, match="image: type is uint32"):
        boxsum.box_filter(library.up(IMAGE[0].astype(np.uint32)), 3)
    with pytest.raises(boxsum.InvalidArgument, match="mask: is in host memory, but image is on cuda:0"):
        boxsum.box_filter(image, 3, mask=IMAGE[0] > 3)
    with pytest.raises(boxsum.InvalidArgument, match="image: its shape is"):
        boxsum.sat(library.up(IMAGE[0, :0]), dtype="uint32")
    with pytest.raises(boxsum.Unsupported, match="algorithm: no sat algorithm is named"):
        boxsum.sat(image, dtype="uint32", algorithm="nobody's")
    assert boxsum.box_filter(library.up(IMAGE[0, :0]), 3).shape == (0, 53)
