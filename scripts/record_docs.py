"""Generated parts of documents, for scripts/update_docs: the records of `make bench-gpu` beside what they were to reach, and
what `make profile-gpu` says of the same tables. Every figure is a record's; whether a mark is reached is worked out here, from
figures that are not rounded.
"""

import json
import pathlib
import re
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOT_MEASURED = "Not measured yet.\n"

SECTOR = 32  # bytes, what the caches count
SIZES = (1024, 2048, 4096, 8192, 16384, 32768)
# Time of an n x n table over the time of a copy of as many bytes, by size: what it must be at most, and the far mark.
MUST = {
    "32f32f": (1.75, 1.40, 1.25, 1.13, 1.09, 1.10),
    "8u32u": (2.1, 1.7, 1.45, 1.18, 1.10, None),
}
FAR = {
    "32f32f": (1.4, 1.2, 1.10, 1.05, 1.03, 1.03),
    "8u32u": (1.5, 1.25, 1.10, 1.05, 1.05, None),
    "32f64f": (None, None, 1.15, 1.08, 1.06, None),
    "64f64f": (None, None, 1.15, 1.08, 1.06, None),
    "8u64u": (None, None, 1.15, 1.08, 1.06, None),
}


class Mark(NamedTuple):
    """One limit: of the rows of a record with these keys, `value` is to be at most `limit`."""
    title: str
    over: str  # what the figure is a ratio to; "us": none, it is a time
    keys: dict
    value: str
    limit: float  # None: there is none, it is to compare with
    label: str = "{types} {n}"
    most: bool = False  # of the rows, only the one with the largest value


MARKS = (
    Mark("256 x 256, from a graph", "us", {"section": "small", "n": 256, "launched": "graph"}, "us", 5),
    Mark("exclusive", "inclusive", {"section": "layouts", "layout": "exclusive"}, "x_of_inclusive", 1.05),
    Mark("padded, rows on 256 bytes", "inclusive",
         {"section": "layouts", "layout": "padded, rows on 256 bytes"}, "x_of_inclusive", 1.05),
    Mark("padded, packed rows", "inclusive", {"section": "layouts", "layout": "padded"}, "x_of_inclusive", 1.05),
    Mark("prime rows and columns, rows on 256 bytes", "the next multiple of a tile",
         {"section": "prime", "rows": "on 256 bytes"}, "x_of_whole_tiles", 1.10),
    Mark("prime rows and columns, packed rows", "the next multiple of a tile",
         {"section": "prime", "rows": "packed"}, "x_of_whole_tiles", 1.10),
    Mark("1024 planes of 256 x 256", "as much traffic",
         {"section": "special", "case": "1024 planes of 256 x 256 8u32u"}, "x", 1.15, "8u32u"),
    Mark("sums and squares", "a kernel that reads once and writes twice",
         {"section": "special", "case": "squares 8u32u64u 8192"}, "x", 1.10, "8u32u, 8u64u 8192"),
    *(Mark(f"{channels} interleaved channels", "as much traffic",
           {"section": "special", "case": f"{channels} channels {types} 4096"}, "x", 1.10, f"{types} 4096")
      for types in ("8u32u", "32f32f") for channels in (2, 3, 4)),
    Mark("seeded with carries", "unseeded", {"section": "carries"}, "x_of_unseeded", 1.03),
    *(Mark(f"10^6 random boxes of a table, {what}", "reading the entries", {"section": "boxes", "what": what, "order": "random"},
           "x_of_reads", 1.2, "{table} {n}", True) for what in ("sums", "means", "variances")),
    Mark("host: a run of a plan, beyond an empty kernel's launch", "us", {"section": "host"}, "beyond_us", 0.3, most=True),
    Mark("host: a call that waits, beyond its kernel", "us", {"section": "host"}, "waiting_beyond_kernel_us", 8, most=True),
    Mark("host: an empty kernel, launched and waited for", "us", {"section": "host"}, "empty_kernel_waiting_us", None, most=True),
)


def records(name):
    """[("results/h200/NAME", the record)], one a machine."""
    return [(str(path.relative_to(ROOT)), json.loads(path.read_text(encoding="utf-8")))
            for path in sorted(ROOT.glob(f"results/*/{name}"))]


def latest(name):
    """The last of these records that was made, as records() has them: of the GPUs, README shows one."""
    return sorted(records(name), key=lambda found: found[1]["date"])[-1:]


def table(titles, alignment, lines):
    return "".join("| " + " | ".join(row) + " |\n" for row in [titles, alignment, *lines])


