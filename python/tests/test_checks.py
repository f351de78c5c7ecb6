"""The checks hold, and would not hold for bindings that are wrong."""

from __future__ import annotations

import checks
import pytest

from boxsum import _core

LAYOUT_OF = {"inclusive": "exclusive", "exclusive": "inclusive", "padded": "padded"}


def swapped_layout(right):
    return lambda image, layout, *rest: right(image, LAYOUT_OF[layout], *rest)


def transposed(right):
    return lambda image, *rest: right(image.swapaxes(-1, -2), *rest)


def transposed_result(right):
    def wrong(*arguments):
        result = right(*arguments)
        return result.swapaxes(-1, -2) if result.shape[-1] == result.shape[-2] else result[..., ::-1]

    return wrong


def swapped_results(right):
    return lambda *arguments: right(*arguments)[::-1]


def first_format(right):
    return lambda stat, table, squares, boxes, layout, format, *rest: right(
        stat, table, squares, boxes, layout, "rchw", *rest
    )


def other_box_format(right):
    others = {"rchw": "xywh", "xywh": "rchw", "yxyx": "xyxy", "xyxy": "yxyx"}
    return lambda stat, table, squares, boxes, layout, format, *rest: right(
        stat, table, squares, boxes, layout, others[format], *rest
    )


def means_for_sums(right):
    return lambda stat, *rest: right("mean" if stat == "sum" else stat, *rest)


def rounded_boxes(right):
    def wrong(stat, table, squares, boxes, *rest):
        import numpy as np

        return right(stat, table, squares, np.asarray(boxes).round(), *rest)

    return wrong


def other_border(right):
    return lambda image, size, stat, border, *rest: right(
        image, size, stat, "mirror" if border == "reflect" else border, *rest
    )


def sums_for_means(right):
    return lambda image, size, stat, *rest: right(image, size, "sum", *rest)


def transposed_size(right):
    return lambda image, size, *rest: right(image, size[::-1], *rest)


def negated_origin(right):
    return lambda image, size, stat, border, cval, origin, *rest: right(
        image, size, stat, border, cval, tuple(-one for one in origin), *rest
    )


def other_direction(right):
    return lambda image, kernel, direction, *rest: right(image, kernel, "correlation", *rest)


def transposed_window(right):
    return lambda stat, table, squares, size, *rest: right(stat, table, squares, size[::-1], *rest)


def no_origin(right):
    return lambda stat, table, squares, size, origin, *rest: right(stat, table, squares, size, 0, *rest)


def sides_exchanged(right):
    return lambda *arguments: right(*arguments[:-1], arguments[-1][::-1])


def nothing_around(right):
    return lambda *arguments: right(*arguments[:-1], None)


WRONG = [
    ("sat", sides_exchanged, checks.check_parts),
    ("sat", nothing_around, checks.check_parts),
    ("convolve", other_direction, checks.check_convolution),
    ("window_query", means_for_sums, checks.check_windows_of_tables),
    ("window_query", transposed_window, checks.check_windows_of_tables),
    ("window_query", no_origin, checks.check_windows_of_tables),
    ("sat", swapped_layout, checks.check_tables),
    ("sat", transposed, checks.check_tables),
    ("sat", transposed_result, checks.check_tables),
    ("sat_squares", swapped_layout, checks.check_squares),
    ("sat_squares", swapped_results, checks.check_squares),
    ("box_query", first_format, checks.check_boxes),
    ("box_query", other_box_format, checks.check_boxes),
    ("box_query", means_for_sums, checks.check_boxes),
    ("box_query", rounded_boxes, checks.check_fractional_boxes),
    ("box_filter", other_border, checks.check_filters),
    ("box_filter", sums_for_means, checks.check_filters),
    ("box_filter", transposed_size, checks.check_filters),
    ("box_filter", negated_origin, checks.check_filters),
    ("local_statistics", swapped_results, checks.check_filters),
    ("integral_histogram", transposed_result, checks.check_histograms),
]


@pytest.mark.parametrize("check", checks.ALL, ids=lambda check: check.__name__)
def test_holds(check):
    check()


@pytest.mark.parametrize(("name", "wrong", "check"), WRONG, ids=lambda value: getattr(value, "__name__", value))
def test_rejects(name, wrong, check, monkeypatch):
    monkeypatch.setattr(_core, name, wrong(getattr(_core, name)))
    # A wrong binding may also hand on what the library refuses.
    with pytest.raises((AssertionError, ValueError, TypeError)):
        check()
