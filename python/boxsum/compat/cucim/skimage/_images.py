"""What all drop-ins for cuCIM ask of an image."""

from __future__ import annotations

from typing import Any

from boxsum.compat._drop_in import NotCovered


def check_plane(image: Any) -> None:
    """Raises `NotCovered` unless the image is an array of CuPy's own class, of two axes, with pixels."""
    kind = type(image)
    if kind.__module__.partition(".")[0] != "cupy" or kind.__name__ != "ndarray":
        raise NotCovered(f"the image is of type {kind.__name__}")
    if image.ndim != 2:
        raise NotCovered(f"the image has {image.ndim} axes")
    if image.size == 0:
        raise NotCovered("the image is empty")
