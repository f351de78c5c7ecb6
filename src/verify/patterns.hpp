#pragma once

#include <boxsum/view.hpp>

#include <cstdint>
#include <span>
#include <string_view>

namespace boxsum {

/// What test images hold. Each finds errors that the others hide.
enum class pattern : std::uint8_t {
    random,      ///< the full range of integers; floats in [-1, 1): every bit of a sum matters
    position,    ///< a code of the position: a pixel taken from elsewhere shows
    impulses,    ///< zeros, with ones at corners of tiles and of the image: a dropped carry shows alone
    all_max,     ///< the largest value everywhere: integer tables wrap; floats 255, whose sums are exact
    extreme,     ///< floats: denormals beside huge values; integers: the smallest and largest values
    non_finite,  ///< floats: a few NaN and infinities, which must not leak to where they are not summed
};

std::string_view name_of(pattern p) noexcept;

/// The patterns that make sense for an element type.
std::span<const pattern> patterns_for(dtype type) noexcept;

/// Fills every element of the view; bytes between rows stay. The same seed gives the same image everywhere.
void fill(const any_view& image, pattern p, std::uint64_t seed);

}  // namespace boxsum
