"""The generated parts of docs/algorithms.md and docs/histogram-algorithms.md, for scripts/update_docs: what the registry, the head
comments of src/cuda/zoo and src/cuda/histogram, the papers' printed figures (benchmarks/papers) and the records of `boxsum bench`
(results/*/bench-zoo.json, bench-hist-papers.json) say, or where a machine has none of tables those of `make bench-gpu`
(bench-sat.json: every algorithm with its default parameters).
Nothing is invented: where there is no record, or no figure in our extract of a paper, that is what stands there.
"""

import json
import pathlib
import re
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
SIZES = (1024, 4096, 8192, 16384)
NOT_MEASURED = "not measured yet"
NOT_PRINTED = "not in the extract"


def registry(build, operation="sat"):
    listed = subprocess.run([build / "bin" / "boxsum", "algorithms", "--operation", operation, "--params", "--json"],
                            capture_output=True, text=True, check=True).stdout
    return [a for a in json.loads(listed) if a["backend"] == "cuda"]


def records(root=ROOT):
    """[("h200/bench-zoo.json", the record)], one a machine."""
    folders = sorted(folder for folder in root.glob("results/*") if folder.is_dir())
    paths = [next((path for path in (folder / "bench-zoo.json", folder / "bench-sat.json") if path.exists()), None)
             for folder in folders]
    return [(f"{path.parent.name}/{path.name}", json.loads(path.read_text(encoding="utf-8"))) for path in paths if path]


def paper(key):
    return json.loads((ROOT / "benchmarks" / "papers" / f"{key}.json").read_text(encoding="utf-8"))


def measured(record, name, size, types="32f32f"):
    """The best time of an algorithm over a copy of the same bytes in the same record; nothing where either is missing."""
    if "tables" not in record:  # of `make bench-gpu`
        return next((row["x"] for row in record["rows"] if row["section"] == "algorithms" and "x" in row and
                     (row["algorithm"], row["types"], row["n"]) == (name, types, size)), None)

    def best(what, algorithm):
        times = [row["us"] for row in record["tables"] if row["what"] == what and row["algorithm"] == algorithm and
                 row["types"] == types and row["rows"] == row["cols"] == size and "us" in row]
        return min(times, default=None)
    own, copy = best("table", name), best("copy", "duplication")
    return own / copy if own and copy else None


def cell(value):
    return f"{value:.2f}" if value is not None else "-"


def printed_in_table_3(name):
    table = paper("emoto-2018")["table_3"]
    times = {size: [row["ms"][i] for row in table["rows"] if row["algorithm"] == name]
             for i, size in enumerate(table["sizes"])}
    if not times[SIZES[0]]:
        return None
    percents = dict(zip(table["sizes"], table["overhead_percent"][name]))
    shown = "; ".join(f"{size // 1024}K^2 {min(times[size]):g} ms, {percents[size]:g} % over a copy" for size in SIZES)
    return f"Emoto et al. 2018, Table III ({paper('emoto-2018')['machine']}, 32f32f, best W): {shown}"


def printed(name):
    """What the papers print about an algorithm's speed, each with its place."""
    if name in ("fast", "outwards"):
        return ["none: it is boxsum's own"]
    found = []
    if printed_in_table_3(name):
        found.append(printed_in_table_3(name))
    notes = paper("notes-2025")["time"]
    for row in notes["rows"]:
        if row["algorithm"] == name:
            pairs = ", ".join(f"{column} {us} us" for column, us in zip(notes["columns"], row["us"]))
            found.append(f"notes of 2025, {notes['source']}: {pairs} (GPU and image of the passes {NOT_PRINTED})")
    speed = paper("chen-2018")["speedups"]
    if name == "brlt-scanrow":  # "our fastest algorithm, namely BRLT-ScanRow"
        found.append(f"Chen et al. 2018, {speed['source']}: up to {speed['opencv_up_to']}x as fast as OpenCV and "
                     f"{speed['npp_up_to']}x as NPP ({paper('chen-2018')['machine']}); the curves of figures 6 and 7 are "
                     f"{NOT_PRINTED}")
    if name in ("scanrow-brlt", "scanrow-column"):
        found.append(f"Chen et al. 2018, figures 6 to 8: {NOT_PRINTED}")
    figure = paper("ha-2012")["figure_5"]
    if name == "ha-han":
        found.append(f"Ha et al. 2012, section 5 ({paper('ha-2012')['machine']}): up to {figure['small_up_to']} times as fast "
                     f"as harris-transpose under 256^2, up to {figure['large_up_to']:g} times above; the curves of figure 5 "
                     f"are {NOT_PRINTED}")
    if name == "harris-transpose":
        found.append(f"Ha et al. 2012, figure 5: {NOT_PRINTED}")
    return found or [NOT_PRINTED]


