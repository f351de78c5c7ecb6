#!/usr/bin/env python3
"""scripts/paper_docs.py: what was copied from the papers, held against itself; the model of Chen et al. 2018 and the verdicts
on the papers' statements against numbers that the papers print or that were worked out by hand."""

import json
import math
import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "scripts"))
import paper_claims as claims  # noqa: E402
import paper_docs as docs  # noqa: E402

P100 = docs.paper("chen-2018")["section_5"]["gpus"]["P100"]


class Printed(unittest.TestCase):
    def test_every_paper_names_its_source(self):
        papers = sorted(path.stem for path in (ROOT / "benchmarks/papers").glob("*.json"))
        self.assertEqual(papers, ["chen-2018", "emoto-2018", "ha-2012", "notes-2025", "poostchi-2017", "ssam-2019"])
        for key in papers:
            self.assertTrue(docs.paper(key)["citation"])
            self.assertIn('"source"', json.dumps(docs.paper(key)))

    def test_algorithms_are_exhibits_of_ours(self):
        names = {path.stem.replace("_", "-").removeprefix("sat-") for folder in ("zoo", "histogram", "production")
                 for path in (ROOT / "src/cuda" / folder).rglob("*.cu")}
        poostchi = docs.paper("poostchi-2017")
        for name in [*(row["algorithm"] for row in docs.paper("emoto-2018")["table_1"]["rows"]),
                     *(row["algorithm"] for row in docs.paper("notes-2025")["time"]["rows"]),
                     *(row["slower"] for row in poostchi["figure_7"]["ratios"]), poostchi["figure_20"]["algorithm"]]:
            self.assertIn(name, names)

    def test_figures_of_poostchi_name_their_places(self):
        for key, figure in docs.paper("poostchi-2017").items():
            if key.startswith("figure_"):
                self.assertIn("figure " + key.removeprefix("figure_"), figure["source"])

    def test_overheads_of_table_3_follow_from_its_times(self):
        """A slip in copying one shows in the other. Times have three digits: each may be half a unit of the last one away."""
        third = docs.paper("emoto-2018")["table_3"]
        for name, overheads in third["overhead_percent"].items():
            for i, (copy, printed) in enumerate(zip(third["duplication"], overheads)):
                best = min(row["ms"][i] for row in third["rows"] if row["algorithm"] == name)
                slack = sum(0.5 * 10 ** (math.floor(math.log10(x)) - 2) / x for x in (best, copy)) * best / copy * 100 + 0.06
                self.assertAlmostEqual((best / copy - 1) * 100, printed, delta=slack, msg=f"{name} {third['sizes'][i]}")


class Model(unittest.TestCase):
    def test_counts_and_latencies_are_the_printed_ones(self):
        printed = docs.paper("chen-2018")["section_5"]["printed"]
        made = {**docs.chen_counts(), **docs.chen_evaluated(P100)[0]}
        self.assertEqual(set(made), set(printed))
        for symbol, value in printed.items():
            self.assertEqual(made[symbol], value, symbol)

    def test_inequalities(self):
        _, verdicts = docs.chen_evaluated(P100)
        # serial: 2048 elements of 4 bytes at 128 bytes a clock, 992 additions at 64; Kogge-Stone 4128 / 64, LF (2560 + 5120) / 64
        serial = 64 + 15.5
        self.assertEqual([(name, left, right, holds) for name, _, left, right, holds in verdicts], [
            ("(6)", 2304 + 186, 6240, True), ("(14)", 64.5 + 5, serial, False), ("(14), lanes", 64.5 + 160, serial, True),
            ("(15)", 120 + 5, serial, True), ("(15), lanes", 120 + 160, serial, True)])

    def test_throughputs_are_those_of_the_gpu(self):
        """Compute capability 9.0: 128 float additions a clock, so that additions take half of the P100's clocks."""
        ours = {**P100, "float_additions": 128, "logical_operations": 64, "shuffles": 32, "shared_bytes_per_clock": 128}
        verdicts = {name: (left, right) for name, _, left, right, _ in docs.chen_evaluated(ours)[1]}
        self.assertEqual(verdicts["(14)"], (32.25 + 5, 64 + 7.75))
        self.assertEqual(verdicts["(15)"], (20 + 80 + 5, 64 + 7.75))

    def test_active_warps(self):
        gpu = {"registers": 65536, "threads": 2048, "shared_bytes": 228 * 1024}
        # 60 registers: a block of 1024 threads takes 61440 of 65536; of 256 threads, 15360, and shared memory holds 6 of 37888 bytes
        self.assertEqual(docs.chen_active_warps(gpu, 1024, 60, 37888), (32, 32))
        self.assertEqual(docs.chen_active_warps(gpu, 256, 60, 37888), (8, 32))
        self.assertEqual(docs.chen_active_warps(gpu, 256, 32, 0), (8, 64))
        self.assertEqual(docs.chen_active_warps({**gpu, "shared_bytes": 100 * 1024}, 256, 60, 37888), (8, 16))

    def test_an_impossible_bandwidth_is_not_used(self):
        def record(value):
            rows = {"shared memory latency": 23, "shuffle latency": 24, "addition latency": 4, "shared memory bandwidth": value}
            return {"micro": [{"name": name, "value": value} for name, value in rows.items()], "passes": [], "device": "a GPU"}

        self.assertEqual(docs.measured_gpu(record(127.6))["shared_bytes_per_clock"], 127.6)
        self.assertNotIn("shared_bytes_per_clock", docs.measured_gpu(record(484.8)))
        self.assertIn("is wrong", docs.chen_model(record(484.8)))
        self.assertNotIn("is wrong", docs.chen_model(record(127.6)))

    def test_bad_arguments_are_named(self):
        self.assertRaisesRegex(ValueError, "columns: is 0", docs.chen_counts, 0)
        self.assertRaisesRegex(ValueError, "warp: is 24", docs.chen_counts, 32, 24)


