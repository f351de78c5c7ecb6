#pragma once

#include "core/visit_histogram.hpp"

#include <boxsum/integral_histogram.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

namespace boxsum::detail {

/// Entries of a tensor as a list.
template <typename Entry>
histogram_list as_list(std::span<const Entry> entries) {
    histogram_list list;
    if constexpr (std::is_floating_point_v<Entry>)
        list.sums.assign(entries.begin(), entries.end());
    else
        list.counts.assign(entries.begin(), entries.end());
    return list;
}

/// The histograms of boxes in host memory.
inline histogram_list histograms_of(const const_any_histogram_view& tensor, std::span<const box> boxes,
                                    std::int64_t plane = 0) {
    histogram_list list;
    visit_one_of(histogram_entries{}, tensor.entries.shape.type, [&]<typename Entry>() {
        std::vector<Entry> found(boxes.size() * static_cast<std::size_t>(tensor.entries.shape.bins));
        box_histograms<Entry>(tensor, boxes, std::span<Entry>(found), plane);
        list = as_list<Entry>(found);
    });
    return list;
}

}  // namespace boxsum::detail
