#!/usr/bin/env python3
"""What real files and real users do to the tool: memory, offsets, NaN, opacity, colours, columns, gaps, streams without end."""

import json
import math
import os
import random
import resource
import signal
import struct
import subprocess
import unittest
import zlib

import image_files as f
import oracle
from boxsum_cli import BAD_INPUT, BINARY, FAILURE, OUT_OF_MEMORY, TIME_LIMIT, USAGE, CliTest, main, peak_memory, some

ROWS, COLS = 70, 150


def bomb(side):
    """A PNG of side x side pixels of one bit, all black, in a file of side^2 / 8000 bytes or so."""
    line = bytes(1 + (side + 7) // 8)
    packer = zlib.compressobj(9)
    data = b"".join(packer.compress(line) for _ in range(side)) + packer.flush()
    return (b"\x89PNG\r\n\x1a\n" + f.png_chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)) +
            f.png_chunk(b"IDAT", data) + f.png_chunk(b"IEND", b""))


class Memory(CliTest):
    def test_few_boxes_take_no_tables(self):
        """64 MB of pixels; tables of them would take 1 GB, an integral histogram 8."""
        source = self.write("bomb.png", bomb(8000))
        for args in (("query", source, "--box", "0,0,1,1"), ("query", source, "--box", "7000,7000,900,900"),
                     ("hist", source, "--box", "0,0,10,10", "--bins", 256), ("hist", source, "--bins", 256),
                     ("hist", source, "--bins", 256, "--threads", 1), ("query", source, "--box", "0,0,8000,8000", "--threads", 1)):
            code, kilobytes = peak_memory(*args)
            self.assertEqual(code, 0, args)
            self.assertLess(kilobytes, 400 << 10, args)

    def test_many_bins_take_turns_in_one_tensor(self):
        """An integral histogram of all 256 would take 2 GB."""
        source = self.write("bomb.png", bomb(1500))
        code, kilobytes = peak_memory("hist", source, "--bins", 256, "--algorithm", "cpu")
        self.assertEqual(code, 0)
        self.assertLess(kilobytes, 1000 << 10)

    def test_a_limit_is_kept(self):
        source = self.write("bomb.png", bomb(4000))
        out = self.path("x.npy")
        for args, words in ((("table", source, out, "--squares", self.path("s.npy")), "256128016 bytes for two tables"),
                            (("stats", source, "--mean", out, "--std", self.path("s.npy"), "--border", "wrap"),
                             "bytes for the results")):
            self.refused(OUT_OF_MEMORY, words, *args, "--memory", "100M")
        self.refused(OUT_OF_MEMORY, "16000000 bytes", "query", source, "--box", "0,0,1,1", "--memory", "10M")
        self.boxsum("table", source, out, "--memory", "50M", "-q")  # goes through memory in strips

    def test_decoded_images_count(self):
        """Of every format that is decoded, before it is: 4 MB from files of a few kilobytes."""
        source = self.write("bomb.png", bomb(2000))
        for name, *options in (("x.png",), ("x.jpg",), ("x.tif", "--compress", "lzw"), ("x.pbm",)):
            self.boxsum("blur", source, self.path(name), "-r", 0, *options, "-q")
            for command in (("query", self.path(name), "--box", "0,0,1,1"), ("hist", self.path(name)),
                            ("blur", self.path(name), self.path("y.npy"), "-r", 1), ("stats", self.path(name), "--mean", self.path("y.npy"))):
                self.refused(OUT_OF_MEMORY, "4000000 bytes", *command, "--memory", "2M")

    def test_address_space_limit(self):
        """Said at once, not found out by the kernel."""
        source = self.write("bomb.png", bomb(4000))

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (250 << 20, 250 << 20))
        if self.start("--version", preexec_fn=limit).returncode != 0:
            self.skipTest("the tool needs more addresses just to start: it is built with a sanitizer")
        self.refused(OUT_OF_MEMORY, "bytes", "table", source, self.path("x.npy"), "--squares", self.path("s.npy"),
                     preexec_fn=limit)
        with open(self.path("large.npy"), "wb") as out:  # with a hole: it cannot even be mapped
            out.write(f.npy((30000, 30000), "8u", None, data=b""))
            out.truncate(out.tell() + 900000000)
        self.refused(OUT_OF_MEMORY, "large.npy", "query", self.path("large.npy"), "--box", "0,0,1,1", preexec_fn=limit)

    def test_threads_are_bounded_by_the_machine(self):
        source = self.write("in.pgm", f.pnm(200, 300, 1, f.pixels("8u", 60000)))
        for args in (("blur", source, self.path("x.npy"), "-r", 3, "-q"), ("table", source, self.path("x.npy"), "-q"),
                     ("hist", source)):
            self.boxsum(*args, "--threads", 4096)

    def test_threads_that_cannot_be_started(self):
        """Their stacks are larger than the addresses that there are: the others do it, or it is said."""
        source = self.write("in.npy", f.npy((2000, 2000), "8u", None, data=bytes(4000000)))
        (self.dir / "out").mkdir()

        def limit():
            resource.setrlimit(resource.RLIMIT_STACK, (1 << 34, resource.getrlimit(resource.RLIMIT_STACK)[1]))
            resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))
        if self.start("--version", preexec_fn=limit).returncode != 0:
            self.skipTest("the tool needs more addresses just to start: it is built with a sanitizer")
        os.link(source, self.path("b.npy"))
        for args in (("blur", source, self.path("x.npy"), "-r", 3, "--threads", 2), ("table", source, self.path("x.npy"), "--threads", 2),
                     ("blur", source, self.path("b.npy"), "-r", 3, "-o", self.dir / "out", "--jobs", 2)):
            self.boxsum(*args, "-q", preexec_fn=limit)
        self.assertEqual(sorted(p.name for p in (self.dir / "out").iterdir()), ["b.npy", "in.npy"])
        self.assertEqual(self.read("out/b.npy"), self.read("out/in.npy"))
        self.write("v.y4m", b"YUV4MPEG2 W16 H16 Cmono\n" + (b"FRAME\n" + bytes(256)) * 3)
        self.refused(OUT_OF_MEMORY, "cannot start a thread", "track", self.path("v.y4m"), "--box", "0,0,4,4", preexec_fn=limit)

    def test_streams_without_end(self):
        image = self.write("in.pgm", f.pnm(2, 2, 1, [1] * 4))
        for args in (("query", "/dev/zero", "--box", "0,0,1,1"), ("query", image, "--boxes", "/dev/zero")):
            self.refused(BAD_INPUT, "/dev/zero", *args)
        with subprocess.Popen(["yes"], stdout=subprocess.PIPE) as yes:
            done = subprocess.run([BINARY, "query", "-", "--box", "0,0,1,1"], stdin=yes.stdout, capture_output=True,
                                  timeout=TIME_LIMIT)
            yes.stdout.close()
        self.assertEqual(done.returncode, BAD_INPUT)
        self.assertIn(b"none of PNG", done.stderr)


