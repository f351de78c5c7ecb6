#!/usr/bin/env python3
"""Builds the GPU tests, runs one part of them and records the outcome in results/<gpu>/tests.json.

    scripts/gpu_record.py test | sanitize | soak      (make test-gpu, sanitize-gpu, soak-gpu)
    scripts/gpu_record.py test | sanitize PROGRAM...  these programs; the others' outcomes stay in the record
    scripts/gpu_record.py devices                     (make devices-gpu) needs two GPUs: their tests, and the papers' large
                                                      images on one and on all of them, into bench-hist-papers.json
    scripts/gpu_record.py python                      (make test-python-gpu) the Python package with PyTorch and CuPy
    scripts/gpu_record.py commit                                 prints the commit, refuses a dirty tree

A record has the commit of its last part; a part that ran at an earlier one says so (`commit`), until it runs again.
The machine with the GPU may hold a copy without .git; then BOXSUM_COMMIT says which commit it is (take it from
`gpu_record.py commit` where the tree is sent from).

Environment: BOXSUM_COMMIT; BOXSUM_GTEST_SOURCE, the sources of GoogleTest where none is installed; BOXSUM_RESULTS, a
folder to write to instead of results/ (the old record is still read from results/); BOXSUM_JOBS; BOXSUM_PREBUILT, a build
folder that was made of this commit elsewhere, with tests/ and bin/ in it: then nothing is built.
Only Python's standard library is used.
"""

import argparse
import concurrent.futures
import datetime
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import paper_docs  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
FORMAT = 1


def fail(message):
    print(f"boxsum: error: {message}", file=sys.stderr)
    sys.exit(1)


def current_commit():
    """The commit of the tree; refuses changes outside results/, which would make the record say the wrong thing."""
    git = ["git", "-C", str(ROOT)]
    head = subprocess.run(git + ["rev-parse", "--verify", "-q", "HEAD"], capture_output=True, text=True, check=False)
    if not (ROOT / ".git").exists() or head.returncode != 0:  # a copy without history
        commit = os.environ.get("BOXSUM_COMMIT", "")
        if not re.fullmatch(r"[0-9a-f]{40}", commit):
            fail("this copy has no history, and BOXSUM_COMMIT is not a full commit hash: " + repr(commit))
        return commit
    changed = subprocess.run(git + ["status", "--porcelain", "--", ".", ":!results"], check=True, capture_output=True,
                             text=True).stdout
    if changed:
        fail("the tree has changes that no commit holds:\n" + changed.rstrip())
    return head.stdout.strip()


