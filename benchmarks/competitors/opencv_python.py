#!/usr/bin/env python3
"""cv2's functions for bench_cpu (opencv_python.cpp), a request and an answer a line: `version`; `prepare FUNCTION TYPES N
RADIUS`, which makes an image, calls the function and compares its result with NumPy's; `run TIMES`, which answers
microseconds."""

import functools
import mmap
import sys
import time

try:
    import cv2
    import numpy
except ImportError as missing:
    sys.stdin.readline()
    print(f"absent {missing.name}", flush=True)
    sys.exit()

INPUTS = {"8u": numpy.uint8, "16u": numpy.uint16, "16s": numpy.int16, "32f": numpy.float32, "64f": numpy.float64}
TABLES = {"32u": (numpy.int32, cv2.CV_32S), "32s": (numpy.int32, cv2.CV_32S), "32f": (numpy.float32, cv2.CV_32F),
          "64f": (numpy.float64, cv2.CV_64F)}


class Wrong(Exception):
    """A result that is not what it should be."""


def need(right):
    if not right:
        raise Wrong("wrong result, or not in the array that was given")


def on_huge_pages(shape, dtype):
    """An array on a page's start, as the other side's memory pool gives it."""
    count = int(numpy.prod(shape))
    memory = mmap.mmap(-1, count * numpy.dtype(dtype).itemsize + 1)
    memory.madvise(mmap.MADV_HUGEPAGE)
    return numpy.frombuffer(memory, dtype=dtype, count=count).reshape(shape)


def random_image(shape, dtype, seed=1):
    image = on_huge_pages(shape, dtype)
    random = numpy.random.default_rng(seed)
    image[:] = random.random(shape, numpy.float32) if dtype in (numpy.float32, numpy.float64) else \
        random.integers(numpy.iinfo(dtype).min, numpy.iinfo(dtype).max, shape, dtype, endpoint=True)
    return image


def integral(types, n, _):
    split = next(i for i in range(len(types)) if types[:i] in INPUTS and types[i:] in TABLES)
    inputs, (tables, depth) = INPUTS[types[:split]], TABLES[types[split:]]
    image, table = random_image((n, n), inputs), on_huge_pages((n + 1, n + 1), tables)
    call = functools.partial(cv2.integral, image, table, depth)
    call()
    if tables == numpy.int32:
        sums = image.cumsum(0, numpy.uint32).cumsum(1, numpy.uint32).view(numpy.int32)
        right = numpy.array_equal(table[1:, 1:], sums)
    else:
        right = numpy.allclose(table[1:, 1:], image.cumsum(0, numpy.float64).cumsum(1), rtol=2e-4)
    need(right and not table[0].any() and not table[:, 0].any())
    return call


def box_means(image, radius, mode="symmetric"):
    """Means of windows in double, by one axis after the other."""
    means = image.astype(numpy.float64)
    for axis in (0, 1):
        around = [(radius + 1, radius) if one == axis else (0, 0) for one in (0, 1)]
        sums = numpy.pad(means, around, mode).cumsum(axis)
        n = means.shape[axis]
        means = sums.take(range(2 * radius + 1, 2 * radius + 1 + n), axis) - sums.take(range(n), axis)
        means /= 2 * radius + 1
    return means


def is_near(result, wanted):
    return numpy.abs(result - wanted).max() <= (0.51 if result.dtype.kind == "u" else 1e-5 * numpy.abs(wanted).max())


def blur(types, n, radius):
    image, result = random_image((n, n), INPUTS[types]), on_huge_pages((n, n), INPUTS[types])
    call = functools.partial(cv2.blur, image, (2 * radius + 1,) * 2, result, (-1, -1), cv2.BORDER_REFLECT)
    call()
    need(is_near(result, box_means(image, radius)))
    return call


def moments(types, n, radius):
    """Means of pixels and of squares."""
    image = random_image((n, n), INPUTS[types])
    means, squares = on_huge_pages((n, n), numpy.float32), on_huge_pages((n, n), numpy.float32)
    window = (2 * radius + 1,) * 2

    def call():
        cv2.boxFilter(image, cv2.CV_32F, window, means, (-1, -1), True, cv2.BORDER_REFLECT)
        cv2.sqrBoxFilter(image, cv2.CV_32F, window, squares, (-1, -1), True, cv2.BORDER_REFLECT)

    call()
    need(is_near(means, box_means(image, radius)))
    right = is_near(squares, box_means(image.astype(numpy.float64)**2, radius))
    if types == "8u" and not right and window[0]**2 * 255**2 >= 2**31:
        return None  # its sums of squares have 32 bits
    need(right)
    return call


