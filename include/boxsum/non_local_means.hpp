#pragma once

#include <boxsum/export.hpp>
#include <boxsum/filters.hpp>
#include <boxsum/view.hpp>
#include <boxsum/window.hpp>

#include <optional>

namespace boxsum BOXSUM_EXPORT {

/// What non_local_means() reads.
struct non_local_inputs {
    const_any_view image;
    /// As of filter_inputs, of 1 channel: the channels of a pixel count together.
    const_any_view mask = {};
    const_any_view weights = {};  ///< as masks
};

/// The formula of non_local_means().
struct non_local_rule {
    /// What is compared around two pixels. Extents are not negative.
    window patch = window_radius(3);
    /// h: patches whose pixels differ by it, root mean square, have 1/e of the weight of equal ones; finite, above 0,
    /// in the image's units. Not given: 10 of 255 parts of the range, 10 for 8u, 2570 for 16u and 10 / 255 for floating
    /// images, which are taken to lie in 0..1.
    std::optional<double> strength = {};
    /// sigma: the noise's standard deviation. Patches that differ by no more than noise of this size does have the
    /// weight of equal ones. Finite, not negative, in the image's units.
    double noise = 0;
};

/// Non-local means (Buades, Coll, Morel, CVPR 2005): smooths by the mean of the pixels of a search window, weighted by
/// how alike their surroundings are, which keeps edges and texture.
///
///     result(p) = sum of w(p, q) x(q) / sum of w(p, q), over the pixels q of the window around p
///     w(p, q) = exp(-max(0, D(p, q) - 2 noise^2) / strength^2), w(p, p) = 1
///
///     boxsum::non_local_means({noisy}, {clean}, {.strength = 10, .noise = 8}, {.window = 21});
///
/// D is the mean, over the pixels of a patch and the channels, of the squared difference of what lies around p and
/// around q. It is a sum of boxes of the image of differences for each distance between p and q (Darbon et al. 2008),
/// so that a pixel's time grows with the search window's pixels, and with a patch only as its extents' logarithms do.
///
/// image: in host memory, 8u, 16u, 32f or 64f; the channels of a pixel have one weight, planes nothing to do with each
/// other. result: the image's extents and its type (rounded as `rounding` says), 32f or 64f; does not overlap the
/// image. `window` is the search window, 15 x 15 if nothing else is said; border, its value, rounding and threads are
/// those of `options`. Where the border continues the image, pixels beyond it are searched and compared as if they were
/// the image's; with `shrink` they are not searched, and D is the mean over the pixels of a patch that both places
/// have.
///
/// Sampling (filters.hpp). A pixel does not count where its mask is 0 or its weight not above 0, or where a channel of
/// it is `nodata` or, with nan_mode::omit, NaN. With v the weight of what counts (1 where none are given) and 0
/// elsewhere, for places o of a patch and c channels:
///
///     n(p, q) = sum of v(p+o) v(q+o),  D(p, q) = sum of v(p+o) v(q+o) |x(p+o) - x(q+o)|^2 / (c n(p, q))
///     result(p) = sum of v(q) w(p, q) x(q) / sum of v(q) w(p, q)
///
/// - w(p, q) is 0 where n(p, q) is below `min_count` or `min_weight`, and where it is 0: patches that share too little
///   are not compared. That goes for w(p, p), too, which is 1 elsewhere.
/// - The pixel itself need not count: its patch is compared by what counts of it, which fills gaps smaller than a
///   patch. The result is `fill` where the sum of v(q) w(p, q) is 0: nothing that counts is near, or alike enough for a
///   number. Weights below 2^-1021 may be taken for 0.
/// - outputs.count is the sum of v(q) over the pixels q that p was compared with, for every channel; 32u (without
///   weights), 32f or 64f.
/// - n and D of 8u and 16u are exact without weights. Results of 8u without weights are then as accurate as where all
///   counts, also where all w are small. All else is in double, by additions only, with weights many times as long,
///   and within 2^-40 of the largest magnitude in the search window before it is rounded.
///
/// Accuracy: D is an exact sum for 8u, and for 16u in patches of up to 2^21 samples; others are of doubles, by
/// additions of what a pixel's own patches hold. Weights of 8u and 16u are in single precision, within 2^-21 (1 + D /
/// strength^2) of their values, and so is the sum of up to 16 of them; a result is within 2^-17 of the largest pixel in
/// its search window before it is rounded. Of 32f and 64f all is in double, and within 2^-40 of the largest magnitude
/// there. A NaN or an infinity acts on the pixels whose windows or patches there reach it, and on no other; a result of
/// integer type is never NaN. scikit-image's fast mode compares patches of one row and column less, and OpenCV takes
/// weights from a table: their results differ by more than rounding.
///
/// Memory: per thread 8 to 40 bytes for each pixel of a tile of some 64 x 512 and of what windows and patches reach
/// around it, whatever the image; with sampling up to 24 for each channel and 40 more, and a byte for each sample of
/// the image's rows that a tile reaches, with weights of 32 rows of the image and of what windows and patches reach
/// around them; copies of views whose pixels have gaps.
///
/// Throws invalid_argument (names the argument and its value), unsupported, out_of_memory. Nothing is written when an
/// argument is wrong. Results have the same bits for any number of threads. Thread-safe for distinct results.
void non_local_means(const non_local_inputs& inputs, const filter_outputs& outputs, const non_local_rule& rule = {},
                     const filter_options& options = {});

}  // namespace boxsum
