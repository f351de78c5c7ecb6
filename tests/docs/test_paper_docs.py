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
        measure = claims.overhead_at("1r1w-skss-lb", 8192, 10)
        self.assertEqual(measure(tables({"copy": 4, "1r1w-skss-lb": 4.25}))[1:], (6.25, True))
        self.assertFalse(measure(tables({"copy": 100, "1r1w-skss-lb": 120}))[2])
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

        measure = claims.figure_7("cw-sts", "cw-tis", 2, 3.3)
        self.assertEqual(measure(record(250, 100)), ("2.5 to 2.5", 2.5, True))
        self.assertFalse(measure(record(150, 100))[2])
        self.assertFalse(measure(record(400, 100))[2])

    def test_threads_of_the_cpu_at_the_size_of_the_paper(self):
        def row(what, n, us, **more):
            return {"what": what, "backend": "cuda", "rows": n, "cols": n, "bins": 32, "threads": 0, "us": us, **more}

        record = {"histograms": [row(what, n, 100) for n in (512, 2048) for what in ("upload", "download")] +
                                [row("tensor", n, 50, algorithm="wf-tis") for n in (512, 2048)] +
                                [row("tensor", n, us, algorithm="sequential", backend="cpu", threads=16)
                                 for n, us in ((512, 1200), (2048, 9000))]}
        self.assertEqual(claims.over_cpu(16, 8)(record), ("6.0 to 6.0", 6.0, False))
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

    def test_convolution_beside_libraries(self):
        def record(theirs):
            return {"rows": [{"section": "convolve", "algorithm": "systolic", "side": 3, "us": 500},
                             {"section": "convolve", "algorithm": "NPP nppiFilter_32f_C1R", "side": 3, "us": theirs},
                             {"section": "convolve", "peer": "PyTorch", "side": 0, "note": "not installed"}]}

        self.assertEqual(claims.ssam_over("NPP")(record(750)), ("1.50 to 1.50", 1.5, True))
        self.assertFalse(claims.ssam_over("NPP")(record(400))[2])
        self.assertEqual(claims.ssam_over("PyTorch")(record(400)), claims.unknown())

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
        self.assertEqual([claims.verdict(claim, 15, holds) for holds in (True, False, None)],
                         ["holds", "does not hold. Because.", "not measured"])
        self.assertEqual(claims.verdict(claim, 16, True), "holds. Far.")

    def test_every_claim_has_its_paper_and_place(self):
        for claim in claims.CLAIMS:
            self.assertTrue(docs.paper(claim.paper)["citation"])
            self.assertTrue(claim.place and claim.says)
            self.assertIn(claim.kind, claims.FILES)

    def test_figure_4_of_ssam_is_that_of_the_file(self):
        figure = docs.paper("ssam-2019")["figure_4"]
        printed = {str(ms) for ms in figure["V100"]["SSAM"]}
        for claim in claims.CLAIMS:
            if claim.paper == "ssam-2019" and claim.printed is not None:
                self.assertIn(str(claim.printed), printed)
        for gpu in ("V100", "P100"):
            for times in figure[gpu].values():
                self.assertEqual(len(times), len(figure["sides"]))



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
