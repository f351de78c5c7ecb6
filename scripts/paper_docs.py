#!/usr/bin/env python3
"""The papers' experiments, from records of `boxsum bench` and from what the papers print (benchmarks/papers/*.json).

    scripts/paper_docs.py RECORD.json...      prints the report of these records as Markdown

scripts/update_docs takes the same tables: `papers: sat`, of all records results/*/bench-zoo.json, and `papers: hist`, of all
results/*/bench-hist-papers.json; and `papers: verdicts`, what the papers say beside what these records say (paper_claims.py). Nothing here measures; every figure is the record's, or the paper's and then says so.
"""

import json
import math
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
OWN = ("brlt-scanrow", "scanrow-brlt", "scanrow-column")  # Chen et al.'s
LIBRARIES = ("opencv-cuda", "opencv-scan-scan", "opencv-cpu", "npp")
NOTHING = "-"


def paper(key):
    return json.loads((ROOT / "benchmarks" / "papers" / f"{key}.json").read_text(encoding="utf-8"))


def read(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def digits(value):
    """Three digits: 0.0123, 1.23, 123."""
    if value is None:
        return NOTHING
    return f"{value:#.3g}".rstrip(".") if 0 < abs(value) < 1000 else f"{value:.0f}"


def ratio(over, under):
    return over / under if over is not None and under else None


def size(n):
    return f"{n // 1024}K²" if n >= 1024 and n % 1024 == 0 else f"{n}²"


def table(head, rows, words=1):
    """A Markdown table; the first `words` columns hold words, the others numbers."""
    if not rows or len(head) <= words < 2:
        return "Not measured.\n\n"
    lines = [head, ["---"] * words + ["--:"] * (len(head) - words), *rows]
    return "".join("| " + " | ".join(str(cell).replace("|", "\\|") for cell in line) + " |\n" for line in lines) + "\n"


def milliseconds(row):
    if row is None:
        return NOTHING
    return "**wrong**" if row.get("check", "").startswith("wrong") else digits(ratio(row.get("us"), 1000))


def distinct(values):
    return list(dict.fromkeys(values))


def parameter(row, name):
    return dict(entry.split("=", 1) for entry in row.get("parameters", "").split(",") if "=" in entry).get(name, "")


# Tables: what is asked of a record of `boxsum bench sat`.

def squares(record, types):
    return [r for r in record["tables"] if r["what"] == "table" and r["types"] == types and r["rows"] == r["cols"]]


def sizes_of(rows):
    return sorted({r["cols"] for r in rows})


def powers_of_two(rows):
    """The sizes that are, or all where none is: at most so many columns."""
    sizes = sizes_of(rows)
    return [n for n in sizes if n & (n - 1) == 0] or sizes


def best(rows, n, algorithm=None):
    timed = [r for r in rows if r["cols"] == n and "us" in r and algorithm in (None, r["algorithm"])]
    return min(timed, key=lambda r: r["us"], default=None)


def best_us(rows, n, algorithm):
    row = best(rows, n, algorithm)
    return row["us"] if row else None


def copy_us(record, types, n):
    return next((r["us"] for r in record["tables"]
                 if r["what"] == "copy" and r["types"] == types and r["rows"] == r["cols"] == n and "us" in r), None)


def overview(record):
    text = "The best parameters of each algorithm: time over the time of a copy of the same bytes.\n\n"
    for types in distinct(r["types"] for r in record["tables"]):
        rows = squares(record, types)
        sizes = powers_of_two(rows)
        lines = [["copy, ms", *(digits(ratio(copy_us(record, types, n), 1000)) for n in sizes)]]
        for name in distinct(r["algorithm"] for r in rows):
            cells = [digits(ratio(best_us(rows, n, name), copy_us(record, types, n))) for n in sizes]
            if any(cell != NOTHING for cell in cells):
                lines.append([name, *cells])
        if len(lines) > 1:
            text += table([types, *map(size, sizes)], lines)
    return text


def emoto_times(record):
    printed = paper("emoto-2018")
    third = printed["table_3"]
    rows = squares(record, third["types"])
    sizes = powers_of_two(rows)
    text = f"{printed['citation']}. Overhead: the best W over a copy.\n\n"
    if not rows:
        text += f"No {third['types']} tables in this record.\n\n"
    else:
        names = [r["algorithm"] for r in printed["table_1"]["rows"]] + ["fast", "simd"]
        lines = [["duplication", "", *(digits(ratio(copy_us(record, third["types"], n), 1000)) for n in sizes)]]
        for name in distinct(n for n in names if any(r["algorithm"] == n for r in rows)):
            own = [r for r in rows if r["algorithm"] == name]
            for parameters in distinct(r.get("parameters", "") for r in own):
                of_size = {r["cols"]: r for r in own if r.get("parameters", "") == parameters}
                cells = [milliseconds(of_size.get(n)) for n in sizes]
                lines.append([name, parameters, *(f"**{cell}**" if cell != NOTHING and of_size.get(n) is best(own, n) else cell
                                                  for n, cell in zip(sizes, cells))])
            over = [ratio(best_us(own, n, name), copy_us(record, third["types"], n)) for n in sizes]
            lines.append(["", "overhead", *(NOTHING if x is None else f"{100 * (x - 1):.1f} %" for x in over)])
        text += "This machine, ms; the best of each algorithm is bold.\n\n" + table(["", "W", *map(size, sizes)], lines, 2)
    lines = [["duplication", "", *map(digits, third["duplication"])]]
    for row in third["rows"]:
        lines.append([row["algorithm"], row.get("W", ""), *map(digits, row["ms"])])
    for name, overheads in third["overhead_percent"].items():
        lines.append([name, "overhead", *(f"{x:.1f} %" for x in overheads)])
    return text + f"As printed ({third['source']}, {printed['machine']}), ms. {third['note']}\n\n" + table(
        ["", "W", *map(size, third["sizes"])], lines, 2)


def emoto_costs(record):
    printed = paper("emoto-2018")
    first = printed["table_1"]
    rows = squares(record, printed["table_3"]["types"])
    n = max((r["cols"] for r in rows if "launches" in r), default=0)
    keys = ("algorithm", "launches", "threads", "parallelism", "reads", "writes")
    counted = ("launches", "measured_launches", "measured_memsets", "threads", "reads", "writes")
    lines = []
    for row in first["rows"]:
        found = best(rows, n, row["algorithm"]) or {}
        lines.append([*(row[key] for key in keys),
                      *(digits(found[key]) if isinstance(found.get(key), float) else found.get(key, NOTHING) for key in counted)])
    return (f"As printed ({first['source']}), and as counted at {size(n)}: accesses are per element. {first['note']}\n\n" +
            table([*keys, "launches counted", "kernels captured", "memsets captured", "threads counted", "reads counted",
                   "writes counted"], lines, 6))


def chen_speedups(record):
    printed = paper("chen-2018")
    text = f"{printed['citation']} ({printed['speedups']['source']}, {printed['machine']}): \"{printed['speedups']['text']}\"\n\n"
    for types in ("8u32s", "32f32f", "32u32u", "64f64f"):
        rows = [r for r in squares(record, types)
                if r["algorithm"] in (*OWN, *LIBRARIES, "fast", "simd", "cub-two-pass")]
        sizes, names = powers_of_two(rows), distinct(r["algorithm"] for r in rows if "us" in r)
        if not names:
            continue
        text += table([f"{types}, ms", *map(size, sizes)],
                      [[name, *(milliseconds(best(rows, n, name)) for n in sizes)] for name in names])
        for library in LIBRARIES:
            if library in names:
                text += table([f"{types}, times as fast as {library}", *map(size, sizes)],
                              [[name, *(digits(ratio(best_us(rows, n, library), best_us(rows, n, name))) for n in sizes)]
                               for name in names if name != library])
    return text


def two_passes(record, algorithm, types, n, block=None):
    """Times of the two kernels, with the first parameters that the record has, or the first that give blocks of this shape where
    it has some; None where there are not two."""
    rows = [r for r in record["passes"] if (r["algorithm"], r["types"], r["rows"], r["cols"]) == (algorithm, types, n, n)]
    calls = [[r for r in rows if r.get("parameters") == wanted] for wanted in distinct(r.get("parameters") for r in rows)]
    call = next((c for c in calls if all(r.get("block") == block for r in c)), calls[0] if calls else [])
    call = sorted(call, key=lambda r: r["pass"])
    return [r["us"] for r in call] if len(call) == 2 and all("us" in r for r in call) else None


def chen_verdicts(record):
    """[(statement, n, left, right, as printed, as its text explains it)] of section VI.D, with the paper's blocks of 1024 threads."""
    figure = paper("chen-2018")["figure_8"]
    statements = [entry["printed"] for entry in figure["inequalities"]]
    verdicts = []
    timed = [r for r in record["passes"] if r["types"] == figure["types"] and r["algorithm"] in OWN and r["rows"] == r["cols"]]
    for n in [n for n in sizes_of(timed) if n in figure["sizes"] or n in powers_of_two(timed)]:
        brlt, scan, columns = (two_passes(record, name, figure["types"], n, "(1024, 1, 1)") for name in OWN)
        if brlt and columns:
            verdicts.append((statements[0], n, columns[1], sum(brlt) / 2, columns[1] < sum(brlt) / 2, None))
            verdicts.append((statements[1], n, sum(brlt), sum(columns), sum(brlt) < sum(columns), None))
        if brlt and scan:
            verdicts.append((statements[2], n, sum(brlt) / 2, sum(scan) / 2, sum(brlt) > sum(scan), sum(brlt) < sum(scan)))
    return verdicts


def spilled(record):
    """Kernels of Chen et al.'s exhibits that keep part of their register cache in local memory; records before 2026-11-25 do not
    say."""
    return distinct((r["algorithm"], r["kernel"], r["types"], r["local_bytes"]) for r in record["passes"]
                    if r["algorithm"] in OWN and r.get("local_bytes", 0) > 0)


def holds(verdict):
    return NOTHING if verdict is None else "holds" if verdict else "does not hold"


def chen_passes(record):
    printed = paper("chen-2018")
    text = ""
    lines = [[statement, size(n), digits(left / 1000), digits(right / 1000), holds(is_so), holds(explained)]
             for statement, n, left, right, is_so, explained in chen_verdicts(record)]
    if lines:
        text += ("The inequalities of section VI.D, ms, with blocks of 1024 threads where they were timed. T_BRLT-ScanRow and "
                 "T_ScanRow-BRLT are means of two calls.\n\n") + table(
            ["statement", "size", "left", "right", "as printed", "as its text explains it"], lines, 2)
    timed = {(r["what"], r["algorithm"], r["types"], r["rows"], r["cols"], r.get("parameters")): r
             for r in record["tables"] if "us" in r}
    lines = []
    for key, row in timed.items():
        other = timed.get((*key[:5], (row.get("parameters") or "").replace("scan=kogge-stone", "scan=lf")))
        if parameter(row, "scan") == "kogge-stone" and other and row["cols"] & (row["cols"] - 1) == 0:
            lines.append([row["algorithm"], row["types"], size(row["cols"]), milliseconds(row), milliseconds(other),
                          digits(other["us"] / row["us"])])
    if lines:
        text += f"Kogge-Stone against LF, ms ({printed['kogge_stone_lf']['source']}: \"{printed['kogge_stone_lf']['text']}\").\n\n"
        text += table(["algorithm", "types", "size", "Kogge-Stone", "LF", "LF over Kogge-Stone"], lines, 3)
    kernels = {(r["algorithm"], r["kernel"], r["types"], r["block"]): r for r in reversed(record["passes"]) if "registers" in r}
    lines = [[*key, row["registers"], row.get("local_bytes", NOTHING), row.get("static_shared_bytes", NOTHING),
              row.get("dynamic_shared_bytes", NOTHING)]
             for key, row in reversed(kernels.items()) if key[0] in OWN]
    second = printed["table_2"]
    text += "Kernels: registers and bytes of local memory a thread, bytes of shared memory a block, as the runtime reports them.\n\n" if lines else ""
    text += table(["algorithm", "kernel", "types", "block", "registers", "local", "static", "dynamic"], lines, 4) if lines else ""
    return text + f"As printed ({second['source']}).\n\n" + table(
        ["kernel", "block", "grid", "registers", "static", "dynamic"],
        [[r[k] for k in ("kernel", "block", "grid", "registers", "static_shared", "dynamic_shared")] for r in second["rows"]], 3)


def chen_counts(columns=32, warp=32):
    """Section V.B: counts for one warp and one matrix of columns x warp in its registers; symbols are the paper's."""
    if columns < 1:
        raise ValueError(f"columns: is {columns}, must be at least 1")
    if warp < 2 or warp & (warp - 1):
        raise ValueError(f"warp: is {warp}, must be a power of two above 1")
    stages = int(math.log2(warp))
    return {
        "N_trans_store_smem": columns * warp, "N_trans_load_smem": columns * warp, "N_trans_stage": 2 * columns,
        "N_scan_row_stage": stages * columns, "N_scan_row_sfl": stages * columns,
        "N_Kogge-Stone_add": sum(warp - (1 << k) for k in range(stages)) * columns,
        "N_LF_add": warp // 2 * stages * columns, "N_LF_and": warp * stages * columns,
        "N_scan_col_stage": columns - 1, "N_scan_col_add": warp * (columns - 1),
    }


PAPER_THROUGHPUTS = {"float_additions": 64, "logical_operations": 64, "shuffles": 32}  # section V.A, for P100 and V100


def chen_evaluated(gpu, element_bytes=4, warp=32):
    """Equations 3 to 5 (clocks of latency), 10 to 13 (clocks of a multiprocessor), and the inequalities made of them."""
    n = chen_counts()
    shared_bytes = gpu.get("shared_bytes_per_clock", 128)
    adds, ands, shuffles = (gpu.get(key, most) for key, most in PAPER_THROUGHPUTS.items())
    transpose = n["N_trans_stage"] * gpu["shared_latency"]
    scan_row = n["N_scan_row_stage"] * (gpu["shuffle_latency"] + gpu["add_latency"])
    scan_col = n["N_scan_col_stage"] * gpu["add_latency"]
    serial = (n["N_trans_store_smem"] + n["N_trans_load_smem"]) * element_bytes / shared_bytes + n["N_scan_col_add"] / adds
    shuffle, lanes = n["N_scan_row_sfl"] / shuffles, n["N_scan_row_sfl"] * warp / shuffles
    kogge_stone, lf = n["N_Kogge-Stone_add"] / adds, n["N_LF_add"] / adds + n["N_LF_and"] / ands
    return {"L_transpose": transpose, "L_scan_row": scan_row, "L_scan_col": scan_col}, [
        ("(6)", "L_transpose + L_scan_col << L_scan_row", transpose + scan_col, scan_row, transpose + scan_col < scan_row),
        *((name, text, left, serial, left > serial) for name, text, left in (
            ("(14)", "T_Kogge-Stone_add + T_shuffle >> T_trans + T_scan_col_add", kogge_stone + shuffle),
            ("(14), lanes", "the same, each lane of a shuffle counted", kogge_stone + lanes),
            ("(15)", "T_LF_add + T_LF_and + T_shuffle >> T_trans + T_scan_col_add", lf + shuffle),
            ("(15), lanes", "the same, each lane of a shuffle counted", lf + lanes)))]


def chen_active_warps(gpu, block, registers, shared_bytes):
    """Equations 7 and 8, with the warps that a multiprocessor can hold in place of its blocks, and for a multiprocessor: warps
    of a block, and active warps. The printed minimum counts warps of registers beside blocks of shared memory; here both are
    whole blocks."""
    warps = block // 32
    blocks = min(gpu["registers"] // (registers * 32 * warps), gpu["threads"] // block,
                 gpu["shared_bytes"] // shared_bytes if shared_bytes else gpu["threads"])
    return warps, blocks * warps


DISAGREEMENTS = (
    "N_LF_and: the printed formula, (WarpSize N_scan_row_stage) C, gives 163840; the printed number is 5120. N_scan_row_stage "
    "has the factor C already, so the number is right.",
    "N_scan_row_stage is defined twice: as C + C = 64 for the transposition (equation 3) and as log2(WarpSize) C = 160 for the "
    "scan of rows (equation 4).",
    "Equation 12 divides instructions of a warp by lanes a clock; equation 13 counts lanes. Counted alike, a warp's shuffle "
    "takes 1 clock. As printed, 14 does not hold with 4-byte elements; counted in lanes it does.",
    "Section VI.D, third statement: printed T_BRLT-ScanRow > T_ScanRow-BRLT, explained as the opposite.",
    "Section III.B.3 calls 256 KB over 96 KB \"more than 2.7 times\"; it is 2.67.",
)


def measured_gpu(record):
    """What the micro-benchmarks of a record say of its GPU; None without them. A bandwidth of shared memory above 32 banks of 4
    bytes a clock, as records before 2026-11-25 have, was none, and is left out."""
    values = {r["name"]: r["value"] for r in record["micro"] if "value" in r}
    names = {"shared_latency": "shared memory latency", "shuffle_latency": "shuffle latency", "add_latency": "addition latency",
             "and_latency": "AND latency", "shared_bytes_per_clock": "shared memory bandwidth", "multiprocessors": "multiprocessors",
             "mhz": "clock", "shared_bytes": "shared memory", "registers": "registers", "threads": "threads",
             "float_additions": "float additions", "logical_operations": "logical operations", "shuffles": "shuffles"}
    gpu = {key: values[name] for key, name in names.items() if name in values}
    if gpu.get("shared_bytes_per_clock", 0) > SHARED_BYTES_A_CLOCK * 1.01:
        del gpu["shared_bytes_per_clock"]
    return gpu if {"shared_latency", "shuffle_latency", "add_latency"} <= set(gpu) else None


SHARED_BYTES_A_CLOCK = 128


def chen_table_1(record, gpu):
    printed = paper("chen-2018")["table_1"]
    lines = [[row["gpu"], row["shared_kb"], row["registers_kb"], row["multiprocessors"]] for row in printed["rows"]]
    if gpu and {"shared_bytes", "registers", "multiprocessors"} <= set(gpu):
        lines.append([record["device"], digits(gpu["shared_bytes"] / 1024), digits(gpu["registers"] * 4 / 1024),
                      f"{gpu['multiprocessors']:.0f}"])
    return f"Shared memory and registers of a multiprocessor, KB ({printed['source']}; the last row is this machine's).\n\n" + table(
        ["GPU", "shared memory", "registers", "multiprocessors"], lines)


def chen_occupancy(record, gpu):
    """Equations 7 to 9 for the kernels of the record."""
    if not gpu or not {"shared_bytes", "registers", "threads", "multiprocessors", "mhz", "shared_bytes_per_clock"} <= set(gpu):
        return ""
    bandwidth = gpu["shared_bytes_per_clock"] * gpu["multiprocessors"] * gpu["mhz"] / 1000
    kernels = {}
    for row in record["passes"]:
        if row["algorithm"] in OWN and row["types"] == "32f32f" and "registers" in row:
            kernels.setdefault((row["algorithm"], row["kernel"], row["block"]), row)
    lines = []
    for (algorithm, kernel, block), row in kernels.items():
        threads = math.prod(int(x) for x in block.strip("()").split(","))
        warps, active = chen_active_warps(gpu, threads, row["registers"],
                                          row.get("static_shared_bytes", 0) + row.get("dynamic_shared_bytes", 0))
        active *= int(gpu["multiprocessors"])
        lines.append([algorithm, kernel, block, warps, active, digits(bandwidth / active) if active else NOTHING])
    return (f"Equations 7 to 9 on this machine, 32f32f: shared memory has {bandwidth:.0f} GB/s, {digits(gpu['shared_bytes_per_clock'])} "
            f"bytes a clock of {gpu['mhz']:.0f} MHz on {gpu['multiprocessors']:.0f} multiprocessors.\n\n" + table(
                ["algorithm", "kernel", "block", "N_wpb", "N_active_warps", "BW_warp, GB/s"], lines, 3))


def chen_model(record):
    section = paper("chen-2018")["section_5"]
    text = table(["micro-benchmark", "unit", record["device"]],
                 [[r["name"], r.get("unit", ""), "**wrong**" if r.get("check", "").startswith("wrong") else digits(r.get("value"))]
                  for r in record["micro"]], 2) if record["micro"] else ""
    if any(r["name"] == "shared memory bandwidth" and r.get("value", 0) > SHARED_BYTES_A_CLOCK * 1.01 for r in record["micro"]):
        text += (f"The bandwidth of shared memory is wrong: a multiprocessor has {SHARED_BYTES_A_CLOCK} bytes a clock. The assembler "
                 "had merged the loads. The model below takes that limit in its place.\n\n")
    gpus = dict(section["gpus"])
    own = measured_gpu(record)
    if own:
        gpus = {record["device"]: own, **gpus}
    text += chen_table_1(record, own) + chen_occupancy(record, own)
    counts = chen_counts()
    text += "Counts for one warp and one matrix of 32 x 32 (section V.B).\n\n" + table(
        ["symbol", "evaluated", "printed"], [[name, n, section["printed"].get(name, NOTHING)] for name, n in counts.items()])
    lines = []
    for name, gpu in gpus.items():
        latencies, verdicts = chen_evaluated(gpu)
        lines += [[name, number, statement, digits(left), digits(right), holds(is_so)]
                  for number, statement, left, right, is_so in verdicts]
    text += "Inequalities 6, 14 and 15, clocks, elements of 4 bytes. The comparison alone: how much is \"much\" the paper leaves " \
            "open.\n\n" + table(["GPU", "", "statement", "left", "right", ""], lines, 3)
    return text + "Where the paper does not agree with itself:\n\n" + "".join(f"- {item}\n" for item in DISAGREEMENTS) + "\n"


def notes(record):
    printed = paper("notes-2025")
    time = printed["time"]
    text = f"As printed ({printed['citation']}), us. {time['note']}\n\n" + table(
        ["algorithm", *time["columns"]], [[r["algorithm"], *r["us"]] for r in time["rows"]])
    blurs = [r for r in record["tables"] if r["what"] == "box-blur" and "us" in r]
    lines = []
    for name in distinct([*(r["algorithm"] for r in time["rows"]), *(r["algorithm"] for r in blurs)]):
        passes = [p for n in (128, 800) for p in (two_passes(record, name, "32u32u", n) if any(
            r["algorithm"] == name and r["types"] == "32u32u" and r["cols"] == n for r in record["passes"]) else None) or (None, None)]
        blur = [min((r["us"] for r in blurs if (r["algorithm"], r["cols"]) == (name, n)), default=None) for n in (128, 800)]
        if any(x is not None for x in passes + blur):
            lines.append([name, *map(digits, passes + blur)])
    return text + ("This machine, us: passes of 32u32u; the blur is the 8u32u table and a window of 17 x 17 read from it, or "
                   "`box_filter`, which makes no table.\n\n" + table(
        ["algorithm", "row pass 128²", "column pass 128²", "row pass 800²", "column pass 800²", "box blur 128²", "box blur 800²"],
        lines) if lines else "")


def oblongs(record):
    return [r for r in record["tables"] if r["what"] == "table" and r["types"] == "32f32f" and r["rows"] != r["cols"] and "us" in r]


def megapixels(rows, height, width, algorithm):
    """A second, of the best parameters."""
    times = [r["us"] for r in rows if (r["rows"], r["cols"], r["algorithm"]) == (height, width, algorithm) and "us" in r]
    return height * width / min(times) if times else None


def ha_han(record):
    printed = paper("ha-2012")
    figure = printed["figure_5"]
    rows = [r for r in squares(record, "32f32f") if figure["sizes"][0] <= r["cols"] <= figure["sizes"][1]
            and r["cols"] & (r["cols"] - 1) == 0]
    sizes = sizes_of(rows)
    names = [n for n in ("harris-transpose", "ha-han", "serial-cpu", "fast", "simd", "opencv-cpu")
             if any(r["algorithm"] == n and "us" in r for r in rows)]
    lines = [[name, *(digits(ratio(n * n, best_us(rows, n, name))) for n in sizes)] for name in names]
    if {"ha-han", "harris-transpose"} <= set(names):
        lines.append(["ha-han over harris-transpose",
                      *(digits(ratio(best_us(rows, n, "harris-transpose"), best_us(rows, n, "ha-han"))) for n in sizes)])
        lines.append(["best b", *(parameter(best(rows, n, "ha-han") or {}, "b") or NOTHING for n in sizes)])
    text = f"{printed['citation']} ({figure['source']}, {printed['machine']}): \"{figure['text']}\"\n\n"
    oblong = oblongs(record)
    shapes = sorted({(r["rows"], r["cols"]) for r in oblong})
    more = table(["not square", *(f"{r} x {c}" for r, c in shapes)],
                 [[name, *(digits(megapixels(oblong, r, c, name)) for r, c in shapes)] for name in names]) if shapes else ""
    return text + ("Megapixels a second, 32f32f.\n\n" + table(["algorithm", *map(size, sizes)], lines) + more if lines else "")


# Integral histograms: what is asked of a record of `boxsum bench hist`.

def tensor(record, algorithm, rows, cols, bins, threads=None, parameters=None):
    return next((r for r in record["histograms"] if r["what"] == "tensor" and r["algorithm"] == algorithm
                 and (r["rows"], r["cols"], r["bins"]) == (rows, cols, bins) and r.get("parameters") == parameters
                 and threads in (None, r["threads"])), None)


def lines_of(record):
    """[(name, algorithm, threads)]: what made tensors, the GPU's first."""
    found = distinct((r["backend"], r["algorithm"], r["threads"]) for r in record["histograms"]
                     if r["what"] == "tensor" and not r.get("parameters"))
    return [(name if backend == "cuda" else f"{name}, {threads} thread{'s' * (threads != 1)}", name, threads)
            for backend, name, threads in sorted(found, key=lambda key: key[0] != "cuda")]


def plain_us(record, what, rows, cols, bins):
    return next((r["us"] for r in record["histograms"] if r["what"] == what and "us" in r
                 and (r["rows"], r["cols"], r["bins"]) == (rows, cols, bins)), None)


def edge_lengths(record, bins=32):
    return sorted({r["rows"] for r in record["histograms"] if r["what"] == "tensor" and r["rows"] == r["cols"] and r["bins"] == bins})


def frame_us(record, line, n, bins):
    """The longer of computing and copying, as the paper has it; the CPU does not copy."""
    row = tensor(record, line[1], n, n, bins, line[2])
    if row is None or "us" not in row:
        return None
    copies = [plain_us(record, what, n, n, bins) for what in ("upload", "download")]
    if row["backend"] == "cpu":
        return row["us"]
    return max(row["us"], sum(copies)) if None not in copies else None


def histogram_times(record):
    figure = paper("poostchi-2017")["figure_7"]
    sizes = edge_lengths(record)
    lines = [["memset of the tensor", *(digits(ratio(plain_us(record, "memset", n, n, 32), 1000)) for n in sizes)]]
    for name, algorithm, threads in lines_of(record):
        lines.append([name, *(milliseconds(tensor(record, algorithm, n, n, 32, threads)) for n in sizes)])
    text = "ms, 32 bins.\n\n" + table(["algorithm", *map(size, sizes)], lines)
    lines = []

    def us(algorithm, n):
        return (tensor(record, algorithm, n, n, 32) or {}).get("us")

    for entry in [*figure["ratios"], {"slower": "wf-tis", "faster": "fast", "printed": NOTHING}]:
        others = [entry["faster"]] if entry["faster"] != "every other" else ["cw-sts", "cw-tis", "wf-tis"]
        for other in others:
            lines.append([f"{entry['slower']} over {other}", entry["printed"],
                          *(digits(ratio(us(entry["slower"], n), us(other, n))) for n in sizes)])
    return text + f"Ratios, beside what {figure['source']} ({figure['machine']}) says of them.\n\n" + table(
        ["ratio", "as printed", *map(size, sizes)], lines, 2)


def histogram_parts(record):
    figure = paper("poostchi-2017")["figure_8"]
    lines = []
    for r in record["histograms"]:
        if r["what"] == "part" and "us" in r:
            whole = (tensor(record, r["algorithm"], r["rows"], r["cols"], r["bins"]) or {}).get("us")
            lines.append([size(r["rows"]), r["algorithm"], r["part"], r.get("launches", 1), digits(r["us"] / 1000),
                          NOTHING if whole is None else f"{100 * r['us'] / whole:.0f} %"])
    return (f"As printed ({figure['source']}, {figure['machine']}): \"{figure['text']}\". Each line is the kernels of one name, run "
            "without the others.\n\n" + table(["size", "algorithm", "kernels", "launches", "ms", "of the whole"], lines, 3))


def histogram_tuning(record):
    nine, ten = paper("poostchi-2017")["figure_9"], paper("poostchi-2017")["figure_10"]
    rows = [r for r in record["histograms"] if r["what"] == "tensor" and r["algorithm"] == "wf-tis"
            and (r["rows"], r["cols"], r["bins"]) == (512, 512, 32)]
    return (f"As printed: \"{nine['text']}\"; \"{ten['text']}\" ({nine['machine']}).\n\n" + table(
        ["wf-tis at 512², 32 bins", "ms", "occupancy"],
        [[r.get("parameters", "default"), milliseconds(r), f"{100 * r['occupancy']:.0f} %" if "occupancy" in r else NOTHING]
         for r in sorted(rows, key=lambda r: r.get("us", math.inf))]))


def histogram_transfers(record):
    figure = paper("poostchi-2017")["figure_11"]
    lines = []
    for n in edge_lengths(record):
        up, down = (plain_us(record, what, n, n, 32) for what in ("upload", "download"))
        for name, algorithm, threads in lines_of(record):
            row = tensor(record, algorithm, n, n, 32, threads)
            if row and row["backend"] == "cuda" and "us" in row and up and down:
                lines.append([size(n), name, digits(row["us"] / 1000), digits(up / 1000), digits(down / 1000),
                              "kernels" if row["us"] > up + down else "copies"])
    return f"As printed: \"{figure['text']}\" ({figure['source']}, {figure['machine']}). ms, 32 bins.\n\n" + table(
        ["size", "algorithm", "kernels", "image to the device", "tensor to the host", "longer"], lines, 2)


def histogram_buffers(record):
    figure = paper("poostchi-2017")["figure_13"]
    streams = [r for r in record["histograms"] if r["what"] == "frames" and (r["rows"], r["cols"]) == (figure["rows"], figure["cols"])]
    as_printed = {(r["algorithm"], r["bins"]): r.get("us") for r in record["histograms"] if r["what"] == "frames-breadth-first"
                  and (r["rows"], r["cols"]) == (figure["rows"], figure["cols"])}
    lines = []
    for algorithm, bins in distinct((r["algorithm"], r["bins"]) for r in streams):
        one, two = (next((r for r in streams if (r["algorithm"], r["bins"], r["buffers"]) == (algorithm, bins, n)), {}) for n in (1, 2))
        lines.append([algorithm, bins, digits(ratio(1e6, one.get("us"))), digits(ratio(1e6, two.get("us"))),
                      digits(ratio(one.get("us"), two.get("us"))), digits(ratio(two.get("link_us"), two.get("us"))),
                      digits(two.get("overlap")), digits(ratio(1e6, as_printed.get((algorithm, bins))))])
    gains = ", ".join(f"{gain['printed']} with {gain['bins']} bins" for gain in figure["gains"])
    return (f"As printed ({figure['source']}, {figure['machine']}): the gain of a second buffer is {gains}. A stream of 1280 x 720 "
            "images whose tensors go to the host; frames a second. Ours has a stream for each direction of the link and one for "
            "kernels; Algorithm 6 as printed has one for each buffer, issued breadth first.\n\n" + table(
                ["algorithm", "bins", "1 buffer", "2 buffers", "gain", "of the link", "overlap", "Algorithm 6 as printed"], lines))


STAGES = (("read", "read_us"), ("to the device", "upload_us"), ("kernels", "compute_us"), ("to the host", "download_us"))


def schedule(times, frames, buffers):
    """[(stage, frame, start, end)]: a stage has one frame at a time, and a frame a buffer from its first stage to its last."""
    free, done, made = [0.0] * len(times), [], []
    for frame in range(frames):
        now = done[frame - buffers] if frame >= buffers else 0.0
        for stage, time in enumerate(times):
            start = max(now, free[stage])
            now = free[stage] = start + time
            made.append((stage, frame, start, now))
        done.append(now)
    return made


def timeline(times, frames, buffers, unit):
    """A line for each stage, a character for each `unit` of time: the number of the frame that it has, from 1."""
    made = schedule(times, frames, buffers)
    length = max(1, round(max(end for *_, end in made) / unit))
    lines = [[" "] * length for _ in times]
    for stage, frame, start, end in made:
        first = min(round(start / unit), length - 1)
        for column in range(first, max(round(end / unit), first + 1)):
            lines[stage][column] = str((frame + 1) % 10)
    return "".join(f"{name:<14}|{''.join(line).rstrip()}\n" for (name, _), line in zip(STAGES, lines))


def histogram_timeline(record):
    figure = paper("poostchi-2017")["figure_13"]
    streams = [r for r in record["histograms"] if r["what"] == "frames" and r["algorithm"] == "wf-tis"
               and (r["rows"], r["cols"]) == (figure["rows"], figure["cols"]) and all(key in r for _, key in STAGES)]
    if not streams:
        return ""
    bins = min(r["bins"] for r in streams)
    chosen = sorted((r for r in streams if r["bins"] == bins), key=lambda r: r["buffers"])
    unit = max(sum(r[key] for _, key in STAGES) for r in chosen) / 25
    text = (f"As figure 12: wf-tis, {figure['cols']} x {figure['rows']}, {bins} bins, four frames. Drawn from the mean time of each stage "
            f"of a frame, a character for {unit:.0f} us; what the host does between stages is left out.\n\n")
    for r in chosen:
        text += f"{r['buffers']} buffer{'s' if r['buffers'] > 1 else ''}:\n\n```text\n"
        text += timeline([r[key] for _, key in STAGES], 4, r["buffers"], unit) + "```\n\n"
    return text


def histogram_rates(record):
    figure = paper("poostchi-2017")["figure_15"]
    printed = ", ".join(f"{rate['frames_per_second']} on a {rate['machine']}" for rate in figure["rates"])
    sizes = edge_lengths(record)
    text = (f"As printed ({figure['source']}): 512 x 512, 32 bins, WF-TiS: {printed} frames a second. As in the paper, a frame takes "
            "the longer of its kernels and its copies.\n\n")
    text += table(["frames a second, 32 bins", *map(size, sizes)],
                  [[line[0], *(digits(ratio(1e6, frame_us(record, line, n, 32))) for n in sizes)] for line in lines_of(record)])
    bins = sorted({r["bins"] for r in record["histograms"] if r["what"] == "tensor" and r["rows"] == r["cols"] == 512})
    return text + (table(["frames a second, 512²", *(f"{b} bins" for b in bins)],
                         [[line[0], *(digits(ratio(1e6, frame_us(record, line, 512, b))) for b in bins)] for line in lines_of(record)])
                   if bins else "")


def histogram_large(record):
    figure = paper("poostchi-2017")["figure_17"]
    rows = [r for r in record["histograms"] if r["what"] in ("tasks-kept", "tasks-host")]
    lines = []
    for r in rows:
        one = next((o for o in rows if o["workers"] == 1
                    and all(o[k] == r[k] for k in ("what", "backend", "algorithm", "rows", "cols", "bins"))), {})
        lines.append([f"{r.get('image', '')} {r['cols']} x {r['rows']}", "kept" if r["what"] == "tasks-kept" else "host",
                      r["algorithm"], r["bins"],
                      f"{r['workers']} {'CPU' if r['backend'] == 'cpu' else 'GPU'}", digits(ratio(r.get("us"), 1e6)),
                      digits(ratio(1e6, r.get("us"))), digits(ratio(one.get("us"), r.get("us"))),
                      digits(ratio(r.get("link_us"), r.get("us")))])
    text = ("Bins as tasks. Kept: the result stays where it was computed; host: it ends in page-locked host memory. Of the links: the "
            "time of the copies alone over the whole.\n\n" + table(
                ["image", "result", "algorithm", "bins", "workers", "seconds", "frames a second", "over 1 worker", "of the links"],
                lines, 3))
    lines = []
    for r in rows:
        sequential = {threads: tensor(record, "sequential", r["rows"], r["cols"], r["bins"], threads) for threads in (1, 8, 16)}
        if r["what"] == "tasks-host" and r["bins"] == 128 and any(sequential.values()):
            printed = next((i for i in figure["images"] if i["image"] == r.get("image")), {})
            lines.append([f"{r.get('image', '')} {r['cols']} x {r['rows']}", f"{r['algorithm']}, {r['workers']} GPU",
                          *(digits(ratio((row or {}).get("us"), r.get("us"))) for row in sequential.values()),
                          printed.get("speedup_1_thread", NOTHING), printed.get("speedup_16_threads", NOTHING)])
    if lines:
        text += ("Figure 17: tensors of 128 bins that end in the host's memory, times as fast as Algorithm 1 on so many threads; behind "
                 "them what is printed.\n\n" + table(
                     ["image", "computation", "over 1 thread", "over 8", "over 16", "printed, over 1", "printed, over 16"], lines, 2))
    return text + f"As printed ({figure['source']}, {figure['machine']}), 128 bins.\n\n" + table(
        ["image", "frames a second", "over 1 thread", "over 16 threads"],
        [[f"{i['image']} {i['cols']} x {i['rows']}", i.get("frames_per_second", NOTHING), i.get("speedup_1_thread", NOTHING),
          i.get("speedup_16_threads", NOTHING)] for i in figure["images"]])


def histogram_speedups(record):
    figure = paper("poostchi-2017")["figure_19"]
    sizes = edge_lengths(record)
    lines = []
    for gpu in lines_of(record):
        for cpu in lines_of(record):
            if gpu[1] in ("wf-tis", "fast") and cpu[2] > 0 and gpu[2] == 0:
                lines.append([gpu[0], cpu[0], *(digits(ratio(frame_us(record, cpu, n, 32), frame_us(record, gpu, n, 32))) for n in sizes)])
    return f"As printed: \"{figure['text']}\" ({figure['source']}, {figure['machine']}). Copies included, 32 bins.\n\n" + table(
        ["GPU", "CPU", *map(size, sizes)], lines, 2)


def histogram_vga(record):
    figure = paper("poostchi-2017")["figure_20"]
    rows, cols, bins = figure["rows"], figure["cols"], figure["bins"]
    copies = [plain_us(record, what, rows, cols, bins) for what in ("upload", "download")]
    lines = [[f"wf-tis, as printed ({figure['machine']})", figure["frames_per_second"], "1.00"]]
    for name, algorithm, threads in lines_of(record):
        row = tensor(record, algorithm, rows, cols, bins, threads)
        if row and "us" in row and (row["backend"] == "cpu" or None not in copies):
            us = row["us"] if row["backend"] == "cpu" else max(row["us"], sum(copies))
            lines.append([name, digits(1e6 / us), digits(1e6 / us / figure["frames_per_second"])])
    return "640 x 480, 32 bins.\n\n" + table(["computation", "frames a second", "of the paper's"], lines)


def histogram_answers(record):
    lines = [[r["algorithm"], f"{r['cols']} x {r['rows']} x {r['bins']}", r.get("parameters", ""), r["buffers"],
              digits(ratio(1e6, r.get("us"))), digits(ratio(r.get("compute_us", 0) + r.get("query_us", 0), r.get("us")))]
             for r in record["histograms"] if r["what"] == "answers"]
    return ("Streams whose tensors stay where they are computed: 1000 boxes of all sizes, or a search, go back. Of the kernels: the "
            "time of tensor and answers over the elapsed.\n\n" + table(
                ["algorithm", "size", "answers", "buffers", "frames a second", "of the kernels"], lines, 3))


def problems(record):
    rows = [r for name in ("tables", "histograms") for r in record.get(name, ())]
    lines = distinct((r["algorithm"], r.get("types", f"{r.get('bins')} bins"), r["check"] if r.get("check", "").startswith("wrong")
                      else r["note"]) for r in rows if r.get("check", "").startswith("wrong") or ("us" not in r and "note" in r))
    return table(["algorithm", "types, bins", "why it has no time"], lines, 3) if lines else "Nothing.\n\n"


SECTIONS = {
    "boxsum bench sat": (
        ("Every algorithm beside a copy of the same bytes", overview), ("Emoto et al. 2018, Table III", emoto_times),
        ("Emoto et al. 2018, Table I", emoto_costs), ("Chen et al. 2018, figures 6 and 7", chen_speedups),
        ("Chen et al. 2018, figure 8 and Table II", chen_passes), ("Chen et al. 2018, section V", chen_model),
        ("Survey notes of 2025", notes), ("Ha et al. 2012, figure 5", ha_han), ("What was wrong or not run", problems)),
    "boxsum bench hist": (
        ("Figure 7: time over image sizes", histogram_times), ("Figure 8: the parts of a computation", histogram_parts),
        ("Figures 9 and 10: blocks and tiles of wf-tis", histogram_tuning), ("Figure 11: computing against copying", histogram_transfers),
        ("Figure 12: frames over time", histogram_timeline),
        ("Figure 13: one buffer and two", histogram_buffers), ("Figure 15: frames a second", histogram_rates),
        ("Figures 16 and 17: large images", histogram_large), ("Figure 19: speed-up over the CPU", histogram_speedups),
        ("Figure 20: 640 x 480", histogram_vga), ("Beyond the paper: only answers go back", histogram_answers),
        ("What was wrong or not run", problems)),
}


def report(record, heading="##"):
    """The whole report of a record; a section that has nothing to show is left out."""
    text = f"{record['device']}, {record.get('driver', '')}, commit {record['commit'][:12]}, {record['date'][:10]}; {record['settings']}.\n\n"
    for title, section in SECTIONS[record["kind"]]:
        text += f"{heading} {title}\n\n{section(record)}"
    return text


def part(source, build=None):
    """The generator of `papers: sat`, `papers: hist` and `papers: verdicts` for scripts/update_docs."""
    if source == "verdicts":
        import paper_claims  # reads records by what stands here
        return paper_claims.part()
    name = {"sat": "bench-zoo.json", "hist": "bench-hist-papers.json"}[source]
    text = ""
    for path in sorted(ROOT.glob(f"results/*/{name}")):
        record = json.loads(path.read_text(encoding="utf-8"))
        text += f"## `{path.relative_to(ROOT)}`\n\n" + report(record, "###")
    return text or "Not measured yet.\n"


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    for name in sys.argv[1:]:
        record = json.loads(pathlib.Path(name).read_text(encoding="utf-8"))
        if record.get("kind") not in SECTIONS:
            sys.exit(f"{name}: is no record of boxsum bench sat or hist")
        print(f"# {record['kind']}\n\n" + report(record))


if __name__ == "__main__":
    main()
