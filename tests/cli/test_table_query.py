#!/usr/bin/env python3
"""Tables and box queries, held to their definitions; pipes; text, CSV and JSON."""

import csv
import io
import json
import os

import image_files as f
import oracle
from boxsum_cli import SHIPPED_PHOTO, CliTest, main

BITS = {"32u": 32, "64u": 64, "32s": 32, "64s": 64}


class Table(CliTest):
    def test_layouts_types_and_channels(self):
        for kind, tables in (("8u", ("32u", "32s", "32f", "64u", "64f")), ("16u", ("32u", "64u")),
                             ("16s", ("32s", "64s")), ("32u", ("32u", "64u")), ("32s", ("32s", "64s")),
                             ("32f", ("32f", "64f")), ("64f", ("64f",)), ("16f", ("32f", "64f"))):
            for channels in (1, 3):
                values = f.pixels(kind, 63 * channels)
                source = self.write("in.npy", f.npy((7, 9, channels) if channels > 1 else (7, 9), kind, values))
                for table in tables:
                    for layout in ("padded", "inclusive", "exclusive"):
                        self.boxsum("table", source, "-o", self.path("t.npy"), "--table-type", table, "--layout",
                                    layout, "-q")
                        shape, descr, got = f.read_npy(self.read("t.npy"))
                        expected_shape, expected = oracle.laid_out(values, 7, 9, channels, layout)
                        if table in BITS:  # integer tables wrap around
                            expected = [e % (1 << BITS[table]) for e in expected]
                            got = [g % (1 << BITS[table]) for g in got]
                        self.assertEqual((shape, descr[1:]), (expected_shape, f.TYPES[table][3]))
                        self.assertEqual(got, expected, (kind, table, layout, channels))

    def test_squares(self):
        for kind, default in (("8u", "u8"), ("16u", "u8"), ("32f", "f8"), ("64f", "f8"), ("16f", "f8")):
            values = f.pixels(kind, 63)
            source = self.write("in.npy", f.npy((7, 9), kind, values))
            self.boxsum("table", source, "-o", self.path("t.npy"), "--squares", self.path("s.npy"), "-q")
            _, expected = oracle.laid_out([v * v for v in values], 7, 9, 1, "padded")
            _, descr, got = f.read_npy(self.read("s.npy"))
            self.assertEqual((descr[1:], got), (default, expected), kind)

    def test_chosen_squares(self):
        source = self.write("in.npy", f.npy((7, 9), "8u", f.pixels("8u", 63)))
        self.boxsum("table", source, "-o", self.path("t.npy"), "--table-type", "32u", "--squares", self.path("s.npy"),
                    "--squares-type", "64f", "-q")
        self.assertEqual(f.read_npy(self.read("s.npy"))[1], "<f8")

    def test_every_algorithm_of_the_cpu(self):
        values = f.pixels("8u", 40 * 37)
        source = self.write("in.npy", f.npy((40, 37), "8u", values))
        _, expected = oracle.laid_out(values, 40, 37, 1, "padded")
        names = [a["name"] for a in json.loads(self.boxsum("algorithms", "--operation", "sat", "--json"))
                 if a["backend"] == "cpu"]
        self.assertIn("reference", names)
        for name in names:
            for threads in (1, 2):
                self.boxsum("table", source, "-o", self.path("t.npy"), "--algorithm", name, "--device", "cpu",
                            "--threads", threads, "-q")
                self.assertEqual(f.read_npy(self.read("t.npy"))[2], expected, name)

    def test_gpu(self):
        """The same bits from every device, for integers."""
        devices = [d["device"] for d in json.loads(self.boxsum("info", "--json"))["devices"]]
        if not devices:
            self.skipTest("no CUDA device, or built without CUDA")
        source = self.write("in.npy", f.npy((40, 37), "8u", f.pixels("8u", 40 * 37)))
        options = ("--table-type", "32u", "--squares-type", "64u", "-q")
        self.boxsum("table", source, "-o", self.path("t.npy"), "--squares", self.path("s.npy"), "--device", "cpu", *options)
        for device in devices + ["cuda"]:
            self.boxsum("table", source, "-o", self.path("gpu-t.npy"), "--squares", self.path("gpu-s.npy"), "--device",
                        device, *options)
            self.assertEqual(self.read("gpu-t.npy"), self.read("t.npy"), device)
            self.assertEqual(self.read("gpu-s.npy"), self.read("s.npy"), device)

    def test_standard_input_and_output(self):
        values = f.pixels("8u", 35)
        for data in (f.png(5, 7, 1, 8, values), f.npy((5, 7), "8u", values), f.tiff(5, 7, 1, "8u", values),
                     f.pnm(5, 7, 1, values)):
            got = f.read_npy(self.boxsum("table", "-", "-o", "-", stdin=data))
            self.assertEqual(got[2], oracle.laid_out(values, 5, 7, 1, "padded")[1])

    def test_every_format_goes_through_a_pipe(self):
        """TIFF is patched after it was written, which a pipe does not allow."""
        source = self.write("in.png", f.png(5, 7, 1, 8, f.pixels("8u", 35)))
        for name, ending in (("png", "png"), ("jpeg", "jpg"), ("tiff", "tif"), ("pnm", "pgm"), ("npy", "npy")):
            piped = self.boxsum("blur", source, "-", "--radius", 1, "--format", name)
            self.boxsum("blur", source, self.path("x." + ending), "--radius", 1, "-q")
            self.assertEqual(piped, self.read("x." + ending), name)

    def test_summary(self):
        source = self.write("in.png", f.png(5, 7, 3, 8, f.pixels("8u", 105)))
        report = json.loads(self.boxsum("table", source, "-o", self.path("t.npy"), "--json"))
        self.assertEqual(report["input"], {"path": source, "rows": 5, "cols": 7, "channels": 3, "type": "8u"})
        self.assertEqual(report["table"]["rows"], 6)
        self.assertEqual((report["layout"], report["device"]), ("padded", "cpu"))
        self.assertGreater(report["seconds"], 0)
        line = self.boxsum("table", source, "-o", self.path("t.npy")).decode()
        self.assertIn("6 x 8 x 3 of 64u", line)
        self.assertEqual(line.count("\n"), 1)


