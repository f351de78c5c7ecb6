"""boxsum in the place of functions of scikit-image, SciPy, OpenCV, astropy, Kornia and cuCIM, with their semantics.

Change one import: ``boxsum.compat.`` before the module's own name. What is not replaced is the library's own::

    from boxsum.compat.skimage.filters import threshold_sauvola
    import boxsum.compat.cv2 as cv2

or none: ``python -m boxsum.compat skimage,scipy -- script.py``, and in a program::

    with boxsum.compat.patched("skimage", "scipy"):
        ...

Calls that boxsum does not compute exactly as the original does (three-dimensional windows, complex numbers, other
methods) go to the original. `report` counts both; within `strict` such calls raise.
"""

from boxsum.compat._drop_in import Calls, NotCovered, install, patched, report, reset, strict

__all__ = ["Calls", "NotCovered", "install", "patched", "report", "reset", "strict"]
