#!/usr/bin/env python3
"""Large images through the tool: a table of 46341 x 46341, 8u32u, 8.6 GB that go through a pipe; a gigabyte in little memory."""

import contextlib
import fcntl
import subprocess
import unittest

import image_files as f
from boxsum_cli import BINARY, CliTest, main, peak_memory

SIDE = 46341
NEEDED = 12 << 30
SET_PIPE_SIZE = 1031  # F_SETPIPE_SZ; Python names it from 3.10 on


def available_memory():
    with open("/proc/meminfo") as info:
        return next(int(line.split()[1]) * 1024 for line in info if line.startswith("MemAvailable:"))


class Large(CliTest):
    def test_more_than_2_to_the_31_elements(self):
        if available_memory() < NEEDED:
            self.skipTest(f"needs {NEEDED >> 30} GiB of free memory, {available_memory() >> 30} are here")
        marks = {(0, 0): 200, (0, SIDE - 1): 3, (SIDE // 2, SIDE // 2): 50, (SIDE - 1, 0): 7, (SIDE - 1, SIDE - 1): 11}
        with open(self.path("in.npy"), "wb") as out:  # sparse: zeros but for the marks
            out.write(f.npy((SIDE, SIDE), "8u", None, data=b""))
            start = out.tell()
            for (row, col), value in marks.items():
                out.seek(start + row * SIDE + col)
                out.write(bytes([value]))
        command = [BINARY, "table", self.path("in.npy"), "-o", "-", "--table-type", "32u", "--layout", "inclusive"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            with contextlib.suppress(OSError):  # where it is not allowed, the test takes eight times as long
                fcntl.fcntl(process.stdout, SET_PIPE_SIZE, 1 << 20)
            header = process.stdout.read(128)
            self.assertIn(f"({SIDE}, {SIDE})".encode(), header)
            for row in range(SIDE):
                line = process.stdout.read(4 * SIDE)
                if row in (0, SIDE // 2 - 1, SIDE // 2, SIDE - 2, SIDE - 1):
                    for col in (0, SIDE // 2 - 1, SIDE // 2, SIDE - 2, SIDE - 1):
                        expected = sum(v for (r, c), v in marks.items() if r <= row and c <= col)
                        got = int.from_bytes(line[4 * col:4 * col + 4], "little")
                        self.assertEqual(got, expected, (row, col))
            self.assertEqual(process.stdout.read(1), b"")
            message = process.stderr.read()
        self.assertEqual((process.returncode, message), (0, b""))

    def test_more_than_the_memory(self):
        """A gigabyte of zeros and ones, a limit of 64 MB."""
        side = 32768
        with open(self.path("in.npy"), "wb") as out:
            out.write(f.npy((side, side), "8u", None, data=b""))
            start = out.tell()
            for k in range(5):
                out.seek(start + 8000 * k * (side + 1))
                out.write(b"\xff")
            out.truncate(start + side * side)
        code, kilobytes = peak_memory("blur", self.path("in.npy"), "/dev/null", "--format", "npy", "-r", 20, "--memory", "64M")
        self.assertEqual(code, 0)
        self.assertLess(kilobytes - (side * side >> 10), 400 << 10)  # beside the mapped file, whose pages count, too


if __name__ == "__main__":
    main()
