"""Compares the filters with SciPy's uniform_filter and scikit-image's thresholds: compare_with_python.py PROBE.

Exit code 77 (a skip for ctest) where NumPy, SciPy or scikit-image is missing.
"""
import subprocess
import sys

try:
    import numpy as np
    from scipy import ndimage
    from skimage import filters
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

NAMES = {np.dtype(np.uint8): "8u", np.dtype(np.uint16): "16u", np.dtype(np.float32): "32f"}
MODES = {"reflect": "reflect", "replicate": "nearest", "constant": "constant"}
checks = 0


def probe(image, name, window, border="reflect", k=0.0, r=1.0, out=None):
    command = [sys.argv[1], NAMES[image.dtype], *map(str, image.shape), name, *map(str, window), border, repr(k), repr(r)]
    result = subprocess.run(command, input=image.tobytes(), stdout=subprocess.PIPE, check=True).stdout
    return np.frombuffer(result, dtype=out or image.dtype).reshape(image.shape)


def check(what, ok, detail=""):
    global checks
    checks += 1
    if not ok:
        print(f"FAILED {what}: {detail}")
        sys.exit(1)


def worst(a, b):
    return float(np.max(np.abs(np.asarray(a, np.float64) - np.asarray(b, np.float64))))


rng = np.random.default_rng(1)
images = [
    rng.integers(0, 256, (61, 83), dtype=np.uint8),
    rng.integers(0, 65536, (40, 57), dtype=np.uint16),
    rng.random((45, 52), dtype=np.float32),
]

for image in images:
    top = float(np.abs(image.astype(np.float64)).max())
    for window in [(1, 1), (3, 3), (15, 7), (31, 41)]:
        for border, mode in MODES.items():
            label = f"{NAMES[image.dtype]} {window} {border}"
            reference = ndimage.uniform_filter(image.astype(np.float64), size=window, mode=mode)
            mean = probe(image, "mean_64f", window, border, out=np.float64)
            check("mean " + label, worst(mean, reference) < 1e-11 * top, worst(mean, reference))
            if image.dtype.kind == "u":
                rounded = probe(image, "mean", window, border)
                check("rounded " + label, np.array_equal(rounded, np.floor(reference + 0.5 + 1e-9)))
    # Windows beyond the image, where SciPy reflects again and again.
    for window in [(301, 5), (7, 401), (333, 509)]:
        reference = ndimage.uniform_filter(image.astype(np.float64), size=window, mode="reflect")
        mean = probe(image, "mean_64f", window, out=np.float64)
        check(f"reflect beyond {window}", worst(mean, reference) < 1e-10 * top, worst(mean, reference))

    # scikit-image mirrors without the edge pixel, so the border is left out of the comparison.
    for size in [3, 15, 25]:
        margin = size // 2 + 1
        inner = (slice(margin, -margin), slice(margin, -margin))
        for name, k, limit in [
            ("niblack", -0.2, lambda: filters.threshold_niblack(image, window_size=size, k=0.2)),
            ("sauvola", 0.2, lambda: filters.threshold_sauvola(image, window_size=size, k=0.2, r=top / 2)),
            ("bradley", 0.15, lambda: ndimage.uniform_filter(image.astype(np.float64), size) * 0.85),
        ]:
            threshold = limit()
            ours = probe(image, name, (size, size), "shrink", k, top / 2, out=np.uint8)
            difference = image.astype(np.float64) - threshold
            clear = np.abs(difference) > 1e-6 * top  # a pixel at the threshold may fall on either side
            label = f"{name} {NAMES[image.dtype]} {size}"
            check(label + ": almost every pixel is clear", clear.mean() > 0.98, clear.mean())
            expected = np.where(difference > 0, 255, 0)
            wrong = (ours != expected) & clear
            check(label, not wrong[inner].any(), int(wrong[inner].sum()))

print(f"{checks} comparisons with SciPy and scikit-image agree")
