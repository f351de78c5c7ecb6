#include "model/chen_model.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <bit>

namespace boxsum::bench::chen {

counts counts_for(std::int64_t C, std::int64_t warp_size) {
    if (C < 1) throw invalid_argument("C: is " + std::to_string(C) + ", must be at least 1");
    if (warp_size < 2 || !std::has_single_bit(static_cast<std::uint64_t>(warp_size)))
        throw invalid_argument("warp_size: is " + std::to_string(warp_size) + ", must be a power of two above 1");
    counts n{};
    const auto stages = static_cast<std::int64_t>(std::bit_width(static_cast<std::uint64_t>(warp_size)) - 1);
    n.trans_store_smem = n.trans_load_smem = C * warp_size;
    n.trans_stage = C + C;
    n.scan_row_stage = stages * C;
    for (std::int64_t distance = 1; distance < warp_size; distance *= 2)
        n.kogge_stone_add += (warp_size - distance) * C;
    n.scan_row_sfl = n.scan_row_stage;
    n.lf_add = warp_size / 2 * stages * C;
    n.lf_and = warp_size * n.scan_row_stage;
    n.lf_and_formula = n.lf_and * C;
    n.scan_col_stage = C - 1;
    n.scan_col_add = warp_size * n.scan_col_stage;
    return n;
}

latencies latencies_of(const counts& n, const gpu& g) {
    return {static_cast<double>(n.trans_stage) * g.shared_latency,
            static_cast<double>(n.scan_row_stage) * (g.shuffle_latency + g.add_latency),
            static_cast<double>(n.scan_col_stage) * g.add_latency};
}

std::int64_t warps_per_block(std::int64_t block_size, std::int64_t warp_size) {
    return block_size / warp_size;
}

std::int64_t active_warps(const occupancy& o, std::int64_t warp_size) {
    const std::int64_t per_block = warps_per_block(o.block_size, warp_size);
    std::int64_t warps = std::min(o.registers_sm / (o.registers_thread * warp_size), per_block * o.largest_blocks_sm);
    if (o.shared_block > 0) warps = std::min(warps, o.shared_sm / o.shared_block * per_block);
    return o.multiprocessors * warps;
}

double bandwidth_of_warp(double bandwidth, std::int64_t active) {
    return bandwidth / static_cast<double>(active);
}

times times_of(const counts& n, const gpu& g, std::int64_t element_bytes, std::int64_t warp_size) {
    const auto real = [](std::int64_t x) { return static_cast<double>(x); };
    return {real((n.trans_store_smem + n.trans_load_smem) * element_bytes) / g.shared_bytes_per_clock,
            real(n.scan_col_add) / g.add_per_clock,
            real(n.scan_row_sfl) / g.shuffle_per_clock,
            real(n.scan_row_sfl * warp_size) / g.shuffle_per_clock,
            real(n.kogge_stone_add) / g.add_per_clock,
            real(n.lf_add) / g.add_per_clock,
            real(n.lf_and) / g.and_per_clock};
}

std::vector<verdict> verdicts_of(const counts& n, const gpu& g, std::int64_t element_bytes) {
    const latencies l = latencies_of(n, g);
    const times t = times_of(n, g, element_bytes);
    const double serial = t.trans + t.scan_col_add;
    const auto greater = [&](const char* name, const char* formula, double left) {
        return verdict{name, formula, left, serial, left > serial};
    };
    const double less = l.transpose + l.scan_col;
    return {
        {"(6)", "L_transpose + L_scan_col << L_scan_row", less, l.scan_row, less < l.scan_row},
        greater("(14)", "T_Kogge-Stone_add + T_shuffle >> T_trans + T_scan_col_add", t.kogge_stone_add + t.shuffle),
        greater("(14), lanes", "the same, each lane of a shuffle counted", t.kogge_stone_add + t.shuffle_lanes),
        greater("(15)", "T_LF_add + T_LF_and + T_shuffle >> T_trans + T_scan_col_add", t.lf_add + t.lf_and + t.shuffle),
        greater("(15), lanes", "the same, each lane of a shuffle counted", t.lf_add + t.lf_and + t.shuffle_lanes),
    };
}

std::vector<std::string> disagreements() {
    const counts n = counts_for();
    return {
        "N_LF_and: the printed formula, (WarpSize N_scan_row_stage) C, gives " + std::to_string(n.lf_and_formula) +
            ", the printed number is " + std::to_string(n.lf_and) + " = WarpSize N_scan_row_stage; N_scan_row_stage " +
            "has the factor C already, so the number is right and the formula has one C too many.",
        "N_scan_row_stage is defined twice: as C + C = 64 for the transposition (equation 3) and as log2(WarpSize) C = "
        "160 for the scan of rows (equation 4).",
        "Equation 12 divides N_scan_row_sfl, which counts instructions of a warp, by a throughput of 32 lanes a clock; "
        "N_Kogge-Stone_add in equation 13 counts lanes. Counted alike, a shuffle of a warp takes 1 clock, not 1/32: " +
            std::to_string(n.scan_row_sfl) + " clocks and not " + std::to_string(n.scan_row_sfl / 32) +
            ". As printed, 14 does not hold with 4-byte elements and 128 bytes a clock of shared memory; counted "
            "in lanes it does.",
        "Section VI.D, third statement: printed T_BRLT-ScanRow > T_ScanRow-BRLT, explained as the serial scan being "
        "the "
        "more efficient one, which is the opposite.",
        "Section III.B.3 calls 256 KB over 96 KB \"more than 2.7 times\"; it is 2.67.",
    };
}

}  // namespace boxsum::bench::chen
