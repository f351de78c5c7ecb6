#include "cuda/filters/fused_windows.hpp"

#include <algorithm>

namespace boxsum::cuda {
namespace {

using filters::window_job;

constexpr std::int64_t most_threads = 512;
constexpr std::int64_t largest_extent = std::int64_t{1} << 30;  // places are 32-bit numbers

/// Columns that a block reads beyond those of its results: the windows' reach, the column before the first window, and
/// what lies before it in the first thread's.
std::int64_t halo(const window_job& job, int columns) {
    return job.cols.before + job.cols.after + columns;
}

std::int64_t up(std::int64_t n, std::int64_t unit) {
    return (n + unit - 1) / unit;
}

/// Whether a block holds the windows' reach, and places and columns' sums fit 32 bits.
bool reaches(const window_job& job, fused_sums sums) {
    if (job.rows.reduced() || job.cols.reduced() || job.rows.width() > 65535) return false;
    if (job.rows.extent > largest_extent || job.cols.extent > largest_extent / 4) return false;
    const int columns = fused_columns(job.shape.type, sums);
    return halo(job, columns) <= most_threads * columns / 2;
}

}  // namespace

fused_sums fused_sums_of(const window_job& job, bool squares) {
    if (squares) return fused_sums::squares;
    // Below 2^31, so that half a window fits on top.
    const std::int64_t narrow = job.shape.type == dtype::u8 ? std::int64_t{1} << 23 : 32767;
    return job.largest_window <= narrow ? fused_sums::narrow : fused_sums::wide;
}

bool fused_supports(const window_job& job, bool squares) {
    if (is_floating(job.shape.type)) return false;
    const fused_sums sums = fused_sums_of(job, squares);
    // Squares of centred 8-bit pixels are at most 2^14, of 16-bit ones 2^30; sums of columns have 31 bits.
    const std::int64_t most = job.shape.type != dtype::u8   ? std::int64_t{1} << 30
                              : sums == fused_sums::squares ? (std::int64_t{1} << 18) - 1
                                                            : std::int64_t{1} << 23;
    return reaches(job, sums) && job.largest_window <= most;
}

fused_sums sliding_sums_of(const window_job& job) {
    if (!is_floating(job.shape.type)) return fused_sums::counted;
    if (job.weighted) return fused_sums::weighted_reals;
    return job.sampled() ? fused_sums::counted_reals : fused_sums::reals;
}

bool sliding_supports(const window_job& job) {
    // A window's sum of integers has 31 bits of 8-bit pixels, and 39 of 16-bit ones.
    const bool known = job.weighted ? job.shape.type == dtype::f32 : job.shape.type != dtype::f64;
    return known && reaches(job, sliding_sums_of(job)) && job.largest_window <= std::int64_t{1} << 23;
}

fused_shape fused_shape_of(const window_job& job, fused_sums sums, std::int64_t rows) {
    const int columns = fused_columns(job.shape.type, sums);
    const std::int64_t width = job.cols.extent, beyond = halo(job, columns);
    fused_shape shape;
    // The fewest threads that read at most a quarter of their columns for their neighbours, or hold the whole row. On
    // an H200 at 16384^2 and radius 250 means of 8u take 4.8 copies with 256 threads, 5.0 with 512 and 5.4 with 128.
    std::int64_t threads = 32;
    while (threads < most_threads && beyond * 4 > threads * columns && width + beyond > threads * columns) threads *= 2;
    const bool row_fits = width + beyond <= threads * columns;
    const std::int64_t fits = row_fits ? width : (threads * columns - beyond) / columns * columns;
    shape.threads = static_cast<int>(threads);
    shape.strips = static_cast<int>(up(width, fits));
    shape.strip_cols = static_cast<int>(up(up(width, shape.strips), columns) * columns);
    shape.strips = static_cast<int>(up(width, shape.strip_cols));
    // High bands, whose first windows cost little, as long as there are enough of them to keep the device busy. On an
    // H200 at 16384^2 means of 8u with radius 3 take 2.15 copies with 64 rows, 2.4 with 32, 2.1 with 128 and 2.35 with
    // 256; with radius 15 2.7, 3.2, 2.55 and 2.7; with 250 4.9, 6.6, 5.2 and 6.0. Those of
    // 32f 2.2, 2.3, 2.2, 2.3; 2.45, 2.6, 2.4, 2.4; 3.9, 4.5, 3.85, 4.2. Squares have nothing of 128.
    const std::int64_t across = shape.strips * job.shape.channels, wanted = 132 * 16 * 32 / threads;
    const std::int64_t taken = job.rows.before + job.rows.after;
    std::int64_t band = sums != fused_sums::squares && taken >= 16 && taken <= 128 ? 128 : 64;
    // Not below an eighth of the window: at 4096^2 and radius 250 16 rows take 1.4 times as long as 32, and 8 four
    // times.
    while (band > 2 && band * 8 > taken && across * up(rows, band) < wanted) band /= 2;
    shape.band_rows = static_cast<int>(std::min(band, rows));
    shape.bands = static_cast<int>(up(rows, shape.band_rows));
    shape.prepared = taken > 64 && shape.bands > 1;
    if (!shape.prepared) return shape;
    shape.segments = static_cast<int>(2 * (shape.bands - 1 + taken / shape.band_rows) + 1);
    shape.first_segment = static_cast<int>(-up(job.cols.before + 1, columns) * columns);
    shape.segment_cols = static_cast<int>(up(width + job.cols.after - shape.first_segment, columns) * columns);
    return shape;
}

std::size_t fused_scratch_bytes(const window_job& job, fused_sums sums, std::int64_t rows) {
    const fused_shape shape = fused_shape_of(job, sums, rows);
    if (!shape.prepared) return 0;
    const std::int64_t slots = shape.segment_cols / fused_columns(job.shape.type, sums);
    const std::int64_t bytes = slots * fused_slot_bytes(job.shape.type, sums);
    return static_cast<std::size_t>(job.shape.channels * shape.segments * bytes + 255) / 256 * 256;
}

}  // namespace boxsum::cuda
