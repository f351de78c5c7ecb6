// Direct convolution: a ring of N + 3 lines, converted to the result's type and extended by the border, and for four
// rows of the result at once the sums of N x M of their stretches, each times a weight.

#include "cpu/convolve/convolve.hpp"

#include "core/visit_histogram.hpp"
#include "cpu/convolve/records.hpp"
#include "cpu/host.hpp"
#include "cpu/instruction_set.hpp"
#include "cpu/team.hpp"

#include <boxsum/memory.hpp>

#include <algorithm>
#include <array>
#include <vector>

namespace boxsum::convolution {
namespace {

const row_sums& sums_of_this_machine() {
#if defined(__x86_64__)
    const unsigned has = cpu::machine_features();
    if ((has & cpu::has_avx512) != 0) return avx512::sums;
    if ((has & cpu::has_avx2) != 0) return avx2::sums;
#endif
    return baseline::sums;
}

using pixel_types = dtype_list<u8, u16, s16, f32, f64>;

template <typename T>
struct call {
    const job& j;
    const void* image;
    void* result;
    std::vector<T> weights;
    sum_rows<T> sum;
    T* lines;  ///< a thread's ring and a row that nobody wants, one thread behind the other
    std::int64_t line_elements;
};

/// Line `r` of the plane, extended: rows outside the image come from the border.
template <typename Pixel, typename T>
void fill_line(const call<T>& c, std::int64_t plane, std::int64_t r, T* line) {
    const job& j = c.j;
    const std::int64_t channels = j.image.channels, after = j.cols - 1 - j.left,
                       from = source(r, j.image.rows, j.border);
    const auto value = static_cast<T>(j.border_value);
    if (from < 0) return (void)std::fill_n(line, (j.image.cols + j.cols - 1) * channels, value);
    const auto* const row = reinterpret_cast<const Pixel*>(static_cast<const std::byte*>(c.image) +
                                                           plane * j.image.plane_stride + from * j.image.row_stride);
    T* const inside = line + j.left * channels;
    for (std::int64_t i = 0; i < j.image.cols * channels; ++i) inside[i] = static_cast<T>(row[i]);
    const auto extend = [&](std::int64_t col) {
        const std::int64_t at = source(col, j.image.cols, j.border);
        for (std::int64_t k = 0; k < channels; ++k)
            inside[col * channels + k] = at < 0 ? value : inside[at * channels + k];
    };
    for (std::int64_t col = -j.left; col < 0; ++col) extend(col);
    for (std::int64_t col = j.image.cols; col < j.image.cols + after; ++col) extend(col);
}

/// Lines of a thread's ring.
int ring_lines(const job& j) {
    return j.rows + rows_together - 1;
}

/// One thread's rows of all planes, which count as one tall image.
template <typename Pixel, typename T>
void convolve_rows(void* context, int thread, int threads) {
    const auto& c = *static_cast<const call<T>*>(context);
    const job& j = c.j;
    const std::int64_t n = j.image.rows, all = n * j.image.planes, ring_size = ring_lines(j);
    const std::int64_t end = all * (thread + 1) / threads;
    T* const ring = c.lines + thread * (ring_size + 1) * c.line_elements;
    T* const unwanted = ring + ring_size * c.line_elements;
    std::array<const T*, 64 + rows_together> lines{};
    std::array<T*, rows_together> to{};
    for (std::int64_t row = all * thread / threads; row < end;) {
        const std::int64_t plane = row / n, first_row = row % n;
        const std::int64_t end_row = std::min(n, first_row + end - row);  // of this plane, and this thread's
        std::int64_t filled = first_row - j.above - 1;                    // lines are in the ring up to here
        for (std::int64_t r = first_row; r < end_row; r += rows_together) {
            const std::int64_t first = r - j.above;
            const auto line_at = [&](std::int64_t at) {
                return ring + (at % ring_size + ring_size) % ring_size * c.line_elements;
            };
            for (; filled < first + ring_size - 1; ++filled)
                fill_line<Pixel>(c, plane, filled + 1, line_at(filled + 1));
            for (std::int64_t i = 0; i < ring_size; ++i) lines[static_cast<std::size_t>(i)] = line_at(first + i);
            for (std::int64_t q = 0; q < rows_together; ++q)
                to[static_cast<std::size_t>(q)] =
                    r + q < end_row
                        ? reinterpret_cast<T*>(static_cast<std::byte*>(c.result) + plane * j.result.plane_stride +
                                               (r + q) * j.result.row_stride)
                        : unwanted;
            c.sum(to.data(), lines.data(), c.weights.data(), j.rows, j.cols, j.image.channels,
                  j.image.cols * j.image.channels);
        }
        row += end_row - first_row;
    }
}

template <typename T>
void run_as(const job& j, const void* image, void* result, sum_rows<T> sum, int wanted) {
    const std::int64_t elements = j.image.rows * j.image.planes * j.image.cols * j.image.channels;
    // A product takes about as long as two bytes of a copy.
    const std::int64_t work = elements * std::max<std::int64_t>(2 * j.rows * j.cols, 8);
    const auto threads = static_cast<int>(
        std::min<std::int64_t>({cpu::choose_threads(work, wanted), j.image.rows * j.image.planes, 256}));
    call<T> c{j, image, result, {}, sum, nullptr, (j.image.cols + j.cols - 1) * j.image.channels};
    for (const double w : j.weights) c.weights.push_back(static_cast<T>(w));
    const host_buffer lines = memory_pool::shared().acquire(
        static_cast<std::size_t>(threads * (ring_lines(j) + 1) * c.line_elements) * sizeof(T));
    c.lines = static_cast<T*>(lines.data());
    visit_one_of(pixel_types{}, j.image.type,
                 [&]<typename Pixel>() { cpu::run_team(threads, convolve_rows<Pixel, T>, &c); });
}

support supports(const problem&, const parameter_values&) {
    return {};
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    const row_sums& sums = sums_of_this_machine();
    if (p.table.type == dtype::f32)
        run_as<float>(*p.convolution, memory.image, memory.table, sums.f32, how.threads);
    else
        run_as<double>(*p.convolution, memory.image, memory.table, sums.f64, how.threads);
}

}  // namespace
}  // namespace boxsum::convolution

constinit const boxsum::algorithm_record boxsum::simd_convolve_record{
    .info = {.what = operation::convolve,
             .name = "simd",
             .title = "rows of the image in a ring, four rows of results at once in vector registers",
             .paper = "boxsum; direct form",
             .cost = "1 read, 1 write per element",
             .where = backend::cpu},
    .supports = convolution::supports,
    .workspace_bytes = convolution::workspace_bytes,
    .enqueue = convolution::enqueue,
};
