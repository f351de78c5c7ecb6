#!/usr/bin/env python3
"""Box means of PyTorch and CuPy, where installed; one JSON object a line, as gpu_sat_bench prints.

`avg_pool2d` adds up every window anew, so that it is timed with small windows only; CuPy's `uniform_filter` runs along
columns and then along rows. A result is compared with means in double at a few places inside the image.
"""

import json
import random
import statistics

SIZES = (4096, 16384)
REPETITIONS = 5


def line(**fields):
    print(json.dumps({"section": "window-peers", **fields}), flush=True)


def check(image, result, radius, step):
    """Whether means are right where windows are inside: integers to a step (theirs are cut, once an axis), floats to a part."""
    random.seed(radius)
    n = image.shape[0]
    for _ in range(20):
        row, col = random.randrange(radius, n - radius), random.randrange(radius, n - radius)
        exact = float(image[row - radius:row + radius + 1, col - radius:col + radius + 1].astype("float64").mean())
        if not abs(float(result[row, col]) - exact) <= step * (1 + abs(exact) * (step < 1)):
            return f"WRONG at row {row}, column {col}"
    return "within a step inside"


def torch_times():
    import torch

    class view:
        """A tensor as check() reads it."""

        def __init__(self, tensor):
            self.tensor, self.shape = tensor, tensor.shape

        def __getitem__(self, where):
            part = self.tensor[where]
            return part.double().cpu().numpy() if part.dim() else part.item()

    for n in SIZES:
        for radius in (3, 15):
            images = [torch.rand(n, n, device="cuda") for _ in range(2)]

            def once(image):
                return torch.nn.functional.avg_pool2d(image[None, None], 2 * radius + 1, 1, radius)[0, 0]

            result = once(images[0])
            times = []
            for i in range(REPETITIONS):
                start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                start.record()
                once(images[i % 2])
                end.record()
                end.synchronize()
                times.append(1000 * start.elapsed_time(end))
            line(peer=f"PyTorch {torch.__version__} avg_pool2d", filter="box mean 32f", n=n, radius=radius,
                 us=round(statistics.median(times), 2), check=check(view(images[0]), view(result), radius, 1e-4))


def cupy_times():
    import cupy
    from cupyx.scipy import ndimage

    for n in SIZES:
        for dtype, name in (("uint8", "8u"), ("uint16", "16u"), ("float32", "32f")):
            for radius in (3, 15, 250):
                images = [(255 * cupy.random.rand(n, n, dtype=cupy.float32)).astype(dtype) for _ in range(2)]
                out = cupy.empty_like(images[0])

                def once(image):
                    ndimage.uniform_filter(image, 2 * radius + 1, output=out, mode="nearest")

                once(images[0])
                verdict = check(images[0], out, radius, 1e-4 if dtype == "float32" else 2.0)
                times = []
                for i in range(REPETITIONS):
                    start, end = cupy.cuda.Event(), cupy.cuda.Event()
                    start.record()
                    once(images[i % 2])
                    end.record()
                    end.synchronize()
                    times.append(1000 * cupy.cuda.get_elapsed_time(start, end))
                line(peer=f"CuPy {cupy.__version__} uniform_filter", filter=f"box mean {name}", n=n, radius=radius,
                     us=round(statistics.median(times), 2), check=verdict)


for name, measure in (("PyTorch", torch_times), ("CuPy", cupy_times)):
    try:
        measure()
    except ImportError:
        line(peer=name, note="not installed")
