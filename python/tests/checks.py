"""Checks of whole results that both the tests and the search for wrong bindings make. Each raises AssertionError."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import reference

import boxsum


def check_tables():
    for layout in reference.LAYOUTS:
        for dtype in (np.uint8, np.int16, np.float32):
            image = reference.random_image((2, 5, 7), dtype, 1)
            expected = reference.table(image, layout, reference.default_dtype(dtype))
            reference.assert_tables_equal(boxsum.sat(image, layout=layout), expected, image)
            reference.assert_tables_equal(boxsum.Table.build(image, layout=layout).values, expected, image)
            turned = np.asfortranarray(image[0])
            reference.assert_tables_equal(boxsum.sat(turned, layout=layout), expected[0], image[0])


def check_squares():
    for layout in reference.LAYOUTS:
        image = reference.random_image((5, 7), np.uint8, 2)
        sums, squares = boxsum.sat_squares(image, layout=layout)
        reference.assert_tables_equal(sums, reference.table(image, layout, np.uint64), image)
        squared = image.astype(object) ** 2
        reference.assert_tables_equal(squares, reference.table(squared, layout, np.uint64), image)


BOXES = np.array([[0, 0, 1, 1], [1, 2, 3, 4], [0, 1, 4, 3], [2, 0, 2, 5], [3, 4, 1, 2]])


def in_format(boxes, format):
    row, col, rows, cols = np.moveaxis(np.asarray(boxes), -1, 0)
    orders = {
        "rchw": (row, col, rows, cols),
        "yxyx": (row, col, row + rows, col + cols),
        "xyxy": (col, row, col + cols, row + rows),
        "xywh": (col, row, cols, rows),
    }
    return np.stack(orders[format], axis=-1)


def check_boxes():
    image = reference.random_image((5, 7), np.uint8, 3)
    parts = [image[r : r + h, c : c + w].ravel().tolist() for r, c, h, w in BOXES.tolist()]
    for layout in ("inclusive", "padded"):
        table = boxsum.Table.build(image, layout=layout, squares=True)
        for format in ("rchw", "yxyx", "xyxy", "xywh"):
            boxes = in_format(BOXES, format)
            assert table.sum(boxes, format=format).tolist() == [sum(part) for part in parts]
            means = [float(reference.mean(part)) for part in parts]
            np.testing.assert_allclose(table.mean(boxes, format=format), means, rtol=1e-15)
            variances = [float(reference.variance(part)) for part in parts]
            np.testing.assert_allclose(table.var(boxes, format=format), variances, rtol=1e-14)
        for (r, c, h, w), part in zip(BOXES.tolist(), parts, strict=True):
            assert table[r : r + h, c : c + w] == sum(part)


def fractional_sum(image, top, left, bottom, right):
    """The integral, in exact arithmetic."""
    total = Fraction(0)
    for r in range(image.shape[0]):
        for c in range(image.shape[1]):
            height = min(Fraction(bottom), r + 1) - max(Fraction(top), r)
            width = min(Fraction(right), c + 1) - max(Fraction(left), c)
            if height > 0 and width > 0:
                total += height * width * Fraction(image[r, c].item())
    return total


def check_fractional_boxes():
    image = reference.random_image((5, 7), np.uint8, 4)
    edges = [(0.25, 0.5, 0.75, 0.875), (0, 0, 5, 7), (0.5, 1, 3.25, 6.5), (1.125, 2.25, 4, 3), (4.5, 6.5, 5, 7)]
    expected = [float(fractional_sum(image, *one)) for one in edges]
    areas = [(bottom - top) * (right - left) for top, left, bottom, right in edges]
    for layout in ("inclusive", "padded"):
        table = boxsum.Table.build(image, layout=layout)
        np.testing.assert_allclose(table.sum(edges, format="yxyx"), expected, rtol=1e-14)
        np.testing.assert_allclose(table.mean(edges, format="yxyx"), np.divide(expected, areas), rtol=1e-14)
        turned = [(left, top, right - left, bottom - top) for top, left, bottom, right in edges]
        np.testing.assert_allclose(table.sum(turned, format="xywh"), expected, rtol=1e-14)


def check_filters():
    image = reference.random_image((6, 9), np.uint8, 5)
    for border in ("shrink", "reflect", "replicate", "constant", "mirror", "wrap"):
        for size, origin in (((3, 5), (0, 0)), ((4, 2), (1, 0)), ((1, 3), (0, -1))):
            lists = reference.windows(image, size, border, 7, origin)
            means = reference.each(lists, lambda pixels: reference.half_up(reference.mean(pixels)), np.uint8)
            for given in (image, np.asfortranarray(image)):
                result = boxsum.box_filter(given, size, border=border, cval=7, origin=origin)
                np.testing.assert_array_equal(result, means)
            sums = boxsum.box_filter(image, size, stat="sum", border=border, cval=7, origin=origin)
            np.testing.assert_array_equal(sums, reference.each(lists, sum, np.int64))
            mean, var = boxsum.local_statistics(
                image, size, results=("mean", "var"), border=border, cval=7, origin=origin
            )
            np.testing.assert_allclose(mean, reference.each(lists, reference.mean, float), rtol=1e-15)
            np.testing.assert_allclose(var, reference.each(lists, reference.variance, float), rtol=1e-14, atol=0)


def check_histograms():
    image = reference.random_image((5, 7), np.uint8, 6)
    for layout in ("inclusive", "padded"):
        histograms = boxsum.integral_histogram(image, 4, layout=layout)
        planes = [reference.table((image // 64 == b).astype(np.uint8), layout, np.uint32) for b in range(4)]
        np.testing.assert_array_equal(histograms.values, np.stack(planes))
        counts = [
            np.bincount(image[r : r + h, c : c + w].ravel() // 64, minlength=4).tolist()
            for r, c, h, w in BOXES.tolist()
        ]
        for format in ("rchw", "yxyx", "xyxy", "xywh"):
            assert histograms.region(in_format(BOXES, format), format=format).tolist() == counts


def check_convolution():
    image = reference.random_image((6, 9), np.uint8, 7).astype(float)
    kernel = np.arange(15).reshape(3, 5)
    lists = reference.windows(image, (3, 5), "replicate")
    expected = reference.each(lists, lambda pixels: np.dot(kernel[::-1, ::-1].ravel(), pixels), float)
    np.testing.assert_allclose(boxsum.convolve(image, kernel, border="replicate"), expected, rtol=1e-13)


def check_windows_of_tables():
    image = reference.random_image((6, 9), np.uint8, 8)
    table = boxsum.Table.build(image)
    expected = reference.each(reference.windows(image, (3, 5), "shrink", 0, (1, 0)), sum, np.uint64)
    np.testing.assert_array_equal(table.window_sums((3, 5), origin=(1, 0)), expected)


def check_parts():
    image = reference.random_image((6, 9), np.uint8, 9)
    whole = reference.table(image, "padded", np.uint64)
    table = boxsum.sat(image[2:5, 3:6], above=whole[2, 3:7], left=whole[3:6, 3])
    np.testing.assert_array_equal(table, whole[3:6, 4:7])


ALL = (
    check_tables,
    check_parts,
    check_squares,
    check_boxes,
    check_fractional_boxes,
    check_filters,
    check_convolution,
    check_windows_of_tables,
    check_histograms,
)