def passes(algorithm, first, second):
    return [{"types": "32f32f", "rows": 1024, "cols": 1024, "algorithm": algorithm, "pass": number, "us": us}
            for number, us in ((1, first), (2, second))]


class Reports(unittest.TestCase):
    def test_verdicts_on_the_statements_of_section_6(self):
        record = {"passes": [*passes("brlt-scanrow", 8, 10), *passes("scanrow-brlt", 11, 13), *passes("scanrow-column", 6, 7)]}
        self.assertEqual([verdict[2:] for verdict in docs.chen_verdicts(record)],
                         [(7, 9, True, None), (18, 13, False, None), (9, 12, False, True)])

    def test_blocks_of_the_paper_are_compared_where_they_were_timed(self):
        small, large = passes("brlt-scanrow", 8, 10), passes("brlt-scanrow", 5, 6)
        for row in large:
            row |= {"parameters": "threads=1024", "block": "(1024, 1, 1)"}
        types, n = small[0]["types"], small[0]["cols"]
        record = {"passes": small + large}
        self.assertEqual(docs.two_passes(record, "brlt-scanrow", types, n), [8, 10])
        self.assertEqual(docs.two_passes(record, "brlt-scanrow", types, n, "(1024, 1, 1)"), [5, 6])
        self.assertEqual(docs.two_passes(record, "brlt-scanrow", types, n, "(512, 1, 1)"), [8, 10])

    def test_overhead_of_a_table_is_that_of_its_best_parameters(self):
        def row(what, us, **more):
            return {"what": what, "types": "32f32f", "rows": 1024, "cols": 1024, "us": us, **more}

        record = {"tables": [row("copy", 100, algorithm="duplication"), row("table", 150, algorithm="2r1w", parameters="W=64"),
                             row("table", 125, algorithm="2r1w", parameters="W=32")]}
        lines = docs.emoto_times(record).splitlines()
        self.assertIn("| 2r1w | W=64 | 0.150 |", lines)
        self.assertIn("| 2r1w | W=32 | **0.125** |", lines)
        self.assertIn("|  | overhead | 25.0 % |", lines)

    def test_a_spilled_register_cache_is_seen_and_no_record_has_one(self):
        row = {"algorithm": "brlt-scanrow", "kernel": "k", "types": "64f64f", "local_bytes": 8}
        self.assertEqual(docs.spilled({"passes": [row, {**row, "algorithm": "2r1w"}, {**row, "local_bytes": 0}]}),
                         [("brlt-scanrow", "k", "64f64f", 8)])
        for path in ROOT.glob("results/*/bench-zoo.json"):
            self.assertEqual(docs.spilled(json.loads(path.read_text(encoding="utf-8"))), [], path)

    def test_a_wrong_result_is_shown_as_such(self):
        self.assertEqual(docs.milliseconds({"check": "wrong: row 3", "us": 1}), "**wrong**")
        record = {"tables": [{"algorithm": "a", "types": "8u32u", "check": "wrong: row 3"}]}
        self.assertIn("wrong: row 3", docs.problems(record))

    def test_all_records_of_the_tree(self):
        for name in ("sat", "hist", "verdicts"):
            text = docs.part(name)
            self.assertNotIn("**wrong**", text)
            self.assertNotIn("None", text)


def tables(times, n=8192):
    """A record of 32f32f tables: microseconds by algorithm, a copy among them."""
    return {"tables": [{"what": "copy" if name == "copy" else "table", "types": "32f32f", "rows": n, "cols": n, "us": us,
                        "algorithm": name} for name, us in times.items()]}


