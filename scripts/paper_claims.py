"""What the papers say of their algorithms, and whether a record of `boxsum bench` says the same of ours.

A claim is a sentence of a paper with its place and, where it has one, its printed value. `measure` reads a record: what is
shown for it, the number to be divided by the printed one (None: there is none), and whether the claim holds (None: the record
cannot tell; NO_VALUE: nothing is printed to hold it against). `why` says why the outcome differs, and is shown only where it does:
a text, or a function of the record where it has figures; `beyond` is shown where the claim holds by far more than printed. scripts/update_docs makes docs/papers.md of it (`papers: verdicts`)."""

import dataclasses
import math
import typing

import paper_docs as docs


@dataclasses.dataclass(frozen=True)
class Claim:
    paper: str      # key of benchmarks/papers/*.json
    place: str      # "Table III"
    says: str
    printed: float | str | None
    measure: typing.Callable    # record -> (text, number, holds)
    why: str | typing.Callable = ""    # record -> text
    kind: str = "sat"           # of the record: "sat", "hist", "convolve"
    beyond: str = ""


NO_VALUE = "no value"  # the curve or the bars are not in our extract


def unknown():
    return docs.NOTHING, None, None


def span(values, digits=2):
    return f"{min(values):.{digits}f} to {max(values):.{digits}f}"


def sizes_text(sizes, of):
    return f"at {len(sizes)} of {len(of)} sizes" + (f" ({', '.join(docs.size(n) for n in sizes)})" if 0 < len(sizes) < 8 else "")


# Emoto et al. 2018

TILES = ("2r1w", "1r1w", "1r1w-hybrid", "1r1w-skss", "1r1w-skss-lb")
EMOTO = ("2r2w", "2r2w-optimal", *TILES)


def emoto_sizes(record):
    rows = docs.squares(record, "32f32f")
    wanted = docs.paper("emoto-2018")["table_3"]["sizes"]
    return [n for n in wanted if docs.copy_us(record, "32f32f", n) and any(r["cols"] == n for r in rows)]


def over_copy(record, name, n):
    """Time over that of a copy, less one: the paper's overhead."""
    times = docs.ratio(docs.best_us(docs.squares(record, "32f32f"), n, name), docs.copy_us(record, "32f32f", n))
    return None if times is None else times - 1


def overhead_at(name, n, most_percent):
    """At most as printed, which has one digit behind the point."""
    def measure(record):
        found = over_copy(record, name, n)
        return unknown() if found is None else (f"{100 * found:.1f} %", 100 * found, round(100 * found, 1) <= most_percent)
    return measure


def copy_rate_of_paper(record, n):
    """How many times as fast a copy is here as on the paper's GPU."""
    third = docs.paper("emoto-2018")["table_3"]
    return docs.ratio(1000 * third["duplication"][third["sizes"].index(n)], docs.copy_us(record, "32f32f", n))


def look_back_waits(record):
    rate = copy_rate_of_paper(record, 8192)
    return ("Tiles of 64 KB leave two blocks a multiprocessor, which wait for each other's sums, "
            f"while a copy runs at {rate:.1f} times a TITAN V's rate. `fast` has the same traffic and overlaps the waits.")


def launches_a_diagonal(record):
    """Why a launch a diagonal is late at 32768 x 32768, and what r is best."""
    rows = [r for r in docs.squares(record, "32f32f") if r["cols"] == 32768 and "us" in r]
    best = {name: docs.best(rows, 32768, name) for name in ("1r1w", "1r1w-hybrid")}
    launch = best["1r1w"]["us"] / best["1r1w"]["measured_launches"]
    tile = int(docs.parameter(best["1r1w"], "W"))
    widest = docs.copy_us(record, "32f32f", 32768) / (32768 / tile)
    return (f"A launch of 1R1W takes {launch:.1f} us, as long as one of its tiles does (decisions/exhibits.md); this memory moves all "
            f"tiles of the widest diagonal in {widest:.1f} us, a TITAN V's {copy_rate_of_paper(record, 32768):.1f} times as slowly, so that "
            f"shorter diagonals leave it idle. Of the values of r {docs.parameter(best['1r1w-hybrid'], 'r')} % is the best, not the few "
            "that would leave the traffic of 1R1W.")


def at_least(name, least, sizes=None):
    """The overhead is at least so much, at every size or those given."""
    def measure(record):
        found = {n: over_copy(record, name, n) for n in emoto_sizes(record) if sizes is None or n in sizes}
        known = [x for x in found.values() if x is not None]
        return unknown() if not known else (f"{100 * min(known):.0f} % or more", None, min(known) >= least)
    return measure


def ranking(first, others, sizes=None):
    """`first` is faster than all others, at every size or those given."""
    def measure(record):
        of = [n for n in emoto_sizes(record) if sizes is None or n in sizes]
        wins = []
        for n in of:
            own, rest = over_copy(record, first, n), [over_copy(record, name, n) for name in others]
            if own is None or None in rest:
                return unknown()
            if own < min(rest):
                wins.append(n)
        return unknown() if not of else (sizes_text(wins, of), None, len(wins) == len(of))
    return measure


def slowest(name):
    def measure(record):
        of = [n for n in emoto_sizes(record) if None not in [over_copy(record, a, n) for a in EMOTO]]
        last = [n for n in of if over_copy(record, name, n) == max(over_copy(record, a, n) for a in EMOTO)]
        return unknown() if not of else (sizes_text(last, of), None, len(last) == len(of))
    return measure


def no_tile_algorithm_below(percent, up_to):
    def measure(record):
        found = [over_copy(record, name, n) for name in TILES for n in emoto_sizes(record) if n <= up_to]
        known = [x for x in found if x is not None]
        return unknown() if not known else (f"{100 * min(known):.0f} % at least", 100 * min(known), 100 * min(known) >= percent)
    return measure


