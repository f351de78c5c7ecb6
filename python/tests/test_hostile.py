"""Arrays and values as a new user passes them: every public function gives what it gives of a plain copy, or raises one
error that names the argument.
"""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest
import reference
from numpy.lib.stride_tricks import as_strided, sliding_window_view

import boxsum

SHAPE = (12, 14)
ONES = np.ones(SHAPE, np.uint8)
DTYPES = "bool uint8 int8 uint16 int16 uint32 int32 uint64 int64 float16 float32 float64".split()


def shadows(receiver=ONES + 0.0, rectangle=None):
    table = boxsum.Table.build(np.eye(9), squares=True)
    return boxsum.variance_shadows(table, receiver, np.ones((*SHAPE, 4)) if rectangle is None else rectangle)


def squares_of(table):
    return table.values, table.squares, table.counts


def of_frames(frames, request=boxsum.FrameRequest(boxes=[1, 2, 3, 4], tensor=True), **options):
    results = list(boxsum.histogram_pipeline(frames, request, 4, range=(0, 100), **options))
    return [part for result in results for part in (result.histograms, result.tensor and result.tensor.values)]


# Every argument that is an array: of `box_filter`'s mask, say, the image is ONES.
CALLS = {
    "sat": lambda x: boxsum.sat(x),
    "sat, last": lambda x: boxsum.sat(x, layout="padded", corner="last"),
    "sat_rows": lambda x: list(boxsum.sat_rows([x, x])),
    "sat_squares": lambda x: boxsum.sat_squares(x),
    "Table.build": lambda x: squares_of(boxsum.Table.build(x, squares=True)),
    "Table.build, nodata": lambda x: squares_of(boxsum.Table.build(x, squares=True, nodata=3)),
    "Table.build, mask": lambda x: squares_of(boxsum.Table.build(ONES, mask=x)),
    "Table.build, weights": lambda x: squares_of(boxsum.Table.build(ONES, weights=x)),
    "Table.build, offset": lambda x: boxsum.Table.build(np.ones((4, 2, 3)), offset=x).values,
    "Table": lambda x: boxsum.Table(x, layout="inclusive").window_sums(3),
    "image_means": lambda x: boxsum.image_means(x),
    "box_sum": lambda x: boxsum.box_sum(x, [[1, 2, 3, 4]], layout="inclusive"),
    "box_sum, boxes": lambda x: boxsum.box_sum(np.ones((200, 200)), x, layout="inclusive"),
    "box_mean": lambda x: boxsum.box_mean(x, [[1, 2, 3, 4]], layout="inclusive"),
    "box_var": lambda x: boxsum.box_var(x, x, [[1, 2, 3, 4]], layout="inclusive"),
    "box_var_bound": lambda x: boxsum.box_var_bound(x, x, [[1, 2, 3, 4]], layout="inclusive"),
    "box_filter": lambda x: boxsum.box_filter(x, 3),
    "box_filter, sums": lambda x: boxsum.box_filter(x, (2, 5), stat="sum", border="mirror"),
    "box_filter, mask": lambda x: boxsum.box_filter(ONES, 3, mask=x),
    "box_filter, weights": lambda x: boxsum.box_filter(ONES, 3, weights=x, dtype="float64"),
    "local_statistics": lambda x: boxsum.local_statistics(x, 3, results=("mean", "var", "std", "sum", "count")),
    "threshold": lambda x: boxsum.threshold(x, 5),
    "threshold, itself": lambda x: boxsum.threshold(x, 5, method="wolf", result="threshold"),
    "local_contrast": lambda x: boxsum.local_contrast(x, 3),
    "local_contrast, double": lambda x: boxsum.local_contrast(x, 3, dtype="float64"),
    "variable_box_filter": lambda x: boxsum.variable_box_filter(x, ONES),
    "variable_box_filter, radius": lambda x: boxsum.variable_box_filter(ONES, x),
    "variable_blur": lambda x: boxsum.variable_blur(x, ONES),
    "variable_blur, radius": lambda x: boxsum.variable_blur(ONES, x),
    "convolve": lambda x: boxsum.convolve(x, [[1, 2], [3, 4]]),
    "convolve, kernel": lambda x: boxsum.convolve(ONES, x),
    "guided_filter": lambda x: boxsum.guided_filter(x, 3),
    "guided_filter, guide": lambda x: boxsum.guided_filter(ONES + 0.0, 3, guide=x),
    "non_local_means": lambda x: boxsum.non_local_means(x, 5, patch=3),
    "sat, channels": lambda x: boxsum.sat(x, channel_axis=-1),
    "box_filter, channels": lambda x: boxsum.box_filter(x, 3, channel_axis=-1),
    "guided_filter, colours": lambda x: boxsum.guided_filter(np.ones((6, 7)), 3, guide=x, guide_channel_axis=-1),
    "non_local_means, colours": lambda x: boxsum.non_local_means(x, 3, patch=3, channel_axis=-1),
    "filter_rows": lambda x: list(boxsum.filter_rows(boxsum.box_filter, [x, x], 3)),
    "circles_of_confusion": lambda x: boxsum.circles_of_confusion(x, focus=1, aperture=3),
    "variance_shadows": lambda x: shadows(receiver=x),
    "variance_shadows, rectangle": lambda x: shadows(rectangle=x),
    "box_hessian": lambda x: boxsum.box_hessian(x, 2),
    "find_blobs": lambda x: boxsum.find_blobs(x, (2, 3)),
    "find_blobs, sigmas": lambda x: boxsum.find_blobs(ONES, x),
    "integral_histogram": lambda x: boxsum.integral_histogram(x, 4, range=(0, 100)).values,
    "histogram_tasks": lambda x: boxsum.histogram_tasks(x, 4, range=(0, 100), cpu_workers=2)[0].values,
    "histogram_pipeline": lambda x: of_frames([x, x]),
    "histogram_pipeline, weights": lambda x: of_frames([ONES, ONES], weights=[x, x]),
    "histogram_pipeline, boxes": lambda x: of_frames([np.ones((200, 200), np.uint8)], boxsum.FrameRequest(boxes=x)),
    "integral_histogram, weights": lambda x: boxsum.integral_histogram(ONES, 4, weights=x).values,
    "Binning.lookup": lambda x: boxsum.integral_histogram(ONES, boxsum.Binning.lookup(200, x)).values,
    "HistogramTable": lambda x: boxsum.HistogramTable(x, layout="inclusive").region([0, 0, 2, 2]),
    "HistogramTable.region": lambda x: boxsum.integral_histogram(np.ones((200, 200), np.uint8), 4).region(x),
    "HistogramTable.search": lambda x: boxsum.integral_histogram(ONES, 12).search(x, 2),
    "histogram_distance": lambda x: boxsum.histogram_distance(x, range(1, 13)),
    "track": lambda x: list(boxsum.track([x, x], (2, 2, 4, 4), range=(0, 100), search=2)),
}
WITHOUT_ARRAYS = {"algorithms", "get_num_threads", "info", "largest_safe_box", "num_threads", "set_num_threads", "verify"}


