#pragma once

#include <cstdint>
#include <string>
#include <vector>

/// The performance model of Chen et al. 2018, section V, equations 3 to 15: what a warp spends on the prefix sums of a
/// 32 x 32 matrix in its registers, by shuffles along the rows, or by a transposition through shared memory and serial
/// additions. Symbols are the paper's.
namespace boxsum::bench::chen {

/// A GPU as section V.A describes one, measured or printed.
struct gpu {
    std::string name;
    double shared_latency = 0;   ///< clocks of an access to shared memory
    double shuffle_latency = 0;  ///< clocks a warp
    double add_latency = 0;
    double and_latency = 0;
    /// Operations a clock and multiprocessor, each lane's counted (section V.A, after the programming manual).
    double shuffle_per_clock = 32;
    double add_per_clock = 64;
    double and_per_clock = 64;
    /// Bytes a clock and multiprocessor. 32 banks (section III.B.2) of 4 bytes.
    double shared_bytes_per_clock = 128;
};

/// Section V.B: counts for one warp and one register matrix.
struct counts {
    std::int64_t trans_store_smem;  ///< N_trans_store_smem
    std::int64_t trans_load_smem;   ///< N_trans_load_smem
    std::int64_t trans_stage;       ///< C + C; the paper names it N_scan_row_stage, as the one below
    std::int64_t scan_row_stage;    ///< N_scan_row_stage = log2(WarpSize) C
    std::int64_t kogge_stone_add;   ///< N_Kogge-Stone_add
    std::int64_t scan_row_sfl;      ///< N_scan_row_sfl: instructions of a warp, not of its lanes
    std::int64_t lf_add;            ///< N_LF_add
    std::int64_t lf_and;            ///< N_LF_and as the printed number has it: WarpSize N_scan_row_stage
    std::int64_t lf_and_formula;    ///< N_LF_and as the printed formula has it: times C once more
    std::int64_t scan_col_stage;    ///< N_scan_col_stage = C - 1
    std::int64_t scan_col_add;      ///< N_scan_col_add
};

/// For a register matrix of C x WarpSize; WarpSize a power of two. The paper's are 32 and 32.
counts counts_for(std::int64_t C = 32, std::int64_t warp_size = 32);

/// Equations 3 to 5, in clocks.
struct latencies {
    double transpose;  ///< L_transpose (3)
    double scan_row;   ///< L_scan_row (4)
    double scan_col;   ///< L_scan_col (5)
};
latencies latencies_of(const counts& n, const gpu& g);

/// Equation 7.
std::int64_t warps_per_block(std::int64_t block_size, std::int64_t warp_size = 32);

/// What equation 8 needs to know of a kernel and a GPU.
struct occupancy {
    std::int64_t multiprocessors;         ///< N_sm
    std::int64_t registers_sm;            ///< Reg_sm
    std::int64_t registers_thread;        ///< Reg_thread
    std::int64_t shared_sm;               ///< Smem_sm, bytes
    std::int64_t shared_block;            ///< Smem_block, bytes; 0: does not limit
    std::int64_t block_size;              ///< BlockSize
    std::int64_t largest_blocks_sm = 32;  ///< N_max_blk_sm
};

/// Equation 8: N_active_warps.
std::int64_t active_warps(const occupancy& o, std::int64_t warp_size = 32);

/// Equation 9: the shared-memory bandwidth of an active warp, in the unit of `bandwidth`.
double bandwidth_of_warp(double bandwidth, std::int64_t active);

/// Equations 10 to 13 for one matrix on one multiprocessor, in clocks. (The paper divides by the bandwidth of the whole
/// GPU and prints no clock frequency; clocks of a multiprocessor need neither.)
struct times {
    double trans;            ///< T_trans (10)
    double scan_col_add;     ///< T_scan_col_add (11)
    double shuffle;          ///< T_shuffle (12) as printed: instructions of warps over lanes a clock
    double shuffle_lanes;    ///< the same with lanes over lanes
    double kogge_stone_add;  ///< T_Kogge-Stone_add (13)
    double lf_add;           ///< T_LF_add, likewise
    double lf_and;           ///< T_LF_and, likewise
};
times times_of(const counts& n, const gpu& g, std::int64_t element_bytes, std::int64_t warp_size = 32);

/// One statement of the model, evaluated.
struct verdict {
    std::string name;     ///< "(6)", "(14)", "(14) with lanes"
    std::string formula;  ///< as printed
    double left, right;
    bool holds;  ///< the plain comparison; the paper's "much" less or greater is the reader's
};

/// Inequalities 6, 14 and 15; the latter two as printed and with shuffles counted in lanes.
std::vector<verdict> verdicts_of(const counts& n, const gpu& g, std::int64_t element_bytes);

/// Where a printed formula and its printed number, or two printed statements, do not agree.
std::vector<std::string> disagreements();

}  // namespace boxsum::bench::chen