def devices():
    """[(name, driver)] as nvidia-smi lists them; of numbers in CUDA_VISIBLE_DEVICES those, in their order."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    try:
        lines = subprocess.run(query, check=True, capture_output=True, text=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError) as problem:
        fail(f"no GPU: nvidia-smi: {problem}")
    found = [tuple(part.strip() for part in line.split(",")) for line in lines if line.strip()]
    if not found:
        fail("no GPU: nvidia-smi lists none")
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    if re.fullmatch(r"\d+(,\d+)*", visible):
        numbers = [int(number) for number in visible.split(",")]
        if max(numbers) >= len(found):
            fail(f"CUDA_VISIBLE_DEVICES: is {visible}, but nvidia-smi lists {len(found)}")
        found = [found[number] for number in numbers]
    return found


def folder_name(found):
    """'NVIDIA H200' -> h200, two of them -> h200-x2."""
    name = re.sub(r"[^a-z0-9]+", "-", found[0][0].lower().replace("nvidia", "").replace("geforce", "")).strip("-")
    return name if len(found) == 1 else f"{name}-x{len(found)}"


def nvcc():
    for candidate in (os.environ.get("CUDACXX"), shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc"):
        if candidate and os.path.exists(candidate):
            return candidate
    fail("no nvcc on PATH or under /usr/local/cuda")


def toolkit():
    text = subprocess.run([nvcc(), "--version"], check=True, capture_output=True, text=True).stdout
    match = re.search(r"release ([0-9.]+)", text)
    return match.group(1) if match else "unknown"


def build(folder, types, *targets, options=()):
    """Configures and builds for the GPU present; returns the build folder and the seconds it took."""
    start = time.monotonic()
    if os.environ.get("BOXSUM_PREBUILT"):
        return pathlib.Path(os.environ["BOXSUM_PREBUILT"]).resolve(), 0.0
    where = ROOT / "build" / folder
    configure = ["cmake", "-S", str(ROOT), "-B", str(where), "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                 "-DBOXSUM_CUDA=ON", f"-DBOXSUM_TYPES={types}", "-DCMAKE_CUDA_ARCHITECTURES=native",
                 f"-DCMAKE_CUDA_COMPILER={nvcc()}", "-DBOXSUM_TOOLS=OFF", "-DBOXSUM_INSTALL=OFF", "-DBOXSUM_BENCHMARKS=ON"]
    configure += options
    if os.environ.get("BOXSUM_GTEST_SOURCE"):
        configure.append("-DBOXSUM_GTEST_SOURCE=" + os.path.abspath(os.environ["BOXSUM_GTEST_SOURCE"]))
    log = where.with_suffix(".log")
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "w", encoding="utf-8") as out:
        for command in (configure, ["cmake", "--build", str(where), f"-j{jobs()}", "--target", *targets]):
            if subprocess.run(command, stdout=out, stderr=subprocess.STDOUT, check=False).returncode != 0:
                print("".join(open(log, encoding="utf-8").readlines()[-60:]), file=sys.stderr)
                fail("the build failed, see above")
    if subprocess.run([str(ROOT / "scripts" / "check_kernels"), str(where)], check=False).returncode != 0:
        over_budget.append(folder)
    return where, time.monotonic() - start


# Folders of builds with more kernels or megabytes than scripts/check_kernels has for them: a reason to fail once the tests,
# whose device is dear, have run.
over_budget = []


def jobs():
    return int(os.environ.get("BOXSUM_JOBS") or os.cpu_count() or 1)


def run_bench(subcommand, record, arguments):
    """Builds boxsum-bench and runs a subcommand of it: writes results/<gpu>/RECORD.json, extending what is of this
    commit, and the papers' tables of it into build/RECORD.md. Returns the exit status."""
    commit = current_commit()
    found = devices()
    where, seconds = build("gpu", os.environ.get("BOXSUM_TYPES", "all"), "bin/boxsum-bench")
    print(f"built in {seconds:.0f} s", flush=True)
    name = folder_name(found)
    target = pathlib.Path(os.environ.get("BOXSUM_RESULTS") or ROOT / "results") / name / f"{record}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    earlier = ROOT / "results" / name / f"{record}.json"
    if not target.exists() and earlier.exists():  # an earlier part; it stays only if it is of this commit
        shutil.copy(earlier, target)
    limit = os.environ.get("BOXSUM_BENCH_SECONDS", "400" if subcommand == "hist" else "")
    try:
        status = subprocess.run([str(where / "bin" / "boxsum-bench"), subcommand, "--device", "cuda", "--commit", commit,
                                 "--json", str(target), *arguments], check=False,
                                timeout=float(limit) if limit else None).returncode
    except subprocess.TimeoutExpired:
        print(f"boxsum: error: stopped after {limit} s", file=sys.stderr)
        status = 1
    if target.exists():
        page = ROOT / "build" / f"{record}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(paper_docs.report(json.loads(target.read_text(encoding="utf-8"))), encoding="utf-8")
        print(f"record {target}, tables {page}")
    return status


def write_rows(name, found, record, rows):
    """Writes results/<gpu>/NAME, what is said of the whole run and then a row a line; returns the path."""
    target = pathlib.Path(os.environ.get("BOXSUM_RESULTS") or ROOT / "results") / folder_name(found) / name
    target.parent.mkdir(parents=True, exist_ok=True)
    head = json.dumps(record)[1:-1]
    body = ",\n".join(" " + json.dumps(row) for row in rows)
    temporary = target.with_suffix(".tmp")
    temporary.write_text("{" + head + ",\n\"rows\": [\n" + body + "\n]}\n", encoding="utf-8")
    temporary.replace(target)
    return target