def test_every_function_is_here():
    functions = {name for name in boxsum.__all__ if inspect.isfunction(getattr(boxsum, name))}
    assert functions - WITHOUT_ARRAYS <= {name.partition(",")[0] for name in CALLS}


class Image(np.ndarray):
    pass


class SpeaksDLPack:
    """Nothing but DLPack."""

    def __init__(self, values, device=None):
        self.values, self.device = values, device

    def __dlpack__(self, **how):
        return self.values.__dlpack__(**how)

    def __dlpack_device__(self):
        return self.device or self.values.__dlpack_device__()


def misaligned(plain):
    odd = np.zeros(plain.nbytes + 1, np.uint8)[1:].view(plain.dtype).reshape(plain.shape)
    odd[...] = plain
    return odd


def field(plain):
    records = np.zeros(plain.shape, [("before", "u1"), ("value", plain.dtype)])
    records["value"] = plain
    return records["value"]


def read_only(plain):
    plain = plain.copy()
    plain.flags.writeable = False
    return plain


FORMS = {
    "upside down": lambda x: x[..., ::-1, :] if x.ndim > 1 else x[::-1],
    "mirrored": lambda x: x[..., ::-1],
    "backwards": lambda x: x[(slice(None, None, -1),) * x.ndim],
    "one row": lambda x: np.broadcast_to(x[..., :1, :], x.shape) if x.ndim > 1 else x,
    "one column": lambda x: np.broadcast_to(x[..., :1], x.shape),
    "one number": lambda x: np.broadcast_to(x.flat[0], x.shape),
    "one row, writable": lambda x: as_strided(x, x.shape, (0,) * (x.ndim - 1) + (x.itemsize,)),
    "other byte order": lambda x: x.astype(x.dtype.newbyteorder()),
    "read-only": read_only,
    "Fortran order": np.asfortranarray,
    "rows and columns exchanged in memory": lambda x: x.swapaxes(0, -1).copy().swapaxes(0, -1),
    "not aligned": misaligned,
    "field of a record": field,
    "every second": lambda x: np.repeat(np.repeat(x, 2, 0), 2, -1)[::2, ..., ::2] if x.ndim > 1 else np.repeat(x, 2)[::2],
    "overlapping rows": lambda x: sliding_window_view(x.ravel(), x.shape[-1])[: x.shape[-2]] if x.ndim == 2 else x,
    "subclass": lambda x: x.view(Image),
    "memoryview": lambda x: memoryview(np.ascontiguousarray(x)),
    "read-only memoryview": lambda x: memoryview(read_only(x)),
    "DLPack": lambda x: SpeaksDLPack(np.ascontiguousarray(x)),
    "DLPack, backwards": lambda x: SpeaksDLPack(np.ascontiguousarray(x)[::-1]),
}
SHAPES_OF = {  # where an image's is none that a call takes
    "Table.build, offset": (4,),
    "box_sum, boxes": (3, 4),
    "variance_shadows, rectangle": (*SHAPE, 4),
    "find_blobs, sigmas": (1,),
    "sat, channels": (6, 7, 3),
    "box_filter, channels": (6, 7, 3),
    "guided_filter, colours": (6, 7, 3),
    "non_local_means, colours": (6, 7, 3),
    "Binning.lookup": (256,),
    "HistogramTable": (4, *SHAPE),
    "histogram_pipeline, boxes": (3, 4),
    "HistogramTable.region": (3, 4),
    "HistogramTable.search": (12,),
    "histogram_distance": (12,),
}


