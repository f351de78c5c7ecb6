#pragma once

#include <boxsum/histogram_table.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <cstring>

namespace boxsum::bench {

/// The loop that everybody writes first: bin after bin, a running count along the row added to the row above. `ranges`
/// uniform ranges over [0, 256), of which the tensor holds the first ones.
template <typename Entry>
void plain_histogram(const image_view<const std::uint8_t>& image, std::int64_t ranges,
                     const tensor_view<Entry>& tensor) {
    const auto scale = static_cast<unsigned>(ranges);
    for (std::int64_t b = 0; b < tensor.bins(); ++b) {
        const image_view<Entry> table = tensor.bin(b);
        for (std::int64_t r = 0; r < image.rows(); ++r) {
            const std::uint8_t* const pixels = image.row(r);
            Entry* const out = table.row(r);
            const Entry* const above = r == 0 ? nullptr : table.row(r - 1);
            Entry count = 0;
            for (std::int64_t c = 0; c < image.cols(); ++c) {
                count = static_cast<Entry>(count + (pixels[c] * scale / 256 == static_cast<unsigned>(b) ? 1 : 0));
                out[c] = static_cast<Entry>(count + (above == nullptr ? 0 : above[c]));
            }
        }
    }
}

/// Whether the entries of two tensors of one shape are equal; strides may differ.
template <typename Entry>
bool same_tensor(const tensor_view<const Entry>& a, const tensor_view<const Entry>& b) {
    for (std::int64_t plane = 0; plane < a.planes(); ++plane)
        for (std::int64_t k = 0; k < a.bins(); ++k)
            for (std::int64_t r = 0; r < a.rows(); ++r)
                if (std::memcmp(a.bin(k, plane).row(r), b.bin(k, plane).row(r),
                                static_cast<std::size_t>(a.cols()) * sizeof(Entry)) != 0)
                    return false;
    return true;
}

}  // namespace boxsum::bench
