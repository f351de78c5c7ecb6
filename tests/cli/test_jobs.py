#!/usr/bin/env python3
"""Every command of docs/command-line.md runs and writes what it says."""

import random
import re
import shlex
import shutil
import subprocess

import image_files as f
from boxsum_cli import BINARY, ROOT, SHIPPED_PHOTO, TIME_LIMIT, CliTest, main

PAGE = ROOT / "docs" / "command-line.md"


class Jobs(CliTest):
    def setUp(self):
        super().setUp()
        shutil.copy(SHIPPED_PHOTO, self.dir / "photo.png")
        for folder in ("scans", "frames", "out"):
            (self.dir / folder).mkdir()
        grey = f.pixels("8u", 80 * 90)
        for name in ("page.png", "scans/1.png", "scans/2.png"):
            self.write(name, f.png(80, 90, 1, 8, grey))
        self.write("radii.pgm", f.pnm(512, 512, 1, [i % 7 for i in range(512 * 512)]))
        self.write("depth.pgm", f.pnm(512, 512, 1, [i // 512 % 256 for i in range(512 * 512)]))
        self.write("stack.tif", f.tiff(20, 30, 1, "8u", grey[:600], pages=3))
        self.write("boxes.csv", b"id,x,y,w,h\nleft,5,6,7,8\nright,300,200,40,50\n")
        self.write("dem.tif", f.tiff(60, 70, 1, "32f", [float(i % 251) for i in range(4200)],
                                     tags=[(42113, 2, list(b"7\0"))]))
        self.write("cube.npy", f.npy((20, 30, 8), "16u", f.pixels("16u", 4800)))
        self.write("depth.npy", f.npy((20, 30), "32f", [float("nan") if i % 11 == 0 else i for i in range(600)]))
        self.write("mask.pgm", f.pnm(20, 30, 1, [i % 3 for i in range(600)]))
        self.write("large.npy", f.npy((3000, 3000), "8u", None, data=bytes(9000000)))
        for n in range(5):
            pixels = bytearray(random.Random(n).randrange(90) for _ in range(60 * 80))
            for r in range(12):
                for c in range(12):
                    pixels[(20 + 3 * n + r) * 80 + 10 + 4 * n + c] = 120 + (7 * r + 11 * c) % 130
            self.write(f"frames/{n + 1:04}.pgm", b"P5\n80 60\n255\n" + bytes(pixels))

    def test_every_command_of_the_page(self):
        page = PAGE.read_text()
        blocks = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
        self.assertEqual(2 * len(blocks), page.count("```"), "all that is shown is run")
        lines = [line for block in blocks for line in block.splitlines()]
        self.assertGreater(len(lines), 25)
        for line in lines:
            words = shlex.split(line)
            self.assertEqual(words[0], "boxsum")
            done = subprocess.run([BINARY, *words[1:]], capture_output=True, cwd=self.dir, timeout=TIME_LIMIT)
            self.assertEqual(done.returncode, 0, (line, done.stderr))
            self.assertTrue(all(m.startswith(b"boxsum: note: ") for m in done.stderr.splitlines()), (line, done.stderr))
        written = {str(p.relative_to(self.dir)) for p in self.dir.rglob("*")}
        for name in ("soft.jpg", "soft.webp", "text.tif", "text.pbm", "out/1.png", "out/2.png", "smooth.tif", "band6.npy",
                     "squares.npy", "text-stack.tif", "page-3.png", "large-std.npy", "histograms.npy", "large-soft.npy", "followed/frame_000005.png"):
            self.assertIn(name, written)
        named = set(re.findall(r"boxsum (\w+)", "\n".join(lines)))
        self.assertEqual(named, {"blur", "threshold", "normalize", "stats", "query", "hist", "table", "track", "guided", "denoise", "blobs", "convolve"})


if __name__ == "__main__":
    main()