def plain_image(dtype, shape):
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return (reference.random_image(shape, dtype, 1) + 2).astype(dtype)
    return (reference.random_image(shape, "uint8", 1) % 90 + 1).astype(dtype)


def outcome(call, image):
    try:
        result = call(image)
    except boxsum.Error as error:
        return error
    flat = list(result) if isinstance(result, (tuple, list)) else [result]
    if flat and isinstance(flat[0], boxsum.Match):
        flat = [(*one.box, one.distance) for one in flat]
    return [None if one is None else np.asarray(one) for one in flat]


@pytest.mark.parametrize("name", CALLS)
def test_what_it_gives_of_a_plain_copy(name):
    works = False
    for shape in [SHAPES_OF[name]] if name in SHAPES_OF else [SHAPE, (2, 5, 6), (3, 4, 9, 2)]:
        for dtype in DTYPES:
            original = plain_image(dtype, shape)
            for form, make in FORMS.items():
                image = make(original)
                values = image.values if isinstance(image, SpeaksDLPack) else image
                plain = np.array(values, dtype, order="C", subok=False)
                expected, actual = outcome(CALLS[name], plain), outcome(CALLS[name], image)
                where = f"{form}, {dtype}, {shape}"
                assert np.array_equal(np.asarray(values), plain, equal_nan=True), where
                if isinstance(expected, boxsum.Error):
                    assert type(actual) is type(expected), where
                    if shape == SHAPE:  # strides are a reason of their own
                        assert str(actual) == str(expected), where
                    continue
                if name == "HistogramTable" and isinstance(actual, boxsum.Error):
                    assert "strides" in str(actual) or "stride is" in str(actual), where
                    continue
                works = True
                assert not isinstance(actual, boxsum.Error), f"{where}: {actual}"
                for one, other in zip(actual, expected, strict=True):
                    if other is None:
                        assert one is None, where
                        continue
                    assert (one.dtype, one.shape) == (other.dtype, other.shape), where
                    # Floating sums of the transposed image have another order.
                    tolerance = 1e-5 if other.dtype == np.float32 else 1e-12
                    exact = other.dtype.kind != "f"
                    np.testing.assert_allclose(one, other, 0 if exact else tolerance, 0 if exact else 1e-9, err_msg=where)
    assert works


