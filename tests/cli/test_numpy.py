#!/usr/bin/env python3
"""The tool on real photographs, beside NumPy, Pillow, scikit-image and OpenCV as independent oracles."""

import json
import sys
import unittest

from boxsum_cli import SHIPPED_PHOTO, CliTest, main, shared_image

try:
    import numpy as np
except ImportError:
    print("skipped: no NumPy here")
    sys.exit(77)


def optional(name):
    try:
        return __import__(name, fromlist=["_"])
    except ImportError:
        raise unittest.SkipTest(f"no {name} here")


PHOTOS = ("astronaut.png", "camera.png", "coins.png", "page.png", "text.png", "sudoku.png", "hubble_deep_field.jpg",
          "building.jpg", "retina.jpg")


class Photographs(CliTest):
    def decoded(self, path):
        """The tool's own pixels: a blur of radius 0."""
        self.boxsum("blur", path, self.path("pixels.npy"), "--radius", 0, "-q")
        return np.load(self.path("pixels.npy"))

    def check_tables(self, path):
        pixels = self.decoded(path).astype(np.uint64)
        self.boxsum("table", path, "-o", self.path("t.npy"), "--squares", self.path("s.npy"), "-q")
        for name, values in (("t.npy", pixels), ("s.npy", pixels * pixels)):
            table = np.load(self.path(name))
            self.assertEqual(table.dtype, np.uint64)
            self.assertTrue((table[0] == 0).all() and (table[:, 0] == 0).all())
            np.testing.assert_array_equal(table[1:, 1:], values.cumsum(0).cumsum(1))

    def check_boxes(self, path, rng):
        pixels = self.decoded(path).astype(np.float64)
        rows, cols = pixels.shape[:2]
        channels = pixels.reshape(rows, cols, -1)
        boxes = []
        for _ in range(50):
            r, c = int(rng.integers(rows)), int(rng.integers(cols))
            boxes.append((r, c, int(rng.integers(1, rows - r + 1)), int(rng.integers(1, cols - c + 1))))
        self.write("boxes.csv", "\n".join(",".join(map(str, b)) for b in boxes).encode())
        got = json.loads(self.boxsum("query", path, "--boxes", self.path("boxes.csv"), "--json"))["boxes"]
        self.assertEqual(len(got), len(boxes) * channels.shape[2])
        for e in got:
            part = channels[e["row"]:e["row"] + e["rows"], e["col"]:e["col"] + e["cols"], e["channel"]]
            self.assertEqual(e["sum"], int(part.sum()))
            self.assertAlmostEqual(e["mean"], part.mean(), places=9)
            self.assertLess(abs(e["variance"] - part.var()), 1e-9 * max(1, part.var()))

    def test_the_shipped_photograph(self):
        self.check_tables(SHIPPED_PHOTO)
        self.check_boxes(SHIPPED_PHOTO, np.random.default_rng(1))

    def test_shared_photographs(self):
        rng = np.random.default_rng(2)
        for path in [shared_image(name) for name in PHOTOS]:
            with self.subTest(path.name):
                self.check_tables(path)
                self.check_boxes(path, rng)

    def test_pixels_are_pillows(self):
        image = optional("PIL.Image")
        for path in [shared_image(name) for name in PHOTOS]:
            with self.subTest(path.name):
                expected, got = np.array(image.open(path)), self.decoded(path)
                if expected.dtype == bool:
                    expected = expected * np.uint8(255)
                self.assertEqual(expected.shape, got.shape)
                if path.suffix == ".png":
                    np.testing.assert_array_equal(got, expected)
                else:  # two builds of libjpeg may round differently
                    self.assertLessEqual(np.abs(got.astype(int) - expected.astype(int)).max(), 2)

    def test_tiff_is_read_by_others(self):
        image = optional("PIL.Image")
        for ending in ("tif", "png", "ppm"):
            self.boxsum("blur", SHIPPED_PHOTO, self.path("x." + ending), "--radius", 0, "-q")
            np.testing.assert_array_equal(np.array(image.open(self.path("x." + ending))), self.decoded(SHIPPED_PHOTO))

    def test_tables_in_tiff_are_read_by_tifffile(self):
        tifffile = optional("tifffile")
        for kind in ("32u", "64u", "32f", "64f"):
            self.boxsum("table", SHIPPED_PHOTO, "-o", self.path("t.tif"), "--table-type", kind, "-q")
            self.boxsum("table", SHIPPED_PHOTO, "-o", self.path("t.npy"), "--table-type", kind, "-q")
            np.testing.assert_array_equal(tifffile.imread(self.path("t.tif")), np.load(self.path("t.npy")))

    def test_tiff_of_tifffile(self):
        tifffile = optional("tifffile")
        rng = np.random.default_rng(3)
        for dtype in ("u1", "u2", "i2", "f4", "f8"):
            values = (rng.random((50, 70, 3)) * 200).astype(dtype)
            for options in ({}, {"bigtiff": True}, {"tile": (16, 32)}, {"byteorder": ">"}, {"planarconfig": "separate"}):
                stored = values.transpose(2, 0, 1) if options.get("planarconfig") else values
                tifffile.imwrite(self.path("x.tif"), np.ascontiguousarray(stored), photometric="rgb", **options)
                np.testing.assert_array_equal(self.decoded(self.path("x.tif")), values)

    def test_integral_image_of_scikit_image(self):
        transform = optional("skimage.transform")
        pixels = self.decoded(SHIPPED_PHOTO)
        self.boxsum("table", SHIPPED_PHOTO, "-o", self.path("t.npy"), "--layout", "inclusive", "-q")
        for k in range(3):
            np.testing.assert_array_equal(np.load(self.path("t.npy"))[:, :, k], transform.integral_image(pixels[:, :, k]))

    def test_thresholds_of_scikit_image(self):
        filters = optional("skimage.filters")
        path = shared_image("page.png")
        pixels = self.decoded(path)
        for method, k, theirs in (("sauvola", 0.2, lambda: filters.threshold_sauvola(pixels, 31, 0.2, r=127.5)),
                                  ("niblack", -0.2, lambda: filters.threshold_niblack(pixels, 31, 0.2))):
            self.boxsum("threshold", path, self.path("x.npy"), "--method", method, "--window", 31, "--k", k, "--border",
                        "reflect", "-q")
            inner = np.s_[15:-15, 15:-15]  # their border differs
            agree = (np.load(self.path("x.npy"))[inner] == 255) == (pixels > theirs())[inner]
            self.assertGreater(agree.mean(), 0.9999, method)

    def test_blur_of_opencv(self):
        cv2 = optional("cv2")
        pixels = self.decoded(SHIPPED_PHOTO)
        self.boxsum("blur", SHIPPED_PHOTO, self.path("x.npy"), "--radius", 7, "--border", "reflect", "-q")
        theirs = cv2.blur(pixels, (15, 15), borderType=cv2.BORDER_REFLECT)
        self.assertLessEqual(np.abs(np.load(self.path("x.npy")).astype(int) - theirs.astype(int)).max(), 1)
        table = cv2.integral(np.ascontiguousarray(pixels[:, :, 0]))
        self.boxsum("table", SHIPPED_PHOTO, "-o", self.path("t.npy"), "-q")
        np.testing.assert_array_equal(np.load(self.path("t.npy"))[:, :, 0], table)


if __name__ == "__main__":
    main()
