"""Times boxsum's functions on arrays of PyTorch and CuPy on a GPU beside those libraries' own, in one process.

A row is another library's call and boxsum's on the same pixels. Results are compared first. Then both are called in turn,
as many times in a row as take some milliseconds, with one wait behind them; the shortest times count. Of PyTorch's rows
the same calls are replayed from a CUDA graph, too: that is what a plan in C++ enqueues, without a word of Python (and a
workspace cleared for each, some microseconds that plans and eager calls spend once).

    bench_python_gpu.py [--rows WORDS] [--seconds S]

Prints a JSON object for each row. Exit status 1 where a result was wrong.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import boxsum

SIZES = (256, 1024, 2048, 4096, 8192)
MOST_US = 10  # of an eager call at 256 x 256
MOST_OVER_GRAPH = 1.05  # of eager calls from 2048 x 2048 on


class Row(NamedTuple):
    framework: str
    name: str
    size: int
    peer: Callable[[], Any]
    ours: Callable[[], Any]
    tolerance: float = 0
    """Of results, absolute."""


def pixels(size: int, dtype: str) -> Any:
    rng = np.random.default_rng(size)
    return rng.integers(0, 256, (size, size)).astype(dtype)


def torch_rows() -> Iterator[Row]:
    import torch
    from torch.nn import functional

    import boxsum.torch

    for size in SIZES:
        u8 = torch.from_numpy(pixels(size, "uint8")).cuda()
        f32 = torch.from_numpy(pixels(size, "float32")).cuda() / 256
        yield Row(
            "torch",
            "cumsum twice u8 -> i64",
            size,
            lambda u8=u8: u8.cumsum(0, dtype=torch.int64).cumsum(1),
            lambda u8=u8: boxsum.sat(u8),
        )
        yield Row(
            "torch",
            "cumsum twice u8 -> i32",
            size,
            lambda u8=u8: u8.cumsum(0, dtype=torch.int32).cumsum(1, dtype=torch.int32),
            lambda u8=u8: boxsum.sat(u8, dtype="int32"),
        )
        yield Row(
            "torch",
            "cumsum twice f32 -> f64",
            size,
            lambda f32=f32: f32.cumsum(0, dtype=torch.float64).cumsum(1),
            lambda f32=f32: boxsum.sat(f32),
            1e-4,
        )
        if size <= 4096:
            one = f32[None, None]
            yield Row(
                "torch",
                "avg_pool2d(31, 1, 15) f32",
                size,
                lambda one=one: functional.avg_pool2d(one, 31, 1, 15),
                lambda one=one: boxsum.torch.box_pool2d(one, 31, 1, 15),
                1e-5,
            )
            yield Row(
                "torch",
                "avg_pool2d(31, 1, 15) f32 -> box filter u8",
                size,
                lambda u8=u8: functional.avg_pool2d(functional.pad(u8[None, None].float(), (15,) * 4), 31, 1)[0, 0]
                .add(0.5).floor().to(torch.uint8),
                lambda u8=u8: boxsum.box_filter(u8, 31, border="constant"),
                1,  # means of float32 round another way where they lie between two integers
            )


def cupy_rows() -> Iterator[Row]:
    import cupy
    from cupyx.scipy.ndimage import uniform_filter

    for size in SIZES:
        u8, f32 = cupy.asarray(pixels(size, "uint8")), cupy.asarray(pixels(size, "float32")) / 256
        f32 = f32.astype(cupy.float32)
        yield Row(
            "cupy",
            "cumsum twice u8 -> u64",
            size,
            lambda u8=u8: cupy.cumsum(cupy.cumsum(u8, 0, dtype=cupy.uint64), 1),
            lambda u8=u8: boxsum.sat(u8),
        )
        for name, image, rounding, tolerance in (("u8", u8, "floor", 2), ("f32", f32, "half_up", 1e-4)):
            yield Row(
                "cupy",
                f"cupyx uniform_filter(31) {name}",
                size,
                lambda image=image: uniform_filter(image, 31),
                lambda image=image, rounding=rounding: boxsum.box_filter(image, 31, rounding=rounding),
                tolerance,  # integers are cut off after each axis there
            )


def cucim_rows() -> Iterator[Row]:
    import cupy
    from cucim.skimage.filters import threshold_sauvola
    from cucim.skimage.transform import integral_image

    for size in (2048, 4096):
        u8 = cupy.asarray(pixels(size, "uint8"))
        yield Row("cucim", "integral_image u8", size, lambda u8=u8: integral_image(u8), lambda u8=u8: boxsum.sat(u8))
        yield Row(
            "cucim",
            "u8 > threshold_sauvola(31)",
            size,
            lambda u8=u8: u8 > threshold_sauvola(u8, 31),
            lambda u8=u8: boxsum.threshold(u8, 31, border="mirror"),
            1e-5,  # thresholds of float32 there; boxsum decides by integers
        )


def kornia_rows() -> Iterator[Row]:
    import torch
    from kornia.filters import box_blur

    import boxsum.torch

    for size in (2048, 4096):
        image = torch.from_numpy(pixels(size, "float32")).cuda()[None, None] / 256
        yield Row(
            "kornia",
            "box_blur(31) f32",
            size,
            lambda image=image: box_blur(image, 31),
            lambda image=image: boxsum.torch.box_filter(image, 31, border="mirror"),
            1e-4,
        )


ROWS = {"torch": torch_rows, "cupy": cupy_rows, "cucim": cucim_rows, "kornia": kornia_rows}


def synchronize(framework: str) -> None:
    if framework in ("torch", "kornia"):
        sys.modules["torch"].cuda.synchronize()
    else:
        sys.modules["cupy"].cuda.Device().synchronize()


def microseconds_of(framework: str, call: Callable[[], Any], count: int) -> float:
    synchronize(framework)
    start = time.perf_counter()
    for _ in range(count):
        call()
    synchronize(framework)
    return (time.perf_counter() - start) / count * 1e6


def repetitions(framework: str, call: Callable[[], Any]) -> int:
    """As many calls as take ten milliseconds, so that the wait behind them is a part in a hundred."""
    call()
    one = min(microseconds_of(framework, call, 1) for _ in range(3))
    return max(3, min(2000, int(1e4 / one)))


def in_a_graph(call: Callable[[], Any], count: int) -> Callable[[], Any]:
    """What replays `count` calls."""
    import torch

    graph = torch.cuda.CUDAGraph()
    call()
    with torch.cuda.graph(graph):
        for _ in range(count):
            call()
    return graph.replay


def on_host(array: Any) -> Any:
    return array.cpu().numpy() if hasattr(array, "cpu") else array.get()


def measure(row: Row, seconds: float) -> dict[str, Any]:
    theirs, ours = on_host(row.peer()), on_host(row.ours())
    difference = np.inf
    if theirs.shape == ours.shape:
        differences = np.abs(theirs.astype(np.float64) - ours.astype(np.float64))
        # Of decisions, how many differ.
        difference = differences.mean() if theirs.dtype == bool else differences.max()
    result: dict[str, Any] = {"framework": row.framework, "name": row.name, "n": row.size}
    if not difference <= row.tolerance:
        return {**result, "check": f"differs by {difference:g}, allowed are {row.tolerance:g}"}
    result["check"] = "equal" if row.tolerance == 0 else f"within {row.tolerance:g}"
    del theirs, ours
    counts = [repetitions(row.framework, call) for call in (row.peer, row.ours)]
    calls: list[Callable[[], Any]] = [row.peer, row.ours]
    per_replay = 20
    if row.framework == "torch":
        calls.append(in_a_graph(row.ours, per_replay))
        counts.append(max(1, counts[1] // per_replay))
    best = [np.inf] * len(calls)
    rounds, start = 0, time.perf_counter()
    while rounds < 5 or time.perf_counter() - start < seconds:
        for i, call in enumerate(calls):
            best[i] = min(best[i], microseconds_of(row.framework, call, counts[i]))
        rounds += 1
    result |= {"rounds": rounds, "peer_us": best[0], "us": best[1], "ratio": best[0] / best[1]}
    if row.framework == "torch":
        result["graph_us"] = best[2] / per_replay
        result["x_of_graph"] = best[1] / result["graph_us"]
    return result


def marks(row: dict[str, Any]) -> dict[str, bool]:
    """Which of its marks a row reaches."""
    if "us" not in row:
        return {}
    found = {}
    if row["n"] == 256 and row["framework"] in ("torch", "cupy"):
        found[f"at most {MOST_US} us"] = row["us"] <= MOST_US
    if row["n"] >= 2048 and "x_of_graph" in row:
        found[f"at most {MOST_OVER_GRAPH} of a graph's time"] = row["x_of_graph"] <= MOST_OVER_GRAPH
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", default="", help="only rows whose framework or name contain this")
    parser.add_argument("--seconds", type=float, default=0.4, help="for each row (default 0.4), at least five rounds")
    given = parser.parse_args()
    wrong = 0
    for module, make in ROWS.items():
        try:
            importlib.import_module(module)
        except ImportError:
            print(json.dumps({"left_out": module}), flush=True)
            continue
        for row in make():
            if given.rows not in f"{row.framework} {row.name}":
                continue
            found = measure(row, given.seconds)
            wrong += "us" not in found
            print(json.dumps({**found, "marks": marks(found)}), flush=True)
    distributions = ("numpy", "torch", "cupy-cuda13x", "cucim-cu13", "kornia")
    versions = {"boxsum": boxsum.__version__}
    for name in distributions:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    print(json.dumps({"versions": versions}), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
