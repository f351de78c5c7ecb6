#!/usr/bin/env python3
"""scripts/mutants: what it makes of a file, of a test's output, and of a build, with a compiler that only notes its commands."""

import importlib.machinery
import importlib.util
import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
loader = importlib.machinery.SourceFileLoader("mutants_driver", str(ROOT / "scripts" / "mutants"))
driver = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants_driver", loader))
loader.exec_module(driver)
Mutant = type(driver.MUTANTS[0])


def mutant(text, replacement, file="src/core/view_checks.cpp"):
    return Mutant("a_name", "something", file, "views", "*", text, replacement)


class Texts(unittest.TestCase):
    def test_all_occurrences_are_replaced(self):
        source = (ROOT / "src/core/view_checks.cpp").read_text()
        self.assertGreater(source.count("throw"), 1)
        self.assertEqual(driver.mutated(mutant("throw", "return")), source.replace("throw", "return"))

    def test_a_text_that_is_not_there_is_an_error(self):
        self.assertRaisesRegex(LookupError, "view_checks.cpp has no 'no such text'", driver.mutated, mutant("no such text", ""))
        self.assertRaisesRegex(LookupError, "has no", driver.mutated, mutant("throw", "", "src/core/no_such_file.cpp"))

    def test_a_replacement_that_changes_nothing_is_an_error(self):
        self.assertRaises(LookupError, driver.mutated, mutant("throw", "throw"))


class Arguments(unittest.TestCase):
    def test_an_option_that_is_none_gets_the_usage(self):
        for words in ([], ["--help"], ["--few"], ["--few", "--check", "build"]):
            with mock.patch.object(sys, "argv", ["mutants", *words]):
                self.assertRaisesRegex(SystemExit, "scripts/mutants BUILD_FOLDER", driver.main)


class Outputs(unittest.TestCase):
    def test_the_failed_test_is_named(self):
        self.assertEqual(driver.killer(1, "[ RUN      ] a.b\n[       OK ] a.b\n[ RUN      ] a.c/0\n[  FAILED  ] a.c/0 (3 ms)\n"), "a.c/0")

    def test_the_test_in_which_a_program_ended_is_named(self):
        self.assertEqual(driver.killer(-11, "[ RUN      ] a.b\n"), "a.b (exit status -11)")
        self.assertEqual(driver.killer(124, "[ RUN      ] a.b\n"), "a.b (out of time)")


class Judging(unittest.TestCase):
    """One variant in a build whose compiler and linker are little programs."""

    def judged(self, compiler, linked):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "program").write_text(linked)
            (folder / "program").chmod(0o755)
            tools = {"cc": compiler, "ld": f'while [ "$1" != -o ]; do shift; done\ncp {folder}/program "$2"'}
            for tool, script in tools.items():
                (folder / tool).write_text(f"#!/bin/sh\n{script}\n")
                (folder / tool).chmod(0o755)
            source = ROOT / "src/core/view_checks.cpp"
            command = f"{folder}/cc -o src/CMakeFiles/boxsum.dir/x.o -c {source}"
            (folder / "compile_commands.json").write_text(json.dumps([{"file": str(source), "command": command}]))
            build = driver.Build(folder)
            build.link = lambda target: [f"{folder}/ld", "tests/main.o", "-o", f"tests/{target}", "libboxsum.a"]
            return driver.judge(build, mutant("throw", "return"))

    def test_a_failing_test_kills(self):
        verdict, why = self.judged("exit 0", "#!/bin/sh\necho '[  FAILED  ] some.test'; exit 1")
        self.assertEqual((verdict, why), ("killed", "some.test"))

    def test_a_passing_test_lets_it_survive(self):
        self.assertEqual(self.judged("exit 0", "#!/bin/sh\nexit 0")[0], "survived")

    def test_what_does_not_compile_is_not_killed(self):
        verdict, why = self.judged("echo 'no such name'; exit 1", "#!/bin/sh\nexit 1")
        self.assertEqual(verdict, "error")
        self.assertIn("no such name", why)

    def test_the_programs_own_object_is_replaced(self):
        """Also where the library, which comes first, compiles the source in another way."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            source = ROOT / "src/core/view_checks.cpp"
            objects = ("src/CMakeFiles/boxsum.dir/x.o", "tests/CMakeFiles/own_objects.dir/x.o")
            (folder / "compile_commands.json").write_text(json.dumps(
                [{"file": str(source), "command": f"cc -o {one} -c {source}"} for one in objects]))
            build = driver.Build(folder)
            self.assertEqual(build.compile_command("src/core/view_checks.cpp", [objects[1]])[0], objects[1])
            self.assertEqual(build.compile_command("src/core/view_checks.cpp", [])[0], None)


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1)