class Run:
    """One process of one test program."""

    def __init__(self, label, command, timeout, environment=None):
        self.label, self.command, self.timeout = label, command, timeout
        self.environment = {**os.environ, "BOXSUM_REQUIRE_GPU": "1", **(environment or {})}

    suffix = "json"

    def reporting(self, report):
        return [*self.command, f"--gtest_output=json:{report}"]

    def read(self, report):
        return read_report(report)

    def execute(self, folder):
        folder.mkdir(parents=True, exist_ok=True)
        name = re.sub(r"[^A-Za-z0-9_.-]+", "-", self.label)
        report, log = folder / f"{name}.{self.suffix}", folder / f"{name}.log"
        report.unlink(missing_ok=True)
        start = time.monotonic()
        with open(log, "w", encoding="utf-8") as out:
            try:
                status = subprocess.run(self.reporting(report), stdout=out, stderr=subprocess.STDOUT, env=self.environment, timeout=self.timeout,
                                        check=False).returncode
            except subprocess.TimeoutExpired:
                status = "timeout"
        outcome = self.read(report)
        if outcome is None:
            outcome = {"passed": 0, "failed": 1, "skipped": 0, "failures": [f"{self.label}: no report, exit {status}"]}
        elif status != 0 and outcome["failed"] == 0:  # a memory checker's complaint, a crash at exit
            outcome["failed"] += 1
            outcome["failures"].append(f"{self.label}: exit {status}")
        if outcome["failed"]:
            print(f"--- {self.label}: failed; the end of its output:")
            print("".join(open(log, encoding="utf-8", errors="replace").readlines()[-40:]), flush=True)
        outcome["seconds"] = round(time.monotonic() - start, 1)
        return outcome


def read_report(path):
    """Counts of one GoogleTest report; nothing when there is none or it holds no tests at all."""
    try:
        report = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    outcome = {"passed": 0, "failed": 0, "skipped": 0, "cases": 0, "exact_cases": 0, "failures": [], "skips": []}
    for suite in report.get("testsuites", []):
        for test in suite.get("testsuite", []):
            if test.get("status") == "NOTRUN":
                continue
            name = f"{suite['name']}.{test['name']}"
            for kind in ("cases", "exact_cases"):  # what tests say of themselves
                outcome[kind] += int(test.get(kind, 0))
            if test.get("failures"):
                outcome["failed"] += 1
                message = test["failures"][0]["failure"].splitlines()
                outcome["failures"].append(f"{name}: {' '.join(message[1:12])[:600]}")
            elif test.get("result") == "SKIPPED":
                outcome["skipped"] += 1
                outcome["skips"].append(name)
            else:
                outcome["passed"] += 1
    return outcome


class PytestRun(Run):
    """One process of pytest."""

    suffix = "xml"

    def reporting(self, report):
        return [*self.command, f"--junitxml={report}"]

    def read(self, report):
        try:
            cases = list(xml.etree.ElementTree.parse(report).iter("testcase"))
        except (OSError, xml.etree.ElementTree.ParseError):
            return None
        outcome = {"passed": 0, "failed": 0, "skipped": 0, "failures": [], "skips": []}
        for case in cases:
            problem = case.find("failure") if case.find("failure") is not None else case.find("error")
            if problem is not None:
                outcome["failed"] += 1
                outcome["failures"].append(f"{case.get('name')}: {problem.get('message', '')[:600]}")
            elif case.find("skipped") is not None:
                outcome["skipped"] += 1
                outcome["skips"].append(case.get("name"))
            else:
                outcome["passed"] += 1
        return outcome


def shards(program, count, timeout, environment=None):
    return [Run(f"{program.name}.{index}", [str(program)], timeout,
                {**(environment or {}), "GTEST_TOTAL_SHARDS": str(count), "GTEST_SHARD_INDEX": str(index)})
            for index in range(count)]


