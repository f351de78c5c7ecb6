from __future__ import annotations

import pathlib
import pickle
import sys
import types

import numpy as np
import pytest

import boxsum
from boxsum import errors

IMAGE = np.ones((4, 5), np.uint8)
PATH = pathlib.PosixPath("mask.png")

CASES = [
    (TypeError, "image: is of type list, which is no array; numpy.asarray", lambda: boxsum.sat([[1, 2]])),
    (TypeError, r"image: is of type NoneType, which is no array; cv2.imread\(\)", lambda: boxsum.sat(None)),
    (TypeError, "image: is of type str, which is no array; what reads files", lambda: boxsum.sat("photo.png")),
    (TypeError, "mask: is of type PosixPath.*; what reads files", lambda: boxsum.box_filter(IMAGE, 3, mask=PATH)),
    (TypeError, "its dtype is float128, must be .* of at most 64 bits", lambda: boxsum.sat(IMAGE.astype(np.longdouble))),
    (TypeError, r"its dtype is int64, filters take .*; image.astype\(\)", lambda: boxsum.box_filter(IMAGE.astype(int), 3)),
    (TypeError, "image: is a masked array", lambda: boxsum.sat(np.ma.masked_array(IMAGE))),
    (TypeError, "image: its dtype is complex128, must be bool", lambda: boxsum.sat(IMAGE.astype(complex))),
    (TypeError, "image: its dtype is object", lambda: boxsum.sat(IMAGE.astype(object))),
    (TypeError, "image: its dtype is datetime64", lambda: boxsum.sat(IMAGE.astype("M8[s]"))),
    (
        ValueError,
        r"image: its shape is \(5,\), must have rows and columns; numpy.atleast_2d\(\)",
        lambda: boxsum.sat(IMAGE[0]),
    ),
    (
        ValueError,
        r"image: its shape is \(4, 5\), must have rows and columns beside channels",
        lambda: boxsum.sat(IMAGE, channel_axis=0),
    ),
    (ValueError, "image: has 20 axes", lambda: boxsum.sat(np.ones((1,) * 20))),
    (
        ValueError,
        "layout: is 'paded', must be one of 'inclusive', 'exclusive', 'padded'",
        lambda: boxsum.sat(IMAGE, layout="paded"),
    ),
    (TypeError, "layout: is 3, must be a str", lambda: boxsum.sat(IMAGE, layout=3)),
    (TypeError, "dtype: uint8 images have no tables of uint16", lambda: boxsum.sat(IMAGE, dtype=np.uint16)),
    (
        TypeError,
        "dtype: float32 images have no tables of int64, but of float32, float64",
        lambda: boxsum.sat(IMAGE.astype("f4"), dtype=int),
    ),
    (TypeError, "dtype: data type 'sixty-four' not understood", lambda: boxsum.sat(IMAGE, dtype="sixty-four")),
    (ValueError, "channel_axis: is -3, but the image has 2 axes", lambda: boxsum.sat(IMAGE, channel_axis=-3)),
    (TypeError, "channel_axis: is 'last', must be an integer", lambda: boxsum.sat(IMAGE, channel_axis="last")),
    (
        ValueError,
        r"out: its shape is \(4, 5\), must be \(5, 6\)",
        lambda: boxsum.sat(IMAGE, layout="padded", out=np.zeros((4, 5), np.uint64)),
    ),
    (TypeError, "out: its dtype is float64, must be uint64", lambda: boxsum.sat(IMAGE, out=np.zeros((4, 5)))),
    (TypeError, "out: is of type list", lambda: boxsum.sat(IMAGE, out=[])),
    (ValueError, "out: its strides", lambda: boxsum.sat(IMAGE, out=np.zeros((4, 10), np.uint64)[:, ::2])),
    (ValueError, "out: is not aligned", lambda: boxsum.sat(IMAGE, out=np.zeros((4, 5), ">u8"))),
    (
        ValueError,
        r"out\[1\]: its shape",
        lambda: boxsum.sat_squares(IMAGE, out=(np.zeros((4, 5), np.uint64), np.zeros((4, 4), np.uint64))),
    ),
    (ValueError, "threads: is -2, must be 0", lambda: boxsum.sat(IMAGE, threads=-2)),
    (
        ValueError,
        "threads: is 100000000000000000000, which 64 bits do not hold",
        lambda: boxsum.sat(IMAGE, threads=10**20),
    ),
    (TypeError, "algorithm", lambda: boxsum.sat(IMAGE, algorithm="fastest")),
    (
        TypeError,
        "dtype: int32 images have no tables of int64 and int64 for squares",
        lambda: boxsum.sat_squares(IMAGE.astype("i4")),
    ),
    (ValueError, "operation: is 'sum', must be one of", lambda: boxsum.algorithms("sum")),
    (ValueError, "algorithm: there is none of the name 'none'", lambda: boxsum.verify("sat", "none")),
    (ValueError, "threads: is -1", lambda: boxsum.set_num_threads(-1)),
    (ValueError, "bytes: is -1", lambda: boxsum.memory.set_limit(-1)),
    (TypeError, "device", lambda: boxsum.cuda.describe(99)),
    (
        ValueError,
        r"window: is \[3:3, 1:4\], which has no pixels",
        lambda: boxsum.Table.build(IMAGE)[3:3, 1:4],
    ),
    (
        ValueError,
        r"window: is \[0:4, 4:2\], which has no pixels",
        lambda: boxsum.Table.build(IMAGE)[:, 4:2],
    ),
    (
        TypeError,
        "radius: its dtype is float64, must be an integer",
        lambda: boxsum.variable_box_filter(IMAGE, np.ones((4, 5))),
    ),
    (
        TypeError,
        "radius: its dtype is bool, must be an integer",
        lambda: boxsum.variable_box_filter(IMAGE, np.ones((4, 5), bool)),
    ),
    (ValueError, r"range: is \[5, 5\), its lower end", lambda: boxsum.integral_histogram(IMAGE, 8, range=(5, 5))),
    (ValueError, "r: is -1", lambda: boxsum.threshold(IMAGE, 3, r=-1)),
    (
        ValueError,
        r"guide: its shape is \(4, 5, 3\), that of the image \(4, 5\); guide_channel_axis=-1",
        lambda: boxsum.guided_filter(IMAGE, 3, guide=np.zeros((4, 5, 3), np.uint8)),
    ),
]


