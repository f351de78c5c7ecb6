#!/usr/bin/env python3
"""Files as they are in the world: bits, faxes, inks, palettes, pages, bands, orders; what they say besides pixels."""

import json
import struct
import subprocess
import unittest
import zlib

import image_files as f
from boxsum_cli import BAD_INPUT, UNSUPPORTED, USAGE, CliTest, main


def profile(space=b"RGB "):
    """An ICC profile with one tag, complete and, compressed, long enough for libpng's checks."""
    text = bytes(f.pixels("8u", 112))
    head = bytearray(144) + b"text" + bytes(4) + text
    head[0:4] = struct.pack(">I", len(head))
    head[128:144] = struct.pack(">I4sII", 1, b"cprt", 144, 8 + len(text))
    head[8] = 2
    head[12:16], head[16:20], head[20:24], head[36:40] = b"mntr", space, b"XYZ ", b"acsp"
    head[68:80] = struct.pack(">III", 0xF6D6, 0x10000, 0xD32D)
    return bytes(head)


def exif(orientation, order="<"):
    mark = b"II*\0" if order == "<" else b"MM\0*"
    return mark + struct.pack(order + "IHHHIHHI", 8, 1, 274, 3, 1, orientation, 0, 0)


def turned(rows, orientation):
    """What EXIF means by an orientation: where row 0 and column 0 of the file belong."""
    flip = lambda a: [row[::-1] for row in a]
    transpose = lambda a: [list(row) for row in zip(*a)]
    return {1: lambda a: a, 2: flip, 3: lambda a: flip(a)[::-1], 4: lambda a: a[::-1], 5: transpose,
            6: lambda a: flip(transpose(a)), 7: lambda a: flip(transpose(a))[::-1],
            8: lambda a: transpose(a)[::-1]}[orientation](rows)


def chunks(data):
    at, found = 8, {}
    while at < len(data):
        size = struct.unpack(">I", data[at:at + 4])[0]
        name, body = data[at + 4:at + 8], data[at + 8:at + 8 + size]
        assert zlib.crc32(name + body) == struct.unpack(">I", data[at + 8 + size:at + 12 + size])[0], name
        found[name] = found.get(name, b"") + body
        at += 12 + size
    return found


class Pixels(CliTest):
    def pixels(self, data, *options, notes=b""):
        source = self.write("in", data)
        done = self.start("blur", source, self.path("x.npy"), "-r", 0, *options, "-q")
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.assertIn if notes else self.assertEqual)(notes, done.stderr)
        shape, _, values = f.read_npy(self.read("x.npy"))
        return shape, values


