"""`scipy.ndimage` with `uniform_filter` and `uniform_filter1d` by boxsum.

SciPy filters one axis after the other and stores what lies between in the output's type: of integers, it drops the
fraction after each. That is done here, too, so integers are SciPy's own, to the last. Floating results agree within
rounding; a NaN stays in the windows that contain it, where SciPy's running sums carry it to the end of the line.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from boxsum._filters import box_filter
from boxsum._types import Border
from boxsum.compat._drop_in import NotCovered, drop_in, rest_of

__getattr__, __dir__ = rest_of("scipy.ndimage")

_BORDERS: dict[str, Border] = {
    "reflect": "reflect",
    "grid-mirror": "reflect",
    "constant": "constant",
    "grid-constant": "constant",
    "nearest": "replicate",
    "mirror": "mirror",
    "wrap": "wrap",
    "grid-wrap": "wrap",
}

# As sums of so many pixels are exact in a double, they do not depend on the order of additions.
_EXACT = 2**53


def _result_type(array: Any, output: Any) -> tuple[Any, Any]:
    """The type of the result, and the array to write it to, where one is given."""
    if output is None:
        return array.dtype.newbyteorder("="), None
    if isinstance(output, (type, np.dtype, str)):
        return np.dtype(output), None
    if type(output) is not np.ndarray or output.shape != array.shape:
        raise NotCovered("an output that is no array of the input's shape")
    return output.dtype, output


def _of_one_axis(array: Any, size: int, axis: int, kind: Any, border: Border, cval: float, origin: int) -> Any:
    """Means along an axis. Every axis is one of rows, or of columns, in an array that lies packed in memory."""
    shape = array.shape
    before, here, after = math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :])
    packed = np.ascontiguousarray(array)
    planes = packed.reshape((before, here) if after == 1 else (before, here, after))
    window, moved = ((1, size), (0, origin)) if after == 1 else ((size, 1), (origin, 0))
    if kind.kind == "f":
        result = box_filter(planes, window, border=border, cval=cval, origin=moved, dtype=kind)
    elif kind == planes.dtype and kind.kind == "u":
        result = box_filter(planes, window, border=border, cval=cval, origin=moved, rounding="floor")
    else:
        sums = box_filter(planes, window, stat="sum", border=border, cval=cval, origin=moved)
        result = (sums / size).astype(kind)  # towards 0, as C does
    return result.reshape(shape)


def _readable(array: Any, kind: Any, largest_window: int, border: str, cval: float) -> Any:
    """The array in a type that filters take and that holds all of its values."""
    letter = array.dtype.char  # of a type's names the one that is no work
    if kind.kind == "f" and letter in "fd":
        if kind.char == "f" and letter == "d":
            raise NotCovered("float64 into float32")  # SciPy rounds between the axes
        return array
    if letter in "BHh":
        if border != "constant":
            return array
        limits = np.iinfo(array.dtype)
        if cval == int(cval) and limits.min <= cval <= limits.max:
            return array
    elif array.dtype.kind not in "iub":
        raise NotCovered(f"{array.dtype} into {kind}")
    if array.dtype.itemsize > 4:
        most = max(abs(int(array.max())), abs(int(array.min())))
        if most * largest_window >= _EXACT:
            raise NotCovered("sums that a double does not hold")
    return array.astype(np.float64)


def _filtered(array: Any, axes: list[tuple[int, int, int, str]], cval: float, output: Any) -> Any:
    kind, out = _result_type(array, output)
    if kind.kind not in "uif" or kind.char == "e" or kind.itemsize > 8:
        raise NotCovered(f"results of {kind}")
    if array.size == 0 or array.ndim == 0 or array.dtype.kind not in "uifb":
        raise NotCovered(f"{array.dtype} of {array.ndim} axes and {array.size} elements")
    if kind.kind == "u" and (array.dtype.kind != "u" or cval < 0):
        raise NotCovered("signed numbers into unsigned ones")
    if kind.kind in "iu" and (array.dtype.kind == "f" or kind.itemsize < array.dtype.itemsize or cval != int(cval)):
        raise NotCovered(f"{array.dtype} into {kind}")
    borders: list[Border] = []
    for axis, size, origin, mode in axes:
        if mode not in _BORDERS:
            raise NotCovered(f"mode={mode!r}")
        if size < 1 or not -(size // 2) <= origin <= (size - 1) // 2:
            raise NotCovered(f"a size of {size} with an origin of {origin}")
        if size > 4 * array.shape[axis] + 1:
            raise NotCovered("a window that is much larger than the array")
        borders.append(_BORDERS[mode])
    work = array
    largest = max(size for _, size, _, _ in axes)
    together = kind.kind == "f" and len(axes) == 2 and [one[0] for one in axes] == [array.ndim - 2, array.ndim - 1]
    if together and borders[0] == borders[1]:
        readable = _readable(work, kind, largest, borders[0], cval)
        (_, rows, row_origin, _), (_, cols, col_origin, _) = axes
        work = box_filter(
            readable, (rows, cols), border=borders[0], cval=cval, origin=(row_origin, col_origin), dtype=kind
        )
    else:
        for (axis, size, origin, _), border in zip(axes, borders, strict=True):
            readable = _readable(work, kind, size, border, cval)
            work = _of_one_axis(readable, size, axis, kind, border, cval, origin)
    if out is None:
        return work
    out[...] = work
    return out


def _each(value: Any, count: int) -> list[Any]:
    if isinstance(value, str) or not np.iterable(value):
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise NotCovered(f"{len(values)} values for {count} axes")
    return values


def _integer(value: Any) -> int:
    if not isinstance(value, (int, np.integer)):
        raise NotCovered(f"a size or origin of type {type(value).__name__}")
    return int(value)


def _axis(axis: Any, count: int) -> int:
    number = _integer(axis)
    if not -count <= number < count:
        raise NotCovered(f"axis {number} of {count}")
    return number % count


def _real(value: Any) -> float:
    if not np.isscalar(value) or np.iscomplexobj(value):
        raise NotCovered("a constant that is no real number")
    number = float(value)  # type: ignore[arg-type]
    if not np.isfinite(number):
        raise NotCovered("a constant that is not finite")
    return number


@drop_in("scipy.ndimage:uniform_filter1d", defined_in="scipy.ndimage._filters")
def uniform_filter1d(
    input: Any, size: Any, axis: Any = -1, output: Any = None, mode: str = "reflect", cval: Any = 0.0, origin: Any = 0
) -> Any:
    """Real arrays of any number of axes."""
    array = np.asarray(input)
    if type(input) is not np.ndarray and not isinstance(input, (list, tuple)):
        raise NotCovered(f"an array of type {type(input).__name__}")
    one = (_axis(axis, array.ndim), _integer(size), _integer(origin), mode)
    return _filtered(array, [one], _real(cval), output)


@drop_in("scipy.ndimage:uniform_filter", defined_in="scipy.ndimage._filters")
def uniform_filter(
    input: Any,
    size: Any = 3,
    output: Any = None,
    mode: Any = "reflect",
    cval: Any = 0.0,
    origin: Any = 0,
    *,
    axes: Any = None,
) -> Any:
    """Real arrays of any number of axes: floating ones over the last two axes in one pass, others axis by axis."""
    array = np.asarray(input)
    if type(input) is not np.ndarray and not isinstance(input, (list, tuple)):
        raise NotCovered(f"an array of type {type(input).__name__}")
    which = list(range(array.ndim)) if axes is None else [_axis(one, array.ndim) for one in np.atleast_1d(axes)]
    if len(set(which)) != len(which):
        raise NotCovered("an axis twice")
    sizes, origins, modes = (_each(one, len(which)) for one in (size, origin, mode))
    each = [
        (axis, _integer(extent), _integer(moved), word)
        for axis, extent, moved, word in zip(which, sizes, origins, modes, strict=True)
        if extent > 1
    ]
    if not each:
        raise NotCovered("windows of one pixel")
    return _filtered(array, each, _real(cval), output)
