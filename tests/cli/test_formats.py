#!/usr/bin/env python3
"""Files of every format and depth, made by image_files.py, are read as what they are; written files read back alike."""

import image_files as f
import oracle
from boxsum_cli import CliTest, combinations, main

WIDEST = {"8u": "<u8", "16u": "<u8", "32u": "<u8", "8s": "<i8", "16s": "<i8", "32s": "<i8",
          "16f": "<f8", "32f": "<f8", "64f": "<f8"}


class Reading(CliTest):
    def check(self, name, data, kind, rows, cols, channels, values):
        """The default table of the file is that of the values."""
        self.write(name, data)
        self.boxsum("table", self.path(name), "-o", self.path("t.npy"), "-q")
        shape, descr, table = f.read_npy(self.read("t.npy"))
        expected_shape, expected = oracle.laid_out(values, rows, cols, channels, "padded")
        self.assertEqual((shape, descr), (expected_shape, WIDEST[kind]), name)
        self.assertEqual(table, expected, name)

    def test_png(self):
        for channels in (1, 2, 3, 4):
            for depth in (8, 16):
                values = f.pixels(f"{depth}u", 5 * 7 * channels)
                self.check(f"{channels}x{depth}.png", f.png(5, 7, channels, depth, values), f"{depth}u", 5, 7, channels,
                           values)

    def test_png_of_few_bits_is_expanded(self):
        for depth in (1, 2, 4):
            top = (1 << depth) - 1
            values = [i % (top + 1) for i in range(35)]
            self.check(f"{depth}.png", f.png(5, 7, 1, depth, values), "8u", 5, 7, 1, [v * 255 // top for v in values])

    def test_png_palette_is_expanded(self):
        palette = [(1, 2, 3), (40, 50, 60), (255, 0, 9)]
        index = [i % 3 for i in range(35)]
        self.check("p.png", f.png(5, 7, 1, 8, index, palette=palette), "8u", 5, 7, 3,
                   [v for i in index for v in palette[i]])
        alpha = b"\x80\x00"  # entries without one are opaque
        self.check("q.png", f.png(5, 7, 1, 8, index, palette=palette, transparency=alpha), "8u", 5, 7, 4,
                   [v for i in index for v in (*palette[i], [128, 0, 255][i])])

    def test_pgm_and_ppm(self):
        for channels, ascii, maxval in combinations((1, 3), (False, True), (1, 100, 255, 256, 65535)):
            values = [v % (maxval + 1) for v in f.pixels("16u", 12 * channels)]
            self.check(f"{channels}-{ascii}-{maxval}.pnm", f.pnm(3, 4, channels, values, maxval, ascii),
                       "8u" if maxval < 256 else "16u", 3, 4, channels, values)

    def test_pfm(self):
        for channels in (1, 3):
            for order in "<>":
                values = f.pixels("32f", 12 * channels)
                self.check("x.pfm", f.pfm(3, 4, channels, values, order), "32f", 3, 4, channels, values)

    def test_npy(self):
        for kind, order, version in combinations(list(WIDEST), "<>", (1, 2, 3)):
            values = f.pixels(kind, 24)
            self.check("x.npy", f.npy((3, 4, 2), kind, values, order, version), kind, 3, 4, 2, values)
        self.check("bool.npy", f.npy((3, 4), "b1", None, data=bytes([0, 1] * 6), descr="|b1"), "8u", 3, 4, 1, [0, 1] * 6)

    def test_npy_whose_array_is_not_aligned(self):
        values = f.pixels("32f", 12)
        data = f.npy((3, 4), "32f", values)
        end = 10 + int.from_bytes(data[8:10], "little")
        header = data[10:end].rstrip() + b" \n"
        while (10 + len(header)) % 4 != 1:
            header = header[:-1] + b" \n"
        data = data[:8] + len(header).to_bytes(2, "little") + header + data[end:]
        self.check("odd.npy", data, "32f", 3, 4, 1, values)

    def test_tiff_types(self):
        for kind, order, big in combinations(list(WIDEST), "<>", (False, True)):
            values = f.pixels(kind, 30)
            self.check("x.tif", f.tiff(6, 5, 1, kind, values, order, big), kind, 6, 5, 1, values)

    def test_tiff_strips_tiles_planes_and_compressions(self):
        ways = ({}, {"rows_per_strip": 1}, {"rows_per_strip": 7}, {"tile": (16, 16)}, {"tile": (32, 48)})
        for channels, separate, compression, how in combinations((1, 2, 3, 4), (False, True), list(f.COMPRESSIONS), ways):
            values = f.pixels("16u", 20 * 18 * channels)
            data = f.tiff(20, 18, channels, "16u", values, separate=separate, compression=compression, **how)
            self.check("x.tif", data, "16u", 20, 18, channels, values)

    def test_tiff_photometric(self):
        values = f.pixels("8u", 30)
        self.check("w.tif", f.tiff(6, 5, 1, "8u", values, photometric=0), "8u", 6, 5, 1, [255 - v for v in values])
        for kind, most in (("8u", 255), ("16u", 65535)):
            for extra in (0, 1, 2):  # unknown, and transparency of two kinds: never inverted
                for separate in (False, True):
                    values = f.pixels(kind, 60)
                    data = f.tiff(6, 5, 2, kind, values, photometric=0, separate=separate, tags=[(338, 3, [extra])])
                    colour = lambda v, alpha: min(most, (2 * v * most + alpha) // (2 * alpha)) if extra == 1 and alpha else v
                    self.check("a.tif", data, kind, 6, 5, 2,
                               [v if i % 2 else most - colour(v, values[i + 1]) for i, v in enumerate(values)])
        values = f.pixels("8u", 30)
        palette = [(v * 7 % 256) * 257 for v in range(768)]
        rgb = [palette[k * 256 + v] >> 8 for v in values for k in range(3)]
        self.check("p.tif", f.tiff(6, 5, 1, "8u", values, palette=palette), "8u", 6, 5, 3, rgb)

    def test_tiff_of_several_pages_says_that_it_reads_one(self):
        path = self.write("x.tif", f.tiff(6, 5, 1, "8u", f.pixels("8u", 30), pages=2))
        done = self.start("table", path, "-o", self.path("t.npy"), "-q")
        self.assertEqual(done.returncode, 0)
        self.assertIn(b"boxsum: note: ", done.stderr)
        self.assertIn(b"several pages", done.stderr)

    def test_jpeg_in_tiff(self):
        """The strip or tile is the file of test_jpeg, whose pixels it has; YCbCr becomes RGB as there."""
        for name, channels, photometric in (("grey", 1, 1), ("rgb", 3, 6)):
            self.write("x.jpg", f.JPEG[name])
            self.boxsum("blur", self.path("x.jpg"), self.path("x.npy"), "--radius", 0, "-q")
            for how in ({}, {"tile": (16, 16)}):
                self.write("x.tif", f.tiff(16, 16, channels, "8u", [0] * 256 * channels, compression="jpeg-" + name,
                                           photometric=photometric, **how))
                self.boxsum("blur", self.path("x.tif"), self.path("y.npy"), "--radius", 0, "-q")
                self.assertEqual(self.read("y.npy"), self.read("x.npy"), (name, how))

    def test_jpeg(self):
        """Lossy, so only extents, channels and the mean are known."""
        for name, channels in (("grey", 1), ("rgb", 3), ("progressive", 3)):
            self.write("x.jpg", f.JPEG[name])
            self.boxsum("table", self.path("x.jpg"), "-o", self.path("t.npy"), "-q")
            shape, _, table = f.read_npy(self.read("t.npy"))
            self.assertEqual(shape, (17, 17) + ((3,) if channels == 3 else ()))
            means = [table[-channels + k] / 256 for k in range(channels)]
            expected = [112.5, 142.5, 56][:channels]  # of 8 r + 7 c, its complement and its half
            for mean, about in zip(means, expected):
                self.assertLess(abs(mean - about), 6, name)

    def test_contents_tell_the_format_not_the_name(self):
        values = f.pixels("8u", 35)
        self.check("really-a-png.jpg", f.png(5, 7, 1, 8, values), "8u", 5, 7, 1, values)


class RoundTrips(CliTest):
    """A blur of radius 0 changes nothing, so it converts between formats."""

    def check(self, kind, channels, endings):
        values = f.pixels(kind, 30 * channels)
        shape = (6, 5, channels) if channels > 1 else (6, 5)
        source = self.write("in.npy", f.npy(shape, kind, values))
        for ending in endings:
            self.boxsum("blur", source, self.path("x." + ending), "--radius", 0, "-q")
            self.boxsum("blur", self.path("x." + ending), self.path("back.npy"), "--radius", 0, "-q")
            back_shape, descr, back = f.read_npy(self.read("back.npy"))
            self.assertEqual((back_shape, descr[1:], back), (shape, f.TYPES[kind][3], values), (kind, ending))

    def test_integers(self):
        for kind in ("8u", "16u"):
            for channels in (1, 2, 3, 4):
                endings = ["png", "tif", "tiff", "npy"] + {1: ["pgm", "pnm"], 3: ["ppm"]}.get(channels, [])
                self.check(kind, channels, endings)
        self.check("16s", 1, ["tif", "npy"])

    def test_floats(self):
        for channels in (1, 2, 3, 4):
            self.check("32f", channels, ["tif", "npy"] + (["pfm"] if channels in (1, 3) else []))
            self.check("64f", channels, ["tif", "npy"])

    def test_tables_in_tiff(self):
        """Types that no filter takes go through a table: 64-bit integers."""
        for kind, layout in (("16u", "padded"), ("16s", "inclusive"), ("64f", "padded")):
            values = f.pixels(kind, 30)
            source = self.write("in.npy", f.npy((6, 5), kind, values))
            for name in ("t.tif", "t.npy"):
                self.boxsum("table", source, "-o", self.path(name), "--layout", layout, "-q")
            answers = [self.boxsum("query", "--table", layout, self.path(name), "--box", "1,1,3,4", "--csv")
                       for name in ("t.tif", "t.npy")]
            self.assertEqual(answers[0], answers[1])

    def test_jpeg_is_close(self):
        values = [(i // 32) * 4 + (i % 32) * 3 for i in range(32 * 32)]
        source = self.write("in.pgm", f.pnm(32, 32, 1, values))
        self.boxsum("blur", source, self.path("x.jpg"), "--radius", 0, "-q")
        self.boxsum("blur", self.path("x.jpg"), self.path("back.npy"), "--radius", 0, "-q")
        _, _, back = f.read_npy(self.read("back.npy"))
        self.assertLessEqual(max(abs(a - b) for a, b in zip(values, back)), 6)


if __name__ == "__main__":
    main()