class Strips(CliTest):
    """What is written row by row goes through memory in strips: the same bytes as at once."""

    def test_filters(self):
        for turn, (kind, channels) in enumerate((("8u", 1), ("16u", 3), ("16s", 1), ("32f", 1), ("64f", 2))):
            values = f.pixels(kind, 300 * 90 * channels)
            source = self.write("in.npy", f.npy((300, 90, channels), kind, values))
            mask = self.write("mask.pgm", f.pnm(300, 90, 1, [1 if v % 7 else 0 for v in f.pixels("8u", 27000)]))
            for args in some(turn, (("blur", "-r", "3,5"), ("blur", "-r", 2, "--border", "reflect"),
                                    ("blur", "-r", 90, "--type", "64f"), ("blur", "-r", "0,4", "--mask", mask),
                                    ("blur", "-r", 2, "--weights", mask), ("normalize", "-w", 9),
                                    ("normalize", "-w", "8,5", "--origin", "-4,1"),
                                    ("threshold", "-w", "9,4", "--origin", "4,-2", "--method", "niblack"),
                                    ("threshold", "-w", 7, "--method", "niblack"),
                                    ("threshold", "-w", 7, "--method", "bradley"),
                                    ("threshold", "-w", 7, "--method", "sauvola"))):
                whole, strips = self.path("whole.npy"), self.path("strips.npy")
                self.boxsum(args[0], source, whole, *args[1:], "-q")
                for threads in (1, 3):
                    self.boxsum(args[0], source, strips, *args[1:], "-q", "--memory", "100K", "--threads", threads)
                    self.assertEqual(self.read("strips.npy"), self.read("whole.npy"), (kind, args, threads))
            for name in ("x.tif", "x.pgm") if kind in ("8u", "16u") else ("x.tif",):
                self.boxsum("blur", source, whole, "-r", 3, "-q")
                self.boxsum("blur", source, self.path(name), "-r", 3, "-q", "--memory", "100K")
                self.boxsum("blur", self.path(name), self.path("again.npy"), "-r", 0, "-q")
                self.assertEqual(self.read("again.npy"), self.read("whole.npy"), (kind, name))
            if kind in ("8u", "16u"):  # numbers that are rounded on their way to the file
                for name, options in (("x.png", ()), ("x.pgm", ("--memory", "100K"))):  # PNG is made at once
                    self.boxsum("normalize", source, self.path(name), "-w", 9, "-q", *options)
                    self.boxsum("blur", self.path(name), self.path(name + ".npy"), "-r", 0, "-q")
                self.assertEqual(self.read("x.pgm.npy"), self.read("x.png.npy"), kind)

    def test_zeros_of_either_sign(self):
        """The sign that a zero gets depends on how a window was summed up, not on strips or threads."""
        for kind in ("32f", "64f"):
            values = [-1.0 if i % 353 == 0 else 1.0 if i % 331 == 0 else -0.0 for i in range(300 * 90)]
            source = self.write("in.npy", f.npy((300, 90), kind, values))
            for args in (("-r", "2,3"), ("-r", 2, "--border", "reflect"), ("-r", 2, "--ignore-nan"), ("-r", 40)):
                self.boxsum("blur", source, self.path("whole.npy"), *args, "-q")
                for more in (("--threads", 1), ("--memory", "150K", "--threads", 1), ("--memory", "150K", "--threads", 3)):
                    self.boxsum("blur", source, self.path("strips.npy"), *args, *more, "-q")
                    self.assertEqual(self.read("strips.npy"), self.read("whole.npy"), (kind, args, more))

    def test_strips_of_a_tiff(self):
        """The file's are of a MiB: some go into it as they are, others are put together of what was computed."""
        rows, cols = 2500, 1000
        source = self.write("in.npy", f.npy((rows, cols), "8u", None, data=bytes(v * (r % 7) % 256 for r in range(rows) for v in range(cols))))
        self.boxsum("blur", source, self.path("x.npy"), "-r", 1, "-q")
        for options in ((), ("--memory", "2M"), ("--compress", "deflate")):
            self.boxsum("blur", source, self.path("x.tif"), "-r", 1, *options, "-q")
            self.boxsum("blur", self.path("x.tif"), self.path("y.npy"), "-r", 0, "-q")
            self.assertTrue(self.read("y.npy") == self.read("x.npy"), options)

    def test_statistics(self):
        for turn, (kind, channels) in enumerate((("8u", 3), ("16u", 1), ("16s", 1), ("32f", 1), ("64f", 2))):
            values = f.pixels(kind, 300 * 90 * channels)
            source = self.write("in.npy", f.npy((300, 90, channels), kind, values))
            mask = self.write("mask.pgm", f.pnm(300, 90, 1, [1 if v % 7 else 0 for v in f.pixels("8u", 27000)]))
            names = ("mean", "std", "variance", "sum", "count")
            formats = [("npy", "tif", "npy", "tif", "npy")]
            if kind in ("8u", "16u"):
                formats.append(("ppm" if channels == 3 else "pgm", "npy", "tif", "npy", "tif"))
            for endings in formats:
                for args in some(turn, (("-w", "3,9"), ("-w", 31, "--border", "mirror"),
                                        ("-w", 5, "--mask", mask, "--min-count", 9), ("-w", 401, "--border", "shrink"),
                                        ("-w", 8, "--origin", "-4,2", "--weights", mask),
                                        ("-w", "9,4", "--origin", "4,-2", "--border", "reflect"))):
                    got = []
                    for kept in ("whole", "strips"):
                        paths = [self.path(f"{kept}-{n}.{e}") for n, e in zip(names, endings)]
                        outputs = [w for n, p in zip(names, paths) for w in (f"--{n}", p)]
                        memory = ("--memory", "200K") if kept == "strips" else ()
                        self.boxsum("stats", source, *outputs, *args, *memory, "-q")
                        got.append([self.read(p) for p in paths])
                    self.assertEqual(got[0], got[1], (kind, endings, args))

    def test_tables(self):
        for turn, (kind, channels) in enumerate((("8u", 1), ("16u", 3), ("32s", 1))):
            values = f.pixels(kind, 200 * 40 * channels)
            source = self.write("in.npy", f.npy((200, 40, channels), kind, values))
            for layout in some(turn, ("padded", "inclusive", "exclusive")):
                for table in ("64u", "32u") if kind != "32s" else ("64s", "32s"):
                    args = ("--layout", layout, "--table-type", table, "-q")
                    self.boxsum("table", source, self.path("whole.npy"), *args, "--algorithm", "reference")
                    self.boxsum("table", source, self.path("strips.npy"), *args, "--memory", "100K")
                    self.assertEqual(self.read("strips.npy"), self.read("whole.npy"), (kind, layout, table))

    def test_rows_shorter_than_a_cache_line(self):
        """Strips lie in memory as in the file: shifted by more bytes than such a row has."""
        values = f.pixels("8u", 50000)
        source = self.write("in.npy", f.npy((50000, 1), "8u", values))
        for layout in ("padded", "inclusive", "exclusive"):
            args = ("--table-type", "32u", "--layout", layout, "-q")
            self.boxsum("table", source, self.path("whole.npy"), *args, "--algorithm", "reference")
            self.boxsum("table", source, self.path("strips.npy"), *args, "--memory", "100K")
            self.assertEqual(self.read("strips.npy"), self.read("whole.npy"), layout)
        for name in ("x.pgm", "x.npy"):
            self.boxsum("blur", source, self.path(name), "-r", 1, "-q", "--memory", "20K")
            self.boxsum("blur", source, self.path("w" + name), "-r", 1, "-q")
            self.assertEqual(self.read(name), self.read("w" + name))


