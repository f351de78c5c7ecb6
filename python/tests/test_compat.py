"""Drop-ins beside the functions that they stand in for. Each part needs its library; ``make test-python`` has all."""

from __future__ import annotations

import doctest
import subprocess
import sys

import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st

import boxsum
from boxsum import compat


def test_examples_in_the_documentation():
    pytest.importorskip("scipy")
    assert doctest.testmod(compat._drop_in).failed == 0


examples = settings(max_examples=150, deadline=None, derandomize=True)


def numbers(draw, shape, dtype, low=None, high=None):
    """Random pixels; small ones where sums are to be exact."""
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return rng.integers(0, 2, shape).astype(bool)
    if kind.kind in "iu":
        limits = np.iinfo(kind)
        return rng.integers(
            limits.min if low is None else max(low, limits.min),
            limits.max if high is None else min(high, limits.max),
            shape,
            dtype=kind,
            endpoint=True,
        )
    return rng.uniform(-1, 1, shape).astype(kind)


def in_some_order(draw, image):
    """The same pixels, where another memory order is drawn."""
    return draw(st.sampled_from([image, np.asfortranarray(image), np.repeat(image, 2, axis=0)[::2]]))


@examples
@given(data=st.data())
def test_skimage_integral_image(data):
    transform = pytest.importorskip("skimage.transform")
    from boxsum.compat.skimage.transform import integral_image, integrate

    dtype = data.draw(st.sampled_from(["bool", "uint8", "int8", "uint16", "int32", "int64", "float32", "float64"]))
    shape = (data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9)))
    image = in_some_order(data.draw, numbers(data.draw, shape, dtype))
    expected = transform.integral_image(image)
    with compat.strict():
        got = integral_image(image)
    assert got.dtype == expected.dtype
    if got.dtype.kind == "f":
        np.testing.assert_allclose(got, expected, rtol=0, atol=1e-13)
    else:
        np.testing.assert_array_equal(got, expected)
    if dtype in ("uint8", "int8", "float64"):
        corners = [sorted(data.draw(st.lists(st.integers(0, n - 1), min_size=2, max_size=2))) for n in shape]
        start, end = ([corner[i] for corner in corners] for i in (0, 1))
        if data.draw(st.booleans()):
            start = [start[0] - shape[0], start[1]]
        with compat.strict():
            sums = integrate(expected, start, end)
        np.testing.assert_allclose(sums, transform.integrate(expected, start, end), rtol=0, atol=1e-9)
        assert sums.dtype == np.float64 and sums.shape == (1,)


def test_skimage_images_that_are_not_covered():
    transform = pytest.importorskip("skimage.transform")
    from boxsum.compat.skimage import filters
    from boxsum.compat.skimage.transform import integral_image

    masked = np.ma.masked_array(np.ones((4, 5), np.uint8), np.eye(4, 5))
    for image, why in (
        (np.ones((3, 4, 5), np.uint8), "3 axes"),
        (np.ones((0, 5), np.uint8), "empty"),
        (masked, "MaskedArray"),
    ):
        for call in (integral_image, filters.threshold_sauvola):
            with compat.strict(), pytest.raises(boxsum.Unsupported, match=why):
                call(image)
        got, expected = integral_image(image), transform.integral_image(image)
        assert type(got) is type(expected)
        np.testing.assert_array_equal(got, expected)


def test_skimage_wraps_and_raises_as_the_original():
    transform = pytest.importorskip("skimage.transform")
    from boxsum.compat.skimage.transform import integral_image, integrate

    image = reference.random_image((40, 50), "uint8", 1)
    for dtype in (np.uint32, np.int32, np.uint8, np.float64, np.complex64):
        got = integral_image(image, dtype=dtype)
        expected = transform.integral_image(image, dtype=dtype)
        assert got.dtype == expected.dtype
        np.testing.assert_array_equal(got, expected)
    np.testing.assert_array_equal(integral_image(image[..., None]), transform.integral_image(image[..., None]))
    with pytest.raises(IndexError, match="end coordinates"):
        integrate(integral_image(image), (3, 3), (1, 5))


