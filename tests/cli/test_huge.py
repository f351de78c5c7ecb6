#!/usr/bin/env python3
"""An image of 20 GB under a limit of 1 GiB, as a file with holes: every byte of the result is compared.

It takes a minute, so ctest runs it only when it is asked for: ctest --test-dir build -C Huge -R cli.huge
"""

import contextlib
import fcntl
import json
import resource
import subprocess

import image_files as f
from boxsum_cli import BINARY, CliTest, main

ROWS, COLS = 100_000, 200_000
LIMIT = 1 << 30
RADIUS, VALUE = 3, 245  # 245 / 49 = 5
MARKS = [(50, 60), (0, 0), (8_191, 199_000), (49_999, 100_000), (99_999, 199_999), (77_777, 0)]
SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ; Python names it from 3.10 on


def limited():
    """What the process may allocate; the mapped file, whose pages the kernel takes back, does not count."""
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))


class Huge(CliTest):
    def setUp(self):
        super().setUp()
        self.source = self.path("in.npy")
        with open(self.source, "wb") as out:
            out.write(f.npy((ROWS, COLS), "8u", None, data=b""))
            start = out.tell()
            for row, col in MARKS:
                out.seek(start + row * COLS + col)
                out.write(bytes([VALUE]))
            out.truncate(start + ROWS * COLS)

    def run_limited(self, *args):
        done = subprocess.run([BINARY, *args, "--memory", "1G"], capture_output=True, preexec_fn=limited, timeout=600)
        self.assertEqual((done.returncode, done.stderr), (0, b""), args)
        return done.stdout

    def test_blur(self):
        command = [BINARY, "blur", self.source, "-", "--format", "npy", "-r", str(RADIUS), "--border", "constant", "--memory", "1G"]
        strip = 250
        zeros = bytes(strip * COLS)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limited) as process:
            with contextlib.suppress(OSError):
                fcntl.fcntl(process.stdout, SET_PIPE_SIZE, 1 << 20)
            self.assertIn(f"({ROWS}, {COLS})".encode(), process.stdout.read(128))
            for top in range(0, ROWS, strip):
                near = [(r, c) for r, c in MARKS if top - RADIUS <= r < top + strip + RADIUS]
                expected = bytearray(zeros) if near else zeros
                for row, col in near:
                    for r in range(max(top, row - RADIUS), min(top + strip, row + RADIUS + 1)):
                        for c in range(max(0, col - RADIUS), min(COLS, col + RADIUS + 1)):
                            expected[(r - top) * COLS + c] = VALUE // (2 * RADIUS + 1) ** 2
                self.assertTrue(process.stdout.read(strip * COLS) == expected, top)
            self.assertEqual(process.stdout.read(1), b"")
            message = process.stderr.read()
        self.assertEqual((process.returncode, message), (0, b""))

    def test_numbers_of_boxes(self):
        report = json.loads(self.run_limited("query", self.source, "--box", f"0,0,{ROWS},10", "--box", "49990,99990,20,20", "--json"))
        self.assertEqual([b["sum"] for b in report["boxes"]], [2 * VALUE, VALUE])
        lines = self.run_limited("hist", self.source, "--bins", "2", "--box", "8000,198000,1000,2000", "--csv").splitlines()
        self.assertEqual(lines[1].split(b",")[-2:], [b"1999999", b"1"])

    def test_statistics_of_a_part(self):
        """A tenth of the rows, in strips."""
        self.run_limited("stats", self.source, "--mean", "/dev/null", "--std", "/dev/null", "--format", "npy", "-w", "7", "-q",
                         "--region", f"45000,0,10000,{COLS}")


if __name__ == "__main__":
    main()
