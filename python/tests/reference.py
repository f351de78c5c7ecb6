"""What results are, computed by NumPy in Python's integers, Fractions and wide floats, from the definition."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np

LAYOUTS = ("inclusive", "exclusive", "padded")


def table(image, layout, dtype):
    """The table over the last two axes, with wrapping integers or correctly rounded floats."""
    image = np.asarray(image)
    *batch, rows, cols = image.shape
    result = np.zeros((*batch, rows + 1, cols + 1), dtype)
    for index in np.ndindex(*batch):
        plane = image[index]
        if np.dtype(dtype).kind == "f" and plane.dtype.kind == "f":
            for r, c in product(range(rows), range(cols)):
                result[(*index, r + 1, c + 1)] = math.fsum(plane[: r + 1, : c + 1].ravel().tolist())
        else:
            sums = plane.astype(object).cumsum(0).cumsum(1)
            bits = np.dtype(dtype).itemsize * 8
            if np.dtype(dtype).kind in "iu":
                sums = sums & ((1 << bits) - 1)  # Python's integers, so this is modulo 2^bits
                sums = sums.astype(f"u{bits // 8}").view(dtype)
            result[(*index, slice(1, None), slice(1, None))] = sums
    if layout == "padded":
        return result
    return result[..., 1:, 1:] if layout == "inclusive" else result[..., :-1, :-1]


def default_dtype(dtype):
    return {"b": np.uint64, "u": np.uint64, "i": np.int64, "f": np.float64}[np.dtype(dtype).kind]


def assert_tables_equal(actual, expected, image):
    """Whole arrays: integers exactly, floats within the bound of docs/concepts.md."""
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    if actual.dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected)
        return
    rows, cols = image.shape[-2:]
    unit = np.finfo(actual.dtype).eps / 2
    largest = float(np.abs(image.astype(np.float64)).sum()) if image.size else 0
    np.testing.assert_allclose(actual, expected, rtol=0, atol=2 * (rows + cols + 2) * unit * largest)


BORDER_OF_PAD = {
    "reflect": "symmetric",
    "replicate": "edge",
    "constant": "constant",
    "mirror": "reflect",
    "wrap": "wrap",
}


def windows(image, size, border, cval=0, origin=(0, 0)):
    """For each pixel of a 2-D image the list of the pixels of its window."""
    rows, cols = size
    above, left = rows // 2 + origin[0], cols // 2 + origin[1]
    below, right = rows - 1 - above, cols - 1 - left
    if border == "shrink":
        height, width = image.shape
        return [
            [
                image[max(r - above, 0) : r + below + 1, max(c - left, 0) : c + right + 1].ravel().tolist()
                for c in range(width)
            ]
            for r in range(height)
        ]
    more = {"constant_values": cval} if border == "constant" else {}
    padded = np.pad(image, ((above, below), (left, right)), mode=BORDER_OF_PAD[border], **more)
    view = np.lib.stride_tricks.sliding_window_view(padded, (rows, cols))
    return [[view[r, c].ravel().tolist() for c in range(view.shape[1])] for r in range(view.shape[0])]


def each(lists, function, dtype):
    return np.array([[function(pixels) for pixels in row] for row in lists], dtype)


def mean(pixels):
    return Fraction(sum(map(Fraction, pixels)), len(pixels))


def variance(pixels):
    middle = mean(pixels)
    return sum((Fraction(pixel) - middle) ** 2 for pixel in pixels) / len(pixels)


def half_up(number):
    return math.floor(number + Fraction(1, 2))


def random_image(shape, dtype, seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return rng.integers(limits.min, limits.max, shape, dtype=dtype, endpoint=True)
    return rng.uniform(-1, 1, shape).astype(dtype)
