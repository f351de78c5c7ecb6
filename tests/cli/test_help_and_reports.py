#!/usr/bin/env python3
"""--help of every subcommand with examples that parse, and the reports of algorithms, info and verify (its text)."""

import json
import os
import pty
import re
import shutil
import subprocess
import time

import image_files as f
from boxsum_cli import BINARY, TIME_LIMIT, CliTest, main

SUBCOMMANDS = ("table", "query", "blur", "convolve", "threshold", "stats", "normalize", "guided", "denoise", "blobs", "algorithms", "info", "verify")


class Help(CliTest):
    def test_every_subcommand(self):
        text = self.boxsum("--help").decode()
        listed = set(re.findall(r"^  (\w+) {2,}", text[text.index("Subcommands:"):], re.MULTILINE))
        self.assertLessEqual(set(SUBCOMMANDS), listed)
        for name in sorted(listed & set(SUBCOMMANDS)):
            text = self.boxsum(name, "--help").decode()
            self.assertIn("Examples:", text)
            self.assertIn(f"  boxsum {name}", text[text.index("Examples:"):])

    def test_examples_are_accepted_by_the_parser(self):
        """None is refused as wrong usage; files that are missing here are another matter."""
        for name in SUBCOMMANDS:
            if name == "verify":
                continue  # its examples take minutes
            text = self.boxsum(name, "--help").decode()
            for line in text[text.index("Examples:"):].splitlines()[1:]:
                args = line.split("<")[0].split(">")[0].split()[1:]
                done = self.start(*args, stdin=b"", cwd=self.dir)
                self.assertNotEqual(done.returncode, 2, (line, done.stderr))

    def test_version(self):
        self.assertRegex(self.boxsum("--version").decode(), r"^boxsum \d+\.\d+\.\d+\n$")

    def test_without_arguments(self):
        message = self.refused(2, "subcommand")
        self.assertIn("--help", message)


class Documents(CliTest):
    """The manual page and the completion of shells know what the parser knows."""

    def test_manual_page(self):
        page = self.boxsum("manual").decode()
        self.assertTrue(page.startswith(".TH BOXSUM 1 "))
        plain = page.replace("\\-", "-")
        for name in SUBCOMMANDS:
            section = plain[plain.index(f'.SH "boxsum {name}"'):]
            section = section[:section.index(".SH", 5)] if ".SH" in section[5:] else section
            for option in re.findall(r"^  (?:-\w,)?(--[a-z-]+)", self.boxsum(name, "--help").decode(), re.MULTILINE):
                self.assertIn(option, section, name)
        if shutil.which("man") and shutil.which("groff"):
            done = subprocess.run(["groff", "-man", "-ww", "-Tutf8"], input=page.encode(), capture_output=True, timeout=TIME_LIMIT)
            self.assertEqual(done.stderr, b"")

    def complete(self, *words):
        script = self.path("completion")
        if not os.path.exists(script):
            self.write("completion", self.boxsum("completion", "bash"))
        command = (f"source {script}; COMP_WORDS=({' '.join(repr(w) for w in words)}); COMP_CWORD={len(words) - 1}; "
                   "_boxsum; printf '%s\\n' \"${COMPREPLY[@]}\"")
        return subprocess.run(["bash", "-c", command], capture_output=True, check=True, cwd=self.dir).stdout.decode().split()

    def test_completion(self):
        if shutil.which("bash") is None:
            self.skipTest("no bash here")
        self.assertEqual(self.complete("boxsum", "thr"), ["threshold"])
        self.assertLessEqual({"--border", "--border-value"}, set(self.complete("boxsum", "blur", "--bo")))
        self.assertEqual(self.complete("boxsum", "threshold", "--method", ""), ["bradley", "niblack", "sauvola", "wolf", "nick", "singh", "phansalkar"])
        self.assertEqual(self.complete("boxsum", "blur", "--compress", "z"), ["zstd"])
        self.write("photo.png", b"")
        self.assertEqual(self.complete("boxsum", "blur", "ph"), ["photo.png"])
        for shell, words in (("zsh", "#compdef boxsum"), ("fish", "complete -c boxsum -n '__fish_seen_subcommand_from blur' -s r -l radius")):
            self.assertIn(words, self.boxsum("completion", shell).decode())
            if shutil.which(shell):
                subprocess.run([shell, "-n", self.write(shell, self.boxsum("completion", shell))], check=True)


