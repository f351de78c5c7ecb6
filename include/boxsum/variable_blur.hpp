#pragma once

#include <boxsum/export.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/view.hpp>

#include <cstdint>

namespace boxsum BOXSUM_EXPORT {

/// How variable_blur() weights the pixels around one.
struct variable_blur_options {
    int order = 2;  ///< boxes in a row: 1 box, 2 tent, 3 quadratic spline; 1 to 3
    rounding_mode rounding = rounding_mode::half_up;
    int threads = 0;  ///< 0: as many as pay
};

/// Smooth blur with a radius per pixel, at a fixed cost a pixel: the window of (r, c) is the box of 2*radius(r, c) + 1
/// rows and columns, convolved with itself `order - 1` times. It reaches order * radius pixels far and falls off to its
/// edge where the order is above 1. At the border of the image it is cut off and its weights are those that are left.
///
///     boxsum::variable_blur({.image = photo, .radius = radii}, {blurred}, {.order = 2});
///
/// A table of a table of ... `order` times has what differences of the order make of it: (order + 1)^2 reads a pixel
/// (Heckbert, Filtering by Repeated Integration, SIGGRAPH 1986). Tables are of 64 bits and wrap, so that sums of
/// weighted pixels are exact; a window whose own weights could sum to more is unsupported (of 8u: radii of 8199 at
/// order 2 and 322 at order 3; of 16u 2047 and 127).
///
/// inputs: as of variable_box_filter(), of images of 8u and 16u that are no part of a larger one; without mask and
/// weights, which are unsupported.
/// result: the image's type, rounded as `rounding` says, 32f or 64f. No count.
/// Memory: 8 bytes a pixel and channel of one plane, and of order * the largest radius beyond its last row and column.
///
/// Throws invalid_argument (names the argument and its value), unsupported, out_of_memory. Nothing is written when an
/// argument is wrong. Thread-safe for distinct results.
void variable_blur(const variable_inputs& inputs, const filter_outputs& outputs,
                   const variable_blur_options& options = {});

/// A thin lens, as far as blur depends on it.
struct thin_lens {
    double focus = 1;                   ///< depth that is sharp, above 0, in the depths' own unit
    double aperture = 8;                ///< radius in pixels of the blur of what is infinitely far away; not negative
    std::int64_t largest_radius = 255;  ///< greater ones become it
};

/// The radius of the circle of confusion of every pixel: aperture * |z - focus| / z for depth z, rounded to the
/// nearest; `largest_radius` where z is not above 0, and 0 where it is not a number. With a lens of diameter A and
/// focal length f, and pixels of width p, the aperture is A f / (2 p (focus - f)) (Potmesil and Chakravarty, SIGGRAPH
/// 1981).
///
///     boxsum::circles_of_confusion(depth, radii, {.focus = 2.5, .aperture = 20});
///     boxsum::variable_blur({.image = photo, .radius = radii}, {blurred}, {.order = 1});
///
/// depth: 8u, 16u, 32f or 64f, 1 channel. radii: 8u, 16u or 32u of the same extents and planes, that hold
/// `largest_radius`. Throws invalid_argument.
void circles_of_confusion(const const_any_view& depth, const any_view& radii, const thin_lens& lens);

}  // namespace boxsum