class Claims(unittest.TestCase):
    """Verdicts follow the record, both ways."""

    def test_an_overhead(self):
        measure = claims.overhead_at("1r1w-skss-lb", 8192, 5.7)
        self.assertEqual(measure(tables({"copy": 4, "1r1w-skss-lb": 4.125}))[1:], (3.125, True))
        self.assertTrue(measure(tables({"copy": 10000, "1r1w-skss-lb": 10574}))[2])  # 5.7 % with one digit
        self.assertFalse(measure(tables({"copy": 10000, "1r1w-skss-lb": 10576}))[2])
        self.assertEqual(measure(tables({"copy": 100})), claims.unknown())

    def test_a_ranking(self):
        measure = claims.ranking("2r1w", ("1r1w", "2r2w"), (8192,))
        self.assertTrue(measure(tables({"copy": 1, "2r1w": 2, "1r1w": 3, "2r2w": 4}))[2])
        self.assertFalse(measure(tables({"copy": 1, "2r1w": 3, "1r1w": 2, "2r2w": 4}))[2])
        self.assertIsNone(measure(tables({"copy": 1, "2r1w": 3, "1r1w": 2}))[2])

    def test_launches(self):
        def record(launches):
            return {"tables": [{"what": "table", "types": "32f32f", "rows": 1024, "cols": 1024, "algorithm": "1r1w",
                                "parameters": "W=64", "measured_launches": launches}]}

        self.assertTrue(claims.launches_as_printed(record(31))[2])
        self.assertEqual(claims.launches_as_printed(record(32)), ("0 of 1 algorithms; not 1r1w", None, False))

    def test_gains_over_a_library(self):
        rows = [{"what": "table", "types": "8u32s", "rows": 1024, "cols": 1024, "algorithm": name, "us": us}
                for name, us in (("npp", 40), ("brlt-scanrow", 10), ("scanrow-column", 20))]
        self.assertEqual(claims.chen_over("npp", "8u32s")({"tables": rows}), ("4.00 to 4.00", 4.0, True))
        rows[0]["us"] = 30
        self.assertFalse(claims.chen_over("npp", "8u32s")({"tables": rows})[2])

    def test_gains_over_scan_scan_by_size(self):
        def record(small, large):
            return {"tables": [{"what": "table", "types": "64f64f", "rows": n, "cols": n, "algorithm": name, "us": us}
                               for n, gain in ((1024, small), (8192, large))
                               for name, us in (("opencv-scan-scan", 10 * gain), ("brlt-scanrow", 10))]}

        ahead, shrinks = claims.chen_ahead_up_to("64f64f", 6144), claims.chen_gain_shrinks("64f64f")
        self.assertEqual(ahead(record(2, 0.5)), ("2.00 to 2.00 times", None, True))
        self.assertFalse(ahead(record(0.9, 2))[2])
        self.assertEqual(shrinks(record(2, 0.5)), ("2.00 at 1K², 0.50 at 8K²", None, True))
        self.assertFalse(shrinks(record(1, 2))[2])
        self.assertFalse(shrinks(record(3, 1.2))[2])  # shrinks and stays
        self.assertEqual(shrinks({"tables": []}), claims.unknown())

    def test_histograms(self):
        def record(sts, tis):
            return {"histograms": [{"what": "tensor", "backend": "cuda", "rows": 512, "cols": 512, "bins": 32, "threads": 0,
                                    "algorithm": name, "us": us} for name, us in (("cw-sts", sts), ("cw-tis", tis))]}

        measure = claims.figure_7("cw-sts", "cw-tis", 2, 3)
        self.assertEqual(measure(record(250, 100)), ("2.50 to 2.50", 2.5, True))
        for sts, expected in ((194, False), (196, True), (304, True), (306, False)):
            self.assertEqual(measure(record(sts, 100))[2], expected, sts)
        both = record(250, 100)
        both["histograms"] += [{**row, "rows": 1024, "cols": 1024, "us": us} for row, us in zip(both["histograms"], (180, 100))]
        self.assertEqual(measure(both), ("1.80 to 2.50", 2.5, False))  # the least counts, too
        peak = claims.figure_7("cw-sts", "cw-tis", 1, peak=1.5)
        for sts, expected in ((146, True), (144, False), (90, False)):
            self.assertEqual(peak(record(sts, 100))[2], expected, sts)
        self.assertEqual(measure({"histograms": []}), claims.unknown())

    def test_threads_of_the_cpu_at_the_size_of_the_paper(self):
        def row(what, n, us, **more):
            return {"what": what, "backend": "cuda", "rows": n, "cols": n, "bins": 32, "threads": 0, "us": us, **more}

        record = {"histograms": [row(what, n, 100) for n in (512, 2048) for what in ("upload", "download")] +
                                [row("tensor", n, 50, algorithm="wf-tis") for n in (512, 2048)] +
                                [row("tensor", n, us, algorithm="sequential", backend="cpu", threads=16)
                                 for n, us in ((512, 1200), (2048, 9000))]}
        self.assertEqual(claims.over_cpu(16, 8, 30)(record), ("6.0 to 6.0", 6.0, False))
        self.assertTrue(claims.over_cpu(16, 6, 30)(record)[2])
        self.assertFalse(claims.over_cpu(16, 2, 5)(record)[2])
        self.assertEqual(claims.over_cpu(1, 8)(record), claims.unknown())

    def test_a_slower_network_gives_no_gain(self):
        def record(lf):
            return {"tables": [{"algorithm": "scanrow-column", "types": "32f32f", "cols": 8, "parameters": f"scan={name}", "us": us}
                               for name, us in (("kogge-stone", 100), ("lf", lf))]}

        self.assertEqual(claims.scans_alike(record(118)), ("LF takes 1.18 to 1.18", None, True))
        self.assertFalse(claims.scans_alike(record(90))[2])

    def test_convolution(self):
        record = {"rows": [{"section": "convolve", "algorithm": "ssam", "side": 3, "us": 700}]}
        self.assertEqual(claims.ssam_figure_4(3, 0.74)(record), ("0.70 ms", 0.7, True))
        self.assertFalse(claims.ssam_figure_4(3, 0.6)(record)[2])
        self.assertEqual(claims.ssam_figure_4(5, 0.74)(record), claims.unknown())
        older = {"rows": [{"section": "convolve", "algorithm": "systolic", "side": 3, "us": 5}]}
        self.assertEqual([claims.ssam_us(older, name, 3) for name in ("auto", "systolic", "ssam")], [5, 5, None])
        older["rows"].append({"section": "convolve", "algorithm": "auto", "side": 3, "us": 4})
        self.assertEqual(claims.ssam_us(older, "auto", 3), 4)

    def test_convolution_beside_libraries(self):
        def record(theirs):
            return {"rows": [{"section": "convolve", "algorithm": "auto", "side": 3, "us": 500},
                             {"section": "convolve", "algorithm": "NPP nppiFilter_32f_C1R", "side": 3, "us": theirs},
                             {"section": "convolve", "peer": "PyTorch", "side": 0, "note": "not installed"}]}

        self.assertEqual(claims.ssam_over("auto", "NPP")(record(750)), ("1.50 to 1.50", None, True))
        self.assertFalse(claims.ssam_over("auto", "NPP")(record(400))[2])
        self.assertTrue(claims.ssam_over("auto", "NPP", (3,))(record(400))[2])
        self.assertEqual(claims.ssam_over("auto", "PyTorch")(record(400)), claims.unknown())

    def test_the_mean_gain_over_npp(self):
        def record(times):
            return {"rows": [{"section": "convolve", "algorithm": name, "side": side, "us": us} for side in (3, 20)
                             for name, us in (("ssam", 100), ("NPP nppiFilter_32f_C1R", 100 * times * side / 11.5))]}

        printed = sum(claims.printed_gains().values()) / 19
        for times, expected in ((printed * 1.01, True), (printed * 0.99, False)):
            self.assertEqual(claims.ssam_mean_gain(record(times))[2], expected)
        self.assertEqual(claims.ssam_mean_gain({"rows": []}), claims.unknown())

    def test_shadows_and_recursive_filters(self):
        record = {"rows": [{"section": "shadows", "map": 1024, "frame_us": us} for us in (400, 900)] +
                          [{"section": "recursive", "type": "32f", "n": 8192, "x": 1.7}]}
        self.assertEqual(claims.shadows_in_time(1024, 16.7)(record), ("0.40 to 0.90 ms", 0.9, True))
        self.assertFalse(claims.shadows_in_time(1024, 0.8)(record)[2])
        self.assertEqual(claims.shadows_in_time(2048, 16.7)(record), claims.unknown())
        self.assertEqual(claims.recursive_over_copy(8192, 2)(record), ("1.70 times", 1.7, True))
        self.assertFalse(claims.recursive_over_copy(8192, 1.5)(record)[2])

    def test_a_reason_is_shown_only_where_it_is_needed(self):
        claim = claims.Claim("emoto-2018", "Table I", "something", 10, lambda record: ("2", 2, record), "Because.", beyond="Far.")
        self.assertEqual([claims.verdict(claim, 15, holds, {}) for holds in (True, False, None)],
                         ["holds", "does not hold. Because.", "not measured"])
        self.assertEqual(claims.verdict(claim, 16, True, {}), "holds. Far.")
        self.assertIn("nothing to compare", claims.verdict(claim, None, claims.NO_VALUE, {}))
        counted = claims.Claim("emoto-2018", "Table I", "something", 10, lambda record: ("2", 2, False), lambda record: record["why"])
        self.assertEqual(claims.verdict(counted, 2, False, {"why": "So."}), "does not hold. So.")

    def test_an_empty_record_tells_nothing(self):
        nothing = {"tables": [], "passes": [], "micro": [], "histograms": [], "rows": []}
        for claim in claims.CLAIMS:
            if claim.measure is not claims.scan_efficiency:
                self.assertEqual(claim.measure(nothing), claims.unknown(), claim.says)

    def test_what_does_not_hold_is_explained_on_every_machine(self):
        for kind, name in claims.FILES.items():
            for path in ROOT.glob(f"results/*/{name}"):
                for paper in ("chen-2018", "emoto-2018", "ha-2012", "notes-2025", "poostchi-2017", "ssam-2019"):
                    for line in claims.lines(docs.read(path), kind, paper):
                        self.assertNotEqual(line[2].strip(), "does not hold.", (path, line))
                        self.assertNotRegex(line[2], "Not explained|None", (path, line))

    def test_every_claim_has_its_paper_and_place(self):
        for claim in claims.CLAIMS:
            self.assertTrue(docs.paper(claim.paper)["citation"])
            self.assertTrue(claim.place and claim.says)
            self.assertIn(claim.kind, claims.FILES)

    def test_figure_4_of_ssam_is_that_of_the_file(self):
        figure = docs.paper("ssam-2019")["figure_4"]
        printed = {str(ms) for ms in figure["V100"]["SSAM"]}
        for claim in claims.CLAIMS:
            if claim.paper == "ssam-2019" and claim.says.endswith("on a V100, ms"):
                self.assertIn(str(claim.printed), printed)
        for gpu in ("V100", "P100"):
            for times in figure[gpu].values():
                self.assertEqual(len(times), len(figure["sides"]))