def figure(value, digits=3):
    return "" if value is None else f"{value:.{digits}f}"


def by_size(rows):
    """Tables of every size: measured, and below what they were to reach. A mark is reached if every part of the record that
    enqueues the table on a stream says so. Bold: the far mark is reached."""
    lines = []
    for types, far_marks in FAR.items():
        def measured(*sections):
            return [[row["x"] for row in rows if row["section"] in sections and (row.get("types"), row.get("n")) == (types, size)
                     and "fast" in (row.get("algorithm"), row.get("peer"))] for size in SIZES]

        of_stream = measured("table", "algorithms", "peers")
        lines.append([types, "from a stream", *(f"**{figure(x[0])}**" if x and far and max(x) <= far else figure(x[0] if x else None)
                                                for x, far in zip(of_stream, far_marks))])
        if any(len(x) > 1 for x in of_stream):
            lines.append(["", "in other parts", *(", ".join(map(figure, x[1:])) for x in of_stream)])
        if any(measured("small")):
            lines.append(["", "from a graph", *(", ".join(map(figure, x)) for x in measured("small"))])
        if types in MUST:
            lines.append(["", "must be", *(f"{limit:.2f}" + ("" if x and max(x) <= limit else ": **missed**") if limit else ""
                                           for x, limit in zip(of_stream, MUST[types]))])
        lines.append(["", "far mark", *(figure(far, 2) for far in far_marks)])
    return table(["types", "", *map(str, SIZES)], ["---", "---", *["--:"] * len(SIZES)], lines)


def output_bytes(row):
    return row["n"] ** 2 * int(re.match(r"\d+[uf](\d+)", row["types"])[1]) // 8


def one_by_one(rows):
    lines = []
    for mark in MARKS:
        found = [row for row in rows if all(row.get(key) == wanted for key, wanted in mark.keys.items())]
        if mark.most:
            found = sorted(found, key=lambda row: row[mark.value])[-1:]
        for row in found:
            value, unit = row[mark.value], " us" if mark.over == "us" else ""
            limit = "" if mark.limit is None else f"{mark.limit:g}{unit}" if unit else figure(mark.limit, 2)
            lines.append([mark.title, ("most: " if mark.most else "") + mark.label.format(**row), figure(value, 2 if unit else 3) + unit,
                          "" if unit else mark.over, limit, "" if mark.limit is None else "yes" if value <= mark.limit else "no"])
    large = [row for row in rows if row["section"] == "table" and output_bytes(row) >= 64 << 20]
    if large:
        most = max(large, key=lambda row: row["workspace_share"])
        lines.append(["workspace, tables from 64 MiB", f"most: {most['types']} {most['n']}", figure(most["workspace_share"]),
                      "the table's bytes", "0.07", "yes" if most["workspace_share"] <= 0.07 else "no"])
    return table(["table", "types, n", "measured", "of", "at most", "reached"], ["---", "---", "--:", "---", "--:", "---"],
                 lines)


def marks(part):
    """The part 'size' or 'other' of what each record of `make bench-gpu` was to reach."""
    makers = {"size": by_size, "other": one_by_one}
    return "".join(source(path, record, [row for row in record["rows"] if row["section"] != "convolve"]) +
                   makers[part](record["rows"]) + "\n"
                   for path, record in records("bench-sat.json")) or NOT_MEASURED


FORMS_MARK = 1.05  # times the plain table's time, at most


def forms():
    """Tables with an origin or an offset beside the plain ones of the same race."""
    text = ""
    for path, record in records("bench-sat.json"):
        rows = [row for row in record["rows"] if row["section"] == "forms"]
        lines = [[row["types"], f"{row['n']}^2", row["form"], row["algorithm"], figure(row["us"], 1),
                  "" if row["form"] == "plain" else
                  f"{row['over_plain']:.3f} (<= {FORMS_MARK:.2f}: {'yes' if row['over_plain'] <= FORMS_MARK else 'no'})"]
                 for row in rows]
        if lines:
            text += source(path, record, rows) + table(["types", "size", "form", "by", "us", "over plain"],
                                                 ["---", "---", "---", "---", "--:", "---"], lines) + "\n"
    return text or NOT_MEASURED


# Convolution of 8192 x 8192 floats: a multiprocessor multiplies and adds 128 times a clock, and an H200 and an H100 have 132 of them
# at a base clock of 1.755 GHz.
CONVOLVE_FLOOR_US = 8192**2 / (132 * 128 * 1755)  # a weight: 2.26
COPY_MARK = 1.15   # times a copy, 3 x 3 and 5 x 5
FLOOR_MARK = 1.3   # times the floor or the copy, whichever is longer, beyond


