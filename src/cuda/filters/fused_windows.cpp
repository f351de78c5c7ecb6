#include "cuda/filters/fused_windows.hpp"

#include "cuda/runtime/device_limits.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <optional>
#include <span>
#include <utility>

namespace boxsum::cuda {
namespace {

using filters::window_job;

constexpr std::int64_t most_threads = 512;
/// Sums of squares and counts of more are more shared memory than some devices have.
constexpr std::int64_t most_threads_of(fused_sums sums) {
    return sums == fused_sums::counted_squares ? 256 : most_threads;
}
constexpr std::int64_t largest_extent = std::int64_t{1} << 30;  // places are 32-bit numbers

constexpr std::int64_t line_columns = 128;

/// Columns of a window that a row changes by less than 2^15.
constexpr std::int64_t deltas_width = 128;
/// Smaller images have too few bands of seven rows for a device: 256 x 256 takes a seventh longer on an H100.
constexpr std::int64_t fewest_pixels = std::int64_t{1} << 21;

/// Columns that a block reads beyond those of its results: the windows' reach, the column before the first window, and
/// what lies before it in the first thread's.
std::int64_t halo(const window_job& job, int columns) {
    return job.cols.before + job.cols.after + columns;
}

std::int64_t up(std::int64_t n, std::int64_t unit) {
    return (n + unit - 1) / unit;
}

/// Threads that are on a device at once: an H200 holds 16 warps a multiprocessor at some 120 registers.
constexpr double resident = planned_multiprocessors * 16 * 32;

/// Threads of a block, and how much longer a batch takes where warps wait for each other, on an H200: a block of the
/// shape that takes least then is within 3 % of the best one for means of 8u at 16384^2, radius 3 and 15.
struct block_size {
    std::int64_t threads;
    double warps_wait;
};
constexpr block_size blocks[] = {{32, 1}, {64, 1.04}, {128, 1.06}, {256, 1.08}, {512, 1.25}};

/// Rows of bands, whole batches. Images have rows of a power of two bytes, and where bands begin whole megabytes apart
/// they are read slowly: 128 rows take 5 % longer than 124 for Bradley's threshold at 16384^2 and radius 15 on an H100.
std::span<const std::int64_t> bands_of(fused_sums sums) {
    static constexpr std::int64_t deltas[] = {7, 14, 21, 28, 35, 42, 49, 56, 112},
                                  others[] = {4, 8, 12, 16, 20, 24, 28, 36, 40, 44, 48, 52, 60, 92, 124};
    return sums == fused_sums::deltas ? std::span<const std::int64_t>(deltas) : others;
}

/// How many times as long as one block takes all take that are `held` times what the device holds at once: the last
/// ones are waited for as if they were more, and where few are left the others are faster.
double waves_of(double held, bool prepares) {
    return 0.75 * held + 0.25 * std::ceil(held) + (prepares ? 0.5 : 0.25);
}

/// Whether a block holds the windows' reach, and places and columns' sums fit 32 bits.
bool reaches(const window_job& job, fused_sums sums) {
    if (job.rows.reduced() || job.cols.reduced() || job.rows.width() > 65535) return false;
    if (job.rows.extent > largest_extent || job.cols.extent > largest_extent / 4) return false;
    const int columns = fused_columns(job.shape.type, sums);
    return halo(job, columns) <= most_threads_of(sums) * columns / 2;
}

}  // namespace

fused_sums fused_sums_of(const window_job& job, bool squares) {
    if (squares) return fused_sums::squares;
    if (job.shape.type == dtype::u8 && job.largest_window <= std::int64_t{1} << 23 &&
        job.rows.extent * job.cols.extent * job.shape.channels >= fewest_pixels)
        return job.cols.full <= deltas_width ? fused_sums::deltas : fused_sums::broad;
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
    // Broad sums have no blocks of 512 threads: what wants those is narrow.
    return reaches(job, sums == fused_sums::broad ? fused_sums::narrow : sums) && job.largest_window <= most;
}

fused_sums sliding_sums_of(const window_job& job, bool squares) {
    if (squares) return job.shape.type == dtype::u8 ? fused_sums::counted_squares : fused_sums::squared_reals;
    if (job.weighted) return fused_sums::weighted_reals;
    if (!is_floating(job.shape.type)) return fused_sums::counted;
    return job.sampled() ? fused_sums::counted_reals : fused_sums::reals;
}

bool sliding_supports(const window_job& job, bool squares) {
    if (squares && job.shape.type == dtype::u8)
        return !job.weighted && fused_supports(job, true) && reaches(job, fused_sums::counted_squares);
    // A window's sum of integers has 31 bits of 8-bit pixels, and 39 of 16-bit ones.
    const bool known = squares ? job.shape.type == dtype::f32 && !job.sampled() : job.shape.type != dtype::f64;
    return known && reaches(job, sliding_sums_of(job, squares)) && job.largest_window <= std::int64_t{1} << 23;
}

namespace {

/// All that a shape depends on.
struct shape_key {
    dtype type;
    fused_sums sums;
    std::int64_t rows, channels, width, above, below, left, right;