class ClaimsOfTables(unittest.TestCase):
    """Each measure both ways, on records of a few rows."""

    def both(self, measure, record, holding, failing):
        """Whether the claim holds for one argument of `record` and not for the other; and what it says then."""
        self.assertIs(measure(record(*holding))[2], True, measure(record(*holding)))
        self.assertIs(measure(record(*failing))[2], False, measure(record(*failing)))
        return measure(record(*holding))[0], measure(record(*failing))[0]

    def test_least_overheads(self):
        def record(us, name="2r1w", n=8192):
            return tables({"copy": 100, name: us}, n)

        self.assertEqual(self.both(claims.at_least("2r1w", 0.5), record, (151,), (149,)), ("51 % or more", "49 % or more"))
        self.assertEqual(claims.at_least("2r1w", 0.5, (256,))(record(151)), claims.unknown())
        small = claims.no_tile_algorithm_below(100, 512)
        self.both(small, lambda us: record(us, n=512), (201,), (199,))
        self.assertEqual(small(record(110)), claims.unknown())  # larger ones do not count

    def test_the_slowest(self):
        def record(slow):
            return tables({"copy": 1, **{name: 2 for name in claims.EMOTO}, "2r2w": slow})

        self.both(claims.slowest("2r2w"), record, (3,), (1.5,))
        self.assertIsNone(claims.slowest("2r2w")(tables({"copy": 1, "2r2w": 2}))[2])

    def test_before_2r1w_at_the_largest_size(self):
        claim = next(c for c in claims.CLAIMS if c.says.startswith("1R1W and (1+r)R1W are before"))

        def record(one, hybrid):
            return tables({"copy": 100, "1r1w": one, "1r1w-hybrid": hybrid, "2r1w": 155}, 32768)

        self.both(claim.measure, record, (143, 140), (143, 156))
        self.assertFalse(claim.measure(record(156, 140))[2])

    def test_reasons_have_the_figures_of_the_record(self):
        record = tables({"copy": 2000, "1r1w": 5110, "1r1w-hybrid": 4000}, 32768)
        record["tables"][1] |= {"parameters": "W=128", "measured_launches": 511}
        record["tables"][2] |= {"parameters": "W=128,r=75"}
        record["tables"].append({**record["tables"][2], "parameters": "W=128,r=100", "us": 4100})
        text = claims.launches_a_diagonal(record)
        for part in ("takes 10.0 us", "in 7.8 us", "7.3 times as slowly", "r 75 % is the best"):  # 2000 / 256; 14.7 ms / 2 ms
            self.assertIn(part, text)
        self.assertIn("4.6 times a TITAN V's rate", claims.look_back_waits(tables({"copy": 200})))  # 0.927 ms
        self.assertIn("7.0 to 8.0 us together, and 5.0 to 6.0", claims.small_launches({"tables": [
            {"what": "table", "types": "32f32f", "rows": n, "cols": n, "algorithm": name, "us": us}
            for name, times in (("ha-han", (7, 8)), ("harris-transpose", (5, 6))) for n, us in zip((64, 128), times)]}))

    def test_inequalities_of_chen(self):
        def record(brlt, scan, column, n=1024):
            return {"passes": [{**row, "rows": n, "cols": n, "block": "(1024, 1, 1)"} for name, us in
                               (("brlt-scanrow", brlt), ("scanrow-brlt", scan), ("scanrow-column", column)) for row in passes(name, us, us)]}

        self.both(claims.chen_inequality(0), record, (9, 12, 8), (9, 12, 10))
        self.both(claims.chen_inequality(1), record, (9, 12, 10), (9, 12, 8))
        self.both(claims.chen_inequality(2), record, (12, 9, 10), (9, 12, 10))
        self.both(lambda r: claims.chen_inequality(2, True)(r), record, (9, 12, 10), (12, 9, 10))
        self.assertIn("within 25 % of each other", claims.hidden_transposition(record(10, 10, 8)))

    def test_the_model_of_chen(self):
        def record(add):
            names = {"shared memory latency": 23, "shuffle latency": 24, "addition latency": add}
            return {"micro": [{"name": name, "value": value} for name, value in names.items()]}

        # (6): 64 * 23 + 31 add against 160 (24 + add)
        self.assertEqual(claims.chen_model("(6)")(record(4)), ("1596 against 4480 clocks", None, True))
        self.both(claims.chen_model("(6)"), lambda shuffle: {"micro": [
            {"name": "shared memory latency", "value": 23}, {"name": "addition latency", "value": 4},
            {"name": "shuffle latency", "value": shuffle}]}, (24,), (1,))

    def test_the_fastest_of_chen(self):
        def record(*wins):
            return {"tables": [{"what": "table", "types": "32f32f", "rows": 1024 * k, "cols": 1024 * k, "algorithm": name, "us": us}
                               for k, win in enumerate(wins, 1)
                               for name, us in (("brlt-scanrow", 1 if win else 3), ("scanrow-brlt", 2), ("scanrow-column", 2))]}

        self.both(claims.chen_fastest("32f32f"), record, (True, True, False), (True, False))

    def test_tables_i_and_ii_of_chen(self):
        def gpu(shared_kb):
            names = {"shared memory latency": 23, "shuffle latency": 24, "addition latency": 4, "registers": 65536,
                     "shared memory": shared_kb * 1024}
            return {"micro": [{"name": name, "value": value} for name, value in names.items()]}

        self.assertEqual(self.both(claims.registers_over_shared, gpu, (94,), (228,)), ("2.72 times", "1.12 times"))
        self.assertIn("256 KB of registers, but 228 KB", claims.kept_registers(gpu(228)))

        def npp(registers, grid="(1025, 1, 1)"):
            row = {"algorithm": "npp", "rows": 512, "cols": 1024, "static_shared_bytes": 2304, "dynamic_shared_bytes": 0}
            return {"passes": [{**row, "kernel": "scanRow", "block": "(256, 1, 1)", "grid": "(1, 512, 1)", "registers": 20},
                               {**row, "kernel": "scanCol", "block": "(1, 256, 1)", "grid": grid, "registers": registers}]}

        texts = self.both(claims.npp_kernels, npp, (18,), (28,))
        self.assertEqual(texts[1], "2 of 2 launches alike but for registers: scanRow 20, scanCol 28")
        self.assertIn("1 of 2", claims.npp_kernels(npp(18, "(1024, 1, 1)"))[0])
        self.assertIn("Blocks, grids", claims.newer_npp(npp(28)))
        self.assertNotIn("Blocks, grids", claims.newer_npp(npp(28, "(1024, 1, 1)")))

    def test_gains_of_ha(self):
        def record(us, n=1024):
            rows = tables({"harris-transpose": 40, "ha-han": us}, n)
            rows["passes"] = [{"algorithm": "harris-transpose", "types": "32f32f", "rows": n, "cols": n, "pass": number, "us": 10}
                              for number in (1, 2, 3, 4)]
            return rows

        self.both(claims.ha_gain((1024,), 2), record, (20,), (21,))
        self.assertEqual(self.both(claims.ha_without_last_turn, record, (15,), (16,)), ("2.00 to 2.00", "1.88 to 1.88"))

    def test_the_notes(self):
        def record(brlt, scan, blur=8):
            return {"passes": [{**row, "types": "32u32u", "rows": 128, "cols": 128} for name, us in
                               (("brlt-scanrow", brlt), ("scanrow-brlt", scan)) for row in passes(name, us, us)],
                    "tables": [{"what": "box-blur", "algorithm": "a", "cols": 128, "us": us} for us in (blur, 2 * blur)]}

        self.both(claims.notes_order, record, (5, 6), (6, 5))
        self.both(claims.notes_blur, record, (5, 6, 8), (5, 6, 8.1))


    def test_the_model_of_ssam(self):
        def record(shuffle):
            names = {"shared memory latency": 20, "shuffle latency": shuffle, "addition latency": 4}
            return {"micro": [{"name": name, "value": value} for name, value in names.items()]}

        # Least at 2 x 2: 4 * 20 - shuffle.
        self.assertEqual(self.both(claims.ssam_least_saved, record, (79,), (80,)), ("1 clocks", "0 clocks"))
        # 9 (4 + 2 * 20) over 9 (4 + 20) + 2 shuffles
        self.assertEqual(self.both(claims.ssam_model(3), record, (89,), (90,)), ("396 over 394 clocks, 1.01", "396 over 396 clocks, 1.00"))
        self.assertEqual(claims.ssam_model(3)({"micro": []}), claims.unknown())
        self.assertEqual(min(claims.ssam_saves(claims.printed_clocks("P100"))), 4 * 33 - 33)
        printed = {c.says: c.printed for c in claims.CLAIMS if c.place == "section 4, latency model"}
        self.assertEqual(list(printed.values())[0], 4 * 27 - 22)
        self.assertIn(round(20 * 20 * 58 / (20 * 20 * 31 + 19 * 22), 2), printed.values())


