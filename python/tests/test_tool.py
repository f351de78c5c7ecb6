"""The bits of the command-line tool, which reaches the library without Python. Where it is not built, nothing is tested."""

from __future__ import annotations

import pathlib
import subprocess

import numpy as np
import pytest
import reference

import boxsum

TOOL = pathlib.Path(boxsum.__file__).parents[2] / "bin" / "boxsum"
pytestmark = pytest.mark.skipif(not TOOL.is_file(), reason="the tool is not built")


def by_the_tool(folder, command, image, *options, outputs=None):
    """What the tool writes for an image: one array, or one for each of the options in `outputs`."""
    given = folder / "in.npy"
    np.save(given, image)
    if outputs is None:
        written = [folder / "out.npy"]
        arguments = [given, written[0], *options]
    else:
        written = [folder / f"{name}.npy" for name in outputs]
        named = zip(outputs, written, strict=True)
        arguments = [given, *options, *(part for name, file in named for part in (f"--{name}", file))]
    subprocess.run([TOOL, command, "--quiet", *map(str, arguments)], check=True)
    results = [np.load(file) for file in written]
    return results[0] if outputs is None else results


@pytest.mark.parametrize("layout", reference.LAYOUTS)
def test_tables(tmp_path, layout):
    for dtype, table in (("uint8", "64u"), ("int16", "64s"), ("uint16", "32u"), ("float32", "64f"), ("float64", "64f")):
        image = reference.random_image((300, 417), dtype, 1)
        kind = {"u": "uint", "s": "int", "f": "float"}[table[2]] + table[:2]
        found = by_the_tool(tmp_path, "table", image, "--layout", layout, "--table-type", table)
        expected = boxsum.sat(image, layout=layout, dtype=kind)
        assert found.dtype == expected.dtype and found.tobytes() == expected.tobytes(), dtype


def test_filters(tmp_path):
    for dtype in ("uint8", "uint16", "float32"):
        image = reference.random_image((300, 417), dtype, 2)
        for border in ("shrink", "mirror"):
            say, here = ("--border", border), {"border": border}
            pairs = [
                (by_the_tool(tmp_path, "blur", image, "-r", "5", *say), boxsum.box_filter(image, 11, **here)),
                (
                    by_the_tool(tmp_path, "guided", image, "-r", "2", *say),
                    boxsum.guided_filter(image, 5, **here),
                ),
                (
                    by_the_tool(tmp_path, "denoise", image[:40], "-r", "2", "--patch", "1", *say),
                    boxsum.non_local_means(image[:40], 5, patch=3, **here),
                ),
                (
                    by_the_tool(tmp_path, "threshold", image, "--method", "niblack", "-w", "9,15", *say),
                    boxsum.threshold(image, (9, 15), method="niblack", result="binary", **here),
                ),
                (by_the_tool(tmp_path, "normalize", image, "-w", "9", *say), boxsum.local_contrast(image, 9, **here)),
                *zip(
                    by_the_tool(tmp_path, "stats", image, "-w", "9", *say, outputs=("mean", "std", "variance")),
                    boxsum.local_statistics(image, 9, results=("mean", "std", "var"), dtype="float32", **here),
                    strict=True,
                ),
            ]
            for number, (found, expected) in enumerate(pairs):
                assert (found.dtype, found.shape) == (expected.dtype, expected.shape), (dtype, border, number)
                assert found.tobytes() == expected.tobytes(), (dtype, border, number)