@examples
@given(data=st.data())
def test_skimage_thresholds(data):
    filters = pytest.importorskip("skimage.filters")
    from boxsum.compat.skimage import filters as ours

    dtype = data.draw(st.sampled_from(["uint8", "uint16", "int16", "int32", "int64", "float32", "float64", "bool"]))
    image = in_some_order(data.draw, numbers(data.draw, (13, 17), dtype, -9999, 9999))
    size = data.draw(st.sampled_from([1, 3, 7, (3, 9), [5, 1]]))
    k = data.draw(st.sampled_from([-0.3, 0.2]))
    r = data.draw(st.sampled_from([None, 3.5]))
    mode = data.draw(st.sampled_from(["reflect", "nearest", "constant", "mirror", "wrap"]))
    cval = data.draw(st.sampled_from([0, 1])) if dtype == "bool" else data.draw(st.sampled_from([0, 7, -3, 1.5]))
    scale = max(1.0, float(np.abs(image.astype(float)).max()))
    tolerance = scale * (2e-3 if dtype == "float32" else 1e-6)  # scikit-image's deviations are of a difference
    for name, arguments in (
        ("threshold_niblack", {"window_size": size, "k": k}),
        ("threshold_sauvola", {"window_size": size, "k": k, "r": r}),
        ("threshold_local", {"block_size": size, "method": "mean", "offset": 2, "mode": mode, "cval": cval}),
    ):
        with compat.strict():
            got = getattr(ours, name)(image, **arguments)
        expected = getattr(filters, name)(image, **arguments)
        assert got.dtype == expected.dtype
        np.testing.assert_allclose(got, expected, rtol=0, atol=tolerance)


# The same examples always: determinants of others may be equal by chance, where rounding drops some of the original's.
@settings(examples, max_examples=40, derandomize=True)
@given(data=st.data())
def test_skimage_blobs(data):
    feature = pytest.importorskip("skimage.feature")
    from boxsum.compat.skimage import feature as ours

    dtype = data.draw(st.sampled_from(["uint8", "uint16", "float64", "bool"]))
    seed = np.random.default_rng(data.draw(st.integers(0, 999)))
    image = seed.random((data.draw(st.integers(1, 60)), data.draw(st.integers(1, 70))))
    image = image > 0.5 if dtype == "bool" else (image * (1 if dtype == "float64" else np.iinfo(dtype).max)).astype(dtype)
    sigma = data.draw(st.floats(1, 12))
    with compat.strict():
        got = ours.hessian_matrix_det(image, sigma)
    np.testing.assert_allclose(got, feature.hessian_matrix_det(image, sigma), rtol=0, atol=1e-9)
    arguments = {
        "min_sigma": data.draw(st.sampled_from([1, 2.5])),
        "max_sigma": data.draw(st.sampled_from([5, 12])),
        "num_sigma": data.draw(st.integers(1, 6)),
        "threshold": data.draw(st.sampled_from([0.001, 0.01])),
        "overlap": data.draw(st.sampled_from([0.2, 0.5, 1])),
        "log_scale": data.draw(st.booleans()),
        "threshold_rel": data.draw(st.sampled_from([None, 0.2])),
    }
    expected = feature.blob_doh(image, **arguments)
    with compat.strict():
        got = ours.blob_doh(image, **arguments)
    assert got.shape[1] == 3
    if dtype != "bool":  # whose determinants are often equal
        assert sorted(map(tuple, got)) == sorted(map(tuple, expected))


TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "int64", "uint64", "float32", "float64", "bool"]