class NoData(CliTest):
    def test_nodata(self):
        values = [float(v) for v in f.pixels("8u", 70)]
        values[12] = values[13] = values[40] = -9999.0
        plain = self.write("in.npy", f.npy((7, 10), "32f", values))
        tagged = self.write("in.tif", f.tiff(7, 10, 1, "32f", values, tags=[(42113, 2, list(b"-9999\0"))]))
        expected = []
        for r in range(7):
            for c in range(10):
                w = [v for v in oracle.window(values, 7, 10, r, c, 1, 1) if v != -9999]
                expected.append(sum(w) / len(w))
        for args in ((plain, "--nodata", "-9999"), (tagged,)):
            self.boxsum("blur", args[0], self.path("x.npy"), "-r", 1, *args[1:], "-q")
            got = f.read_npy(self.read("x.npy"))[2]
            self.assertLess(max(abs(a - b) for a, b in zip(got, expected)), 1e-4)
        self.boxsum("blur", tagged, self.path("x.npy"), "-r", 0, "-q")
        self.assertEqual(f.read_npy(self.read("x.npy"))[2], values)  # where nothing counts, nodata again
        self.boxsum("blur", plain, self.path("x.npy"), "-r", 0, "--nodata", "-9999", "--fill", 5, "-q")
        self.assertEqual([v for i, v in enumerate(f.read_npy(self.read("x.npy"))[2]) if i in (12, 13, 40)], [5.0] * 3)

    def test_nodata_is_the_result_of_integers_too(self):
        """Where nothing counts a file's own value says so: 0 would be a height."""
        values = [-9999] * 70
        values[0], values[69] = 120, 80
        tags = [(42113, 2, list(b"-9999\0"))]
        self.write("in.tif", f.tiff(7, 10, 1, "16s", values, tags=tags))
        wanted = [-9999] * 70
        for i in (0, 1, 10, 11):
            wanted[i], wanted[69 - i] = 120, 80
        for more in ((), ("--radius-map", self.write("map.pgm", f.pnm(7, 10, 1, [1] * 70))), ("--nodata", -9999)):
            radius = () if more[:1] == ("--radius-map",) else ("-r", 1)
            self.boxsum("blur", self.path("in.tif"), self.path("x.npy"), *radius, *more, "-q")
            self.assertEqual(f.read_npy(self.read("x.npy"))[1:], ("<i2", wanted), more)
        self.boxsum("blur", self.path("in.tif"), self.path("x.npy"), "-r", 1, "--fill", 7, "-q")
        self.assertEqual(f.read_npy(self.read("x.npy"))[2][5], 7)
        self.write("in.npy", f.npy((7, 10), "16u", [v if v > 0 else 9 for v in values]))
        for command in ("guided", "denoise"):
            self.boxsum(command, self.path("in.npy"), self.path("x.npy"), "-r", 1, "--nodata", 9, "-q")
            self.assertEqual(f.read_npy(self.read("x.npy"))[2][5], 9, command)

    def test_thresholds_of_floats_with_nodata(self):
        values = [float(v) for v in f.pixels("8u", 70)]
        values[12] = values[13] = -9999.0
        plain = self.write("in.npy", f.npy((7, 10), "32f", values))
        tagged = self.write("in.tif", f.tiff(7, 10, 1, "32f", values, tags=[(42113, 2, list(b"-9999\0"))]))
        mask = self.write("mask.pgm", f.pnm(7, 10, 1, [int(v >= 0) for v in values]))
        for method in ("sauvola", "wolf"):
            options = ("--method", method, "-w", 5, "-q", *(("--range", 127.5) if method == "sauvola" else ()))
            self.boxsum("threshold", plain, self.path("m.npy"), "--mask", mask, *options)
            for given in ((plain, "--nodata", -9999), (tagged,)):
                self.boxsum("threshold", given[0], self.path("x.npy"), *given[1:], *options)
                self.assertEqual(self.read("x.npy"), self.read("m.npy"), (method, given))

    def test_values_of_narrowed_integers(self):
        """What options name fits the file's type, whether or not its pixels need all of that."""
        values = f.pixels("8u", 70)
        for kind in ("64s", "32s"):
            source = self.write("in.npy", f.npy((7, 10), kind, values))
            for options, descr in ((("--nodata", -9999), "<i2"), (("--nodata", 60000), "<u2"), (("--fill", -1), "<i2"),
                                   (("--border", "constant", "--border-value", 70000), "<f8"), (("--nodata", 300), "<u2")):
                self.boxsum("blur", source, self.path("x.npy"), "-r", 0, *options, "-q")
                self.assertEqual(f.read_npy(self.read("x.npy"))[1:], (descr, values), (kind, options))
            self.boxsum("stats", source, "--nodata", -9999, "-q", "--mean", self.path("x.npy"))
            self.refused(BAD_INPUT, "--nodata: is 0.5", "blur", source, self.path("x.npy"), "-r", 0, "--nodata", 0.5)
        source = self.write("in.npy", f.npy((7, 10), "32u", values))
        self.refused(BAD_INPUT, "--nodata: is -1", "blur", source, self.path("x.npy"), "-r", 0, "--nodata", -1)

    def test_nan_and_masks(self):
        values = [float(v) for v in f.pixels("8u", 70)]
        values[33] = math.nan
        source = self.write("in.npy", f.npy((7, 10), "32f", values))
        self.boxsum("stats", source, "--mean", self.path("m.npy"), "-w", 3, "--ignore-nan", "-q")
        self.assertFalse(any(math.isnan(v) for v in f.read_npy(self.read("m.npy"))[2]))
        values[33] = 0.0
        self.write("in.npy", f.npy((7, 10), "32f", values))
        mask = self.write("mask.pgm", f.pnm(7, 10, 1, [0 if i == 33 else 255 for i in range(70)]))
        self.boxsum("stats", source, "--mean", self.path("n.npy"), "-w", 3, "--mask", mask, "-q")
        self.assertEqual(self.read("n.npy"), self.read("m.npy"))
        self.refused(BAD_INPUT, "--mask", "blur", source, self.path("x.npy"), "-r", 1, "--mask",
                     self.write("small.pgm", f.pnm(7, 9, 1, [1] * 63)))

    def test_weights(self):
        values = f.pixels("8u", 70)
        weights = [v % 5 for v in f.pixels("8u", 70, seed=3)]
        plain = self.write("in.npy", f.npy((7, 10), "8u", values))
        for name, data in (("w.pgm", f.pnm(7, 10, 1, weights)), ("w.npy", f.npy((7, 10), "64f", weights))):
            self.write(name, data)
            for memory in ((), ("--memory", "1K")):
                self.boxsum("blur", plain, self.path("x.npy"), "-r", 1, "--weights", self.path(name), "--type", "64f", "-q", *memory)
                self.boxsum("stats", plain, "--variance", self.path("v.npy"), "-w", 3, "--weights", self.path(name), "--min-weight", 9, "-q",
                            "--fill", -1, *memory)
                means, variances = f.read_npy(self.read("x.npy"))[2], f.read_npy(self.read("v.npy"))[2]
                for r in range(7):
                    for c in range(10):
                        near = [y * 10 + x for y in range(max(0, r - 1), min(7, r + 2)) for x in range(max(0, c - 1), min(10, c + 2))]
                        count = sum(weights[i] for i in near)
                        mean = sum(weights[i] * values[i] for i in near) / count if count else math.nan
                        if count:
                            self.assertAlmostEqual(means[r * 10 + c], mean, places=9)
                        expected = sum(weights[i] * (values[i] - mean) ** 2 for i in near) / count if count >= 9 else -1
                        self.assertAlmostEqual(variances[r * 10 + c] / max(1, abs(expected)), expected / max(1, abs(expected)), places=5)
        self.refused(USAGE, "--weights", "blur", plain, self.path("y.npy"), "-r", 1, "--min-weight", 2)
        self.refused(BAD_INPUT, "--min-count", "blur", plain, self.path("y.npy"), "-r", 1, "--min-count", 2, "--weights",
                     self.path("w.pgm"))
        self.refused(BAD_INPUT, "--weights", "blur", plain, self.path("y.npy"), "-r", 1, "--weights",
                     self.write("small.pgm", f.pnm(3, 3, 1, [1] * 9)))

    def test_masks_and_weights_of_other_rows(self):
        """Strips of a mask that is too low would end in other memory, those of one too high would lie elsewhere."""
        for rows, cols in ((7, 10), (300, 90)):
            source = self.write("in.npy", f.npy((rows, cols), "8u", f.pixels("8u", rows * cols)))
            for given in (rows - 1, rows + 1, 1, 3 * rows):
                other = self.write("other.pgm", f.pnm(given, cols, 1, [1] * (given * cols)))
                for option in ("--mask", "--weights"):
                    words = f"{option}: rows x cols are {given} x {cols}, must be the image's {rows} x {cols}"
                    for memory in ((), ("--memory", "200K")):
                        for command in (("blur", source, self.path("x.npy"), "-r", 1), ("threshold", source, self.path("x.npy"), "-w", 5),
                                        ("normalize", source, self.path("x.npy")),
                                        ("stats", source, "--mean", self.path("x.npy"), "--std", self.path("y.tif"), "-w", 3),
                                        ("stats", source, "--window", 501)):
                            self.refused(BAD_INPUT, words, *command, option, other, *memory)
                    self.refused(BAD_INPUT, words, "stats", source, "--border", "wrap", option, other)

    def test_more_thresholds(self):
        values = f.pixels("8u", 70)
        source = self.write("in.pgm", f.pnm(7, 10, 1, values))
        both = [oracle.mean_and_variance(oracle.window(values, 7, 10, r, c, 2, 2)) for r in range(7) for c in range(10)]
        formulas = {"nick": lambda x, m, v: m - 0.2 * math.sqrt(v + m * m),
                    "phansalkar": lambda x, m, v: m * (1 + 2 * math.exp(-10 * m / 255) + 0.25 * (math.sqrt(v) / 127.5 - 1))}
        for method, formula in formulas.items():
            self.boxsum("threshold", source, self.path("x.npy"), "-w", 5, "--method", method, "-q")
            self.assertEqual(f.read_npy(self.read("x.npy"))[2],
                             [255 if x > formula(x, m, v) else 0 for x, (m, v) in zip(values, both)], method)
        self.boxsum("threshold", source, self.path("x.npy"), "-w", 5, "--method", "singh", "--range", 100, "-q")


