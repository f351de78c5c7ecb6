"""The package as a whole: documentation, types and names agree with what there is."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import boxsum
from boxsum import _core

FOLDER = pathlib.Path(boxsum.__file__).parent
MODULES = [
    "boxsum",
    *(f"boxsum.{path.stem}" for path in FOLDER.glob("*.py") if path.stem not in ("__init__", "__main__")),
]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_the_documentation(name):
    failed, _ = doctest.testmod(importlib.import_module(name))
    assert failed == 0


def public_functions():
    for name in boxsum.__all__:
        one = getattr(boxsum, name)
        if inspect.isfunction(one):
            yield name, one
        elif inspect.isclass(one) and not issubclass(one, (Exception, boxsum.Box, boxsum.Match)):
            for method, function in inspect.getmembers(one, lambda f: inspect.isfunction(f) or inspect.ismethod(f)):
                if function.__module__.startswith("boxsum") and not method.startswith("_"):
                    yield f"{name}.{method}", function


OF_THE_MACHINE = {"algorithms", "get_num_threads", "info", "num_threads", "set_num_threads", "verify"}


@pytest.mark.parametrize(("name", "function"), list(public_functions()), ids=lambda one: one if isinstance(one, str) else "")
def test_functions_are_documented(name, function):
    text = inspect.getdoc(function) or ""
    assert ">>> " in text
    shared = inspect.getdoc(boxsum.box_sum) if name.startswith("box_") else ""  # which these refer to
    parameters = [one for one in inspect.signature(function).parameters if one != "self"]
    missing = [one for one in parameters if one not in text + shared]
    assert missing == []
    if name not in OF_THE_MACHINE and "." not in name:
        for section in ("Returns:", "Raises:", "Source:"):
            assert section in text + shared, section


def test_classes_and_modules_are_documented():
    classes = {name: one for name in boxsum.__all__ if inspect.isclass(one := getattr(boxsum, name))}
    for name, one in classes.items():
        if not issubclass(one, Exception) and name not in ("PipelineReport", "TaskWorker"):  # in a method, in TasksReport
            assert ">>> " in (inspect.getdoc(one) or ""), name
    for module in (boxsum.cuda, boxsum.memory):
        for name, one in vars(module).items():
            if getattr(one, "__module__", "") == module.__name__ and not name.startswith("_"):
                text = inspect.getdoc(one) or ""
                assert text and not text.startswith(f"{name}("), name
                assert inspect.isclass(one) or ">>> " in text, name


REFERENCE = pathlib.Path(__file__).parent.parent.parent / "docs" / "site" / "reference"
ELSEWHERE = {"__version__", "cuda", "errors", "memory"}  # modules, and what needs no page
ELSEWHERE |= {name for name in boxsum.__all__ if inspect.isclass(one := getattr(boxsum, name)) and issubclass(one, Exception)}


def test_every_name_is_in_the_reference():
    listed = set(re.findall(r"^.. auto(?:function|class):: (\w+)$", (REFERENCE / "python.rst").read_text(), re.MULTILINE))
    assert set(boxsum.__all__) - ELSEWHERE == listed


def test_every_name_of_torch_is_in_the_reference():
    tree = ast.parse((FOLDER / "torch" / "__init__.py").read_text())
    (names,) = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)]
    listed = re.findall(r"^.. auto(?:function|class):: (\w+)$", (REFERENCE / "torch.rst").read_text(), re.MULTILINE)
    assert sorted(names) == sorted(listed)


def test_typed():
    assert (FOLDER / "py.typed").exists()


def test_stubs_have_the_names_of_the_module():
    tree = ast.parse((FOLDER / "_core.pyi").read_text())
    in_stubs = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    in_module = {name for name in dir(_core) if not name.startswith("_")}
    assert set(in_stubs) == in_module
    for name, node in in_stubs.items():
        signature = getattr(_core, name).__nb_signature__[0][0]
        assert len(re.findall(r"arg\d*:", signature)) == len(node.args.posonlyargs), name


@pytest.mark.skipif(shutil.which("nm") is None, reason="no nm")
def test_the_module_shows_only_how_it_is_started():
    # What else it showed, another module's C++ library could be given in place of its own.
    shown = subprocess.run(["nm", "-D", "--defined-only", _core.__file__], capture_output=True, text=True, check=True)
    assert [line.split()[-1] for line in shown.stdout.splitlines()] == ["PyInit__core"]


def test_parts_are_imported_when_they_are_named():
    program = (
        "import boxsum, sys\n"
        "assert not {'boxsum.compat', 'boxsum.torch', 'torch'} & set(sys.modules)\n"
        "print(boxsum.compat.report(), hasattr(boxsum, 'tensorflow'))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "{} False\n"


def test_sources_without_the_module_say_where_to_run(tmp_path):
    (tmp_path / "boxsum").mkdir()
    (tmp_path / "boxsum" / "__init__.py").write_text((FOLDER / "__init__.py").read_text())
    ran = subprocess.run([sys.executable, "-c", "import boxsum"], capture_output=True, text=True, cwd=tmp_path,
                         env={key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONSAFEPATH")})
    last = ran.stderr.strip().splitlines()[-1]
    assert last.startswith(f"ImportError: boxsum: {tmp_path / 'boxsum'} has no compiled module for Python 3.")
    assert "run it in another folder" in last


def test_algorithms_and_verification():
    for operation in ("sat", "histogram", "convolve"):
        algorithms = boxsum.algorithms(operation)
        assert algorithms and all(one.operation == operation for one in algorithms)
        assert any(one.built and one.backend == "cpu" for one in algorithms)
    heard = []
    (total,) = boxsum.verify("histogram", "sequential", report=lambda *case: heard.append(case))
    assert total.failed == 0 and total.passed > 50
    assert len(heard) == total.passed + total.skipped
    assert {case[1] for case in heard} <= {"passed", "skipped"}


def test_information():
    info = boxsum.info()
    assert info.version == boxsum.__version__
    assert info.cuda_built == boxsum.cuda.built()
    assert info.devices == boxsum.cuda.device_count()
    assert ("uint8", "uint32") in info.type_pairs
    if not info.cuda_built:
        assert info.devices == 0
