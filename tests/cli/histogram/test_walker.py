#!/usr/bin/env python3
"""boxsum track on a real video, with boxes that were checked by eye. Skipped without the video or ffmpeg."""

import shutil
import subprocess
import sys
import unittest

from running import DATA, TIME_LIMIT, ToolTest, parsed_track


def share_of_union(a, b):
    rows = min(a[0] + a[2], b[0] + b[2]) - max(a[0], b[0])
    cols = min(a[1] + a[3], b[1] + b[3]) - max(a[1], b[1])
    common = max(rows, 0) * max(cols, 0)
    return common / (a[2] * a[3] + b[2] * b[3] - common)


class Walker(ToolTest):
    """The man in a black jacket and blue jeans who walks away from the camera in frames 59 to 89 of vtest.avi."""

    # Drawn by hand around him: row, col, rows, cols.
    BY_EYE = {59: (238, 621, 110, 34), 69: (211, 591, 103, 31), 79: (190, 570, 93, 32), 89: (173, 570, 88, 25)}

    def test_is_followed(self):
        video = DATA / "vtest.avi"
        if not video.exists():
            self.skipTest(f"{video} is not here (BOXSUM_DATA)")
        if shutil.which("ffmpeg") is None:
            self.skipTest("no ffmpeg")
        stream = subprocess.run(["ffmpeg", "-v", "error", "-i", str(video), "-frames:v", "90", "-f", "yuv4mpegpipe", "-"],
                                capture_output=True, check=True, timeout=TIME_LIMIT).stdout
        # Cut here, as the options for it differ between versions of ffmpeg.
        header, frames = stream.split(b"\n", 1)
        self.assertEqual(len(frames) % 90, 0)
        stream = header + b"\n" + frames[len(frames) // 90 * 59:]
        text = self.boxsum("track", "-", "--box", ",".join(map(str, self.BY_EYE[59])), stdin=stream)
        found = {59 + n: where for n, where, _ in parsed_track(text)}
        self.assertEqual(sorted(found), list(range(59, 90)))
        for frame, where in self.BY_EYE.items():
            self.assertGreater(share_of_union(found[frame], where), 0.5, (frame, found[frame], where))


if __name__ == "__main__":
    result = unittest.main(verbosity=2, exit=False).result
    sys.exit(1 if not result.wasSuccessful() else 77 if result.skipped else 0)