def table(build):
    """All GPU algorithms with their measured time over a copy."""
    known = records()
    lines = []
    for name_of_file, record in known:
        state = ", tree with changes" if record.get("changed") else ""
        lines.append(f"{record['device']}, commit {record['commit'][:12]}{state}, {record['date'][:10]} "
                     f"(`results/{name_of_file}`):\n\n")
        lines.append(rows(registry(build), lambda name: [cell(measured(record, name, size)) for size in SIZES]) + "\n")
    if not known:
        lines.append(rows(registry(build), lambda name: [NOT_MEASURED] + [""] * (len(SIZES) - 1)))
    return "".join(lines)


def rows(algorithms, columns):
    heads = "".join(f" {size // 1024}K^2 |" for size in SIZES)
    text = f"| algorithm | idea | paper |{heads}\n|---|---|---|" + "--:|" * len(SIZES) + "\n"
    for a in algorithms:
        link = f"[`{a['name']}`](#{a['name']})"
        text += f"| {link} | {a['title']} | {a['paper']} | " + " | ".join(columns(a["name"])) + " |\n"
    return text


def head_comment(path):
    """The comment at the top of a file as Markdown: prose as paragraphs, indented pictures as they stand."""
    lines = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("//"):
            break
        lines.append(line[3:])
    blocks, text = re.split(r"\n\s*\n", "\n".join(lines)), ""
    for number, block in enumerate(blocks):
        if all(part.startswith("    ") for part in block.splitlines()):
            text += "```text\n" + "\n".join(part[4:] for part in block.splitlines()) + "\n```\n\n"
            continue
        for word in ("Cost:", "Limits:", "Differs from the papers:", "Differs from the paper:"):
            block = re.sub(rf"(?:^|[\n ]){word}", f"\n\n**{word}**", block)
        text += escaped(block.strip()) + "\n\n"
        if number == 0:
            text = text.replace("\n", "\n\n", 1) if "\n" in block else text
    return re.sub(r"\n{3,}", "\n\n", text)


def escaped(text):
    """Prose whose symbols are no Markdown."""
    return re.sub(r"(?<!\*)\*(?!\*)|[_<>|]", lambda m: "\\" + m[0], text)


def exhibit(name, build):
    """One algorithm: its file's head comment, its parameters, the printed figures and ours."""
    a = next(one for one in registry(build) if one["name"] == name)
    word = name.replace("-", "_")
    path = ROOT / "src" / "cuda" / "zoo" / f"sat_{word}.cu"
    text = ""
    if path.exists():
        text += f"[{path.relative_to(ROOT)}](../{path.relative_to(ROOT)})\n\n" + head_comment(path)
    parameters = "; ".join(f"`{p['name']}` {p['description']}: {', '.join(p['values'])}" for p in a["parameters"])
    text += "| | |\n|---|---|\n"
    text += f"| cost | {a['cost']} |\n| parameters, first the default | {parameters or 'none'} |\n"
    text += f"| the paper's figures | {'<br>'.join(printed(name))} |\n"
    ours = []
    for _, record in records():
        values = [(size, measured(record, name, size)) for size in SIZES]
        if any(value is not None for _, value in values):
            ours.append(f"{record['device']}: " + ", ".join(f"{size // 1024}K^2 {cell(value)}" for size, value in values))
    return text + f"| here, 32f32f, time over a copy | {'<br>'.join(ours) or NOT_MEASURED} |\n"


