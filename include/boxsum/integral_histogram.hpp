#pragma once

#include <boxsum/algorithms.hpp>
#include <boxsum/binning.hpp>
#include <boxsum/box.hpp>
#include <boxsum/export.hpp>
#include <boxsum/histogram_table.hpp>
#include <boxsum/sat_options.hpp>
#include <boxsum/table_view.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace boxsum BOXSUM_EXPORT {

/// What integral histograms are made of. Members that are not set are not read.
struct histogram_inputs {
    const_any_view image;         ///< planes x rows x cols, one channel; 8u, 16u, 32s or 32f
    const_any_view weights = {};  ///< of the pixels: 32f with the image's extents
};

/// What is written, and in which form.
struct histogram_outputs {
    any_histogram_view histograms;
};

/// How an integral histogram is computed. The defaults are right for most callers.
struct histogram_options {
    /// Name of a registered algorithm of the operation `histogram`, or "auto".
    std::string algorithm = "auto";

    /// Parameters of that algorithm, "name=value,name=value".
    std::string parameters = {};

    /// CPU only. 0: chosen by size.
    int threads = 0;
    store_policy store = store_policy::automatic;
};

/// Shapes of a call: everything of it but its memory, its binning and its options.
struct histogram_shapes {
    view_shape image;
    histogram_shape histograms;
    std::optional<view_shape> weights = {};
};

/// The shapes of the views of a call; their memory is not touched.
histogram_shapes shapes_of(const histogram_inputs& inputs, const histogram_outputs& outputs);

/// Computes the integral histogram of host images on this machine's CPU: H(b, r, c) is the number of pixels of bin b in
/// rows 0..r and columns 0..c (Porikli 2005; Poostchi et al., eq. 1), one row and column later for `padded`. With
/// weights it is the sum of the weights of these pixels.
///
///     integral_histogram({image}, bins, {histograms});
///     integral_histogram({image, weights}, bins, {sums}, {.threads = 2});
///
/// image: planes x rows x cols, one channel; 8u, 16u, 32s or 32f (see binning for what each rule takes).
/// histograms: planes x bins x rows x cols, or planes x bins x (rows + 1) x (cols + 1) for `padded`; `exclusive` is
/// refused, because it could not answer boxes at the last row and column. Entries are 32u, or 16u where rows * cols <=
/// 65535; 32f with weights. Every entry is written, nothing else of its memory is. 32u entries wrap modulo 2^32, and a
/// box of fewer pixels is exact all the same. Sums of weights have the same bits from run to run and for any number of
/// threads; a weight that is not finite shows only in the bin of its pixel, from its position onwards.
///
/// Throws invalid_argument (names the argument and its value), unsupported (element types, algorithm), out_of_memory.
/// Thread-safe for distinct outputs.
void integral_histogram(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs,
                        const histogram_options& options = {});

/// Allocates the histograms (from the shared pool) and computes them: of Entry std::uint32_t or std::uint16_t, or float
/// with weights.
///     auto sums = boxsum::integral_histogram<float>({image, weights}, boxsum::binning::uniform(32, 0, 256));
template <typename Entry>
histogram_table<Entry> integral_histogram(const histogram_inputs& inputs, const binning& bins, table_form form = {},
                                          const histogram_options& options = {}) {
    detail::check_image(inputs.image);
    const view_shape& image = inputs.image.shape;
    histogram_table<Entry> result(bins.bins(), image.rows, image.cols, form, image.planes);
    integral_histogram(inputs, bins, histogram_outputs{result}, options);
    return result;
}

/// The same of an image alone:
///     auto h = boxsum::integral_histogram<std::uint32_t>(image, boxsum::binning::uniform(32, 0, 256));
template <typename Entry, typename T>
histogram_table<Entry> integral_histogram(const image_view<T>& image, const binning& bins, table_form form = {},
                                          const histogram_options& options = {}) {
    return integral_histogram<Entry>(histogram_inputs{image}, bins, form, options);
}

/// Whether an algorithm of the operation `histogram` computes histograms of these entries and form for images of this
/// shape: counts of 32u or 16u, or 32f, which are sums of weights. Throws invalid_argument for a shape that is wrong in
/// itself and for parameters that the algorithm does not have.
support supports(const algorithm_info& algorithm, const view_shape& image, const binning& bins, dtype entries,
                 table_form form = {}, std::string_view parameters = {});

/// The histogram of a box by four reads per bin (Poostchi et al., eq. 2). T is the element type of the histograms and
/// out.size() their number of bins. Counts are exact where the box has at most 2^32 - 1 pixels.
/// Throws invalid_argument for a box outside the image, a plane that the histograms lack, a wrong size of `out`,
/// another element type.
template <typename T>
BOXSUM_EXPORT void box_histogram(const const_any_histogram_view& histograms, const box& b, std::span<T> out,
                                 std::int64_t plane = 0);

/// Many boxes: `out` is boxes.size() x bins, in the order of the boxes. Nothing is written when one is wrong (the
/// message has its index).
template <typename T>
BOXSUM_EXPORT void box_histograms(const const_any_histogram_view& histograms, std::span<const box> boxes,
                                  std::span<T> out, std::int64_t plane = 0);

extern template void box_histogram(const const_any_histogram_view&, const box&, std::span<std::uint16_t>, std::int64_t);
extern template void box_histogram(const const_any_histogram_view&, const box&, std::span<std::uint32_t>, std::int64_t);
extern template void box_histogram(const const_any_histogram_view&, const box&, std::span<float>, std::int64_t);
extern template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<std::uint16_t>,
                                    std::int64_t);
extern template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<std::uint32_t>,
                                    std::int64_t);
extern template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<float>,
                                    std::int64_t);

/// Of owning histograms, whose element type is known.
template <typename T>
std::vector<T> box_histogram(const histogram_table<T>& histograms, const box& b, std::int64_t plane = 0) {
    std::vector<T> out(static_cast<std::size_t>(histograms.view().bins()));
    box_histogram(const_any_histogram_view(histograms), b, std::span<T>(out), plane);
    return out;
}

/// Histograms one behind the other, each of `bins` values: counts, or sums where pixels have weights. The other list is
/// empty.
struct histogram_list {
    std::vector<std::uint32_t> counts;
    std::vector<float> sums;

    bool empty() const noexcept { return counts.empty() && sums.empty(); }
    friend bool operator==(const histogram_list&, const histogram_list&) = default;
};

}  // namespace boxsum
