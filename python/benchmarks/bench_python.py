"""Times boxsum's Python functions beside those of the libraries that people use now, in one process, on the CPU.

Each row is a call of another library and boxsum's, on the same pixels, with one thread each. Results are compared
first; then both are called in turn, and the shortest times count, of which none is a turn's first. NumPy's copy of as
many bytes as image and result have takes turns with them. Rows of libraries that are not installed are left out, and the
record says so.

    bench_python.py [--rows WORDS] [--seconds S] [--json FILE] [--against FILE]

--against: a record of before; a row whose ratio is a tenth or more below it is measured again, four times as long, and is a
failure if it is so then, too.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import pathlib
import platform
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import boxsum

LIBRARIES = {  # module -> distribution
    "numpy": "numpy",
    "skimage": "scikit-image",
    "scipy": "scipy",
    "cv2": "opencv-contrib-python-headless",
    "astropy": "astropy",
    "torch": "torch",
    "kornia": "kornia",
}


class Row(NamedTuple):
    name: str
    size: int
    peer: Callable[[], Any]
    ours: Callable[[], Any]
    image: Any
    """What both read."""
    target: float | None
    """How many times as fast boxsum is to be."""
    tolerance: float = 0
    """Of results, absolute."""
    target_us: float | None = None
    """How long boxsum's call may take."""


def image_of(size: int, dtype: str) -> Any:
    rng = np.random.default_rng(size)
    if np.dtype(dtype).kind == "u":
        return rng.integers(0, 256, (size, size), dtype=dtype)
    return rng.random((size, size), dtype=np.float64).astype(dtype)


