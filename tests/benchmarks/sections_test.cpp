#include "report/sections.hpp"

#include "example_record.hpp"
#include "report/query.hpp"

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

template <typename Block>
std::size_t count(const section& s) {
    return static_cast<std::size_t>(std::count_if(s.blocks.begin(), s.blocks.end(),
                                                  [](const block& b) { return std::holds_alternative<Block>(b); }));
}

const std::vector<cell>* row_of(const table& t, const std::string& first, const std::string& second) {
    for (const auto& row : t.rows)
        if (row[0].text == first && (second.empty() || row[1].text.starts_with(second))) return &row;
    return nullptr;
}

TEST(emoto, marks_the_best_width_and_states_the_overhead) {
    const bench_record record = example_record();
    const section s = emoto_times_section(record);
    const table& t = *tables_of(s)[0];
    const auto column = static_cast<std::size_t>(std::find(t.head.begin(), t.head.end(), "16K^2") - t.head.begin());
    ASSERT_LT(column, t.head.size());
    EXPECT_EQ((*row_of(t, "2r1w", "128^2"))[column].mark, emphasis::best);  // the example's formula: 0.97 there
    EXPECT_EQ((*row_of(t, "2r1w", "64^2"))[column].mark, emphasis::none);
    EXPECT_EQ((*row_of(t, "2r1w", "64^2"))[2].mark, emphasis::best);
    const double copy = *copy_us(record, "32f32f", 16384);
    const double best = 6 + copy * 1.6 * 0.97;
    EXPECT_NEAR(std::stod((*row_of(t, "2r1w", "overhead"))[column].text), overhead_percent(best, copy), 0.06);
    EXPECT_EQ(count<line_chart>(s), 2u);
    EXPECT_NE(row_of(*tables_of(s)[1], "1r1w-skss-lb", "overhead"), nullptr);  // as printed
    EXPECT_EQ((*row_of(*tables_of(s)[1], "1r1w-skss-lb", "overhead"))[7].text, "5.7%");
}

TEST(emoto, costs_stand_beside_the_printed_formulas) {
    const section s = emoto_costs_section(example_record());
    const table& t = *tables_of(s)[0];
    EXPECT_EQ(t.rows.size(), 7u);
    for (const auto& row : t.rows) EXPECT_EQ(row.size(), t.head.size());
    EXPECT_EQ((*row_of(t, "1r1w", ""))[2].text, "nW/m");
}

TEST(chen, speedups_are_over_the_library_that_was_measured) {
    const bench_record record = example_record();
    const section s = chen_speedups_section(record);
    bool found = false;
    for (const table* t : tables_of(s)) {
        if (t->caption != "32f32f: speed-up over npp") continue;
        found = true;
        const double npp = *best_of(of_algorithm(squares_of(record, "32f32f"), "npp"), 1024)->us;
        const double fast = *best_of(of_algorithm(squares_of(record, "32f32f"), "fast"), 1024)->us;
        const auto column =
            static_cast<std::size_t>(std::find(t->head.begin(), t->head.end(), "1K^2") - t->head.begin());
        EXPECT_NEAR(std::stod((*row_of(*t, "fast", ""))[column].text), npp / fast, 0.01 * npp / fast);
    }
    EXPECT_TRUE(found);
}

TEST(chen, the_third_inequality_is_judged_as_printed_and_as_explained) {
    const section s = chen_passes_section(example_record());
    EXPECT_EQ(count<bar_chart>(s), 1u);
    const table& t = *tables_of(s)[0];
    ASSERT_EQ(t.rows.size(), 9u);
    const auto* third = row_of(t, "T_BRLT-ScanRow > T_ScanRow-BRLT", "1K^2");
    ASSERT_NE(third, nullptr);
    EXPECT_EQ((*third)[4].text, "does not hold");  // 1.15 > 1.25 in the example
    EXPECT_EQ((*third)[5].text, "holds");
    EXPECT_EQ((*row_of(t, "T_ScanColumn < T_BRLT-ScanRow", "1K^2"))[4].text, "holds");
}

TEST(chen, the_model_uses_what_was_measured) {
    const section s = chen_model_section(example_record());
    bool found = false;
    for (const table* t : tables_of(s))
        if (const auto* row = row_of(*t, "no GPU (made-up numbers <for tests>)", "1856"))
            found = row->size() == 4;  // 64 * 29
    EXPECT_TRUE(found);
}

TEST(ha_han, throughput_is_of_the_best_b) {
    const bench_record record = example_record();
    const section s = ha_han_section(record);
    const table& t = *tables_of(s)[0];
    EXPECT_EQ((*row_of(t, "best b", ""))[1].text, "128");
    const double us = *best_of(of_algorithm(squares_of(record, "32f32f"), "ha-han"), 64)->us;
    EXPECT_NEAR(std::stod((*row_of(t, "ha-han", ""))[1].text), 64 * 64 / us, 0.01 * 64 * 64 / us);
}

TEST(notes, passes_and_blurs_stand_below_the_printed_ones) {
    const section s = notes_section(example_record());
    ASSERT_EQ(tables_of(s).size(), 2u);
    EXPECT_EQ((*row_of(*tables_of(s)[0], "scanrow-brlt", ""))[1].text, "28");
    EXPECT_EQ((*row_of(*tables_of(s)[0], "brlt-scanrow", ""))[4].text, "43");
    const auto* own = row_of(*tables_of(s)[1], "scanrow-brlt", "");
    ASSERT_NE(own, nullptr);
    EXPECT_EQ((*own)[3].text, "13.0");  // 5 + 800 / 100
    EXPECT_EQ((*own)[6].text, "25.0");  // 9 + 800 / 50
}

TEST(problems, wrong_results_and_reasons_are_listed) {
    bench_record record = example_record();
    record.tables[5].us = {};
    record.tables[5].check = "wrong: row 3";
    const section s = problems_section(record);
    EXPECT_EQ(tables_of(s)[0]->rows.size(), 1u);
    EXPECT_EQ((*row_of(*tables_of(s)[1], "opencv-cuda", ""))[1].text,
              "OpenCV's CUDA modules were not found when this was built");
}

TEST(report, rows_fit_their_heads_and_ids_are_unique) {
    bench_record empty;
    empty.origin.backend = "cpu";
    for (const bench_record& record : {example_record(), empty}) {
        std::vector<std::string> ids;
        for (const section& s : report_of(record).sections) {
            EXPECT_EQ(std::count(ids.begin(), ids.end(), s.id), 0) << s.id;
            ids.push_back(s.id);
            EXPECT_FALSE(s.blocks.empty()) << s.id;
            for (const table* t : tables_of(s))
                for (const auto& row : t->rows) EXPECT_EQ(row.size(), t->head.size()) << s.id << ": " << t->caption;
        }
    }
}

}  // namespace
}  // namespace boxsum::bench