def adaptive_threshold(_, n, radius):
    image, result = random_image((n, n), numpy.uint8), on_huge_pages((n, n), numpy.uint8)
    call = functools.partial(cv2.adaptiveThreshold, image, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY,
                             2 * radius + 1, 0, result)
    call()
    means = box_means(image, radius, "edge")
    near = numpy.abs(means - numpy.floor(means) - 0.5) < 1e-4  # its scale is of single precision
    need(((result == 255 * (image > numpy.rint(means))) | near).all())
    return call


def guided(image, guide, radius, epsilon):
    """The definition by a grey or a colour guide."""
    pixels = image.astype(numpy.float64)
    planes = [plane.astype(numpy.float64) for plane in numpy.atleast_3d(guide).transpose(2, 0, 1)]
    means, mean = [box_means(one, radius) for one in planes], box_means(pixels, radius)
    covariances = numpy.empty(image.shape + (len(planes),) * 2)
    right = numpy.empty(image.shape + (len(planes), 1))
    for i, one in enumerate(planes):
        right[..., i, 0] = box_means(one * pixels, radius) - means[i] * mean
        for j, other in enumerate(planes):
            covariances[..., i, j] = box_means(one * other, radius) - means[i] * means[j] + epsilon * (i == j)
    fits = numpy.linalg.solve(covariances, right)[..., 0]
    shift = mean - sum(fits[..., i] * means[i] for i in range(len(planes)))
    return box_means(shift, radius) + sum(box_means(fits[..., i], radius) * plane for i, plane in enumerate(planes))


def guided_filter(channels, types, n, radius):
    """By itself without channels."""
    if not hasattr(cv2, "ximgproc"):
        return None
    dtype = INPUTS[types]
    image, result = random_image((n, n), dtype), on_huge_pages((n, n), dtype)
    guide = image if channels == 0 else random_image((n, n) if channels == 1 else (n, n, channels), dtype, 2)
    epsilon = 0.01 if dtype == numpy.float32 else 650.25
    call = functools.partial(cv2.ximgproc.guidedFilter, guide, image, radius, epsilon, result)
    call()
    difference = numpy.abs(result - guided(image, guide, radius, epsilon))
    need(difference.max() <= (1.01 if dtype == numpy.uint8 else 1e-3))  # it computes in single precision
    return call


def non_local_means(_, n, radius):
    """Patches of 7 x 7, strength 10."""
    image, result = random_image((n, n), numpy.uint8), on_huge_pages((n, n), numpy.uint8)
    image //= 8  # else all weights are 0 but one
    call = functools.partial(cv2.fastNlMeansDenoising, image, result, 10, 7, 2 * radius + 1)
    call()
    pixels = image.astype(numpy.float64)
    for row, col in numpy.random.default_rng(3).integers(radius + 3, n - radius - 3, (64, 2)):
        patch, total, weights = pixels[row - 3:row + 4, col - 3:col + 4], 0.0, 0.0
        for y in range(row - radius, row + radius + 1):
            for x in range(col - radius, col + radius + 1):
                weight = numpy.exp(-((pixels[y - 3:y + 4, x - 3:x + 4] - patch)**2).mean() / 100)
                total, weights = total + weight * pixels[y, x], weights + weight
        need(abs(result[row, col] - total / weights) < 1)
    return call


FUNCTIONS = {"integral": integral, "blur": blur, "moments": moments, "adaptiveThreshold": adaptive_threshold,
             "guidedFilter": functools.partial(guided_filter, 1), "guidedFilterSelf": functools.partial(guided_filter, 0),
             "guidedFilterColour": functools.partial(guided_filter, 3), "fastNlMeansDenoising": non_local_means}


def answer(words, call):
    if words[0] == "version":
        return cv2.__version__, call
    if words[0] == "prepare":
        try:
            call = FUNCTIONS[words[1]](words[2], int(words[3]), int(words[4]))
        except Wrong as error:
            return str(error), None
        except (StopIteration, cv2.error):
            call = None
        return ("ready" if call else "unsupported"), call
    times = range(int(words[1]))
    start = time.perf_counter_ns()
    for _ in times:
        call()
    return str((time.perf_counter_ns() - start) / 1000), call


cv2.setNumThreads(1)
state = None
for line in sys.stdin:
    text, state = answer(line.split(), state)
    print(text, flush=True)
