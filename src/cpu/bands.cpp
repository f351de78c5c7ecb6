// A band of rows for each thread. Together the threads first sum the columns of every band but the last, each thread
// its own columns; the row above a band is the scan, along the row, of the sums of all bands before it. Then each
// thread scans its band, on its own.
//
//     thread 0:  [columns, left half of band 0]   [band 0]
//     thread 1:  [columns, right half of band 0]  [row above band 1][band 1]
//
// Of a part of a larger table, the row above a band also has what the part takes over, and the band's rows start from
// what lies left of them.
//
// The image is read twice but for the last band, and nothing else is exchanged: in the wavefront every tile waits for
// the other core's latest row, which costs more than reading the image again while both are in cache. The additions
// are not those of one thread, so only integer tables, which wrap, are made in this way.

#include "cpu/part_edges.hpp"
#include "cpu/table_job.hpp"
#include "cpu/team.hpp"

#include <boxsum/table.hpp>

#include <algorithm>
#include <cstring>

namespace boxsum::cpu {
namespace {

constexpr std::int64_t least_rows_of_band = 16;

/// Everything that the threads share.
struct band_team {
    const table_job& job;
    std::byte* rows_above = nullptr;  ///< of band b, pass i: row 2 * b + i
    std::size_t row_bytes = 0;
    std::byte* row_sums = nullptr;  ///< that rows start from, 8 bytes for each channel of each row
    progress_counters progress = {};

    std::byte* row_above(int band, int i) const {
        return rows_above + static_cast<std::size_t>(2 * band + i) * row_bytes;
    }
    std::int64_t first_row(int band, int bands) const {
        return band == bands ? job.rows : job.rows * band / bands / rows_per_pass * rows_per_pass;
    }
};

/// Column sums of all bands before each band, for a range of elements.
void sum_columns(const band_team& team, int bands, std::int64_t first, std::int64_t end) {
    const table_job& job = team.job;
    const auto size = static_cast<std::int64_t>(size_of(job.image_shape.type));
    for (int i = 0; i < job.pass_count; ++i) {
        const table_pass& p = job.passes[static_cast<std::size_t>(i)];
        const auto bytes = static_cast<std::size_t>((end - first) * p.element);
        for (int band = 1; band < bands; ++band) {
            std::byte* const sums = team.row_above(band, i) + first * p.element;
            if (band == 1)
                std::memset(sums, 0, bytes);
            else
                std::memcpy(sums, team.row_above(band - 1, i) + first * p.element, bytes);
            const std::int64_t row = team.first_row(band - 1, bands);
            p.add_columns(job.image + row * job.image_shape.row_stride + first * size, job.image_shape.row_stride,
                          team.first_row(band, bands) - row, end - first, sums);
        }
    }
}

template <typename T>
void scan_row(std::byte* row, std::int64_t channels, std::int64_t elements) {
    T* const x = reinterpret_cast<T*>(row);
    for (std::int64_t i = channels; i < elements; ++i) x[i] = static_cast<T>(x[i] + x[i - channels]);
}

void run_band(void* context, int thread, int bands) {
    const band_team& team = *static_cast<const band_team*>(context);
    const table_job& job = team.job;
    const std::int64_t elements = job.elements;
    const auto share = [&](int t) {
        return t == bands ? elements : elements * t / bands / tile_columns_unit * tile_columns_unit;
    };
    if (bands > 1 && share(thread) < share(thread + 1)) sum_columns(team, bands, share(thread), share(thread + 1));
    team.progress[static_cast<std::size_t>(thread)].done.store(1, std::memory_order_release);
    // Also the first band waits: an in-place table overwrites the pixels that the others still sum.
    for (int t = 0; t < bands; ++t) wait_until(team.progress[static_cast<std::size_t>(t)], 1);

    const std::int64_t row = team.first_row(thread, bands);
    const std::int64_t rows = team.first_row(thread + 1, bands) - row;
    for (int i = 0; i < job.pass_count && rows > 0; ++i) {
        const table_pass& p = job.passes[static_cast<std::size_t>(i)];
        tile t = tile_of(job, p, 0, row, rows, 0, job.elements);
        if (thread > 0) {
            std::byte* const above = team.row_above(thread, i);
            if (p.element == 4)
                scan_row<std::uint32_t>(above, job.channels, job.elements);
            else
                scan_row<std::uint64_t>(above, job.channels, job.elements);
            if (p.above != nullptr || p.left_edge != nullptr) add_edges(job, p, row, above);
            t.above = above;
        }
        if (p.left_edge != nullptr) {
            t.carry = team.row_sums + row * job.channels * static_cast<std::int64_t>(carry_bytes);
            t.carry_in = true;
            put_row_sums(job, p, 0, row, rows, t.carry);
        }
        p.run(t);
    }
}

}  // namespace

bool fits_bands(const table_job& job, int threads) {
    if (threads < 2 || job.image_shape.planes > 1 || job.streaming || job.elements == 0 ||
        job.rows < least_rows_of_band * threads)
        return false;
    for (int i = 0; i < job.pass_count; ++i)
        if (job.passes[static_cast<std::size_t>(i)].add_columns == nullptr) return false;
    return true;
}

void compute_in_bands(const table_job& job, int threads) {
    band_team team{job};
    team.row_bytes = static_cast<std::size_t>(round_up(job.elements * 8, 64));
    const std::size_t rows_above = 2 * static_cast<std::size_t>(threads) * team.row_bytes;
    const std::size_t row_sums =
        job.has_left_edge() ? static_cast<std::size_t>(job.rows * job.channels) * carry_bytes : 0;
    const host_buffer scratch = memory_pool::shared().acquire(rows_above + row_sums);
    team.rows_above = static_cast<std::byte*>(scratch.data());
    team.row_sums = team.rows_above + rows_above;
    team.progress = std::make_unique<progress_counter[]>(static_cast<std::size_t>(threads));
    run_team(threads, run_band, &team);
}

}  // namespace boxsum::cpu
