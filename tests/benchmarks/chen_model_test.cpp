// The model against the numbers that the paper prints.

#include "model/chen_model.hpp"

#include "papers/printed.hpp"

#include <boxsum/error.hpp>

#include <gtest/gtest.h>

namespace boxsum::bench::chen {
namespace {

const nlohmann::ordered_json& paper() {
    return printed("chen-2018")["section_5"];
}

gpu printed_gpu(const char* name) {
    const auto& g = paper()["gpus"][name];
    return {name, g["shared_latency"], g["shuffle_latency"], g["add_latency"], g["and_latency"]};
}

TEST(chen_model, counts_are_the_printed_ones) {
    const counts n = counts_for();
    const auto& p = paper()["printed"];
    EXPECT_EQ(n.trans_store_smem, p["N_trans_store_smem"]);
    EXPECT_EQ(n.trans_load_smem, p["N_trans_load_smem"]);
    EXPECT_EQ(n.trans_stage, p["N_trans_stage"]);
    EXPECT_EQ(n.scan_row_stage, p["N_scan_row_stage"]);
    EXPECT_EQ(n.kogge_stone_add, p["N_Kogge-Stone_add"]);
    EXPECT_EQ(n.scan_row_sfl, p["N_scan_row_sfl"]);
    EXPECT_EQ(n.lf_add, p["N_LF_add"]);
    EXPECT_EQ(n.lf_and, p["N_LF_and"]);
    EXPECT_EQ(n.scan_col_stage, p["N_scan_col_stage"]);
    EXPECT_EQ(n.scan_col_add, p["N_scan_col_add"]);
}

TEST(chen_model, printed_formula_of_lf_and_has_one_factor_too_many) {
    const counts n = counts_for();
    EXPECT_EQ(n.lf_and_formula, 163840);
    EXPECT_EQ(n.lf_and_formula, 32 * n.lf_and);
}

TEST(chen_model, latencies_of_equations_3_to_5_are_the_printed_ones) {
    const latencies l = latencies_of(counts_for(), printed_gpu("P100"));
    const auto& p = paper()["printed"];
    EXPECT_EQ(l.transpose, p["L_transpose"]);
    EXPECT_EQ(l.scan_row, p["L_scan_row"]);
    EXPECT_EQ(l.scan_col, p["L_scan_col"]);
}

TEST(chen_model, warps_of_equations_7_to_9) {
    EXPECT_EQ(warps_per_block(1024), 32);
    EXPECT_EQ(warps_per_block(1000), 31);
    // registers: 65536 / (64 * 32) = 32; shared memory: 3 blocks of 32; blocks: 32 * 32
    EXPECT_EQ(active_warps({56, 65536, 64, 98304, 32768, 1024}), 56 * 32);
    // shared memory: 1 block of 16 warps
    EXPECT_EQ(active_warps({80, 65536, 32, 65536, 40000, 512}), 80 * 16);
    // blocks: 2 of 4 warps
    EXPECT_EQ(active_warps({10, 65536, 32, 65536, 0, 128, 2}), 10 * 8);
    EXPECT_DOUBLE_EQ(bandwidth_of_warp(9519, 100), 95.19);
}

TEST(chen_model, times_of_equations_10_to_13) {
    const times t = times_of(counts_for(), printed_gpu("V100"), 4);
    EXPECT_DOUBLE_EQ(t.trans, 64);              // 2048 elements of 4 bytes, 128 bytes a clock
    EXPECT_DOUBLE_EQ(t.scan_col_add, 15.5);     // 992 / 64
    EXPECT_DOUBLE_EQ(t.shuffle, 5);             // 160 / 32
    EXPECT_DOUBLE_EQ(t.shuffle_lanes, 160);     // 160 * 32 / 32
    EXPECT_DOUBLE_EQ(t.kogge_stone_add, 64.5);  // 4128 / 64
    EXPECT_DOUBLE_EQ(t.lf_add, 40);
    EXPECT_DOUBLE_EQ(t.lf_and, 80);
    EXPECT_DOUBLE_EQ(times_of(counts_for(), printed_gpu("V100"), 8).trans, 128);
}

TEST(chen_model, inequalities) {
    const std::vector<verdict> v = verdicts_of(counts_for(), printed_gpu("P100"), 4);
    ASSERT_EQ(v.size(), 5u);
    EXPECT_TRUE(v[0].holds);  // (6): 2490 < 6240
    EXPECT_DOUBLE_EQ(v[0].left, 2304 + 186);
    EXPECT_FALSE(v[1].holds) << v[1].left;  // (14) as printed: 69.5 > 79.5
    EXPECT_TRUE(v[2].holds);                // lanes: 224.5 > 79.5
    EXPECT_TRUE(v[3].holds);                // (15): 125 > 79.5
    EXPECT_TRUE(v[4].holds);
}

TEST(chen_model, bad_arguments_are_named) {
    EXPECT_THROW((void)counts_for(0), invalid_argument);
    EXPECT_THROW((void)counts_for(32, 24), invalid_argument);
}

TEST(chen_model, disagreements_name_their_equations) {
    std::string all;
    for (const std::string& text : disagreements()) all += text;
    for (const char* what : {"N_LF_and", "163840", "5120", "Equation 12", "third statement"})
        EXPECT_NE(all.find(what), std::string::npos) << what;
}

}  // namespace
}  // namespace boxsum::bench::chen