def summary_of_programs(outcomes):
    """{'gpu_plan_test': {...}}: the shards of a program are added up, long lists of skips are counted only."""
    programs = {}
    for label, outcome in outcomes:
        total = programs.setdefault(label.split(".")[0], {"passed": 0, "failed": 0, "skipped": 0, "seconds": 0.0})
        for key in ("passed", "failed", "skipped"):
            total[key] += outcome[key]
        for kind in ("cases", "exact_cases"):  # random ones, of tests that count them, and those compared bit for bit
            if outcome.get(kind):
                total[kind] = total.get(kind, 0) + outcome[kind]
        total["seconds"] = max(total["seconds"], outcome["seconds"])
        if outcome["failures"]:
            total.setdefault("failures", []).extend(outcome["failures"][:10])
        if outcome.get("skips"):
            total.setdefault("skips", []).extend(outcome["skips"])
    for total in programs.values():
        if len(total.get("skips", [])) > 12:
            total["skips"] = total["skips"][:12] + [f"and {len(total['skips']) - 12} more"]
    return programs


def execute_all(groups, folder):
    """Groups follow one another; the runs of a group share the GPU at the same time."""
    def execute(run):
        outcome = run.execute(folder)
        print(f"{run.label:45} passed {outcome['passed']:5} failed {outcome['failed']:3} "
              f"skipped {outcome['skipped']:4} {outcome['seconds']:7.1f} s", flush=True)  # at once: a call may be cut off
        return run.label, outcome

    outcomes = []
    for group in groups:
        with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, min(len(group), jobs()))) as pool:
            outcomes += list(pool.map(execute, group))
    return outcomes


def alone(where, name, timeout, environment=None, options=()):
    return [Run(name, [str(where / "tests" / name), *options], timeout, environment)]


def gpu_tests():
    """Names of the test programs of a GPU; but of the small ones, which are the sanitizers'."""
    found = set()
    for lists in (ROOT / "tests").glob("**/CMakeLists.txt"):
        found.update(re.findall(r"boxsum_gpu_test\(\s*(gpu_\w+_test)", lists.read_text(encoding="utf-8")))
    return found - {"gpu_small_test", "gpu_small_histogram_test"}


def part_test(*named):
    for name in named:  # before the build
        if name not in gpu_tests():
            fail(f"program: is {name}, must be one of {', '.join(sorted(gpu_tests()))}")
    where, seconds = build("gpu", os.environ.get("BOXSUM_TYPES", "all"), "gpu_tests")
    tests = where / "tests"
    groups = [
        shards(tests / "gpu_conformance_test", min(12, jobs()), 300) +
        shards(tests / "gpu_histogram_conformance_test", min(12, jobs()), 300),
        shards(tests / "gpu_device_test", min(4, jobs()), 120),
        *[alone(where, program.name, 120) for program in sorted(tests.glob("gpu_*_test"))
          if program.name not in ("gpu_conformance_test", "gpu_histogram_conformance_test", "gpu_small_test",
                                  "gpu_small_histogram_test", "gpu_device_test", "gpu_soak_test",
                                  "gpu_broken_records_test")],
        alone(where, "gpu_broken_records_test", 200),
        alone(where, "gpu_soak_test", 120, {"BOXSUM_SOAK": "0.05"}),  # the full amount is soak's
    ]
    if named:
        groups = [kept for group in groups if (kept := [run for run in group if run.label.split(".")[0] in named])]
    return groups, seconds, {"types": os.environ.get("BOXSUM_TYPES", "all")}


# Random cases of windows that each of six processes draws; each test says how many of them are of the kind that it takes.
# Those of integers, which are compared bit for bit, are more than 10^5.
WINDOW_CASES = {"fused_windows.integers_have_the_results_of_the_cpu": 18000,
                "real_windows_test.samples_and_floats_have_the_results_of_the_cpu": 6000,
                "real_windows_test.windows_of_any_size_have_the_results_of_the_cpu": 6000}


