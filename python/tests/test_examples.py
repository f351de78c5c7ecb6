"""The examples run, and mypy --strict sees what they say of types."""

from __future__ import annotations

import inspect
import pathlib
import re
import runpy

import pytest

import numpy as np

import boxsum

EXAMPLES = sorted((pathlib.Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs(path, capsys):
    runpy.run_path(str(path))
    assert path.stem == "signatures" or capsys.readouterr().out


GIVEN = {
    "boxsum.Table.build(heights": {
        "boxsum": boxsum,
        "heights": np.where(np.arange(600).reshape(20, 30) % 7 == 0, -9999, np.arange(600).reshape(20, 30)).astype(np.int16),
        "regions": np.array([[0, 0, 20, 30], [3, 4, 5, 6]]),
    },
    "boxsum.histogram_pipeline": {
        "boxsum": boxsum,
        "frames": np.arange(1800, dtype=np.uint16).reshape(3, 20, 30),
        "regions": np.array([[0, 0, 20, 30], [3, 4, 5, 6]]),
    },
    "boxsum.compat.skimage": {},
}
"""What a block of code in the page takes for granted, by words that it has."""
PAGE = pathlib.Path(__file__).parent.parent.parent / "docs" / "python.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("code", BLOCKS, ids=lambda code: code.split("(")[0].split("\n")[0])
def test_code_of_the_page_runs(code):
    for module in set(re.findall(r"boxsum\.compat\.(\w+)", code)):
        pytest.importorskip(module)
    (names,) = [names for words, names in GIVEN.items() if words in code]
    exec(compile(code, str(PAGE), "exec"), dict(names))


def test_signatures_has_every_function():
    text = (EXAMPLES[0].parent / "signatures.py").read_text()
    functions = {name for name in boxsum.__all__ if inspect.isfunction(getattr(boxsum, name))}
    assert functions - set(re.findall(r"boxsum\.(\w+)\(", text)) == set()
