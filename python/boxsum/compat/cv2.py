"""`cv2` with `integral`, `integral2`, `blur`, `boxFilter` and `sqrBoxFilter` by boxsum.

``import boxsum.compat.cv2 as cv2`` has everything else of OpenCV's, too. Integer results are OpenCV's own, to the last;
floating ones agree within rounding. A `dst` that fits is written to, another one is left alone, as OpenCV does.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from boxsum._filters import box_filter
from boxsum._tables import sat, sat_squares
from boxsum._types import Border
from boxsum.compat._drop_in import NotCovered, drop_in, rest_of

__getattr__, __dir__ = rest_of("cv2")

_cv2: Any = importlib.import_module("cv2")
_BORDERS: dict[int, Border] = {
    _cv2.BORDER_CONSTANT: "constant",
    _cv2.BORDER_REPLICATE: "replicate",
    _cv2.BORDER_REFLECT: "reflect",
    _cv2.BORDER_REFLECT_101: "mirror",
}
_INT32, _FLOAT32, _FLOAT64 = (np.dtype(kind) for kind in (np.int32, np.float32, np.float64))
_DEPTHS: dict[int, Any] = {_cv2.CV_32S: _INT32, _cv2.CV_32F: _FLOAT32, _cv2.CV_64F: _FLOAT64}

# Types by their letters: NumPy makes the name of one at every look, which takes longer than a small table.
_TYPES = "BHhfd"
"""uint8, uint16, int16, float32 and float64"""


def _image(src: Any, types: str = _TYPES) -> tuple[Any, int | None]:
    """The image, and its axis of channels."""
    if type(src) is not np.ndarray:
        raise NotCovered(f"an image of type {type(src).__name__}")
    axes = src.ndim
    if axes not in (2, 3) or src.size == 0 or (axes == 3 and src.shape[2] == 1):
        raise NotCovered(f"an image of shape {src.shape}")
    if src.dtype.char not in types:
        raise NotCovered(f"images of {src.dtype}")
    return src, None if axes == 2 else -1


def _fitting(dst: Any, shape: tuple[int, ...], kind: Any) -> Any:
    """`dst` where a result can be written to it, else None."""
    if dst is None or type(dst) is not np.ndarray:
        if dst is not None:
            raise NotCovered(f"a result of type {type(dst).__name__}")
        return None
    return dst if dst.shape == shape and dst.dtype == kind and dst.flags.c_contiguous and dst.flags.writeable else None


_SUMS = {("B", depth): kind for depth, kind in _DEPTHS.items()}
_SUMS |= {(letter, _cv2.CV_64F): _FLOAT64 for letter in "Hhfd"}
_SUMS |= {(letter, -1): _INT32 if letter == "B" else _FLOAT64 for letter in _TYPES}


def _sums_type(image: Any, sdepth: int) -> Any:
    kind = _SUMS.get((image.dtype.char, max(sdepth, -1)))
    if kind is None:
        raise NotCovered(f"a table of depth {sdepth} of {image.dtype}")
    if kind is _FLOAT32 and 255 * image.shape[0] * image.shape[1] > 2**24:
        raise NotCovered("a float32 table that is not exact")
    return kind


def _table_shape(image: Any) -> tuple[int, ...]:
    return (image.shape[0] + 1, image.shape[1] + 1, *image.shape[2:])


@drop_in("cv2:integral")
def integral(src: Any, sum: Any = None, sdepth: int = -1) -> Any:
    """Images of uint8, uint16, int16, float32 and float64."""
    image, channels = _image(src)
    kind = _sums_type(image, sdepth)
    out = None if sum is None else _fitting(sum, _table_shape(image), kind)
    return sat(image, layout="padded", dtype=kind, channel_axis=channels, out=out)


@drop_in("cv2:integral2")
def integral2(src: Any, sum: Any = None, sqsum: Any = None, sdepth: int = -1, sqdepth: int = -1) -> Any:
    """Images of uint8, uint16, int16, float32 and float64, with squares in float64."""
    image, channels = _image(src)
    kind = _sums_type(image, sdepth)
    if sqdepth not in (-1, _cv2.CV_64F):
        raise NotCovered(f"squares of depth {sqdepth}")
    shape = _table_shape(image)
    outs = (_fitting(sum, shape, kind), _fitting(sqsum, shape, _FLOAT64))
    return sat_squares(
        image, layout="padded", dtype=kind, squares_dtype=_FLOAT64, channel_axis=channels, out=outs
    )


def _window(ksize: Any, anchor: Any) -> tuple[tuple[int, int], tuple[int, int]]:
    """Size and origin, rows first."""
    width, height = ksize
    x, y = anchor
    if width < 1 or height < 1:
        raise NotCovered(f"a window of {ksize}")
    return (height, width), (0 if y == -1 else y - height // 2, 0 if x == -1 else x - width // 2)


def _border(kind: int) -> Border:
    kind &= ~_cv2.BORDER_ISOLATED
    if kind not in _BORDERS:
        raise NotCovered(f"a border of type {kind}")
    return _BORDERS[kind]


def _means(src: Any, ksize: Any, dst: Any, anchor: Any, normalize: bool, border: int, depth: int) -> Any:
    image, channels = _image(src)
    size, origin = _window(ksize, anchor)
    if 1 in image.shape[:2]:
        raise NotCovered("an image of one row or column, over which OpenCV's windows shrink")
    kind = image.dtype if depth < 0 else _DEPTHS.get(depth)
    if kind is None or (kind == _INT32 and normalize):
        raise NotCovered(f"results of depth {depth}")
    if not normalize and kind.itemsize < 4:
        raise NotCovered(f"sums in {kind}")
    if normalize and kind.kind in "iu" and size[0] * size[1] % 2 == 0:
        raise NotCovered("means that may lie halfway between two integers")
    if not normalize and kind == _INT32 and image.dtype.char != "B":
        raise NotCovered(f"sums of {image.dtype} in int32")
    out = _fitting(dst, image.shape, kind)
    return box_filter(
        image,
        size,
        stat="mean" if normalize else "sum",
        border=_border(border),
        origin=origin,
        dtype=kind,
        channel_axis=channels,
        out=out,
    )


@drop_in("cv2:blur")
def blur(src: Any, ksize: Any, dst: Any = None, anchor: Any = (-1, -1), borderType: int = _cv2.BORDER_DEFAULT) -> Any:
    """Images of uint8, uint16, int16, float32 and float64; of integers, windows with an odd number of pixels."""
    return _means(src, ksize, dst, anchor, True, borderType, -1)


@drop_in("cv2:boxFilter")
def boxFilter(
    src: Any,
    ddepth: int,
    ksize: Any,
    dst: Any = None,
    anchor: Any = (-1, -1),
    normalize: bool = True,
    borderType: int = _cv2.BORDER_DEFAULT,
) -> Any:
    """As `blur`; sums (``normalize=False``) in 32 or 64 bits."""
    return _means(src, ksize, dst, anchor, normalize, borderType, ddepth)


@drop_in("cv2:sqrBoxFilter")
def sqrBoxFilter(
    src: Any,
    ddepth: int,
    ksize: Any,
    dst: Any = None,
    anchor: Any = (-1, -1),
    normalize: bool = True,
    borderType: int = _cv2.BORDER_DEFAULT,
) -> Any:
    """Images of uint8, float32 and float64, in float32 or float64."""
    image, _ = _image(src, "Bfd")
    depth = ddepth if ddepth >= 0 else _cv2.CV_32F if image.dtype.char == "B" else _cv2.CV_64F
    if depth not in (_cv2.CV_32F, _cv2.CV_64F):
        raise NotCovered(f"results of depth {depth}")
    squares = np.square(image, dtype=np.uint16 if image.dtype.char == "B" else np.float64)
    return _means(squares, ksize, dst, anchor, normalize, borderType, depth)