def part_soak():
    where, seconds = build("gpu", os.environ.get("BOXSUM_TYPES", "all"), "gpu_soak_test", "gpu_filter_kernels_test")
    program = str(where / "tests" / "gpu_soak_test")
    listed = subprocess.run([program, "--gtest_list_tests"], check=True, capture_output=True, text=True).stdout
    names, suite = [], ""
    for line in listed.splitlines():
        if line.startswith("  "):
            names.append(suite + line.split("#")[0].strip())
        elif line.endswith("."):
            suite = line.strip()
    # One process a test: a hang or a lost context takes only its own test with it.
    runs = [Run(f"gpu_soak_test.{name}", [program, f"--gtest_filter={name}"], 300, {"BOXSUM_SOAK": "1"}) for name in names]
    random_shapes = [run for run in runs if "/random_shapes." in run.label]
    # Cases of windows, other ones in each process.
    filters = str(where / "tests" / "gpu_filter_kernels_test")
    windows = [Run(f"gpu_filter_kernels_test.{name}.{seed}", [filters, f"--gtest_filter={name}"], 300,
                   {"BOXSUM_FILTER_CASES": str(WINDOW_CASES[name]), "BOXSUM_FILTER_SEED": str(seed)})
               for name in WINDOW_CASES for seed in range(1, 7)]
    groups = [random_shapes, windows] + [[run] for run in runs if run not in random_shapes]
    return groups, seconds, {"types": os.environ.get("BOXSUM_TYPES", "all")}


# Small shapes under compute-sanitizer: processes that share a program's tests, what it is asked for, its environment. A tool
# may be asked for less, by fewer processes, or for nothing: a process without a test makes no CUDA call, which
# compute-sanitizer calls an error.
SANITIZED = {
    # But what asks the driver for what it has to refuse, which memcheck reports.
    **{name: (count, "-*.maps_that_hardware_has_not_are_refused", {})
       for name, count in (("gpu_small_test", 6), ("gpu_small_histogram_test", 8), ("gpu_device_test", 4))},
    # What small shapes do not reach: tiles of two panels, whole sectors, sums and squares at once, chains, and words that a
    # ring has room for only once others were read.
    "gpu_tiles_test": (1, "tile_panels.*:tile_rings.sums_of_*:tile_rings.tall_*:tile_rings.wide_*:tile_sectors.any_*:tile_sectors.planes_*:tile_squares.*", {}),
    "gpu_filter_kernels_test": (6, "device_blobs.*:device_blur.*:fused_windows.*:radius_tiles.*:sampled_radii.*:real_windows_test.*:window_kernels.*", {"BOXSUM_FILTER_CASES": "24"}),
    "gpu_guided_test": (2, "device_sampled_guided_filter.*:device_guided_filter.*", {}),
    "gpu_row_stream_test": (2, "*", {"BOXSUM_FILTER_CASES": "6"}),
    "gpu_strides_test": (1, "*", {}),
    "gpu_convolve_test": (1, "*", {}),
    "gpu_non_local_means_test": (1, "*", {}),
    "gpu_recursive_test": (1, "*", {}),
    # Of boxes what has every type once; sums and means of every layout and shape are a thousand launches each.
    "gpu_boxes_test": (1, "box_in_kernel.*:device_boxes.*:device_shadows.*:device_fractional_boxes.*:device_image_means.*:table_windows.*-*beyond_32_bits:*many_planes:device_boxes.sums_*:device_boxes.means_*", {}),
    # Windows that are selected block by block and windows that are sorted; all distances and counts are too many.
    "gpu_histogram_queries_test": (1, "gpu_histogram_queries/*.boxes_*:gpu_histogram_queries/*.windows_*:gpu_histogram_queries/*.ties_*:gpu_histogram_search.*", {}),
    "gpu_histogram_plan_test": (1, "*", {}),
    "gpu_pipeline_test": (1, "*-frame_queries.equal_*", {}),
}