class Reports(CliTest):
    def test_algorithms(self):
        listed = json.loads(self.boxsum("algorithms", "--params", "--json"))
        names = [(a["operation"], a["name"]) for a in listed]
        self.assertEqual(len(names), len(set(names)))
        reference = next(a for a in listed if a["name"] == "reference" and a["operation"] == "sat")
        self.assertEqual((reference["backend"], reference["built"]), ("cpu", True))
        self.assertIn("8u32u", reference["pairs"])
        for a in listed:
            for key in ("title", "paper", "cost", "backend"):
                self.assertTrue(a[key], (a["name"], key))
            for p in a["parameters"]:
                self.assertTrue(p["name"] and p["values"])
        text = self.boxsum("algorithms", "--params").decode()
        for operation, name in names:
            self.assertIn(f"{operation}:{name} (", text)
        only = json.loads(self.boxsum("algorithms", "--operation", "sat", "--json"))
        self.assertEqual({a["operation"] for a in only}, {"sat"})

    def test_info(self):
        report = json.loads(self.boxsum("info", "--json"))
        self.assertGreaterEqual(report["cpu"]["threads"], 1)
        self.assertEqual(report["cpu"]["processors"], len(os.sched_getaffinity(0)))
        self.assertLess(report["cpu"]["memory_limit_bytes"], report["cpu"]["memory_bytes"])
        self.assertIn(report["cpu"]["instruction_set"], report["cpu"]["instruction_sets"])
        always = {"libpng", "libjpeg", "libtiff", "libwebp", "libdeflate"}
        self.assertLessEqual(always, set(report["libraries"]))
        self.assertLessEqual(set(report["libraries"]), always | {"stb_image", "OpenEXR", "cfitsio"})
        text = self.boxsum("info").decode()
        for word in (report["version"], report["cpu"]["instruction_set"], "threads", "caches", "libtiff"):
            self.assertIn(word, text)

    def test_verify(self):
        """Of integral histograms; test_verify.py has a table's."""
        text = self.boxsum("verify", "--algorithm", "histogram:sequential").decode()
        self.assertRegex(text, r"^pass  histogram:sequential \(cpu\): \d+ passed, 0 failed")


