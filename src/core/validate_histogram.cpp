#include "core/validate_histogram.hpp"

#include "core/checked_size.hpp"
#include "core/tensor_checks.hpp"
#include "core/view_checks.hpp"
#include "core/visit_histogram.hpp"

#include <boxsum/error.hpp>
#include <boxsum/table.hpp>

#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace boxsum {
namespace {

std::string extents(std::int64_t planes, std::int64_t rows, std::int64_t cols) {
    return std::to_string(planes) + " x " + std::to_string(rows) + " x " + std::to_string(cols);
}

void check_types(const view_shape& image, const std::optional<view_shape>& weights, const tensor_shape& tensor) {
    if (!contains(histogram_pixels{}, image.type))
        throw unsupported("image: type is " + std::string(name_of(image.type)) +
                          ", integral histograms take 8u, 16u, 32s and 32f");
    if (image.channels != 1)
        throw invalid_argument("image: channels is " + std::to_string(image.channels) +
                               ", integral histograms take 1; give each channel its own view or tensor");
    if (!weights) {
        if (!contains(histogram_counts{}, tensor.type))
            throw unsupported("histograms: type is " + std::string(name_of(tensor.type)) + ", counts are 32u or 16u");
        constexpr std::int64_t most = std::numeric_limits<std::uint16_t>::max();
        const auto pixels = checked_multiply(image.rows, image.cols);
        if (tensor.type == dtype::u16 && (!pixels || *pixels > most))
            throw invalid_argument("histograms: type is 16u, but an image of " + std::to_string(image.rows) + " x " +
                                   std::to_string(image.cols) + " has more than 65535 pixels");
        return;
    }
    if (weights->type != dtype::f32)
        throw unsupported("weights: type is " + std::string(name_of(weights->type)) + ", must be 32f");
    if (tensor.type != dtype::f32)
        throw unsupported("histograms: type is " + std::string(name_of(tensor.type)) + ", sums of weights are 32f");
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

void check_extents(const view_shape& image, const binning& bins, const histogram_shape& histograms) {
    check_form(histograms.form);
    const tensor_shape& tensor = histograms.entries;
    const auto [rows, cols] =
        std::pair(histograms.form.table_extent(image.rows), histograms.form.table_extent(image.cols));
    if (tensor.planes != image.planes)
        throw invalid_argument("histograms: planes is " + std::to_string(tensor.planes) + ", but that of image is " +
                               std::to_string(image.planes));
    if (tensor.bins != bins.bins())
        throw invalid_argument("histograms: bins is " + std::to_string(tensor.bins) + ", but the binning has " +
                               std::to_string(bins.bins()));
    if (tensor.rows != rows || tensor.cols != cols)
        throw invalid_argument("histograms: extents are " + std::to_string(tensor.rows) + " x " +
                               std::to_string(tensor.cols) + ", but the " +
                               std::string(name_of(histograms.form.layout)) + " tables of an image of " +
                               std::to_string(image.rows) + " x " + std::to_string(image.cols) + " have " +
                               std::to_string(rows) + " x " + std::to_string(cols));
}

bool ranges_meet(const void* histograms, std::int64_t bytes, const void* read, const byte_reach& reach) {
    const auto first = reinterpret_cast<std::uintptr_t>(histograms),
               second = reinterpret_cast<std::uintptr_t>(read) - static_cast<std::uintptr_t>(-reach.first);
    return first < second + static_cast<std::uintptr_t>(reach.bytes()) &&
           second < first + static_cast<std::uintptr_t>(bytes);
}

}  // namespace

problem make_histogram_problem(const histogram_shapes& shapes, const binning& bins) {
    const tensor_shape& entries = shapes.histograms.entries;
    checked_reach("image", shapes.image, access::read);
    if (shapes.weights) checked_reach("weights", *shapes.weights, access::read);
    checked_tensor_bytes("histograms", entries);
    check_types(shapes.image, shapes.weights, entries);
    check_binning(shapes.image, bins);
    check_extents(shapes.image, bins, shapes.histograms);

    problem p;
    p.what = operation::histogram;
    p.image = normal_shape(shapes.image);
    p.table = tables_of_first_bin(entries);
    p.form = shapes.histograms.form;
    p.histogram =
        histogram_problem{bins.bins(), entries.bin_stride, bins.rule(), bins.lo(), bins.hi(), bins.outside(), {}};
    if (shapes.weights) p.histogram->weights = normal_shape(*shapes.weights);
    return p;
}

problem make_histogram_problem(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs) {
    const any_tensor_view& entries = outputs.histograms.entries;
    const bool weighted = is_set(inputs.weights);
    const byte_reach image_reach = check_read("image", inputs.image);
    const byte_reach weight_reach = weighted ? check_read("weights", inputs.weights) : byte_reach{};
    const std::int64_t bytes = check_tensor("histograms", entries);
    const problem p = make_histogram_problem(shapes_of(inputs, outputs), bins);
    if (ranges_meet(entries.data, bytes, inputs.image.data, image_reach))
        throw invalid_argument("histograms: overlap image");
    if (weighted && ranges_meet(entries.data, bytes, inputs.weights.data, weight_reach))
        throw invalid_argument("histograms: overlap weights");
    return p;
}

histogram_shapes shapes_of(const histogram_inputs& inputs, const histogram_outputs& outputs) {
    return {inputs.image.shape, outputs.histograms.shape(),
            is_set(inputs.weights) ? std::optional(inputs.weights.shape) : std::nullopt};
}

void check_form(const table_form& form) {
    check_layout("histograms", form.layout);
    check_plain_form("histograms", form, "an integral histogram");
    if (form.layout == table_layout::exclusive)
        throw unsupported("histograms: layout is exclusive, integral histograms are inclusive or padded");
}

void check_histograms(const histogram_shape& histograms, std::int64_t plane) {
    const tensor_shape& s = histograms.entries;
    checked_tensor_bytes("histograms", s);
    if (!contains(histogram_entries{}, s.type))
        throw unsupported("histograms: type is " + std::string(name_of(s.type)) +
                          ", integral histograms are 32u, 16u or 32f");
    check_form(histograms.form);
    if (plane < 0 || plane >= s.planes)
        throw invalid_argument("plane: is " + std::to_string(plane) + ", but the histograms have " +
                               std::to_string(s.planes));
}

void check_histograms(const const_any_histogram_view& histograms, std::int64_t plane) {
    check_histograms(histograms.shape(), plane);
    check_tensor("histograms", histograms.entries);
}

}  // namespace boxsum