def pooled(size: int, more: int, dtype: Any) -> Any:
    """A table's memory as Table.build() makes it: rows on 64 bytes, of small padded tables but for their zeros."""
    item = np.dtype(dtype).itemsize
    wide = (size + more) * item
    pitch = -(-wide // 64) * 64
    raw = np.zeros(((size + more) * pitch + 128,), np.uint8)
    ahead = more * item if (size + more) * pitch <= 32 << 20 else 0
    first = -(raw.ctypes.data + ahead) % 64
    rows = raw[first : first + (size + more) * pitch].reshape(size + more, pitch)[:, :wide]
    return rows.view(dtype)


def numpy_rows() -> Iterator[Row]:
    for size in (16, 512, 4096):
        u8, out = image_of(size, "uint8"), pooled(size, 0, np.uint64)
        small = size == 16
        yield Row(
            "numpy.cumsum twice u8 -> u64",
            size,
            lambda u8=u8: np.cumsum(np.cumsum(u8, 0, dtype=np.uint64), 1),
            (lambda u8=u8: boxsum.sat(u8)) if small else (lambda u8=u8, out=out: boxsum.sat(u8, out=out)),
            u8,
            None if small else 80 if size == 4096 else None,
            target_us=1.2 if small else None,
        )


def skimage_rows() -> Iterator[Row]:
    from skimage.filters import threshold_local, threshold_sauvola
    from skimage.transform import integral_image

    for size in (512, 4096):
        u8, out = image_of(size, "uint8"), pooled(size, 0, np.uint64)
        yield Row(
            "skimage integral_image u8",
            size,
            lambda u8=u8: integral_image(u8),
            lambda u8=u8, out=out: boxsum.sat(u8, out=out),
            u8,
            80,
        )
        mask = np.zeros(u8.shape, bool)
        yield Row(
            "u8 > skimage threshold_sauvola(31)",
            size,
            lambda u8=u8: u8 > threshold_sauvola(u8, 31),
            lambda u8=u8, mask=mask: boxsum.threshold(u8, 31, border="mirror", out=mask),
            u8,
            30 if size == 4096 else 20,
        )
    yield Row(
        'u8 > skimage threshold_local(31, "mean"), boxsum bradley with k = 0',
        size,
        lambda: u8 > threshold_local(u8, 31, "mean"),
        lambda: boxsum.threshold(u8, 31, method="bradley", k=0, border="reflect", out=mask),
        u8,
        40,
        tolerance=np.inf,  # pixels that are their window's mean: scikit-image's is rounded to either side
    )


def cv2_rows() -> Iterator[Row]:
    import cv2

    cv2.setNumThreads(1)
    small = image_of(16, "uint8")
    yield Row(
        "cv2.integral u8",
        16,
        lambda: cv2.integral(small),
        lambda: boxsum.sat(small, layout="padded", dtype=np.int32),
        small,
        None,
        target_us=1.2,
    )
    for size in (512, 4096):
        u8, f32 = image_of(size, "uint8"), image_of(size, "float32")
        into, out = np.zeros((size + 1, size + 1), np.int32), pooled(size, 1, np.int32)
        yield Row(
            "cv2.integral u8, fresh results",
            size,
            lambda u8=u8: cv2.integral(u8),
            lambda u8=u8: boxsum.Table.build(u8, dtype=np.int32).values,
            u8,
            1.4 if size == 512 else 3.5,
        )
        yield Row(
            "cv2.integral u8, results given",
            size,
            lambda u8=u8, into=into: cv2.integral(u8, into),
            lambda u8=u8, out=out: boxsum.sat(u8, layout="padded", dtype=np.int32, out=out),
            u8,
            1.1 if size == 4096 else None,
        )
        wide = pooled(size, 1, np.float64)
        yield Row(
            "cv2.integral f32 -> f64",
            size,
            lambda f32=f32: cv2.integral(f32),
            lambda f32=f32, wide=wide: boxsum.sat(f32, layout="padded", out=wide),
            f32,
            3.4 if size == 512 else 5.5,
            tolerance=1e-5,
        )
        for name, image, target in (("u8", u8, 1.7), ("f32", f32, 1.2)):
            result, other = np.zeros_like(image), np.zeros_like(image)
            yield Row(
                f"cv2.blur(31) {name}",
                size,
                lambda image=image, other=other: cv2.blur(image, (31, 31), other),
                lambda image=image, result=result: boxsum.box_filter(image, 31, border="mirror", out=result),
                image,
                target,
                tolerance=1e-5 if name == "f32" else 0,
            )
    mask = np.zeros(u8.shape, np.uint8)
    yield Row(
        "cv2.adaptiveThreshold(mean, 31) u8, boxsum bradley with k = 0",
        size,
        lambda: cv2.adaptiveThreshold(u8, 255, cv2.ADAPTIVE_THRESH_MEAN_C, cv2.THRESH_BINARY, 31, 0),
        lambda: boxsum.threshold(u8, 31, method="bradley", k=0, border="replicate", result="binary", out=mask),
        u8,
        2,
        tolerance=np.inf,  # OpenCV compares with the mean rounded to an integer
    )


def scipy_rows() -> Iterator[Row]:
    from scipy.ndimage import uniform_filter

    from boxsum.compat.scipy import ndimage

    size = 4096
    for dtype, target in (("uint8", 35), ("float32", 10)):
        image = image_of(size, dtype)
        out = np.zeros_like(image)
        exact = dtype == "uint8"
        yield Row(
            f"scipy uniform_filter(31) {dtype}" + (", boxsum rounds once" if exact else ""),
            size,
            lambda image=image: uniform_filter(image, 31),
            lambda image=image, out=out: boxsum.box_filter(image, 31, rounding="floor", out=out),
            image,
            target,
            tolerance=2 if exact else 1e-5,
        )
    u8 = image_of(size, "uint8")
    yield Row(
        "scipy uniform_filter(31) uint8, by boxsum.compat",
        size,
        lambda: uniform_filter(u8, 31),
        lambda: ndimage.uniform_filter(u8, 31),
        u8,
        35,
    )


def astropy_rows() -> Iterator[Row]:
    from astropy.convolution import Box2DKernel, convolve, convolve_fft

    image = image_of(1024, "float64")
    kernel = Box2DKernel(31)
    out = np.zeros_like(image)
    for name, function, target in (("convolve", convolve, None), ("convolve_fft", convolve_fft, 60)):
        yield Row(
            f"astropy {name}(Box2DKernel(31)) f64",
            1024,
            lambda function=function: function(image, kernel, boundary="fill"),
            lambda: boxsum.box_filter(image, 31, border="constant", out=out),
            image,
            target,
            tolerance=1e-9,
        )


def torch_rows() -> Iterator[Row]:
    import torch
    from torch.nn import functional

    import boxsum.torch

    torch.set_num_threads(1)
    small = torch.from_numpy(image_of(16, "float32"))
    yield Row(
        "torch.cumsum twice f32, boxsum f64",
        16,
        lambda: small.cumsum(0).cumsum(1),
        lambda: boxsum.sat(small),
        small,
        None,
        tolerance=1e-3,
        target_us=2,
    )
    large, out = torch.from_numpy(image_of(4096, "float32")), torch.zeros(4096, 4096, dtype=torch.float64)
    yield Row(
        "torch.cumsum twice f32, boxsum f64",
        4096,
        lambda: large.cumsum(0).cumsum(1),
        lambda: boxsum.sat(large, out=out),
        large,
        40,
        tolerance=np.inf,  # float32 tables of so many pixels are far off
    )
    for size in (512, 1024):
        image = torch.from_numpy(image_of(size, "float32"))[None, None]
        yield Row(
            "torch avg_pool2d(31, 1, 15) f32",
            size,
            lambda image=image: functional.avg_pool2d(image, 31, 1, 15),
            lambda image=image: boxsum.torch.box_pool2d(image, 31, 1, 15),
            image,
            400,
            tolerance=1e-5,
        )


def kornia_rows() -> Iterator[Row]:
    import torch
    from kornia.filters import box_blur

    import boxsum.torch

    torch.set_num_threads(1)
    for size, target in ((512, 20), (1024, 40)):
        image = torch.from_numpy(image_of(size, "float32"))[None, None]
        yield Row(
            "kornia box_blur(31) f32",
            size,
            lambda image=image: box_blur(image, 31),
            lambda image=image: boxsum.torch.box_filter(image, 31, border="mirror"),
            image,
            target,
            tolerance=1e-5,
        )


ROWS = {
    "numpy": numpy_rows,
    "skimage": skimage_rows,
    "cv2": cv2_rows,
    "scipy": scipy_rows,
    "astropy": astropy_rows,
    "torch": torch_rows,
    "kornia": kornia_rows,
}


def seconds_of(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def repetitions(call: Callable[[], Any]) -> int:
    """As many calls as take some milliseconds."""
    one = min(seconds_of(call, 1) for _ in range(3))
    return max(1, min(20000, int(2e-3 / max(one, 1e-8))))


def turn(call: Callable[[], Any], count: int) -> float:
    """The shortest time of a turn, behind a call that pays for what the one before has left in the caches."""
    call()
    best = np.inf
    start = time.perf_counter()
    while best == np.inf or time.perf_counter() - start < 1e-2:
        best = min(best, seconds_of(call, count))
    return best


def copy_of(count: int) -> Callable[[], Any]:
    """A copy that reads and writes so many bytes, together."""
    source = np.ones(count // 2, np.uint8)
    target = np.zeros_like(source)
    return lambda: np.copyto(target, source)


def measure(row: Row, seconds: float) -> dict[str, Any]:
    theirs, ours = np.asarray(row.peer()), np.asarray(row.ours())
    correct = theirs.shape == ours.shape
    if correct and np.isfinite(row.tolerance):
        correct = bool((np.abs(theirs.astype(np.float64) - ours.astype(np.float64)) <= row.tolerance).all())
    calls = [row.peer, row.ours, copy_of(np.asarray(row.image).nbytes + ours.nbytes)]
    del theirs, ours
    counts = [repetitions(call) for call in calls]
    best = [np.inf] * len(calls)
    rounds = 0
    start = time.perf_counter()
    while rounds < 5 or time.perf_counter() - start < seconds:
        best = [min(one, turn(call, count)) for one, call, count in zip(best, calls, counts, strict=True)]
        rounds += 1
    result = {
        "name": row.name,
        "size": row.size,
        "correct": correct,
        "rounds": rounds,
        "peer_us": best[0] * 1e6,
        "boxsum_us": best[1] * 1e6,
        "copy_us": best[2] * 1e6,
        "ratio": best[0] / best[1],
        "target_ratio": row.target,
        "target_us": row.target_us,
    }
    return result


def reached(row: dict[str, Any]) -> bool:
    ratio = row["target_ratio"] is None or row["ratio"] >= row["target_ratio"]
    return ratio and (row["target_us"] is None or row["boxsum_us"] <= row["target_us"])


def line_of(row: dict[str, Any]) -> str:
    targets = []
    if row["target_ratio"] is not None:
        targets.append(f"{row['target_ratio']:g} times")
    if row["target_us"] is not None:
        targets.append(f"at most {row['target_us']:g} us")
    verdict = (" reached" if reached(row) else " MISSED") if targets else ""
    wrong = "" if row["correct"] else "  WRONG RESULTS"
    return (
        f"{row['name']:70} {row['size']:5}  {row['peer_us'] / 1000:10.4f} ms  {row['boxsum_us'] / 1000:10.4f} ms"
        f"  copy {row['copy_us'] / 1000:8.4f} ms  {row['ratio']:7.2f}  {', '.join(targets)}{verdict}{wrong}"
    )


def slower(rows: list[dict[str, Any]], before: dict[str, Any]) -> list[str]:
    old = {(row["name"], row["size"]): row["ratio"] for row in before["rows"]}
    return [
        f"{row['name']}, {row['size']}: {row['ratio']:.2f} times as fast, was {old[row['name'], row['size']]:.2f}"
        for row in rows
        if (row["name"], row["size"]) in old and row["ratio"] < 0.9 * old[row["name"], row["size"]]
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", default="", help="only rows whose names contain this")
    parser.add_argument("--seconds", type=float, default=3, help="for each row (default 3), at least five rounds")
    parser.add_argument("--json", type=pathlib.Path, help="write a record here")
    parser.add_argument("--against", type=pathlib.Path, help="an earlier record")
    given = parser.parse_args()
    before = json.loads(given.against.read_text(encoding="utf-8")) if given.against else {"rows": []}
    boxsum.set_num_threads(1)
    versions: dict[str, str] = {"python": platform.python_version(), "boxsum": boxsum.__version__}
    left_out, rows = [], []
    for module, make in ROWS.items():
        try:
            importlib.import_module(module)
        except ImportError:
            left_out.append(module)
            continue
        versions[module] = importlib.metadata.version(LIBRARIES[module])
        for row in make():
            if given.rows not in row.name:
                continue
            rows.append(measure(row, given.seconds))
            print(line_of(rows[-1]), flush=True)
            if slower(rows[-1:], before):
                rows[-1] = measure(row, 4 * given.seconds)
                print(line_of(rows[-1]), flush=True)
    information = boxsum.info()
    record = {
        "machine": {"instruction_set": information.instruction_set, "threads": information.threads, "used_threads": 1},
        "versions": versions,
        "left_out": left_out,
        "rows": rows,
    }
    if given.json:
        given.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    problems = [f"{row['name']}, {row['size']}: wrong results" for row in rows if not row["correct"]]
    problems += slower(rows, before)
    for problem in problems:
        print(f"boxsum: error: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
