"""Blur by a depth map and soft shadows, beside their definitions."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import reference

import boxsum


def weights(radius, order):
    """The box of 2 * radius + 1 pixels, convolved with itself."""
    box = [1] * (2 * radius + 1)
    result = box
    for _ in range(order - 1):
        result = np.convolve(result, box).tolist()
    return result


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_variable_blur(order, dtype):
    image = reference.random_image((2, 6, 9, 3), dtype)
    radius = np.random.default_rng(4).integers(0, 4, (6, 9))
    exact = np.empty(image.shape, object)
    for b, r, c, k in np.ndindex(image.shape):
        reach = order * int(radius[r, c])
        total, weight = 0, 0
        for i, down in enumerate(weights(int(radius[r, c]), order)):
            for j, right in enumerate(weights(int(radius[r, c]), order)):
                y, x = r - reach + i, c - reach + j
                if 0 <= y < 6 and 0 <= x < 9:
                    total += down * right * int(image[b, y, x, k])
                    weight += down * right
        exact[b, r, c, k] = Fraction(total, weight)
    rounded = np.array([reference.half_up(one) for one in exact.ravel()], dtype).reshape(image.shape)
    for given in (image, np.asfortranarray(image)):
        result = boxsum.variable_blur(given, radius, order=order, channel_axis=-1)
        np.testing.assert_array_equal(result, rounded)
        assert result.dtype == dtype
    real = boxsum.variable_blur(image, radius.astype(np.uint8), order=order, channel_axis=-1, dtype="float64")
    np.testing.assert_allclose(real, exact.astype(float), rtol=1e-14)
    out = np.full_like(image, 77)
    assert boxsum.variable_blur(image, radius, order=order, rounding="floor", channel_axis=-1, out=out) is out
    np.testing.assert_array_equal(out, exact // 1)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32", "float64"])
def test_circles_of_confusion(dtype):
    depth = np.abs(reference.random_image((2, 7, 9), dtype)) * np.dtype(dtype).type(3)
    depth[0, 0, 0] = 0
    for radii in ("uint8", "uint16", "uint32"):
        result = boxsum.circles_of_confusion(depth, focus=1.5, aperture=9.25, largest_radius=40, dtype=radii)
        wide = depth.astype(np.float64)
        with np.errstate(divide="ignore"):
            exact = np.where(wide > 0, np.minimum(np.floor(9.25 * np.abs(wide - 1.5) / wide + 0.5), 40), 40)
        assert result.dtype == radii
        np.testing.assert_array_equal(result, exact)
    if dtype.startswith("float"):
        depth[1, 2, 3] = np.nan
        assert boxsum.circles_of_confusion(depth, focus=1.5, aperture=9.25)[1, 2, 3] == 0


def covered(first, extent, pixels):
    """How much of each pixel an interval covers."""
    at = np.arange(pixels)
    return np.clip(np.minimum(at + 1, first + extent) - np.maximum(at, first), 0, None)


@pytest.mark.parametrize("form", [{}, {"layout": "inclusive"}, {"offset": 2.5, "origin": (3, 4)}])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_variance_shadows(form, dtype):
    rng = np.random.default_rng(5)
    depths = np.round(rng.uniform(1, 5, (8, 9)) * 16) / 16
    receiver = np.round(rng.uniform(2, 6, (5, 6)) * 16) / 16
    corner = rng.uniform(-2, 8, (5, 6, 2))
    rectangle = np.round(np.concatenate([corner, rng.uniform(0.2, 5, (5, 6, 2))], -1) * 64) / 64
    expected = np.ones((5, 6))
    for r, c in np.ndindex(5, 6):
        top, left, rows, cols = rectangle[r, c]
        shares = covered(top, rows, 8)[:, None] * covered(left, cols, 9)
        if shares.sum() > 0:
            mean = (shares * depths).sum() / shares.sum()
            variance = max((shares * depths**2).sum() / shares.sum() - mean**2, 0.01)
            behind = receiver[r, c] - mean
            light = 1.0 if behind <= 0 else variance / (variance + behind**2)
            expected[r, c] = max(light - 0.2, 0) / 0.8
    assert (expected == 1).any() and (expected == 0).any() and ((expected > 0) & (expected < 1)).any()
    for order in ("C", "F"):
        table = boxsum.Table.build(np.asarray(depths, order=order), squares=True, **form)
        result = boxsum.variance_shadows(
            table, receiver.astype(dtype), rectangle.astype(dtype), min_variance=0.01, bleeding=0.2
        )
        assert result.dtype == dtype
        np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5 if dtype == "float32" else 1e-12)


TABLE = boxsum.Table.build(np.ones((4, 5)), squares=True)
RECEIVER, RECTANGLE = np.ones((2, 3)), np.ones((2, 3, 4))


@pytest.mark.parametrize(
    ("kind", "words", "call"),
    [
        (
            ValueError,
            "order: is 4, must be 1 to 3",
            lambda: boxsum.variable_blur(np.ones((2, 2), "u1"), np.ones((2, 2), int), order=4),
        ),
        (
            TypeError,
            "image: type is float64, must be uint8 or uint16",
            lambda: boxsum.variable_blur(np.ones((2, 2)), np.ones((2, 2), int)),
        ),
        (
            ValueError,
            "radius: has -1",
            lambda: boxsum.variable_blur(np.ones((2, 2), "u1"), np.full((2, 2), -1)),
        ),
        (ValueError, "focus: is 0", lambda: boxsum.circles_of_confusion(RECEIVER, focus=0, aperture=1)),
        (
            TypeError,
            "dtype: is int8, must be uint8, uint16 or uint32",
            lambda: boxsum.circles_of_confusion(RECEIVER, focus=1, aperture=1, dtype="int8"),
        ),
        (
            TypeError,
            "depth: its dtype is int32, must be",
            lambda: boxsum.circles_of_confusion(np.ones((2, 2), "i4"), focus=1, aperture=1),
        ),
        (
            ValueError,
            "squares: this table has none",
            lambda: boxsum.variance_shadows(boxsum.Table.build(RECEIVER), RECEIVER, RECTANGLE),
        ),
        (
            ValueError,
            r"rectangle: its shape is 2 x 4 x 4|rectangle: its shape is \(2, 4, 4\)",
            lambda: boxsum.variance_shadows(TABLE, RECEIVER, np.ones((2, 4, 4))),
        ),
        (
            TypeError,
            "receiver: its dtype is uint8, must be float32 or float64",
            lambda: boxsum.variance_shadows(TABLE, RECEIVER.astype("u1"), RECTANGLE),
        ),
        (
            ValueError,
            "bleeding: is 1",
            lambda: boxsum.variance_shadows(TABLE, RECEIVER, RECTANGLE, bleeding=1),
        ),
    ],
)
def test_errors(kind, words, call):
    with pytest.raises(kind, match=words):
        call()