def histogram(name, build):
    """The same of an integral histogram."""
    a = next(one for one in registry(build, "histogram") if one["name"] == name)
    path = ROOT / "src" / "cuda" / "histogram" / f"{name.replace('-', '_')}.cu"
    text = f"[{path.relative_to(ROOT)}](../{path.relative_to(ROOT)})\n\n" + head_comment(path) if path.exists() else ""
    parameters = "; ".join(f"`{p['name']}` {p['description']}: {', '.join(p['values'])}" for p in a["parameters"])
    ratios = [f"{r['slower']} over {r['faster']}: {r['printed']}" for r in paper("poostchi-2017")["figure_7"]["ratios"]
              if name in (r["slower"], r["faster"])]
    if name == paper("poostchi-2017")["figure_20"]["algorithm"]:
        ratios += [f"{rate['frames_per_second']} frames a second of 512 x 512 x 32 on a {rate['machine']}"
                   for rate in paper("poostchi-2017")["figure_15"]["rates"]]
    ours = []
    for path in sorted(ROOT.glob("results/*/bench-hist-papers.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        times = {r["rows"]: r["us"] for r in record["histograms"] if r["what"] == "tensor" and r["algorithm"] == name and "us" in r
                 and r["rows"] == r["cols"] and r["bins"] == 32 and not r.get("parameters")}
        if times:
            ours.append(f"{record['device']}: " + ", ".join(f"{n}^2 {us / 1000:.3g}" for n, us in sorted(times.items())))
    return (text + "| | |\n|---|---|\n" + f"| cost | {a['cost']} |\n| parameters, first the default | {parameters or 'none'} |\n"
            f"| the paper's figures | {'<br>'.join(ratios) or NOT_PRINTED} |\n"
            f"| here, 32 bins, ms | {'<br>'.join(ours) or NOT_MEASURED} |\n")


def recursive_gaussian(build):
    """The exhibit that is no table and in no registry: its file's head comment and ours."""
    path = ROOT / "src" / "cuda" / "zoo" / "recursive_gaussian.cu"
    ours = []
    for found in sorted(ROOT.glob("results/*/bench-sat.json")):
        record = json.loads(found.read_text(encoding="utf-8"))
        rows_of = [row for row in record["rows"] if row["section"] == "recursive" and "x" in row]
        for kind in dict.fromkeys(row["type"] for row in rows_of):
            ours.append(f"{record['device']}, {kind}: " + ", ".join(f"{row['n'] // 1024}K^2 {cell(row['x'])}" for row in rows_of
                                                                    if row["type"] == kind))
    return (f"[{path.relative_to(ROOT)}](../{path.relative_to(ROOT)})\n\n" + head_comment(path) + "| | |\n|---|---|\n"
            f"| the paper's figures | {NOT_PRINTED} |\n| here, sigma 5, time over a copy | {'<br>'.join(ours) or NOT_MEASURED} |\n")


def pairs(build):
    """The type pairs that the CPU's algorithm has, which are all."""
    listed = subprocess.run([build / "bin" / "boxsum", "algorithms", "--operation", "sat", "--json"],
                            capture_output=True, text=True, check=True).stdout
    return ", ".join(next(a for a in json.loads(listed) if a["name"] == "simd")["pairs"]) + "\n"


def part(source, build):
    makers = {"pairs": pairs, "recursive-gaussian": recursive_gaussian, "table": table}
    if source.startswith("histogram "):
        return histogram(source.removeprefix("histogram "), build)
    return makers[source](build) if source in makers else exhibit(source, build)