def test_a_result_has_one_type_whatever_the_strides():
    image = np.zeros(SHAPE, bool)
    for form in (image, image[:, ::-1], image[::2, ::2], np.asfortranarray(image)):
        assert boxsum.box_filter(form, 3).dtype == np.float64
        assert boxsum.guided_filter(form, 3).dtype == np.float64
        assert boxsum.variable_box_filter(form, np.ones(form.shape, np.uint8)).dtype == np.float64


NAMED = re.compile(r"[a-z]\w*(\[\d+\])?: ", re.DOTALL)
NO_IMAGES = {
    "object": ONES.astype(object),
    "complex": ONES * 1j,
    "time": ONES.astype("i8").astype("M8[s]"),
    "duration": ONES.astype("i8").astype("m8[s]"),
    "bytes of text": ONES.astype("S3"),
    "text": ONES.astype("U3"),
    "record": np.zeros(SHAPE, [("a", "u1"), ("b", "f4")]),
    "raw": np.zeros(SHAPE, "V4"),
    "masked": np.ma.masked_array(ONES, ONES > 0),
    "no axes": np.array(3.0),
    "twenty axes": np.ones((1,) * 20),
    "on a GPU": SpeaksDLPack(ONES, (2, 0)),
    "on a device of Vulkan": SpeaksDLPack(ONES, (7, 0)),
    "on no device that there is": SpeaksDLPack(ONES, (99, 3)),
    "None": None,
    "number": 3,
    "str": "image.png",
    "bytes": b"abcd",
    "dict": {},
    "class": np.ndarray,
    "function": len,
    "ragged": [[1], [2, 3]],
    "characters": memoryview(b"abcd").cast("c"),
    "nothing": object(),
}
TAKES = {  # what else than an image is meant
    "number": {"Table.build, offset"},
    "no axes": {"Table.build, offset", "find_blobs, sigmas"},
    "None": {name for name in CALLS if "mask" in name or "weights" in name or "guide" in name or "shadows, " in name},
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_image_is_named(name):
    for kind, thing in NO_IMAGES.items():
        if name in TAKES.get(kind, ()) or name == "find_blobs, sigmas" and kind in ("None", "number"):
            continue
        with pytest.raises(boxsum.Error) as raised:
            CALLS[name](thing)
        assert isinstance(raised.value, (ValueError, TypeError)), kind
        assert NAMED.match(str(raised.value)), (kind, str(raised.value))


@pytest.mark.parametrize("name", CALLS)
def test_images_without_pixels(name):
    for shape in ((0, 0), (0, 5), (5, 0), (0, 5, 6), (3, 0, 4)):
        for dtype in ("uint8", "float64"):
            try:
                CALLS[name](np.zeros(shape, dtype))
            except boxsum.Error as error:
                assert NAMED.match(str(error)), (shape, dtype, str(error))


# What may share memory with a result: (call, dtype of what it shares it with, dtype of the result, the error's words).
OVERLAPS = {
    "sat": (lambda x, out: boxsum.sat(x, out=out), "uint8", "uint64", "image"),
    "sat, padded": (lambda x, out: boxsum.sat(x[1:, 1:], layout="padded", out=out), "float64", "float64", "image"),
    "box_filter": (lambda x, out: boxsum.box_filter(x, 3, out=out), "uint8", "uint8", "image"),
    "box_filter, sum": (lambda x, out: boxsum.box_filter(x, 3, stat="sum", out=out), "float64", "float64", "image"),
    "box_filter, sum, mask": (
        lambda x, out: boxsum.box_filter(ONES, 3, stat="sum", mask=x, out=out), "uint8", "int64", "mask",
    ),
    "box_filter, mask": (lambda x, out: boxsum.box_filter(ONES, 3, mask=x, out=out), "uint8", "uint8", "mask"),
    "local_statistics": (
        lambda x, out: boxsum.local_statistics(x, 3, results=("std",), out=[out]), "float64", "float64", "image",
    ),
    "threshold": (lambda x, out: boxsum.threshold(x, 3, out=out), "uint8", "bool", "image"),
    "local_contrast": (lambda x, out: boxsum.local_contrast(x, 3, out=out), "float32", "float32", "image"),
    "local_contrast, double": (
        lambda x, out: boxsum.local_contrast(x, 3, dtype="float64", out=out), "float64", "float64", "image",
    ),
    "local_contrast, double, mask": (
        lambda x, out: boxsum.local_contrast(ONES, 3, mask=x, dtype="float64", out=out), "uint8", "float64", "mask",
    ),
    "variable_box_filter": (lambda x, out: boxsum.variable_box_filter(x, ONES, out=out), "uint8", "uint8", "image"),
    "radius": (lambda x, out: boxsum.variable_box_filter(ONES, x, out=out), "uint8", "uint8", "radius"),
    "variable_blur": (lambda x, out: boxsum.variable_blur(x, ONES, out=out), "uint8", "uint8", "image"),
    "convolve": (lambda x, out: boxsum.convolve(x, [[1, 2]], out=out), "float64", "float64", "image"),
    "guided_filter": (lambda x, out: boxsum.guided_filter(x, 3, out=out), "float64", "float64", "image"),
    "guide": (lambda x, out: boxsum.guided_filter(ONES, 3, guide=x, out=out), "uint8", "uint8", "guide"),
    "non_local_means": (lambda x, out: boxsum.non_local_means(x, 5, patch=3, out=out), "uint8", "uint8", "image"),
    "circles": (
        lambda x, out: boxsum.circles_of_confusion(x, focus=1, aperture=1, out=out), "uint8", "uint8", "depth",
    ),
    "box_hessian": (lambda x, out: boxsum.box_hessian(x, 2, out=out), "float64", "float64", "image"),
    "integral_histogram": (
        lambda x, out: boxsum.integral_histogram(x, 1, range=(0, 9), out=out[None]), "float32", "uint32", "image",
    ),
    "Table.window_sums": (
        lambda x, out: boxsum.Table(x, layout="inclusive").window_sums(3, out=out), "int64", "int64", "table",
    ),
    "box_sum": (
        lambda x, out: boxsum.box_sum(x, ONES[:, :4], layout="inclusive", out=out.ravel()[:12]),
        "int64", "int64", "table",
    ),
    "box_var": (
        lambda x, out: boxsum.box_var(x + 0, x, ONES[:, :4], layout="inclusive", out=out.ravel()[:12]),
        "float64", "float64", "squares",
    ),
}


@pytest.mark.parametrize("name", OVERLAPS)
@pytest.mark.parametrize("apart", [0, 8, 64])
def test_results_that_overlap_what_is_read(name, apart):
    call, dtype, of_result, words = OVERLAPS[name]
    memory = np.zeros(4096, np.uint8)
    image = memory[1024 : 1024 + 168 * np.dtype(dtype).itemsize].view(dtype).reshape(SHAPE)
    image[...] = plain_image(dtype, SHAPE)
    out = memory[1024 + apart :][: 168 * np.dtype(of_result).itemsize].view(of_result).reshape(SHAPE)
    before = memory.copy()
    with pytest.raises(boxsum.InvalidArgument, match=rf"^(out|std): overlaps? {words}"):
        call(image, out)
    np.testing.assert_array_equal(memory, before)


def test_results_in_place_and_beside_each_other():
    for dtype in ("uint64", "float64"):
        image = plain_image(dtype, SHAPE)
        expected = boxsum.sat(image)
        assert boxsum.sat(image, out=image) is image
        np.testing.assert_array_equal(image, expected)
    both = np.zeros((13, 14), np.uint64)
    with pytest.raises(boxsum.InvalidArgument, match=r"^out\[1\]: overlaps out\[0\]"):
        boxsum.sat_squares(ONES, out=(both[:12], both[1:]))
    twice = np.zeros((13, 14))
    with pytest.raises(boxsum.InvalidArgument, match="^std: overlaps mean"):
        boxsum.local_statistics(ONES, 3, out=(twice[:12], twice[1:]))
    # Where the caller names results, errors do, too.
    for name in ("mean", "var", "std", "sum"):
        with pytest.raises(boxsum.InvalidArgument, match=f"^{name}: overlaps image"):
            boxsum.local_statistics(twice, 3, results=(name,), out=[twice])
    assert not both.any() and not twice.any()


def test_results_of_any_kind():
    expected = boxsum.box_filter(ONES, 3)
    memory = np.zeros(SHAPE, np.uint8)
    for out in (memory, memory.view(Image), memoryview(memory), SpeaksDLPack(memory), misaligned(memory)):
        memory[...] = 0
        assert boxsum.box_filter(ONES, 3, out=out) is out
        np.testing.assert_array_equal(out.values if isinstance(out, SpeaksDLPack) else out, expected)
    wide = np.zeros((24, 28), np.uint8)
    wrong = {
        "is read-only": [read_only(memory), memoryview(read_only(memory)), np.broadcast_to(memory[:1], SHAPE)],
        "is not aligned, or not": [],
        "its dtype is": [memory.astype(">u2"), memory.astype("i1"), np.zeros(SHAPE, [("a", "u1")])],
        "its strides are none": [
            np.asfortranarray(memory), memory[::-1], memory[:, ::-1], wide[::2, ::2],
            as_strided(memory, SHAPE, (0, 1)), as_strided(memory, SHAPE, (7, 1)), as_strided(memory, SHAPE, (0, 0)),
        ],
        "its shape is": [bytearray(168), memory[0], np.zeros((), np.uint8), memory[None]],
        "is a masked array": [np.ma.masked_array(memory)],
        "is of type": [[[0] * 14] * 12, (memory,), 3],
    }
    for words, outs in wrong.items():
        for out in outs:
            with pytest.raises(boxsum.Error, match=f"^out: {words}"):
                boxsum.box_filter(ONES, 3, out=out)
    with pytest.raises(boxsum.Error, match="^out: is not aligned, or not of this machine's byte order"):
        boxsum.sat(ONES, out=np.zeros(SHAPE, ">u8"))


# Functions and what they are given where an argument is not the one that is wrong.
SUMS, SQUARES = boxsum.sat_squares(ONES)
TABLE = boxsum.Table.build(ONES, squares=True)
COUNTED = boxsum.Table.build(ONES, squares=True, nodata=3)
HISTOGRAMS = boxsum.integral_histogram(ONES, 4)
BOXES = [[0, 0, 2, 2]]
INCLUSIVE = {"layout": "inclusive"}
FUNCTIONS = [
    (boxsum.sat, (ONES,), {}),
    (boxsum.sat_squares, (ONES,), {}),
    (boxsum.Table.build, (ONES,), {}),
    (boxsum.Table, (SUMS,), INCLUSIVE),
    (boxsum.image_means, (ONES,), {}),
    (boxsum.box_sum, (SUMS, BOXES), INCLUSIVE),
    (boxsum.box_mean, (SUMS, BOXES), INCLUSIVE),
    (boxsum.box_var, (SUMS, SQUARES, BOXES), INCLUSIVE),
    (boxsum.sat_rows, ([ONES],), {}),
    (boxsum.box_var_bound, (SUMS, SQUARES, BOXES), INCLUSIVE),
    (TABLE.var_bound, (BOXES,), {}),
    (boxsum.largest_safe_box, ("uint8", "uint32"), {}),
    (TABLE.sum, (BOXES,), {}),
    (TABLE.mean, (BOXES,), {}),
    (TABLE.std, (BOXES,), {}),
    (TABLE.window_sums, (3,), {}),
    (TABLE.window_means, (3,), {}),
    (TABLE.window_variances, (3,), {}),
    (TABLE.__getitem__, ((slice(0, 2), slice(0, 2)),), {}),
    (COUNTED.count, (BOXES,), {}),
    (COUNTED.var, (BOXES,), {}),
    (boxsum.box_filter, (ONES, 3), {}),
    (boxsum.local_statistics, (ONES, 3), {}),
    (boxsum.threshold, (ONES, 3), {}),
    (boxsum.local_contrast, (ONES, 3), {}),
    (boxsum.local_contrast, (ONES, 3), {"dtype": "float64"}),
    (boxsum.variable_box_filter, (ONES, ONES), {}),
    (boxsum.variable_blur, (ONES, ONES), {}),
    (boxsum.convolve, (ONES, [[1, 2]]), {}),
    (boxsum.guided_filter, (ONES, 3), {}),
    (boxsum.non_local_means, (ONES, 3), {"patch": 3}),
    (boxsum.filter_rows, (boxsum.box_filter, [ONES], 3), {}),
    (boxsum.circles_of_confusion, (ONES,), {"focus": 1, "aperture": 3}),
    (boxsum.variance_shadows, (TABLE, ONES + 0.0, np.ones((*SHAPE, 4))), {}),
    (boxsum.box_hessian, (ONES, 2), {}),
    (boxsum.find_blobs, (ONES, (2, 3)), {}),
    (boxsum.integral_histogram, (ONES, 4), {}),
    (boxsum.histogram_tasks, (ONES, 4), {"cpu_workers": 1}),
    (boxsum.histogram_pipeline, ([ONES, ONES], boxsum.FrameRequest(boxes=[0, 0, 4, 5]), 4), {}),
    (boxsum.HistogramTable, (HISTOGRAMS.values,), INCLUSIVE),
    (HISTOGRAMS.region, (BOXES,), {}),
    (HISTOGRAMS.windows, (3,), {}),
    (HISTOGRAMS.search, ([1, 2, 3, 4], 3), {}),
    (boxsum.histogram_distance, ([1, 2], [3, 4]), {}),
    (boxsum.track, ([ONES, ONES], (1, 1, 4, 4)), {"search": 2}),
    (boxsum.algorithms, ("sat",), {}),
    (boxsum.memory.set_limit, (2**30,), {}),
    (boxsum.cuda.describe, (0,), {}),
]
VALUES = [
    None, "x", "", b"x", 3.5, -1, 0, 10**30, 10**400, -(2**63), float("nan"), float("inf"), True, [1, 2, 3], (1, 2), (1,), [], {},
    object(), np.int8(3), np.array(3), [[1, 2], [3]], 1j, object, "\ud800", slice(1, 2), len, (None, None), ("x", "x"),
    (3.5, 2), (1e30, 1), (-1, -1), np.ma.masked_array([1, 2]),
]  # fmt: skip
TRUTHS = {"squares", "normalize"}  # of these every value has one
WORKERS = {"function"}  # is called with what is right


@pytest.mark.parametrize(("function", "arguments", "options"), FUNCTIONS, ids=lambda one: getattr(one, "__name__", ""))
def test_values_that_are_wrong_are_named(function, arguments, options):
    limit = boxsum.memory.usage().limit_bytes
    for place, name in enumerate(inspect.signature(function).parameters):
        if name in TRUTHS | WORKERS:
            continue
        for value in VALUES:
            given, named = list(arguments), dict(options)
            if place < len(given):
                given[place] = value
            elif name != "options":
                named[name] = value
            try:
                result = function(*given, **named)
                if inspect.isgenerator(result):
                    list(result)
            except boxsum.Error as error:
                assert isinstance(error, (ValueError, TypeError, MemoryError)), (name, value)
                assert NAMED.match(str(error)), (name, value, str(error))
    boxsum.memory.set_limit(limit)
