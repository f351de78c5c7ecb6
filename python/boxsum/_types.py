"""Names of types that the signatures share."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, TypeAlias

import numpy.typing as npt

Layout: TypeAlias = Literal["inclusive", "exclusive", "padded"]
Corner: TypeAlias = Literal["first", "last"]
Border: TypeAlias = Literal["shrink", "reflect", "replicate", "constant", "mirror", "wrap"]
BoxFormat: TypeAlias = Literal["rchw", "yxyx", "xyxy", "xywh"]
NaN: TypeAlias = Literal["propagate", "omit"]
Size: TypeAlias = "int | tuple[int, int]"
DType: TypeAlias = "npt.DTypeLike"
Part: TypeAlias = "tuple[int, int] | tuple[int, int, int, int]"
"""(first row, rows of the whole image), and which rows have results: from, and up to but not."""
Boxes: TypeAlias = Any
"""Numbers of shape (..., 4): an array, or nested sequences."""


class Box(NamedTuple):
    """A rectangle of pixels: rows row .. row + rows - 1, columns col .. col + cols - 1.

    >>> import boxsum
    >>> boxsum.Box(10, 20, rows=3, cols=4)
    Box(row=10, col=20, rows=3, cols=4)
    """

    row: int
    col: int
    rows: int
    cols: int