LESS = {
    # Windows read what lies between rows of a packed copy, and copies move what lies between rows of a stream's memory, which
    # nobody wrote, and use none of it.
    ("initcheck", "gpu_strides_test"): (1, "-packed_plan.filters_*"),
    ("initcheck", "gpu_row_stream_test"): (1, "device_row_stream.says_what_is_wrong"),
    # What is copied where and when is for memcheck; the kernels are those of gpu_small_histogram_test and of the queries.
    **{(tool, "gpu_histogram_plan_test"): (1, "gpu_histogram_plan.runs_again_and_again_in_one_workspace")
       for tool in ("racecheck", "initcheck", "synccheck")},
    **{(tool, "gpu_pipeline_test"): (1, "frame_queries.of_sums_of_weights") for tool in ("racecheck", "synccheck")},
    # Answers of several questions come back in one copy, with what lies between them.
    ("initcheck", "gpu_pipeline_test"): None,
}


def types_of(where):
    """The types that a build folder was configured for."""
    return re.search(r"^BOXSUM_TYPES:[A-Z]+=(.*)$", (where / "CMakeCache.txt").read_text(encoding="utf-8"), re.MULTILINE)[1]


def part_sanitize(*named):
    """All of SANITIZED with the shortest list of types; programs that are named are of part_test's build, if it is there, or
    of BOXSUM_PREBUILT, whatever its types are."""
    sanitizer = shutil.which("compute-sanitizer") or "/usr/local/cuda/bin/compute-sanitizer"
    if not os.path.exists(sanitizer):
        fail("no compute-sanitizer on PATH or under /usr/local/cuda")
    for name in named:
        if name not in SANITIZED:
            fail(f"program: is {name}, must be one of {', '.join(SANITIZED)}")
    types = "all" if named else "min"
    where, seconds = build("gpu" if named else "gpu-min", types, *(named or ["gpu_tests"]))
    runs = []
    for tool in ("memcheck", "racecheck", "initcheck", "synccheck"):
        for program in named or SANITIZED:
            count, chosen, environment = SANITIZED[program]
            less = LESS.get((tool, program), (count, chosen))
            if less is None:
                continue
            count, chosen = less
            for run in shards(where / "tests" / program, count, 420, {"GTEST_FILTER": chosen, **environment}):
                run.label = f"{tool}-{run.label}"
                run.command = [sanitizer, "--tool", tool, "--error-exitcode", "9", "--print-limit", "5", *run.command]
                runs.append(run)
    return [runs], seconds, {"types": types_of(where) if os.environ.get("BOXSUM_PREBUILT") else types}


def part_devices():
    if len(devices()) < 2:
        fail("this part needs two GPUs, nvidia-smi lists one")
    topology = subprocess.run(["nvidia-smi", "topo", "-m"], capture_output=True, text=True, check=False)
    print(topology.stdout, flush=True)
    programs = ("gpu_histogram_plan_test", "gpu_histogram_queries_test", "gpu_pipeline_test")
    where, seconds = build("gpu", os.environ.get("BOXSUM_TYPES", "all"), "gpu_devices_test", *programs, "bin/boxsum-bench")
    groups = [alone(where, "gpu_devices_test", 60, {"BOXSUM_REQUIRE_GPU": "2"}),
              # What they do on the first device, on the second one.
              [Run(f"{name}-on-the-second", [str(where / "tests" / name)], 60, {"BOXSUM_DEVICE": "cuda:1"})
               for name in programs]]
    return groups, seconds, {"types": os.environ.get("BOXSUM_TYPES", "all")}


def build_python():
    """The Python package for this interpreter and the GPU present; returns the folder to import it from and the seconds."""
    options = ["-DBOXSUM_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}", "-DBOXSUM_ZOO=OFF", "-DBOXSUM_TESTS=OFF",
               "-DBOXSUM_BENCHMARKS=OFF", "-DBOXSUM_EXAMPLES=OFF"]
    where, seconds = build("gpu-python", os.environ.get("BOXSUM_TYPES", "all"), "boxsum_python", options=options)
    return where / "python", seconds