class Progress(CliTest):
    def start_slowly(self, *args, data, **streams):
        """Half of the input at once; the caller gives the other half."""
        process = subprocess.Popen([BINARY, *map(str, args)], stdin=subprocess.PIPE, **streams)
        process.stdin.write(data[:1000])
        process.stdin.flush()
        return process

    def pseudo_terminal(self):
        try:
            return pty.openpty()
        except OSError as problem:  # a bare container may lack them
            self.skipTest(f"no pseudo-terminal: {problem}")

    def shown_by(self, controller, until=None):
        """What a terminal shows until these words are there, or until nobody holds it any more."""
        shown = b""
        try:  # one read may return a part; the end is an error
            while until is None or until not in shown:
                part = os.read(controller, 65536)
                if not part:
                    break
                shown += part
        except OSError:
            pass
        return shown

    def test_on_a_terminal(self):
        controller, terminal = self.pseudo_terminal()
        data = f.pnm(50, 50, 1, [7] * 2500)
        process = self.start_slowly("table", "-", "-o", self.path("t.npy"), "-q", data=data, stderr=terminal)
        os.close(terminal)
        shown = self.shown_by(controller, b"reading standard input (")
        self.assertIn(b"reading standard input (", shown)
        process.stdin.write(data[1000:])
        process.stdin.close()
        shown += self.shown_by(controller)
        os.close(controller)
        self.assertEqual(process.wait(TIME_LIMIT), 0)
        self.assertTrue(shown.endswith(b"\r\x1b[K"), "the line is cleaned up")

    def test_results_and_notes_stand_on_lines_of_their_own(self):
        """Both streams are one terminal: everything but progress follows its erased line."""
        image = f.pnm(50, 50, 1, [7] * 2500)
        pages = f.tiff(50, 50, 1, "8u", [7] * 2500, pages=2)
        out = self.path("x.npy")
        commands = [(("table", "-", "-o", out), image, b"standard input (50 x 50 of 8u) -> "),
                    (("blur", "-", out, "--radius", 1), image, b"standard input (50 x 50 of 8u) -> "),
                    (("threshold", "-", out), image, b"standard input (50 x 50 of 8u) -> "),
                    (("normalize", "-", out), image, b"standard input (50 x 50 of 8u) -> "),
                    (("stats", "-", "--mean", out), image, b"standard input (50 x 50 of 8u) -> "),
                    (("query", "-", "--box", "0,0,1,1"), image, b"row  col"),
                    (("hist", "-", "--bins", 2), image, b"    row"),
                    (("query", "-", "--box", "0,0,1,1", "--json"), image, b"{"),
                    (("table", "-", "-o", out, "-q"), pages, b"boxsum: note: ")]
        running = []
        for args, data, start in commands:
            controller, terminal = self.pseudo_terminal()
            process = self.start_slowly(*args, data=data, stdout=terminal, stderr=terminal)
            os.close(terminal)
            running.append((args, data, start, controller, process))
        for args, data, start, controller, process in running:
            shown = self.shown_by(controller, b"reading standard input (")
            process.stdin.write(data[1000:])
            process.stdin.close()
            shown += self.shown_by(controller)
            os.close(controller)
            self.assertEqual(process.wait(TIME_LIMIT), 0, args)
            self.assertIn(b"reading standard input (", shown, args)
            self.assertIn(b"\r\x1b[K" + start, shown, args)
            self.assertNotIn(b" s)" + start, shown, args)

    def shown_while_a_pipe_waits(self, words, *args):
        """What a terminal shows when these words are there, while the reader of the pipe that the tool writes waits."""
        controller, terminal = self.pseudo_terminal()
        os.mkfifo(self.path("pipe"))
        process = subprocess.Popen([BINARY, *map(str, args)], stderr=terminal, stdout=subprocess.DEVNULL)
        os.close(terminal)
        shown = b""
        if args[0] == "blur":  # opened at once: the pipe is full after its first bytes
            with open(self.path("pipe"), "rb") as pipe:
                first = pipe.read(1)
                shown = self.shown_by(controller, words)
                self.assertGreater(len(first + pipe.read()), 1 << 20)
        else:
            shown = self.shown_by(controller, words)
            with open(self.path("pipe"), "rb") as pipe:
                pipe.read()
        self.assertEqual(process.wait(TIME_LIMIT), 0)
        os.close(controller)
        return shown

    def test_how_much_is_done(self):
        """In strips of a large image a share and an estimate; of many files a rate, too."""
        source = self.write("in.npy", f.npy((3000, 3000), "8u", None, data=bytes(9000000)))
        shown = self.shown_while_a_pipe_waits(b" s left)", "blur", source, self.path("pipe"), "--format", "npy", "-r", 1, "--memory", "1M")
        self.assertRegex(shown, rb"blurring \(\d+\.\d s, [1-9]\d? %, \d+ s left\)")
        os.remove(self.path("pipe"))
        self.write("a.npy", f.npy((5, 5), "8u", [1] * 25))
        os.link(self.path("a.npy"), self.path("b.npy"))
        os.symlink("pipe", self.path("b.out"))
        shown = self.shown_while_a_pipe_waits(b" s left", "table", self.path("a.npy"), self.path("b.npy"), "-o",
                                              self.path("{name}.out"), "--format", "npy", "--jobs", 1, "-q")
        self.assertRegex(shown, rb"1 of 2 files, \d+\.\d a second, \d+ s left")

    def test_not_in_a_log(self):
        data = f.pnm(50, 50, 1, [7] * 2500)
        process = self.start_slowly("table", "-", "-o", self.path("t.npy"), "-q", data=data, stderr=subprocess.PIPE)
        time.sleep(2.5)  # a terminal would show something after one second
        process.stdin.write(data[1000:])
        process.stdin.close()
        shown = process.stderr.read()
        process.stderr.close()
        self.assertEqual((process.wait(TIME_LIMIT), shown), (0, b""))


if __name__ == "__main__":
    main()
