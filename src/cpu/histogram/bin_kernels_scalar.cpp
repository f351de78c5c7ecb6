// The kernel set of every machine: a running count along the row, added to the row above.

#include "cpu/histogram/bin_kernels.hpp"
#include "cpu/histogram/index_pixels.hpp"

namespace boxsum::cpu {
namespace {

template <typename Entry, typename Index>
void fill_bin(const bin_rows& b) {
    const auto* indices = static_cast<const Index*>(b.indices);
    const float* weights = b.weights;
    const auto* above = static_cast<const Entry*>(b.above);
    auto* row = static_cast<Entry*>(b.table);
    for (std::int64_t r = 0; r < b.rows; ++r) {
        Entry sum{};
        for (std::int64_t c = 0; c < b.cols; ++c) {
            const bool inside = indices[c] == b.bin;
            if constexpr (static_cast<Entry>(0.5) != Entry{})
                sum += inside ? weights[c] : 0.0f;
            else
                sum = static_cast<Entry>(sum + (inside ? 1 : 0));
            row[c] = static_cast<Entry>(sum + (above != nullptr ? above[c] : Entry{}));
        }
        indices += b.index_stride;
        if (weights != nullptr) weights += b.index_stride;
        above = row;
        row = reinterpret_cast<Entry*>(reinterpret_cast<std::byte*>(row) + b.table_stride);
    }
}

constexpr histogram_kernels make_set() {
    histogram_kernels set{};
    set.name = "scalar";
    set_index_functions(set);
    set.cached[0][0] = fill_bin<std::uint32_t, std::uint8_t>;
    set.cached[0][1] = fill_bin<std::uint32_t, std::uint16_t>;
    set.cached[1][0] = fill_bin<std::uint16_t, std::uint8_t>;
    set.cached[1][1] = fill_bin<std::uint16_t, std::uint16_t>;
    set.cached[2][0] = fill_bin<float, std::uint8_t>;
    set.cached[2][1] = fill_bin<float, std::uint16_t>;
    return set;
}

}  // namespace

constinit const histogram_kernels scalar_histogram_kernels = make_set();

}  // namespace boxsum::cpu
