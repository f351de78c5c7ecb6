"""Running the tool and judging its failures."""

import os
import pathlib
import subprocess
import tempfile
import unittest

BINARY = os.environ["BOXSUM_BINARY"]
ROOT = pathlib.Path(__file__).resolve().parents[3]
DATA = pathlib.Path(os.environ.get("BOXSUM_DATA") or ROOT.parent / "shared" / "data")

# A program that runs longer hangs. It is far more than any takes: other programs may have the processors.
TIME_LIMIT = 600  # seconds

DONE, FAILURE, USAGE, BAD_INPUT, UNSUPPORTED = range(5)


class ToolTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def write(self, name, data):
        (self.dir / name).write_bytes(data)
        return str(self.dir / name)

    def start(self, *args, stdin=b""):
        return subprocess.run([BINARY, *map(str, args)], input=stdin, capture_output=True, timeout=TIME_LIMIT, check=False)

    def boxsum(self, *args, stdin=b""):
        done = self.start(*args, stdin=stdin)
        self.assertEqual((done.returncode, done.stderr), (DONE, b""), args)
        return done.stdout.decode()

    def refused(self, code, words, *args, stdin=b""):
        """The tool must fail with this code and one line that has these words. Returns standard output."""
        done = self.start(*args, stdin=stdin)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, code, (args, message))
        self.assertTrue(message.startswith("boxsum: error: ") and message.count("\n") == 1, message)
        self.assertIn(words, message)
        return done.stdout.decode()


def pgm(rows, cols, pixels):
    return b"P5\n%d %d\n255\n" % (cols, rows) + bytes(pixels)


def ppm(rows, cols, pixels):
    return b"P6\n%d %d\n255\n" % (cols, rows) + bytes(pixels)


def parsed_track(text):
    """(frame, (row, col, rows, cols), distance) of each line."""
    lines = text.splitlines()
    assert lines[0] == "frame,row,col,rows,cols,distance", lines[0]
    return [(int(f[0]), tuple(map(int, f[1:5])), float(f[5])) for f in (line.split(",") for line in lines[1:])]
