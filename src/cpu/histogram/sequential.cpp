// Sequential integral histogram: Algorithm 1 of Poostchi, Palaniappan, Li, Becchi, Bunyak and Seetharaman, "Fast
// Integral Histogram Computations on GPU for Real-Time Video Analytics" (2017); first in Porikli, "Integral Histogram"
// (2005).
//
// The idea: each entry follows from its three neighbours above and to the left, bin after bin.
//
//     H(k, x-1, y-1)   H(k, x-1, y)
//              \\           |            H(k, x, y) = H(k, x-1, y) + H(k, x, y-1) - H(k, x-1, y-1) + Q(k, I(x, y))
//     H(k, x, y-1)  -- H(k, x, y)
//
// Cost: b reads of the image and 4 accesses of the tensor per entry; every pixel is binned b times. One thread, or as
// many as are asked for: then bins are dealt to them in turn, as the paper's CPU implementation by OpenMP (section 4.7)
// does. Limits: counts only, as in the paper. With weights the subtraction would add the rounding errors of the whole
// rectangle, and one infinite weight would turn everything behind it into NaN.
// Differs from the paper: neighbours outside the tensor are zeros, so that line 1, "H <- 0", is not needed.

#include "core/visit_histogram.hpp"
#include "cpu/histogram/records.hpp"
#include "cpu/team.hpp"

#include <algorithm>

namespace boxsum {
namespace {

template <typename Entry, typename Pixel>
void fill_bin(const problem& p, const buffers& memory, std::int64_t k, std::int64_t plane) {
    const auto image = typed_view<Pixel>(memory.image, p.image);
    const auto H = table_of_bin<Entry>(p, memory.table, k, plane);
    const std::int64_t first = first_pixel_offset(p);  // padded: row 0 and column 0 are zeros
    const auto at = [&](std::int64_t x, std::int64_t y) { return x < 0 || y < 0 ? Entry{} : H(x, y); };

    for (std::int64_t x = 0; x < H.rows(); ++x)      // line 3
        for (std::int64_t y = 0; y < H.cols(); ++y)  // line 4
            if (x < first || y < first) {
                H(x, y) = Entry{};
            } else {
                const Pixel pixel = image(x - first, y - first, 0, plane);
                const bool Q = bin_of_pixel(*p.histogram, memory.lookup, pixel) == k;
                H(x, y) = static_cast<Entry>(at(x - 1, y) + at(x, y - 1) - at(x - 1, y - 1) + (Q ? 1 : 0));  // line 5
            }
}

struct job {
    const problem& p;
    const buffers& memory;
};

/// The bins of one thread of several: k = thread, thread + threads, ...
template <typename Entry, typename Pixel>
void fill_bins(void* context, int thread, int threads) {
    const auto& [p, memory] = *static_cast<const job*>(context);
    for (std::int64_t plane = 0; plane < p.image.planes; ++plane)
        for (std::int64_t k = thread; k < p.histogram->bins; k += threads)  // line 2
            fill_bin<Entry, Pixel>(p, memory, k, plane);
}

void enqueue(const problem& p, const buffers& memory, const execution& how) {
    const auto threads = static_cast<int>(std::clamp<std::int64_t>(how.threads, 1, p.histogram->bins));
    job j{p, memory};
    visit_one_of(histogram_pixels{}, p.image.type, [&]<typename Pixel>() {
        visit_one_of(histogram_counts{}, p.table.type,
                     [&]<typename Entry>() { cpu::run_team(threads, fill_bins<Entry, Pixel>, &j); });
    });
}

support supports(const problem& p, const parameter_values&) {
    if (!p.histogram) return {false, "it computes integral histograms"};
    return {!p.histogram->weights.has_value(), "it counts pixels: differences of sums of weights are inaccurate"};
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

algorithm_cost cost(const problem& p, const parameter_values&) {
    const auto bins = static_cast<double>(p.histogram->bins);
    return {4 * bins, bins, 0, 1};
}

}  // namespace

constinit const algorithm_record sequential_histogram_record{
    .info = {.what = operation::histogram,
             .name = "sequential",
             .title = "each entry from its three neighbours",
             .paper = "Poostchi et al. 2017, Algorithm 1; Porikli 2005",
             .cost = "b reads of the image, 3 reads and 1 write per entry",
             .where = backend::cpu},
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .enqueue = enqueue,
    .addition_depth = serial_addition_depth,
    .cost = cost,
};

}  // namespace boxsum
