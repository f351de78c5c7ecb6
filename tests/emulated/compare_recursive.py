"""Compares the recursive Gaussian of the zoo with SciPy's gaussian_filter: compare_recursive.py PROBE.

Exit code 77 (a skip for ctest) where NumPy or SciPy is missing.
"""
import subprocess
import sys

try:
    import numpy as np
    from scipy import ndimage
except ImportError as missing:
    print(f"skipped: {missing}")
    sys.exit(77)

# Its response departs from a Gaussian's by half a per cent of the range of values; that to a step adds up along both axes.
MOST_OF_NOISE, MOST_OF_STEPS = 0.006, 0.012
rng = np.random.default_rng(1)
for rows, cols in ((70, 133), (1, 200), (96, 64), (45, 260)):
    noise, step = rng.random((rows, cols)), np.zeros((rows, cols))
    step[: rows // 2 + 1, cols // 3:] = 1
    for image, most in ((noise, MOST_OF_NOISE), (step, MOST_OF_STEPS)):
        for sigma in (2, 3.5, 5, 10):
            for name, kind in (("32f", np.float32), ("64f", np.float64)):
                pixels = image.astype(kind)
                done = subprocess.run([sys.argv[1], name, str(rows), str(cols), repr(float(sigma))], input=pixels.tobytes(),
                                      stdout=subprocess.PIPE, check=True).stdout
                found = np.frombuffer(done, kind).reshape(rows, cols).astype(np.float64)
                expected = ndimage.gaussian_filter(pixels.astype(np.float64), sigma, mode="constant")
                worst = np.abs(found - expected).max()
                if not worst <= most:
                    sys.exit(f"{name} {rows} x {cols}, sigma {sigma}: {worst} away from SciPy's")
print("agrees with scipy.ndimage.gaussian_filter")
