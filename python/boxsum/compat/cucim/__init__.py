"""cuCIM: `skimage.filters` and `skimage.transform`, on CuPy's arrays."""

from boxsum.compat._drop_in import rest_of
from boxsum.compat.cucim import skimage

__all__ = ["skimage"]

__getattr__, __dir__ = rest_of("cucim")
