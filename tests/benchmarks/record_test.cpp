#include "program/record.hpp"

#include "example_histograms.hpp"
#include "example_record.hpp"

#include <boxsum/error.hpp>

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

namespace boxsum::bench {
namespace {

table_row one_row(const std::string& algorithm, double us) {
    table_row row;
    row.backend = "cpu";
    row.types = "8u32u";
    row.rows = row.cols = 64;
    row.algorithm = algorithm;
    row.us = us;
    row.check = "equal";
    return row;
}

bench_record one_record(const std::string& commit, std::vector<table_row> rows) {
    bench_record record;
    record.origin.commit = commit;
    record.origin.device = "a device";
    record.date = "2026-01-01T00:00:00Z";
    record.tables = std::move(rows);
    return record;
}

const std::string commit_a(40, 'a'), commit_b(40, 'b');

TEST(record, parts_of_one_commit_merge_and_new_rows_replace_old_ones) {
    const bench_record old = one_record(commit_a, {one_row("simd", 1), one_row("serial-cpu", 2)});
    bench_record fresh = one_record(commit_a, {one_row("serial-cpu", 3), one_row("opencv-cpu", 4)});
    fresh.micro.push_back({"shuffle latency", 23.0, 23.0, 23.0, "clocks", ""});
    const bench_record both = merged(old, fresh);
    ASSERT_EQ(both.tables.size(), 3u);
    EXPECT_EQ(both.tables[0].algorithm, "simd");
    EXPECT_EQ(both.tables[1].algorithm, "serial-cpu");
    EXPECT_EQ(both.tables[1].us, 3.0);
    EXPECT_EQ(both.tables[2].algorithm, "opencv-cpu");
    EXPECT_EQ(both.micro.size(), 1u);
}

TEST(record, other_parameters_sizes_and_kinds_are_other_cases) {
    table_row other_size = one_row("simd", 5), other_kind = one_row("simd", 6), other_parameters = one_row("simd", 7);
    other_size.cols = 65;
    other_kind.what = "copy";
    other_parameters.parameters = "isa=avx2";
    const bench_record both = merged(one_record(commit_a, {one_row("simd", 1)}),
                                     one_record(commit_a, {other_size, other_kind, other_parameters}));
    EXPECT_EQ(both.tables.size(), 4u);
}

TEST(record, another_commit_machine_or_a_changed_tree_starts_anew) {
    const bench_record old = one_record(commit_a, {one_row("simd", 1)});
    bench_record other_commit = one_record(commit_b, {one_row("serial-cpu", 2)});
    bench_record other_machine = one_record(commit_a, {one_row("serial-cpu", 2)});
    other_machine.origin.device = "another device";
    bench_record changed = one_record(commit_a, {one_row("serial-cpu", 2)});
    changed.origin.changed = true;
    bench_record changed_before = old;
    changed_before.origin.changed = true;
    EXPECT_EQ(merged(old, other_commit).tables.size(), 1u);
    EXPECT_EQ(merged(old, other_machine).tables.size(), 1u);
    EXPECT_EQ(merged(old, changed).tables.size(), 1u);
    EXPECT_EQ(merged(changed_before, changed).tables.size(), 1u);
    EXPECT_EQ(merged(one_record("unknown", {one_row("a", 1)}), one_record("unknown", {one_row("b", 1)})).tables.size(),
              1u);
}

TEST(record, json_keeps_every_member) {
    const bench_record written = example_record();
    const std::string json = json_of(written);
    const bench_record read = record_of(json, "memory");
    EXPECT_EQ(json_of(read), json);
    EXPECT_EQ(read.origin, written.origin);
    ASSERT_EQ(read.tables.size(), written.tables.size());
    ASSERT_EQ(read.passes.size(), written.passes.size());
    ASSERT_EQ(read.micro.size(), written.micro.size());
    for (std::size_t i = 0; i < read.tables.size(); ++i) {
        EXPECT_TRUE(read.tables[i].same_case(written.tables[i]));
        EXPECT_EQ(read.tables[i].us.has_value(), written.tables[i].us.has_value());
        EXPECT_EQ(read.tables[i].measured_launches, written.tables[i].measured_launches);
        EXPECT_EQ(read.tables[i].note, written.tables[i].note);
    }
    EXPECT_EQ(read.passes[3].registers, written.passes[3].registers);
    EXPECT_EQ(read.passes[3].local_bytes, written.passes[3].local_bytes);
    EXPECT_EQ(read.passes[3].kernel, written.passes[3].kernel);
}

TEST(record, facts_of_a_kernel_are_said_once) {
    pass_row first;
    first.types = "8u32u";
    first.rows = first.cols = 256;
    first.algorithm = "two-kernels";
    first.parameters = "W=32";
    first.pass = 1;
    first.kernel = "scan";
    first.block = "(256, 1, 1)";
    first.us = 2.5;
    first.registers = 40;
    first.local_bytes = 0;
    pass_row larger = first;
    larger.rows = larger.cols = 512;
    larger.us = 5;
    pass_row untimed = larger;
    untimed.us = {};
    untimed.grid = "(8, 1, 1)";
    pass_row again = untimed;
    again.rows = 1024;
    again.grid = "(16, 1, 1)";
    pass_row spilling = larger;
    spilling.local_bytes = 8;
    pass_row wider = untimed;
    wider.parameters = "W=64";
    std::vector<pass_row> passes;
    for (const pass_row& pass : {first, larger, untimed, again, spilling, wider}) append_pass(passes, pass);
    ASSERT_EQ(passes.size(), 5u) << "only the second untimed one says nothing new";
    EXPECT_EQ(passes[0], first);
    EXPECT_EQ(passes[1].us, larger.us);
    EXPECT_EQ(passes[1].registers, std::nullopt);
    EXPECT_EQ(passes[2].grid, untimed.grid);
    EXPECT_EQ(passes[3], spilling);
    EXPECT_EQ(passes[4].parameters, "W=64");
}

TEST(record, histograms_keep_every_member) {
    bench_record written = example_histograms();
    histogram_row& full = written.histograms.front();
    full.part = "kernel";
    full.parameters = "tile=64";
    full.threads = 3;
    full.note = "a \"note\"";
    full.measured_bins = 4;
    full.read_us = 1.5;
    full.upload_us = 2.5;
    full.compute_us = 3.5;
    full.pinning_us = 4.5;
    full.link_us = 5.5;
    full.links_at_once_us = 6.5;
    const std::string json = json_of(written);
    const bench_record read = record_of(json, "memory");
    EXPECT_EQ(read.kind, histogram_kind);
    EXPECT_EQ(json_of(read), json);
    ASSERT_EQ(read.histograms.size(), written.histograms.size());
    for (std::size_t i = 0; i < read.histograms.size(); ++i) {
        EXPECT_TRUE(read.histograms[i].same_case(written.histograms[i]));
        EXPECT_EQ(read.histograms[i].us.has_value(), written.histograms[i].us.has_value());
        EXPECT_EQ(read.histograms[i].note, written.histograms[i].note);
        EXPECT_EQ(read.histograms[i].image, written.histograms[i].image);
        EXPECT_EQ(read.histograms[i].tasks, written.histograms[i].tasks);
        EXPECT_EQ(read.histograms[i].occupancy, written.histograms[i].occupancy);
    }
    const histogram_row& r = read.histograms.front();
    EXPECT_EQ(r.measured_bins, 4);
    EXPECT_EQ(r.read_us, 1.5);
    EXPECT_EQ(r.upload_us, 2.5);
    EXPECT_EQ(r.compute_us, 3.5);
    EXPECT_EQ(r.pinning_us, 4.5);
    EXPECT_EQ(r.link_us, 5.5);
    EXPECT_EQ(r.links_at_once_us, 6.5);
}

TEST(record, histograms_merge_by_what_was_measured) {
    bench_record old = example_histograms();
    bench_record fresh = old;
    const std::size_t all = old.histograms.size();
    fresh.histograms.resize(2);
    fresh.histograms[1].us = 7;
    fresh.histograms.push_back(fresh.histograms[1]);
    fresh.histograms.back().threads = 5;
    const bench_record both = merged(old, fresh);
    EXPECT_EQ(both.histograms.size(), all + 1);
    EXPECT_EQ(std::count_if(both.histograms.begin(), both.histograms.end(),
                            [](const histogram_row& r) { return r.us == 7.0; }),
              2);
}

TEST(record, text_that_is_no_record_is_refused_with_its_name) {
    for (const char* text :
         {"", "{", "[]", "{}", R"({"kind": "boxsum bench sat", "format": 2})",
          R"({"kind": "boxsum bench sat", "format": 1})", R"({"kind": "boxsum bench hist", "format": 1, "date": ""})",
          R"({"kind": "boxsum bench sat", "format": 1, "date": "", "tables": [{"us": "fast"}]})"})
        try {
            (void)record_of(text, "some.json");
            ADD_FAILURE() << text;
        } catch (const io_error& e) {
            EXPECT_NE(std::string(e.what()).find("some.json"), std::string::npos) << e.what();
        }
    EXPECT_THROW((void)read_record("there/is/no/such.json"), io_error);
}

TEST(record, files_appear_whole_or_not_at_all) {
    const auto path =
        std::filesystem::temp_directory_path() / ("boxsum_record_" + std::to_string(::getpid()) + ".json");
    write_file(path.string(), json_of(example_record()));
    EXPECT_EQ(json_of(read_record(path.string())), json_of(example_record()));
    EXPECT_FALSE(std::filesystem::exists(path.string() + ".part"));
    std::filesystem::remove(path);
    EXPECT_THROW(write_file("there/is/no/such/folder.json", "x"), io_error);
}

TEST(record, a_wrong_row_is_seen) {
    bench_record record = one_record(commit_a, {one_row("simd", 1)});
    EXPECT_FALSE(has_wrong(record));
    record.tables[0].check = "wrong: differs";
    EXPECT_TRUE(has_wrong(record));
    record.tables.clear();
    record.micro.push_back({"bandwidth", {}, {}, {}, "bytes a clock", "", "wrong: too much"});
    EXPECT_TRUE(has_wrong(record));
    EXPECT_TRUE(has_wrong(record_of(json_of(record), "memory")));
}

}  // namespace
}  // namespace boxsum::bench