    friend bool operator==(const shape_key&, const shape_key&) = default;
};

fused_shape choose_shape(const shape_key& of) {
    const fused_sums sums = of.sums;
    const int columns = fused_columns(of.type, sums);
    const std::int64_t rows = of.rows, width = of.width, beyond = of.left + of.right + columns;
    fused_shape shape;
    const std::int64_t taken = of.above + of.below;
    const bool prepares = taken > 64;
    // What a band takes beside its rows, in rows: the rows of its first windows, or segments of them, or what comes of
    // two prefix sums.
    const bool prefixes = sums < fused_sums::reals;
    const auto start_of = [&](std::int64_t band) {
        return 4 + (!prepares ? taken / 3 : prefixes ? 0 : 4 * taken / (5 * band));
    };
    struct cost_of_block {
        double cost = 0;
        std::int64_t threads = 0, strip = 0, band = 0;
    } costs[std::size(blocks)];
    int held_by = 0;  // so many sizes of blocks
    for (const auto& [threads, warps_wait] : blocks) {
        if (threads > most_threads_of(sums) || (2 * beyond > threads * columns && threads < most_threads)) continue;
        if (sums == fused_sums::broad && threads == most_threads && held_by > 0) break;  // which are narrow
        const std::int64_t fits =
            width + beyond <= threads * columns ? width : (threads * columns - beyond) / columns * columns;
        // Strips begin with a line of memory where blocks hold them.
        std::int64_t strip = up(up(width, up(width, fits)), columns) * columns;
        if (const std::int64_t lines = up(strip, line_columns) * line_columns; lines <= fits && strip < width)
            strip = lines;
        const std::int64_t strips = up(width, strip);
        cost_of_block& least = costs[held_by++];
        for (const std::int64_t band : bands_of(sums)) {
            const double held = static_cast<double>(strips * of.channels * up(rows, band) * threads) / resident;
            const double prefix_kernel = prepares && prefixes && (taken + band / 2) / band > 8 ? 1.05 : 1;
            const double cost =
                prefix_kernel * warps_wait * waves_of(held, prepares) * static_cast<double>(band + start_of(band));
            if (least.cost == 0 || cost < least.cost) least = {cost, threads, strip, band};
        }
    }
    const auto cheaper = [](const cost_of_block& a, const cost_of_block& b) { return a.cost < b.cost; };
    const cost_of_block* chosen = std::min_element(costs, costs + held_by, cheaper);
    // Of floats a block's windows are refused together where one sum may have been rounded: the fewer the better.
    if (sums >= fused_sums::reals)
        chosen = std::find_if(costs, costs + held_by, [&](const auto& c) { return c.cost <= 1.08 * chosen->cost; });
    shape.threads = static_cast<int>(chosen->threads);
    shape.strips = static_cast<int>(up(width, chosen->strip));
    shape.strip_cols = static_cast<int>(chosen->strip);
    shape.band_rows = static_cast<int>(std::min(chosen->band, rows));
    shape.bands = static_cast<int>(up(rows, shape.band_rows));
    if (!prepares || shape.bands == 1) return shape;
    std::int64_t segments = 2 * (shape.bands - 1 + taken / shape.band_rows) + 1;
    if (sums <= fused_sums::counted_squares) {  // others' refused blocks are found by their bands' rows
        shape.unit = sums == fused_sums::deltas ? 7 : 4;
        shape.period = static_cast<int>(taken);
        shape.parts = static_cast<int>(
            std::clamp<std::int64_t>((taken + shape.band_rows / 2) / shape.band_rows, 1, taken / shape.unit));
        const band_rule rule{shape.period, shape.parts, shape.unit};
        shape.bands = static_cast<int>(rows / taken * shape.parts);
        while (rule.begin(shape.bands) < rows) ++shape.bands;
        segments = shape.bands - 1 + shape.parts;
    }
    shape.prepared = segments <= 65535;  // a side of a grid
    if (!shape.prepared) return shape;
    shape.segments = static_cast<int>(segments);
    shape.first_segment = static_cast<int>(-up(of.left + 1, columns) * columns);
    shape.segment_cols = static_cast<int>(up(width + of.right - shape.first_segment, columns) * columns);
    return shape;
}

}  // namespace

fused_shape fused_shape_of(const window_job& job, fused_sums sums, std::int64_t rows) {
    // Choosing takes longer than all else of a call on the host, and calls come again.
    thread_local std::array<std::optional<std::pair<shape_key, fused_shape>>, 4> known;
    thread_local std::size_t oldest = 0;
    const shape_key key{
        job.shape.type,  sums,          rows, job.shape.channels, job.cols.extent, job.rows.before, job.rows.after,
        job.cols.before, job.cols.after};
    for (const auto& one : known)
        if (one && one->first == key) return one->second;
    auto& one = known[oldest++ % known.size()];
    one.emplace(key, choose_shape(key));
    return one->second;
}

namespace {

std::size_t scratch_of(const window_job& job, fused_sums sums, std::int64_t rows) {
    const fused_shape shape = fused_shape_of(job, sums, rows);
    if (!shape.prepared) return 0;
    const std::int64_t slots = shape.segment_cols / fused_columns(job.shape.type, sums);
    const std::int64_t bytes = slots * fused_slot_bytes(job.shape.type, sums);
    return static_cast<std::size_t>(job.shape.channels * shape.segments * bytes + 255) / 256 * 256;
}

}  // namespace

std::size_t fused_scratch_bytes(const window_job& job, fused_sums sums, std::int64_t rows) {
    const std::size_t bytes = scratch_of(job, sums, rows);
    if (job.shape.type != dtype::u8 || (sums != fused_sums::broad && sums != fused_sums::squares)) return bytes;
    // Thresholds of means have squares only where they are the result, and what lies elsewhere than broad sums want it
    // is narrow.
    return std::max(bytes, scratch_of(job, fused_sums::narrow, rows));
}

}  // namespace boxsum::cuda
