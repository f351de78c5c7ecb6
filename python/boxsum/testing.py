"""A plugin of pytest's: other libraries' own tests, with their functions computed by boxsum.

``pytest -p boxsum.testing --boxsum-patch=skimage,scipy --pyargs skimage.transform.tests.test_integral``

Functions are replaced before a test module is imported; the end of the run says how many calls were computed by boxsum
and how many went to the original, and why. A run in which boxsum computed nothing fails, as it shows nothing.
"""

from __future__ import annotations

import importlib
from typing import Any

import pytest

from boxsum.compat._drop_in import drop_ins, install, lines_of_report, report


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("boxsum")
    group.addoption("--boxsum-patch", metavar="LIBRARIES", help="replace functions of these, separated by commas")


def _mark() -> None:
    """SciPy's tests look functions up in a table of its own, which then has the replacements, too."""
    table = getattr(importlib.import_module("scipy._lib._array_api"), "xp_capabilities_table", {})
    for one in drop_ins("scipy"):
        if one.original() in table:
            table[one.function] = table[one.original()]


def pytest_configure(config: pytest.Config) -> None:
    libraries = config.getoption("--boxsum-patch")
    if libraries:
        config.add_cleanup(install(*libraries.split(",")))
        if "scipy" in libraries.split(","):
            _mark()


def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    wanted = session.config.getoption("--boxsum-patch")
    if wanted and exitstatus == 0 and not any(calls.computed for calls in report().values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: Any) -> None:
    if terminalreporter.config.getoption("--boxsum-patch"):
        terminalreporter.section("calls of replaced functions")
        for line in lines_of_report():
            terminalreporter.write_line(line)
