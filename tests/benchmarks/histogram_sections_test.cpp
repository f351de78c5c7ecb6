#include "report/histogram_sections.hpp"

#include "example_histograms.hpp"
#include "report/histogram_query.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace boxsum::bench {
namespace {

std::vector<const table*> tables_of(const section& s) {
    std::vector<const table*> all;
    for (const block& b : s.blocks)
        if (const auto* t = std::get_if<table>(&b)) all.push_back(t);
    return all;
}

const std::vector<cell>* row_of(const table& t, const std::string& first, const std::string& second = {}) {
    for (const auto& row : t.rows)
        if (row[0].text.starts_with(first) && (second.empty() || row[1].text == second)) return &row;
    return nullptr;
}

std::string cell_of(const table& t, const std::string& first, const std::string& second, const std::string& column) {
    const std::vector<cell>* const row = row_of(t, first, second);
    const auto at = std::find(t.head.begin(), t.head.end(), column);
    if (row == nullptr || at == t.head.end()) return "no such cell";
    return (*row)[static_cast<std::size_t>(at - t.head.begin())].text;
}

std::string words_of(const section& s) {
    std::string words;
    for (const block& b : s.blocks)
        if (const auto* p = std::get_if<paragraph>(&b)) words += p->text;
    return words;
}

const histogram_line wave_front{"wf-tis", "cuda", "wf-tis", 0}, fast{"fast", "cuda", "fast", 0};

TEST(histogram_sections, figure_7_has_times_refusals_and_ratios) {
    const bench_record record = example_histograms();
    const section s = histogram_times_section(record);
    const table& times = *tables_of(s)[0];
    // 512 x 512 x 32 x 4 bytes at 4 TB/s are 8.39 us
    EXPECT_EQ(cell_of(times, "memset of the tensor", "", "512^2"), "0.00839");
    EXPECT_EQ(cell_of(times, "wf-tis", "", "512^2"), "0.0386");
    EXPECT_EQ(cell_of(times, "cw-b", "", "1K^2"), "-");
    EXPECT_EQ(cell_of(times, "cpu, 8 threads", "", "512^2"), "1.12");
    const table& ratios = *tables_of(s)[1];
    EXPECT_EQ(cell_of(ratios, "cw-tis over wf-tis", "", "as printed"), "up to about 1.5X");
    EXPECT_EQ(cell_of(ratios, "cw-tis over wf-tis", "", "512^2"), "1.22");  // (5 + 5 x) / (5 + 4 x)
    EXPECT_EQ(cell_of(ratios, "cw-b over wf-tis", "", "2K^2"), "-");
}

TEST(histogram_sections, figure_8_shares_are_of_the_whole) {
    const section s = histogram_parts_section(example_histograms());
    const table& t = *tables_of(s)[0];
    EXPECT_EQ(cell_of(t, "cw-sts", "prescan_rows_kernel", "launches"), "2");
    EXPECT_EQ(cell_of(t, "cw-sts", "prescan_rows_kernel", "ms a launch"), "0.0126");
    EXPECT_EQ(cell_of(t, "cw-sts", "initialize_kernel", "share of the whole"), "23.8%");  // 3 x / (5 + 12 x)
    EXPECT_TRUE(std::any_of(s.blocks.begin(), s.blocks.end(),
                            [](const block& b) { return std::holds_alternative<bar_chart>(b); }));
}

TEST(histogram_sections, figures_9_and_10_mark_the_best) {
    const section s = histogram_tuning_section(example_histograms());
    const table& t = *tables_of(s)[0];
    EXPECT_EQ(t.rows.size(), 15u);
    for (const auto& row : t.rows) {
        const bool best = row[0].text == "64 x 64" && row[1].text == "256";  // the default: 38.6 us
        EXPECT_EQ(row[2].mark == emphasis::best, best) << row[0].text << ", " << row[1].text;
    }
}

TEST(histogram_sections, figure_11_says_what_takes_longer) {
    const section s = histogram_transfers_section(example_histograms());
    const table& t = *tables_of(s)[0];
    EXPECT_EQ(cell_of(t, "512^2", "cw-b", "longer"), "kernels");
    EXPECT_EQ(cell_of(t, "512^2", "wf-tis", "longer"), "copies");
    EXPECT_EQ(cell_of(t, "1K^2", "cw-b", "longer"), "-");
}

TEST(histogram_sections, figure_13_has_the_gain) {
    const section s = histogram_buffers_section(example_histograms());
    const table& t = *tables_of(s)[0];
    EXPECT_EQ(cell_of(t, "fast", "32", "gain"), "1.50");
    EXPECT_EQ(cell_of(t, "fast", "32", "frames"), "100");
    EXPECT_EQ(cell_of(t, "fast", "32", "of the link"), "1.00");
    EXPECT_NE(words_of(s).find("a factor of two with 16 bins"), std::string::npos);
}

TEST(histogram_sections, a_frame_takes_the_longer_of_kernels_and_copies) {
    const bench_record record = example_histograms();
    const double bytes = 4.0 * 512 * 512 * 32;
    EXPECT_NEAR(*frame_us(record, wave_front, {512, 512, 32}), (bytes + 512 * 512) / 5e4, 0.01);
    EXPECT_NEAR(*frame_us(record, {"", "cuda", "cw-b", 0}, {512, 512, 32}), 5 + 400 * bytes / 4e6, 0.01);
    EXPECT_NEAR(*frame_us(record, {"", "cpu", "cpu", 8}, {512, 512, 32}), bytes / 3e4, 0.01);
    EXPECT_FALSE(frame_us(record, fast, {513, 512, 32}));
    const section s = histogram_rates_section(record);
    EXPECT_EQ(cell_of(*tables_of(s)[0], "fast", "", "512^2"), "1479");
    EXPECT_EQ(cell_of(*tables_of(s)[1], "fast", "", "128 bins"), "372");
    EXPECT_EQ(cell_of(*tables_of(s)[0], "cw-b", "", "2K^2"), "-");
    EXPECT_NE(words_of(s).find("351 on a GTX Titan X"), std::string::npos);
}

TEST(histogram_sections, figures_16_and_17_compare_workers_and_the_cpu) {
    bench_record record = example_histograms();
    const section s = histogram_large_section(record);
    const table& t = *tables_of(s)[0];
    const auto& two = t.rows[1];  // kept, by two devices
    EXPECT_EQ(two[3].text, "2 GPU");
    EXPECT_EQ(two[7].text, "2.00");
    EXPECT_EQ(two[9].text, "-");
    EXPECT_EQ(t.rows[3][9].text, "0.960 (0.980)");  // to the host, by two
    EXPECT_EQ(t.rows[2][9].text, "0.960");          // by one there is no at once
    EXPECT_EQ(two[11].text, "4000");                // sequential: 2e3 bytes a us against twice 4e6
    EXPECT_EQ(cell_of(*tables_of(s)[1], "64MB", "", "frames a second"), "0.73");
    EXPECT_NE(words_of(s).find("2 GPUs were present"), std::string::npos);
    std::erase_if(record.histograms, [](const histogram_row& r) { return r.workers == 2; });
    EXPECT_NE(words_of(histogram_large_section(record)).find("Only one GPU was present"), std::string::npos);
}

TEST(histogram_sections, figure_19_is_over_each_of_the_cpus) {
    const section s = histogram_speedup_section(example_histograms());
    const double bytes = 4.0 * 512 * 512 * 32, gpu_us = (bytes + 512 * 512) / 5e4;
    for (const auto& [cpu, speed] :
         {std::pair{"sequential, 1 thread", 2e3}, {"cpu, 1 thread", 1e4}, {"cpu, 8 threads", 3e4}})
        EXPECT_NEAR(std::stod(cell_of(*tables_of(s)[0], "fast", cpu, "512^2")), bytes / speed / gpu_us,
                    0.006 * bytes / speed / gpu_us)
            << cpu;
}

TEST(histogram_sections, figure_20_stands_beside_the_printed_rate) {
    const section s = histogram_vga_section(example_histograms());
    const table& t = *tables_of(s)[0];
    EXPECT_EQ(t.rows[0][2].text, "300.4");
    const double rate = 1e6 / ((4.0 * 480 * 640 * 32 + 480 * 640) / 5e4);
    EXPECT_NEAR(std::stod(cell_of(t, "fast", "", "frames a second")), rate, 0.006 * rate);
    EXPECT_NEAR(std::stod(cell_of(t, "fast", "", "of the paper's")), rate / 300.4, 0.006 * rate / 300.4);
}

TEST(histogram_sections, answers_are_measured_by_their_kernels) {
    const section s = histogram_answers_section(example_histograms());
    const table& t = *tables_of(s)[0];
    ASSERT_EQ(t.rows.size(), 4u);
    EXPECT_EQ(t.rows[0][2].text, "boxes");
    EXPECT_EQ(t.rows[0][4].text, "12500");
    EXPECT_EQ(t.rows[0][5].text, "0.625");
    EXPECT_EQ(t.rows[3][5].text, "0.950");
    EXPECT_EQ(t.rows[3][9].text, "0.0360");
    bench_record without = example_histograms();
    std::erase_if(without.histograms, [](const histogram_row& r) { return r.what == "answers"; });
    EXPECT_EQ(tables_of(histogram_answers_section(without))[0]->rows.size(), 1u);
}

TEST(histogram_sections, wrong_results_and_reasons_are_listed) {
    bench_record record = example_histograms();
    EXPECT_FALSE(has_wrong(record));
    record.histograms[2].us = {};
    record.histograms[2].check = "wrong: frame 0, bin 3, row 7";
    EXPECT_TRUE(has_wrong(record));
    const section s = histogram_problems_section(record);
    EXPECT_EQ(tables_of(s)[0]->rows.size(), 1u);
    EXPECT_EQ(tables_of(s)[0]->rows[0][2].text, "wrong: frame 0, bin 3, row 7");
    EXPECT_EQ((*row_of(*tables_of(s)[1], "cw-b"))[1].text, "more than 65536 launches");
}

TEST(histogram_sections, without_a_gpu_its_rows_say_so) {
    bench_record record = example_histograms();
    record.origin.backend = "cpu";
    std::erase_if(record.histograms, [](const histogram_row& r) { return r.backend == "cuda"; });
    EXPECT_EQ(cell_of(*tables_of(histogram_times_section(record))[0], "fast", "", "512^2"), "not measured");
    for (const auto& make :
         {histogram_parts_section, histogram_tuning_section, histogram_transfers_section, histogram_buffers_section,
          histogram_rates_section, histogram_large_section, histogram_speedup_section, histogram_vga_section}) {
        const section s = make(record);
        bool said = false;
        for (const table* t : tables_of(s))
            for (const auto& row : t->rows)
                said =
                    said || std::any_of(row.begin(), row.end(), [](const cell& c) { return c.text == "not measured"; });
        EXPECT_TRUE(said) << s.id;
    }
}

TEST(histogram_sections, rows_fit_their_heads_and_ids_are_unique) {
    bench_record empty, host_only = example_histograms();
    empty.kind = histogram_kind;
    empty.origin.backend = host_only.origin.backend = "cpu";
    std::erase_if(host_only.histograms, [](const histogram_row& r) { return r.backend == "cuda"; });
    for (const bench_record& record : {example_histograms(), host_only, empty}) {
        std::vector<std::string> ids;
        for (const section& s : histogram_report_of(record).sections) {
            EXPECT_EQ(std::count(ids.begin(), ids.end(), s.id), 0) << s.id;
            ids.push_back(s.id);
            EXPECT_FALSE(s.blocks.empty()) << s.id;
            for (const table* t : tables_of(s))
                for (const auto& row : t->rows) EXPECT_EQ(row.size(), t->head.size()) << s.id << ": " << t->caption;
        }
        EXPECT_EQ(ids.size(), 11u);
    }
}

}  // namespace
}  // namespace boxsum::bench
