#!/usr/bin/env python3
"""What scripts/gpu_record.py writes and asks for, without a GPU."""

import fnmatch
import importlib.util
import json
import os
import pathlib
import re
import sys
import tempfile
import unittest
import unittest.mock

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "gpu_record.py"
spec = importlib.util.spec_from_file_location("gpu_record", SCRIPT)
gpu_record = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gpu_record)


class Records(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for change in (unittest.mock.patch.object(gpu_record, "ROOT", self.root),
                       unittest.mock.patch.object(gpu_record, "toolkit", lambda: "13.0"),
                       unittest.mock.patch.dict(os.environ)):
            change.start()
            self.addCleanup(change.stop)
        os.environ.pop("BOXSUM_RESULTS", None)

    def write(self, part, commit, program="gpu_test", types="all", **how):
        outcome = {"passed": 2, "failed": 1, "skipped": 0, "seconds": 1.5, "failures": ["a.b: why"], "skips": []}
        with unittest.mock.patch("builtins.print"):
            gpu_record.write_record(part, commit, [("NVIDIA H200", "580")], [(program + ".0", outcome), (program + ".1", outcome)],
                                    3.0, {"types": types}, **how)
        return json.loads((self.root / "results/h200/tests.json").read_text())

    def commits(self, record):
        return {name: part.get("commit", record["commit"]) for name, part in record["parts"].items()}

    def test_a_part_keeps_the_commit_that_it_ran_at(self):
        self.write("test", "a")
        self.assertEqual(self.commits(self.write("soak", "a")), {"test": "a", "soak": "a"})
        self.assertEqual(self.commits(self.write("sanitize", "b")), {"test": "a", "soak": "a", "sanitize": "b"})
        record = self.write("soak", "c")
        self.assertEqual(self.commits(record), {"test": "a", "soak": "c", "sanitize": "b"})
        self.assertNotIn("commit", record["parts"]["soak"])

    def test_devices_are_those_that_programs_see(self):
        listed = unittest.mock.Mock(stdout="NVIDIA H200, 580\nNVIDIA H100, 580\n")
        with unittest.mock.patch.object(gpu_record.subprocess, "run", return_value=listed):
            os.environ.pop("CUDA_VISIBLE_DEVICES", None)
            self.assertEqual(len(gpu_record.devices()), 2)
            os.environ["CUDA_VISIBLE_DEVICES"] = "1"
            self.assertEqual(gpu_record.devices(), [("NVIDIA H100", "580")])
            os.environ["CUDA_VISIBLE_DEVICES"] = "2"
            with unittest.mock.patch("sys.stderr"), self.assertRaises(SystemExit):
                gpu_record.devices()

    def test_shards_are_added_up(self):
        part = self.write("test", "a")["parts"]["test"]
        self.assertEqual((part["passed"], part["failed"], part["types"]), (4, 2, "all"))
        self.assertEqual(part["programs"]["gpu_test"]["failures"], ["a.b: why"] * 2)

    def test_cases_are_counted_and_those_compared_bit_for_bit_apart(self):
        report = self.root / "report.json"
        ran = {"name": "c", "status": "RUN", "result": "COMPLETED", "time": "1s"}
        report.write_text(json.dumps({"testsuites": [{"name": "a", "testsuite": [
            {**ran, "cases": "90", "exact_cases": "40"}, {**ran, "cases": "7"}, ran,
            {**ran, "status": "NOTRUN", "cases": "1000", "exact_cases": "1000"}]}]}))
        outcome = {**gpu_record.read_report(report), "seconds": 1.0}
        program = gpu_record.summary_of_programs([("one_test.a", outcome), ("one_test.b", outcome)])["one_test"]
        self.assertEqual((program["passed"], program["cases"], program["exact_cases"]), (6, 194, 80))
        other = {"passed": 1, "failed": 0, "skipped": 0, "seconds": 1.0, "failures": []}
        self.assertNotIn("exact_cases", gpu_record.summary_of_programs([("two_test", other)])["two_test"])

    def test_the_soak_draws_enough_integers(self):
        listed = unittest.mock.Mock(stdout="")
        with unittest.mock.patch.object(gpu_record, "build", lambda *_, **__: (pathlib.Path("/build"), 0.0)), \
                unittest.mock.patch.object(gpu_record.subprocess, "run", return_value=listed):
            groups, _, _ = gpu_record.part_soak()
        windows = [run for group in groups for run in group if "BOXSUM_FILTER_SEED" in run.environment]
        self.assertEqual(len({(run.command[-1], run.environment["BOXSUM_FILTER_SEED"]) for run in windows}), len(windows))
        # Of images of integers four fifths are taken, of images of all types two fifths are integers' and taken.
        exact = sum(int(run.environment["BOXSUM_FILTER_CASES"]) * (0.8 if "fused_windows" in run.label else 0.4)
                    for run in windows)
        self.assertGreater(exact, 100000)

    def test_a_part_that_is_extended_keeps_programs_that_did_not_run(self):
        self.write("sanitize", "a", "one_test")
        self.write("sanitize", "b", "two_test", extends=True)
        record = self.write("sanitize", "c", "one_test", extends=True)
        part = record["parts"]["sanitize"]
        self.assertEqual({name: one.get("commit", record["commit"]) for name, one in part["programs"].items()},
                         {"one_test": "c", "two_test": "b"})
        self.assertEqual((part["passed"], part["failed"]), (8, 4))
        self.assertEqual(list(self.write("sanitize", "d", "two_test")["parts"]["sanitize"]["programs"]), ["two_test"])

    def test_programs_of_other_types_say_so(self):
        self.write("sanitize", "a", "one_test", types="min")
        self.write("sanitize", "a", "two_test", extends=True)
        programs = self.write("sanitize", "a", "three_test", types="min", extends=True)["parts"]["sanitize"]["programs"]
        self.assertEqual({name: one.get("types", "min") for name, one in programs.items()},
                         {"one_test": "min", "two_test": "all", "three_test": "min"})

    def test_what_is_written_elsewhere_goes_on_from_the_tree(self):
        self.write("test", "a")
        os.environ["BOXSUM_RESULTS"] = str(self.root / "elsewhere")
        self.write("soak", "b")
        record = json.loads((self.root / "elsewhere/h200/tests.json").read_text())
        self.assertEqual(self.commits(record), {"test": "a", "soak": "b"})


class Sanitizers(unittest.TestCase):
    def filters_of(self, program):
        """{tool: GoogleTest's filter}"""
        with unittest.mock.patch.object(gpu_record, "build", lambda *_, **__: (pathlib.Path("/build"), 0.0)), \
                unittest.mock.patch.object(gpu_record.shutil, "which", lambda _: sys.executable):
            (runs,), _, _ = gpu_record.part_sanitize()
        return {run.label.split("-")[0]: run.environment["GTEST_FILTER"] for run in runs
                if run.label.split("-")[1].startswith(program + ".")}

    def test_a_tool_may_be_asked_for_less(self):
        everything, (_, less) = "*", gpu_record.LESS["initcheck", "gpu_strides_test"]
        self.assertEqual(self.filters_of("gpu_strides_test"),
                         {"memcheck": everything, "racecheck": everything, "initcheck": less, "synccheck": everything})

    def test_only_what_is_sanitized_is_asked_for_less(self):
        for (tool, program), less in gpu_record.LESS.items():
            self.assertEqual(self.filters_of(program).get(tool), less and less[1])

    def test_a_single_test_is_not_shared_by_processes(self):
        with unittest.mock.patch.object(gpu_record, "build", lambda *_, **__: (pathlib.Path("/build"), 0.0)), \
                unittest.mock.patch.object(gpu_record.shutil, "which", lambda _: sys.executable):
            (runs,), _, _ = gpu_record.part_sanitize()
        for run in runs:
            if not re.search(r"[*:]", run.environment["GTEST_FILTER"]):
                self.assertEqual(run.environment["GTEST_TOTAL_SHARDS"], "1", run.label)

    def test_every_pattern_of_a_filter_has_a_test(self):
        """One that was renamed would leave the sanitizers without a word."""
        names = set()
        for source in (gpu_record.ROOT / "tests").glob("**/*_test.c*"):
            for suite, name in re.findall(r"\b(?:TYPED_)?TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", source.read_text(encoding="utf-8")):
                names.update((f"{suite}.{name}", f"{suite}/0.{name}", f"registry/{suite}.{name}/0"))
        filters = [chosen for _, chosen, _ in gpu_record.SANITIZED.values()] + [less[1] for less in gpu_record.LESS.values() if less]
        for pattern in {pattern for chosen in filters for pattern in re.split("[:-]", chosen) if pattern}:
            self.assertTrue(fnmatch.filter(names, pattern), pattern)


if __name__ == "__main__":
    unittest.main()