def convolve():
    """`auto` over a copy and over the rate of multiplications, beside others; `systolic` where a record has no `auto`."""
    text = ""
    for path, record in records("bench-sat.json"):
        rows = [row for row in record["rows"] if row["section"] == "convolve" and "us" in row and row["n"] == 8192]
        times = {(row["algorithm"].split()[0], row["side"]): row["us"] for row in rows}
        name_of_ours = "auto" if any(name == "auto" for name, _ in times) else "systolic"
        copies = {row["side"]: row["copy_us"] for row in rows if row["algorithm"] == name_of_ours}
        others = [name for name in dict.fromkeys(name for name, _ in times) if name != name_of_ours]
        lines, over_marks, behind, ahead = [], [], [], []
        for side, copy in copies.items():
            ours, floor = times[name_of_ours, side], side * side * CONVOLVE_FLOOR_US
            bound, mark = (copy, COPY_MARK) if side in (3, 5) else (max(copy, floor), FLOOR_MARK)
            over = ours / bound
            lines.append([f"{side} x {side}", figure(ours, 0), figure(copy, 0), figure(floor, 0), figure(ours / copy, 2),
                          f"{over:.3f} (<= {mark:.2f}: {'yes' if over <= mark else 'no'})",
                          *(figure(times.get((name, side)), 0) for name in others)])
            if over > mark:
                over_marks.append(over / mark)
            for name in others:
                theirs = times.get((name, side))
                if theirs and theirs < ours and name not in ("systolic", "tiled"):
                    (ahead if name == "cuFFT" else behind).append((name, side, ours / theirs))
        if not lines:
            continue
        text += source(path, record, rows) + table(["kernel", f"{name_of_ours} us", "copy us", "floor us", "over the copy", "over what bounds it",
                                              *(f"{name} us" for name in others)],
                                             ["---", "--:", "--:", "--:", "--:", "---", *["--:"] * len(others)], lines) + "\n"
        if over_marks:
            text += (f"{len(over_marks)} of {len(lines)} kernels are over their mark, by {min(over_marks):.3f} to "
                     f"{max(over_marks):.2f} times. ")
        before = [side for side in copies if times.get(("cuFFT", side), 0) > times[name_of_ours, side]]
        if before:
            text += f"`{name_of_ours}` is before an FFT (cuFFT) up to {max(before)} x {max(before)}. "
        text += "".join(f"{name} is {x:.2f} times as fast at {side} x {side}. " for name, side, x in ahead + behind).rstrip() + "\n\n"
    return text or NOT_MEASURED


def peers():
    """Others' tables beside ours, of 32f32f or, where they have none, of 8u32u, over the copy or the streaming kernel of the
    same run."""
    text = ""
    for path, record in records("bench-sat.json"):
        copies = {row["n"]: row["reference_us"] for row in record["rows"]
                  if row["section"] == "table" and row["types"] == "32f32f"}
        rows = [row for row in record["rows"] if row["section"] == "peers"]
        sizes = sorted({row["n"] for row in rows if "n" in row})
        lines = []
        for peer in dict.fromkeys(row["peer"] for row in rows):
            types = next((kind for kind in ("32f32f", "8u32u") for row in rows
                          if (row["peer"], row.get("types")) == (peer, kind)), "")
            times = {row["n"]: row for row in rows if types and (row["peer"], row.get("types")) == (peer, types)}
            notes = [row["note"] for row in rows if row["peer"] == peer and "note" in row]
            cells = [figure(times[n].get("x", times[n]["us"] / copies[n]), 2) if n in times else "" for n in sizes]
            lines.append([peer, types, *cells, " ".join(notes)])
        text += source(path, record, rows) + table(["", "types", *map(str, sizes), ""],
                                             ["---", "---", *["--:"] * len(sizes), "---"], lines) + "\n"
    return text or NOT_MEASURED


