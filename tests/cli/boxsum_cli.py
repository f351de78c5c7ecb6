"""What the tests of the command-line tool share: running it, and judging failures."""

import itertools
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

BINARY = os.environ["BOXSUM_BINARY"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
DATA = pathlib.Path(os.environ.get("BOXSUM_DATA") or ROOT.parent / "shared" / "data")
SHIPPED_PHOTO = ROOT / "data" / "astronaut.png"

# A program that runs longer hangs. It is far more than any takes: other programs may have the processors.
TIME_LIMIT = 600  # seconds

# Sanitizers look at addresses, and let a start take ten times as long.
SANITIZED = bool(os.environ.get("BOXSUM_SANITIZED"))

# Exit codes of the tool
DONE, FAILURE, USAGE, BAD_INPUT, UNSUPPORTED, OUT_OF_MEMORY = range(6)


def shared_image(name):
    path = DATA / name
    if not path.exists():
        raise unittest.SkipTest(f"{path} is not here (BOXSUM_DATA)")
    return path


def some(turn, choices):
    """All choices; with sanitizers every third, others with the next turn."""
    return [c for i, c in enumerate(choices) if not SANITIZED or (turn + i) % 3 == 0]


def combinations(*choices):
    """One of each, in every way; with sanitizers a third of the ways, in which each choice that there is still occurs."""
    for places in itertools.product(*(range(len(c)) for c in choices)):
        if not SANITIZED or sum(places) % 3 == 0:
            yield tuple(c[i] for c, i in zip(choices, places))


# Looking for leaks when it ends takes a third of a sanitized start: every third start does. What the library and the
# readers leak, their own tests and the fuzzers find.
ASAN_OPTIONS = os.environ.get("ASAN_OPTIONS", "")
LEAKS = itertools.cycle((":detect_leaks=1", ":detect_leaks=0", ":detect_leaks=0"))


def peak_memory(*args):
    """(exit code, kilobytes)"""
    process = subprocess.Popen([BINARY, *map(str, args)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_maxrss


class CliTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.dir = pathlib.Path(folder.name)

    def path(self, name):
        return str(self.dir / name)

    def write(self, name, data):
        (self.dir / name).write_bytes(data)
        return self.path(name)

    def read(self, name):
        return (self.dir / name).read_bytes()

    def listing(self):
        return {p.name: (p.stat().st_size if p.is_file() else None) for p in self.dir.iterdir()}

    def start(self, *args, stdin=None, **more):
        if SANITIZED:
            os.environ["ASAN_OPTIONS"] = ASAN_OPTIONS + next(LEAKS)
        return subprocess.run([BINARY, *map(str, args)], input=stdin, capture_output=True, timeout=TIME_LIMIT, **more)

    def boxsum(self, *args, stdin=None, **more):
        """Runs the tool, which must succeed and say nothing on standard error. Returns standard output's bytes."""
        done = self.start(*args, stdin=stdin, **more)
        self.assertEqual((done.returncode, done.stderr), (DONE, b""), args)
        return done.stdout

    def wait_for_output_file(self, process):
        """Returns once the tool, which must not end before, has begun the file that becomes its output."""
        while not any(p.name.startswith(".boxsum-") for p in self.dir.iterdir()):
            self.assertIsNone(process.poll())
            time.sleep(0.02)

    def refused(self, code, words, *args, stdin=None, **more):
        """The tool must fail with this code, say so in one line that has these words, and leave no file behind."""
        before = self.listing()
        done = self.start(*args, stdin=stdin, **more)
        message = done.stderr.decode()
        self.assertEqual(done.returncode, code, f"{args}: {message}")
        self.assertTrue(message.startswith("boxsum: error: ") and message.count("\n") == 1 and message.endswith("\n"),
                        f"not one line: {message!r}")
        self.assertIn(words, message, args)
        self.assertEqual(self.listing(), before, args)
        return message


def main():
    """unittest's main, except that a file whose every test was skipped exits with 77, which ctest shows as skipped."""
    program = unittest.main(module="__main__", exit=False, verbosity=2)
    result = program.result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if result.testsRun == len(result.skipped) else 0)
