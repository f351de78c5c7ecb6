"""The examples run, and mypy --strict sees what they say of types."""

from __future__ import annotations

import pathlib
import runpy

import pytest

EXAMPLES = sorted((pathlib.Path(__file__).parent.parent / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs(path, capsys):
    runpy.run_path(str(path))
    assert path.stem == "signatures" or capsys.readouterr().out
