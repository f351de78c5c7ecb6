#pragma once

#include <boxsum/export.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/view.hpp>

namespace boxsum BOXSUM_EXPORT {

/// What variance_shadows() reads.
struct shadow_inputs {
    /// Tables of the shadow map: sums of depths as seen from the light, greater ones farther from it, and of their
    /// squares. Of 32f and 64f with an offset or an origin, too; of integers the moments are exact.
    moment_views moments;
    /// How far from the light what every pixel shows is, in the map's unit: 32f or 64f, 1 channel and 1 plane.
    const_any_view receiver;
    /// The part of the map that every pixel is compared with: 32f or 64f, 4 channels: first row, first col, rows and
    /// cols of a rectangle, as real numbers (row r of the map covers r to r + 1). 1 plane, rows and cols of the
    /// receiver.
    const_any_view rectangle;
};

/// Where variance_shadows() writes.
struct shadow_outputs {
    any_view visibility;  ///< 0 in shadow to 1 in light: 32f or 64f; rows and cols of the receiver
};

/// What keeps shadows free of their two known faults.
struct shadow_options {
    /// The least variance, in the square of the map's unit: a surface does not shade itself where depths are rounded,
    /// or slope within the rectangle. Finite, not negative.
    double min_variance = 0;
    /// Visibility up to this is shadow, and the rest is stretched to 0 to 1: light does not bleed through where several
    /// occluders lie behind each other. 0 or more, below 1.
    double bleeding = 0;
    int threads = 0;  ///< 0: as many as pay
};

/// Soft shadows from a summed-area variance shadow map (Donnelly and Lauritzen 2006; Lauritzen, GPU Gems 3, chapter 8).
/// With mean m and variance v of the depths in the rectangle, the part of them that is not nearer to the light than
/// depth t is at most
///
///     p = 1 where t <= m, else v / (v + (t - m)^2)         (Chebyshev's inequality)
///
/// which is exact for one plane occluder over one plane receiver. The cost does not depend on the rectangle's size:
/// 16 reads of each table, for edges that cut pixels in parts.
///
///     auto moments = boxsum::sat_squares<double, double>(map);
///     boxsum::variance_shadows({moments, receiver, rectangle}, {visibility}, {.min_variance = 1e-4});
///
/// What of a rectangle lies beyond the map is not compared; where nothing is left, or the rectangle has a NaN,
/// visibility is 1; of a receiver that is NaN it is NaN. The result may overlap no input. Throws invalid_argument
/// (names the argument and its value), unsupported for exclusive tables and other types of entries, receivers,
/// rectangles and results. Nothing is written when an argument is wrong. Thread-safe for distinct results.
void variance_shadows(const shadow_inputs& inputs, const shadow_outputs& outputs, const shadow_options& options = {});

}  // namespace boxsum