def tasks():
    """Bins as tasks of several devices: one device beside all of them, a line for each image with its most bins."""
    text = ""
    for path, record in records("bench-hist-papers.json"):
        rows = {(row["what"], row["rows"], row["cols"], row["bins"], row["workers"]): row
                for row in record["histograms"] if row["what"] in ("tasks-kept", "tasks-host") and row["algorithm"] != "wf-tis"}
        devices = max(key[-1] for key in rows)
        if devices == 1:
            continue
        lines = []
        for height, width in dict.fromkeys(key[1:3] for key in rows):
            bins = max(key[3] for key in rows if key[1:3] == (height, width))
            kept = [rows["tasks-kept", height, width, bins, workers]["us"] / 1000 for workers in (1, devices)]
            host = [rows["tasks-host", height, width, bins, workers] for workers in (1, devices)]
            lines.append([f"{width} x {height}, {bins}", *(figure(ms, 2) for ms in kept), figure(kept[0] / kept[1], 2),
                          *(figure(row["links_at_once_us"] / row["us"]) for row in host)])
        text += source(path, record) + table(
            ["image, bins", "kept on one, ms", f"on {devices}", "times one", "to the host from one", f"from {devices}"],
            ["---", *["--:"] * 5], lines) + "\n"
    return text or NOT_MEASURED


def tensors():
    """Integral histograms of batches and of single frames beside memset of the same bytes."""
    text = ""
    for path, record in records("bench-histogram.json"):
        rows = sorted((row for row in record["rows"] if row["section"] in ("tensor", "single")),
                      key=lambda row: (row["rows"] * row["cols"], row["bins"], -row["planes"]))
        lines = [[f"{row['cols']} x {row['rows']}", str(row["bins"]), str(row["planes"]), figure(row["us"], 1),
                  figure(row.get("share_of_memset")), figure(row["us"] and 1e6 * row["planes"] / row["us"], 0)] for row in rows]
        text += source(path, record) + table(["image", "bins", "frames a call", "us", "memset over it", "frames a second"],
                                             ["---", *["--:"] * 5], lines) + "\n"
    return text or NOT_MEASURED


def filters():
    """Filters on the device, and from and to the host's memory beside the link."""
    text = ""
    for path, record in records("bench-windows.json"):
        rows = [row for row in record["rows"] if row["section"] == "filters"]
        lines = [[row["filter"], str(row["n"]), str(row["radius"]), figure(row["ms"], 2), figure(row.get("of_link")),
                  figure(row.get("gigapixels_per_second"), 0)] for row in rows]
        text += source(path, record) + earlier(rows) + table(["filter", "columns", "radius", "ms", "of the link", "gigapixels a second"],
                                             ["---", *["--:"] * 5], lines) + "\n"
    return text or NOT_MEASURED


# Times of a copy that windows of an image on the device shall take at 16384^2: for radius 3 and 15, and for 250; at 4096^2
# 1.4 and 1.6 times that, but of guided filters.
WINDOW_MARKS = {
    "box mean 8u": (2.2, 3.2), "box mean 16u": (2.2, 3.5), "box mean 32f": (2.5, 4.0), "Bradley 8u": (2.7, 3.5),
    "Sauvola 8u": (5.5, 8.0), "Niblack 8u": (5.5, 8.0), "NICK 8u": (5.5, 8.0), "Singh 8u": (5.5, 8.0),
    "Phansalkar 8u": (5.5, 8.0), "Wolf 8u": (11, 16), "mean and deviation 8u": (2.0, 3.0),
    "local contrast 8u": (3.0, 4.0),
    # Over a copy of 28 bytes a pixel, and 60 is the largest radius.
    "guided by itself 8u": (3.0, 3.0), "guided by itself 32f": (3.0, 3.0), "guided 8u": (3.0, 3.0), "guided 32f": (3.0, 3.0),
}
RADIUS_MARK = 5  # for a radius for every pixel
# What samples are held against: as often as this their unmasked filter, each over a copy of its own bytes.
MOST_OF_UNMASKED = 1.6


def radius_mark(row, found):
    """What a row of a radius for every pixel is held against."""
    plain = found.get((row["filter"].split(",")[0], row["n"], row["radius"]))
    if row["n"] != 16384:
        return ""
    if plain and plain is not row:
        return f" (<= {MOST_OF_UNMASKED * plain['x']:.1f})"
    return f" (<= {RADIUS_MARK:.1f})" if row["filter"].endswith("8u") else ""


