#!/usr/bin/env python3
"""Every class of bad input: the exit code, one line that names what is wrong, and no file left behind."""

import os
import struct

import image_files as f
from boxsum_cli import BAD_INPUT, OUT_OF_MEMORY, UNSUPPORTED, USAGE, CliTest, main


class BadFiles(CliTest):
    def table(self, name, words, code=BAD_INPUT):
        return self.refused(code, words, "table", self.path(name), "-o", self.path("t.npy"))

    def bad(self, name, data, words):
        self.write(name, data)
        message = self.table(name, words)
        self.assertIn(name, message)

    def test_missing_empty_folder_unknown(self):
        self.table("missing.png", "No such file")
        (self.dir / "folder").mkdir()
        self.table("folder", "directory")
        self.bad("empty.png", b"", "empty")
        self.bad("text.txt", b"hello, world", "none of PNG")
        self.refused(BAD_INPUT, "standard input", "table", "-", "-o", self.path("t.npy"), stdin=b"")
        self.refused(BAD_INPUT, "standard input", "table", "-", "-o", self.path("t.npy"), stdin=b"hello")

    def test_every_truncation(self):
        """Cut anywhere, a file is refused, also on standard input."""
        values = f.pixels("16u", 12 * 9 * 3)
        files = {"png": f.png(12, 9, 3, 16, values), "npy": f.npy((12, 9, 3), "16u", values),
                 "ppm": f.pnm(12, 9, 3, values, 65535), "txt.ppm": f.pnm(12, 9, 3, values, 65535, ascii=True),
                 "tif": f.tiff(12, 9, 3, "16u", values, rows_per_strip=5),
                 "deflate.tif": f.tiff(12, 9, 3, "16u", values, tile=(16, 16), compression="deflate"),
                 "pfm": f.pfm(12, 9, 3, f.pixels("32f", 324)), "jpg": f.JPEG["rgb"], "prog.jpg": f.JPEG["progressive"]}
        for ending, data in files.items():
            # What the last bytes say can be guessed: an ASCII sample has fewer digits, a TIFF no second page (4 bytes),
            # a JPEG ends (2 bytes).
            last = len(data) - (6 if ending == "txt.ppm" else 5 if "tif" in ending else 3 if "jpg" in ending else 1)
            for size in sorted({1, 3, 9, 20, 33, len(data) // 4, len(data) // 2, len(data) * 9 // 10, last}):
                self.bad("cut." + ending, data[:size], "")
        data = files["png"]
        self.refused(BAD_INPUT, "truncated", "table", "-", "-o", self.path("t.npy"), stdin=data[:len(data) // 2])

    def test_corrupt(self):
        png = f.png(12, 9, 1, 8, f.pixels("8u", 108))
        self.bad("crc.png", png[:50] + bytes([png[50] ^ 1]) + png[51:], "IDAT")
        jpeg = f.JPEG["rgb"]
        self.bad("x.jpg", jpeg[:2] + b"\xff\xd9", "JPEG")
        self.bad("deflate.tif", f.tiff(12, 9, 1, "8u", f.pixels("8u", 108), compression="deflate").replace(
            b"\x78\x9c", b"\x78\x9d", 1), "")
        self.bad("sample.pgm", b"P2\n2 1\n255\n12 x4\n", "'x4'")
        self.bad("above.pgm", b"P2\n2 1\n255\n12 256\n", "256")
        self.bad("above5.pgm", b"P5\n2 1\n100\n\x05\x65", "101")
        self.bad("maxval.pgm", b"P5\n2 1\n70000\n\x05\x65\0\0", "70000")
        self.bad("negative.pgm", b"P5\n-2 1\n255\n\x05\x65", "-2")
        self.bad("scale.pfm", b"Pf\n1 1\n0\n\0\0\0\0", "scale")
        self.bad("header.npy", b"\x93NUMPY\x01\x00\x10\x00{'descr': '<f4' \n", "header")
        self.bad("version.npy", b"\x93NUMPY\x09\x00\x10\x00{'descr': '<f4' \n", "version")

    def test_damaged_jpeg_in_tiff(self):
        """libjpeg only warns of it, and libtiff makes up pixels."""
        for name, channels, photometric in (("grey", 1, 1), ("rgb", 3, 6)):
            for how in ({}, {"tile": (16, 16)}):
                whole = f.tiff(16, 16, channels, "8u", [0] * 256 * channels, compression="jpeg-" + name,
                               photometric=photometric, **how)
                stream = f.JPEG[name]
                self.write("good.tif", whole)
                self.boxsum("table", self.path("good.tif"), "-o", self.path("good.npy"), "-q")
                scan = stream.index(b"\xff\xda")
                start = scan + 2 + struct.unpack(">H", stream[scan + 2:scan + 4])[0]
                cut = stream[:(start + len(stream)) // 2]
                self.bad("cut.tif", whole.replace(stream, cut.ljust(len(stream), b"\0")), "JPEG")
                bits = stream[:start + 1] + b"\xfe" * (len(stream) - start - 3) + stream[-2:]
                self.bad("bits.tif", whole.replace(stream, bits), "JPEG")
        low = f.tiff(32, 16, 1, "8u", [0] * 512, compression="jpeg-grey", photometric=1)
        self.bad("low.tif", low, "expected 16x32, got 16x16")

    def test_hostile_headers_are_refused_before_memory_is_asked_for(self):
        huge = 10**9
        self.bad("x.png", f.png(1, 1, 1, 8, [0], header=(huge, huge)), "1000000000 x 1000000000")
        self.bad("x.npy", f.npy((huge, huge), "8u", None, data=b"0"), "1000000000000000000")
        self.bad("overflow.npy", f.npy((2**62, 2**62), "8u", None, data=b"0"), "overflow 64 bits")
        self.bad("digits.npy", f.npy((10**30, 1), "8u", None, data=b"0"), "header")
        self.bad("x.pgm", b"P5\n1000000000 1000000000\n255\n0", "1000000000 x 1000000000")
        self.bad("x.ppm", b"P3\n1000000000 1000000000\n255\n0 0", "1000000000 x 1000000000")
        self.bad("digits.pgm", b"P5\n" + b"9" * 40 + b" 1\n255\n0", "not a number")
        self.bad("x.pfm", b"PF\n1000000000 1000000000\n-1.0\n0000", "overflow 64 bits")
        self.bad("y.pfm", b"PF\n1000000 1000000\n-1.0\n0000", "12000000000000")
        for big in (False, True):
            self.bad("x.tif", f.tiff(2, 2, 1, "8u", [0] * 4, big=big, tags=[(256, 4, [huge]), (257, 4, [huge])]), "")
            self.bad("y.tif", f.tiff(2, 2, 1, "8u", [0] * 4, big=big, tile=(16, 16), compression="deflate",
                                     tags=[(322, 4, [2**31 - 16]), (323, 4, [2**31 - 16])]), "")
        jpeg = bytearray(f.JPEG["grey"])
        at = jpeg.index(b"\xff\xc0") + 5
        jpeg[at:at + 4] = struct.pack(">HH", 65500, 65500)
        self.bad("x.jpg", bytes(jpeg), "65500 x 65500")

    def test_empty_images(self):
        self.bad("x.npy", f.npy((0, 5), "8u", None, data=b""), "empty")
        self.bad("y.npy", f.npy((5, 4, 0), "8u", None, data=b""), "0 channels")
        self.bad("x.pgm", b"P5\n0 5\n255", "truncated")
        self.bad("y.pgm", b"P5\n0 5\n255\n0", "empty")
        self.bad("x.tif", f.tiff(2, 2, 1, "8u", [0] * 4, tags=[(257, 4, [0])]), "")

    def test_kinds_that_are_not_read(self):
        self.bad("1d.npy", f.npy((4,), "8u", [0] * 4), "1 dimensions")
        self.bad("channels.npy", f.npy((2, 2, 5), "8u", [0] * 20), "5 channels")
        self.bad("complex.npy", f.npy((1, 1), "c8", None, data=b"0" * 8, descr="<c8"), "<c8")
        self.bad("record.npy", f.npy((1, 1), "8u", [0]).replace(b"'|u1'", b"[1, 2", 1), "")
        self.bad("more.npy", f.npy((2, 2), "8u", [0] * 5), "4 bytes, but 5")
        self.bad("channels.tif", f.tiff(2, 2, 5, "8u", [0] * 20), "5 channels")
        self.bad("bits.tif", f.tiff(2, 2, 1, "8u", [0] * 4, tags=[(258, 3, [12])]), "12 bits")
        self.bad("lab.tif", f.tiff(2, 2, 3, "8u", [0] * 12, photometric=8), "photometric")
        self.bad("inks.tif", f.tiff(2, 2, 3, "8u", [0] * 12, photometric=5), "four")
        self.bad("scheme.tif", f.tiff(2, 2, 1, "8u", [0] * 4, tags=[(259, 3, [4711])]), "")


class BadRequests(CliTest):
    def setUp(self):
        super().setUp()
        self.image = self.write("in.pgm", f.pnm(7, 9, 1, f.pixels("8u", 63)))
        self.out = self.path("t.npy")

    def test_usage(self):
        for words, *args in (
                ("subcommand", ), ("nonsense", "nonsense"), ("IN", "table"), ("--output", "table", self.image),
                ("--foo", "table", self.image, "-o", self.out, "--foo"),
                ("--layout", "table", self.image, "-o", self.out, "--layout", "sideways"),
                ("--table-type", "table", self.image, "-o", self.out, "--table-type", "12u"),
                ("--threads", "table", self.image, "-o", self.out, "--threads", "-1"),
                ("--threads", "table", self.image, "-o", self.out, "--threads", "many"),
                ("--device", "table", self.image, "-o", self.out, "--device", "tpu"),
                ("--device", "table", self.image, "-o", self.out, "--device", "cuda:-1"),
                ("--device", "table", self.image, "-o", self.out, "--device", "cuda:1x"),
                ("--param", "table", self.image, "-o", self.out, "--param", "a=b"),
                ("--param", "table", self.image, "-o", self.out, "--algorithm", "reference", "--param", "a=b"),
                ("--param", "table", self.image, "-o", self.out, "--algorithm", "reference", "--param", "ab"),
                ("two outputs", "table", self.image, "-o", self.out, "--squares", self.out),
                ("--squares-type", "table", self.image, "-o", self.out, "--squares-type", "64f"),
                ("--json", "table", self.image, "-o", "-", "--json"),
                ("format", "table", self.image, "-o", self.path("t.xyz")),
                ("format", "table", self.image, "-o", self.path("t")),
                ("--format", "table", self.image, "-o", self.out, "--format", "gif"),
                ("--box", "query", self.image), ("--box", "query", self.image, "--box", "1,2,3"),
                ("--box", "query", self.image, "--box", "1,2,3,x"),
                ("--box", "query", self.image, "--box", "1,2,3,99999999999999999999"),
                ("--squares", "query", self.image, "--box", "0,0,1,1", "--squares", "s.npy"),
                ("--table", "query", self.image, "--box", "0,0,1,1", "--table", "other"),
                *((f"--table excludes {option}", "query", "--table", "padded", self.image, "--box", "0,0,1,1", option, value)
                  for option, value in (("--device", "cpu"), ("--algorithm", "simd"), ("--param", "isa=scalar"),
                                        ("--threads", "1"), ("--store", "cached"))),
                ("csv", "query", self.image, "--box", "0,0,1,1", "--json", "--csv"),
                ("standard input", "query", "-", "--boxes", "-"),
                ("--radius", "blur", self.image, self.out), ("--radius", "blur", self.image, self.out, "--radius", "-1"),
                ("--radius", "blur", self.image, self.out, "--radius", "1,2,3"),
                ("--radius", "blur", self.image, self.out, "--radius", "1.5"),
                ("--format", "blur", self.image, "-", "--radius", "1"),
                ("--border", "blur", self.image, self.out, "--radius", "1", "--border", "sideways"),
                ("--border-value", "blur", self.image, self.out, "--radius", "1", "--border-value", "nan"),
                *(("--window: '" + size + "' is not N or N,M", "threshold", self.image, self.out, "--window", size) for size in ("0", "1.5", "1,2,3", "x")),
                ("--window", "stats", self.image, "--mean", self.out, "--window", "3,0"),
                ("--origin: '1.5' is not N or N,M", "stats", self.image, "--mean", self.out, "--origin", "1.5"),
                ("--origin: is 2, must be -2 to 1 for a window of 4 rows", "stats", self.image, "--mean", self.out, "-w", "4", "--origin", "2"),
                ("--origin: is -3, must be -2 to 2 for a window of 5 columns", "stats", self.image, "-w", "9,5", "--origin", "-4,-3"),
                ("--origin: is 8, must be -7 to 7", "threshold", self.image, self.out, "--origin", "8,0"),
                ("--origin: is 9223372036854775807, must", "normalize", self.image, self.out, "--origin", "9223372036854775807"),
                ("--min-count: '0' is not a number above 0", "blur", self.image, self.out, "-r", "1", "--min-count", "0"),
                ("--min-weight: '-1' is not a number of at least 0", "blur", self.image, self.out, "-r", "1", "--weights", self.image, "--min-weight", "-1"),
                ("--focus: '0' is not a number above 0", "blur", self.image, self.out, "--depth", self.image, "--focus", "0"),
                ("--method", "threshold", self.image, self.out, "--method", "otsu"),
                ("--k", "threshold", self.image, self.out, "--k", "inf"),
                ("--k", "threshold", self.image, self.out, "--k", "0.2x"),
                ("--range", "threshold", self.image, self.out, "--range", "0"),
                ("--range", "threshold", self.image, self.out, "--range", "1", "--method", "wolf"),
                ("two outputs", "stats", self.image, "--mean", self.out, "--std", self.out),
                ("--epsilon", "normalize", self.image, self.out, "--epsilon", "0"),
                ("--depth requires --focus", "blur", self.image, self.out, "--depth", self.image),
                ("--focus", "blur", self.image, self.out, "--depth", self.image, "--focus", "0"),
                ("--border", "blur", self.image, self.out, "--depth", self.image, "--focus", "9", "--border", "reflect"),
                ("mean nothing with --depth", "blur", self.image, self.out, "--depth", self.image, "--focus", "9", "--nodata", "0"),
                ("mean nothing with --depth", "blur", self.image, self.out, "--depth", self.image, "--focus", "9", "--min-count", "2"),
                ("--kernel is required", "convolve", self.image, self.out),
                ("--kernel: row 2 has 1 numbers, but the first has 2", "convolve", self.image, self.out, "--kernel", "1 2;3"),
                ("--kernel: '1.5.2' is no number", "convolve", self.image, self.out, "--kernel", "1 1.5.2"),
                ("--normalize: the weights add up to 0", "convolve", self.image, self.out, "--kernel", "1 -1", "--normalize"),
                ("--border", "convolve", self.image, self.out, "--kernel", "1", "--border", "shrink"),
                ("--border-value: needs", "convolve", self.image, self.out, "--kernel", "1", "--border-value", "3"),
                ("standard input", "convolve", "-", self.out, "--kernel", "-"),
                ("--mean", "stats", self.image, "-q"), ("--mean", "stats", self.image, "--format", "npy"),
                ("--mean", "stats", self.image, "--fill", "3"), ("--compress", "stats", self.image, "--compress", "lzw"),
                ("--operation", "algorithms", "--operation", "fft")):
            self.refused(USAGE, words, *args)

    def test_empty_values_are_not_no_values(self):
        query, stats = ("query", self.image, "--box", "0,0,1,1"), ("stats", self.image, "--mean", self.out)
        for option, *args in (
                ("--squares", "table", self.image, "-o", self.out), ("--format", "table", self.image, "-o", self.out),
                ("--output", "table", self.image, "--format", "npy"), ("--boxes", *query), ("--squares", *query),
                ("--squares", *query, "--table", "padded"), ("--boxes", "hist", self.image), ("--mean", *stats[:2]),
                ("--kernel", "convolve", self.image, self.out),
                ("--std", *stats), ("--variance", *stats), ("--sum", *stats), ("--count", *stats), ("--format", *stats),
                ("--radius", "blur", self.image, self.out), ("--radius-map", "blur", self.image, self.out),
                ("--format", "blur", self.image, self.out, "--radius", "1"),
                ("--format", "threshold", self.image, self.out), ("--format", "normalize", self.image, self.out),
                ("--annotate", "track", self.image, "--box", "0,0,1,1")):
            self.refused(USAGE, f"{option}: '' is no value", *args, option, "")

    def test_the_environment_names_a_device(self):
        commands = [("table", self.image, "-o", self.out), ("query", self.image, "--box", "0,0,1,1"),
                    ("blur", self.image, self.out, "--radius", "1")]
        on_cuda = [(*args, "--device", "cuda") for args in (*commands, ("hist", self.image))]
        for value in ("banana", "cudax", "cuda:", "GPU"):
            for args in commands + on_cuda:
                self.refused(USAGE, f"BOXSUM_DEVICE: '{value}' is none of cpu, cuda, cuda:N", *args,
                             env={**os.environ, "BOXSUM_DEVICE": value})
        for args in commands:  # told what to do, it is not asked
            for value, how in (("banana", ("--device", "cpu")), ("cpu", ()), ("", ())):
                done = self.start(*args, *how, env={**os.environ, "BOXSUM_DEVICE": value})
                self.assertEqual((done.returncode, done.stderr), (0, b""), args)

    def test_kernels(self):
        self.write("words.txt", b"1 2\n3 four\n")
        self.write("empty.txt", b"# nothing\n")
        self.write("colours.ppm", f.pnm(1, 1, 3, [1, 2, 3]))
        for words, kernel in (("is not numbers alone, and cannot open 'nothing'", "nothing"), ("'four' is no number", self.path("words.txt")),
                              ("there is no number in it", self.path("empty.txt")), ("3 channels, must have one", self.path("colours.ppm"))):
            self.refused(BAD_INPUT, words, "convolve", self.image, self.out, "--kernel", kernel)
        self.refused(UNSUPPORTED, "--kernel: is 1 x 65", "convolve", self.image, self.out, "--kernel", " ".join(["1"] * 65))
        self.refused(UNSUPPORTED, "runs on cuda", "convolve", self.image, self.out, "--kernel", "1", "--algorithm", "systolic")
        self.refused(UNSUPPORTED, "--type: is 16u for an image of 8u", "convolve", self.image, self.out, "--kernel", "1", "--type", "16u")

    def test_values_that_do_not_fit_the_input(self):
        for box in ("7,0,1,1", "0,9,1,1", "0,0,8,1", "0,0,1,10", "-1,0,2,2", "0,-1,2,2", "0,0,0,1", "0,0,1,-1",
                    "9223372036854775807,0,9223372036854775807,1", "-9223372036854775808,0,1,1"):
            self.refused(BAD_INPUT, "box", "query", self.image, "--box", "0,0,1,1", "--box", box)
        boxes = self.write("boxes.csv", b"row,col,rows,cols\n0,0,1,1\n1,2,3\n")
        self.assertIn("line 3", self.refused(BAD_INPUT, "boxes.csv", "query", self.image, "--boxes", boxes))
        boxes = self.write("none.csv", b"# nothing\n")
        self.refused(BAD_INPUT, "no box", "query", self.image, "--boxes", boxes)
        self.refused(BAD_INPUT, "No such file", "query", self.image, "--boxes", self.path("missing.csv"))
        self.refused(BAD_INPUT, "--border-value", "blur", self.image, self.out, "--radius", "1", "--border", "constant",
                     "--border-value", "256")
        for kind in ("32f", "16f"):  # which becomes 32f
            floats = self.write("floats.npy", f.npy((2, 2), kind, [1, 2, 3, 4]))
            for value in ("1e39", "-3.5e38"):
                self.refused(BAD_INPUT, "--border-value: is", "blur", floats, self.out, "--radius", "1", "--border",
                             "constant", "--border-value", value)
            self.boxsum("blur", floats, self.path("ok.npy"), "--radius", 1, "--border", "constant", "--border-value",
                        "3.4e38", "-q")
        radii = self.write("radii.pgm", f.pnm(7, 8, 1, [1] * 56))
        self.refused(BAD_INPUT, f"--radius-map: '{radii}': rows x cols are 7 x 8", "blur", self.image, self.out,
                     "--radius-map", radii)
        self.boxsum("table", self.image, "-o", self.path("small.npy"), "--layout", "inclusive", "-q")
        self.boxsum("table", self.image, "-o", self.path("large.npy"), "-q")
        self.refused(BAD_INPUT, "--squares", "query", "--table", "padded", self.path("large.npy"), "--squares",
                     self.path("small.npy"), "--box", "0,0,1,1")
        one = self.write("one.npy", f.npy((1, 1), "64u", [0]))
        self.refused(BAD_INPUT, "empty", "query", "--table", "padded", one, "--box", "0,0,1,1")

    def test_unsupported(self):
        self.refused(UNSUPPORTED, "device", "table", self.image, "-o", self.out, "--device", "cuda:99")
        self.refused(UNSUPPORTED, "nonsense", "table", self.image, "-o", self.out, "--algorithm", "nonsense")
        self.refused(UNSUPPORTED, "nonsense", "verify", "--algorithm", "nonsense")
        self.refused(UNSUPPORTED, "8u64s", "table", self.image, "-o", self.out, "--table-type", "64s")
        wide = self.write("wide.npy", f.npy((2, 2), "64u", [1, 2, 3, 2**60 + 1]))
        for kind in ("64u", "64s"):
            name = self.write(f"{kind}.npy", f.npy((2, 2), kind, [1, 2, 3, 2**60 + 1]))
            self.refused(UNSUPPORTED, f"type pair {kind}64f is not in the closed list: an image of {kind} can have sums of {kind}",
                         "table", name, "-o", self.out, "--table-type", "64f")
            self.refused(UNSUPPORTED, f"--squares: no table of squares goes with images of {kind} and tables of {kind}", "table",
                         name, "-o", self.out, "--squares", self.path("s.npy"))
        huge = "9223372036854775807"
        for args in (("threshold", self.image, self.out), ("normalize", self.image, self.out),
                     ("stats", self.image, "--mean", self.out)):
            self.refused(UNSUPPORTED, f"--window: is {huge} x {huge}, windows of more than 2^46", *args, "--window", huge, "--border",
                         "reflect")
        self.refused(UNSUPPORTED, "--radius: the window is 18446744073709551615 x 18446744073709551615, windows", "blur", self.image, self.out, "--radius",
                     huge, "--border", "reflect")
        self.refused(UNSUPPORTED, "--patch: above is 65, at most 64", "denoise", self.image, self.out, "--patch", 65)
        for kind, words in (("16s", "type is 16s, must be one of 8u, 16u, 32u, 32s"), ("32f", "type is 32f")):
            radii = self.write("radii.npy", f.npy((7, 9), kind, [1] * 63))
            self.refused(UNSUPPORTED, f"--radius-map: '{radii}': {words}", "blur", self.image, self.out, "--radius-map",
                         radii)
        radii = self.write("radii.npy", f.npy((7, 9), "32u", [2**31] * 63))
        self.refused(UNSUPPORTED, f"--radius-map: '{radii}': is 4294967297 x 4294967297, windows", "blur", self.image, self.out,
                     "--radius-map", radii, "--border", "reflect")
        self.refused(UNSUPPORTED, "64u", "blur", wide, self.out, "--radius", "1")
        floats = self.write("floats.npy", f.npy((2, 2), "32f", [1, 2, 3, 4]))
        for name, words in (("x.png", "png"), ("x.jpg", "jpeg"), ("x.pgm", "pnm")):
            self.refused(UNSUPPORTED, words, "blur", floats, self.path(name), "--radius", "1")
        self.refused(UNSUPPORTED, "pfm", "blur", self.image, self.path("x.pfm"), "--radius", "1")
        two = self.write("two.npy", f.npy((2, 2, 2), "8u", [1] * 8))
        self.refused(UNSUPPORTED, "2 channels", "blur", two, self.path("x.jpg"), "--radius", "1")
        for output in ("--variance", "--sum", "--count"):
            self.refused(UNSUPPORTED, "png", "stats", self.image, output, self.path("v.png"))

    def test_out_of_memory(self):
        """A sparse file of a terabyte is mapped; its table of eight is more than there is."""
        side = 10**6
        try:
            with open(self.path("sparse.npy"), "wb") as out:
                out.write(f.npy((side, side), "8u", None, data=b""))
                out.truncate(out.tell() + side * side)
        except OSError as e:
            self.skipTest(f"no sparse file of 1 TB here: {e}")
        self.refused(OUT_OF_MEMORY, "bytes", "table", self.path("sparse.npy"), "-o", self.out, "--squares",
                     self.path("s.npy"))


if __name__ == "__main__":
    main()
