#!/usr/bin/env python3
"""blur, threshold, stats, normalize and guided, held to their definitions on small images."""

import json
import math

import image_files as f
import oracle
from boxsum_cli import SHIPPED_PHOTO, CliTest, main

ROWS, COLS = 11, 14


def windows(values, up, side):
    return [oracle.window(values, ROWS, COLS, r, c, up, side) for r in range(ROWS) for c in range(COLS)]


class Filters(CliTest):
    def setUp(self):
        super().setUp()
        self.values = f.pixels("8u", ROWS * COLS)
        self.source = self.write("in.pgm", f.pnm(ROWS, COLS, 1, self.values))

    def result(self, name):
        return f.read_npy(self.read(name))[2]

    def close(self, got, expected, tolerance=1e-4):
        self.assertEqual(len(got), len(expected))
        for g, e in zip(got, expected):
            self.assertLessEqual(abs(g - e), tolerance * max(1, abs(e)))

    def test_blur(self):
        for radius, up, side in (("0", 0, 0), ("2", 2, 2), ("1,4", 1, 4), ("100", 100, 100)):
            self.boxsum("blur", self.source, self.path("x.npy"), "--radius", radius, "-q")
            means = [sum(w) / len(w) for w in windows(self.values, up, side)]
            self.assertEqual(self.result("x.npy"), [oracle.round_half_up(m) for m in means])
            self.boxsum("blur", self.source, self.path("x.npy"), "--radius", radius, "--type", "64f", "-q")
            self.close(self.result("x.npy"), means, 1e-12)

    def test_blur_borders(self):
        mirrored = {"reflect": lambda i, n: -1 - i if i < 0 else 2 * n - 1 - i if i >= n else i,
                    "replicate": lambda i, n: min(max(i, 0), n - 1)}
        for border, index in mirrored.items():
            expected = []
            for r in range(ROWS):
                for c in range(COLS):
                    w = [self.values[index(i, ROWS) * COLS + index(j, COLS)]
                         for i in range(r - 2, r + 3) for j in range(c - 1, c + 2)]
                    expected.append(oracle.round_half_up(sum(w) / 15))
            self.boxsum("blur", self.source, self.path("x.npy"), "--radius", "2,1", "--border", border, "-q")
            self.assertEqual(self.result("x.npy"), expected, border)
        self.boxsum("blur", self.source, self.path("x.npy"), "--radius", 1, "--border", "constant", "--border-value",
                    90, "-q")
        corner = self.values[0] + self.values[1] + self.values[COLS] + self.values[COLS + 1] + 5 * 90
        self.assertEqual(self.result("x.npy")[0], oracle.round_half_up(corner / 9))

    def test_blur_with_a_map(self):
        radii = [i % 5 for i in range(ROWS * COLS)]
        self.write("radii.pgm", f.pnm(ROWS, COLS, 1, radii))
        self.boxsum("blur", self.source, self.path("x.npy"), "--radius-map", self.path("radii.pgm"), "-q")
        expected = []
        for r in range(ROWS):
            for c in range(COLS):
                radius = radii[r * COLS + c]
                w = oracle.window(self.values, ROWS, COLS, r, c, radius, radius)
                expected.append(oracle.round_half_up(sum(w) / len(w)))
        self.assertEqual(self.result("x.npy"), expected)

    def test_blur_by_depth(self):
        depths = [10 + i % 7 * 10 for i in range(ROWS * COLS)]
        self.write("depth.pgm", f.pnm(ROWS, COLS, 1, depths))
        for order in (1, 2):
            self.boxsum("blur", self.source, self.path("x.npy"), "--depth", self.path("depth.pgm"), "--focus", 20,
                        "--aperture", 4, "--order", order, "-q")
            expected = []
            for r in range(ROWS):
                for c in range(COLS):
                    z = depths[r * COLS + c]
                    radius = math.floor(4 / order * abs(1 - 20 / z) + 0.5)
                    reach = order * radius
                    # A box, or the tent that it makes with itself.
                    weight = (lambda d: 1) if order == 1 else (lambda d: 2 * radius + 1 - abs(d))
                    sums = [0, 0]
                    for y in range(max(r - reach, 0), min(r + reach + 1, ROWS)):
                        for x in range(max(c - reach, 0), min(c + reach + 1, COLS)):
                            w = weight(y - r) * weight(x - c)
                            sums[0] += w * self.values[y * COLS + x]
                            sums[1] += w
                    expected.append((2 * sums[0] + sums[1]) // (2 * sums[1]))
            self.assertEqual(self.result("x.npy"), expected, order)

    def test_stats(self):
        self.boxsum("stats", self.source, "--window", "5,3", "--mean", self.path("m.npy"), "--std", self.path("s.npy"),
                    "--variance", self.path("v.npy"), "-q")
        both = [oracle.mean_and_variance(w) for w in windows(self.values, 2, 1)]
        self.close(self.result("m.npy"), [m for m, _ in both])
        self.close(self.result("v.npy"), [v for _, v in both])
        self.close(self.result("s.npy"), [math.sqrt(v) for _, v in both])

    def test_stats_in_png_are_rounded(self):
        self.boxsum("stats", self.source, "--window", 5, "--mean", self.path("m.png"), "--std", self.path("s.png"), "-q")
        both = [oracle.mean_and_variance(w) for w in windows(self.values, 2, 2)]
        for name, expected in (("m.png", [m for m, _ in both]), ("s.png", [math.sqrt(v) for _, v in both])):
            self.boxsum("blur", self.path(name), self.path("x.npy"), "--radius", 0, "-q")
            self.assertEqual(self.result("x.npy"), [oracle.round_half_up(e) for e in expected], name)

    def placed(self, size, origin):
        """The windows of all pixels, for a size and an origin (rows, columns)."""
        (n, m), (y, x) = size, origin
        above, left, rows = n // 2 + y, m // 2 + x, len(self.values) // COLS
        return [[self.values[i * COLS + j] for i in range(max(r - above, 0), min(r - above + n, rows))
                 for j in range(max(c - left, 0), min(c - left + m, COLS))] for r in range(rows) for c in range(COLS)]

    def test_windows_of_any_size_and_place(self):
        rows = 75  # several strips with little memory: one is at least four times what a window has beside its pixel
        self.values = f.pixels("8u", rows * COLS)
        self.write("in.pgm", f.pnm(rows, COLS, 1, self.values))
        seen = [1 if v % 7 else 0 for v in f.pixels("8u", rows * COLS, seed=2)]
        mask = self.write("mask.pgm", f.pnm(rows, COLS, 1, seen))
        for size, origin in (((4, 6), (0, 0)), ((2, 2), (0, 0)), ((4, 6), (1, -3)), ((5, 3), (-2, 1)), ((5, 3), (2, 0)), ((1, 8), (0, -4)), ((8, 8), (3, 3)), ((8, 8), (-4, -4))):
            given = ("-w", "{},{}".format(*size), *(("--origin", "{},{}".format(*origin)) if any(origin) else ()), "-q")
            expected = self.placed(size, origin)
            both = [oracle.mean_and_variance(w) for w in expected]
            for memory in ((), ("--memory", "1K")):
                self.boxsum("stats", self.source, "--mean", self.path("m.npy"), "--variance", self.path("v.npy"), "--sum", self.path("s.npy"),
                            "--count", self.path("n.npy"), *given, *memory)
                self.assertEqual(self.result("s.npy"), [sum(w) for w in expected], given)
                self.assertEqual(self.result("n.npy"), [len(w) for w in expected], given)
                self.close(self.result("m.npy"), [m for m, _ in both])
                self.close(self.result("v.npy"), [v for _, v in both])
                self.boxsum("threshold", self.source, self.path("t.npy"), "--method", "bradley", *given, *memory)
                self.assertEqual(self.result("t.npy"), [255 if x > 0.85 * m else 0 for x, (m, _) in zip(self.values, both)], given)
                self.boxsum("normalize", self.source, self.path("x.npy"), "--epsilon", 5, *given, *memory)
                self.close(self.result("x.npy"), [(x - m) / max(math.sqrt(v), 5) for x, (m, v) in zip(self.values, both)])
                found = self.summary(*given[:-1], *memory)
                self.assertEqual((found["window"], found["origin"]), (list(size), list(origin)))
                self.close([found["bands"][0]["mean"][key] for key in ("min", "max")], [f([m for m, _ in both]) for f in (min, max)])
            values = self.values
            self.values = list(zip(values, seen))
            near = [[v for v, s in w if s] for (_, s), w in zip(self.values, self.placed(size, origin)) if s]
            self.values = values
            means = [sum(w) / len(w) for w in near]
            for memory in ((), ("--memory", "1K")):
                (band,) = self.summary(*given[:-1], "--mask", mask, *memory)["bands"]
                self.assertEqual(band["count"], sum(seen))
                self.close([band["mean"][key] for key in ("min", "mean", "max")], [min(means), sum(means) / len(means), max(means)])
        self.boxsum("stats", self.source, "-w", 6, "--origin", -3, "--sum", self.path("s.npy"), "-q")
        self.assertEqual(self.result("s.npy"), [sum(w) for w in self.placed((6, 6), (-3, -3))])
        self.assertIn(b"windows of 6 x 6 with the origin -3, 2: read in", self.boxsum("stats", self.source, "-w", 6, "--origin", "-3,2"))

    def test_sums_and_counts(self):
        """Of integers exact; of pixels that count, and of weights."""
        for kind in ("8u", "16u", "16s"):
            self.values = f.pixels(kind, ROWS * COLS)
            source = self.write("in.npy", f.npy((ROWS, COLS), kind, self.values))
            for name in ("s.npy", "s.tif"):
                self.boxsum("stats", source, "-w", "7,5", "--sum", self.path(name), "--count", self.path(name.replace("s.", "n.")), "-q")
            expected = self.placed((7, 5), (0, 0))
            shape, descr, sums = f.read_npy(self.read("s.npy"))
            self.assertEqual((shape, descr, sums), ((ROWS, COLS), "<i8", [sum(w) for w in expected]))
            self.assertEqual(f.read_npy(self.read("n.npy"))[1:], ("<u4", [len(w) for w in expected]))
            for name, bits, form in (("s", 64, 2), ("n", 32, 1)):
                tags = f.tiff_tags(self.read(f"{name}.tif"))
                self.assertEqual((tags[258], tags[339]), ([bits], [form]))
                self.boxsum("blur", self.path(f"{name}.tif"), self.path("x.npy"), "-r", 0, "--type", "64f", "-q")
                self.assertEqual(self.result("x.npy"), self.result(f"{name}.npy"))
        values = self.values = f.pixels("8u", ROWS * COLS)
        weights = [i % 4 / 2 for i in range(ROWS * COLS)]
        self.write("w.npy", f.npy((ROWS, COLS), "32f", weights))
        mask = self.write("mask.pgm", f.pnm(ROWS, COLS, 1, [1 if w > 0 else 0 for w in weights]))
        for options, weight in ((("--mask", mask, "--min-count", 7, "--fill", -5), lambda w: w > 0),
                                (("--weights", self.path("w.npy"), "--min-weight", 7, "--fill", -5), lambda w: w)):
            self.boxsum("stats", self.source, "-w", 3, "--sum", self.path("s.npy"), "--count", self.path("n.npy"), *options, "-q")
            self.values = [(x, weight(w)) for x, w in zip(values, weights)]
            expected = self.placed((3, 3), (0, 0))
            counts = [sum(w for _, w in near) for near in expected]
            self.assertEqual(self.result("n.npy"), counts, options)
            self.assertEqual(self.result("s.npy"), [sum(x * w for x, w in near) if n >= 7 else -5 for near, n in zip(expected, counts)], options)
            self.assertIn(-5, self.result("s.npy"))
        self.assertEqual([f.read_npy(self.read(name))[1] for name in ("s.npy", "n.npy")], ["<f4", "<f4"])
        self.boxsum("stats", self.source, "-w", 1, "--sum", self.path("s.pfm"), "--count", self.path("n.pfm"), "-q")
        self.boxsum("blur", self.path("s.pfm"), self.path("x.npy"), "-r", 0, "-q")
        self.assertEqual(f.read_npy(self.read("x.npy"))[1:], ("<f4", values))
        for kind, descr in (("32f", "<f4"), ("64f", "<f8")):
            floats = self.write("in.npy", f.npy((ROWS, COLS), kind, [float(v) for v in values]))
            self.boxsum("stats", floats, "-w", 1, "--sum", self.path("s.npy"), "--count", self.path("n.npy"), "-q")
            self.assertEqual(f.read_npy(self.read("s.npy"))[1:], (descr, values))
            self.assertEqual(f.read_npy(self.read("n.npy"))[1:], ("<u4", [1] * len(values)))
        clear = self.write("clear.png", f.png(2, 2, 4, 8, [10, 20, 30, 128, 40, 50, 60, 255] * 2))
        self.boxsum("stats", clear, "-w", 3, "--sum", self.path("s.npy"), "-q")
        self.assertEqual(f.read_npy(self.read("s.npy")), ((2, 2, 3), "<i8", [100, 140, 180] * 4))

    def test_opacity_is_none_of_counts_and_sums_of_integers(self):
        """Of means and sums of floats it is one."""
        for kind, opacity, kept in (("8u", 200, "m"), ("16u", 300, "m"), ("32f", 0.25, "ms"), ("64f", 0.25, "ms")):
            source = self.write("in.tif", f.tiff(3, 4, 4, kind, [9, 8, 7, opacity] * 12))
            for weights in ((), ("--weights", self.write("w.npy", f.npy((3, 4), "32f", [1] * 12)))):
                outputs = [word for option in ("mean", "sum", "count") for word in (f"--{option}", self.path(f"{option[0]}.tif"))]
                report = json.loads(self.boxsum("stats", source, "-w", 3, *outputs, *weights, "--json"))
                for name in "msc":
                    tags = f.tiff_tags(self.read(f"{name}.tif"))
                    self.assertEqual(tags.get(338), [2] if name in kept else None, (kind, name, weights))
                    self.boxsum("blur", self.path(f"{name}.tif"), self.path("x.npy"), "-r", 0, "--type", "64f", "-q")
                    shape, _, found = f.read_npy(self.read("x.npy"))
                    self.assertEqual(shape, (3, 4, 4 if name in kept else 3), (kind, name, weights))
                    self.assertEqual(set(found[3::4]) == {opacity}, name in kept, (kind, name, weights))
                self.assertEqual([report[role]["channels"] for role in ("mean", "sum", "count")], [4 if name in kept else 3 for name in "msc"])
                self.assertEqual(found, [n for r in range(3) for c in range(4) for n in 3 * [(3 if r == 1 else 2) * (3 if c in (1, 2) else 2)]])

    def test_counts_beyond_32_bits(self):
        """Of windows that may have so many pixels; cut off at the image's edges they have no more than it."""
        source = self.write("in.npy", f.npy((2, 3), "8u", [1] * 6))
        for border, side, descr, count in (("reflect", 65536, "<f8", 65536 ** 2), ("reflect", 65535, "<u4", 65535 ** 2),
                                           ("wrap", 65536, "<f8", 65536 ** 2), ("shrink", 65536, "<u4", 6)):
            self.boxsum("stats", source, "-w", side, "--border", border, "--count", self.path("n.npy"), "--sum", self.path("s.npy"), "-q")
            self.assertEqual(f.read_npy(self.read("n.npy")), ((2, 3), descr, [count] * 6), (border, side))
            self.assertEqual(f.read_npy(self.read("s.npy")), ((2, 3), "<i8", [count] * 6), (border, side))
        self.boxsum("stats", source, "-w", 65536, "--border", "reflect", "--count", self.path("n.tif"), "-q")
        self.assertEqual([f.tiff_tags(self.read("n.tif"))[tag] for tag in (258, 339)], [[64], [3]])

    def test_the_value_for_no_data_is_none_among_sums_of_integers_and_counts(self):
        for kind, kept in (("8u", {"m.tif"}), ("32f", {"m.tif", "s.tif"})):
            source = self.write("in.tif", f.tiff(ROWS, COLS, 1, kind, [9 if i < 40 else 1 for i in range(ROWS * COLS)], tags=[(42113, 2, list(b"9\0"))]))
            for memory in ((), ("--border", "wrap")):
                self.boxsum("stats", source, "-w", 3, "--mean", self.path("m.tif"), "--sum", self.path("s.tif"), "--count", self.path("n.tif"), *memory, "-q")
                self.assertEqual({name for name in ("m.tif", "s.tif", "n.tif") if 42113 in f.tiff_tags(self.read(name))}, kept)

    def summary(self, *args):
        return json.loads(self.boxsum("stats", self.source, *args, "--json"))

    def test_stats_without_an_output_are_a_summary(self):
        skipped = self.values[17]
        for options, up, side, counts in (([], 7, 7, lambda x: True), (["-w", "5,3", "--nodata", skipped], 2, 1, lambda x: x != skipped),
                                          (["-w", "5,3", "--nodata", skipped, "--border", "wrap"], None, None, lambda x: x != skipped)):
            found = self.summary(*options)
            self.assertEqual((found["input"]["rows"], found["input"]["cols"]), (ROWS, COLS))
            (band,) = found["bands"]
            expected = []
            for r in range(ROWS):
                for c in range(COLS):
                    if up is None:
                        w = [self.values[(r + i) % ROWS * COLS + (c + j) % COLS] for i in range(-2, 3) for j in range(-1, 2)]
                    else:
                        w = oracle.window(self.values, ROWS, COLS, r, c, up, side)
                    if counts(self.values[r * COLS + c]):
                        expected.append(oracle.mean_and_variance([x for x in w if counts(x)]))
            self.assertEqual((band["band"], band["count"]), (1, len(expected)))
            for name, values in (("mean", [m for m, _ in expected]), ("deviation", [math.sqrt(v) for _, v in expected])):
                self.close([band[name][key] for key in ("min", "mean", "max")],
                           [min(values), sum(values) / len(values), max(values)])

    def test_a_summary_is_of_pixels_that_count(self):
        mask = self.write("mask.pgm", f.pnm(ROWS, COLS, 1, [i % 3 for i in range(ROWS * COLS)]))
        self.assertEqual(self.summary("--mask", mask)["bands"][0]["count"], sum(i % 3 > 0 for i in range(ROWS * COLS)))
        # The corners' windows have 9 pixels, the edges' at least 12.
        self.assertEqual(self.summary("-w", 5, "--min-count", 10)["bands"][0]["count"], ROWS * COLS - 4)
        text = self.boxsum("stats", self.source, "-w", 5, "--min-count", 26)
        self.assertRegex(text, rb"windows of 5 x 5: read in .*\nband +count +of windows +min +mean +max\n +1 +0 +mean +- +- +-\n")
        self.assertIsNone(self.summary("-w", 5, "--min-count", 26)["bands"][0]["mean"])
        odd = (0.5, 0.0, -1.0, math.inf, -math.inf, math.nan, 3.0)
        weights = [odd[(i + 2 * (i // COLS)) % 7] for i in range(ROWS * COLS)]
        taken = [v for v, w in zip(self.values, weights) if w > 0 and math.isfinite(w)]
        for more in ((), ("--border", "wrap")):
            (band,) = self.summary("-w", 3, *more, "--weights", self.write("w.npy", f.npy((ROWS, COLS), "32f", weights)))["bands"]
            self.assertEqual(band["count"], len(taken), more)
        (band,) = self.summary("-w", 1, "--weights", self.path("w.npy"))["bands"]
        self.close([band["mean"][key] for key in ("min", "mean", "max")], [min(taken), sum(taken) / len(taken), max(taken)])
        holes = self.write("holes.npy", f.npy((3, 4), "32f", [1, 2, 3, float("nan")] * 3))
        self.assertEqual(json.loads(self.boxsum("stats", holes, "--json", "--ignore-nan"))["bands"][0]["count"], 9)
        lonely = ("stats", holes, "--json", "--ignore-nan", "--nodata", 2, "-w", 3, "--min-count", 4)
        self.assertEqual(json.loads(self.boxsum(*lonely))["bands"][0]["count"], 0, "what fills results is none")
        colours = self.write("c.ppm", f.pnm(2, 2, 3, [1, 2, 3] * 4))
        found = json.loads(self.boxsum("stats", colours, "--json"))
        self.assertEqual([b["mean"]["max"] for b in found["bands"]], [1, 2, 3])
        both = self.boxsum("stats", self.source, colours)
        self.assertEqual(both.count(b"deviation"), 4)

    def test_a_summary_of_strips_does_not_depend_on_them(self):
        pixels = [(i * 7919 + i // 31 * 101) % 251 for i in range(3000 * 700)]
        large = self.write("large.pgm", f.pnm(3000, 700, 1, pixels))
        options = ("-w", "201,3", "--nodata", 7)
        several = self.boxsum("stats", large, *options, "--threads", 3, "--json")
        one = self.boxsum("stats", large, *options, "--threads", 1, "--json")
        self.assertEqual(json.loads(several)["bands"], json.loads(one)["bands"])
        self.boxsum("stats", large, *options, "--mean", self.path("m.npy"), "--std", self.path("s.npy"), "-q")
        for name, file in (("mean", "m.npy"), ("deviation", "s.npy")):
            values = [value for value, pixel in zip(self.result(file), pixels) if pixel != 7]
            (band,) = json.loads(one)["bands"]
            self.assertEqual((band["count"], band[name]["min"], band[name]["max"]), (len(values), min(values), max(values)))
            self.close([band[name]["mean"]], [sum(values) / len(values)], 1e-12)

    def convolved(self, kernel, border, flip, value=0.0):
        n, m = len(kernel), len(kernel[0])
        if flip:
            kernel = [row[::-1] for row in kernel[::-1]]
        up, left = ((n - 1) // 2, (m - 1) // 2) if flip else (n // 2, m // 2)

        def at(r, c):
            if border == "constant":
                return self.values[r * COLS + c] if 0 <= r < ROWS and 0 <= c < COLS else value

            def index(i, extent):
                while not 0 <= i < extent:
                    if border == "replicate":
                        return min(max(i, 0), extent - 1)
                    i = -1 - i if i < 0 else 2 * extent - 1 - i
                return i
            return self.values[index(r, ROWS) * COLS + index(c, COLS)]
        return [sum(kernel[i][j] * at(r + i - up, c + j - left) for i in range(n) for j in range(m))
                for r in range(ROWS) for c in range(COLS)]

    def test_convolve(self):
        for border in ("reflect", "replicate", "constant"):
            for flip in (False, True):
                for text in ("1 -2 1; 2 4 2", "0.5,0.25; 1,-1", "1 2 3 4 5 6 7 8 9 -45", " 3 ", ";".join(["1"] * 40)):
                    kernel = [[float(x) for x in row.replace(",", " ").split()] for row in text.split(";")]
                    expected = self.convolved(kernel, border, flip, 7 if border == "constant" else 0)
                    options = ["--kernel", text, "--border", border, *["--flip"][:flip],
                               *(["--border-value", 7] if border == "constant" else [])]
                    self.boxsum("convolve", self.source, self.path("x.npy"), *options, "--type", "64f", "-q")
                    self.close(self.result("x.npy"), expected, 1e-9)
                    self.boxsum("convolve", self.source, self.path("x.npy"), *options, "-q")
                    self.assertEqual(self.result("x.npy"), [min(max(oracle.round_half_up(e), 0), 255) for e in expected])

    def test_kernels_are_numbers_or_files(self):
        expected = [oracle.round_half_up(e / 16) for e in self.convolved([[1, 2, 1], [2, 4, 2], [1, 2, 1]], "reflect", False)]
        self.write("k.csv", b"# weights\n1,2,1\r\n\n2,4,2\n1, 2, 1")
        self.write("k.npy", f.npy((3, 3), "32f", [1, 2, 1, 2, 4, 2, 1, 2, 1]))
        self.write("k.pgm", f.pnm(3, 3, 1, [1, 2, 1, 2, 4, 2, 1, 2, 1]))
        for kernel in ("1 2 1; 2 4 2; 1 2 1", self.path("k.csv"), self.path("k.npy"), self.path("k.pgm")):
            self.boxsum("convolve", self.source, self.path("x.npy"), "-k", kernel, "--normalize", "-q")
            self.assertEqual(self.result("x.npy"), expected, kernel)
        self.boxsum("convolve", self.source, self.path("x.npy"), "-k", "1 2 1; 2 4 2; 1 2 1", "--normalize", "--algorithm", "reference", "-q")
        self.assertEqual(self.result("x.npy"), expected)

    def test_convolve_in_strips(self):
        rows, cols = 3000, 700
        pixels = [(i * 7919 + i // 31 * 101) % 251 - 100 for i in range(rows * cols)]
        large = self.write("large.npy", f.npy((rows, cols), "16s", pixels))
        kernel = ";".join(["1 -1"] + ["0 0"] * 30 + ["2 0"])
        self.boxsum("convolve", large, self.path("x.npy"), "-k", kernel, "--memory", "16M", "-q")
        lines = [pixels[r * cols:(r + 1) * cols] for r in range(rows)]
        found = self.result("x.npy")
        for r in range(rows):
            above = lines[r - 16 if r >= 16 else 15 - r]
            below = lines[r + 15 if r + 15 < rows else 2 * rows - 16 - r]
            expected = [a - b + 2 * c for a, b, c in zip(above[:1] + above, above, below[:1] + below)]
            self.assertEqual(found[r * cols:(r + 1) * cols], expected, r)

    def test_convolve_keeps_white_and_opacity(self):
        dark = self.write("dark.pgm", b"P5\n3 1\n100\n" + bytes([10, 60, 90]))
        self.boxsum("convolve", dark, self.path("x.pgm"), "-k", 2, "-q")
        self.assertEqual(self.read("x.pgm"), b"P5\n3 1\n100\n" + bytes([20, 100, 100]))
        clear = self.write("clear.png", f.png(2, 2, 4, 8, [10, 20, 30, 128, 40, 50, 60, 255] * 2))
        self.boxsum("convolve", clear, self.path("x.png"), "-k", "0 0 1; 0 0 0; 0 0 0", "--border", "replicate", "-q")
        self.boxsum("blur", self.path("x.png"), self.path("x.npy"), "-r", 0, "-q")
        self.assertEqual(self.result("x.npy"), [40, 50, 60, 128, 40, 50, 60, 255] * 2)

    def test_threshold(self):
        both = [oracle.mean_and_variance(w) for w in windows(self.values, 2, 2)]
        s_max, lowest = math.sqrt(max(v for _, v in both)), min(self.values)
        formulas = {
            "bradley": lambda m, s, k: m * (1 - k),
            "niblack": lambda m, s, k: m + k * s,
            "sauvola": lambda m, s, k: m * (1 + k * (s / 127.5 - 1)),
            "wolf": lambda m, s, k: m - k * (1 - s / s_max) * (m - lowest),
        }
        for method, k in (("bradley", 0.15), ("niblack", -0.2), ("sauvola", 0.2), ("wolf", 0.5)):
            for given in (None, 0.3):
                more = [] if given is None else ["--k", given]
                self.boxsum("threshold", self.source, self.path("x.npy"), "--method", method, "--window", 5, *more, "-q")
                limits = [formulas[method](m, math.sqrt(v), k if given is None else given) for m, v in both]
                expected = [255 if v > t else 0 for v, t in zip(self.values, limits)]
                self.assertEqual(self.result("x.npy"), expected, (method, given))
        self.boxsum("threshold", self.source, self.path("x.npy"), "--range", 64, "--window", 5, "-q")
        expected = [255 if x > m * (1 + 0.2 * (math.sqrt(v) / 64 - 1)) else 0 for x, (m, v) in zip(self.values, both)]
        self.assertEqual(self.result("x.npy"), expected)

    def test_normalize(self):
        self.boxsum("normalize", self.source, self.path("x.npy"), "--window", 5, "--epsilon", 30, "-q")
        expected = [(x - m) / max(math.sqrt(v), 30) for x, (m, v) in
                    zip(self.values, (oracle.mean_and_variance(w) for w in windows(self.values, 2, 2)))]
        self.close(self.result("x.npy"), expected)
        self.boxsum("normalize", self.source, self.path("x.png"), "--window", 5, "--epsilon", 30, "--range", 2, "-q")
        self.boxsum("blur", self.path("x.png"), self.path("y.npy"), "--radius", 0, "-q")
        shown = [min(255, max(0, oracle.round_half_up(127.5 + 127.5 * e / 2))) for e in expected]
        self.assertLessEqual(max(abs(a - b) for a, b in zip(self.result("y.npy"), shown)), 1)

    def test_guided(self):
        guide = f.pixels("8u", 2 * ROWS * COLS)[ROWS * COLS:]
        self.write("guide.pgm", f.pnm(ROWS, COLS, 1, guide))
        for options, by in (((), self.values), (("--guide", self.path("guide.pgm")), guide)):
            fits = []
            for p, i in zip(windows(self.values, 2, 1), windows(by, 2, 1)):
                n, mean_p, mean_i = len(p), sum(p) / len(p), sum(i) / len(i)
                a = sum((x - mean_i) * (y - mean_p) for x, y in zip(i, p)) / n
                a /= sum((x - mean_i) ** 2 for x in i) / n + 400
                fits.append((a, mean_p - a * mean_i))
            expected = [(sum(a for a, _ in w) * x + sum(b for _, b in w)) / len(w) for w, x in zip(windows(fits, 2, 1), by)]
            self.boxsum("guided", self.source, self.path("x.npy"), "-r", "2,1", "--epsilon", 400, "--type", "64f", *options, "-q")
            self.close(self.result("x.npy"), expected, 1e-9)
            self.boxsum("guided", self.source, self.path("x.npy"), "-r", "2,1", "--epsilon", 400, *options, "-q")
            self.assertEqual(self.result("x.npy"), [min(255, max(0, oracle.round_half_up(e))) for e in expected])
        self.write("small.pgm", f.pnm(1, 2, 1, [1, 2]))
        done = self.start("guided", self.source, self.path("y.npy"), "--guide", self.path("small.pgm"))
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"guide: rows is 1, but that of the image is 11", done.stderr)

    def test_denoise(self):
        def expected(radius, patch, strength, noise):
            def at(r, c):
                return self.values[r * COLS + c] if 0 <= r < ROWS and 0 <= c < COLS else None

            result = []
            for r in range(ROWS):
                for c in range(COLS):
                    weights = values = 0
                    for y in range(r - radius, r + radius + 1):
                        for x in range(c - radius, c + radius + 1):
                            if at(y, x) is None:
                                continue
                            d = [(at(y + i, x + j) - at(r + i, c + j)) ** 2
                                 for i in range(-patch, patch + 1) for j in range(-patch, patch + 1)
                                 if at(y + i, x + j) is not None and at(r + i, c + j) is not None]
                            w = math.exp(-max(0, sum(d) / len(d) - 2 * noise ** 2) / strength ** 2) if (y, x) != (r, c) else 1
                            weights, values = weights + w, values + w * at(y, x)
                    result.append(values / weights)
            return result

        given = ("-r", 2, "--patch", 1, "--strength", 60, "--noise", 20)
        self.boxsum("denoise", self.source, self.path("x.npy"), *given, "--type", "64f", "-q")
        self.close(self.result("x.npy"), expected(2, 1, 60, 20), 255 / 2 ** 17)
        self.boxsum("denoise", self.source, self.path("y.npy"), *given, "-q")
        self.assertEqual(self.result("y.npy"), [oracle.round_half_up(x) for x in self.result("x.npy")])
        done = self.start("denoise", self.source, self.path("z.npy"), "--patch", 65)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"patch: above is 65, at most 64 is supported", done.stderr)

    def test_pixels_that_do_not_count(self):
        """In blur by a map of radii, guided and denoise: as if they were not there, whatever they hold."""
        seen = [0 if (r * COLS + c) % 5 == 2 else 1 for r in range(ROWS) for c in range(COLS)]
        other = [v if s else 255 - v for v, s in zip(self.values, seen)]
        self.write("mask.pgm", f.pnm(ROWS, COLS, 1, seen))
        self.write("other.pgm", f.pnm(ROWS, COLS, 1, other))
        self.write("radii.pgm", f.pnm(ROWS, COLS, 1, [1] * (ROWS * COLS)))
        for command in (("blur", "--radius-map", self.path("radii.pgm")), ("guided", "-r", 1), ("denoise", "-r", 2, "--patch", 1)):
            results = []
            for source in (self.source, self.path("other.pgm")):
                self.boxsum(command[0], source, self.path("x.npy"), *command[1:], "--mask", self.path("mask.pgm"),
                            "--fill", 3, "-q")
                results.append(self.result("x.npy"))
            self.assertEqual(*results)
            if command[0] == "guided":
                self.assertEqual({v for v, s in zip(results[0], seen) if not s}, {3})
        self.boxsum("blur", self.source, self.path("x.npy"), "--radius-map", self.path("radii.pgm"), "--mask",
                    self.path("mask.pgm"), "--type", "64f", "-q")
        pairs = list(zip(self.values, seen))
        self.close(self.result("x.npy"), [sum(v for v, s in w if s) / sum(s for _, s in w) for w in windows(pairs, 1, 1)])
        self.write("small.pgm", f.pnm(1, 2, 1, [1, 2]))
        for command in ("guided", "denoise"):
            done = self.start(command, self.source, self.path("y.npy"), "--mask", self.path("small.pgm"))
            self.assertNotEqual(done.returncode, 0)
            self.assertIn(b"--mask: rows x cols are 1 x 2, must be the image's", done.stderr)

    def test_blobs(self):
        """Two disks of different sizes in a colour image, found where they are, in the image's own rows and columns."""
        rows, cols = 80, 120
        disks = ((25, 30, 8), (50, 90, 14))
        pixels = []
        for r in range(rows):
            for c in range(cols):
                inside = any((r - y) ** 2 + (c - x) ** 2 <= radius ** 2 for y, x, radius in disks)
                pixels += [220, 240, 200] if inside else [30, 20, 40]
        source = self.write("disks.ppm", f.pnm(rows, cols, 3, pixels))
        options = ("--sigma", "4,16,13", "--relative-threshold", 0.5)
        found = json.loads(self.boxsum("blobs", source, *options, "--json"))
        self.assertEqual(found["input"]["rows"], rows)
        self.assertEqual(len(found["blobs"]), 2)
        by_col = sorted(found["blobs"], key=lambda b: b["col"])
        for blob, (y, x, radius) in zip(by_col, disks):
            self.assertLessEqual(max(abs(blob["row"] - y), abs(blob["col"] - x)), 2)
            self.assertLess(abs(blob["sigma"] - radius), radius / 3)
        lines = self.boxsum("blobs", source, *options, "--csv").decode().splitlines()
        self.assertEqual(lines[0], "row,col,sigma,determinant")
        self.assertEqual([[float(x) for x in line.split(",")] for line in lines[1:]],
                         [[b["row"], b["col"], b["sigma"], b["determinant"]] for b in found["blobs"]])
        part = self.boxsum("blobs", source, *options, "--csv", "--region", "10,60,70,60").decode().splitlines()
        self.assertEqual([line.split(",")[:3] for line in part[1:]], [line.split(",")[:3] for line in lines[1:] if int(line.split(",")[1]) > 60])
        grey = [p for i, p in enumerate(pixels) if i % 3 == 0]
        stack = self.write("stack.tif", f.tiff(rows, cols, 1, "8u", grey, pages=2))
        paged = self.boxsum("blobs", stack, *options, "--csv", "--page", "all").decode().splitlines()
        self.assertEqual(paged[0], "page,row,col,sigma,determinant")
        self.assertEqual([line.split(",")[0] for line in paged[1:]], ["1", "1", "2", "2"])
        self.assertEqual(paged[1].split(",", 1)[1], paged[3].split(",", 1)[1])
        for wrong in ("4", "4,x", "4,16,0", "4,16,1.5", "16,4", "0.5,4", "nan,4", "4,2e9"):
            done = self.start("blobs", source, "--sigma", wrong)
            self.assertEqual(done.returncode, 2)
            self.assertIn(b"--sigma", done.stderr)

    def test_half_floats_are_filtered_as_floats(self):
        values = f.pixels("16f", 12)
        source = self.write("h.npy", f.npy((3, 4), "16f", values))
        self.boxsum("blur", source, self.path("x.npy"), "--radius", 0, "-q")
        self.assertEqual(f.read_npy(self.read("x.npy"))[1:], ("<f4", values))

    def test_colour_channels_by_themselves(self):
        """A blurred photograph: each channel equals the blur of that channel alone."""
        self.boxsum("blur", SHIPPED_PHOTO, self.path("rgb.npy"), "--radius", 9, "-q")
        shape, _, rgb = f.read_npy(self.read("rgb.npy"))
        self.assertEqual(shape, (512, 512, 3))
        self.boxsum("blur", SHIPPED_PHOTO, self.path("same.npy"), "--radius", 0, "-q")
        green = f.read_npy(self.read("same.npy"))[2][1::3]
        self.write("green.pgm", f.pnm(512, 512, 1, green))
        self.boxsum("blur", self.path("green.pgm"), self.path("green.npy"), "--radius", 9, "-q")
        self.assertEqual(f.read_npy(self.read("green.npy"))[2], rgb[1::3])


if __name__ == "__main__":
    main()
