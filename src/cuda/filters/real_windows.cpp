#include "cuda/filters/real_windows.hpp"

#include "cuda/filters/real_terms.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/device_limits.hpp"

#include <algorithm>
#include <bit>
#include <numeric>

namespace boxsum::cuda {
namespace {

using filters::window_job;

std::int64_t up(std::int64_t n, std::int64_t unit) {
    return (n + unit - 1) / unit;
}

std::int64_t down(std::int64_t n, std::int64_t unit) {
    return n / unit - (n % unit < 0 ? 1 : 0);
}

std::int64_t band_rows_of(const terms_layout& layout, std::int64_t tall) {
    return std::max(std::min(tall, std::int64_t{most_batches} * layout.rows) / layout.rows, std::int64_t{1}) *
           layout.rows;
}

/// Columns that a block reads beyond those of its results: the windows' reach, and what lies before it in the first
/// thread's.
std::int64_t halo(const window_job& job, const terms_layout& terms) {
    return job.cols.before + job.cols.after + terms.cols;
}

}  // namespace

std::int64_t most_threads_of(const terms_layout& layout) {
    const std::size_t most = most_shared_bytes();
    std::int64_t threads = 512;
    while (threads > 32 && planes_bytes(layout, threads) > most) threads /= 2;
    return threads;
}

real_terms real_terms_of(const window_job& job, bool squares) {
    const bool real = is_floating(job.shape.type);
    if (real && !job.sampled()) return squares ? real_terms::moments : real_terms::value;
    if (real || job.weighted) return squares ? real_terms::weighted_moments : real_terms::weighted;
    return real_terms::packed_squares;
}

bool real_supports(const window_job& job, bool squares) {
    if (job.rows.reduced() || job.cols.reduced()) return false;
    for (const std::int64_t extent : {job.rows.extent, job.cols.extent, job.rows.width()})
        if (extent > largest_real_extent) return false;
    const real_terms terms = real_terms_of(job, squares);
    if (terms == real_terms::packed_squares && job.largest_window > largest_packed_window(job.shape.type)) return false;
    const terms_layout layout = layout_of(terms, job.shape.type);
    return halo(job, layout) <= most_threads_of(layout) * layout.cols * 3 / 4;
}

real_shape real_shape_of(const window_job& job, real_terms terms, std::int64_t first_row, std::int64_t end_row) {
    const terms_layout layout = layout_of(terms, job.shape.type);
    const std::int64_t columns = layout.cols, width = job.cols.extent, beyond = halo(job, layout);
    const std::int64_t tall = job.rows.width(), wide = job.cols.width(), most = most_threads_of(layout);
    real_shape shape;
    // As fused_shape_of() does.
    std::int64_t threads = 32;
    while (threads < most && beyond * 4 > threads * columns && width + beyond > threads * columns) threads *= 2;
    const bool row_fits = width + beyond <= threads * columns;
    const std::int64_t fits = row_fits ? width : (threads * columns - beyond) / columns * columns;
    shape.threads = static_cast<int>(threads);
    shape.strips = static_cast<int>(up(width, fits));
    shape.strip_cols = static_cast<int>(up(up(width, shape.strips), columns) * columns);
    shape.strips = static_cast<int>(up(width, shape.strip_cols));
    while (shape.block_cols * 2 < wide && shape.block_cols < 32 * columns) shape.block_cols *= 2;

    shape.band_rows = static_cast<int>(band_rows_of(layout, tall));
    shape.first_band = static_cast<int>(first_row / shape.band_rows);
    shape.bands = static_cast<int>((end_row - 1) / shape.band_rows) - shape.first_band + 1;
    // Chunks of some 64 rows, as long as they fill the device four times: a block takes long, and few may be wanted.
    const std::int64_t across = shape.strips * job.shape.channels, wanted = planned_multiprocessors * 64 * 32 / threads;
    std::int64_t chunk = std::max(64 / shape.band_rows, 1);
    while (chunk > 1 && across * up(shape.bands, chunk) < wanted) chunk /= 2;
    shape.chunk_bands = static_cast<int>(chunk);

    const std::int64_t core = tall - shape.band_rows;
    const std::int64_t segments = 2 * (shape.bands - 1 + core / shape.band_rows) + 1;
    // One band has nothing to share; but its core is added in the order that it has beside others.
    shape.prepared = core > 32 && segments <= 65535;
    if (!shape.prepared) return shape;
    shape.segments = static_cast<int>(segments);
    shape.first_segment = static_cast<int>(down(-job.cols.before, columns) * columns);
    shape.segment_cols = static_cast<int>(up(width + job.cols.after - shape.first_segment, columns) * columns);
    return shape;
}

/// Bands of large windows have at most so many rows, and a power of two.
static constexpr std::int64_t large_rows = 64;

std::int64_t real_period(std::int64_t above, std::int64_t below) {
    constexpr std::int64_t plenty = 1 << 20;  // bands are lower
    const std::int64_t tall = std::min(above, plenty) + std::min(below, plenty) + 1;
    auto period = static_cast<std::int64_t>(std::bit_floor(static_cast<std::uint64_t>(std::min(tall, large_rows))));
    for (const real_terms terms : {real_terms::value, real_terms::moments, real_terms::packed_squares,
                                   real_terms::weighted, real_terms::weighted_moments})
        period = std::lcm(period, band_rows_of(layout_of(terms, dtype::f64), tall));
    return period;
}

static std::size_t segment_bytes(const window_job& job, real_terms terms, std::int64_t first_row,
                                 std::int64_t end_row) {
    const real_shape shape = real_shape_of(job, terms, first_row, end_row);
    if (!shape.prepared) return 0;
    const std::int64_t bytes = layout_of(terms, job.shape.type).values * 8;
    return static_cast<std::size_t>(job.shape.channels * shape.segments * shape.segment_cols * bytes + 255) / 256 * 256;
}

/// Whether blocks of sums that slide may leave windows to additions: sums of bare integers are always exact.
static bool may_refuse(const window_job& job) {
    return is_floating(job.shape.type) || job.weighted;
}

std::size_t refused_bytes(const window_job& job, const fused_shape& shape) {
    if (!may_refuse(job)) return 0;
    return static_cast<std::size_t>(job.shape.channels * shape.strips * shape.bands * 4 + 255) / 256 * 256;
}

bool real_slides(const window_job& job, bool squares) {
    return sliding_supports(job, squares) && (!may_refuse(job) || real_supports(job, squares));
}

namespace {

/// Of a row: sums to the ends of blocks, and from their begins.
std::int64_t large_row_bytes(const window_job& job, int values) {
    return job.shape.channels * (job.cols.extended() + 1) * 2 * values * 8;
}

}  // namespace

large_shape large_shape_of(const window_job& job, int values, std::int64_t first_row, std::int64_t end_row) {
    constexpr std::int64_t memory = std::int64_t{1} << 28, most_bands = 1024;
    const std::int64_t row = large_row_bytes(job, values);
    large_shape shape;
    shape.line = static_cast<int>(job.cols.extended());
    shape.band_rows = static_cast<int>(std::bit_floor(
        static_cast<unsigned>(std::clamp<std::int64_t>(memory / row, 1, std::min(large_rows, job.rows.width())))));
    shape.first_band = static_cast<int>(first_row / shape.band_rows);
    shape.bands = static_cast<int>((end_row - 1) / shape.band_rows) - shape.first_band + 1;
    shape.chunk_bands = static_cast<int>(
        std::clamp<std::int64_t>(memory / (row * shape.band_rows), 1, std::min<std::int64_t>(shape.bands, most_bands)));
    return shape;
}

std::size_t large_scratch_bytes(const window_job& job, int values, std::int64_t first_row, std::int64_t end_row) {
    const large_shape shape = large_shape_of(job, values, first_row, end_row);
    const std::int64_t rows = std::int64_t{shape.chunk_bands} * shape.band_rows;
    return static_cast<std::size_t>(rows * large_row_bytes(job, values) + 255) / 256 * 256;
}

std::size_t real_scratch_bytes(const window_job& job, bool squares, std::int64_t first_row, std::int64_t end_row) {
    if (!real_slides(job, squares) && !real_supports(job, squares))
        return large_scratch_bytes(job, layout_of(real_terms::weighted_moments, job.shape.type).values, first_row,
                                   end_row);
    const real_terms terms = real_terms_of(job, squares);
    const std::size_t adding = real_supports(job, squares) ? segment_bytes(job, terms, first_row, end_row) : 0;
    if (!real_slides(job, squares)) return adding;
    const std::int64_t rows = end_row - first_row;
    const fused_sums sums = sliding_sums_of(job, squares);
    const std::size_t sliding = fused_scratch_bytes(job, sums, rows);
    if (!may_refuse(job)) return sliding;
    return refused_bytes(job, fused_shape_of(job, sums, rows)) + std::max(sliding, adding);
}

}  // namespace boxsum::cuda
