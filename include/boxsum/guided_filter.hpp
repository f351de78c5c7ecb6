#pragma once

#include <boxsum/export.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/view.hpp>

#include <optional>

namespace boxsum BOXSUM_EXPORT {

/// What guided_filter() reads.
struct guided_inputs {
    const_any_view image;
    /// Rows and cols of the image, 1 to 4 channels, 1 plane (for all) or the image's. Not given: every channel of the
    /// image is its own guide.
    const_any_view guide = {};
    const_any_view mask = {};     ///< of the image's pixels, as of filter_inputs
    const_any_view weights = {};  ///< of the image's pixels, as of filter_inputs
};

/// The formula of guided_filter().
struct guided_rule {
    /// Variances of the guide that are well below it are smoothed, those well above it are edges that stay; finite,
    /// above 0, in squares of the guide's units. Not given: the square of a tenth of the range, 650.25 for 8u,
    /// 42948362.25 for 16u, 0.01 for floating guides, which are taken to lie in 0..1.
    std::optional<double> epsilon = {};
};

/// Guided filter (He, Sun, Tang, ECCV 2010): smooths the image and keeps the edges of the guide, at a cost that does
/// not depend on the window. In every window the image p is fitted by a linear function of the guide I; a pixel
/// becomes the mean of what the windows that contain it make of its guide:
///
///     a_k = (cov_k(I, I) + epsilon E)^-1 cov_k(I, p),  b_k = mean_k(p) - a_k . mean_k(I)
///     result = mean(a) . I + mean(b)
///
///     boxsum::guided_filter({.image = noisy}, {smooth}, {.epsilon = 1e-3}, {.window = boxsum::window_radius(8)});
///     boxsum::guided_filter({.image = mask, .guide = photo}, {matte}, {.epsilon = 40}, {.window = 41});
///
/// image: in host memory, 8u, 16u, 32f or 64f; every channel of every plane is filtered by itself. guide: of these
/// types, too; E is the unit matrix of its channels. result: the image's extents and its type (rounded as `rounding`
/// says, and clamped), 32f or 64f; overlaps neither image nor guide. Window, border, rounding and threads are those of
/// `options`; where the border continues the image, a and b continue beyond it as the image does.
/// border_mode::constant is unsupported.
///
/// Sampling (filters.hpp). Which pixels of the image count, and how much, is said by channel as of filter_inputs; with
/// nan_mode::omit they do not, either, where a channel of the guide is NaN. Then:
///
/// - cov_k and mean_k are weighted, over the pixels of window k that count. A window has a fit where so much counts as
///   `min_count` or `min_weight` asks for, and at least something; a and b are averaged over the windows around a pixel
///   that have one, all alike.
/// - With a guide, a pixel that does not count has the result that the fits make of its guide, which fills gaps along
///   the guide's edges. The result is `fill` where no window around the pixel has a fit, and with nan_mode::omit where
///   the guide is NaN.
/// - Without a guide, a pixel that does not count is `fill`: its value, of which a result would be made, is not known.
///   (box_filter() and local_statistics() fill gaps without a guide.)
/// - outputs.count is what counts in the window of each pixel's own fit, as box_filter() has it; types as of
///   filter_outputs.
///
/// Accuracy: all is computed in double. Covariances are made of variances, cov(x, y) = (var(x + y) - var(x) - var(y)) /
/// 2, which are exact for 8u and merged from parts for others (filters.hpp), so that their errors are some 2^-50 of
/// the variances in the window (n times that where n pixels of 32f may not count and have no weights) and do not grow
/// with the values. On the CPU fits of 8u images by themselves or by an 8u
/// guide are rounded where the result is 8u, too: results are then rounded from numbers within 2^-23 of the exact ones,
/// and exact halves and integers as what they are. What is made of differences of squared means, as OpenCV's ximgproc
/// does in single precision, loses small variances: with a colour guide in 0..1 and an epsilon of 1e-6 most of its
/// pixels are wrong. A NaN, an infinity or a huge value acts on the pixels that share a window with it, and on no
/// other; a result of integers has 0 where it would be NaN.
///
/// Memory: 40 bytes a pixel without a guide (with sampling 70), and with a guide of 1 to 4 channels up to 96, 168, 256
/// and 360 (with sampling 130, 210, 300 and 410), for up to twice 128 rows or 8 times the window's, whichever is more
/// (with `wrap` all rows), and those that windows reach beyond them; what local_statistics() and box_filter() take for
/// these rows, of floats by floats up to 25 times (4 channels of a guide); and copies of views whose pixels have gaps.
///
/// Throws invalid_argument (names the argument and its value), unsupported, out_of_memory. Nothing is written when an
/// argument is wrong. Results have the same bits for any number of threads. Thread-safe for distinct results.
void guided_filter(const guided_inputs& inputs, const filter_outputs& outputs, const guided_rule& rule = {},
                   const filter_options& options = {});

}  // namespace boxsum