def windows():
    """Windows of images on the device over a copy of all that they read and write, beside their marks."""
    text = ""
    for path, record in records("bench-windows.json"):
        found = {(row["filter"], row["n"], row["radius"]): row for row in record["rows"]
                 if row["section"] == "windows" and "radius" in row and "patch_radius" not in row}
        lines = []
        maps = [row for row in found.values() if "radii" in row["filter"]]
        for name in dict.fromkeys(key[0] for key in found if "radii" not in key[0]):
            marks = WINDOW_MARKS.get(name)
            line = [name]
            for n, radius in ((16384, 3), (16384, 15), (16384, 250), (4096, 3), (4096, 15), (4096, 250)):
                row = found.get((name, n, radius))
                last = found.get((name, n, 60)) if radius == 250 and not row else None
                row = row or last
                cell = figure(row and row["x"], 2) + (" (r 60)" if last else "")
                plain = found.get((name.split(",")[0], n, radius))
                if row and marks:
                    more = 1 if n == 16384 or "guided" in name else 1.6 if radius == 250 else 1.4
                    cell += f" (<= {more * marks[radius == 250]:.1f})"
                elif row and n == 16384 and plain and plain is not row and ("count" in name or "mask" in name):
                    cell += f" (<= {MOST_OF_UNMASKED * plain['x']:.1f})"
                line.append(cell)
            lines.append(line)
        small = [row for row in found.values() if row["n"] == 256]
        if not lines:
            continue
        text += source(path, record) + table(["filter", *(f"{n}^2, r {r}" for n in (16384, 4096) for r in (3, 15, 250))],
                                             ["---", *["--:"] * 6], lines) + "\n"
        beside, peers = [], []
        for row in record["rows"]:
            ours = row["section"] == "window-peers" and "us" in row and (
                row.get("boxsum_us") or found.get((row["filter"], row["n"], row["radius"]), {}).get("us"))
            if ours:
                peers.append(row)
                beside.append([row["filter"], f"{row['n']}^2, r {row['radius']}", row["peer"], figure(row["us"], 0), figure(ours, 0),
                               figure(row["us"] / ours, 1)])
        if beside:
            text += earlier(peers) + table(["filter", "image", "beside", "its us", "boxsum us", "times as fast"],
                          ["---", "---", "---", "--:", "--:", "--:"], beside) + "\n"
        patches = [[row["filter"], f"{row['n']} x {row['rows']}", f"{2 * row['radius'] + 1}^2, {2 * row['patch_radius'] + 1}^2",
                    figure(row["us"] / 1000, 2)] for row in record["rows"] if "patch_radius" in row]
        if patches:
            text += table(["filter", "image", "window, patch", "ms"], ["---", "---", "---", "--:"], patches) + "\n"
        blobs = [[row["filter"], f"{row['n']}^2", f"{row['scales']} scales, {row['blobs']} blobs" if "scales" in row else f"sigma {row['sigma']}",
                  figure(row["us"] / 1000, 2), figure(row.get("x"), 2)] for row in record["rows"] if row["section"] == "windows" and "radius" not in row]
        if blobs:
            text += table(["filter", "image", "of", "ms", "over a copy of what it reads and writes"], ["---", "---", "---", "--:", "--:"], blobs) + "\n"
        if maps:
            text += table(["a radius for every pixel", "image", "radii up to", "over a copy of what it reads and writes"], ["---", "---", "--:", "--:"],
                          [[row["filter"], f"{row['n']}^2", str(row["radius"]), figure(row["x"], 2) + radius_mark(row, found)] for row in maps]) + "\n"
        for row in small:
            text += f"{row['filter']}, radius {row['radius']}, {row['n']} x {row['n']}: {figure(row['us'], 1)} us a launch.\n\n"
    return text or NOT_MEASURED


def readme():
    """The few tables that README shows: ours beside others', ms of one table, and how often ours fits into theirs."""
    lines = []
    for _, record in records("bench-cpu.json"):
        for row in record["rows"]:
            if row["instruction_set"] == "avx2" or row["size"] != 4096 or row["threads"] != 1 or row["types"] not in ("8u32u", "32f32f"):
                continue
            # Beside the newest OpenCV, where the record has it, in OpenCV's own layout.
            newest = "newest_opencv" in record["machine"]
            if newest != (row.get("rows") == "packed"):
                continue
            whose = f"OpenCV {record['machine']['newest_opencv'].split(',')[0]}, its own layout" if newest else "OpenCV"
            theirs = "newest" if newest else "opencv"
            lines.append([f"4096 x 4096 {row['types']}", f"{record['device']}, 1 thread", whose, figure(row[f"{theirs}_us"] / 1000, 2),
                          figure(row["boxsum_us"] / 1000, 2), f"{row[f'speedup_over_{theirs}']:.1f}"])
    for _, record in latest("bench-sat.json"):
        rows = {(row["peer"], row["types"]): row["us"] for row in record["rows"]
                if row["section"] == "peers" and row.get("n") == 4096 and "us" in row}
        for (peer, types), us in rows.items():
            ours = rows.get(("fast", types))
            if peer != "fast" and peer != "cub-two-pass" and ours:
                lines.append([f"4096 x 4096 {types}", record["device"], peer, figure(us / 1000, 3), figure(ours / 1000, 3),
                              f"{us / ours:.0f}"])
    for _, record in latest("bench-windows.json"):
        windows = {(row["filter"], row["n"], row["radius"]): row["us"] for row in record["rows"]
                   if row["section"] == "windows" and "radius" in row}
        for row in record["rows"]:
            if row["section"] != "window-peers" or (row.get("n"), row.get("radius"), "us" in row) != (4096, 15, True):
                continue
            ours = row.get("boxsum_us") or windows[row["filter"], 4096, 15]
            lines.append([f"{row['filter']} of 31 x 31", record["device"], row["peer"], figure(row["us"] / 1000, 3),
                          figure(ours / 1000, 3), f"{row['us'] / ours:.0f}"])
    return table(["table or filter", "on", "beside", "its ms", "boxsum ms", "times as fast"], ["---", "---", "---", "--:", "--:", "--:"],
                 lines) + "\n" if lines else NOT_MEASURED