class ClaimsOfHistograms(unittest.TestCase):
    both = ClaimsOfTables.both

    @staticmethod
    def row(what, us, n=512, bins=32, **more):
        return {"what": what, "backend": "cuda", "rows": n, "cols": n, "bins": bins, "threads": 0, "us": us, **more}

    def parts(self, whole, turn, scan, own):
        return {"histograms": [self.row("tensor", whole, algorithm="cw-sts"),
                               self.row("part", 2 * turn, algorithm="cw-sts", part="transpose_3d_kernel", launches=2),
                               self.row("part", 2 * scan, algorithm="cw-sts", part="prescan_rows_kernel", launches=2),
                               self.row("part", own, algorithm="cw-tis", part="scan_horizontally_kernel", launches=8)]}

    def test_parts(self):
        for turn, expected in ((17.4, False), (17.5, True), (22.4, True), (22.5, False)):
            self.assertEqual(claims.transpose_share(self.parts(100, turn, 40, 40))[2], expected, turn)
        self.assertIn("it a transposition is 18 %", claims.turned_back(self.parts(192, 29, 59, 66)))
        for turn, expected in ((17.9, False), (18, True), (20, True), (21, False)):
            self.assertEqual(claims.transpose_over_prescan(self.parts(100, turn, 40, 40))[2], expected, turn)
        for own, expected in ((13, False), (14, True), (30, True), (31, False)):
            self.assertEqual(claims.own_prescan_over("transpose")(self.parts(100, 20, 40, own))[2], expected, own)
        for own, expected in ((39, True), (41, False)):
            self.assertEqual(claims.own_prescan_over("prescan")(self.parts(100, 20, 40, own))[2], expected, own)
        self.assertIn("8 launches at 512 x 512, one after the other, of 5.0 us", claims.strips_of_tiles(self.parts(100, 20, 40, 40)))

    def test_the_scan_of_figure_3(self):
        sums, cycles, iterations = claims.blelloch([3, 1, 7, 0, 4, 1, 6, 3])
        self.assertEqual((sums, cycles, iterations), ([0, 3, 4, 11, 11, 15, 16, 22], 3 * 7, 6))
        text, share, holds = claims.scan_efficiency({})
        self.assertAlmostEqual(share, 100 * 3 * 1023 / 10240)  # equation 4
        self.assertIs(holds, True)

    def test_initialising(self):
        def record(memset, upload):
            return {"histograms": [self.row("tensor", 1, algorithm="fast"), self.row("memset", memset), self.row("upload", upload),
                                   self.row("download", 1)]}  # the way back does not count

        # 4 * 32 bytes a pixel at the rate of the image, of one: 128 times its time.
        self.both(claims.initialising_here, record, (127, 1), (129, 1))
        measured = record(10, 1)
        measured["histograms"].append(self.row("upload-tensor", 9))
        self.assertEqual(claims.initialising_here(measured)[1:], (None, False))
        tasks = record(127, 1)
        tasks["histograms"].append(self.row("tasks-host", 1, upload_us=0.5))
        self.assertFalse(claims.initialising_here(tasks)[2])

    def test_threads_and_tiles(self):
        def record(default, threads, small=3, smallest=4):
            row = self.row("tensor", 0, algorithm="wf-tis")
            return {"histograms": [{**row, "us": default}, {**row, "us": threads, "parameters": "tile=64,threads=512"},
                                   {**row, "us": small, "parameters": "tile=32,threads=512"},
                                   {**row, "us": smallest, "parameters": "tile=16,threads=128"}]}

        self.assertEqual(self.both(claims.best_threads, record, (2, 1), (1, 2)), ("512", "256"))
        self.both(claims.tiles_in_order, record, (2, 1), (2, 1, 4, 3))

    def test_bound_by_copies(self):
        def record(strips, tiles):
            times = {"cw-b": 900, "cw-sts": strips, "cw-tis": tiles, "wf-tis": 50}
            return {"histograms": [self.row("tensor", us, algorithm=name) for name, us in times.items()] +
                                  [self.row("upload", 10), self.row("download", 90)]}

        self.assertEqual(self.both(claims.bound_by_copies, record, (99, 50), (101, 50)),
                         ("computing longer: cw-b", "computing longer: cw-b, cw-sts"))

    def frames(self, one, two, bins=16):
        return {"histograms": [{**self.row("frames", us, bins=bins), "rows": 720, "cols": 1280, "algorithm": "wf-tis", "buffers": buffers,
                                "upload_us": 10, "compute_us": 30, "download_us": 90} for buffers, us in ((1, one), (2, two))]}

    def test_frames(self):
        for one, expected in ((179, False), (181, True), (219, True), (221, False)):
            self.assertEqual(claims.second_buffer(16, 1.8, 2.2)(self.frames(one, 100))[2], expected, one)
        self.assertEqual(claims.second_buffer(32, 1.8, 2.2)(self.frames(200, 100)), claims.unknown())
        self.assertIn("45 % of a frame, with two for 90 %", claims.idle_link(16)(self.frames(200, 100)))
        for two, expected in ((89, False), (91, True), (109, True), (111, False)):
            self.assertEqual(claims.longer_of_both(self.frames(200, two))[2], expected, two)
        self.assertIn("Not of 1280 x 720, 16 bins (120 us)", claims.longer_frames(self.frames(200, 120)))

    def test_rates(self):
        def record(kernels, download, more=()):
            return {"histograms": [self.row("tensor", kernels, algorithm="wf-tis"), self.row("upload", 100),
                                   self.row("download", download), *more]}

        self.assertEqual(self.both(claims.frames_a_second(512, 512, 135), record, (50, 7000), (50, 7500)), ("141", "132"))
        self.assertFalse(claims.frames_a_second(512, 512, 135)(record(7500, 50))[2])
        twice = [self.row("tensor", 50, bins=64, algorithm="wf-tis"), self.row("upload", 100, bins=64)]
        for more, expected in ((13900, True), (17000, False)):
            self.assertEqual(claims.frame_rate_by_bins(record(50, 6900, [*twice, self.row("download", more, bins=64)]))[2], expected)
        self.assertIn("takes 14.0 times as long", claims.link_over_kernels(record(500, 7000)))
        self.assertIn("takes 5.0 to 5.0 us", claims.diagonals(record(1, 1, [
            self.row("part", 75, algorithm="wf-tis", part="scan_wave_front_kernel", launches=15)])))

    def large(self, us, cpu, n=8192, **more):
        return {"histograms": [self.row("tasks-host", us, n, 128, algorithm="wf-tis", workers=1, link_us=0.9 * us, image="64MB", **more),
                               self.row("tasks-host", us / 9, n, 128, algorithm="fast", workers=1, image="64MB"),
                               {**self.row("tensor", cpu, n, 128, algorithm="sequential"), "backend": "cpu", "threads": 16}]}

    def test_large_images(self):
        self.both(claims.large_image(0.73), self.large, (1.3e6, 1), (1.4e6, 1))  # of wf-tis, not of another
        self.both(claims.large_over_cpu(8192, 8192, 16, 45), self.large, (1e6, 45e6), (1e6, 44e6))
        self.assertEqual(claims.large_over_cpu(8192, 8192, 1, 153)(self.large(1e6, 45e6)), claims.unknown())
        self.assertIn("1 GPU where the paper had four, each with its link: the way to the host alone is 90 %",
                      claims.one_link(self.large(1e6, 1)))
        shown = self.large(1e6, 1)
        shown["histograms"][0]["bins"] = 32
        self.assertEqual(claims.large_rates(claims.of_32_bins)(shown), ("64MB 1.00", None, claims.NO_VALUE))
        self.assertEqual(claims.large_rates(claims.of_small_images)(shown), claims.unknown())


