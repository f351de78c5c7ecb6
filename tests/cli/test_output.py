#!/usr/bin/env python3
"""Outputs appear complete or not at all: missing folders, full disks, closed pipes, signals, links, devices."""

import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import stat
import subprocess
import unittest

import image_files as f
from boxsum_cli import BINARY, FAILURE, TIME_LIMIT, CliTest, main


class Output(CliTest):
    def setUp(self):
        super().setUp()
        self.image = self.write("in.pgm", f.pnm(200, 300, 1, f.pixels("8u", 60000)))

    def commands(self, folder):
        """One command per writer, each writing more than a page into the folder."""
        for ending in ("npy", "tif"):
            yield ("table", self.image, "-o", f"{folder}/x.{ending}")
        for ending in ("png", "jpg", "pgm", "tif", "npy"):
            yield ("blur", self.image, f"{folder}/x.{ending}", "--radius", "1")
        yield ("blur", self.image, f"{folder}/x.pfm", "--radius", "1", "--type", "32f")
        yield ("stats", self.image, "--mean", f"{folder}/m.npy", "--std", f"{folder}/s.npy")

    def test_missing_folder(self):
        for args in self.commands(self.path("nowhere")):
            self.refused(FAILURE, "No such file or directory", *args)

    def test_the_name_is_a_folder(self):
        """Then the file goes there, under its own name."""
        (self.dir / "x.npy").mkdir()
        self.boxsum("table", self.image, "-o", self.path("x.npy"), "-q")
        self.assertEqual([p.name for p in (self.dir / "x.npy").iterdir()], ["in.npy"])
        self.refused(2, "no value", "blur", self.image, "", "--radius", "1", "--format", "npy")

    def test_file_size_limit(self):
        """Stands in for a full disk where none can be mounted: writes fail with EFBIG after 4096 bytes."""
        def limit():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        for args in self.commands(self.dir):
            self.refused(FAILURE, "File too large", *args, preexec_fn=limit)

    def test_full_disk(self):
        disk = self.dir / "disk"
        disk.mkdir()
        if shutil.which("mount") is None or subprocess.run(
                ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], capture_output=True).returncode != 0:
            self.skipTest("mounting a small tmpfs is not permitted here")
        try:
            (disk / "x.npy").write_bytes(b"precious")
            for args in self.commands(disk):
                self.refused(FAILURE, "No space left", *args)
                self.assertEqual([p.name for p in disk.iterdir()], ["x.npy"])
            self.assertEqual((disk / "x.npy").read_bytes(), b"precious")
        finally:
            subprocess.run(["umount", disk], check=True)

    def test_dev_full(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full here")
        self.refused(FAILURE, "/dev/full", "table", self.image, "-o", "/dev/full", "--format", "npy")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/full").st_mode))
        for args in (["info"], ["info", "--json"], ["algorithms"], ["--help"], ["--version"],
                     ["query", self.image, "--box", "0,0,1,1"], ["table", self.image, "-o", "-"],
                     ["blur", self.image, "-", "--radius", "1", "--format", "tiff"]):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([BINARY, *args], stdout=full, stderr=subprocess.PIPE, timeout=TIME_LIMIT)
            self.assertEqual(done.returncode, FAILURE, args)
            self.assertIn(b"No space left", done.stderr)
            self.assertEqual(done.stderr.count(b"\n"), 1)

    def test_closed_pipe(self):
        process = subprocess.Popen([BINARY, "table", self.image, "-o", "-"], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        process.stdout.close()
        message = process.stderr.read()
        process.stderr.close()
        self.assertEqual((process.wait(TIME_LIMIT), message), (-signal.SIGPIPE, b""))

    def without(self, stream, *args):
        """Started by a shell that closes a stream: '>&-'."""
        return subprocess.run(["sh", "-c", f'exec "$@" {stream}', "sh", BINARY, *args], stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=TIME_LIMIT)

    def test_a_closed_stream_is_not_taken_by_a_file(self):
        self.boxsum("table", self.image, "-o", self.path("good.npy"), "--squares", self.path("squares.npy"), "-q")
        for stream in (">&-", "<&- >&-", "<&- >&- 2>&-"):
            done = self.without(stream, "table", self.image, "-o", self.path("t.npy"))
            self.assertEqual(done.returncode, FAILURE, stream)  # there is no place for the summary
            self.assertEqual(self.read("t.npy"), self.read("good.npy"), stream)
            os.remove(self.path("t.npy"))
            done = self.without(stream, "table", self.image, "--squares", self.path("t.npy"), "-o", "-")
            self.assertEqual(done.returncode, FAILURE, stream)
            self.assertNotIn("t.npy", self.listing(), stream)
        done = self.without(">&-", "table", self.image, "-o", "-")
        self.assertEqual(done.stderr, b"boxsum: error: cannot write 'standard output': Bad file descriptor\n")
        done = self.without(">&-", "table", self.image, "-o", "/dev/stdout", "--format", "npy", "-q")
        self.assertEqual(done.returncode, FAILURE)
        done = self.without("<&-", "table", "-", "-o", self.path("t.npy"))
        self.assertEqual((done.returncode, done.stderr),
                         (3, b"boxsum: error: cannot read 'standard input': Bad file descriptor\n"))
        done = self.without(">&- 2>&-", "table", self.image, "-o", self.path("t.npy"), "-q")
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.read("t.npy"), self.read("good.npy"))

    def test_signals_remove_what_is_unfinished(self):
        """The second output is a pipe that nobody reads: the tool waits there with its first output half done."""
        os.mkfifo(self.path("pipe.npy"))
        (self.dir / "t.npy").write_bytes(b"precious")
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([BINARY, "table", self.image, "-o", self.path("t.npy"), "--squares",
                                        self.path("pipe.npy")])
            self.wait_for_output_file(process)
            process.send_signal(number)
            self.assertEqual(process.wait(TIME_LIMIT), -number)
            self.assertEqual(sorted(self.listing()), ["in.pgm", "pipe.npy", "t.npy"])
            self.assertEqual(self.read("t.npy"), b"precious")

    def test_an_input_cut_short_while_it_is_mapped(self):
        """The tool waits at the pipe between reading the header and reading the pixels."""
        os.mkfifo(self.path("pipe.npy"))
        with open(self.path("big.npy"), "wb") as out:
            out.write(f.npy((2000, 2000), "8u", None, data=bytes(4000000)))
        process = subprocess.Popen([BINARY, "table", self.path("big.npy"), "-o", self.path("t.npy"), "--squares",
                                    self.path("pipe.npy"), "--algorithm", "reference"], stderr=subprocess.PIPE)
        self.wait_for_output_file(process)
        os.truncate(self.path("big.npy"), 4096)
        reader = os.open(self.path("pipe.npy"), os.O_RDONLY | os.O_NONBLOCK)
        message = process.stderr.read()
        process.stderr.close()
        self.assertEqual(process.wait(TIME_LIMIT), 3)
        os.close(reader)
        self.assertIn(b"boxsum: error: an input file was truncated", message)
        self.assertEqual(sorted(self.listing()), ["big.npy", "in.pgm", "pipe.npy"])

    def test_replacing(self):
        """The old file stays until the new one is complete; its permissions and links to it stay altogether."""
        target = pathlib.Path(self.write("real.npy", b"old"))
        target.chmod(0o640)
        os.symlink("real.npy", self.path("link.npy"))
        self.boxsum("table", self.image, "-o", self.path("link.npy"), "-q")
        self.assertTrue((self.dir / "link.npy").is_symlink())
        self.assertEqual(f.read_npy(self.read("real.npy"))[0], (201, 301))
        self.assertEqual(stat.S_IMODE(target.stat().st_mode), 0o640)

    def test_links_to_a_file_that_is_not_there_yet(self):
        """It is created; the links stay. A circle of links, or one into a missing folder, fails."""
        (self.dir / "f").mkdir()
        os.symlink("f", self.path("folder"))
        os.symlink("../new.npy", self.path("f/up.npy"))
        os.symlink(self.path("folder/up.npy"), self.path("far.npy"))
        os.symlink("f/../far.npy", self.path("further.npy"))
        for link in ("far.npy", "further.npy", "f/up.npy"):
            for how in ({"cwd": self.dir}, {"cwd": self.dir / "f"}):
                done = self.start("table", self.image, "-o", os.path.relpath(self.path(link), how["cwd"]), "-q", **how)
                self.assertEqual((done.returncode, done.stderr), (0, b""), link)
                self.assertTrue((self.dir / link).is_symlink(), link)
                self.assertFalse((self.dir / "new.npy").is_symlink())
                self.assertEqual(f.read_npy(self.read("new.npy"))[0], (201, 301))
                os.remove(self.path("new.npy"))
        os.symlink("b.npy", self.path("a.npy"))
        os.symlink("a.npy", self.path("b.npy"))
        os.symlink("nowhere/x.npy", self.path("c.npy"))
        self.refused(FAILURE, "Too many levels of symbolic links", "table", self.image, "-o", self.path("a.npy"))
        self.refused(FAILURE, "No such file or directory", "table", self.image, "-o", self.path("c.npy"))
        self.assertTrue((self.dir / "a.npy").is_symlink() and (self.dir / "c.npy").is_symlink())

    def test_new_files_obey_the_umask(self):
        before = os.umask(0o027)
        try:
            self.boxsum("table", self.image, "-o", self.path("t.npy"), "-q")
        finally:
            os.umask(before)
        self.assertEqual(stat.S_IMODE((self.dir / "t.npy").stat().st_mode), 0o640)

    def test_input_and_output_may_be_one_file(self):
        self.boxsum("blur", self.image, self.image, "--radius", "0", "-q")
        self.assertEqual(self.read("in.pgm").split(b"\n")[1], b"300 200")

    def test_two_outputs_that_are_one_file(self):
        """The later one would replace the other: by another spelling, through a folder or a link, existing or not."""
        (self.dir / "f").mkdir()
        os.symlink("f", self.path("folder"))
        for name in ("t.npy", "old.npy"):
            if name == "old.npy":
                self.write(name, b"old")
                os.link(self.path(name), self.path("hard.npy"))
            os.symlink(name, self.path("to-" + name))
            os.symlink(self.path("to-" + name), self.path("far-" + name))
            os.symlink(f"../{name}", self.path("f/up-" + name))
            names = [f"./{name}", f"f/../{name}", f"folder/../{name}", f"to-{name}", f"far-{name}", f"folder/up-{name}",
                     self.path(name)] + (["hard.npy"] if name == "old.npy" else [])
            for other in names:
                for pair in ((name, other), (other, name)):
                    message = self.refused(2, "two outputs are one file", "stats", self.image, "--mean", pair[0], "--std",
                                           pair[1], cwd=self.dir)
                    self.assertIn(f"'{pair[0]}' and '{pair[1]}'", message)
        self.refused(2, "two outputs", "table", self.image, "-o", "f/t.npy", "--squares", "f/../f/t.npy", cwd=self.dir)
        self.assertEqual(self.read("old.npy"), b"old")
        self.boxsum("stats", self.image, "--mean", self.path("t.npy"), "--std", self.path("f/t.npy"), "-q")
        self.boxsum("stats", self.image, "--mean", "/dev/null", "--std", "/dev/null", "--format", "npy", "-q")

    def test_standard_output_by_its_other_names(self):
        """No summary among the data, wherever they go."""
        expected = self.boxsum("table", self.image, "-o", "-")
        args = [BINARY, "table", self.image, "--format", "npy"]
        for name in ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"):
            self.assertEqual(self.boxsum(*args[1:], "-o", name), expected)
            self.refused(2, f"'{name}'", *args[1:], "-o", name, "--json")
            self.refused(2, "two outputs", *args[1:], "-o", "-", "--squares", name)
        here, there = socket.socketpair()
        with here, there:
            done = subprocess.Popen([*args, "-o", "/dev/stdout"], stdout=there)
            there.close()
            self.assertEqual(b"".join(iter(lambda: here.recv(65536), b"")), expected)
            self.assertEqual(done.wait(TIME_LIMIT), 0)
        self.write("log", b"precious")
        with open(self.path("log"), "ab") as log:
            self.assertEqual(subprocess.run([*args, "-o", "/dev/stdout"], stdout=log, timeout=TIME_LIMIT).returncode, 0)
        self.assertEqual(self.read("log"), b"precious" + expected)
        self.assertTrue(json.loads(self.boxsum(*args[1:], "-o", "/dev/null", "--json")))
        done = subprocess.run([*args, "-o", "/dev/null", "--json"], stdout=subprocess.DEVNULL, timeout=TIME_LIMIT)
        self.assertEqual(done.returncode, 0)

    def test_devices_are_written_not_replaced(self):
        self.boxsum("table", self.image, "-o", "/dev/null", "--format", "npy", "-q")
        self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))

    @unittest.skipIf(os.geteuid() == 0, "root may write everything")
    def test_read_only_file(self):
        path = pathlib.Path(self.write("t.npy", b"old"))
        path.chmod(0o400)
        self.refused(FAILURE, "Permission denied", "table", self.image, "-o", path)

    def test_names_with_spaces_and_line_breaks(self):
        self.refused(3, "a b", "table", self.path("a b\nc.png"), "-o", self.path("t.npy"))
        self.boxsum("table", self.image, "-o", self.path("a b\nc.npy"), "-q")
        self.assertIn("a b\nc.npy", self.listing())
        self.assertEqual(json.loads(self.boxsum("table", self.image, "-o", self.path("ü b.npy"), "--json"))["table"]["path"],
                         self.path("ü b.npy"))


if __name__ == "__main__":
    main()