class Query(CliTest):
    BOXES = [(0, 0, 1, 1), (0, 0, 7, 9), (6, 8, 1, 1), (2, 3, 4, 5), (0, 8, 7, 1)]

    def options(self):
        return [x for b in self.BOXES for x in ("--box", ",".join(map(str, b)))]

    def check(self, entries, values, channels, with_variance=True, cancelling=False):
        """With `cancelling`, variances come from a table of squares in double: a rounding of its largest entry stays."""
        rounding = sum(v * v for v in values) * 2.0**-50 if cancelling else 0
        self.assertEqual(len(entries), len(self.BOXES) * channels)
        for i, e in enumerate(entries):
            box, channel = self.BOXES[i // channels], i % channels
            sample = oracle.box_values(values, 9, channels, box, channel)
            mean, variance = oracle.mean_and_variance(sample)
            self.assertEqual(tuple(e[k] for k in ("row", "col", "rows", "cols", "channel")), box + (channel,))
            self.assertEqual(e["sum"], sum(sample))
            self.assertAlmostEqual(e["mean"], mean, places=9)
            if with_variance:
                self.assertLessEqual(abs(e["variance"] - variance), 1e-9 * max(1, variance) + rounding / len(sample))
            else:
                self.assertIsNone(e["variance"])

    def test_images(self):
        for kind in ("8u", "16u", "16s", "32s", "32u", "32f", "64f", "16f"):
            for channels in (1, 3):
                values = f.pixels(kind, 63 * channels)
                source = self.write("in.npy", f.npy((7, 9, channels), kind, values))
                report = json.loads(self.boxsum("query", source, *self.options(), "--json"))
                self.check(report["boxes"], values, channels, cancelling=kind in ("32s", "32u"))

    def test_variance_of_integers_is_exact(self):
        """65535 everywhere: the difference of two large numbers, which must be nothing at all."""
        source = self.write("in.npy", f.npy((300, 300), "16u", [65535] * 90000))
        report = json.loads(self.boxsum("query", source, "--box", "0,0,300,300", "--json"))
        self.assertEqual((report["boxes"][0]["sum"], report["boxes"][0]["variance"]), (65535 * 90000, 0))

    def test_table_files(self):
        values = f.pixels("8u", 63 * 2)
        source = self.write("in.npy", f.npy((7, 9, 2), "8u", values))
        for layout in ("padded", "inclusive"):
            for table in ("32u", "64u", "32s", "64f"):
                squares = ["--squares-type", "64f"] if table == "32s" else []
                self.boxsum("table", source, "-o", self.path("t.npy"), "--squares", self.path("s.npy"), "--layout",
                            layout, "--table-type", table, *squares, "-q")
                got = self.boxsum("query", "--table", layout, self.path("t.npy"), "--squares", self.path("s.npy"),
                                  *self.options(), "--json")
                self.check(json.loads(got)["boxes"], values, 2)
                got = self.boxsum("query", "--table", layout, self.path("t.npy"), *self.options(), "--json")
                self.check(json.loads(got)["boxes"], values, 2, with_variance=False)

    def test_exclusive_table_lacks_the_last_row_and_column(self):
        values = f.pixels("8u", 63)
        source = self.write("in.npy", f.npy((7, 9), "8u", values))
        self.boxsum("table", source, "-o", self.path("t.npy"), "--layout", "exclusive", "-q")
        inside = self.boxsum("query", "--table", "exclusive", self.path("t.npy"), "--box", "0,0,6,8", "--csv").decode()
        total = sum(oracle.box_values(values, 9, 1, (0, 0, 6, 8), 0))
        self.assertIn(f"0,0,6,8,0,{total},", inside)
        for box in ("0,0,7,8", "0,0,6,9", "6,8,1,1"):
            self.refused(3, "box", "query", "--table", "exclusive", self.path("t.npy"), "--box", box)

    def test_boxes_from_csv(self):
        values = f.pixels("8u", 63)
        source = self.write("in.npy", f.npy((7, 9), "8u", values))
        text = "row,col,rows,cols\r\n" + "\n\n# comment\n".join(",".join(map(str, b)) for b in self.BOXES)
        path = self.write("boxes.csv", text.encode())
        from_file = self.boxsum("query", source, "--boxes", path, "--csv")
        self.assertEqual(from_file, self.boxsum("query", source, *self.options(), "--csv"))
        self.assertEqual(from_file, self.boxsum("query", source, "--boxes", "-", "--csv", stdin=text.encode()))
        rows = list(csv.DictReader(io.StringIO(from_file.decode())))
        self.check([{k: json.loads(v) for k, v in row.items()} for row in rows], values, 1)

    def test_text_is_a_table(self):
        source = self.write("in.npy", f.npy((7, 9), "8u", [1] * 63))
        lines = self.boxsum("query", source, "--box", "0,0,7,9").decode().splitlines()
        self.assertEqual(lines[0].split(), ["row", "col", "rows", "cols", "channel", "sum", "mean", "variance"])
        self.assertEqual(lines[1].split(), ["0", "0", "7", "9", "0", "63", "1", "0"])

    def test_the_shipped_photograph(self):
        got = json.loads(self.boxsum("query", SHIPPED_PHOTO, "--box", "0,0,512,512", "--json"))
        self.assertEqual([b["channel"] for b in got["boxes"]], [0, 1, 2])
        self.boxsum("table", SHIPPED_PHOTO, "-o", self.path("t.npy"), "-q")
        shape, _, table = f.read_npy(self.read("t.npy"))
        self.assertEqual(shape, (513, 513, 3))
        self.assertEqual([b["sum"] for b in got["boxes"]], table[-3:])

    def test_a_table_of_gigabytes_is_answered_without_reading_it(self):
        """A sparse file of 8 GB of zeros: only the pages with the corners are touched."""
        rows = cols = 31623
        with open(self.path("t.npy"), "wb") as out:
            out.write(f.npy((rows, cols), "64u", [], data=b""))
            out.seek(rows * cols * 8 - 8, os.SEEK_CUR)
            out.write((5).to_bytes(8, "little"))
        got = json.loads(self.boxsum("query", "--table", "padded", self.path("t.npy"), "--box",
                                     f"0,0,{rows - 1},{cols - 1}", "--json"))
        self.assertEqual(got["boxes"][0]["sum"], 5)


if __name__ == "__main__":
    main()