class Oblong(unittest.TestCase):
    def record(self, us_of_square):
        row = {"what": "table", "types": "32f32f", "algorithm": "harris-transpose"}
        return {"tables": [{**row, "rows": 1024, "cols": 2048, "us": 20.0}, {**row, "rows": 2048, "cols": 2048, "us": us_of_square}]}

    def test_the_drop_is_of_pixels_a_second(self):
        for us, expected in ((40.0, False), (60.0, True)):
            text, _, holds = claims.ha_drop(self.record(us))
            self.assertEqual((text, holds), (f"{40 / us:.2f} of its pixels a second", expected))
        self.assertEqual(claims.ha_drop({"tables": []}), claims.unknown())


class Timeline(unittest.TestCase):
    TIMES = (1.0, 2.0, 3.0, 8.0)

    def test_one_buffer_has_one_frame(self):
        made = docs.schedule(self.TIMES, 3, 1)
        self.assertEqual(max(end for *_, end in made), 3 * sum(self.TIMES))
        self.assertEqual([(start, end) for *_, start, end in made[4:8]], [(14, 15), (15, 17), (17, 20), (20, 28)])

    def test_two_buffers_are_bound_by_the_longest_stage(self):
        made = docs.schedule(self.TIMES, 4, 2)
        self.assertEqual([(start, end) for stage, _, start, end in made if stage == 3], [(6, 14), (14, 22), (22, 30), (30, 38)])
        for stage in range(4):  # one frame at a time
            spans = [(start, end) for s, _, start, end in made if s == stage]
            self.assertTrue(all(end <= start for (_, end), (start, _) in zip(spans, spans[1:])))

    def test_lines(self):
        self.assertEqual(docs.timeline(self.TIMES, 2, 2, 1.0).splitlines(),
                         ["read          |12", "to the device | 1122", "kernels       |   111222",
                          "to the host   |      1111111122222222"])


if __name__ == "__main__":
    sys.exit(0 if unittest.main(exit=False, verbosity=2).result.wasSuccessful() else 1)