@settings(examples, max_examples=400)
@given(data=st.data())
def test_scipy_uniform_filter(data):
    ndimage = pytest.importorskip("scipy.ndimage")
    from boxsum.compat.scipy import ndimage as ours

    dtype = data.draw(st.sampled_from(TYPES))
    axes = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.integers(1, 8)) for _ in range(axes))
    image = in_some_order(data.draw, numbers(data.draw, shape, dtype, -(2**31), 2**31))
    sizes = [data.draw(st.integers(1, 6)) for _ in range(axes)]
    words = st.sampled_from(["reflect", "constant", "nearest", "mirror", "wrap", "grid-wrap"])
    modes = [data.draw(words) for _ in sizes]
    origins = [data.draw(st.integers(-(size // 2), (size - 1) // 2)) for size in sizes]
    arguments = {
        "size": sizes,
        "mode": data.draw(st.sampled_from([modes[0], modes])),
        "cval": data.draw(st.sampled_from([0, 3])),
        "origin": origins,
        "output": data.draw(st.sampled_from([None, "float64", np.float32, np.dtype(dtype)])),
    }
    expected = ndimage.uniform_filter(image, **arguments)
    got = ours.uniform_filter(image, **arguments)
    one = {**arguments, "size": sizes[0], "mode": modes[0], "origin": origins[0], "axis": 0}
    pairs = [(got, expected), (ours.uniform_filter1d(image, **one), ndimage.uniform_filter1d(image, **one))]
    for ours_is, theirs in pairs:
        assert ours_is.dtype == theirs.dtype
        if ours_is.dtype.kind == "f":
            scale = max(1.0, float(np.abs(image.astype(float)).max()))
            tolerance = 4 * float(np.finfo(ours_is.dtype).eps) * axes * scale
            np.testing.assert_allclose(ours_is, theirs, rtol=0, atol=tolerance)
        else:
            np.testing.assert_array_equal(ours_is, theirs)


@pytest.mark.parametrize("dtype", ["uint8", "int16", "int64", "float32", "float64"])
def test_scipy_calls_that_are_covered(dtype):
    ndimage = pytest.importorskip("scipy.ndimage")
    from boxsum.compat.scipy import ndimage as ours

    image = reference.random_image((40, 50), dtype, 3) if dtype != "int64" else np.arange(2000).reshape(40, 50)
    out = np.zeros(image.shape, dtype)
    with compat.strict():
        assert ours.uniform_filter(image, 7, output=out) is out
        in_place = image.copy()
        ours.uniform_filter(in_place, (3, 5), output=in_place, mode="wrap")
    np.testing.assert_allclose(out, ndimage.uniform_filter(image, 7), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(in_place, ndimage.uniform_filter(image, (3, 5), mode="wrap"), rtol=1e-6, atol=1e-6)
    with pytest.raises(RuntimeError, match="sequence argument"):
        ours.uniform_filter(image, (3, 3, 3))


@settings(examples, max_examples=400)
@given(data=st.data())
def test_cv2(data):
    cv2 = pytest.importorskip("cv2")
    from boxsum.compat import cv2 as ours

    dtype = data.draw(st.sampled_from(["uint8", "uint16", "int16", "float32", "float64"]))
    channels = data.draw(st.sampled_from([(), (2,), (3,), (4,), (6,)]))
    image = numbers(data.draw, (data.draw(st.integers(1, 9)), data.draw(st.integers(1, 9)), *channels), dtype)
    ksize = (data.draw(st.integers(1, 7)), data.draw(st.integers(1, 7)))
    anchor = tuple(data.draw(st.integers(-1, extent - 1)) for extent in ksize)
    border = data.draw(
        st.sampled_from([cv2.BORDER_DEFAULT, cv2.BORDER_REFLECT, cv2.BORDER_REPLICATE, cv2.BORDER_CONSTANT])
    )
    depth = data.draw(st.sampled_from([-1, cv2.CV_32F, cv2.CV_64F]))
    normalize = data.draw(st.booleans())
    for name, arguments in (
        ("integral", (image,)),
        ("integral2", (image,)),
        ("blur", (image, ksize, None, anchor, border)),
        ("boxFilter", (image, depth, ksize, None, anchor, normalize, border)),
        ("sqrBoxFilter", (image, depth, ksize, None, anchor, normalize, border)),
    ):
        try:
            expected = getattr(cv2, name)(*arguments)
        except cv2.error:
            with pytest.raises(cv2.error):
                getattr(ours, name)(*arguments)
            continue
        got = getattr(ours, name)(*arguments)
        several = isinstance(expected, tuple)
        for one, other in zip(got if several else (got,), expected if several else (expected,), strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape, name
            if one.dtype.kind == "f":
                scale = max(1.0, float(np.abs(other.astype(float)).max()))
                np.testing.assert_allclose(one, other, rtol=1e-5, atol=scale * 1e-6, err_msg=name)
            else:
                np.testing.assert_array_equal(one, other, err_msg=name)


def test_cv2_calls_that_are_covered():
    cv2 = pytest.importorskip("cv2")
    from boxsum.compat import cv2 as ours

    image = reference.random_image((40, 50), "uint8", 3)
    colours = reference.random_image((40, 50, 3), "uint8", 3)
    out = np.zeros((41, 51), np.int32)
    with compat.strict():
        assert ours.integral(image, out) is out
        np.testing.assert_array_equal(out, cv2.integral(image))
        for src in (image, colours):
            np.testing.assert_array_equal(ours.blur(src, (5, 7)), cv2.blur(src, (5, 7)))
            np.testing.assert_array_equal(
                ours.boxFilter(src, cv2.CV_32S, (4, 6), normalize=False),
                cv2.boxFilter(src, cv2.CV_32S, (4, 6), normalize=False),
            )
            np.testing.assert_allclose(ours.sqrBoxFilter(src, -1, (4, 6)), cv2.sqrBoxFilter(src, -1, (4, 6)), rtol=1e-6)
            for one, other in zip(ours.integral2(src), cv2.integral2(src), strict=True):
                np.testing.assert_array_equal(one, other)
    assert ours.COLOR_BGR2GRAY == cv2.COLOR_BGR2GRAY
    np.testing.assert_array_equal(ours.cvtColor(colours, ours.COLOR_BGR2GRAY), cv2.cvtColor(colours, 6))


@examples
@given(data=st.data())
def test_astropy_convolve(data):
    convolution = pytest.importorskip("astropy.convolution")
    from boxsum.compat.astropy import convolution as ours

    dtype = data.draw(st.sampled_from(["float32", "float64", "int32", "uint8"]))
    axes = data.draw(st.sampled_from([1, 2]))
    image = numbers(data.draw, (11, 12) if axes == 2 else (40,), dtype, 0, 1000)
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    if image.dtype.kind == "f" and data.draw(st.booleans()):
        image[rng.integers(0, 4, image.shape) == 0] = np.nan
    kernels = [convolution.Box2DKernel(5), np.full((3, 5), 0.5)]
    if axes == 1:
        kernels = [convolution.Box1DKernel(7), np.full(5, 0.5)]
    kernel = data.draw(st.sampled_from(kernels))
    arguments = {
        "boundary": data.draw(st.sampled_from(["fill", "extend", "wrap", None])),
        "fill_value": data.draw(st.sampled_from([0.0, 2.5])),
        "nan_treatment": data.draw(st.sampled_from(["interpolate", "fill"])),
        "normalize_kernel": data.draw(st.booleans()),
        "mask": data.draw(st.sampled_from([None, rng.integers(0, 5, image.shape) == 0])),
        "preserve_nan": data.draw(st.booleans()),
    }
    with compat.strict():
        got = ours.convolve(image, kernel, **arguments)
    expected = convolution.convolve(image, kernel, **arguments)
    assert got.dtype == expected.dtype
    tolerance = 1e-6 if dtype == "float32" else 1e-11
    np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance)


def test_counts_and_strictness():
    pytest.importorskip("scipy.ndimage")
    from boxsum.compat.scipy import ndimage

    compat.reset()
    image = reference.random_image((6, 7), "float64", 1)
    ndimage.uniform_filter(image, 3)
    ndimage.uniform_filter(image.astype(complex), 3)
    calls = compat.report()["scipy.ndimage.uniform_filter"]
    assert (calls.computed, calls.passed_on, sum(calls.reasons.values())) == (1, 1, 1)
    with compat.strict(), pytest.raises(boxsum.Unsupported, match="scipy.ndimage.uniform_filter is not covered here"):
        ndimage.uniform_filter(image.astype(complex), 3)
    compat.reset()
    assert compat.report() == {}
    assert ndimage.gaussian_filter(image, 1).shape == image.shape
    with pytest.raises(ValueError, match="libraries: 'numpy' is none of"), compat.patched("numpy"):
        pass


def test_what_is_not_replaced_is_the_original():
    cv2 = pytest.importorskip("cv2")
    from boxsum.compat import cv2 as ours
    from boxsum.compat.scipy import ndimage

    assert ours.__version__ == cv2.__version__ and ours.INTER_AREA == cv2.INTER_AREA
    assert ours.integral is not cv2.integral and dir(ours) == dir(cv2)
    names = {}
    exec("from boxsum.compat.scipy.ndimage import *", names)
    assert names["uniform_filter"] is ndimage.uniform_filter and "gaussian_filter" in names and "Any" not in names
    with pytest.raises(AttributeError, match="module 'boxsum.compat.cv2' has no attribute '__path__'"):
        ours.__path__


def test_patched_replaces_every_name_and_puts_it_back():
    ndimage = pytest.importorskip("scipy.ndimage")
    import scipy.ndimage._filters as definer

    original = ndimage.uniform_filter
    image = reference.random_image((6, 7), "float64", 1)
    compat.reset()
    with compat.patched("scipy"):
        assert ndimage.uniform_filter is not original and definer.uniform_filter is ndimage.uniform_filter
        ndimage.uniform_filter(image, 3)
    assert ndimage.uniform_filter is original and definer.uniform_filter is original
    assert compat.report()["scipy.ndimage.uniform_filter"].computed == 1


def test_scripts_run_unchanged(tmp_path):
    pytest.importorskip("scipy.ndimage")
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nimport numpy as np\nfrom scipy.ndimage import uniform_filter\nimport beside\n"
        "print(uniform_filter(np.arange(9.0).reshape(3, 3), 3)[1, 1], sys.argv[1:], __name__, beside.NUMBER)\n"
        "sys.exit(3)\n"
    )
    (tmp_path / "beside.py").write_text("NUMBER = 7\n")
    command = [sys.executable, "-m", "boxsum.compat"]
    arguments = ["scipy", "--", script, "--one", "--", "2"]
    ran = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
    assert ran.stdout == "4.0 ['--one', '--', '2'] __main__ 7\n" and ran.returncode == 3
    assert "scipy.ndimage.uniform_filter: 1 by boxsum, 0 by the original" in ran.stderr
    script.write_text("import scipy.ndimage\n")
    ran = subprocess.run([*command, "scipy", "--", script], capture_output=True, text=True, check=False)
    assert ran.stderr == "boxsum: none of the functions that boxsum has was called\n" and ran.returncode == 0
    wrong = subprocess.run([*command, "numpy", "--", script], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "libraries: 'numpy' is none of" in wrong.stderr and "Traceback" not in wrong.stderr
    wrong = subprocess.run([*command, "scipy", "--", "no.py"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "script: there is no file 'no.py'" in wrong.stderr


def test_the_other_byte_order():
    """Of FITS files, say: the originals' results and types."""
    filters = pytest.importorskip("skimage.filters")
    ndimage = pytest.importorskip("scipy.ndimage")
    convolution = pytest.importorskip("astropy.convolution")
    from boxsum.compat.astropy.convolution import convolve
    from boxsum.compat.scipy.ndimage import uniform_filter, uniform_filter1d
    from boxsum.compat.skimage.filters import threshold_local, threshold_niblack, threshold_sauvola

    kernel = convolution.Box2DKernel(3)
    pairs = [
        (ndimage.uniform_filter, uniform_filter, lambda f, x: f(x, 3)),
        (ndimage.uniform_filter1d, uniform_filter1d, lambda f, x: f(x, 3)),
        (filters.threshold_niblack, threshold_niblack, lambda f, x: f(x, 5)),
        (filters.threshold_sauvola, threshold_sauvola, lambda f, x: f(x, 5)),
        (filters.threshold_local, threshold_local, lambda f, x: f(x, 5, method="mean")),
        (convolution.convolve, convolve, lambda f, x: f(x, kernel)),
    ]
    for dtype in ("uint16", "int16", "int32", "float32", "float64"):
        image = reference.random_image((12, 14), dtype, 1)
        image = image.astype(image.dtype.newbyteorder())
        before = image.copy()
        for original, ours, call in pairs:
            expected, got = call(original, image), call(ours, image)
            assert got.dtype == expected.dtype, (original.__name__, dtype)
            exact = expected.dtype.kind != "f"
            tolerance = 0 if exact else 1e-5 if expected.dtype.itemsize == 4 else 1e-9
            largest = float(np.abs(before.astype(float)).max())
            np.testing.assert_allclose(got, expected, rtol=tolerance, atol=tolerance * largest)
        np.testing.assert_array_equal(image, before)