@pytest.mark.parametrize(("kind", "words", "call"), CASES, ids=lambda value: value if isinstance(value, str) else "")
def test_argument_and_value_are_named(kind, words, call):
    with pytest.raises(kind, match=words) as raised:
        call()
    assert isinstance(raised.value, boxsum.Error)


def test_memory_that_is_not_there():
    huge = np.broadcast_to(np.uint8(1), (2**24, 2**24))
    with pytest.raises(MemoryError) as raised:
        boxsum.sat(huge)
    assert isinstance(raised.value, (boxsum.OutOfMemory, MemoryError))
    boxsum.sat(IMAGE)


def test_classes():
    for kind, base in (
        ("InvalidArgument", ValueError),
        ("Unsupported", TypeError),
        ("OutOfMemory", MemoryError),
        ("CudaError", RuntimeError),
    ):
        assert issubclass(getattr(errors, kind), (errors.Error, base))
        assert getattr(boxsum, kind) is getattr(errors, kind)
    error = pickle.loads(pickle.dumps(errors.InvalidArgument("size: is 0")))
    assert str(error) == "size: is 0"


def test_an_array_on_a_gpu_needs_a_build_with_cuda(monkeypatch):
    if boxsum.cuda.built():
        pytest.skip("this build has CUDA")
    stream = types.SimpleNamespace(ptr=0)
    kind = type("ndarray", (), {"__module__": "cupy"})
    library = types.SimpleNamespace(ndarray=kind, cuda=types.SimpleNamespace(get_current_stream=lambda device: stream))
    monkeypatch.setitem(sys.modules, "cupy", library)
    array = kind()
    array.data = types.SimpleNamespace(ptr=4096, device_id=0)
    array.shape, array.strides, array.dtype = (4, 5), (5, 1), np.dtype(np.uint8)
    with pytest.raises(boxsum.Unsupported, match="image: is in the memory of a GPU, but boxsum was built without CUDA; with"):
        boxsum.sat(array)


def test_what_a_beginner_passes_is_told_in_words_of_arrays():
    colours = np.zeros((48, 64, 3), np.uint8)
    with pytest.raises(boxsum.Unsupported, match=r"image: its shape is \(48, 64, 3\), must be \(rows, cols\)"):
        boxsum.find_blobs(colours)
    with pytest.raises(boxsum.Unsupported, match=r"radius: is 3, must be an array, one for each pixel; box_filter\(\)"):
        boxsum.variable_box_filter(IMAGE, 3)
    with pytest.raises(boxsum.InvalidArgument, match=r"boxes: their shape is \(3,\), the last extent must be 4"):
        boxsum.Table.build(IMAGE).sum([1, 2, 3])