class Reading(Pixels):
    def test_bits_in_tiff(self):
        """The scanners' format: 1, 2 and 4 bits, in strips and tiles, black or white as 0."""
        for bits in (1, 2, 4):
            most = (1 << bits) - 1
            values = [v & most for v in f.pixels("8u", 9 * 21)]
            rows = []
            for r in range(9):
                text = "".join(format(v, f"0{bits}b") for v in values[21 * r:21 * (r + 1)])
                rows.append(int(text.ljust((len(text) + 7) // 8 * 8, "0"), 2).to_bytes((len(text) + 7) // 8, "big"))
            flat = list(b"".join(rows))
            for order in "<>":
                for photometric in (0, 1):
                    data = f.tiff(9, len(rows[0]), 1, "8u", flat, order, rows_per_strip=4, photometric=photometric,
                                  tags=[(256, 4, [21]), (258, 3, [bits])])
                    scale = 255 // most
                    expected = [v * scale if photometric == 1 else 255 - v * scale for v in values]
                    self.assertEqual(self.pixels(data), ((9, 21), expected), (bits, order, photometric))
            palette = [(i * 4099 + 97 * k) % 65536 for k in range(3) for i in range(most + 1)]
            data = f.tiff(9, len(rows[0]), 1, "8u", flat, palette=palette, tags=[(256, 4, [21]), (258, 3, [bits])])
            expected = [palette[k * (most + 1) + v] >> 8 for v in values for k in range(3)]
            self.assertEqual(self.pixels(data), ((9, 21, 3), expected), bits)

    def test_fax(self):
        """Group 4 by hand: a white row, a row of four white and four black pixels, the end of the block."""
        bits = "1" + "001" + "1011" + "011" + "000000000001" * 2
        data = int(bits.ljust(40, "0"), 2).to_bytes(5, "big")
        file = f.tiff(1, 5, 1, "8u", list(data), photometric=0,
                      tags=[(256, 4, [8]), (257, 4, [2]), (258, 3, [1]), (259, 3, [4]), (278, 4, [2])])
        self.assertEqual(self.pixels(file), ((2, 8), [255] * 12 + [0] * 4))

    def test_pbm(self):
        bits = [1, 0, 1, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1, 0, 1, 0]
        for data in (b"P1\n# c\n10 2\n" + "".join(map(str, bits)).encode(), b"P1 10 2\n" + " ".join(map(str, bits)).encode(),
                     b"P4\n10 2\n" + bytes([0b10110010, 0b11000000, 0b01000110, 0b10000000])):
            self.assertEqual(self.pixels(data), ((2, 10), [0 if b else 255 for b in bits]))
        for data, words in ((b"P4\n10 2\n123", "truncated"), (b"P1\n3 1\n012", "neither 0 nor 1"), (b"P1\n3 1\n0 #1", "truncated")):
            self.refused(BAD_INPUT, words, "query", self.write("bad", data), "--box", "0,0,1,1")

    def test_inks(self):
        for kind, white in (("8u", 255), ("16u", 65535)):
            inks = f.pixels(kind, 6 * 7 * 4)
            expected = [((white - inks[i + k]) * (white - inks[i + 3]) + white // 2) // white
                        for i in range(0, len(inks), 4) for k in range(3)]
            data = f.tiff(6, 7, 4, kind, inks, photometric=5)
            self.assertEqual(self.pixels(data, notes=b"CMYK"), ((6, 7, 3), expected))
        shape, _ = self.pixels(f.JPEG["cmyk"], notes=b"CMYK")
        self.assertEqual(shape, (16, 16, 3))

    def test_arrays_in_fortran_order(self):
        for kind in ("8u", "8s", "16u", "64f"):
            for order in "<>":
                for channels in (1, 3):
                    values = f.pixels(kind, 70 * 65 * channels)
                    at = lambda r, c, k: values[(r * 65 + c) * channels + k]
                    columns = [at(r, c, k) for k in range(channels) for c in range(65) for r in range(70)]
                    shape = (70, 65, channels) if channels > 1 else (70, 65)
                    got = self.pixels(f.npy(shape, kind, columns, order, fortran=True))
                    self.assertEqual(got, (shape, values), (kind, order, channels))

    def test_numpy_s_integers(self):
        """Of 64 bits whatever they hold: the smallest type that holds them is computed with."""
        for values, small in (([0, 255] * 6, "u1"), ([0, 256] * 6, "u2"), ([-1, 32767] * 6, "i2"), ([70000, -5] * 6, "f8")):
            for kind in ("64s", "32s"):
                source = self.write("in.npy", f.npy((3, 4), kind, values))
                self.boxsum("blur", source, self.path("x.npy"), "-r", 0, "-q")
                _, descr, got = f.read_npy(self.read("x.npy"))
                self.assertEqual((descr[1:], got), (small, values), kind)
        for values, table in (([0, 2**32 - 1] * 6, "u8"), ([-2**31, 5] * 6, "i8"), ([2**40, -1] * 6, "i8")):
            self.boxsum("table", self.write("in.npy", f.npy((3, 4), "64s", values)), self.path("t.npy"), "-q")
            shape, descr, got = f.read_npy(self.read("t.npy"))
            self.assertEqual((shape, descr[1:], got[-1]), ((4, 5), table, sum(values)))

    def test_more_bands_than_four(self):
        values = f.pixels("16u", 9 * 10 * 7)
        files = [f.npy((9, 10, 7), "16u", values), f.tiff(9, 10, 7, "16u", values),
                 f.tiff(9, 10, 7, "16u", values, separate=True), f.tiff(9, 10, 7, "16u", values, tile=(16, 16)),
                 f.tiff(9, 10, 7, "16u", values, tile=(16, 16), separate=True)]
        for data in files:
            for band in (1, 6):
                self.assertEqual(self.pixels(data, "--band", band), ((9, 10), values[band - 1::7]))
            self.refused(BAD_INPUT, "--band", "query", self.path("in"), "--box", "0,0,1,1")
            self.refused(BAD_INPUT, "no band 8", "query", self.path("in"), "--box", "0,0,1,1", "--band", 8)

    def test_pages(self):
        """The second page is written by another program's rules: another size."""
        first = f.tiff(3, 4, 1, "8u", list(range(12)), pages=3)
        self.assertEqual(self.pixels(first, "--page", 3), ((3, 4), list(range(12))))
        self.refused(BAD_INPUT, "no page 4, but 3", "blur", self.path("in"), self.path("y.npy"), "-r", 1, "--page", 4)
        self.refused(BAD_INPUT, "only TIFF and FITS have pages", "blur", self.write("g.pgm", f.pnm(1, 1, 1, [0])), self.path("y.npy"),
                     "-r", 1, "--page", 2)
        done = self.start("blur", self.path("in"), self.path("y.npy"), "-r", 0, "-q")
        self.assertIn(b"several pages", done.stderr)

    def test_orientation(self):
        values = f.pixels("8u", 5 * 3 * 3)
        rows = [[tuple(values[(r * 3 + c) * 3:][:3]) for c in range(3)] for r in range(5)]
        plain = f.png(5, 3, 3, 8, values)
        self.write("p.jpg", f.JPEG["rgb"])
        self.boxsum("blur", self.path("p.jpg"), self.path("x.npy"), "-r", 0, "-q")
        decoded = f.read_npy(self.read("x.npy"))[2]
        photo = [[tuple(decoded[(r * 16 + c) * 3:][:3]) for c in range(16)] for r in range(16)]
        for orientation in range(1, 9):
            block = b"Exif\0\0" + exif(orientation, "<>"[orientation % 2])
            jpeg = f.JPEG["rgb"][:2] + b"\xff\xe1" + struct.pack(">H", len(block) + 2) + block + f.JPEG["rgb"][2:]
            for data, pixels in ((f.tiff(5, 3, 3, "8u", values, tags=[(274, 3, [orientation])]), rows),
                                 (plain[:33] + f.png_chunk(b"eXIf", exif(orientation)) + plain[33:], rows), (jpeg, photo)):
                expected = turned(pixels, orientation)
                got = self.pixels(data)
                self.assertEqual(got, ((len(expected), len(expected[0]), 3), [v for row in expected for p in row for v in p]))
        for broken in (b"Exif\0\0", b"Exif\0\0II*\0\xff\xff\xff\xff", b"Exif\0\0" + exif(9)):
            jpeg = f.JPEG["rgb"][:2] + b"\xff\xe1" + struct.pack(">H", len(broken) + 2) + broken + f.JPEG["rgb"][2:]
            self.assertEqual(self.pixels(jpeg), ((16, 16, 3), decoded))


class OnlyRead(Pixels):
    """Formats whose library a build may lack."""

    def need(self, library):
        if library not in json.loads(self.boxsum("info", "--json"))["libraries"]:
            self.skipTest(f"built without {library}")

    def cut(self, data, ends):
        for size in ends:
            self.refused(BAD_INPUT, "", "query", self.write("cut", data[:size]), "--box", "0,0,1,1")

    def test_bmp(self):
        self.need("stb_image")
        for bits in (1, 4, 8):
            count = 1 << bits
            values = [v % count for v in f.pixels("8u", 9 * 21)]
            greys = [((i * 37) % 256,) * 3 for i in range(count)]
            colours = [((i * 37) % 256, (i * 11 + 5) % 256, 255 - i) for i in range(count)]
            self.assertEqual(self.pixels(f.bmp(9, 21, bits, values, greys)), ((9, 21), [greys[v][0] for v in values]), bits)
            data = f.bmp(9, 21, bits, values, colours)
            self.assertEqual(self.pixels(data), ((9, 21, 3), [x for v in values for x in colours[v]]), bits)
            self.refused(BAD_INPUT, "OS/2", "query", self.write("os2", f.bmp(9, 21, bits, values, greys, core=True)), "--box", "0,0,1,1")
        rgb = f.pixels("8u", 9 * 21 * 3)
        for top_down in (False, True):
            data = f.bmp(9, 21, 24, rgb, top_down=top_down)
            self.assertEqual(self.pixels(data), ((9, 21, 3), rgb))
        self.assertEqual(self.pixels(f.bmp(9, 21, 24, rgb, core=True)), ((9, 21, 3), rgb))
        self.cut(data, (1, 2, 13, 20, 33, 54, 300, len(data) - 1))
        for alpha in (0, 255, 7):  # 0 everywhere: no opacity, as most programs write it
            values = [v for i in range(0, len(rgb), 3) for v in (*rgb[i:i + 3], alpha)]
            expected = ((9, 21, 4), values) if alpha == 7 else ((9, 21, 3), rgb)
            got = self.pixels(f.bmp(9, 21, 32, values))
            self.assertEqual((got[0], got[1][3::4] if alpha == 7 else got[1]),
                             (expected[0], values[3::4] if alpha == 7 else rgb))
        self.refused(BAD_INPUT, "compressed", "query", self.write("rle", f.bmp(9, 21, 8, [0] * 189, [(0, 0, 0)], compression=1)),
                     "--box", "0,0,1,1")
        lies = bytearray(f.bmp(9, 21, 24, rgb))
        lies[18:26] = struct.pack("<ii", 1 << 23, 1 << 23)
        self.refused(BAD_INPUT, "truncated", "query", self.write("lies", bytes(lies)), "--box", "0,0,1,1")
        self.refused(USAGE, "only read", "blur", self.path("lies"), self.path("y.bmp"), "-r", 1)
        self.refused(USAGE, "only read", "blur", self.path("lies"), self.path("y"), "-r", 1, "--format", "bmp")

    def test_exr(self):
        self.need("OpenEXR")
        planes = {n: f.pixels("32f", 9 * 21, seed=i) for i, n in enumerate("RGBYAZ")}
        together = lambda names: [planes[n][i] for i in range(9 * 21) for n in names]
        for compress in (False, True):
            for kind in ("16f", "32f"):
                data = f.exr(9, 21, {n: (kind, planes[n]) for n in "RGB"}, origin=(-3, 5), compress=compress)
                self.assertEqual(self.pixels(data), ((9, 21, 3), together("RGB")), (kind, compress))
            self.assertEqual(self.pixels(f.exr(9, 21, {"Z": ("32f", planes["Z"])}, compress=compress)), ((9, 21), planes["Z"]))
        mixed = f.exr(9, 21, {"Y": ("16f", planes["Y"]), "Z": ("32f", planes["Z"])})
        self.assertEqual(self.pixels(mixed, notes=b"it has 2 channels"), ((9, 21), planes["Y"]))
        self.assertEqual(self.pixels(mixed, "--band", 2), ((9, 21), planes["Z"]))
        counts = f.pixels("16u", 9 * 21)
        self.assertEqual(self.pixels(f.exr(9, 21, {"id": ("32u", counts)})), ((9, 21), counts))
        alpha = [[0.5, 0.25, 1.0][i % 3] for i in range(9 * 21)]
        data = f.exr(9, 21, {"Y": ("16f", planes["Y"]), "A": ("16f", alpha)})
        source, out = self.write("in.exr", data), self.path("x.npy")
        self.boxsum("table", source, out, "--band", 1, "-q")  # A comes before Y
        self.boxsum("blur", source, out, "-r", 0, "-q")
        shape, _, got = f.read_npy(self.read("x.npy"))
        self.assertEqual((shape, got[1::2]), ((9, 21, 2), alpha))
        self.assertEqual(got[0::2], [v / a for v, a in zip(planes["Y"], alpha)])
        self.refused(BAD_INPUT, "--band", "query", self.write("odd", f.exr(9, 21, {"u": ("32f", planes["Z"]), "v": ("32f", planes["Y"])})),
                     "--box", "0,0,1,1")
        self.cut(mixed, (3, 4, 9, 60, 200, len(mixed) // 2, len(mixed) - 1))
        huge = mixed.replace(struct.pack("<4i", 0, 0, 20, 8), struct.pack("<4i", 0, 0, 900000, 900000))
        self.refused(BAD_INPUT, "", "query", self.write("huge", huge), "--box", "0,0,1,1")

    def test_fits(self):
        self.need("cfitsio")
        for bits, kind in ((8, "8u"), (16, "16s"), (-32, "32f"), (-64, "64f")):
            values = f.pixels(kind, 9 * 21)
            self.assertEqual(self.pixels(f.fits([((21, 9), bits, values, {})])), ((9, 21), values), bits)
        stored = f.pixels("16s", 9 * 21)
        data = f.fits([((21, 9), 16, stored, {"BZERO": 32768.0, "BSCALE": 1.0})])
        self.assertEqual(self.pixels(data), ((9, 21), [v + 32768 for v in stored]))
        self.cut(data, (10, 100, 2879, 2880, 3000))
        scaled = f.fits([((21, 9), 16, stored, {"BZERO": 8.0, "BSCALE": 0.5})])
        self.assertEqual(self.pixels(scaled), ((9, 21), [v * 0.5 + 8 for v in stored]))
        cube = f.pixels("16s", 9 * 21 * 6)
        data = f.fits([((0,) * 0, 8, [], {}), ((21, 9, 6), 16, cube, {}), ((5, 4), 8, list(range(20)), {})])
        self.assertEqual(self.pixels(data, "--band", 4), ((9, 21), cube[3 * 189:4 * 189]))
        self.assertEqual(self.pixels(data, "--page", 2), ((4, 5), list(range(20))))
        self.refused(BAD_INPUT, "--band", "query", self.path("in"), "--box", "0,0,1,1")
        self.refused(BAD_INPUT, "no image 3, but 2", "query", self.path("in"), "--box", "0,0,1,1", "--page", 3)
        three = f.fits([((21, 9, 3), 16, cube[:567], {})])
        self.assertEqual(self.pixels(three), ((9, 21, 3), [cube[k * 189 + i] for i in range(189) for k in range(3)]))
        gaps = list(stored)
        gaps[30] = -999
        blank = self.write("blank.fits", f.fits([((21, 9), 16, gaps, {"BLANK": -999})]))
        self.boxsum("blur", blank, self.path("x.npy"), "-r", 1, "-q")
        self.boxsum("blur", blank, self.path("y.npy"), "-r", 1, "-q", "--nodata", -999)
        self.assertEqual(self.read("x.npy"), self.read("y.npy"))
        huge = f.fits([((1 << 40, 1 << 20), 16, stored, {})])
        self.refused(BAD_INPUT, "", "query", self.write("huge", huge), "--box", "0,0,1,1")


class Pages(CliTest):
    """--page all: of a TIFF made of pages that differ."""

    def setUp(self):
        super().setUp()
        self.values = [f.pixels("8u", 20 * 30, seed=i) for i in range(3)]
        for i, values in enumerate(self.values):
            self.write(f"p{i + 1}.pgm", f.pnm(20, 30, 1, values))
        self.stack = self.write("stack.tif", f.tiff(20, 30, 1, "8u", self.values[0], pages=3))
        # The pages share the pixels of the first; the tool makes a stack of different ones from them.
        self.boxsum("blur", self.stack, self.path("s.tif"), "-r", 0, "--page", "all", "-q")

    def test_into_one_file(self):
        for options in ((), ("--compress", "deflate"), ("--compress", "lzw")):
            line = self.boxsum("threshold", self.stack, self.path("x.tif"), "--page", "all", "-w", 5, *options)
            self.assertIn(b"pages 3", line)
            self.boxsum("threshold", self.path("p1.pgm"), self.path("one.npy"), "-w", 5, "-q")
            for page in (1, 2, 3):
                self.boxsum("blur", self.path("x.tif"), self.path("x.npy"), "-r", 0, "--page", page, "-q")
                self.assertEqual(self.read("x.npy"), self.read("one.npy"), page)
            self.refused(BAD_INPUT, "no page 4, but 3", "query", self.path("x.tif"), "--box", "0,0,1,1", "--page", 4)
        self.boxsum("threshold", self.stack, self.path("g4.tif"), "--page", "all", "--compress", "g4", "-q")
        self.boxsum("blur", self.path("g4.tif"), self.path("x.npy"), "-r", 0, "--page", 3, "-q")

    def test_numbers_of_every_page(self):
        """Those of each page by itself, with its number before the box."""
        for page, (rows, cols) in enumerate(((20, 30), (20, 30), (16, 25)), 1):
            self.write(f"{page}.pgm", f.pnm(rows, cols, 1, f.pixels("8u", rows * cols, seed=page)))
        stack = self.write("s.tif", f.tiff_of_pages([(r, c, f.pixels("8u", r * c, seed=i)) for i, (r, c) in
                                                     enumerate(((20, 30), (20, 30), (16, 25)), 1)]))
        boxes = self.write("b.csv", b"id,row,col,rows,cols\nab,1,2,3,4\nc,0,0,16,25\n")
        for command, more in (("query", ("--boxes", boxes)), ("hist", ("--boxes", boxes, "--bins", 5)), ("hist", ("--bins", 3))):
            got = self.boxsum(command, stack, *more, "--page", "all", "--csv").decode().splitlines()
            reports = json.loads(self.boxsum(command, stack, *more, "--page", "all", "--json"))["boxes"]
            names, lines = [], []
            for page in (1, 2, 3):
                one = self.boxsum(command, self.path(f"{page}.pgm"), *more, "--csv").decode().splitlines()
                at = 1 if "b.csv" in str(more) else 0
                with_page = lambda line, cell, i=at: ",".join(line.split(",")[:i] + [cell] + line.split(",")[i:])
                names = [with_page(one[0], "page")]
                lines += [with_page(line, str(page)) for line in one[1:]]
                expected = json.loads(self.boxsum(command, self.path(f"{page}.pgm"), *more, "--json"))["boxes"]
                self.assertEqual([{k: v for k, v in b.items() if k != "page"} for b in reports if b["page"] == page], expected)
            self.assertEqual(got, names + lines, (command, more))
        self.assertIn(b"page", self.boxsum("hist", stack, "--page", "all"))
        self.refused(BAD_INPUT, "box", "query", stack, "--box", "0,0,20,30", "--page", "all")
        mixed = self.write("m.tif", f.tiff_of_pages([(4, 5, f.pixels("8u", 20)), (4, 5, f.pixels("8u", 60))]))
        for args in (("query", mixed, "--box", "0,0,1,1"), ("hist", mixed)):
            self.refused(BAD_INPUT, "numbers of channels", *args, "--page", "all")

    def test_pages_that_differ(self):
        try:
            fits = f.fits([((30, 20), 8, values, {}) for values in self.values])
            self.boxsum("blur", self.write("s.fits", fits), self.path("x.tif"), "-r", 2, "--page", "all", "-q")
        except AssertionError:
            if "cfitsio" in json.loads(self.boxsum("info", "--json"))["libraries"]:
                raise
            self.skipTest("built without cfitsio")
        for page in (1, 2, 3):
            self.boxsum("blur", self.path("x.tif"), self.path("x.npy"), "-r", 0, "--page", page, "-q")
            self.boxsum("blur", self.path(f"p{page}.pgm"), self.path("y.npy"), "-r", 2, "-q")
            self.assertEqual(self.read("x.npy"), self.read("y.npy"), page)

    def test_into_files(self):
        text = self.boxsum("stats", self.stack, "--page", "all", "--mean", self.path("m{page}.png"), "--std",
                           self.path("s{page}.npy"))
        self.assertIn(b"3 of 3 files done", text)
        self.boxsum("table", self.stack, self.path("{name}-{page}.npy"), "--page", "all", "-q")
        self.boxsum("blur", self.path("p1.pgm"), self.path("b1.png"), "-r", 1, "--page", "all", "--format", "tif", "-q")
        names = set(self.listing())
        self.assertLessEqual({f"{a}{i}{b}" for i in (1, 2, 3) for a, b in (("m", ".png"), ("s", ".npy"), ("stack-", ".npy"))}, names)

    def test_mistakes(self):
        for args, words in ((("blur", self.stack, self.path("x.png"), "-r", 1), "png has no pages"),
                            (("blur", "-", self.path("x.tif"), "-r", 1), "standard input"),
                            (("blur", "-", self.path("x{page}.tif"), "-r", 1), "standard input"),
                            (("stats", self.stack, "--mean", self.path("x.tif")), "{page}"),
                            (("table", self.stack, self.path("x.npy")), "{page}"),
                            (("query", "-", "--box", "0,0,1,1"), "standard input"),
                            (("hist", "-"), "standard input"),
                            (("hist", self.stack, "--tensor", self.path("x.npy")), "--tensor")):
            self.refused(USAGE, words, *args, "--page", "all")
        for page in ("0", "-1", "65536", "some", "1,2", "2.5"):
            self.refused(USAGE, f"--page: '{page}' is neither", "blur", self.stack, self.path("x.tif"), "-r", 1, "--page", page)


class Writing(CliTest):
    def setUp(self):
        super().setUp()
        self.values = f.pixels("8u", 37 * 45)
        self.page = self.write("page.pgm", f.pnm(37, 45, 1, self.values))
        self.boxsum("threshold", self.page, self.path("bw.npy"), "-w", 9, "-q")
        self.black = f.read_npy(self.read("bw.npy"))[2]

    def again(self, name):
        self.boxsum("blur", self.path(name), self.path("again.npy"), "-r", 0, "-q")
        return f.read_npy(self.read("again.npy"))[2]

    def test_single_bits(self):
        for name, *options in (("x.png", "--bits", 1), ("x.tif", "--bits", 1), ("g4.tif", "--compress", "g4"),
                               ("x.pbm",), ("x.pgm", "--bits", 1), ("z.tif", "--bits", 1, "--compress", "deflate")):
            self.boxsum("threshold", self.page, self.path(name), "-w", 9, *options, "-q")
            self.assertEqual(self.again(name), self.black, name)
            self.assertLess(len(self.read(name)), 700, name)
        header = chunks(self.read("x.png"))[b"IHDR"]
        self.assertEqual(header, struct.pack(">IIBBBBB", 45, 37, 1, 0, 0, 0, 0))
        tags = f.tiff_tags(self.read("g4.tif"))
        self.assertEqual((tags[258], tags[259], tags[278]), ([1], [4], [37]))
        self.refused(UNSUPPORTED, "black and white only", "blur", self.page, self.path("y.png"), "-r", 1, "--bits", 1)
        self.refused(UNSUPPORTED, "no single bits", "threshold", self.page, self.path("y.jpg"), "--bits", 1)

    def test_png_is_what_its_specification_says(self):
        for channels, depth in ((1, 8), (2, 8), (3, 8), (4, 8), (1, 16), (2, 16), (3, 16), (4, 16)):
            values = f.pixels("8u" if depth == 8 else "16u", 11 * 13 * channels)
            source = self.write("in.png", f.png(11, 13, channels, depth, values))
            for level in (1, 6, 9):
                self.boxsum("blur", source, self.path("x.png"), "-r", 0, "--level", level, "-q")
                parts = chunks(self.read("x.png"))
                raw = zlib.decompress(parts[b"IDAT"])
                size, step = 13 * channels * depth // 8, channels * depth // 8
                got = b""
                for r in range(11):
                    line = bytearray(raw[r * (size + 1):(r + 1) * (size + 1)])
                    self.assertEqual(line[0], 1)
                    line = line[1:]
                    for i in range(step, size):
                        line[i] = (line[i] + line[i - step]) & 255
                    got += line
                self.assertEqual(got, f.packed("8u" if depth == 8 else "16u", values, ">"), (channels, depth))

    def test_compressed_tiff(self):
        for kind in ("8u", "16u", "32f", "64f"):
            values = f.pixels(kind, 37 * 45)
            source = self.write("in.npy", f.npy((37, 45), kind, values))
            for scheme, number in (("none", 1), ("packbits", 32773), ("lzw", 5), ("deflate", 8), ("zstd", 50000)):
                self.boxsum("blur", source, self.path("x.tif"), "-r", 0, "--compress", scheme, "-q")
                self.assertEqual(f.tiff_tags(self.read("x.tif"))[259], [number])
                self.assertEqual(self.again("x.tif"), values, (kind, scheme))
        flat = self.write("flat.npy", f.npy((300, 300), "16u", [i % 300 for i in range(90000)]))
        self.boxsum("blur", flat, self.path("x.tif"), "-r", 0, "--compress", "deflate", "-q")
        self.assertLess(len(self.read("x.tif")), 5000)

    def test_quality(self):
        for name in ("x.jpg", "x.webp"):
            sizes = []
            source = self.write("in.ppm", f.pnm(37, 45, 3, f.pixels("8u", 37 * 45 * 3)))
            for quality in (20, 95, 99):
                self.boxsum("blur", source, self.path(name), "-r", 1, "--quality", quality, "-q")
                sizes.append(len(self.read(name)))
            self.assertEqual(sizes, sorted(sizes), name)
            self.assertGreater(sizes[2], 2 * sizes[0], name)

    def test_webp(self):
        for channels in (3, 4):
            values = [255 if channels == 4 and i % 4 == 3 and i % 8 == 3 else v for i, v in enumerate(f.pixels("8u", 37 * 45 * channels))]
            source = self.write("in.png", f.png(37, 45, channels, 8, [max(1, v) for v in values]))
            self.boxsum("blur", source, self.path("x.webp"), "-r", 0, "--quality", 100, "-q")
            self.assertEqual(self.again("x.webp"), [max(1, v) for v in values])
        data = self.read("x.webp")
        for cut in (13, 40, len(data) // 2, len(data) - 9):
            self.refused(BAD_INPUT, "WebP", "query", self.write("cut", data[:cut]), "--box", "0,0,1,1")
        self.refused(UNSUPPORTED, "webp", "blur", self.page, self.path("y.webp"), "-r", 1)


class Metadata(CliTest):
    def setUp(self):
        super().setUp()
        self.geo = [(33550, 12, [10.0, 10.0, 0.0]), (33922, 12, [0.0, 0.0, 0.0, 500000.0, 4600000.0, 0.0]),
                    (34735, 3, [1, 1, 0, 1, 1024, 0, 1, 1]), (34736, 12, [6378137.0]), (34737, 2, list(b"WGS 84|\0")),
                    (42112, 2, list(b"<GDALMetadata/>\0")), (42113, 2, list(b"-9999\0"))]
        self.values = f.pixels("32f", 20 * 30)
        self.terrain = self.write("dem.tif", f.tiff(20, 30, 1, "32f", self.values, tags=self.geo + [
            (282, 11, [300.0]), (283, 11, [200.0]), (34675, 7, list(profile(b"GRAY")))]))

    def test_where_on_earth(self):
        self.boxsum("blur", self.terrain, self.path("x.tif"), "-r", 1, "-q")
        self.boxsum("stats", self.terrain, "--std", self.path("s.tif"), "-q")
        for name in ("x.tif", "s.tif"):
            tags = f.tiff_tags(self.read(name))
            for number, type_, values in self.geo:
                self.assertEqual(tags[number], bytes(values) if type_ == 2 else values, (name, number))
            self.assertEqual((tags[282], tags[283], tags[296]), ([300.0], [200.0], [2]))
            self.assertEqual(tags[34675], profile(b"GRAY"))
        self.boxsum("blur", self.terrain, self.path("x.tif"), "-r", 1, "--region", "5,7,10,12", "-q")
        self.assertEqual(f.tiff_tags(self.read("x.tif"))[33922], [-7.0, -5.0, 0.0, 500000.0, 4600000.0, 0.0])
        matrix = [10.0, 0.5, 0.0, 500000.0, 0.25, -10.0, 0.0, 4600000.0] + [0.0] * 7 + [1.0]
        self.write("m.tif", f.tiff(20, 30, 1, "32f", self.values, tags=[(34264, 12, matrix)]))
        self.boxsum("blur", self.path("m.tif"), self.path("x.tif"), "-r", 1, "--region", "5,7,10,12", "-q")
        moved = f.tiff_tags(self.read("x.tif"))[34264]
        self.assertEqual((moved[3], moved[7]), (500000 + 10 * 7 + 0.5 * 5, 4600000 + 0.25 * 7 - 10 * 5))

    def test_what_is_lost_is_said(self):
        for name, words in (("x.npy", b"its GeoTIFF tags and colour profile cannot be kept in npy"), ("x.png", b"its GeoTIFF tags cannot")):
            done = self.start("normalize", self.terrain, self.path(name))
            self.assertEqual(done.returncode, 0)
            self.assertIn(words, done.stderr)
            self.assertEqual(self.start("normalize", self.terrain, self.path(name), "-q").stderr, b"")

    def test_what_is_never_kept_is_said(self):
        """Data of EXIF but for how the pixels lie, and texts."""
        make = b"II*\0" + struct.pack("<IHHHIHHHHI4sI", 8, 2, 274, 3, 1, 1, 0, 271, 2, 4, b"cam\0", 0)
        png = f.png(5, 3, 3, 8, f.pixels("8u", 45))
        values = f.pixels("8u", 45)

        def jpeg(marker, block):
            return f.JPEG["rgb"][:2] + marker + struct.pack(">H", len(block) + 2) + block + f.JPEG["rgb"][2:]
        for name, data, words in (
                ("a.jpg", jpeg(b"\xff\xe1", b"Exif\0\0" + make), b"its EXIF data are not kept"),
                ("b.jpg", jpeg(b"\xff\xfe", b"a comment"), b"its texts are not kept"),
                ("c.jpg", jpeg(b"\xff\xe1", b"Exif\0\0" + exif(1)), None),
                ("d.png", png[:33] + f.png_chunk(b"eXIf", make) + f.png_chunk(b"tEXt", b"Title\0of it") + png[33:],
                 b"its EXIF data and texts are not kept"),
                ("e.png", png, None),
                ("f.tif", f.tiff(5, 3, 3, "8u", values, tags=[(270, 2, list(b"what it is\0"))]), b"its texts are not kept"),
                ("g.tif", f.tiff(5, 3, 3, "8u", values, tags=[(34665, 4, [8])]), b"its EXIF data are not kept"),
                ("h.tif", f.tiff(5, 3, 3, "8u", values), None)):
            source = self.write(name, data)
            for command in (("blur", source, self.path("x.png"), "-r", 1), ("stats", source, "--mean", self.path("x.png"))):
                done = self.start(*command)
                self.assertEqual(done.returncode, 0, done.stderr)
                if words is None:
                    self.assertEqual(done.stderr, b"", name)
                else:
                    self.assertIn(words, done.stderr, name)
                self.assertEqual(self.start(*command, "-q").stderr, b"", name)

    def test_colour_profile_and_resolution(self):
        values = f.pixels("8u", 16 * 16 * 3)
        png = f.png(16, 16, 3, 8, values)
        png = (png[:33] + f.png_chunk(b"iCCP", b"x\0\0" + zlib.compress(profile())) +
               f.png_chunk(b"pHYs", struct.pack(">IIB", 11811, 5906, 1)) + png[33:])
        tiff = f.tiff(16, 16, 3, "8u", values, tags=[(282, 11, [118.11]), (283, 11, [59.06]), (296, 3, [3]),
                                                     (34675, 7, list(profile()))])
        block = b"ICC_PROFILE\0\1\1" + profile()
        jpeg = f.JPEG["rgb"]
        at = 2 + 2 + struct.unpack(">H", jpeg[4:6])[0]
        jpeg = jpeg[:at] + b"\xff\xe2" + struct.pack(">H", len(block) + 2) + block + jpeg[at:]
        jpeg = bytearray(jpeg)
        self.assertEqual(jpeg[6:11], b"JFIF\0")
        jpeg[13:18] = struct.pack(">BHH", 1, 300, 150)
        for name, data in (("i.png", png), ("i.tif", tiff), ("i.jpg", bytes(jpeg))):
            source = self.write(name, data)
            self.boxsum("blur", source, self.path("x.png"), "-r", 1, "-q")
            parts = chunks(self.read("x.png"))
            self.assertEqual(zlib.decompress(parts[b"iCCP"].split(b"\0", 1)[1][1:]), profile(), name)
            x, y, unit = struct.unpack(">IIB", parts[b"pHYs"])
            self.assertTrue(abs(x - 11811) <= 1 and abs(y - 5906) <= 1 and unit == 1, (name, x, y))
            self.boxsum("blur", source, self.path("x.tif"), "-r", 1, "-q")
            tags = f.tiff_tags(self.read("x.tif"))
            self.assertEqual(tags[34675], profile(), name)
            self.assertTrue(abs(tags[282][0] - 300) < 0.1 and abs(tags[283][0] - 150) < 0.1, (name, tags[282]))
            self.boxsum("blur", source, self.path("x.jpg"), "-r", 1, "-q")
            self.boxsum("blur", source, self.path("x.webp"), "-r", 1, "-q")
            self.assertIn(profile(), self.read("x.webp"), name)
            self.boxsum("blur", self.path("x.webp"), self.path("again.tif"), "-r", 1, "-q")
            self.assertEqual(f.tiff_tags(self.read("again.tif"))[34675], profile(), name)
            out = self.read("x.jpg")
            self.assertIn(block, out, name)
            self.assertEqual(struct.unpack(">BHH", out[13:18]), (1, 300, 150), name)
            self.boxsum("threshold", source, self.path("grey.png"), "-q")
            self.assertNotIn(b"iCCP", self.read("grey.png"))


if __name__ == "__main__":
    main()
