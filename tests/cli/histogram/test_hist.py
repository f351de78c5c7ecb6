#!/usr/bin/env python3
"""boxsum hist, held to counting in Python."""

import csv
import io
import json
import random
import unittest

from running import BAD_INPUT, UNSUPPORTED, USAGE, ToolTest, pgm, ppm

ROWS, COLS = 23, 31
BOXES = [(0, 0, ROWS, COLS), (3, 4, 5, 6), (22, 30, 1, 1)]


def counted(pixels, channels, channel, box, bins, low, high, clamp=False):
    counts = [0] * bins
    row, col, rows, cols = box
    for r in range(row, row + rows):
        for c in range(col, col + cols):
            v = pixels[(r * COLS + c) * channels + channel]
            if low <= v < high:
                counts[min(int((v - low) * (bins / (high - low))), bins - 1)] += 1
            elif clamp:
                counts[0 if v < low else -1] += 1
    return counts


class Hist(ToolTest):
    def setUp(self):
        super().setUp()
        rng = random.Random(1)
        self.grey = [rng.randrange(256) for _ in range(ROWS * COLS)]
        self.colour = [rng.randrange(256) for _ in range(ROWS * COLS * 3)]
        self.grey_file = self.write("grey.pgm", pgm(ROWS, COLS, self.grey))
        self.colour_file = self.write("colour.ppm", ppm(ROWS, COLS, self.colour))
        self.box_options = [x for b in BOXES for x in ("--box", ",".join(map(str, b)))]

    def test_json(self):
        for extra, low, high, clamp in (([], 0, 256, False), (["--range", "20,200.5"], 20, 200.5, False),
                                        (["--range", "20,200.5", "--clamp"], 20, 200.5, True)):
            for name, pixels, channels in ((self.grey_file, self.grey, 1), (self.colour_file, self.colour, 3)):
                report = json.loads(self.boxsum("hist", name, "--bins", 7, *extra, *self.box_options, "--json"))
                self.assertEqual((report["input"]["rows"], report["input"]["cols"], report["bins"]), (ROWS, COLS, 7))
                expected = [counted(pixels, channels, c, b, 7, low, high, clamp) for b in BOXES for c in range(channels)]
                self.assertEqual([b["counts"] for b in report["boxes"]], expected)

    def test_csv_and_whole_image(self):
        rows = list(csv.reader(io.StringIO(self.boxsum("hist", self.grey_file, "--bins", 4, "--csv"))))
        self.assertEqual(rows[0], ["row", "col", "rows", "cols", "channel", "bin0", "bin1", "bin2", "bin3"])
        expected = [0, 0, ROWS, COLS, 0, *counted(self.grey, 1, 0, BOXES[0], 4, 0, 256)]
        self.assertEqual([int(x) for x in rows[1]], expected)

    def test_edges_near_the_largest_double(self):
        text = self.boxsum("hist", self.grey_file, "--bins", 2, "--range", "1e300,1e308")
        self.assertEqual([line.split()[1:3] for line in text.splitlines()[6:]], [["1e+300", "5.00000005e+307"], ["5.00000005e+307", "1e+308"]])

    def test_boxes_file_text_and_standard_input(self):
        boxes = self.write("boxes.csv", "row,col,rows,cols\n3,4,5,6\n".encode())
        text = self.boxsum("hist", "-", "--bins", 4, "--boxes", boxes, stdin=pgm(ROWS, COLS, self.grey))
        lines = [line.split() for line in text.splitlines()]
        self.assertEqual(lines[5], ["bin", "from", "below", "count"])
        self.assertEqual([int(line[3]) for line in lines[6:]], counted(self.grey, 1, 0, BOXES[1], 4, 0, 256))
        self.assertEqual(lines[7][:3], ["1", "64", "128"])

    def test_every_algorithm_of_the_cpu(self):
        names = [a["name"] for a in json.loads(self.boxsum("algorithms", "--operation", "histogram", "--json"))
                 if a["backend"] == "cpu"]
        self.assertIn("sequential", names)
        plain = self.boxsum("hist", self.grey_file, "--csv")
        for name in names:
            self.assertEqual(self.boxsum("hist", self.grey_file, "--csv", "--algorithm", name), plain, name)
        forced = self.boxsum("hist", self.grey_file, "--csv", "--algorithm", "cpu", "--param", "isa=scalar")
        self.assertEqual(forced, plain)

    def test_mistakes(self):
        grey = self.grey_file
        self.refused(USAGE, "--bins", "hist", grey, "--bins", 0)
        self.refused(USAGE, "--bins", "hist", grey, "--bins", 1025)
        self.refused(USAGE, "--range", "hist", grey, "--range", "5")
        self.refused(USAGE, "--range: is [9, 9), ", "hist", grey, "--range", "9,9")
        self.refused(USAGE, "--range: is [0, 1e-320), too narrow", "hist", grey, "--range", "0,1e-320", "--bins", 3)
        self.refused(USAGE, "--range", "hist", grey, "--range", "1,x")
        self.refused(USAGE, "--box", "hist", grey, "--box", "1,2,3")
        self.refused(USAGE, "--param", "hist", grey, "--param", "isa=scalar")
        for value, words in (("", "'' is not name=value"), ("isa", "'isa' is not name=value"),
                             ("nonsense=1", "algorithm 'cpu' has no parameter 'nonsense'"),
                             ("isa=z80", "parameter 'isa' cannot be 'z80'"),
                             ("isa=scalar,isa=scalar", "'isa=scalar,isa=scalar' is not name=value")):
            for file in (grey, "missing.png"):
                self.refused(USAGE, f"error: --param: {words}", "hist", file, "--algorithm", "cpu", "--param", value)
        self.refused(BAD_INPUT, "box", "hist", grey, "--box", "0,0,24,1")
        self.refused(BAD_INPUT, "missing.png", "hist", "missing.png")
        self.refused(UNSUPPORTED, "no-such", "hist", grey, "--algorithm", "no-such")
        for device in ("gpu", "cuda:-1", ""):
            self.refused(USAGE, f"--device: '{device}' is none of auto, cpu, cuda, cuda:N", "hist", grey, "--device", device)
        self.refused(UNSUPPORTED, "device", "hist", grey, "--device", "cuda:999")
        pfm = self.write("float.pfm", b"Pf\n2 1\n-1.0\n" + bytes(8))
        self.refused(USAGE, "--range: needed for an image of 32f", "hist", pfm)
        self.assertIn("2", self.boxsum("hist", pfm, "--bins", 1, "--range", "0,1", "--csv"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
