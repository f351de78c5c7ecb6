// The summed area table by its definition, in wide types: the oracle of tests, CLI and benchmarks.
//
//     T(r, c) = T(r - 1, c) + sum of I(r, 0..c)                                   (Crow 1984; Chen et al. 2018, eq. 1)
//
// Integers are added modulo 2^64, of which every narrower modulus is a divisor, and cut to the table's type at the end.
// Floats are added in long double, where the machine has one that is wider than double, and rounded once.

#include "core/visit_types.hpp"
#include "reference/records.hpp"

#include <concepts>
#include <vector>

namespace boxsum {
namespace {

template <typename Input>
auto widen(Input value) {
    if constexpr (std::same_as<Input, float16>)
        return static_cast<long double>(to_float(value));
    else if constexpr (std::floating_point<Input>)
        return static_cast<long double>(value);
    else
        return static_cast<std::uint64_t>(value);  // sign-extends: the two's complement
}

template <typename Table, typename Wide>
Table narrow(Wide value) {
    return static_cast<Table>(value);  // integers: modulo 2^bits; floats: rounded once
}

/// One channel of one plane. `entry(r, c, sum)` receives the inclusive table, row by row.
template <typename Wide, typename Pixel, typename Entry>
void scan(std::int64_t rows, std::int64_t cols, Pixel pixel, Entry entry) {
    std::vector<Wide> above(static_cast<std::size_t>(cols), Wide{});
    for (std::int64_t r = 0; r < rows; ++r) {
        Wide row_sum{};
        for (std::int64_t c = 0; c < cols; ++c) {
            row_sum += pixel(r, c);
            entry(r, c, above[static_cast<std::size_t>(c)] += row_sum);
        }
    }
}

template <typename T>
image_view<T> typed(void* data, const view_shape& s) {
    return {static_cast<T*>(data), s.rows, s.cols, s.row_stride, s.channels, s.planes, s.plane_stride};
}
template <typename T>
image_view<const T> typed(const void* data, const view_shape& s) {
    return {static_cast<const T*>(data), s.rows, s.cols, s.row_stride, s.channels, s.planes, s.plane_stride};
}

/// Puts an inclusive entry where the layout wants it, and the zeros of the first row and column.
template <typename Table>
struct table_writer {
    image_view<Table> table;
    table_layout layout;

    void clear_border(std::int64_t channel, std::int64_t plane) const {
        if (layout == table_layout::inclusive) return;
        for (std::int64_t r = 0; r < table.rows(); ++r) table(r, 0, channel, plane) = Table{};
        for (std::int64_t c = 0; c < table.cols(); ++c) table(0, c, channel, plane) = Table{};
    }

    template <typename Wide>
    void put(std::int64_t r, std::int64_t c, std::int64_t channel, std::int64_t plane, Wide sum) const {
        const std::int64_t shift = layout == table_layout::inclusive ? 0 : 1;
        if (r + shift < table.rows() && c + shift < table.cols())
            table(r + shift, c + shift, channel, plane) = narrow<Table>(sum);
    }
};

template <typename Input, typename Table>
void fill_table(const problem& p, const void* image_data, void* table_data, const view_shape& table_shape,
                bool square) {
    const auto image = typed<Input>(image_data, p.image);
    const table_writer<Table> writer{typed<Table>(table_data, table_shape), p.layout};
    // The accumulator: an integer table is modular, a floating one is summed as wide as can be. Sums of integers for a
    // floating table are exact in 64 bits.
    using Wide = decltype(widen(Input{}));
    for (std::int64_t plane = 0; plane < p.image.planes; ++plane)
        for (std::int64_t channel = 0; channel < p.image.channels; ++channel) {
            const auto pixel = [&](std::int64_t r, std::int64_t c) {
                const auto x = widen(image(r, c, channel, plane));
                return square ? x * x : x;
            };
            scan<Wide>(p.image.rows, p.image.cols, pixel,
                       [&](std::int64_t r, std::int64_t c, Wide sum) { writer.put(r, c, channel, plane, sum); });
            writer.clear_border(channel, plane);
        }
}

void enqueue(const problem& p, const buffers& memory, const execution&) {
    if (!p.squares) {
        visit_type_pair(all_type_pairs{}, p.types(), [&]<typename Input, typename Table>() {
            fill_table<Input, Table>(p, memory.image, memory.table, p.table, false);
        });
        return;
    }
    visit_squares_triple(all_squares_triples{}, p.triple(), [&]<typename Input, typename Table, typename Squares>() {
        fill_table<Input, Squares>(p, memory.image, memory.squares, *p.squares, true);  // before an in-place table
        fill_table<Input, Table>(p, memory.image, memory.table, p.table, false);
    });
}

support supports(const problem&, const parameter_values&) {
    return {};
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

/// Rounded once from a wider sum; two covers the rounding of the conversion.
std::int64_t addition_depth(const problem&, const parameter_values&) {
    return 2;
}

algorithm_cost cost(const problem& p, const parameter_values&) {
    return {p.squares ? 2.0 : 1.0, p.squares ? 2.0 : 1.0, 0, 1};
}

}  // namespace

constinit const algorithm_record reference_sat_record{
    .info = {.what = operation::sat,
             .name = "reference",
             .title = "serial, by the definition, in wide types",
             .paper = "Crow 1984",
             .cost = "1 read, 1 write per element",
             .where = backend::cpu,
             .in_place = true},
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .enqueue = enqueue,
    .addition_depth = addition_depth,
    .cost = cost,
};

}  // namespace boxsum
