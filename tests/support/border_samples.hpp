#pragma once

#include <boxsum/filters.hpp>

#include <cstdint>

/// Borders as their documentation says, a sample at a time.
namespace boxsum::test {

inline constexpr border_mode every_border[] = {border_mode::shrink,   border_mode::reflect, border_mode::replicate,
                                               border_mode::constant, border_mode::mirror,  border_mode::wrap};

/// Index of a sample beyond the border; -1 where there is none, -2 where it is given.
inline std::int64_t sample_at(border_mode border, std::int64_t i, std::int64_t n) {
    while (i < 0 || i >= n) {
        if (border == border_mode::shrink) return -1;
        if (border == border_mode::constant) return -2;
        if (border == border_mode::replicate || (border == border_mode::mirror && n == 1)) return i < 0 ? 0 : n - 1;
        if (border == border_mode::reflect) i = i < 0 ? -i - 1 : 2 * n - 1 - i;
        if (border == border_mode::mirror) i = i < 0 ? -i : 2 * n - 2 - i;
        if (border == border_mode::wrap) i = i < 0 ? i + n : i - n;
    }
    return i;
}

}  // namespace boxsum::test
