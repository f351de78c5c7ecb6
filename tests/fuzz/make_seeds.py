#!/usr/bin/env python3
"""Writes small valid files for the fuzzers to start from: make_seeds.py FOLDER writes FOLDER/png, FOLDER/tiff, ..."""

import base64
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import image_files as f  # noqa: E402


def seeds():
    for channels in (1, 2, 3, 4):
        for depth in (8, 16):
            yield "png", f.png(5, 7, channels, depth, f.pixels(f"{depth}u", 35 * channels))
    yield "png", f.png(5, 7, 1, 2, [i % 4 for i in range(35)])
    yield "png", f.png(5, 7, 1, 4, [i % 3 for i in range(35)], palette=[(1, 2, 3), (4, 5, 6), (7, 8, 9)],
                       transparency=b"\x80")
    for data in f.JPEG.values():
        yield "jpeg", data
    for kind in ("8u", "8s", "16u", "32s", "64u", "16f", "32f", "64f"):
        for big in (False, True):
            yield "tiff", f.tiff(6, 5, 1, kind, f.pixels(kind, 30), big=big, order=">" if big else "<")
    for compression in ("none", "deflate", "packbits"):
        for separate in (False, True):
            yield "tiff", f.tiff(6, 5, 3, "8u", f.pixels("8u", 90), compression=compression, separate=separate,
                                 rows_per_strip=2)
            yield "tiff", f.tiff(20, 18, 3, "16u", f.pixels("16u", 1080), compression=compression, separate=separate,
                                 tile=(16, 16))
    yield "tiff", f.tiff(6, 5, 1, "8u", f.pixels("8u", 30), palette=[v * 257 for v in range(256)] * 3, pages=2)
    for bits, scheme in ((1, 1), (4, 1), (1, 4)):
        yield "tiff", f.tiff(2, 5, 1, "8u", [0x26, 0xad, 0x80, 0x08, 1] * 2, photometric=0,
                             tags=[(256, 4, [40 // bits]), (258, 3, [bits]), (259, 3, [scheme])])
    yield "tiff", f.tiff(6, 5, 4, "8u", f.pixels("8u", 120), photometric=5)
    yield "tiff", f.tiff(6, 5, 1, "32f", f.pixels("32f", 30), tags=[(33550, 12, [1.0] * 3), (34735, 3, [1, 1, 0, 1]),
                                                                    (42113, 2, list(b"-9999\0")), (274, 3, [6])])
    yield "webp", base64.b64decode("UklGRhoAAABXRUJQVlA4TA0AAAAvAAAAEAcQERGIiP4HAA==")
    for bits in (1, 4, 8):
        yield "bmp", f.bmp(5, 7, bits, [i % 2 for i in range(35)], [(9 * i, 9 * i, 7) for i in range(16 if bits == 4 else 2)])
    yield "bmp", f.bmp(5, 7, 24, f.pixels("8u", 105), core=True)
    yield "bmp", f.bmp(5, 7, 32, f.pixels("8u", 140), top_down=True, compression=3,
                       masks=bytes.fromhex("0000ff0000ff0000ff000000"))
    yield "pnm", b"P1\n3 2\n101010"
    yield "pnm", b"P4\n10 2\n\x01\x02\x03\x04"
    for channels in (1, 3):
        for ascii in (False, True):
            for maxval in (255, 65535, 100):
                values = [v % (maxval + 1) for v in f.pixels("16u", 12 * channels)]
                yield "pnm", f.pnm(3, 4, channels, values, maxval, ascii)
        yield "pfm", f.pfm(3, 4, channels, f.pixels("32f", 12 * channels))
        yield "pfm", f.pfm(3, 4, channels, f.pixels("32f", 12 * channels), ">")
    for kind in f.TYPES:
        yield "npy", f.npy((3, 4), kind, f.pixels(kind, 12))
    yield "npy", f.npy((3, 4, 2), "16u", f.pixels("16u", 24), order=">", version=2)
    yield "npy", f.npy((3, 4), "32f", f.pixels("32f", 12), version=3)
    yield "npy", f.npy((3, 4), "16u", f.pixels("16u", 12), fortran=True)
    for chroma, bytes_of_frame in (("420", 6 * 4 * 3 // 2), ("422", 6 * 4 * 2), ("444", 6 * 4 * 3), ("411", 6 * 4 + 2 * 4 * 2),
                                   ("mono", 6 * 4)):
        frame = b"FRAME\n" + bytes(i % 251 for i in range(bytes_of_frame))
        yield "y4m", f"YUV4MPEG2 W6 H4 F25:1 Ip A1:1 C{chroma}\n".encode() + 2 * frame
    yield "y4m", b"YUV4MPEG2 H3 W5\nFRAME Ixyz\n" + bytes(15 + 2 * 2 * 3)
    yield "boxes", b"row,col,rows,cols\n0,0,5,5\n\n# a comment\n1, 2, 3, 4\r\n-9223372036854775808,0,1,1\n"
    yield "boxes", b'id;x;y;w;h\n"a ""b""";0;0;5;5\n'
    for line in ("threshold s.tif p{page}.png --page all --method nick --luma 709 --channels each --compress lzw",
                 "track v.y4m --box 1,2,3,4 --colours 4 --distance l1", "table in.png -o out.npy --layout inclusive --table-type 32u --threads 2",
                 "query in.png --box 1,2,3,4 --box 0,0,1,1 --json", "query --table padded t.npy --squares s.npy --csv",
                 "algorithms --params --json", "info --json", "verify --algorithm reference --thorough", "--help",
                 "table --help", "--version", "table - -o - --param a=b --device cuda:0 --store streaming",
                 "blur in.png out.png --radius 3,4 --border reflect", "stats in.png --window 5 --mean m.png --std s.png",
                 "threshold in.png out.png --method wolf --window 31 --k 0.5"):
        yield "arguments", line.replace(" ", "\0").encode()


def main():
    folder = pathlib.Path(sys.argv[1])
    for number, (target, data) in enumerate(seeds()):
        (folder / target).mkdir(parents=True, exist_ok=True)
        (folder / target / f"seed-{number:03}").write_bytes(data)


main()