def python_environment(package):
    paths = [str(package), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {"PYTHONPATH": os.pathsep.join(paths), "PYTHONDONTWRITEBYTECODE": "1"}


def part_python():
    package, seconds = build_python()
    pytest = [sys.executable, "-P", "-m", "pytest", "-q", "-W", "default", "-c", str(ROOT / "pyproject.toml")]
    folder = ROOT / "python" / "tests" / "with_device"
    runs = [PytestRun(file.stem, [*pytest, str(file)], 240, python_environment(package))
            for file in sorted(folder.glob("test_*.py"))]
    if importlib.util.find_spec("cucim") is not None:  # its own tests, with its functions replaced and without our settings
        own = [sys.executable, "-P", "-m", "pytest", "-q", "-c", os.devnull, "-p", "no:cacheprovider", "-W", "ignore",
               "-p", "boxsum.testing", "--boxsum-patch=cucim", "--pyargs", "cucim.skimage.transform.tests.test_integral",
               "cucim.skimage.filters.tests.test_thresholding"]
        runs.append(PytestRun("cucim_own_tests", own, 240, python_environment(package)))
    # One after the other: one of them fills the memory.
    return [[run] for run in runs], seconds, {"types": os.environ.get("BOXSUM_TYPES", "all")}


def write_record(part, commit, found, outcomes, build_seconds, extra, extends=False):
    """Replaces one part of the record; where it `extends` it, programs that did not run stay, each with its commit."""
    name = folder_name(found)
    tracked = ROOT / "results" / name / "tests.json"
    target = pathlib.Path(os.environ.get("BOXSUM_RESULTS") or ROOT / "results") / name / "tests.json"
    record = {}
    for old in (target, tracked):
        if old.exists():
            record = json.loads(old.read_text(encoding="utf-8"))
            break
    if record.get("commit") != commit:
        for earlier in record.get("parts", {}).values():
            earlier.setdefault("commit", record["commit"])
        record = {"format": FORMAT, "commit": commit, "parts": record.get("parts", {})}
    programs = summary_of_programs(outcomes)
    ran = {key: sum(p[key] for p in programs.values()) for key in ("passed", "failed", "skipped")}
    earlier = record.get("parts", {}).get(part, {}) if extends else {}
    for label, program in earlier.get("programs", {}).items():
        if label not in programs:
            at = program.get("commit", earlier.get("commit", commit))
            programs[label] = {**program, "commit": at} if at != commit else program
            if earlier.get("types") != extra.get("types"):
                programs[label] = {"types": earlier.get("types"), **programs[label]}
    totals = {key: sum(p[key] for p in programs.values()) for key in ("passed", "failed", "skipped")}
    record.update({"device": found[0][0], "devices": len(found), "driver": found[0][1], "cuda": toolkit(),
                   "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")})
    record["parts"][part] = {"date": record["date"], **totals, "build_seconds": round(build_seconds, 1), **extra,
                             "programs": programs}
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    temporary.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    temporary.replace(target)
    print(f"{part}: passed {ran['passed']}, failed {ran['failed']}, skipped {ran['skipped']}; "
          f"build {build_seconds:.0f} s; written to {target}")
    return ran


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("test", "sanitize", "soak", "devices", "python", "commit"))
    parser.add_argument("programs", nargs="*", help="of test and sanitize: not all")
    arguments = parser.parse_args()
    part = arguments.part
    if arguments.programs and part not in ("test", "sanitize"):
        parser.error("only test and sanitize take programs")
    commit = current_commit()
    if part == "commit":
        print(commit)
        return
    found = devices()
    groups, seconds, extra = {"test": part_test, "sanitize": part_sanitize, "soak": part_soak,
                              "devices": part_devices, "python": part_python}[part](*arguments.programs)
    print(f"built in {seconds:.0f} s", flush=True)
    outcomes = execute_all(groups, ROOT / "build" / f"{part}-logs")
    totals = write_record(part, commit, found, outcomes, seconds, extra, extends=bool(arguments.programs))
    if part == "devices" and run_bench("hist", "bench-hist-papers", ["--experiments", "large"]) != 0:
        sys.exit(1)
    if totals["failed"] or not totals["passed"] or over_budget:
        sys.exit(1)


if __name__ == "__main__":
    main()