def of_tools(labels):
    """Programs of sanitizers, "memcheck-gpu_boxes_test" and the like, in words: which, and which tools did not look at some."""
    by_tool = {}
    for label in labels:
        tool, _, program = label.partition("-")
        by_tool.setdefault(tool, []).append(program.removeprefix("gpu_").removesuffix("_test"))
    every = list(dict.fromkeys(program for programs in by_tool.values() for program in programs))
    text = f"{', '.join(by_tool)} of {', '.join(every)}"
    for tool, programs in by_tool.items():
        missing = [program for program in every if program not in programs]
        text += f"; {tool} not of {', '.join(missing)}" if missing else ""
    return text


def runs():
    """What ran on GPUs: a line for each part of a record of tests, and for programs of it that ran at another commit; one for
    the benchmarks and profiles of a commit."""
    lines = []
    for path in sorted(ROOT.glob("results/*/tests.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        gpu = record["device"] + (f", {record['devices']} of them" if record["devices"] > 1 else "")
        for name, one in record["parts"].items():
            by_commit = {}
            for label, program in one["programs"].items():
                by_commit.setdefault(program.get("commit", one.get("commit", record["commit"])), []).append((label, program))
            for commit, programs in by_commit.items():
                counts = [str(sum(program[count] for _, program in programs)) for count in ("passed", "failed", "skipped")]
                labels = [label for label, _ in programs]
                what = f"`make {'test-python' if name == 'python' else name}-gpu`" + (f": {of_tools(labels)}" if name == "sanitize" else "")
                lines.append([gpu, what, *counts, commit[:7], one["date"][:10] if commit == one.get("commit", record["commit"]) else ""])
        measured = {}
        for file in sorted([*path.parent.glob("bench-*.json"), *path.parent.glob("profile-*.json")]):
            made = json.loads(file.read_text(encoding="utf-8"))
            measured.setdefault((made["commit"][:7], made["date"][:10]), []).append(f"`{file.stem}`")
        lines += [[gpu, ", ".join(names), "", "", "", *when] for when, names in sorted(measured.items(), key=lambda one: one[0][1], reverse=True)]
    return table(["GPU", "what", "passed", "failed", "skipped", "at commit", "on"], ["---", "---", "--:", "--:", "--:", "---", "---"],
                 lines) + "\n" if lines else NOT_MEASURED


def profile():
    """What the profiler saw, a line for each pipelined kernel of a record, and for the streaming kernel of the same types."""
    text = ""
    for path, record in records("profile-sat.json"):
        lines = []
        for row in record["rows"]:
            finish = row["roles"].get("finish")
            if not finish and row["kernel"] != "convert_kernel":
                continue
            launches = [other for other in record["rows"] if (other["case"], other["types"]) == (row["case"], row["types"])
                        and other["n"] == row["n"]]
            case = row["case"] if len(launches) == 1 else f"{row['case']} ({launches.index(row) + 1} of {len(launches)})"
            line = [f"{case}, {row['types']} {row['n']}", figure(row["memory_busy"], 2), figure(row["link_busy"], 2)]
            if finish:
                # The bytes are those of the case, not of one launch of several.
                looks = row["look_sectors"] * SECTOR / row["bytes"] if len(launches) == 1 else None
                line += [figure(looks, 2), f"{row['kb_of_hot_code']:.0f}", figure(row["without_instructions"], 2),
                         figure(finish.get("works", 0) + finish.get("stores", 0), 2),
                         *(figure(finish.get(f"waits: {barrier}"), 2) for barrier in ("carried", "topped", "loaded"))]
            lines.append(line + [""] * (10 - len(line)))
        text += source(path, record) + table(
            ["table", "memory busy", "link busy", "looks", "hot KB", "without instructions", "`finish` works or stores",
             "waits for row carries", "for the row above", "for its tile"], ["---", *["--:"] * 9], lines) + "\n"
    return text or NOT_MEASURED


# Columns of ratios: the heading, the value's and the mark's names, and the sign between them.
FILTER_RATIOS = (("copies", "copies", "target_copies", "<="), ("times OpenCV's speed", "speedup_over_opencv", "target_speedup", ">="),
                 ("times the newest OpenCV's", "speedup_over_newest", "target_newest", ">="),
                 ("over unmasked", "over_unmasked", "target_most", "<="), ("over random pixels", "over_random", "target_over_random", "<="),
                 ("times one thread's", "speedup_over_one_thread", "target_threads", ">="),
                 ("copies by two threads", "copies_by_threads", "target_copies_by_threads", "<="))
FILTER_GROUPS = {
    "filters": "",
    "filters-avx2": "AVX2 alone, held against 0.45 (AMD: 0.6) of the speeds that AVX-512 is to reach:",
    "filters-threads": "Two threads, of which one of the two marks is to be reached:",
    "filters-small": "Small images:",
    "filters-flat": "Pixels that are all alike, where thresholds meet ties, beside random ones:",
    "filters-costly": "Guided filters, non-local means (patches of 7 x 7) and blobs:",
}


def cpu_filters():
    """Windows around all pixels on each CPU beside copies and OpenCV."""
    def cell(row, value, target, sign):
        if value not in row:
            return "-"
        if target not in row:
            return figure(row[value], 2)
        reached = row[value] <= row[target] if sign == "<=" else row[value] >= row[target]
        return f"{row[value]:.2f} ({sign} {row[target]:.2f}: {'yes' if reached else 'no'})"

    text = ""
    for path, record in records("bench-cpu.json"):
        all_rows = record.get("filters", [])
        if all_rows:
            text += source(path, record)
        for group, heading in FILTER_GROUPS.items():
            rows = [row for row in all_rows if row.get("group", "filters") == group]
            if not rows:
                continue
            sizes = len({row["size"] for row in rows}) > 1
            pixels = len({row.get("pixels") for row in rows}) > 1
            peers = any("opencv" in row or "newest" in row for row in rows)
            ratios = [one for one in FILTER_RATIOS if any(one[1] in row for row in rows)]
            lines = [[row["filter"], *([row["pixels"]] if pixels else []), *([f"{row['size']}^2"] if sizes else []), str(row["radius"]),
                      figure(row.get("boxsum_us"), 0), *([row.get("opencv", row.get("newest", "-"))] if peers else []),
                      *(cell(row, *one[1:]) for one in ratios)] for row in rows]
            names = ["filter", *(["pixels"] if pixels else []), *(["image"] if sizes else []), "radius", "us",
                     *(["OpenCV's"] if peers else []), *(one[0] for one in ratios)]
            kinds = ["--:" if name in ("radius", "us") else "---" for name in names]
            text += (heading + "\n\n" if heading else "") + table(names, kinds, lines) + "\n"
    return text or NOT_MEASURED


def cpu(part):
    """The rows `targets` (both sides with all that the machine has) or `avx2` (both forced to it) of each CPU's record; or its
    `callers`, `filters`, `forms` or `histograms`."""
    if part == "filters":
        return cpu_filters()

    def within(value, row):
        return f"{row[value]:.2f} (<= {row['target_most']:.2f}: {'yes' if row[value] <= row['target_most'] else 'no'})"

    text = ""
    for path, record in records("bench-cpu.json"):
        if part in ("forms", "histograms"):
            titles, lines = {
                "forms": (["types", "size", "form", "us, plain", "us", "over plain"],
                          [[row["types"], f"{row['size']}^2", row["form"], figure(row["plain_us"], 1), figure(row["us"], 1),
                            within("over_plain", row)] for row in record.get("forms", [])]),
                "histograms": (["layout", "columns", "rows", "us", "a pixel, over the first"],
                               [[row["layout"], str(row["cols"]), row["rows"], figure(row["us"], 0), within("over_aligned", row)]
                                for row in record.get("histograms", [])]),
            }[part]
            if lines:
                text += source(path, record) + table(titles, ["---"] * len(titles), lines) + "\n"
            continue
        if part == "callers":
            lines = [[row["types"], f"{row['size']}^2", str(row["callers"]), figure(row["in_turn_us"], 1), figure(row["together_us"], 1),
                      within("together_over_in_turn", row)] for row in record.get("callers", [])]
            if lines:
                text += source(path, record) + table(["types", "size", "callers", "us a table, in turn", "all at once", "over in turn"],
                                                     ["---", "---", "---", "--:", "--:", "---"], lines) + "\n"
            continue
        lines = []
        for row in record["rows"]:
            if (row["instruction_set"] == "avx2") != (part == "avx2"):
                continue

            def against(value, target):
                if value not in row:
                    return "-"
                if target not in row:
                    return figure(row[value], 2)
                verdict = "yes" if row[value] >= row[target] else "no"
                return f"{row[value]:.2f} (>= {row[target]:.2f}: {verdict})"

            scheme = ", bands" if row["scheme"] == "bands" else ""
            times = ["boxsum us", "limit us", "OpenCV us", "newest us"]
            lines.append([row["types"], f"{row['size']}^2", row.get("rows", "aligned"), str(row["threads"]),
                          f"{row['instruction_set']}, {row['store']}{scheme}",
                          *(figure(row.get(title.lower().replace(" ", "_")), 1) or "-" for title in times),
                          against("speedup_over_opencv", "target_speedup"), against("speedup_over_newest", "target_newest"),
                          against("share_of_limit", "target_share"), against("part_over_whole", "target_part")])
        titles = ["types", "size", "rows", "threads", "isa, stores", *times, "against OpenCV", "against the newest", "share of limit",
                  "part over whole"]
        text += source(path, record) + table(titles, ["---"] * len(titles), lines) + "\n"
    return text or NOT_MEASURED


def python(where):
    """Calls of the Python package beside those of other libraries, on each `cpu` or `gpu`."""
    text = ""
    for path, record in records("bench-python.json"):
        if ("/cpu-" in path) != (where == "cpu"):
            continue
        lines = []
        for row in record["rows"]:
            marks = dict(row.get("marks", {}))
            if row.get("target_ratio") is not None:
                marks[f">= {row['target_ratio']:g} times"] = row["ratio"] >= row["target_ratio"]
            ours = row.get("boxsum_us", row.get("us"))
            if row.get("target_us") is not None:
                marks[f"<= {row['target_us']:g} us"] = ours <= row["target_us"]
            said = ", ".join(f"{mark}: {'yes' if reached else 'no'}" for mark, reached in marks.items()) or "-"
            name = " ".join(filter(None, [row.get("framework"), row["name"]]))
            over = row.get("x_of_graph") if where == "gpu" else ours / row["copy_us"] if "copy_us" in row else None
            lines.append([name, str(row.get("size", row.get("n"))), figure(row.get("peer_us"), 1), figure(ours, 1),
                          figure(row.get("ratio"), 2), figure(over, 2) or "-", said])
        versions = ", ".join(f"{library} {version}" for library, version in record["versions"].items())
        titles = ["call", "size", "theirs us", "boxsum us", "times as fast", "over a graph" if where == "gpu" else "over a copy",
                  "marks"]
        text += source(path, record)[:-3] + f". With {versions}.\n\n"
        text += table(titles, ["---", *["--:"] * (len(titles) - 2), "---"], lines) + "\n"
    return text or NOT_MEASURED


def source(path, record, rows=()):
    """Rows that were not measured again with the rest of their record have a commit of their own. Where all of a table's have, it
    stands for the record's."""
    commits = dict.fromkeys(row.get("commit", record["commit"])[:12] for row in rows) or {record["commit"][:12]: None}
    date = f", {record['date'][:10]}" if record["commit"][:12] in commits else ""
    return f"{record['device']}, commit {', '.join(commits)}{date} (`{path}`):\n\n"


def earlier(rows):
    """Where some rows of a record have a commit of their own, in front of those."""
    commits = dict.fromkeys(row["commit"][:12] for row in rows if "commit" in row)
    return f"The following at commit {', '.join(commits)}:\n\n" if commits else ""


def part(what, build):
    """For update_docs: `cpu targets`, `cpu avx2`, `cpu callers`, `cpu filters`, `cpu forms`, `cpu histograms`,
    `convolve`, `filters`, `forms`, `windows`, `marks size`, `marks other`, `peers`, `profile`, `python cpu`, `python gpu`, `readme`, `runs`,
    `tasks` or `tensors`."""
    word, *rest = what.split()
    return {"cpu": cpu, "convolve": convolve, "filters": filters, "forms": forms, "windows": windows, "marks": marks, "peers": peers, "profile": profile,
            "python": python, "readme": readme, "runs": runs, "tasks": tasks, "tensors": tensors}[word](*rest)
