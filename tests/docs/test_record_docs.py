#!/usr/bin/env python3
"""scripts/record_docs.py: what ran, origins and offsets, and convolution, of records of a few rows: marks on both sides, and what is
said where nothing was measured."""

import json
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import record_docs as docs  # noqa: E402


def made_of(part, rows):
    record = {"device": "a GPU", "commit": "0" * 40, "date": "2026-01-01T00:00:00Z", "rows": rows}
    with mock.patch.object(docs, "records", lambda name: [("results/a/" + name, record)]):
        return docs.part(part, None)


class Forms(unittest.TestCase):
    def rows(self, over):
        row = {"section": "forms", "types": "32f32f", "n": 1024, "algorithm": "outwards"}
        return [{**row, "form": "plain", "us": 10, "over_plain": 1.0}, {**row, "form": "both", "us": 10 * over, "over_plain": over}]

    def test_both_sides_of_the_mark(self):
        self.assertIn("| 32f32f | 1024^2 | plain | outwards | 10.0 |  |", made_of("forms", self.rows(1)))
        self.assertIn("1.050 (<= 1.05: yes)", made_of("forms", self.rows(1.05)))
        self.assertIn("1.051 (<= 1.05: no)", made_of("forms", self.rows(1.051)))

    def test_without_rows(self):
        self.assertEqual(made_of("forms", []), docs.NOT_MEASURED)


class Runs(unittest.TestCase):
    def text(self, tests, **others):
        record = {"device": "a GPU", "devices": 1, "commit": "1" * 40, "date": "2026-01-01T00:00:00Z"}
        with tempfile.TemporaryDirectory() as name, mock.patch.object(docs, "ROOT", pathlib.Path(name)):
            folder = pathlib.Path(name) / "results" / "gpu"
            folder.mkdir(parents=True)
            (folder / "tests.json").write_text(json.dumps({**record, **tests}))
            for file, keys in others.items():
                (folder / f"{file.replace('_', '-')}.json").write_text(json.dumps({**record, **keys}))
            return docs.part("runs", None)

    def program(self, passed, **more):
        return {"passed": passed, "failed": 0, "skipped": 2, **more}

    def test_parts_add_up_their_programs(self):
        part = {"date": "2026-01-02T00:00:00Z", "programs": {"a": self.program(3), "b": self.program(4)}}
        text = self.text({"parts": {"test": part, "python": {**part, "commit": "2" * 40}}})
        self.assertIn("| a GPU | `make test-gpu` | 7 | 0 | 4 | 1111111 | 2026-01-02 |", text)
        self.assertIn("| a GPU | `make test-python-gpu` | 7 | 0 | 4 | 2222222 | 2026-01-02 |", text)

    def test_programs_of_another_commit_have_a_line_of_their_own(self):
        programs = {"memcheck-gpu_boxes_test": self.program(3), "racecheck-gpu_boxes_test": self.program(3),
                    "memcheck-gpu_plan_test": self.program(5, commit="3" * 40)}
        text = self.text({"parts": {"sanitize": {"date": "2026-01-02T00:00:00Z", "programs": programs}}})
        self.assertIn("`make sanitize-gpu`: memcheck, racecheck of boxes | 6 | 0 | 4 | 1111111 | 2026-01-02 |", text)
        self.assertIn("`make sanitize-gpu`: memcheck of plan | 5 | 0 | 2 | 3333333 |  |", text)

    def test_what_a_tool_did_not_look_at_is_said(self):
        labels = ["memcheck-gpu_boxes_test", "memcheck-gpu_plan_test", "initcheck-gpu_plan_test"]
        self.assertEqual(docs.of_tools(labels), "memcheck, initcheck of boxes, plan; initcheck not of boxes")

    def test_benchmarks_of_one_commit_share_a_line(self):
        text = self.text({"devices": 2, "parts": {}}, bench_sat={}, bench_zoo={}, profile_sat={"commit": "4" * 40, "date": "2025-01-01"})
        self.assertIn("| a GPU, 2 of them | `bench-sat`, `bench-zoo` |  |  |  | 1111111 | 2026-01-01 |", text)
        self.assertIn("| a GPU, 2 of them | `profile-sat` |  |  |  | 4444444 | 2025-01-01 |", text)

    def test_without_records(self):
        with tempfile.TemporaryDirectory() as name, mock.patch.object(docs, "ROOT", pathlib.Path(name)):
            self.assertEqual(docs.part("runs", None), docs.NOT_MEASURED)


class Convolution(unittest.TestCase):
    def rows(self, side, systolic, **others):
        row = {"section": "convolve", "side": side, "n": 8192, "copy_us": 200}
        return [{**row, "algorithm": name, "us": us} for name, us in [("systolic", systolic), *others.items()]]

    def test_the_floor_is_a_multiplication_a_weight_and_pixel(self):
        self.assertAlmostEqual(docs.CONVOLVE_FLOOR_US, 2.263, 3)

    def test_small_kernels_are_held_against_the_copy(self):
        for side in (3, 5):
            self.assertIn("1.145 (<= 1.15: yes)", made_of("convolve", self.rows(side, 229)))
            self.assertIn("1.155 (<= 1.15: no)", made_of("convolve", self.rows(side, 231)))

    def test_others_against_the_longer_of_copy_and_floor(self):
        self.assertIn("1.300 (<= 1.30: yes)", made_of("convolve", self.rows(4, 260)))
        self.assertIn("1.305 (<= 1.30: no)", made_of("convolve", self.rows(4, 261)))
        floor = 400 * docs.CONVOLVE_FLOOR_US  # 20 x 20: 905 us
        self.assertIn("1.290 (<= 1.30: yes)", made_of("convolve", self.rows(20, 1.29 * floor)))
        text = made_of("convolve", self.rows(20, 2.6 * floor) + self.rows(3, 200))
        self.assertIn("1 of 2 kernels are over their mark, by 2.000 to 2.00 times.", text)

    def test_where_an_fft_wins(self):
        text = made_of("convolve", self.rows(20, 1700, cuFFT=3400, NPP=7000) + self.rows(31, 4250, cuFFT=3400))
        self.assertIn("`systolic` is before an FFT (cuFFT) up to 20 x 20.", text)
        self.assertIn("cuFFT is 1.25 times as fast at 31 x 31.", text)
        self.assertNotIn("NPP is", text)
        self.assertIn("NPP is 1.50 times as fast at 3 x 3.", made_of("convolve", self.rows(3, 300, NPP=200)))

    def test_a_record_that_has_what_auto_takes(self):
        text = made_of("convolve", self.rows(20, 1700, tiled=1000, auto=1100, cuFFT=3400))
        self.assertIn("| kernel | auto us | copy us |", text)
        self.assertIn("1.215 (<= 1.30: yes) | 1700 | 1000 | 3400 |", text)
        self.assertIn("`auto` is before an FFT (cuFFT) up to 20 x 20.", text)
        self.assertNotIn("tiled is", text)

    def test_without_rows(self):
        self.assertEqual(made_of("convolve", []), docs.NOT_MEASURED)
        self.assertEqual(made_of("convolve", [{"section": "convolve", "peer": "NPP", "side": 64, "note": "absent"}]), docs.NOT_MEASURED)


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1)
