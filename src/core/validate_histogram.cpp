#include "core/validate_histogram.hpp"

#include "core/checked_size.hpp"
#include "core/tensor_checks.hpp"
#include "core/view_checks.hpp"
#include "core/visit_histogram.hpp"

#include <boxsum/error.hpp>
#include <boxsum/table.hpp>

#include <limits>
#include <string>

namespace boxsum {
namespace {

std::string extents(std::int64_t planes, std::int64_t rows, std::int64_t cols) {
    return std::to_string(planes) + " x " + std::to_string(rows) + " x " + std::to_string(cols);
}

void check_types(const view_shape& image, const std::optional<view_shape>& weights, const tensor_shape& tensor) {
    if (!contains(histogram_inputs{}, image.type))
        throw unsupported("image: type is " + std::string(name_of(image.type)) +
                          ", integral histograms take 8u, 16u, 32s and 32f");
    if (image.channels != 1)
        throw invalid_argument("image: channels is " + std::to_string(image.channels) +
                               ", integral histograms take 1; give each channel its own view or tensor");
    if (!weights) {
        if (!contains(histogram_counts{}, tensor.type))
            throw unsupported("tensor: type is " + std::string(name_of(tensor.type)) + ", counts are 32u or 16u");
        constexpr std::int64_t most = std::numeric_limits<std::uint16_t>::max();
        const auto pixels = checked_multiply(image.rows, image.cols);
        if (tensor.type == dtype::u16 && (!pixels || *pixels > most))
            throw invalid_argument("tensor: type is 16u, but an image of " + std::to_string(image.rows) + " x " +
                                   std::to_string(image.cols) + " has more than 65535 pixels");
        return;
    }
    if (weights->type != dtype::f32)
        throw unsupported("weights: type is " + std::string(name_of(weights->type)) + ", must be 32f");
    if (tensor.type != dtype::f32)
        throw unsupported("tensor: type is " + std::string(name_of(tensor.type)) + ", sums of weights are 32f");
    if (weights->channels != 1)
        throw invalid_argument("weights: channels is " + std::to_string(weights->channels) + ", must be 1");
    if (weights->planes != image.planes || weights->rows != image.rows || weights->cols != image.cols)
        throw invalid_argument("weights: extents are " + extents(weights->planes, weights->rows, weights->cols) +
                               ", but the image's are " + extents(image.planes, image.rows, image.cols));
}

void check_binning(const view_shape& image, const binning& bins) {
    const std::string type(name_of(image.type));
    if (bins.bins() == 0) throw invalid_argument("binning: was moved from");
    if (bins.rule() == bin_rule::indices && image.type == dtype::f32)
        throw invalid_argument("binning: bin indices are integers, but the image is " + type);
    if (bins.rule() != bin_rule::lookup) return;
    const std::size_t wanted = image.type == dtype::u8 ? 256 : image.type == dtype::u16 ? 65536 : 0;
    if (bins.table().size() != wanted)
        throw invalid_argument("binning: a look-up table of " + std::to_string(bins.table().size()) +
                               " entries, but the image is " + type + " (256 entries serve 8u, 65536 serve 16u)");
}

void check_extents(const view_shape& image, const binning& bins, const tensor_shape& tensor, table_layout layout) {
    if (layout == table_layout::exclusive)
        throw invalid_argument("layout: is exclusive, integral histograms are inclusive or padded");
    if (tensor.planes != image.planes)
        throw invalid_argument("tensor: planes is " + std::to_string(tensor.planes) + ", but that of image is " +
                               std::to_string(image.planes));
    if (tensor.bins != bins.bins())
        throw invalid_argument("tensor: bins is " + std::to_string(tensor.bins) + ", but the binning has " +
                               std::to_string(bins.bins()));
    if (tensor.rows != table_rows(image.rows, layout) || tensor.cols != table_cols(image.cols, layout))
        throw invalid_argument("tensor: extents are " + std::to_string(tensor.rows) + " x " +
                               std::to_string(tensor.cols) + ", but the " + std::string(name_of(layout)) +
                               " tables of an image of " + std::to_string(image.rows) + " x " +
                               std::to_string(image.cols) + " have " + std::to_string(table_rows(image.rows, layout)) +
                               " x " + std::to_string(table_cols(image.cols, layout)));
}

bool ranges_meet(const void* a, std::int64_t a_bytes, const void* b, std::int64_t b_bytes) {
    const auto first = reinterpret_cast<std::uintptr_t>(a), second = reinterpret_cast<std::uintptr_t>(b);
    return first < second + static_cast<std::uintptr_t>(b_bytes) &&
           second < first + static_cast<std::uintptr_t>(a_bytes);
}

}  // namespace

problem make_histogram_problem(const view_shape& image, const std::optional<view_shape>& weights, const binning& bins,
                               const tensor_shape& tensor, table_layout layout) {
    check_layout(layout);
    checked_span_bytes("image", image);
    if (weights) checked_span_bytes("weights", *weights);
    checked_tensor_bytes("tensor", tensor);
    check_types(image, weights, tensor);
    check_binning(image, bins);
    check_extents(image, bins, tensor, layout);

    problem p;
    p.what = operation::histogram;
    p.image = image;
    p.table = tables_of_first_bin(tensor);
    p.layout = layout;
    p.histogram =
        histogram_problem{bins.bins(), tensor.bin_stride, bins.rule(), bins.lo(), bins.hi(), bins.outside(), weights};
    return p;
}

problem make_histogram_problem(const const_any_view& image, const std::optional<const_any_view>& weights,
                               const binning& bins, const any_tensor_view& tensor, table_layout layout) {
    const std::int64_t image_bytes = check_view("image", image);
    const std::int64_t weight_bytes = weights ? check_view("weights", *weights) : 0;
    const std::int64_t tensor_bytes = check_tensor("tensor", tensor);
    const problem p = make_histogram_problem(
        image.shape, weights ? std::optional<view_shape>(weights->shape) : std::nullopt, bins, tensor.shape, layout);
    if (ranges_meet(tensor.data, tensor_bytes, image.data, image_bytes))
        throw invalid_argument("tensor: overlaps image");
    if (weights && ranges_meet(tensor.data, tensor_bytes, weights->data, weight_bytes))
        throw invalid_argument("tensor: overlaps weights");
    return p;
}

}  // namespace boxsum