class Boxes(CliTest):
    def answers(self, source, boxes, *more):
        options = [x for b in boxes for x in ("--box", ",".join(map(str, b)))]
        return json.loads(self.boxsum("query", source, *options, *more, "--json"))["boxes"]

    def many_boxes(self, count=40):
        rng = random.Random(5)
        boxes = []
        for _ in range(count):
            r, c = rng.randrange(ROWS), rng.randrange(COLS)
            boxes.append((r, c, rng.randrange(1, ROWS - r + 1), rng.randrange(1, COLS - c + 1)))
        return boxes + [(0, 0, ROWS, COLS), (1, 1, ROWS - 1, COLS - 1)]

    def check(self, kind, values, boxes, tolerance):
        source = self.write("in.npy", f.npy((ROWS, COLS), kind, values))
        for e, box in zip(self.answers(source, boxes), boxes):
            sample = oracle.box_values(values, COLS, 1, box, 0)
            n = len(sample)
            if isinstance(values[0], int):
                mean, variance = oracle.mean_and_variance(sample)
                self.assertEqual(e["sum"], sum(sample), (kind, box))
            else:
                mean = math.fsum(sample) / n
                variance = math.fsum((x - mean) ** 2 for x in sample) / n - (math.fsum(x - mean for x in sample) / n) ** 2
                self.assertEqual(e["sum"], math.fsum(sample), (kind, box))
            self.assertLessEqual(abs(e["mean"] - mean), 1e-15 * abs(mean), (kind, box))
            self.assertLessEqual(abs(e["variance"] - variance), tolerance * variance, (kind, box))

    def test_offsets(self):
        """Few boxes and many, which go different ways: variances do not cancel."""
        rng = random.Random(3)
        n = ROWS * COLS
        single = lambda x: struct.unpack("f", struct.pack("f", x))[0]
        images = [("32f", [single(1e6 + rng.random()) for _ in range(n)], 1e-9),
                  ("64f", [1e6 + rng.random() for _ in range(n)], 1e-9),
                  ("32s", [10**9 + rng.randrange(3) for _ in range(n)], 1e-15),
                  ("32u", [4 * 10**9 + rng.randrange(3) for _ in range(n)], 1e-15),
                  ("32u", f.pixels("32u", n), 1e-15), ("16s", f.pixels("16s", n), 1e-15),
                  ("16u", f.pixels("16u", n), 1e-15), ("8u", f.pixels("8u", n), 1e-15)]
        for kind, values, tolerance in images:
            for boxes in ([(ROWS - 3, COLS - 3, 3, 3), (2, 60, 5, 5)], self.many_boxes()):
                self.check(kind, values, boxes, tolerance)

    def test_integers_of_64_bits(self):
        values = f.pixels("64s", ROWS * COLS)
        source = self.write("in.npy", f.npy((ROWS, COLS), "64s", [v // 2**12 for v in values]))
        got = self.answers(source, [(3, 4, 20, 30)])[0]
        sample = oracle.box_values([v // 2**12 for v in values], COLS, 1, (3, 4, 20, 30), 0)
        self.assertEqual(got["sum"], sum(sample))
        self.assertLessEqual(abs(got["variance"] - oracle.mean_and_variance(sample)[1]), 1e-9 * got["variance"])

    def test_constant_boxes(self):
        for kind, value in (("32f", 0.1), ("64f", 0.1), ("64f", 1e300), ("32s", -2**31), ("64u", 2**64 - 1)):
            source = self.write("in.npy", f.npy((ROWS, COLS), kind, [value] * (ROWS * COLS)))
            for e in self.answers(source, self.many_boxes()):
                self.assertEqual(e["variance"], 0, kind)

    def test_nan_stays_in_its_boxes(self):
        values = f.pixels("32f", ROWS * COLS)
        clean = self.answers(self.write("clean.npy", f.npy((ROWS, COLS), "32f", values)), self.many_boxes())
        for bad in (math.nan, math.inf, -math.inf):
            values[30 * COLS + 40] = bad
            source = self.write("in.npy", f.npy((ROWS, COLS), "32f", values))
            for boxes in (self.many_boxes(), [(31, 0, 39, COLS), (30, 40, 1, 1)]):
                clean = self.answers(self.path("clean.npy"), boxes)
                for e, before in zip(self.answers(source, boxes, "--threads", 2), clean):
                    if e["row"] <= 30 < e["row"] + e["rows"] and e["col"] <= 40 < e["col"] + e["cols"]:
                        self.assertIsNone(e["sum"])
                        self.assertIsNone(e["variance"])
                    else:
                        self.assertEqual(e, before)
        text = self.boxsum("query", source, "--box", "30,40,1,1", "--csv").decode()
        self.assertEqual(text.splitlines()[1].split(",")[5:], ["-inf", "-inf", "nan"])

    def test_columns_by_name(self):
        values = f.pixels("8u", ROWS * COLS)
        source = self.write("in.pgm", f.pnm(ROWS, COLS, 1, values))
        expected = self.answers(source, [(2, 1, 4, 3), (20, 10, 5, 6)])
        for text in ("x,y,w,h\n1,2,3,4\n10,20,6,5\n", "rows;cols;row;col\n4;3;2;1\n5;6;20;10\n",
                     "X\tY\tWidth\tHeight\n1\t2\t3\t4\n10\t20\t6\t5\n",
                     '"left", "top", "height", "width"\n1,2,4,3\n"10","20",5,6\n'):
            path = self.write("boxes.csv", text.encode())
            got = json.loads(self.boxsum("query", source, "--boxes", path, "--json"))["boxes"]
            self.assertEqual(got, expected, text)
        path = self.write("boxes.csv", b'id,x,y,w,h,label\n7,1,2,3,4,"a, ""b"""\n8,10,20,6,5,c\n')
        got = self.boxsum("query", source, "--boxes", path, "--box", "0,0,1,1", "--csv").decode().splitlines()
        self.assertEqual(got[0], "id,label,row,col,rows,cols,channel,sum,mean,variance")
        self.assertTrue(got[1].startswith(",,0,0,1,1,0,"), got)
        self.assertTrue(got[2].startswith('7,"a, ""b""",2,1,4,3,0,'), got)
        got = json.loads(self.boxsum("hist", source, "--boxes", path, "--bins", 2, "--json"))["boxes"]
        self.assertEqual([(b["id"], b["label"], b["row"]) for b in got], [("7", 'a, "b"', 2), ("8", "c", 20)])
        for text, words in (("row1,col1,h,w\n1,2,3,4\n", "none is 'row'"), ("x,y,w,rows,h\n1,2,3,4,5\n", "two columns say"),
                            ("a,b,c,d\n1,2,3,4\n", "'a', 'b', 'c', 'd'"), ("x,y,w,h,id\n1,2,3,4\n", "line 2"),
                            ("x,y,w,h\n1,2,3,4.5\n", "line 2"), ("1,2,3,4\n1,2\0,3,4\n", "'1,2 ,3,4' is not")):
            path = self.write("boxes.csv", text.encode())
            for command in ("query", "hist"):
                self.refused(BAD_INPUT, words, command, source, "--boxes", path)

    def test_histograms_of_many_boxes_and_of_few_are_the_same(self):
        """Counted in the image, in one integral histogram, and in one for a few bins after the other."""
        values = f.pixels("16u", ROWS * COLS)
        source = self.write("in.npy", f.npy((ROWS, COLS), "16u", values))
        boxes = self.write("boxes.csv", "\n".join(",".join(map(str, b)) for b in self.many_boxes(400)).encode())
        options = ("hist", source, "--bins", 50, "--range", "100,60000", "--boxes", boxes, "--csv")
        counted = self.boxsum(*options)
        self.assertEqual(self.boxsum(*options, "--algorithm", "sequential"), counted)
        self.assertEqual(self.boxsum(*options, "--algorithm", "sequential", "--memory", "1500K"), counted)
        first = counted.decode().splitlines()[1].split(",")
        row, col, rows, cols = map(int, first[:4])
        sample = oracle.box_values(values, COLS, 1, (row, col, rows, cols), 0)
        width = (60000 - 100) / 50
        for b in range(50):
            self.assertEqual(int(first[5 + b]), sum(int((v - 100) * (1 / width)) == b for v in sample if 100 <= v < 60000))

    def test_tensors(self):
        values = f.pixels("8u", 12 * 17)
        source = self.write("in.pgm", f.pnm(12, 17, 1, values))
        expected = []
        for b in range(6):
            expected += oracle.inclusive([1 if int(v * (6 / 256)) == b else 0 for v in values], 12, 17)
        for memory in ((), ("--memory", "8000b")):
            self.boxsum("hist", source, "--bins", 6, "--tensor", self.path("t.npy"), *memory)
            self.assertEqual(f.read_npy(self.read("t.npy")), ((6, 12, 17), "<u4", expected))
        self.refused(BAD_INPUT, "--band or --grey", "hist", self.write("c.ppm", f.pnm(2, 2, 3, [1] * 12)), "--tensor",
                     self.path("x.npy"))

    def test_histograms_of_every_type(self):
        for kind in ("8u", "16s", "32u", "32s", "64s", "16f", "32f", "64f"):
            values = [v // 2**12 for v in f.pixels(kind, 12)] if kind == "64s" else f.pixels(kind, 12)
            source = self.write("in.npy", f.npy((3, 4), kind, values))
            low, high = min(values), max(values) + 1
            got = json.loads(self.boxsum("hist", source, "--bins", 1, f"--range={low},{high}", "--json"))
            self.assertEqual(got["boxes"][0]["counts"], [12], kind)
        text = self.boxsum("hist", source, "--bins", 5, "--range", "1e300,1e308").decode()
        self.assertIn("1e+308", text)
        self.assertNotIn("inf", text)


class TableFiles(CliTest):
    def test_what_can_be_no_table(self):
        values = f.pixels("8u", 63)
        image = self.write("in.npy", f.npy((7, 9), "8u", [v | 1 for v in values]))
        self.boxsum("table", image, self.path("padded.npy"), "--squares", self.path("squares.npy"), "-q")
        self.boxsum("table", image, self.path("inclusive.npy"), "--layout", "inclusive", "-q")
        box = ("--box", "0,0,3,3")
        self.refused(BAD_INPUT, "its type is 8u", "query", image, "--table", "padded", *box)
        for layout in ("padded", "exclusive"):
            self.refused(BAD_INPUT, "are not zero", "query", self.path("inclusive.npy"), "--table", layout, *box)
        self.refused(BAD_INPUT, "is no table of squares of", "query", self.path("padded.npy"), "--table", "padded",
                     "--squares", self.path("padded.npy"), *box)
        done = self.start("query", self.path("padded.npy"), "--table", "inclusive", *box)
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"like a padded table", done.stderr)


class Opacity(CliTest):
    def setUp(self):
        super().setUp()
        self.rgba = [255 if k == 3 else (37 * i + 11 * k) % 256 for i in range(12 * 14) for k in range(4)]
        self.opaque = self.write("opaque.png", f.png(12, 14, 4, 8, self.rgba))

    def pixels(self, name):
        self.boxsum("blur", self.path(name), self.path("raw.npy"), "-r", 0, "-q")
        return f.read_npy(self.read("raw.npy"))

    def test_it_is_kept(self):
        for method in ("bradley", "niblack", "sauvola", "wolf"):
            self.boxsum("threshold", self.opaque, self.path("x.png"), "--method", method, "--channels", "each", "-q")
            shape, _, got = self.pixels("x.png")
            self.assertEqual((shape, set(got[3::4])), ((12, 14, 4), {255}), method)
        self.boxsum("stats", self.opaque, "--mean", self.path("m.png"), "--std", self.path("s.png"), "-w", 5, "-q")
        self.boxsum("normalize", self.opaque, self.path("n.png"), "-q")
        for name in ("m.png", "s.png", "n.png"):
            self.assertEqual(set(self.pixels(name)[2][3::4]), {255}, name)
        half = self.write("half.png", f.png(12, 14, 2, 16, [v * 257 if i % 2 == 0 else 1000 * (i // 2) % 65536
                                                            for i, v in enumerate(f.pixels("8u", 2 * 12 * 14))]))
        self.boxsum("threshold", half, self.path("x.png"), "-q")
        shape, _, got = self.pixels("x.png")
        self.assertEqual(shape, (12, 14, 2))
        self.assertLessEqual(set(got[::2]), {0, 255})
        self.assertEqual(got[1::2], [min(255, oracle.round_half_up(1000 * i % 65536 * 255 / 65535)) for i in range(12 * 14)])

    def test_blur_does_not_mix_in_what_cannot_be_seen(self):
        values = [v for i in range(12) for j in range(14) for v in ((255, 255, 255, 255) if j < 7 else (0, 0, 0, 0))]
        self.boxsum("blur", self.write("edge.png", f.png(12, 14, 4, 8, values)), self.path("x.png"), "-r", 2, "-q")
        got = self.pixels("x.png")[2]
        for j in range(14):
            alpha = oracle.round_half_up(255 * sum(1 for c in range(max(0, j - 2), min(14, j + 3)) if c < 7) /
                                         (min(14, j + 3) - max(0, j - 2)))
            self.assertEqual(got[4 * j:4 * j + 4], [255 if alpha else 0] * 3 + [alpha], j)

    def test_colours_that_a_tiff_holds_multiplied_by_their_opacity(self):
        """Associated alpha: the same picture as with colours by themselves, whatever is done with it and written."""
        for kind, white in (("8u", 255), ("16u", 65535), ("32f", 1)):
            colours = f.pixels("8u", 12 * 14 * 4)
            stored, plain = [], []
            for i in range(0, len(colours), 4):
                alpha = colours[i + 3] * (white // 255) if white > 1 else colours[i + 3] / 256
                mixed = [c * alpha // 255 if white > 1 else c / 256 * alpha for c in colours[i:i + 3]]  # exact as 32f
                stored += mixed + [alpha]
                plain += [min(white, (2 * m * white + alpha) // (2 * alpha)) if white > 1 else m / alpha
                          for m in mixed] + [alpha] if alpha else mixed + [alpha]
            self.write("m.tif", f.tiff(12, 14, 4, kind, stored, tags=[(338, 3, [1])]))
            self.write("p.tif", f.tiff(12, 14, 4, kind, plain, tags=[(338, 3, [2])]))
            for args in (("blur", "-r", 0), ("blur", "-r", 2), ("threshold", "-w", 3, "--range", 1)):
                for name in ("m", "p"):
                    self.boxsum(args[0], self.path(f"{name}.tif"), self.path(f"{name}.npy"), *args[1:], "-q")
                self.assertEqual(self.read("m.npy"), self.read("p.npy"), (kind, args))
            self.boxsum("blur", self.path("m.tif"), self.path("x.tif"), "-r", 0, "-q")
            self.assertEqual(f.tiff_tags(self.read("x.tif"))[338], [2])

    def test_values_that_transparent_images_have_no_place_for(self):
        source = self.write("any.png", f.png(12, 14, 4, 8, f.pixels("8u", 12 * 14 * 4)))
        for options in (("--nodata", 10), ("--ignore-nan",), ("--min-count", 3), ("--fill", 9),
                        ("--border", "constant", "--border-value", 7)):
            self.refused(BAD_INPUT, "mean nothing for a transparent image", "blur", source, self.path("x.png"), "-r", 1, *options)
        self.boxsum("blur", source, self.path("x.png"), "-r", 1, "-q", "--border", "constant", "--border-value", 0)

    def test_blur_weighs_colours_by_opacity(self):
        values = f.pixels("8u", 12 * 14 * 4)
        self.boxsum("blur", self.write("any.png", f.png(12, 14, 4, 8, values)), self.path("x.png"), "-r", 1, "-q")
        got = self.pixels("x.png")[2]
        for r in range(12):
            for c in range(14):
                near = [4 * (i * 14 + j) for i in range(max(0, r - 1), min(12, r + 2)) for j in range(max(0, c - 1), min(14, c + 2))]
                weight = sum(values[i + 3] for i in near)
                for k in range(3):
                    exact = sum(values[i + k] * values[i + 3] for i in near) / weight
                    self.assertLessEqual(abs(got[4 * (r * 14 + c) + k] - exact), 0.5001)


class Colours(CliTest):
    def setUp(self):
        super().setUp()
        self.rgb = f.pixels("8u", 11 * 14 * 3)
        self.source = self.write("in.ppm", f.pnm(11, 14, 3, self.rgb))

    def luma(self, red, green, blue):
        return [oracle.round_half_up(red * self.rgb[i] + green * self.rgb[i + 1] + blue * self.rgb[i + 2])
                for i in range(0, len(self.rgb), 3)]

    def test_thresholds_are_of_brightness(self):
        for options, weights in (((), (0.299, 0.587, 0.114)), (("--luma", "709"), (0.2126, 0.7152, 0.0722))):
            grey = self.write("grey.pgm", f.pnm(11, 14, 1, self.luma(*weights)))
            self.boxsum("threshold", grey, self.path("expected.png"), "-q")
            self.boxsum("threshold", self.source, self.path("got.png"), *options, "-q")
            self.assertEqual(self.read("got.png"), self.read("expected.png"))
        self.boxsum("threshold", self.source, self.path("each.npy"), "--channels", "each", "-q")
        self.assertEqual(f.read_npy(self.read("each.npy"))[0], (11, 14, 3))

    def test_grey_band_and_region_everywhere(self):
        grey = self.write("grey.pgm", f.pnm(11, 14, 1, self.luma(0.299, 0.587, 0.114)))
        part = self.write("part.ppm", f.pnm(5, 6, 3, [self.rgb[(r * 14 + c) * 3 + k] for r in range(2, 7)
                                                      for c in range(3, 9) for k in range(3)]))
        green = self.write("green.pgm", f.pnm(11, 14, 1, self.rgb[1::3]))
        for options, other in ((("--grey",), grey), (("--region", "2,3,5,6"), part), (("--band", "2"), green)):
            for name, *args in (("x.npy", "blur", "-r", 2), ("x.npy", "normalize"), ("x.npy", "table")):
                self.boxsum(args[0], self.source, self.path(name), *args[1:], *options, "-q")
                self.boxsum(args[0], other, self.path("y.npy"), *args[1:], "-q")
                self.assertEqual(self.read(name), self.read("y.npy"), (options, args))
            for command in (("query", "--box", "1,2,3,4"), ("hist", "--box", "1,2,3,4")):
                self.assertEqual(self.boxsum(command[0], self.source, *command[1:], *options, "--csv"),
                                 self.boxsum(command[0], other, *command[1:], "--csv"))
            self.boxsum("stats", self.source, "--mean", self.path("x.npy"), *options, "-q")
            self.boxsum("stats", other, "--mean", self.path("y.npy"), "-q")
            self.assertEqual(self.read("x.npy"), self.read("y.npy"), options)
        self.refused(BAD_INPUT, "no band 2", "blur", grey, self.path("x.npy"), "-r", 1, "--band", 2)
        self.refused(BAD_INPUT, "--region", "blur", grey, self.path("x.npy"), "-r", 1, "--region", "0,0,12,1")
        self.refused(USAGE, "--region", "blur", grey, self.path("x.npy"), "-r", 1, "--region", "0,0,12")

    def test_maxval_is_kept(self):
        values = [i * 13 % 1024 for i in range(60)]
        for maxval in (1023, 100):
            source = self.write("in.pgm", f.pnm(6, 10, 1, [v % (maxval + 1) for v in values], maxval))
            for args in (("blur", source, self.path("x.pgm"), "-r", 1), ("stats", source, "--mean", self.path("x.pgm"))):
                self.boxsum(*args, "-q")
                self.assertEqual(self.read("x.pgm").split(b"\n")[2], str(maxval).encode(), args)
            self.boxsum("threshold", source, self.path("x.pgm"), "-q")
            self.assertEqual(self.read("x.pgm").split(b"\n")[2], b"255")

    def test_sauvola_of_floats_uses_their_range(self):
        values = self.luma(0.3, 0.6, 0.1)
        values[:2] = [0, 255]
        self.boxsum("threshold", self.write("i.pgm", f.pnm(11, 14, 1, values)), self.path("i.npy"), "-w", 5, "-q")
        floats = self.write("f.pfm", f.pfm(11, 14, 1, values))
        done = self.start("threshold", floats, self.path("f.npy"), "-w", 5)
        self.assertIn(b"boxsum: note: --range: 127.5, half the range", done.stderr)
        holes = self.write("n.pfm", f.pfm(11, 14, 1, [0, 255, -9999, *values[3:]]))
        self.assertIn(b"--range: 127.5,", self.start("threshold", holes, self.path("n.npy"), "-w", 5, "--nodata", -9999).stderr)
        self.assertEqual(self.read("f.npy"), self.read("i.npy"))
        self.assertEqual(self.start("threshold", floats, self.path("f.npy"), "-w", 5, "--range", 1).stderr, b"")

    def test_sauvola_of_floats_from_0_to_1_uses_the_library_s(self):
        """Whatever part of that range the image takes: R is 0.5 as in the library, not half of what is there."""
        values = [0.25 + v / 1024 for v in f.pixels("8u", 11 * 14)]
        floats = self.write("f.pfm", f.pfm(11, 14, 1, values))
        done = self.start("threshold", floats, self.path("f.npy"), "-w", 5)
        self.assertIn(b"boxsum: note: --range: 0.5, as of images whose values are from 0 to 1", done.stderr)
        self.boxsum("threshold", floats, self.path("g.npy"), "-w", 5, "--range", 0.5, "-q")
        self.assertEqual(self.read("f.npy"), self.read("g.npy"))
        self.boxsum("threshold", floats, self.path("g.npy"), "-w", 5, "--range", 0.125, "-q")
        self.assertNotEqual(self.read("f.npy"), self.read("g.npy"))


class Habits(CliTest):
    def setUp(self):
        super().setUp()
        self.image = self.write("in.pgm", f.pnm(30, 40, 1, f.pixels("8u", 1200)))

    def test_a_reader_that_goes_away_is_no_error(self):
        process = subprocess.Popen([BINARY, "table", self.write("l.npy", f.npy((500, 500), "8u", [1] * 250000)), "-"],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        process.stdout.close()
        message = process.stderr.read()
        process.stderr.close()
        self.assertEqual((process.wait(TIME_LIMIT), message), (-signal.SIGPIPE, b""))
        read, write = os.pipe()
        os.close(read)
        done = subprocess.run([BINARY, "info"], stdout=write, stderr=subprocess.PIPE, timeout=TIME_LIMIT)
        self.assertEqual((done.returncode, done.stderr), (-signal.SIGPIPE, b""))
        done = subprocess.run([BINARY, "info"], stdout=write, stderr=subprocess.PIPE, timeout=TIME_LIMIT, restore_signals=False)
        os.close(write)  # Python ignores the signal: so does what it starts like this, and says why it failed
        self.assertEqual(done.returncode, FAILURE)
        self.assertIn(b"Broken pipe", done.stderr)

    def test_signals_of_every_kind_leave_nothing(self):
        os.mkfifo(self.path("pipe.npy"))
        for number in (signal.SIGQUIT, signal.SIGABRT, signal.SIGALRM, signal.SIGUSR1, signal.SIGUSR2, signal.SIGXCPU):
            process = subprocess.Popen([BINARY, "table", self.image, self.path("t.npy"), "--squares",
                                        self.path("pipe.npy")], preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
            self.wait_for_output_file(process)
            process.send_signal(number)
            self.assertEqual(process.wait(TIME_LIMIT), -number)
            self.assertEqual(sorted(self.listing()), ["in.pgm", "pipe.npy"], number)

    def test_small_images_use_one_thread(self):
        """Counted while the tool waits for a reader of its output: its threads are kept until it ends."""
        if len(os.sched_getaffinity(0)) < 2:
            self.skipTest("there is one processor")
        source = self.write("s.pgm", f.pnm(512, 512, 1, bytes(range(256)) * 1024))
        fifo = self.path("pipe")
        os.mkfifo(fifo)

        def threads(*options):
            process = subprocess.Popen([BINARY, "blur", source, fifo, "--format", "npy", "-r", "5", "-q", *options])
            with open(fifo, "rb") as pipe:
                pipe.read(1)  # the image does not fit into the pipe
                with open(f"/proc/{process.pid}/status") as status:
                    count = next(int(line.split()[1]) for line in status if line.startswith("Threads:"))
                pipe.read()
            self.assertEqual(process.wait(60), 0)
            return count
        self.assertLessEqual(threads("--threads", "4096"), len(os.sched_getaffinity(0)), "no more than there are processors")
        one = threads("--threads", "1")
        self.assertEqual(threads(), one)
        self.assertEqual(threads("--threads", "2"), one + 1)

    def test_on_the_disk(self):
        for name in ("x.png", "x.npy"):
            self.boxsum("blur", self.image, self.path(name), "-r", 1, "--sync", "-q")
            self.boxsum("blur", self.image, self.path("y" + name), "-r", 1, "-q")
            self.assertEqual(self.read(name), self.read("y" + name))
        self.boxsum("blur", self.image, "/dev/null", "--format", "npy", "-r", 1, "--sync", "-q")
        self.assertEqual(self.boxsum("blur", self.image, "-", "--format", "npy", "-r", 1, "--sync"), self.read("x.npy"))

    def test_what_would_be_ignored_is_refused(self):
        out = self.path("x.npy")
        self.refused(USAGE, "--border-value: needs", "blur", self.image, out, "-r", 1, "--border-value", 3)
        self.refused(USAGE, "--range: means nothing", "normalize", self.image, out, "--range", 2)
        self.boxsum("normalize", self.image, self.path("x.png"), "--range", 2, "-q")
        for name, *options in (("x.png", "--compress", "lzw"), ("x.tif", "--quality", 80), ("x.jpg", "--level", 9), ("x.npy", "--level", 1)):
            self.refused(USAGE, f"{options[0]}: means nothing to", "blur", self.image, self.path(name), "-r", 1, *options)
        self.boxsum("stats", self.image, "--mean", self.path("m.jpg"), "--std", self.path("s.tif"), "--quality", 80, "--compress", "lzw", "-q")

    def test_tables_are_compressed(self):
        """Alone, in strips, and with one of squares, at once."""
        flat = self.write("flat.pgm", f.pnm(200, 300, 1, [0] * 60000))
        table = ("table", flat, self.path("t.tif"), "--compress", "deflate", "-q")
        self.boxsum(*table)
        self.assertLess(len(self.read("t.tif")), 5000)
        self.boxsum(*table, "--squares", self.path("s.tif"))
        self.assertLess(len(self.read("t.tif")), 5000)
        self.assertLess(len(self.read("s.tif")), 5000)

    def test_names_that_are_almost_right(self):
        self.assertIn("did you mean 'blur'", self.refused(USAGE, "'blurr'", "blurr", self.image))
        message = self.refused(USAGE, "no option '--radios'", "blur", self.image, self.path("x.png"), "--radios", 5)
        self.assertIn("did you mean '--radius'", message)
        self.boxsum("blur", self.image, self.path("x"), "-r", 1, "--format", "JPG", "-q")
        self.assertTrue(self.read("x").startswith(b"\xff\xd8"))

    def test_help_and_version(self):
        for name in ("blur", "query", "track"):
            self.assertEqual(self.boxsum("help", name), self.boxsum(name, "--help"))
            self.assertEqual(self.boxsum(name, "-h"), self.boxsum(name, "--help"))
        self.assertEqual(self.boxsum("help"), self.boxsum("--help"))
        self.assertEqual(self.boxsum("-V"), self.boxsum("--version"))

    def test_times_are_told_apart(self):
        report = json.loads(self.boxsum("blur", self.image, self.path("x.png"), "-r", 2, "--json"))
        for key in ("reading_seconds", "seconds", "writing_seconds"):
            self.assertGreater(report[key], 0, key)
        self.assertIn(b"written in", self.boxsum("blur", self.image, self.path("x.png"), "-r", 2))


class Batches(CliTest):
    def setUp(self):
        super().setUp()
        self.images = [self.write(f"p{i}.pgm", f.pnm(20 + i, 30, 1, f.pixels("8u", 30 * (20 + i), seed=i))) for i in range(5)]

    def test_several_files(self):
        (self.dir / "out").mkdir()
        line = self.boxsum("blur", *self.images, "-r", 2, "-o", self.path("out/{name}-soft.png")).decode()
        self.assertEqual(line.splitlines()[-1].split(" in ")[0], "5 of 5 files done")
        self.assertEqual(line.count("\n"), 6)
        self.assertEqual(sorted(p.name for p in (self.dir / "out").iterdir()), [f"p{i}-soft.png" for i in range(5)])
        for i, image in enumerate(self.images):
            self.boxsum("blur", image, self.path("one.png"), "-r", 2, "-q")
            self.assertEqual(self.read("one.png"), self.read(f"out/p{i}-soft.png"))
        self.boxsum("threshold", *self.images, "-o", self.dir / "out", "-q", "--jobs", 2)
        self.boxsum("table", *self.images, "-o", self.path("out/{name}.npy"), "--squares", self.path("out/{name}.2.npy"), "-q")
        self.boxsum("stats", *self.images, "--mean", self.path("out/"), "--format", "tif", "-q")
        self.assertEqual(len(list((self.dir / "out").iterdir())), 25)

    def test_errors_are_each_file_s_own(self):
        broken = self.write("broken.pgm", b"P5\n9 9\n255\n123")
        (self.dir / "out").mkdir()
        done = self.start("blur", self.images[0], broken, self.path("missing.pgm"), self.images[1], "-r", 1, "-o",
                          self.path("out/{name}.png"), "-q")
        self.assertEqual(done.returncode, BAD_INPUT)
        lines = sorted(done.stderr.decode().splitlines())
        self.assertEqual(len(lines), 2)
        self.assertIn("broken.pgm", lines[1])
        self.assertIn("missing.pgm", lines[0])
        self.assertEqual(sorted(p.name for p in (self.dir / "out").iterdir()), ["p0.png", "p1.png"])

    def test_files_that_fit_into_memory_one_at_a_time(self):
        """Beside each other they do not: those that lack memory wait."""
        images = [self.write(f"b{i}.png", bomb(2000 + i)) for i in range(5)]
        (self.dir / "out").mkdir()
        self.boxsum("blur", *images, "-r", 2, "-o", self.dir / "out", "--jobs", 4, "--memory", "18M", "-q")
        for i, image in enumerate(images):
            self.boxsum("blur", image, self.path("one.png"), "-r", 2, "-q")
            self.assertEqual(self.read("one.png"), self.read(f"out/b{i}.png"))
        done = self.start("blur", *images, "-r", 2, "-o", self.dir / "out", "--jobs", 4, "--memory", "10M", "-q")
        self.assertEqual((done.returncode, done.stderr.count(b"cannot allocate")), (OUT_OF_MEMORY, 5), done.stderr)

    def test_skipping(self):
        (self.dir / "out").mkdir()
        (self.dir / "out" / "p1.png").write_bytes(b"kept")
        args = ("blur", *self.images[:3], "-r", 1, "-o", self.path("out/{name}.png"), "--skip-existing")
        self.assertIn(b"2 of 3 files done, 1 were there", self.boxsum(*args))
        self.assertEqual((self.dir / "out" / "p1.png").read_bytes(), b"kept")
        self.assertIn(b"0 of 3 files done, 3 were there", self.boxsum(*args))

    def test_mistakes(self):
        self.refused(USAGE, "two outputs", "blur", *self.images, "-r", 1, "-o", self.path("x.png"))
        self.refused(USAGE, "-o with a folder", "blur", *self.images, self.path("x.png"), "-r", 1)
        self.refused(USAGE, "--output", "blur", self.images[0], "-r", 1)
        before = [self.read(f"p{i}.pgm") for i in range(5)]
        for args in ((self.images[0], self.dir), (*self.images, "-o", self.dir), (self.images[0], f"{self.dir}/../{self.dir.name}/")):
            self.refused(USAGE, "the output would replace", "blur", *args, "-r", 1)
        self.refused(USAGE, "the output would replace", "stats", self.images[0], "--std", self.dir)
        self.assertEqual([self.read(f"p{i}.pgm") for i in range(5)], before)
        self.refused(USAGE, "standard input", "blur", "-", self.images[0], "-r", 1, "-o", self.path("{name}.png"))


if __name__ == "__main__":
    main()
