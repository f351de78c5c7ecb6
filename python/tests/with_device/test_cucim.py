"""boxsum.compat.cucim: scikit-image's semantics on the device. The CPU's results are compared with scikit-image's own in
test_compat.py. Where cuCIM is not installed, functions that say that they were called stand for its own.
"""

from __future__ import annotations

import importlib.util
import sys
import types

import numpy as np
import pytest
import reference

import boxsum


@pytest.fixture
def cucim(library):
    """boxsum.compat.cucim.skimage."""
    if library.tensors:
        pytest.skip("cuCIM takes CuPy's arrays")
    if "cucim" not in sys.modules and importlib.util.find_spec("cucim") is None:
        names = {
            "filters": ("thresholding", ("threshold_niblack", "threshold_sauvola", "threshold_local", "sobel")),
            "transform": ("integral", ("integral_image", "integrate")),
        }
        for folder in ("cucim", "cucim.skimage"):
            sys.modules[folder] = types.ModuleType(folder)
        sys.modules["cucim"].skimage = sys.modules["cucim.skimage"]
        for folder, (file, functions) in names.items():
            inner = types.ModuleType(f"cucim.skimage.{folder}.{file}")
            outer = types.ModuleType(f"cucim.skimage.{folder}")
            for name in functions:
                original = lambda *args, called=name, **kwargs: f"cuCIM's {called}"  # noqa: E731
                setattr(inner, name, original)
                setattr(outer, name, original)
            sys.modules[inner.__name__], sys.modules[outer.__name__] = inner, outer
    import boxsum.compat.cucim.skimage.filters
    import boxsum.compat.cucim.skimage.transform

    return boxsum.compat.cucim.skimage


def test_tables(library, cucim, emulated):
    for dtype in (np.float64,) if emulated else (np.uint8, np.int16, np.float32, np.float64, np.int64):
        image = reference.random_image((20, 31), dtype, 1)
        table = library.down(cucim.transform.integral_image(library.up(image)))
        expected = boxsum.sat(image)
        np.testing.assert_allclose(table, expected, rtol=1e-12, atol=1e-12)
        assert table.dtype == expected.dtype
        there = library.up(expected)
        corners = [(0, 0), (3, 4), (-1, -2)], [(0, 0), (10, 30), (19, -1)]
        sums = library.down(cucim.transform.integrate(there, *corners))
        assert sums.dtype == np.float64
        parts = image[:1, :1], image[3:11, 4:31], image[19:, 29:]
        wide = [part.astype(np.float64 if image.dtype.kind == "f" else np.int64).sum() for part in parts]
        np.testing.assert_allclose(sums, np.array(wide, np.float64), rtol=1e-12)


def test_thresholds(library, cucim):
    for dtype in (np.uint8, np.uint16, np.int16, np.float32, np.float64):
        image = reference.random_image((40, 51), dtype, 2)
        there = library.up(image)
        real = np.dtype(np.float64 if dtype == np.float64 else np.float32)
        near = {"rtol": 1e-6, "atol": 1e-6} if real == np.float32 else {"rtol": 1e-13, "atol": 1e-13}
        half = 1.0 if np.dtype(dtype).kind == "f" else 0.5 * (int(np.iinfo(dtype).max) - int(np.iinfo(dtype).min))
        common = {"border": "mirror", "result": "threshold"}
        for size in (3, (5, 9)):
            niblack = library.down(cucim.filters.threshold_niblack(there, size, k=0.3))
            expected = boxsum.threshold(image, size, method="niblack", k=-0.3, **common)
            np.testing.assert_allclose(niblack, expected, **near)
            sauvola = library.down(cucim.filters.threshold_sauvola(there, size))
            expected = boxsum.threshold(image, size, method="sauvola", k=0.2, r=half, **common)
            np.testing.assert_allclose(sauvola, expected, **near)
            assert niblack.dtype == sauvola.dtype == real
            for mode in ("reflect", "mirror", "nearest", "wrap", "constant"):
                border = "replicate" if mode == "nearest" else mode
                local = cucim.filters.threshold_local(there, size, method="mean", offset=2, mode=mode, cval=7)
                expected = boxsum.box_filter(image, size, border=border, cval=7, dtype=real) - 2
                np.testing.assert_allclose(library.down(local), expected, **near)
                assert local.dtype == real
    small = library.up(np.full((9, 11), 0.03082192))  # a window larger than the image
    np.testing.assert_allclose(library.down(cucim.filters.threshold_niblack(small)), 0.03082192, rtol=1e-13)
    for pixel, cval in ((0.03082192, -0.5), (np.uint8(200), 0.5), (np.uint8(200), -300), (np.uint8(200), 255)):
        bordered = cucim.filters.threshold_local(
            library.up(np.full((9, 11), pixel)), 3, method="mean", mode="constant", cval=cval
        )
        rel = 1e-13 if isinstance(pixel, float) else 1e-7
        assert library.down(bordered)[0, 0] == pytest.approx((4 * float(pixel) + 5 * cval) / 9, rel=rel)


def test_the_rest_goes_to_the_original(library, cucim):
    from boxsum import compat

    image = library.up(reference.random_image((20, 31), np.uint8, 1))
    compat.reset()
    with compat.strict():
        for call in (
            lambda: cucim.filters.threshold_sauvola(image, 4),
            lambda: cucim.filters.threshold_local(image, 3),
            lambda: cucim.filters.threshold_niblack(library.up(np.ones((9, 9), np.float16))),
            lambda: cucim.transform.integral_image(library.up(np.ones((2, 3, 4)))),
            lambda: cucim.transform.integrate(np.ones((3, 4)), (0, 0), (1, 1)),
        ):
            with pytest.raises(boxsum.Unsupported, match="is not covered here"):
                call()
    original = sys.modules["cucim.skimage.filters"].threshold_local
    if original.__module__.partition(".")[0] != "cucim":
        assert cucim.filters.threshold_local(image, 3) == "cuCIM's threshold_local"
        assert cucim.filters.sobel(image) == "cuCIM's sobel"
        assert compat.report()["cucim.skimage.filters.threshold_local"].passed_on == 1
