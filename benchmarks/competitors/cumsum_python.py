#!/usr/bin/env python3
"""Two cumulative sums with PyTorch and with CuPy, where installed; one JSON object a line, as gpu_sat_bench prints."""

import json
import statistics

SIZES = (1024, 4096, 8192, 16384)
REPETITIONS = 7


def line(**fields):
    print(json.dumps({"section": "peers", "types": "32f32f", **fields}), flush=True)


def torch_times():
    import torch

    def once(image):
        return image.cumsum(0).cumsum(1)

    for n in SIZES:
        images = [torch.rand(n, n, device="cuda") for _ in range(4)]
        once(images[0])
        times = []
        for i in range(REPETITIONS):
            start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            start.record()
            once(images[i % 4])
            end.record()
            end.synchronize()
            times.append(1000 * start.elapsed_time(end))
        line(peer=f"PyTorch {torch.__version__} cumsum(0).cumsum(1)", n=n, us=round(statistics.median(times), 2))


def cupy_times():
    import cupy

    for n in SIZES:
        images = [cupy.random.rand(n, n, dtype=cupy.float32) for _ in range(4)]
        cupy.cumsum(cupy.cumsum(images[0], axis=0), axis=1)
        times = []
        for i in range(REPETITIONS):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            cupy.cumsum(cupy.cumsum(images[i % 4], axis=0), axis=1)
            end.record()
            end.synchronize()
            times.append(1000 * cupy.cuda.get_elapsed_time(start, end))
        line(peer=f"CuPy {cupy.__version__} two cumsums", n=n, us=round(statistics.median(times), 2))


for name, measure in (("PyTorch", torch_times), ("CuPy", cupy_times)):
    try:
        measure()
    except ImportError:
        line(peer=name, note="not installed")