def launches_as_printed(record):
    """Kernels of a captured call, at the largest size of the record, against Table I."""
    right, wrong = [], []
    for name in EMOTO:
        rows = [r for r in docs.squares(record, "32f32f") if r["algorithm"] == name and "measured_launches" in r]
        if not rows:
            continue
        row = max(rows, key=lambda r: r["cols"])
        n, w = row["cols"], int(docs.parameter(row, "W") or 1)
        r = int(docs.parameter(row, "r") or 0) / 100
        printed = {"2r2w": 2, "2r2w-optimal": 2, "2r1w": 3, "1r1w": 2 * n // w - 1, "1r1w-skss": 1, "1r1w-skss-lb": 1,
                   "1r1w-hybrid": 2 * (n // w - round(math.sqrt(r) * (n // w))) + 5 if r else 2 * n // w - 1}[name]
        (right if row["measured_launches"] == printed else wrong).append(name)
    if not right and not wrong:
        return unknown()
    return f"{len(right)} of {len(right) + len(wrong)} algorithms" + (f"; not {', '.join(wrong)}" if wrong else ""), None, not wrong


# Chen et al. 2018

def chen_inequality(number, explained=False):
    def measure(record):
        statement = docs.paper("chen-2018")["figure_8"]["inequalities"][number]["printed"]
        sizes = docs.paper("chen-2018")["figure_8"]["sizes"]
        found = [v for v in docs.chen_verdicts(record) if v[0] == statement and v[1] in sizes]
        holding = [v[1] for v in found if v[5 if explained else 4]]
        return unknown() if not found else (sizes_text(holding, found), None, len(holding) == len(found))
    return measure


def hidden_transposition(record):
    figure = docs.paper("chen-2018")["figure_8"]
    found = [v for v in docs.chen_verdicts(record) if v[0] == figure["inequalities"][0]["printed"] and v[1] in figure["sizes"]]
    apart = max(max(v[2] / v[3], v[3] / v[2]) for v in found) - 1
    return ("Both have n/32 blocks of 1024 threads, fewer than there are multiprocessors up to 4096, and wait for memory: the "
            f"transposition in registers hides behind that, and the two are within {100 * apart:.0f} % of each other.")


def chen_model(name):
    def measure(record):
        gpu = docs.measured_gpu(record)
        if gpu is None:
            return unknown()
        left, right, is_so = next((v[2], v[3], v[4]) for v in docs.chen_evaluated(gpu)[1] if v[0] == name)
        return f"{docs.digits(left)} against {docs.digits(right)} clocks", None, is_so
    return measure


def best_of_chen(record, types, n):
    times = {name: docs.best_us(docs.squares(record, types), n, name) for name in docs.OWN}
    return min(times, key=times.get) if None not in times.values() else None


def chen_fastest(types):
    def measure(record):
        of = [n for n in docs.sizes_of(docs.squares(record, types)) if n % 1024 == 0 and best_of_chen(record, types, n)]
        wins = [n for n in of if best_of_chen(record, types, n) == "brlt-scanrow"]
        return unknown() if not of else (sizes_text(wins, of), None, 2 * len(wins) > len(of))
    return measure


def chen_over(library, types):
    """The largest gain of Chen's best over a library."""
    def measure(record):
        rows = docs.squares(record, types)
        gains = []
        for n in docs.sizes_of(rows):
            own = min((t for t in (docs.best_us(rows, n, name) for name in docs.OWN) if t), default=None)
            other = docs.best_us(rows, n, library)
            if n % 1024 == 0 and own and other:
                gains.append(other / own)
        printed = docs.paper("chen-2018")["speedups"]["npp_up_to" if library == "npp" else "opencv_up_to"]
        return unknown() if not gains else (f"{min(gains):.2f} to {max(gains):.2f}", max(gains), max(gains) >= printed)
    return measure


def scan_scan_gains(record, types, name):
    """[(n, OpenCV's scan-scan over an algorithm)] at the paper's sizes."""
    rows = docs.squares(record, types)
    timed = [(n, docs.best_us(rows, n, "opencv-scan-scan"), docs.best_us(rows, n, name)) for n in docs.sizes_of(rows)
             if n % 1024 == 0]
    return [(n, other / own) for n, other, own in timed if own and other]


def chen_ahead_up_to(types, most):
    def measure(record):
        gains = [gain for n, gain in scan_scan_gains(record, types, "brlt-scanrow") if n <= most]
        return unknown() if not gains else (f"{min(gains):.2f} to {max(gains):.2f} times", None, min(gains) > 1)
    return measure


def chen_gain_shrinks(types):
    """The gain at the largest size against that at the smallest."""
    def measure(record):
        gains = scan_scan_gains(record, types, "brlt-scanrow")
        if len(gains) < 2:
            return unknown()
        (small, before), (large, after) = gains[0], gains[-1]
        return f"{before:.2f} at {docs.size(small)}, {after:.2f} at {docs.size(large)}", None, after < min(before, 1.1)
    return measure


def registers_over_shared(record):
    gpu = docs.measured_gpu(record)
    if not gpu or not {"registers", "shared_bytes"} <= set(gpu):
        return unknown()
    share = gpu["registers"] * 4 / gpu["shared_bytes"]
    return f"{share:.2f} times", share, share > 2.7


def kept_registers(record):
    gpu = docs.measured_gpu(record)
    most = max(float(row["shared_kb"].split()[-1].split("/")[-1]) for row in docs.paper("chen-2018")["table_1"]["rows"])
    return (f"A multiprocessor still has {gpu['registers'] * 4 / 1024:.0f} KB of registers, but {gpu['shared_bytes'] / 1024:.0f} KB of shared "
            f"memory, where the largest of Table I had {most:.0f}.")


def npp_kernels(record):
    """NPP's kernels of 8u32s, or of the types that the record has them of, against Table II: blocks, grids, shared memory; and
    registers."""
    rows = [r for r in record["passes"] if r["algorithm"] == "npp" and "registers" in r]
    if not rows:
        return unknown()
    as_printed, registers = [], {}
    for printed in docs.paper("chen-2018")["table_2"]["rows"]:
        for row in (r for r in rows if r["kernel"] == printed["kernel"]):
            grid = printed["grid"].replace("W + 1", str(row["cols"] + 1)).replace("H", str(row["rows"]))
            shared = f"{docs.digits(row['static_shared_bytes'] / 1024)}KB"
            as_printed.append((row["block"], row["grid"], shared, str(row["dynamic_shared_bytes"]))
                              == (printed["block"], grid, printed["static_shared"], printed["dynamic_shared"]))
            registers.setdefault(printed["kernel"], set()).add(row["registers"])
    if len(registers) < 2:
        return unknown()
    found = ", ".join(f"{kernel} {'/'.join(map(str, sorted(counts)))}" for kernel, counts in registers.items())
    same = all(counts == {row["registers"]} for row, counts in
               ((row, registers[row["kernel"]]) for row in docs.paper("chen-2018")["table_2"]["rows"]))
    return f"{sum(as_printed)} of {len(as_printed)} launches alike but for registers: {found}", None, all(as_printed) and same


def newer_npp(record):
    alike, of = (int(word) for word in npp_kernels(record)[0].split(" launches")[0].split(" of "))
    return ("Blocks, grids and shared memory are those of the paper; " if alike == of else "") + \
        "registers are the compiler's, of a newer NPP for another GPU."


def scans_alike(record):
    timed = {(r["algorithm"], r["types"], r["cols"], r.get("parameters")): r["us"] for r in record["tables"] if "us" in r}
    found = []
    for key, us in timed.items():
        other = timed.get((*key[:3], (key[3] or "").replace("scan=kogge-stone", "scan=lf")))
        if "scan=kogge-stone" in (key[3] or "") and other:
            found.append(other / us)
    return unknown() if not found else (f"LF takes {min(found):.2f} to {max(found):.2f}", None, 0.95 <= min(found))


# Ha et al. 2012

def ha_gain(sizes, most):
    def measure(record):
        rows = docs.squares(record, "32f32f")
        found = [docs.ratio(docs.best_us(rows, n, "harris-transpose"), docs.best_us(rows, n, "ha-han")) for n in sizes]
        known = [x for x in found if x]
        return unknown() if not known else (f"{min(known):.2f} to {max(known):.2f}", max(known), max(known) >= most)
    return measure


def small_launches(record):
    whole = {name: [docs.best_us(docs.squares(record, "32f32f"), n, name) for n in (64, 128)] for name in ("ha-han", "harris-transpose")}
    texts = {name: span([us for us in times if us], 1) for name, times in whole.items()}
    return (f"Both are four launches at these sizes, each little but its start: {texts['ha-han']} us together, and "
            f"{texts['harris-transpose']} of the transposition.")


def ha_without_last_turn(record):
    """The comparator's result stays transposed in the paper: its first three passes."""
    gains = []
    for n in (1024, 2048):
        rows = [p for p in record["passes"] if p["algorithm"] == "harris-transpose" and p["types"] == "32f32f"
                and p["rows"] == p["cols"] == n and "us" in p]
        own = docs.best_us(docs.squares(record, "32f32f"), n, "ha-han")
        three = {p["pass"]: p["us"] for p in rows if p["pass"] <= 3}
        if len(three) == 3 and own:
            gains.append(sum(three.values()) / own)
    return unknown() if not gains else (f"{min(gains):.2f} to {max(gains):.2f}", max(gains), max(gains) >= 2)


def ha_drop(record):
    """From 1024 x 2048 to 2048 x 2048, pixels a second."""
    before = docs.megapixels(docs.oblongs(record), 1024, 2048, "harris-transpose")
    after = docs.megapixels(docs.squares(record, "32f32f"), 2048, 2048, "harris-transpose")
    return unknown() if not before or not after else (f"{after / before:.2f} of its pixels a second", None, after < 0.95 * before)


# The notes of 2025

def notes_order(record):
    found = [docs.two_passes(record, name, "32u32u", 128) for name in ("brlt-scanrow", "scanrow-brlt")
             if any(r["algorithm"] == name and r["types"] == "32u32u" and r["cols"] == 128 for r in record["passes"])]
    if len(found) != 2 or None in found:
        return unknown()
    return f"{sum(found[0]):.1f} against {sum(found[1]):.1f} us", None, sum(found[0]) < sum(found[1])


def notes_blur(record):
    blurs = [r["us"] for r in record["tables"] if r["what"] == "box-blur" and "us" in r and r["cols"] == 128]
    return unknown() if not blurs else (f"{min(blurs):.1f} us", min(blurs), min(blurs) <= 8)


# Poostchi et al. 2017

def tensor_us(record, algorithm, n, bins=32, threads=None):
    return (docs.tensor(record, algorithm, n, n, bins, threads) or {}).get("us")


def figure_7(slower, faster, least, most=math.inf, peak=0):
    """Ratios over the sizes, with as many digits as printed: all are between `least` and `most`, and the largest reaches `peak`."""
    def measure(record):
        found = [docs.ratio(tensor_us(record, slower, n), tensor_us(record, faster, n)) for n in docs.edge_lengths(record)]
        known = [round(x, 1) for x in found if x]
        return unknown() if not known else (span([x for x in found if x]), max(x for x in found if x),
                                            least <= min(known) and peak <= max(known) <= most)
    return measure


def part_us(record, algorithm, n, name, bins=32):
    """(microseconds, launches) of the kernels of one name in one computation."""
    row = next((r for r in record["histograms"] if r["what"] == "part" and (r["rows"], r["cols"], r["bins"]) == (n, n, bins)
                and r["algorithm"] == algorithm and name in r["part"] and "us" in r), None)
    return (row["us"], row.get("launches", 1)) if row else None


def transpose_share(record):
    """"About 20 %": nearer to 20 than to 15 or 25."""
    whole, turns = tensor_us(record, "cw-sts", 512), part_us(record, "cw-sts", 512, "transpose")
    if not whole or not turns:
        return unknown()
    share = 100 * turns[0] / turns[1] / whole
    return f"{share:.0f} %", share, 17.5 <= share < 22.5


def turned_back(record):
    whole, (us, launches) = tensor_us(record, "cw-sts", 512), part_us(record, "cw-sts", 512, "transpose")
    return (f"Ours has {launches} transpositions, the second of which turns the tensor back. The printed shares leave no room for it: two "
            "prescans of twice its time are the other four fifths. Of the computation without it a transposition is "
            f"{100 * us / launches / (whole - us / launches):.0f} %.")


def transpose_over_prescan(record):
    """"Almost 50 %"."""
    turns, scans = (part_us(record, "cw-sts", 512, name) for name in ("transpose", "prescan"))
    if not turns or not scans:
        return unknown()
    share = 100 * turns[0] / turns[1] / (scans[0] / scans[1])
    return f"{share:.0f} %", share, 45 <= share < 50.5


def own_prescan_over(other):
    """CW-TiS's scan along rows, all of its launches, over one kernel of CW-STS, which handles the whole tensor."""
    def measure(record):
        own, whole = part_us(record, "cw-tis", 512, "horizontally"), part_us(record, "cw-sts", 512, other)
        if not own or not whole:
            return unknown()
        share = own[0] / (whole[0] / whole[1])
        return f"{share:.2f} times", share, share < 1 if other == "prescan" else 2 / 3 <= share <= 1.5
    return measure


def strips_of_tiles(record):
    us, launches = part_us(record, "cw-tis", 512, "horizontally")
    return (f"CW-TiS's scan along rows is {launches} launches at 512 x 512, one after the other, of {us / launches:.1f} us each; CW-STS's "
            "kernels have the whole tensor in one.")


def blelloch(values):
    """Figure 3's scan: (exclusive sums, working cycles, iterations). A cycle is an addition or a move of a thread."""
    x, cycles, iterations = list(values), 0, 0
    step = 1
    while step < len(x):
        for i in range(2 * step - 1, len(x), 2 * step):
            x[i] += x[i - step]
            cycles += 1
        step, iterations = 2 * step, iterations + 1
    x[-1] = 0
    while step > 1:
        step, iterations = step // 2, iterations + 1
        for i in range(2 * step - 1, len(x), 2 * step):
            x[i - step], x[i] = x[i], x[i] + x[i - step]
            cycles += 2
    return x, cycles, iterations


def scan_efficiency(record):
    """Equation 4, by counting: working cycles over those that n / 2 threads have in all iterations. The record has no part in it."""
    n = 1024
    _, cycles, iterations = blelloch(range(n))
    share = 100 * cycles / (n // 2 * iterations)
    return f"{share:.1f} %, counted", share, round(share) == 30


def upload_rate(record):
    """Bytes a microsecond of the fastest image on its way to the device."""
    rates = [r["rows"] * r["cols"] / us for r in record["histograms"] for us in
             [r["us"] if r["what"] == "upload" and "us" in r else r.get("upload_us") if r["what"].startswith("tasks-") else None] if us]
    return max(rates, default=None)


def initialising_here(record):
    """The least that initialising on the device costs, a memset, against the tensor's way there: measured, or at the rate of the
    fastest image."""
    rate, slower = upload_rate(record), []
    for n in docs.edge_lengths(record):
        memset, link = (docs.plain_us(record, what, n, n, 32) for what in ("memset", "upload-tensor"))
        link = link or (4 * 32 * n * n / rate if rate else None)
        if memset and link:
            slower.append(link / memset)
    return unknown() if not slower else (f"{min(slower):.0f} to {max(slower):.0f} times", None, min(slower) > 1)


def wave_fronts(record):
    return [r for r in record["histograms"] if r["what"] == "tensor" and r["algorithm"] == "wf-tis" and "us" in r
            and (r["rows"], r["cols"], r["bins"]) == (512, 512, 32)]


DEFAULT_THREADS = "256"  # of wf-tis, whose row without parameters is that with tiles of 64


def best_threads(record):
    rows = wave_fronts(record)
    if len(rows) < 2:
        return unknown()
    threads = docs.parameter(min(rows, key=lambda r: r["us"]), "threads") or DEFAULT_THREADS
    return threads, None, threads == "512"


def tiles_in_order(record):
    best = {}
    for row in wave_fronts(record):
        tile = docs.parameter(row, "tile") or docs.parameter(row, "TILE") or docs.parameter(row, "T") or "64"
        best[tile] = min(row["us"], best.get(tile, math.inf))
    if not {"16", "32", "64"} <= set(best):
        return unknown()
    return " < ".join(sorted(best, key=best.get)), None, best["64"] < best["32"] < best["16"]


def bound_by_copies(record):
    n = 512
    copies = [docs.plain_us(record, what, n, n, 32) for what in ("upload", "download")]
    times = {name: tensor_us(record, name, n) for name in ("cw-b", "cw-sts", "cw-tis", "wf-tis")}
    if None in copies or None in times.values():
        return unknown()
    kernels = [name for name, us in times.items() if us > sum(copies)]
    return f"computing longer: {', '.join(kernels) or 'none'}", None, kernels == ["cw-b"]


def frames_of(record, bins):
    """{buffers: row} of wf-tis on 1280 x 720."""
    return {r["buffers"]: r for r in record["histograms"] if r["what"] == "frames" and r["algorithm"] == "wf-tis" and r["bins"] == bins
            and (r["rows"], r["cols"]) == (720, 1280) and "us" in r}


def second_buffer(bins, least, most):
    def measure(record):
        rows = frames_of(record, bins)
        gain = docs.ratio(*(rows.get(buffers, {}).get("us") for buffers in (1, 2)))
        return unknown() if gain is None else (f"{gain:.2f}", gain, least <= gain <= most)
    return measure


def idle_link(bins):
    """Why a second buffer gains what it does."""
    def text(record):
        one, two = (frames_of(record, bins)[buffers] for buffers in (1, 2))
        return (f"With one buffer the link to the host is busy for {100 * one['download_us'] / one['us']:.0f} % of a frame, with two for "
                f"{100 * two['download_us'] / two['us']:.0f} %: kernels and the host's own work, which a second buffer hides, are the "
                "rest.")
    return text


def overlapped_frames(record):
    """[(row, its time over the longer of its kernels and its copies)] of wf-tis with two buffers."""
    rows = [r for r in record["histograms"] if r["what"] == "frames" and r["algorithm"] == "wf-tis" and r["buffers"] == 2
            and {"us", "compute_us", "upload_us", "download_us"} <= set(r)]
    return [(r, r["us"] / max(r["compute_us"], r["upload_us"] + r["download_us"])) for r in rows]


def longer_of_both(record):
    found = [over for _, over in overlapped_frames(record)]
    return unknown() if not found else (span(found), None, 0.9 <= min(found) and max(found) <= 1.1)


def longer_frames(record):
    longer = [f"{r['cols']} x {r['rows']}, {r['bins']} bins ({r['us']:.0f} us)" for r, over in overlapped_frames(record)
              if not 0.9 <= over <= 1.1]
    return f"Not of {'; '.join(longer)}: the host's work between stages is in neither."


def frame_rate_by_bins(record):
    """512 x 512: time a frame and bin at the most bins over that at the fewest."""
    bins = sorted({r["bins"] for r in record["histograms"] if r["what"] == "tensor" and r["rows"] == r["cols"] == 512})
    times = {b: docs.frame_us(record, ("wf-tis", "wf-tis", 0), 512, b) for b in bins}
    known = {b: us for b, us in times.items() if us}
    if len(known) < 2:
        return unknown()
    shares = [us / b for b, us in known.items()]
    return f"{span([x / shares[0] for x in shares])} of the time a bin with {min(known)}", None, max(shares) <= 1.1 * min(shares)


def large_rates(bins_of):
    """Figure 16: frames a second of bins as tasks whose tensors go to the host."""
    def measure(record):
        rows = [r for r in record["histograms"] if r["what"] == "tasks-host" and r["algorithm"] == "wf-tis" and "us" in r and bins_of(r)]
        rates = {}
        for r in rows:
            key = (r["image"], r["bins"])
            rates[key] = max(1e6 / r["us"], rates.get(key, 0))
        return unknown() if not rates else (", ".join(f"{image} {docs.digits(rate)}" if bins_of is of_32_bins else
                                                      f"{image} x {bins} {docs.digits(rate)}" for (image, bins), rate in rates.items()),
                                            None, NO_VALUE)
    return measure


def of_32_bins(row):
    return row["bins"] == 32


def of_small_images(row):
    return row["image"] in ("HD", "FHD")


def frames_a_second(rows, cols, printed):
    def measure(record):
        copies = [docs.plain_us(record, what, rows, cols, 32) for what in ("upload", "download")]
        row = docs.tensor(record, "wf-tis", rows, cols, 32)
        if not row or "us" not in row or None in copies:
            return unknown()
        rate = 1e6 / max(row["us"], sum(copies))
        return f"{rate:.0f}", rate, rate >= printed
    return measure


def large_image_row(record, rows):
    """The fastest of wf-tis, 128 bins, to the host."""
    return min((r for r in record["histograms"] if r["what"] == "tasks-host" and r["algorithm"] == "wf-tis" and r["bins"] == 128
                and r["rows"] == rows and r["backend"] == "cuda" and "us" in r), key=lambda r: r["us"], default=None)


def large_image(printed):
    def measure(record):
        row = large_image_row(record, 8192)
        return unknown() if row is None else (f"{1e6 / row['us']:.2f}", 1e6 / row["us"], 1e6 / row["us"] >= printed)
    return measure


def large_over_cpu(rows, cols, threads, printed):
    """Bins as tasks, to the host, over Algorithm 1 on so many threads."""
    def measure(record):
        row, cpu = large_image_row(record, rows), docs.tensor(record, "sequential", rows, cols, 128, threads)
        gain = docs.ratio((cpu or {}).get("us"), (row or {}).get("us"))
        return unknown() if gain is None else (f"{gain:.1f}", gain, gain >= printed)
    return measure


def one_link(record):
    row = large_image_row(record, 8192)
    return (f"{row['workers']} GPU{'s' * (row['workers'] > 1)} where the paper had four, each with its link: the way to the host alone is "
            f"{100 * row['link_us'] / row['us']:.0f} % of the time.")


def over_cpu(threads, least, most=math.inf):
    """wf-tis with its copies over Algorithm 1 on so many threads, at the paper's 512 x 512 and any number of bins: all between."""
    def measure(record):
        found = []
        for bins in sorted({r["bins"] for r in record["histograms"] if r["what"] == "tensor" and r["rows"] == r["cols"] == 512}):
            gpu = docs.frame_us(record, ("wf-tis", "wf-tis", 0), 512, bins)
            cpu = tensor_us(record, "sequential", 512, bins, threads)
            if gpu and cpu:
                found.append(cpu / gpu)
        return unknown() if not found else (span(found, 1), max(found), least <= min(found) and max(found) <= most)
    return measure


def link_over_kernels(record):
    """Why the GPU's frames are late: at 512 x 512 and 32 bins."""
    link, kernels = docs.plain_us(record, "download", 512, 512, 32), tensor_us(record, "wf-tis", 512)
    return f"The link bounds the GPU: a tensor's way to the host takes {link / kernels:.1f} times as long as its kernels."


def diagonals(record):
    found = [part_us(record, "wf-tis", n, "wave_front") for n in docs.edge_lengths(record)]
    launches = [us / count for us, count in filter(None, found)]
    return (f"A launch a diagonal takes {span(launches, 1)} us, whatever the tiles do; at these sizes that decides." if launches else
            "A launch a diagonal takes its time, whatever the tiles do.")


# SSAM

def ssam_us(record, algorithm, side):
    """`auto` was `systolic` where a record does not have it."""
    times = {r.get("algorithm"): r["us"] for r in record["rows"]
             if r["section"] == "convolve" and r.get("side") == side and "us" in r}
    return times.get(algorithm, times.get("systolic") if algorithm == "auto" else None)


def ssam_figure_4(side, printed):
    """At most the printed time, read off the drawing."""
    def measure(record):
        us = ssam_us(record, "ssam", side)
        return unknown() if us is None else (f"{us / 1000:.2f} ms", us / 1000, us / 1000 <= printed)
    return measure


def gains_over(record, algorithm, peer):
    """{side: times as fast as a library}, at the figure's kernels."""
    found = {}
    for side in docs.paper("ssam-2019")["figure_4"]["sides"]:
        theirs = next((r["us"] for r in record["rows"] if r["section"] == "convolve" and r.get("side") == side and "us" in r
                       and peer in r.get("algorithm", "")), None)
        gain = docs.ratio(theirs, ssam_us(record, algorithm, side))
        if gain:
            found[side] = gain
    return found


def ssam_over(algorithm, peer, but=()):
    """Faster than a library at all sizes of the figure but those named."""
    def measure(record):
        gains = gains_over(record, algorithm, peer)
        return unknown() if not gains else (span(gains.values()), None, all(x >= 1 for side, x in gains.items() if side not in but))
    return measure


def printed_gains():
    figure = docs.paper("ssam-2019")["figure_4"]
    return {side: npp / ssam for side, npp, ssam in zip(figure["sides"], figure["V100"]["NPP"], figure["V100"]["SSAM"])}


def ssam_mean_gain(record):
    """Over NPP, the mean of all sizes, as far as the drawing of the V100 has it."""
    gains = gains_over(record, "ssam", "NPP")
    mean, printed = (sum(x.values()) / len(x) if x else 0 for x in (gains, printed_gains()))
    return unknown() if not gains else (f"{mean:.2f}", mean, mean >= printed)


def behind_npp(record):
    late = [f"{side} x {side}: {1 / x:.2f} times NPP's time, {ssam_us(record, 'ssam', side) / ssam_us(record, 'auto', side):.2f} times that "
            "of `auto`" for side, x in gains_over(record, "ssam", "NPP").items() if x < 1]
    return (f"At {'; '.join(late)}. With a column a lane it is bound by its instructions here, where memory bounded it on a V100, whose "
            "times are alike up to 7 x 7.")


def npp_gained(record):
    """Both beside their printed times on a V100."""
    figure = docs.paper("ssam-2019")["figure_4"]
    shares = {}
    for name, algorithm in (("SSAM", "ssam"), ("NPP", "NPP nppiFilter_32f_C1R")):
        times = [(ssam_us(record, algorithm, side), ms) for side, ms in zip(figure["sides"], figure["V100"][name])]
        shares[name] = span([us / 1000 / ms for us, ms in times if us])
    return f"SSAM's kernels take {shares['SSAM']} of their time on a V100, NPP's {shares['NPP']}."


def behind_fft(record):
    late = [side for side, x in gains_over(record, "ssam", "cuFFT").items() if x < 1]
    return (f"At {', '.join(f'{side} x {side}' for side in late)} the transforms are faster: they take the same time at "
            "every size.")


def ssam_latencies(clocks, side):
    """Clocks of a result of a square kernel that reads its image from shared memory, and that reads it from registers and hands
    sums on by shuffles. Registers take none beside the multiplication, whose chain is measured with its registers."""
    products, shared = side * side, clocks["shared"]
    return products * (clocks["add"] + 2 * shared), products * (clocks["add"] + shared) + (side - 1) * clocks["shuffle"]


def ssam_clocks(record):
    gpu = docs.measured_gpu(record)
    return gpu and {name: gpu[f"{name}_latency"] for name in ("shared", "add", "shuffle")}


def printed_clocks(gpu):
    return docs.paper("ssam-2019")["model"]["latencies"][gpu]


def ssam_saves(clocks):
    """What the register cache saves: M N T_smem - (M - 1) T_shfl, of each kernel of figure 4."""
    return [shared - registers for shared, registers in (ssam_latencies(clocks, side) for side in docs.paper("ssam-2019")["figure_4"]["sides"])]


def ssam_least_saved(record):
    clocks = ssam_clocks(record)
    if not clocks:
        return unknown()
    saved = ssam_saves(clocks)
    return f"{min(saved):.0f} clocks", min(saved), min(saved) > 0


def ssam_model(side):
    def measure(record):
        clocks = ssam_clocks(record)
        if not clocks:
            return unknown()
        shared, registers = ssam_latencies(clocks, side)
        return f"{shared:.0f} over {registers:.0f} clocks, {shared / registers:.2f}", shared / registers, shared > registers
    return measure


def shadows_in_time(edge, most_ms):
    """The slowest frame of variance shadows from maps of a size, their tables included."""
    def measure(record):
        rows = [r for r in record["rows"] if r["section"] == "shadows" and r.get("map") == edge and "frame_us" in r]
        if not rows:
            return unknown()
        slowest = max(r["frame_us"] for r in rows) / 1000
        return f"{min(r['frame_us'] for r in rows) / 1000:.2f} to {slowest:.2f} ms", slowest, slowest <= most_ms
    return measure


def recursive_over_copy(edge, most):
    def measure(record):
        x = next((r["x"] for r in record["rows"] if r["section"] == "recursive" and r.get("type") == "32f" and r.get("n") == edge),
                 None)
        return unknown() if x is None else (f"{x:.2f} times", x, x <= most)
    return measure


CLAIMS = (
    Claim("emoto-2018", "Table I", "kernels of a call", "2, 2, 3, 2n/W - 1, 2(1 - sqrt r)n/W + 5, 1, 1", launches_as_printed,
          "A region of no diagonals, or one whose corners meet, has fewer launches than the formula."),
    Claim("emoto-2018", "Table III", "1R1W-SKSS-LB is the fastest at all sizes", None,
          ranking("1r1w-skss-lb", [name for name in EMOTO if name != "1r1w-skss-lb"]),
          "Sums that are looked back at come from the second-level cache in the same time on any GPU."),
    Claim("emoto-2018", "Table III, abstract", "1R1W-SKSS-LB takes 5.7 % more than a copy at 8192 x 8192", 5.7,
          overhead_at("1r1w-skss-lb", 8192, 5.7), look_back_waits),
    Claim("emoto-2018", "Table III", "1R1W-SKSS is second from 2048 x 2048 on", None,
          ranking("1r1w-skss", ("2r2w", "2r2w-optimal", "2r1w", "1r1w", "1r1w-hybrid"), (2048, 4096, 8192, 16384, 32768)),
          "Its chain of n/W blocks, each waiting for the one on the left, takes a fixed time a tile; 2R1W has no such chain."),
    Claim("emoto-2018", "Table III", "1R1W and (1+r)R1W are before 2R1W at 32768 x 32768: 42.9 % and 40.1 % against 55.1 %", None,
          lambda record: ((lambda a, b, c: unknown() if None in (a, b, c) else (
              f"{100 * a:.0f} % and {100 * b:.0f} % against {100 * c:.0f} %", None, max(a, b) < c))(
                  *(over_copy(record, name, 32768) for name in ("1r1w", "1r1w-hybrid", "2r1w")))),
          launches_a_diagonal),
    Claim("emoto-2018", "section V", "2R2W-optimal takes at least 100 % more than a copy", 100, at_least("2r2w-optimal", 1.0)),
    Claim("emoto-2018", "section V", "2R1W takes at least 50 % more than a copy", 50, at_least("2r1w", 0.5),
          "A second-level cache that holds the image serves the second read."),
    Claim("emoto-2018", "section V", "2R2W is the slowest", None, slowest("2r2w"),
          "At 256 x 256 a launch for each of few diagonals costs more than strided reads of a cache."),
    Claim("emoto-2018", "section V", "no tile algorithm takes less than 100 % over a copy up to 512 x 512", 100,
          no_tile_algorithm_below(100, 512)),

    Claim("chen-2018", "Table I", "registers of a multiprocessor are more than 2.7 times its shared memory", 2.7, registers_over_shared,
          kept_registers),
    Claim("chen-2018", "Table II", "blocks, grids, registers (scanRow 20, scanCol 18) and shared memory of NPP's kernels", None, npp_kernels,
          newer_npp),
    Claim("chen-2018", "section V, (6)", "L_transpose + L_scan_col << L_scan_row", None, chen_model("(6)")),
    Claim("chen-2018", "section V, (14)", "T_Kogge-Stone_add + T_shuffle >> T_trans + T_scan_col_add", None, chen_model("(14)"),
          "Nor does it with the paper's own numbers for P100 and V100, for 4-byte elements: equation 12 divides instructions of a "
          "warp by lanes a clock."),
    Claim("chen-2018", "section V, (15)", "T_LF_add + T_LF_and + T_shuffle >> T_trans + T_scan_col_add", None, chen_model("(15)")),
    Claim("chen-2018", "section VI.C", "BRLT-ScanRow is the fastest of the three, 32f32f", None, chen_fastest("32f32f"),
          "n/32 blocks do not fill 132 multiprocessors below 4096, and the ScanRow of our scanrow-column has 32 independent scans a "
          "step where the paper's are chained, so that it is the faster one at larger sizes, too."),
    Claim("chen-2018", "section VI.C", "BRLT-ScanRow is the fastest of the three, 8u32s", None, chen_fastest("8u32s"),
          "As for 32f32f."),
    Claim("chen-2018", "section VI.C", "BRLT-ScanRow is the fastest of the three, 64f64f", None, chen_fastest("64f64f"),
          "As for 32f32f."),
    Claim("chen-2018", "section VI.C", "up to 3.2 times as fast as NPP, 8u32s", 3.2, chen_over("npp", "8u32s"),
          beyond="NPP's scanCol has a block for every column, 256 rows deep, so that each thread reads another line of memory: its time "
          "does not shrink with faster memory as the three's does."),
    Claim("chen-2018", "section VI.C", "up to 2.3 times as fast as OpenCV, 8u32s", 2.3, chen_over("opencv-cuda", "8u32s")),
    *(Claim("chen-2018", "section VI.C, figures 6 and 7",
            f"up to 2.3 times as fast as OpenCV's scan-scan, {types}; here as section VI.B.2 tells it", 2.3,
            chen_over("opencv-scan-scan", types),
            beyond="Its second pass has a thread a column, one row after the other: too few threads for 132 multiprocessors.")
      for types in ("8u32s", "32f32f", "32u32u", "64f64f")),
    Claim("chen-2018", "section VI.C.4", "64f64f: BRLT-ScanRow is faster than OpenCV up to 6K; here than its scan-scan", None,
          chen_ahead_up_to("64f64f", 6144)),
    Claim("chen-2018", "section VI.C", "over OpenCV the gain of 32f32f disappears for larger matrices; here over its scan-scan", None,
          chen_gain_shrinks("32f32f"),
          "It shrinks but stays: a thread a column leaves so many multiprocessors idle that its bandwidth is not reached at 20K "
          "either. Registers are not what is short here; no kernel of the three spills."),
    Claim("chen-2018", "section VI.C.1", "the LF-scan gives no gain over Kogge-Stone", None, scans_alike),
    Claim("chen-2018", "section VI.D, (1)", "T_ScanColumn < T_BRLT-ScanRow, 1K to 4K", None, chen_inequality(0),
          hidden_transposition),
    Claim("chen-2018", "section VI.D, (2)", "2 T_BRLT-ScanRow < T_ScanRow + T_ScanColumn, 1K to 4K", None, chen_inequality(1),
          "Our ScanRow is a faster one than the paper's: its 32 scans a step are independent, and its warps own rows, so that n rows "
          "fill the device where n/32 blocks do not."),
    Claim("chen-2018", "section VI.D, (3)", "T_BRLT-ScanRow > T_ScanRow-BRLT, as printed", None, chen_inequality(2),
          "The text below it explains the opposite, which is so."),
    Claim("chen-2018", "section VI.D, (3)", "T_BRLT-ScanRow < T_ScanRow-BRLT, as explained", None, chen_inequality(2, True)),

    Claim("ha-2012", "figure 5", "up to 2.5 times as fast as the transposition, below 256 x 256", 2.5, ha_gain((64, 128), 2.5),
          small_launches),
    Claim("ha-2012", "figure 5", "up to twice as fast, from 256 x 256 on", 2.0, ha_gain((256, 512, 1024, 2048), 2.0)),
    Claim("ha-2012", "figure 5", "the same without the comparator's last transposition, which the paper leaves out", 2.0,
          ha_without_last_turn,
          "The paper's GPU had 16 multiprocessors: the second pass, one block, is a larger share on 132."),

    Claim("ha-2012", "section 5", "the transposition's throughput drops past 1024 x 2048", None, ha_drop,
          "There the input was split into parts of a manageable size, whose results were combined; here the whole is one table."),

    Claim("notes-2025", "'time'", "BRLT-ScanRow's passes are shorter than ScanRow-BRLT's (23 against 46 us)", None, notes_order),
    Claim("notes-2025", "'time'", "box blur of 128 x 128, us; here with its table, or by `box_filter`, which makes none", 8, notes_blur,
          "The notes' time is without the table. A window's sums are walked down the rows one after the other, a fixed chain on small "
          "images."),

    *(Claim("notes-2025", "'SAVSM(GPU gem3)'", f"in real time: a frame of 1080 x 1920 from a map of {edge} x {edge}, its tables "
            "included, in a sixtieth of a second", None, shadows_in_time(edge, 16.7), kind="convolve") for edge in (1024, 2048)),
    Claim("notes-2025", "'2011' (Nehab et al.)", "a recursive filter reads twice and writes once: at 8192 x 8192 within twice a "
          "copy's time", None, recursive_over_copy(8192, 2),
          "By its accesses it is; but the walks over the tiles of a line are chains of 2n/32 trips to memory, twice, by as many threads "
          "as there are lines, a time that no bandwidth shortens.", kind="convolve"),

    Claim("poostchi-2017", "section 3.4, (4)", "efficiency of a work-efficient scan of 1024 elements, %", 30, scan_efficiency,
          kind="hist"),
    Claim("poostchi-2017", "section 3.1", "initialising on the GPU is faster than copying an initialised tensor there; here a memset "
          "against as many bytes to the device", None, initialising_here, kind="hist"),
    Claim("poostchi-2017", "figure 7", "CW-B takes over 30 times CW-STS", 30, figure_7("cw-b", "cw-sts", 30), kind="hist",
          beyond="CW-B is a launch for every row, column and transposition of every bin, some microseconds each on any GPU, while what "
          "they compute got faster."),
    Claim("poostchi-2017", "figure 7", "CW-STS takes two to three times CW-TiS", 3, figure_7("cw-sts", "cw-tis", 2, 3), strips_of_tiles,
          kind="hist"),
    Claim("poostchi-2017", "figure 7", "CW-TiS takes up to about 1.5 times WF-TiS, and never less", 1.5,
          figure_7("cw-tis", "wf-tis", 1, peak=1.5), diagonals, kind="hist"),
    Claim("poostchi-2017", "figure 8", "a transposition is about a fifth of CW-STS at 512 x 512, %", 20, transpose_share, turned_back,
          kind="hist"),
    Claim("poostchi-2017", "figure 8", "and almost half of a prescan, %", 50, transpose_over_prescan, kind="hist"),
    Claim("poostchi-2017", "figure 8", "CW-TiS's own scan takes about as long as the transposition; here within a half", 1,
          own_prescan_over("transpose"), strips_of_tiles, kind="hist"),
    Claim("poostchi-2017", "figure 8", "and less than the prescan", 1, own_prescan_over("prescan"), strips_of_tiles, kind="hist"),
    Claim("poostchi-2017", "figure 9", "512 threads are best", None, best_threads, kind="hist"),
    Claim("poostchi-2017", "figure 10", "tiles of 64 are faster than of 32, these than of 16", None, tiles_in_order, kind="hist"),
    Claim("poostchi-2017", "figure 11", "only CW-B computes longer than its copies take, 512 x 512", None, bound_by_copies,
          kind="hist"),
    Claim("poostchi-2017", "figure 13", "a second buffer gains a factor of two with 16 bins; here a tenth more or less", 2,
          second_buffer(16, 1.8, 2.2), idle_link(16), kind="hist"),
    Claim("poostchi-2017", "figure 13", "and next to nothing with 128 bins; here at most a tenth", 1, second_buffer(128, 0.9, 1.1),
          idle_link(128), kind="hist"),
    Claim("poostchi-2017", "figure 14", "with two buffers a frame takes the longer of kernels and copies; here within a tenth", None,
          longer_of_both, longer_frames, kind="hist"),
    Claim("poostchi-2017", "figure 15", "135 frames a second on a K40c, 512 x 512, 32 bins", 135, frames_a_second(512, 512, 135),
          kind="hist"),
    Claim("poostchi-2017", "figure 15", "351 frames a second on a GTX Titan X, 512 x 512, 32 bins", 351,
          frames_a_second(512, 512, 351), kind="hist"),
    Claim("poostchi-2017", "figure 15", "frame rates fall in proportion to the bins, 512 x 512; here within a tenth", None,
          frame_rate_by_bins, kind="hist"),
    Claim("poostchi-2017", "figure 16 (a)", "frames a second of large images, 32 bins, to the host", None, large_rates(of_32_bins), kind="hist"),
    Claim("poostchi-2017", "figure 16 (b)", "frames a second of HD and FHD images and so many bins, to the host", None,
          large_rates(of_small_images), kind="hist"),
    Claim("poostchi-2017", "abstract, figure 17", "0.73 frames a second: 8192 x 8192, 128 bins, to the host", 0.73, large_image(0.73),
          kind="hist"),
    Claim("poostchi-2017", "figure 17", "3 times as fast as one thread: 1280 x 720, 128 bins", 3, large_over_cpu(720, 1280, 1, 3),
          one_link, kind="hist"),
    Claim("poostchi-2017", "abstract, figure 17", "153 times as fast as one thread: 8192 x 8192, 128 bins", 153,
          large_over_cpu(8192, 8192, 1, 153), one_link, kind="hist"),
    Claim("poostchi-2017", "abstract, figure 17", "45 times as fast as 16 threads: 8192 x 8192, 128 bins", 45,
          large_over_cpu(8192, 8192, 16, 45), one_link, kind="hist"),
    Claim("poostchi-2017", "figure 19", "about 60 times as fast as one thread; here 55 to 65 with any number of bins", 60,
          over_cpu(1, 55, 65), link_over_kernels, kind="hist"),
    Claim("poostchi-2017", "figure 19", "8 to 30 times as fast as 16 threads of Algorithm 1", 8, over_cpu(16, 8, 30), link_over_kernels,
          kind="hist"),
    Claim("poostchi-2017", "figure 20", "300.4 frames a second, 640 x 480", 300.4, frames_a_second(480, 640, 300.4), kind="hist"),

    Claim("ssam-2019", "section 4, latency model",
          "L_smem - L_reg = M N T_smem - (M - 1) T_shfl > 0 from 2 x 2 to 20 x 20: clocks, the least; printed are Table 2's of a V100. "
          "Registers count with the addition, in whose chain they are",
          min(ssam_saves(printed_clocks("V100"))), ssam_least_saved,
          "A shuffle takes so much longer than a read of shared memory here that a kernel's few products do not make up for it."),
    *(Claim("ssam-2019", "section 4, latency model", f"L_smem > L_reg, {side} x {side}: their ratio; printed is a V100's",
            round((lambda pair: pair[0] / pair[1])(ssam_latencies(printed_clocks("V100"), side)), 2), ssam_model(side),
            "As above.") for side in (3, 7, 13, 20)),
    *(Claim("ssam-2019", "figure 4", f"SSAM, {side} x {side}, 8192 x 8192, 32f, on a V100, ms", printed, ssam_figure_4(side, printed),
            kind="convolve")
      for side, printed in zip(docs.paper("ssam-2019")["figure_4"]["sides"], docs.paper("ssam-2019")["figure_4"]["V100"]["SSAM"])),
    Claim("ssam-2019", "figure 4", "SSAM is faster than NPP but at 3 x 3, where NPP is; 5 x 5 is near", None, ssam_over("ssam", "NPP", (3,)),
          behind_npp, kind="convolve"),
    Claim("ssam-2019", "figure 4", "SSAM over NPP on a V100, mean of all sizes", round(sum(printed_gains().values()) / len(printed_gains()), 2),
          ssam_mean_gain, npp_gained, kind="convolve"),
    *(Claim("ssam-2019", "figure 4", f"faster than {peer} from 2 x 2 to 20 x 20; here `{algorithm}`, times as fast", None,
            ssam_over(algorithm, peer), behind, kind="convolve")
      for peer, algorithm, behind in (("NPP", "auto", ""), ("PyTorch", "ssam", ""), ("PyTorch", "auto", ""),
                                      ("cuFFT", "ssam", behind_fft), ("cuFFT", "auto", ""))),
)


FAR = 1.5  # times the printed value


def verdict(claim, number, holds, record):
    if holds is None:
        return "not measured"
    if holds is NO_VALUE:
        return "nothing to compare: our extract has lost the curve"
    if not holds:
        return f"does not hold. {(claim.why(record) if callable(claim.why) else claim.why) or 'Not explained yet.'}"
    far = claim.beyond and number is not None and number > FAR * claim.printed
    return f"holds. {claim.beyond}" if far else "holds"


def lines(record, kind, paper):
    rows = []
    for claim in CLAIMS:
        if (claim.kind, claim.paper) != (kind, paper):
            continue
        text, number, holds = claim.measure(record)
        over = docs.digits(number / claim.printed) if number is not None and isinstance(claim.printed, (int, float)) else docs.NOTHING
        rows.append([claim.place, claim.says, verdict(claim, number, holds, record), docs.NOTHING if claim.printed is None else claim.printed, text,
                     over])
    return rows


def side_by_side(record):
    """Table III: overheads as printed and here."""
    third = docs.paper("emoto-2018")["table_3"]
    sizes = emoto_sizes(record)
    rows = []
    for name, printed in third["overhead_percent"].items():
        of = dict(zip(third["sizes"], printed))
        ours = {n: over_copy(record, name, n) for n in sizes}
        best = {n: (docs.best(docs.squares(record, "32f32f"), n, name) or {}).get("parameters", "") for n in sizes}
        rows.append([name, "printed", *(f"{of[n]:.1f} %" for n in sizes)])
        rows.append(["", "here", *(docs.NOTHING if ours[n] is None else f"{100 * ours[n]:.1f} %" for n in sizes)])
        rows.append(["", "time over a copy, over the printed one",
                     *(docs.NOTHING if ours[n] is None else docs.digits((1 + ours[n]) / (1 + of[n] / 100)) for n in sizes)])
        rows.append(["", "best parameters", *(best[n].replace(",", ", ") or docs.NOTHING for n in sizes)])
    return docs.table(["overhead over a copy", "", *map(docs.size, sizes)], rows, 2) if sizes else ""


FILES = {"sat": "bench-zoo.json", "hist": "bench-hist-papers.json", "convolve": "bench-sat.json"}


def records(root=docs.ROOT):
    """[(kind, path, record)], of one machine each: the first that has the file."""
    for kind, name in FILES.items():
        for path in sorted(root.glob(f"results/*/{name}"))[:1]:
            yield kind, path, docs.read(path)


def part():
    text = ""
    for paper in dict.fromkeys(claim.paper for claim in CLAIMS):
        printed = docs.paper(paper)
        text += f"## {printed['citation']}\n\nMeasured by its authors on {printed['machine']}.\n\n"
        for kind, path, record in records():
            rows = lines(record, kind, paper)
            if not rows:
                continue
            text += (f"{record['device']}, commit {record['commit'][:12]} (`{path.relative_to(docs.ROOT)}`):\n\n" +
                     docs.table(["place", "what it says", "verdict", "printed", "here", "over the printed"], rows, 3))
            if paper == "emoto-2018":
                text += "Table III, overheads:\n\n" + side_by_side(record)
    return text
