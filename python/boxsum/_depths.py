"""What depth maps are for: the blur of a lens, and soft shadows."""

from __future__ import annotations

from typing import Any, cast, overload

from boxsum import _core
from boxsum._arrays import ArrayT, NumPyArray
from boxsum._tables import Table
from boxsum._types import DType
from boxsum.errors import InvalidArgument, Unsupported


@overload
def circles_of_confusion(
    depth: NumPyArray,
    *,
    focus: float,
    aperture: float,
    largest_radius: int = ...,
    dtype: DType = ...,
    out: NumPyArray | None = ...,
) -> NumPyArray: ...
@overload
def circles_of_confusion(
    depth: ArrayT,
    *,
    focus: float,
    aperture: float,
    largest_radius: int = ...,
    dtype: DType = ...,
    out: ArrayT | None = ...,
) -> ArrayT: ...
def circles_of_confusion(
    depth: ArrayT,
    *,
    focus: float,
    aperture: float,
    largest_radius: int = 255,
    dtype: DType = "uint8",
    out: ArrayT | None = None,
) -> ArrayT:
    """The radius of the blur of every pixel of a depth map, as a thin lens makes it: what `variable_blur` takes.

    It is aperture * abs(z - focus) / z for depth z, rounded to the nearest; ``largest_radius`` where z is not above 0,
    and 0 where it is not a number.

    Args:
        depth: (..., rows, cols) of uint8, uint16, float32 or float64.
        focus: The depth that is sharp, above 0, in the map's unit.
        aperture: The radius in pixels of the blur of what is infinitely far away. Of a lens of diameter A and focal
            length f, and pixels of width p, it is A f / (2 p (focus - f)).
        largest_radius: Greater ones become it.
        dtype: Of the radii, uint8, uint16 or uint32; holds ``largest_radius``.
        out: As in `sat`.

    Returns:
        Radii in pixels: an array of the map's shape and library.

    Raises:
        InvalidArgument: a ValueError; a focus, aperture or radius that is wrong.
        Unsupported: a TypeError; other types.

    Source: Potmesil and Chakravarty 1981.

    >>> import numpy as np, boxsum
    >>> boxsum.circles_of_confusion(np.array([[1.0, 2.0, 4.0, 0.0]]), focus=2, aperture=8, largest_radius=20)
    array([[ 8,  0,  4, 20]], dtype=uint8)
    """
    return cast(ArrayT, _core.circles_of_confusion(depth, focus, aperture, largest_radius, dtype, out))


def variance_shadows(
    table: Table[ArrayT],
    receiver: ArrayT,
    rectangle: ArrayT,
    *,
    min_variance: float = 0,
    bleeding: float = 0,
    out: ArrayT | None = None,
    threads: int = 0,
) -> ArrayT:
    """Soft shadows from a summed-area variance shadow map: how much of the light every pixel sees.

    With mean m and variance v of the depths in a pixel's rectangle of the map, at most v / (v + (t - m)^2) of them are
    not nearer to the light than depth t (Chebyshev's inequality), and all where t is not above m. The cost does not
    depend on the rectangle's size.

    Args:
        table: Of the shadow map, (rows, cols) of depths as seen from the light, greater ones farther from it, with
            ``squares=True``. Padded or inclusive; ``offset`` and ``origin`` of a floating one, in host memory, make it
            more precise.
        receiver: How far from the light what every pixel shows is, in the map's unit; (rows, cols) of float32 or
            float64. It and the rectangles lie where the table does: in host memory or on its device, where the results
            have the same bits.
        rectangle: (rows, cols, 4): first row and column, rows and columns of the part of the map that the pixel is
            compared with, as real numbers (row r covers r to r + 1), float32 or float64. What lies beyond the map is
            not compared; where nothing is left, all light is seen.
        min_variance: The least variance, so that no surface shades itself; in the square of the map's unit.
        bleeding: Visibility up to this is shadow, and the rest is stretched to 0 to 1, so that light does not bleed
            through where several occluders lie behind each other; 0 or more, below 1.
        out, threads: As in `sat`.

    Returns:
        Visibility, 0 in shadow to 1 in light: an array of the receiver's shape, type and library.

    Raises:
        InvalidArgument: a ValueError; shapes or numbers that are wrong, a table without squares, and arrays that lie
            elsewhere.
        Unsupported: a TypeError; other types, exclusive tables, and what is no `Table`.

    Source: Donnelly and Lauritzen 2006; Lauritzen, GPU Gems 3, chapter 8.

    >>> import numpy as np, boxsum
    >>> table = boxsum.Table.build(np.array([[1.0, 5.0], [5.0, 5.0]]), squares=True)
    >>> boxsum.variance_shadows(table, np.array([[5.0]]), np.array([[[0.0, 0.0, 2.0, 2.0]]]))
    array([[0.75]])
    """
    if not isinstance(table, Table):
        raise Unsupported(f"table: is of type {type(table).__name__}, must be a Table of the map and its squares")
    if table.squares is None:
        raise InvalidArgument("squares: this table has none; Table.build(image, squares=True) makes them")
    found: Any = _core.variance_shadows(
        table.values, table.squares, table._form, receiver, rectangle, min_variance, bleeding, out, threads
    )
    return cast(ArrayT, found)
