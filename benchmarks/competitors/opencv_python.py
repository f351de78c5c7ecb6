#!/usr/bin/env python3
"""cv2.integral for bench_cpu (opencv_python.cpp), a request and an answer a line: `version`; `prepare 8u32u 1024`, which
makes an image and compares the table with NumPy's sums; `run TIMES`, which answers microseconds."""

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


def on_huge_pages(shape, dtype):
    """An array on a page's start, as the other side's memory pool gives it."""
    count = shape[0] * shape[1]
    memory = mmap.mmap(-1, count * numpy.dtype(dtype).itemsize + 1)
    memory.madvise(mmap.MADV_HUGEPAGE)
    return numpy.frombuffer(memory, dtype=dtype, count=count).reshape(shape)


def prepare(types, n):
    """Image, table and depth; None where cv2 has no such integral."""
    split = next(i for i in range(len(types)) if types[:i] in INPUTS and types[i:] in TABLES)
    inputs, (tables, depth) = INPUTS[types[:split]], TABLES[types[split:]]
    image = on_huge_pages((n, n), inputs)
    random = numpy.random.default_rng(1)
    image[:] = random.random((n, n), numpy.float32) if inputs in (numpy.float32, numpy.float64) else \
        random.integers(numpy.iinfo(inputs).min, numpy.iinfo(inputs).max, (n, n), inputs, endpoint=True)
    table = on_huge_pages((n + 1, n + 1), tables)
    try:
        cv2.integral(image, table, depth)
    except cv2.error:
        return None
    if tables == numpy.int32:
        sums = image.cumsum(0, numpy.uint32).cumsum(1, numpy.uint32).view(numpy.int32)
        right = numpy.array_equal(table[1:, 1:], sums)
    else:
        right = numpy.allclose(table[1:, 1:], image.cumsum(0, numpy.float64).cumsum(1), rtol=2e-4)
    if not right or table[0].any() or table[:, 0].any():
        raise ValueError("wrong result, or not in the array that was given")
    return image, table, depth


def answer(words, case):
    if words[0] == "version":
        return cv2.__version__, case
    if words[0] == "prepare":
        try:
            case = prepare(words[1], int(words[2]))
        except (StopIteration, ValueError) as error:
            return ("unsupported" if isinstance(error, StopIteration) else str(error)), None
        return ("ready" if case else "unsupported"), case
    image, table, depth = case
    integral, times = cv2.integral, range(int(words[1]))
    start = time.perf_counter_ns()
    for _ in times:
        integral(image, table, depth)
    return str((time.perf_counter_ns() - start) / 1000), case


cv2.setNumThreads(1)
state = None
for line in sys.stdin:
    text, state = answer(line.split(), state)
    print(text, flush=True)
