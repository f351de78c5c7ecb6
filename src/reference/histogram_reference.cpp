// The integral histogram by its definition, in wide types: the oracle of tests, CLI and benchmarks.
//
//     H(b, r, c) = H(b, r - 1, c) + sum of Q(I(r, 0..c), b)                     (Poostchi et al., eq. 1)
//
// Q is 1, or the pixel's weight, where the pixel falls in bin b. Counts are added modulo 2^64, of which the narrower
// moduli are divisors; weights in long double, rounded once.

#include "core/visit_histogram.hpp"
#include "reference/records.hpp"

#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

template <typename Entry, typename Pixel>
void fill_bin(const problem& p, const buffers& memory, std::int64_t bin, std::int64_t plane) {
    using Wide = std::conditional_t<std::is_floating_point_v<Entry>, long double, std::uint64_t>;
    const auto image = typed_view<Pixel>(memory.image, p.image);
    const auto table = table_of_bin<Entry>(p, memory.table, bin, plane);
    const std::int64_t shift = first_pixel_offset(p);
    if (shift == 1) {
        for (std::int64_t c = 0; c < table.cols(); ++c) table(0, c) = Entry{};
        for (std::int64_t r = 0; r < table.rows(); ++r) table(r, 0) = Entry{};
    }
    std::vector<Wide> above(static_cast<std::size_t>(p.image.cols), Wide{});
    for (std::int64_t r = 0; r < p.image.rows; ++r) {
        Wide row_sum{};
        for (std::int64_t c = 0; c < p.image.cols; ++c) {
            if (bin_of_pixel(*p.histogram, memory.lookup, image(r, c, 0, plane)) == bin) {
                if constexpr (std::is_floating_point_v<Entry>)
                    row_sum += typed_view<float>(memory.weights, *p.histogram->weights)(r, c, 0, plane);
                else
                    row_sum += 1;
            }
            table(r + shift, c + shift) = static_cast<Entry>(above[static_cast<std::size_t>(c)] += row_sum);
        }
    }
}

void enqueue(const problem& p, const buffers& memory, const execution&) {
    visit_one_of(histogram_pixels{}, p.image.type, [&]<typename Pixel>() {
        visit_one_of(histogram_entries{}, p.table.type, [&]<typename Entry>() {
            for (std::int64_t plane = 0; plane < p.image.planes; ++plane)
                for (std::int64_t bin = 0; bin < p.histogram->bins; ++bin)
                    fill_bin<Entry, Pixel>(p, memory, bin, plane);
        });
    });
}

support supports(const problem& p, const parameter_values&) {
    return {p.histogram.has_value(), "it computes integral histograms"};
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

/// Rounded once from a wider sum; two covers the rounding of the conversion.
std::int64_t addition_depth(const problem&, const parameter_values&) {
    return 2;
}

}  // namespace

constinit const algorithm_record reference_histogram_record{
    .info = {.what = operation::histogram,
             .name = "reference",
             .title = "serial, by the definition, in wide types",
             .paper = "Porikli 2005; Poostchi et al. 2017, eq. 1",
             .cost = "b reads of the image, b writes per pixel",
             .where = backend::cpu},
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .enqueue = enqueue,
    .addition_depth = addition_depth,
};

}  // namespace boxsum
