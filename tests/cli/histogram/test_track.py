#!/usr/bin/env python3
"""boxsum track on made videos, and on broken ones."""

import json
import os
import random
import subprocess
import unittest

from running import BAD_INPUT, BINARY, FAILURE, TIME_LIMIT, UNSUPPORTED, USAGE, ToolTest, parsed_track, pgm, ppm

ROWS, COLS, SIDE, FRAMES = 60, 80, 12, 8


def place(n):
    return 20 + 3 * n, 10 + 6 * n


def luma(n):
    """A bright textured square that moves over dark noise."""
    rng = random.Random(n)
    texture = random.Random(99)
    pixels = bytearray(rng.randrange(90) for _ in range(ROWS * COLS))
    row, col = place(n)
    for r in range(row, row + SIDE):
        for c in range(col, col + SIDE):
            pixels[r * COLS + c] = texture.randrange(120, 256)
    return bytes(pixels)


def y4m(frames, chroma="420jpeg"):
    sizes = {"420jpeg": ROWS * COLS // 2, "444": 2 * ROWS * COLS, "mono": 0}
    stream = f"YUV4MPEG2 W{COLS} H{ROWS} F10:1 Ip A1:1 C{chroma} XYSCSS=TEST\n".encode()
    for pixels in frames:
        stream += b"FRAME\n" + pixels + bytes(sizes[chroma])
    return stream


class Track(ToolTest):
    def setUp(self):
        super().setUp()
        self.box = f"{place(0)[0]},{place(0)[1]},{SIDE},{SIDE}"
        self.expected = [(n, (*place(n), SIDE, SIDE)) for n in range(FRAMES)]

    def test_follows_a_square_exactly(self):
        for chroma in ("420jpeg", "444", "mono"):
            for distance in ("l1", "l2", "chi-square", "intersection", "bhattacharyya"):
                text = self.boxsum("track", "-", "--box", self.box, "--distance", distance, "--reach", 8,
                                   stdin=y4m([luma(n) for n in range(FRAMES)], chroma))
                self.assertEqual([line[:2] for line in parsed_track(text)], self.expected, (chroma, distance))
                self.assertTrue(all(abs(line[2]) < 1e-6 for line in parsed_track(text)))

    def test_reach(self):
        frames = [luma(0), luma(7)]  # 21 rows and 42 columns away
        anywhere = parsed_track(self.boxsum("track", "-", "--box", self.box, "--reach", 0, stdin=y4m(frames)))
        self.assertEqual(anywhere[1][1], (*place(7), SIDE, SIDE))
        near = parsed_track(self.boxsum("track", "-", "--box", self.box, "--reach", 5, stdin=y4m(frames)))
        self.assertNotEqual(near[1][1], anywhere[1][1])
        self.assertLessEqual(abs(near[1][1][1] - place(0)[1]), 5)

    def test_numbered_images_and_annotated_frames(self):
        """The lowest number is found, and lines and files are called by their numbers."""
        for n in range(FRAMES):
            self.write(f"f{n + 1:03d}.pgm", pgm(ROWS, COLS, luma(n)))
        marked = self.dir / "marked"
        expected = [(n + 1, where) for n, where in self.expected]
        for first in ((), ("--first", 1)):
            text = self.boxsum("track", self.dir / "f%03d.pgm", *first, "--box", self.box, "--annotate", marked)
            self.assertEqual([line[:2] for line in parsed_track(text)], expected)
        self.assertEqual(sorted(p.name for p in marked.iterdir()), [f"frame_{n + 1:06d}.png" for n in range(FRAMES)])
        row, col, side, _ = self.expected[3][1]
        query = self.boxsum("query", marked / "frame_000004.png", "--box", f"{row},{col},1,{side}", "--box",
                            f"{row - 1},{col - 1},1,{side + 2}", "--csv").splitlines()
        self.assertEqual([line.split(",")[6] for line in query[1:]], ["0", "255"])  # black outline within white

    def test_a_gap_in_the_numbers_is_named(self):
        for n in (0, 1, 2, 5):
            self.write(f"f{n}.pgm", pgm(ROWS, COLS, luma(n)))
        text = self.refused(BAD_INPUT, "f3.pgm' is missing, but there is", "track", self.dir / "f%d.pgm", "--box", self.box)
        self.assertEqual([line[:2] for line in parsed_track(text)], self.expected[:3])

    def with_ffmpeg(self, script):
        """A program of that name: what is tested is how it is called and what becomes of what it says."""
        tools = self.dir / "tools"
        tools.mkdir(exist_ok=True)
        (tools / "ffmpeg").write_text("#!/bin/sh\n" + script)
        (tools / "ffmpeg").chmod(0o755)
        return {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"}

    def test_other_videos_go_through_ffmpeg(self):
        self.write("made.y4m", y4m([luma(n) for n in range(FRAMES)]))
        video = self.write("street.avi", b"RIFF, or so")
        made = self.dir / "followed.mp4"
        env = self.with_ffmpeg(f'for last; do :; done\nif [ "$last" = - ]; then cat {self.dir}/made.y4m; '
                               f'else cat > "${{last#file:}}"; fi\n')
        done = subprocess.run([BINARY, "track", video, "--box", self.box, "--annotate", made], env=env, capture_output=True,
                              timeout=TIME_LIMIT)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual([line[:2] for line in parsed_track(done.stdout.decode())], self.expected)
        self.assertEqual(made.stat().st_size, FRAMES * ROWS * COLS * 3)  # in colour, as the video
        frame = made.read_bytes()[3 * ROWS * COLS * 3:]
        row, col = place(3)
        self.assertEqual((frame[(row * COLS + col) * 3:][:3], frame[((row - 1) * COLS + col) * 3:][:3]), (bytes(3), b"\xff" * 3))
        for script, words in (("exit 1", b"ffmpeg cannot read"), (f"cat {self.dir}/made.y4m; exit 1", b"ffmpeg fails before")):
            done = subprocess.run([BINARY, "track", video, "--box", self.box], env=self.with_ffmpeg(script),
                                  capture_output=True, timeout=TIME_LIMIT)
            self.assertEqual(done.returncode, BAD_INPUT, script)
            self.assertIn(words, done.stderr)
        nowhere = {**os.environ, "PATH": str(self.dir)}
        done = subprocess.run([BINARY, "track", video, "--box", self.box], env=nowhere, capture_output=True, timeout=TIME_LIMIT)
        self.assertEqual(done.returncode, UNSUPPORTED)
        self.assertIn(b"there is no ffmpeg here to read it", done.stderr)

    def test_colours_tell_apart_what_brightness_does_not(self):
        """Two squares of one brightness cross the frame: the red one is followed, not the nearer green one."""
        red, green = (200, 40, 40), (40, 121, 40)
        light = [(299 * c[0] + 587 * c[1] + 114 * c[2] + 500) // 1000 for c in (red, green)]
        self.assertLess(abs(light[0] - light[1]), 8)
        marked = self.dir / "marked"
        for n in range(4):
            pixels = bytearray(b"\x14\x14\x14" * (ROWS * COLS))
            for row, col, colour in ((20, 10 + 6 * n, red), (20, 30 - 5 * n, green)):
                for r in range(row, row + SIDE):
                    for c in range(col, col + SIDE):
                        if not (colour is green and pixels[(r * COLS + c) * 3] == 200):
                            pixels[(r * COLS + c) * 3:(r * COLS + c) * 3 + 3] = bytes(colour)
            self.write(f"c{n}.ppm", ppm(ROWS, COLS, pixels))
        expected = [(n, (20, 10 + 6 * n, SIDE, SIDE)) for n in range(4)]
        for levels in (2, 4, 6):
            text = self.boxsum("track", self.dir / "c%d.ppm", "--box", f"20,10,{SIDE},{SIDE}", "--colours", levels, "--distance",
                               "l1", "--annotate", marked)
            self.assertEqual([line[:2] for line in parsed_track(text)], expected, levels)
            self.assertTrue(all(line[2] == 0 for line in parsed_track(text)))
        query = self.boxsum("query", marked / "frame_000002.png", "--box", "25,30,1,1", "--box", "20,22,1,1", "--csv").splitlines()
        self.assertEqual([line.split(",")[5] for line in query[1:]], [str(v) for v in red] + ["0"] * 3)
        self.refused(USAGE, "excludes", "track", self.dir / "c%d.ppm", "--box", "0,0,5,5", "--colours", 4, "--bins", 8)
        self.refused(USAGE, "--colours", "track", self.dir / "c%d.ppm", "--box", "0,0,5,5", "--colours", 7)

    def test_colours_of_streams(self):
        """Where the video has chroma planes; of ones without them three times the brightness."""
        for chroma, size in (("420jpeg", ROWS * COLS // 4), ("444", ROWS * COLS), ("mono", 0)):
            frames = []
            for n in range(2):
                planes = [bytearray([128]) * size, bytearray([128]) * size]
                cols = COLS if chroma == "444" else COLS // 2
                shift = 1 if chroma == "444" else 2
                if size:
                    for r in range(24 // shift, 36 // shift):
                        for c in range((20 + 6 * n) // shift, (32 + 6 * n) // shift):
                            planes[1][r * cols + c] = 230  # red
                frames.append(b"FRAME\n" + bytes([100]) * (ROWS * COLS) + bytes(planes[0]) + bytes(planes[1]))
            stream = f"YUV4MPEG2 W{COLS} H{ROWS} C{chroma}\n".encode() + b"".join(frames)
            lines = parsed_track(self.boxsum("track", "-", "--box", "24,20,12,12", "--colours", 4, stdin=stream))
            self.assertEqual(lines[1][1][:2], (24, 26) if size else (8, 4), chroma)  # of equal windows the first

    def test_a_lost_region_is_said(self):
        dark = bytes(v // 2 for v in luma(0))
        stream = y4m([luma(0), luma(1), dark])
        lines = self.boxsum("track", "-", "--box", self.box, "--lost", 0.3, stdin=stream).splitlines()
        self.assertEqual(lines[0], "frame,row,col,rows,cols,distance,lost")
        self.assertEqual([line.split(",")[6] for line in lines[1:]], ["0", "0", "1"])
        lines = self.boxsum("track", "-", "--box", self.box, "--lost", 0.3, "--json", stdin=stream).splitlines()
        self.assertEqual([json.loads(line)["lost"] for line in lines[:-1]], [False, False, True])

    def test_a_stream_that_breaks_off_keeps_the_lines_so_far(self):
        stream = y4m([luma(n) for n in range(FRAMES)])
        text = self.refused(BAD_INPUT, "ends within frame 7", "track", "-", "--box", self.box, stdin=stream[:-10])
        self.assertEqual([line[:2] for line in parsed_track(text)], self.expected[:7])
        frame = ROWS * COLS * 3 // 2 + 6
        text = self.refused(BAD_INPUT, "header of frame 7", "track", "-", "--box", self.box,
                            stdin=stream[:-frame + 3])
        self.assertEqual(len(parsed_track(text)), 7)
        broken = stream.replace(b"FRAME\n", b"FRAMX\n")
        self.assertEqual(self.refused(BAD_INPUT, "frame 0 does not start with FRAME", "track", "-", "--box", self.box,
                                      stdin=broken), "")

    def test_frames_larger_than_the_reader_takes_at_once(self):
        """The reader grows by 16 MiB; the square lies beyond that."""
        side = 4200
        frames = []
        for n in range(2):
            pixels = bytearray(side * side)
            for r in range(SIDE):
                at = (4170 + 3 * n + r) * side + 100 + 5 * n
                pixels[at:at + SIDE] = luma(0)[(20 + r) * COLS + 10:(20 + r) * COLS + 10 + SIDE]
            frames.append(b"FRAME\n" + bytes(pixels))
        stream = b"YUV4MPEG2 W%d H%d Cmono\n" % (side, side) + b"".join(frames)
        text = self.boxsum("track", "-", "--box", f"4170,100,{SIDE},{SIDE}", stdin=stream)
        self.assertEqual([line[1][:2] for line in parsed_track(text)], [(4170, 100), (4173, 105)])

    def test_a_header_that_lies_costs_no_memory(self):
        process = subprocess.Popen([BINARY, "track", "-", "--box", self.box], stdin=subprocess.PIPE,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        process.stdin.write(b"YUV4MPEG2 W40000 H40000 Cmono\nFRAME\n" + bytes(1000))
        process.stdin.close()
        message = process.stderr.read()
        process.stderr.close()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(process.returncode, BAD_INPUT)
        self.assertIn(b"after 1000 of 1600000000 bytes", message)
        self.assertLess(used.ru_maxrss, 500 << 10)  # KiB

    def test_any_number_of_buffers_gives_the_same_lines(self):
        stream = y4m([luma(n) for n in range(FRAMES)])
        for update in (0, 0.3):
            texts = {self.boxsum("track", "-", "--box", self.box, "--update", update, "--buffers", buffers,
                                 stdin=stream) for buffers in range(1, 9)}
            self.assertEqual(len(texts), 1)
            self.assertEqual([line[:2] for line in parsed_track(texts.pop())], self.expected)
        for buffers in (1, 3, 8):
            text = self.refused(BAD_INPUT, "ends within frame 7", "track", "-", "--box", self.box, "--buffers", buffers,
                                stdin=stream[:-10])
            self.assertEqual([line[:2] for line in parsed_track(text)], self.expected[:7])

    def test_json(self):
        stream = y4m([luma(n) for n in range(FRAMES)])
        lines = [json.loads(line) for line in
                 self.boxsum("track", "-", "--box", self.box, "--json", "--buffers", 3, stdin=stream).splitlines()]
        plain = parsed_track(self.boxsum("track", "-", "--box", self.box, stdin=stream))
        self.assertEqual([(f["frame"], (f["row"], f["col"], f["rows"], f["cols"]), f["distance"]) for f in lines[:-1]],
                         plain)
        report = lines[-1]["report"]
        self.assertEqual((report["frames"], report["buffers"], report["device"]), (FRAMES, 3, "cpu"))
        self.assertEqual(list(report["stage_seconds"]), ["read", "upload", "compute", "query", "download", "write"])
        for stage in ("read", "compute", "query", "write"):
            self.assertGreater(report["stage_seconds"][stage], 0, stage)
        self.assertAlmostEqual(report["frames_per_second"] * report["seconds"], FRAMES)
        broken = self.refused(BAD_INPUT, "ends within frame 7", "track", "-", "--box", self.box, "--json",
                              stdin=stream[:-10])
        self.assertEqual([json.loads(line)["frame"] for line in broken.splitlines()], list(range(7)))  # no report

    def test_mistakes(self):
        good = y4m([luma(0)])
        for code, words, args, stdin in (
                (BAD_INPUT, "ffmpeg -i VIDEO -f yuv4mpegpipe", ["--box", self.box], b"RIFF\n"),
                (BAD_INPUT, "no YUV4MPEG2", ["--box", self.box], b""),
                (BAD_INPUT, "420p10", ["--box", self.box], good.replace(b"420jpeg", b"420p10")),
                (BAD_INPUT, "'W0'", ["--box", self.box], good.replace(b"W80", b"W0")),
                (BAD_INPUT, "'H99999999999'", ["--box", self.box], good.replace(b"H60", b"H99999999999")),
                (BAD_INPUT, "lacks", ["--box", self.box], good.replace(b"W80 ", b"")),
                (BAD_INPUT, "no line", ["--box", self.box], b"Y" * 10000),
                (BAD_INPUT, "has no frame", ["--box", self.box], y4m([])),
                (BAD_INPUT, "box", ["--box", "0,0,61,5"], good),
                (USAGE, "--box", [], good),
                (USAGE, "--box", ["--box", "1,2"], good),
                (USAGE, "--distance", ["--box", self.box, "--distance", "l3"], good),
                (USAGE, "--buffers", ["--box", self.box, "--buffers", "9"], good),
                *((USAGE, f"--device: '{device}' is none of auto, cpu, cuda, cuda:N", ["--box", self.box, "--device", device],
                   good) for device in ("gpu", "cuda:x")),
                (UNSUPPORTED, "device", ["--box", self.box, "--device", "cuda:999"], good),
                *((USAGE, "--update", ["--box", self.box, "--update", share], y4m([luma(0), luma(1), luma(2)]))
                  for share in ("1.5", "-0.1", "nan", "-nan", "inf", "1e-999", "")),
                (FAILURE, "nowhere", ["--box", self.box, "--annotate", self.dir / "nowhere/far"], good)):
            told = self.refused(code, words, "track", "-", *args, stdin=stdin)
            self.assertEqual(told, "", "before the first line")
        self.refused(USAGE, "pattern", "track", "f%s.png", "--box", self.box)
        self.refused(BAD_INPUT, "f0.png", "track", self.dir / "f%d.png", "--box", self.box)
        self.write("g0.pgm", pgm(ROWS, COLS, luma(0)))
        self.write("g1.pgm", pgm(ROWS, COLS - 1, luma(0)[:ROWS * (COLS - 1)]))
        self.refused(BAD_INPUT, "g1.pgm", "track", self.dir / "g%d.pgm", "--box", self.box)
        deep = b"P5\n2 2\n65535\n" + bytes(8)
        self.write("d0.pgm", deep)
        self.refused(UNSUPPORTED, "16u", "track", self.dir / "d%d.pgm", "--box", "0,0,1,1")


if __name__ == "__main__":
    unittest.main(verbosity=2)
