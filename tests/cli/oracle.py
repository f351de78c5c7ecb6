"""Summed area tables and window statistics by their definitions, in Python's unbounded integers."""

import math


def inclusive(values, rows, cols, channels=1):
    table = [0] * len(values)
    for r in range(rows):
        for c in range(cols):
            for k in range(channels):
                def at(i, j):
                    return table[(i * cols + j) * channels + k] if i >= 0 and j >= 0 else 0
                i = (r * cols + c) * channels + k
                table[i] = values[i] + at(r - 1, c) + at(r, c - 1) - at(r - 1, c - 1)
    return table


def laid_out(values, rows, cols, channels, layout):
    """(shape, table) in a layout."""
    full = inclusive(values, rows, cols, channels)
    tail = (channels,) if channels > 1 else ()
    if layout == "inclusive":
        return (rows, cols) + tail, full
    out_rows, out_cols = (rows + 1, cols + 1) if layout == "padded" else (rows, cols)
    table = []
    for r in range(out_rows):
        for c in range(out_cols):
            for k in range(channels):
                table.append(full[((r - 1) * cols + c - 1) * channels + k] if r and c else 0)
    return (out_rows, out_cols) + tail, table


def box_values(values, cols, channels, box, channel):
    row, col, n_rows, n_cols = box
    return [values[(r * cols + c) * channels + channel]
            for r in range(row, row + n_rows) for c in range(col, col + n_cols)]


def mean_and_variance(sample):
    """In rational arithmetic as long as the sample is one of integers."""
    n, s, s2 = len(sample), sum(sample), sum(x * x for x in sample)
    return s / n, (n * s2 - s * s) / (n * n)


def window(values, rows, cols, r, c, up, side):
    """Pixels of the window around (r, c), cut off at the border."""
    return [values[i * cols + j] for i in range(max(0, r - up), min(rows, r + up + 1))
            for j in range(max(0, c - side), min(cols, c + side + 1))]


def round_half_up(x):
    return math.floor(x + 0.5)
