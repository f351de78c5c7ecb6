"""The examples run, and mypy --strict sees what they say of types."""

from __future__ import annotations

import inspect
import pathlib
import re
import runpy

import pytest

import boxsum

EXAMPLES = sorted((pathlib.Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs(path, capsys):
    runpy.run_path(str(path))
    assert path.stem == "signatures" or capsys.readouterr().out


def test_signatures_has_every_function():
    text = (EXAMPLES[0].parent / "signatures.py").read_text()
    functions = {name for name in boxsum.__all__ if inspect.isfunction(getattr(boxsum, name))}
    assert functions - set(re.findall(r"boxsum\.(\w+)\(", text)) == set()
