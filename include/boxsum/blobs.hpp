#pragma once

#include <boxsum/export.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace boxsum BOXSUM_EXPORT {

/// A bright or dark spot of an image: a maximum of the determinant of its Hessian, over places and scales.
struct blob {
    std::int64_t row = 0;
    std::int64_t col = 0;
    double sigma = 0;        ///< about its radius in pixels
    double determinant = 0;  ///< of box_hessian()

    friend bool operator==(const blob&, const blob&) = default;
};

/// How find_blobs() steps through scales.
enum class scale_steps : std::uint8_t { linear, logarithmic };

/// `count` scales from `least` to `most`, both among them where there are several. Throws invalid_argument for scales
/// that are not finite or below 1, for fewer than one, and for a `most` below `least`.
std::vector<double> blob_scales(double least, double most, int count, scale_steps steps = scale_steps::linear);

/// What box_hessian() and find_blobs() read.
struct blob_inputs {
    const_any_view image;  ///< in host memory, 8u, 16u, 32f or 64f, 1 channel
};

/// Where box_hessian() writes.
struct hessian_outputs {
    any_view determinant;  ///< 32f or 64f, the image's extents; does not overlap the image
};

struct hessian_options {
    double sigma = 1;  ///< 1 to 2^30
    int threads = 0;   ///< 0: as many as pay
};

struct blob_options {
    std::vector<double> sigmas = blob_scales(1, 30, 10);  ///< ascending, each 1 to 2^30
    /// Determinants of blobs are above it; not given: above the least determinant of all.
    std::optional<double> threshold = 0.01;
    /// And above this part of the greatest determinant of all; finite.
    std::optional<double> relative_threshold = {};
    /// Blobs are taken as disks of radius sqrt(2) sigma. Of two that share more than this part of the smaller one's
    /// area the smaller goes, of two of one sigma that of the greater determinant; 0 to 1, 1: none goes.
    double overlap = 0.5;
    int threads = 0;  ///< 0: as many as pay
};

/// The determinant of the Hessian of every pixel at one scale, by boxes in the place of derivatives of a Gaussian:
/// dxx dyy - 0.81 dxy^2, at 32 reads of a table whatever the scale (Bay, Tuytelaars, Van Gool, ECCV 2006).
///
/// It is scikit-image's `hessian_matrix_det(image, sigma)`, boxes included: with n = floor(3 sigma), l = n / 3 and
/// h = (n - 1) / 2 (rounded down), and S(r, c, a, b) the sum of the a rows below r and the b columns right of c,
///
///     dxx = (3 S(y-l+1, x-l/2, 2l-1, l) - S(y-l+1, x-h, 2l-1, n)) / n^2,  dyy the same with rows and columns exchanged
///     dxy = (S(y-l, x-l, l, l) + S(y+1, x+1, l, l) - S(y-l, x+1, l, l) - S(y+1, x-l, l, l)) / n^2
///
/// where r and c become the nearest row and column of the image first, what lies beyond the image adds nothing, and S
/// is not below 0. Values of integer images are in parts of their type's largest, as scikit-image has them.
///
/// Every plane is an image by itself. Sums of integers are exact (images whose sums may reach 2^53 are unsupported), so
/// equal surroundings have equal determinants, which scikit-image's sums of fractions have not always; those of
/// floats are a 64f table's, and a pixel that is not finite makes wrong, not necessarily NaN, what lies below and to
/// the right of it. Memory: 8 bytes a pixel of one plane.
/// Throws invalid_argument (names the argument and its value), unsupported, out_of_memory. Nothing is written when an
/// argument is wrong. The same bits for any number of threads.
void box_hessian(const blob_inputs& inputs, const hessian_outputs& outputs, const hessian_options& options = {});

/// The blobs of an image of one plane: pixels and scales whose box_hessian() no neighbour among the 26 in rows, columns
/// and scales exceeds, above the thresholds, less those that overlap. Sorted by determinant, greatest first, then by
/// row, column and sigma. An image whose determinants are all equal has none.
///
///     for (const boxsum::blob& b : boxsum::find_blobs({sky}, {.sigmas = boxsum::blob_scales(2, 20, 10)})) draw(b);
///
/// They are scikit-image's `blob_doh`, whose boxes lie so that places are about a pixel above and left of the middle.
/// Where more than two blobs overlap, which of them remain depends on the order of pairs: here it is that of the sorted
/// list, there that of a set. Maxima of exactly equal determinants are all found; there some may be lost to rounding.
/// image: 1 plane. Memory: 8 bytes a pixel, and 3 rows of every scale a thread. Throws as
/// box_hessian() does. The same blobs for any number of threads.
std::vector<blob> find_blobs(const blob_inputs& inputs, const blob_options& options = {});

}  // namespace boxsum
