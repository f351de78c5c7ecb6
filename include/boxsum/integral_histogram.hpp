#pragma once

#include <boxsum/algorithms.hpp>
#include <boxsum/binning.hpp>
#include <boxsum/box.hpp>
#include <boxsum/export.hpp>
#include <boxsum/histogram_tensor.hpp>
#include <boxsum/sat.hpp>
#include <boxsum/types.hpp>
#include <boxsum/view.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace boxsum BOXSUM_EXPORT {

/// What every computation of an integral histogram can be told. The defaults are right for most callers.
struct histogram_options {
    /// `inclusive` or `padded`; an exclusive tensor could not answer boxes at the last row and column.
    table_layout layout = table_layout::inclusive;

    /// Name of a registered algorithm of the operation `histogram`, or "auto".
    std::string algorithm = "auto";

    /// Parameters of that algorithm, "name=value,name=value".
    std::string parameters = {};

    /// CPU only. 0: chosen by size.
    int threads = 0;
    store_policy store = store_policy::automatic;
};

/// Computes the integral histogram of host images on this machine's CPU: H(b, r, c) is the number of pixels of bin b in
/// rows 0..r and columns 0..c (Porikli 2005; Poostchi et al., eq. 1), one row and column later for `padded`.
///
/// image: planes x rows x cols, one channel; 8u, 16u, 32s or 32f (see binning for what each rule takes).
/// tensor: planes x bins x rows x cols, or bins x (rows + 1) x (cols + 1) for `padded`; 32u, or 16u where
/// rows * cols <= 65535. Every entry is written, nothing else of its memory is. 32u entries wrap modulo 2^32, and a box
/// of fewer pixels is exact all the same.
///
/// Throws invalid_argument (names the argument and its value), unsupported (element types, algorithm), out_of_memory.
/// Thread-safe for distinct tensors.
void integral_histogram(const const_any_view& image, const binning& bins, const any_tensor_view& tensor,
                        const histogram_options& options = {});

/// The same with a weight per pixel: H(b, r, c) is the sum of the weights of the pixels of bin b. `weights` is 32f with
/// the image's extents, `tensor` is 32f. The result has the same bits from run to run and for any number of threads; a
/// weight that is not finite shows only in the bin of its pixel, from its position onwards.
void integral_histogram(const const_any_view& image, const const_any_view& weights, const binning& bins,
                        const any_tensor_view& tensor, const histogram_options& options = {});

/// Allocates the tensor (from the shared pool) and computes it:
///     auto h = boxsum::integral_histogram<std::uint32_t>(image, boxsum::binning::uniform(32, 0, 256));
template <typename Entry, typename T>
histogram_tensor<Entry> integral_histogram(const image_view<T>& image, const binning& bins,
                                           const histogram_options& options = {}) {
    detail::check_image(image);
    histogram_tensor<Entry> result(bins.bins(), image.rows(), image.cols(), options.layout, image.planes());
    integral_histogram(image, bins, any_tensor_view(result.view()), options);
    return result;
}

/// Whether an algorithm of the operation `histogram` computes tensors of this type and layout for images of this shape.
/// Throws invalid_argument for a shape that is wrong in itself.
support supports(const algorithm_info& algorithm, const view_shape& image, const binning& bins, dtype tensor,
                 table_layout layout, bool weighted = false, std::string_view parameters = {});

/// The histogram of a box by four reads per bin (Poostchi et al., eq. 2). T is the tensor's element type and
/// out.size() its number of bins. Counts are exact where the box has at most 2^32 - 1 pixels.
/// Throws invalid_argument for a box outside the image, a plane that the tensor lacks, a wrong size of `out`, another
/// element type than the tensor's.
template <typename T>
void box_histogram(const const_any_tensor_view& tensor, const box& b, std::span<T> out, table_layout layout,
                   std::int64_t plane = 0);

/// Many boxes: `out` is boxes.size() x bins, in the order of the boxes. Nothing is written when one is wrong (the
/// message has its index).
template <typename T>
void box_histograms(const const_any_tensor_view& tensor, std::span<const box> boxes, std::span<T> out,
                    table_layout layout, std::int64_t plane = 0);

extern template void box_histogram(const const_any_tensor_view&, const box&, std::span<std::uint16_t>, table_layout,
                                   std::int64_t);
extern template void box_histogram(const const_any_tensor_view&, const box&, std::span<std::uint32_t>, table_layout,
                                   std::int64_t);
extern template void box_histogram(const const_any_tensor_view&, const box&, std::span<float>, table_layout,
                                   std::int64_t);
extern template void box_histograms(const const_any_tensor_view&, std::span<const box>, std::span<std::uint16_t>,
                                    table_layout, std::int64_t);
extern template void box_histograms(const const_any_tensor_view&, std::span<const box>, std::span<std::uint32_t>,
                                    table_layout, std::int64_t);
extern template void box_histograms(const const_any_tensor_view&, std::span<const box>, std::span<float>, table_layout,
                                    std::int64_t);

/// The query of an owning tensor, whose layout is known.
template <typename T>
std::vector<T> box_histogram(const histogram_tensor<T>& tensor, const box& b, std::int64_t plane = 0) {
    std::vector<T> out(static_cast<std::size_t>(tensor.view().bins()));
    box_histogram(const_any_tensor_view(tensor.view()), b, std::span<T>(out), tensor.layout(), plane);
    return out;
}

}  // namespace boxsum
