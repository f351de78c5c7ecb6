// The summed area table by its definition, in wide types: the oracle of tests, CLI and benchmarks.
//
//     T(r, c) = T(r - 1, c) + sum of I(r, 0..c)                                   (Crow 1984; Chen et al. 2018, eq. 1)
//
// Integers are added modulo 2^64, of which every narrower modulus is a divisor, and cut to the table's type at the end.
// Floating tables are added in long double, where the machine has one that is wider than double, and rounded once.
//
// A part of a larger table starts from the row above it, and each of its rows from what the whole row adds left of it:
// the step of the left carry from row to row.

#include "core/visit_types.hpp"
#include "reference/records.hpp"

#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

namespace boxsum {
namespace {

template <typename Wide, typename Value>
Wide widen(Value value) {
    if constexpr (std::same_as<Value, float16>)
        return static_cast<Wide>(to_float(value));
    else
        return static_cast<Wide>(value);  // integers: sign-extends, the two's complement
}

template <typename Table, typename Wide>
Table narrow(Wide value) {
    return static_cast<Table>(value);  // integers: modulo 2^bits; floats: rounded once
}

template <typename T>
image_view<T> typed(void* data, const view_shape& s) {
    return {static_cast<T*>(data), s};
}
template <typename T>
image_view<const T> typed(const void* data, const view_shape& s) {
    return {static_cast<const T*>(data), s};
}

/// The carries of one channel of one plane; zeros where there are none. Index -1 of either is the corner.
template <typename Table, typename Wide>
class carry_values {
  public:
    carry_values(const carry_shapes& shapes, const carry_data& data, std::int64_t image_cols, std::int64_t channel,
                 std::int64_t plane)
        : corners_(shapes.corners(image_cols)), channel_(channel), plane_(plane) {
        if (shapes.above) above_ = typed<Table>(data.above, *shapes.above);
        if (shapes.left) left_ = typed<Table>(data.left, *shapes.left);
    }

    Table above(std::int64_t c) const {
        return above_ && c + corners_ >= 0 ? (*above_)(0, c + corners_, channel_, plane_) : Table{};
    }
    Table left(std::int64_t r) const {
        if (r < 0) return above(-1);
        return left_ ? (*left_)(r, 0, channel_, plane_) : Table{};
    }
    /// What row r of the whole table adds left of the part. An infinity stays one: it is in the row above already.
    Wide step(std::int64_t r) const {
        const Table now = left(r), before = left(r - 1);
        return now == before ? Wide{} : widen<Wide>(now) - widen<Wide>(before);
    }

  private:
    std::optional<image_view<const Table>> above_, left_;
    std::int64_t corners_;
    std::int64_t channel_;
    std::int64_t plane_;
};

/// Puts an inclusive entry where the layout wants it, and what the first row and column hold.
template <typename Table>
struct table_writer {
    image_view<Table> table;
    table_form form;

    template <typename Wide>
    void put_border(std::int64_t channel, std::int64_t plane, const carry_values<Table, Wide>& carries) const {
        if (form.border() == 0) return;
        for (std::int64_t r = 0; r < table.rows(); ++r) table(r, 0, channel, plane) = carries.left(r - 1);
        for (std::int64_t c = 0; c < table.cols(); ++c) table(0, c, channel, plane) = carries.above(c - 1);
    }

    template <typename Wide>
    void put(std::int64_t r, std::int64_t c, std::int64_t channel, std::int64_t plane, Wide sum) const {
        const std::int64_t border = form.border();
        if (r + border < table.rows() && c + border < table.cols())
            table(r + border, c + border, channel, plane) = narrow<Table>(sum);
    }
};

template <typename Input, typename Table>
void fill_table(const problem& p, const void* image_data, void* table_data, const view_shape& table_shape, bool square,
                const carry_shapes& carry_shapes, const carry_data& carry_data) {
    // The accumulator: an integer table is modular, a floating one is summed as wide as can be.
    using Wide = std::conditional_t<std::integral<Table>, std::uint64_t, long double>;
    const auto image = typed<Input>(image_data, p.image);
    const table_writer<Table> writer{typed<Table>(table_data, table_shape), p.form};
    std::vector<Wide> sums(static_cast<std::size_t>(p.image.cols));
    for (std::int64_t plane = 0; plane < p.image.planes; ++plane)
        for (std::int64_t channel = 0; channel < p.image.channels; ++channel) {
            const carry_values<Table, Wide> carries(carry_shapes, carry_data, p.image.cols, channel, plane);
            for (std::int64_t c = 0; c < p.image.cols; ++c)
                sums[static_cast<std::size_t>(c)] = widen<Wide>(carries.above(c));
            for (std::int64_t r = 0; r < p.image.rows; ++r) {
                Wide row_sum = carries.step(r);
                for (std::int64_t c = 0; c < p.image.cols; ++c) {
                    const Wide x = widen<Wide>(image(r, c, channel, plane));
                    row_sum += square ? x * x : x;
                    writer.put(r, c, channel, plane, sums[static_cast<std::size_t>(c)] += row_sum);
                }
            }
            writer.put_border(channel, plane, carries);
        }
}

void enqueue(const problem& p, const buffers& memory, const execution&) {
    if (!p.squares) {
        visit_type_pair(all_type_pairs{}, p.types(), [&]<typename Input, typename Table>() {
            fill_table<Input, Table>(p, memory.image, memory.table, p.table, false, p.carries, memory.carries);
        });
        return;
    }
    visit_squares_triple(all_squares_triples{}, p.triple(), [&]<typename Input, typename Table, typename Squares>() {
        // Before an in-place table.
        fill_table<Input, Squares>(p, memory.image, memory.squares, *p.squares, true, p.squares_carries,
                                   memory.squares_carries);
        fill_table<Input, Table>(p, memory.image, memory.table, p.table, false, p.carries, memory.carries);
    });
}

support supports(const problem&, const parameter_values&) {
    return {};
}

std::size_t workspace_bytes(const problem&, const parameter_values&) {
    return 0;
}

/// Rounded once from a wider sum; two covers the rounding of the conversion. Carries are taken as they are.
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
             .in_place = true,
             .carries = true},
    .supports = supports,
    .workspace_bytes = workspace_bytes,
    .enqueue = enqueue,
    .addition_depth = addition_depth,
    .cost = cost,
};

}  // namespace boxsum
