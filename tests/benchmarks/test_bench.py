#!/usr/bin/env python3
"""boxsum bench: argument errors, records that merge, what is printed, and the tool without the program."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BINARY = pathlib.Path(os.environ["BOXSUM_BINARY"])
PAPER_DOCS = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts" / "paper_docs.py"
COMMIT = "0123456789" * 4
QUICK = ("--device", "cpu", "--rounds", "3", "--round-ms", "0.1")


class Tool(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def run_tool(self, *args, binary=BINARY, commit=COMMIT):
        return subprocess.run([binary, "bench", *map(str, args)], capture_output=True, text=True, timeout=600,
                              cwd=self.dir, env={**os.environ, "BOXSUM_COMMIT": commit})

    def refused(self, code, words, *args, binary=BINARY):
        done = self.run_tool(*args, binary=binary)
        self.assertEqual(done.returncode, code, done.stderr)
        last = done.stderr.splitlines()[-1]
        self.assertTrue(last.startswith("boxsum: error: "), done.stderr)
        self.assertIn(words, last)
        self.assertEqual(done.stdout, "")


class Sat(Tool):
    def test_without_the_program(self):
        alone = self.dir / "boxsum"
        shutil.copy(BINARY, alone)
        for args in (("sat",), ("--help",), ()):
            self.refused(4, "BOXSUM_BENCHMARKS=ON", *args, binary=alone)

    def test_with_something_that_cannot_be_run(self):
        shutil.copy(BINARY, self.dir / "boxsum")
        (self.dir / "boxsum-bench").write_text("not a program")
        self.refused(1, "cannot be run", "sat", binary=self.dir / "boxsum")

    def test_help(self):
        self.assertIn("sat", self.run_tool("--help").stdout)
        text = self.run_tool("sat", "--help").stdout
        for word in ("--sizes", "--types", "--algorithms", "--param", "--device", "--rounds", "--json", "Examples:"):
            self.assertIn(word, text)
        self.assertIn("bench", subprocess.run([BINARY, "--help"], capture_output=True, text=True).stdout)

    def test_argument_errors(self):
        self.refused(2, "subcommand", "--device", "cpu")
        self.refused(2, "there is no subcommand 'nope'", "nope", "--sizes", "8")
        for words, args in (("'0'", ("--sizes", "0")), ("'1.5k'", ("--sizes", "1.5k")), ("'8u8u'", ("--types", "8u8u")),
                            ("'nosuch'", ("--algorithms", "nosuch")),
                            ("rounds", ("--rounds", "0")), ("'nosuch'", ("--experiments", "nosuch")),
                            ("'W'", ("--param", "W")), ("no full commit hash", ("--sizes", "8", "--commit", "abc"))):
            self.refused(2, words, "sat", "--device", "cpu", *args)
        for device in ("tpu", "cuda:x"):
            self.refused(2, f"'{device}'", "sat", "--device", device)
        self.refused(4, "", "sat", "--device", "cuda:99")
        self.refused(1, "no-such-folder", "sat", *QUICK, "--sizes", "8", "--json", "no-such-folder/a.json")

    def test_a_file_that_is_no_record_is_left_alone(self):
        (self.dir / "precious.json").write_text("[1, 2]")
        self.refused(1, "precious.json", "sat", *QUICK, "--sizes", "8", "--json", "precious.json")
        self.assertEqual((self.dir / "precious.json").read_text(), "[1, 2]")

    def test_parts_merge_at_one_commit(self):
        def measure(*args, commit=COMMIT):
            done = self.run_tool("sat", *QUICK, "--json", "r.json", "--experiments", "zoo", *args, commit=commit)
            self.assertEqual(done.returncode, 0, done.stderr)
            record = json.loads((self.dir / "r.json").read_text())
            return record, {(r["types"], r["rows"], r["algorithm"]) for r in record["tables"]}, done.stderr

        record, first, _ = measure("--sizes", "33", "--types", "8u32u")
        self.assertEqual((record["commit"], record["backend"], record["changed"]), (COMMIT, "cpu", False))
        self.assertIn(("8u32u", 33, "simd"), first)
        for row in record["tables"]:
            self.assertEqual(row.get("check", "equal"), "equal")
            if "us" in row:
                self.assertLessEqual(row["low_us"], row["us"])
                self.assertLessEqual(row["us"], row["high_us"])
                self.assertEqual(row["rounds"], 3)
        _, both, _ = measure("--sizes", "40", "--types", "32f32f", "--algorithms", "simd")
        self.assertTrue(first < both and ("32f32f", 40, "simd") in both)
        record, again, _ = measure("--sizes", "40", "--types", "32f32f")
        self.assertEqual(len(again), len(record["tables"]), "no case twice")
        _, other, note = measure("--sizes", "9", "--types", "8u32u", commit="f" * 40)
        self.assertEqual({size for _, size, _ in other}, {9})
        self.assertIn("another commit", note)

    def test_text(self):
        done = self.run_tool("sat", *QUICK, "--sizes", "64", "--types", "8u32u", "--json", "r.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = json.loads((self.dir / "r.json").read_text())
        self.assertIn(COMMIT[:12], done.stdout)
        for row in record["tables"]:
            self.assertTrue(any(row["algorithm"] in line and "64 x 64" in line for line in done.stdout.splitlines()), row)
        report = subprocess.run([sys.executable, "-B", PAPER_DOCS, self.dir / "r.json"], capture_output=True, text=True)
        self.assertEqual(report.returncode, 0, report.stderr)
        for words in ("Table III", "figures 6 and 7", "section V", "Survey notes", "figure 5", COMMIT[:12]):
            self.assertIn(words, report.stdout)

    def test_a_wrong_result_is_exit_code_1(self):
        done = self.run_tool("sat", *QUICK, "--sizes", "16", "--types", "8u32u", "--json", "r.json", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = json.loads((self.dir / "r.json").read_text())
        row = next(r for r in record["tables"] if r["algorithm"] == "simd")
        for key in ("us", "low_us", "high_us"):
            del row[key]
        row["check"] = "wrong: made so by a test"
        (self.dir / "r.json").write_text(json.dumps(record))
        done = self.run_tool("sat", *QUICK, "--sizes", "8", "--types", "8u32u", "--json", "r.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("wrong: made so by a test", done.stdout)


HIST = ("hist", "--device", "cpu", "--quick", "--rounds", "2", "--round-ms", "0.1", "--frames", "2")


class Histograms(Tool):
    def test_help(self):
        text = self.run_tool("hist", "--help").stdout
        for word in ("--experiments", "--sizes", "--bins", "--device", "--frames", "--quick", "--json", "Examples:"):
            self.assertIn(word, text)

    def test_argument_errors(self):
        for words, args in (("'0'", ("--sizes", "0")), ("--bins: 0", ("--bins", "0")), ("--bins: 1025", ("--bins", "8,1025")),
                            ("rounds", ("--rounds", "0")), ("'figure7'", ("--experiments", "figure7")),
                            ("no full commit hash", ("--commit", "abc"))):
            self.refused(2, words, *HIST[:3], *args)
        self.refused(2, "'tpu'", "hist", "--device", "tpu")
        self.refused(4, "", "hist", "--device", "cuda:99")
        self.refused(1, "no-such-folder", *HIST, "--json", "no-such-folder/a.json")

    def test_a_file_that_is_no_record_is_left_alone(self):
        (self.dir / "precious.json").write_text("[1, 2]")
        self.refused(1, "precious.json", *HIST, "--json", "precious.json")
        done = self.run_tool("sat", *QUICK, "--sizes", "8", "--json", "sat.json", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        before = (self.dir / "sat.json").read_text()
        self.refused(1, "a record of boxsum bench sat", *HIST, "--json", "sat.json")
        self.assertEqual((self.dir / "sat.json").read_text(), before)

    def test_parts_merge_at_one_commit(self):
        def measure(*args, commit=COMMIT):
            done = self.run_tool(*HIST, "--json", "r.json", *args, commit=commit)
            self.assertEqual(done.returncode, 0, done.stderr)
            return json.loads((self.dir / "r.json").read_text())["histograms"], done.stderr

        first, _ = measure("--experiments", "sizes", "--sizes", "33")
        self.assertEqual({(r["what"], r["rows"], r["bins"]) for r in first}, {("tensor", 33, 32)})
        for row in first:
            self.assertEqual(row["check"], "equal")
            self.assertLessEqual(row["low_us"], row["us"])
            self.assertLessEqual(row["us"], row["high_us"])
        both, _ = measure("--experiments", "sizes", "--sizes", "33,40")
        self.assertEqual(len(both), 2 * len(first), "no case twice")
        other, note = measure("--experiments", "sizes", "--sizes", "9", commit="f" * 40)
        self.assertEqual({r["rows"] for r in other}, {9})
        self.assertIn("another commit", note)

    def test_text(self):
        done = self.run_tool(*HIST, "--bins", "4,8", "--json", "r.json")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = json.loads((self.dir / "r.json").read_text())
        self.assertEqual((record["kind"], record["commit"], record["backend"]), ("boxsum bench hist", COMMIT, "cpu"))
        self.assertEqual({r["what"] for r in record["histograms"]}, {"tensor", "frames", "answers", "tasks-kept", "tasks-host"})
        for row in record["histograms"]:
            self.assertEqual(row["check"], "equal", row)
            self.assertTrue(any(row["what"] in line and row["algorithm"] in line for line in done.stdout.splitlines()), row)
        report = subprocess.run([sys.executable, "-B", PAPER_DOCS, self.dir / "r.json"], capture_output=True, text=True)
        self.assertEqual(report.returncode, 0, report.stderr)
        for words in ("Figure 7", "Figure 13", "Figures 16 and 17", "Figure 20", "300.4", "Not measured", COMMIT[:12]):
            self.assertIn(words, report.stdout)

    def test_a_wrong_result_is_exit_code_1(self):
        done = self.run_tool(*HIST, "--experiments", "sizes", "--sizes", "16", "--json", "r.json", "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        record = json.loads((self.dir / "r.json").read_text())
        row = record["histograms"][0]
        for key in ("us", "low_us", "high_us"):
            del row[key]
        row["check"] = "wrong: made so by a test"
        (self.dir / "r.json").write_text(json.dumps(record))
        done = self.run_tool(*HIST, "--experiments", "sizes", "--sizes", "8", "--json", "r.json")
        self.assertEqual(done.returncode, 1)
        self.assertIn("wrong: made so by a test", done.stdout)


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1)
