#include "api/registry.hpp"
#include "core/checked_tensor.hpp"
#include "core/exhausted_memory.hpp"
#include "core/tensor_checks.hpp"
#include "core/validate_histogram.hpp"
#include "core/view_checks.hpp"

#include <boxsum/error.hpp>
#include <boxsum/integral_histogram.hpp>

#include <optional>
#include <string>

namespace boxsum {
namespace {

void run(const const_any_view& image, const std::optional<const_any_view>& weights, const binning& bins,
         const any_tensor_view& tensor, const histogram_options& options) {
    if (options.threads < 0)
        throw invalid_argument("threads: is " + std::to_string(options.threads) + ", must be 0 (automatic) or more");
    check_store(options.store);
    const problem p = make_histogram_problem(image, weights, bins, tensor, options.layout);
    const choice chosen = choose(p, backend::cpu, options.algorithm, options.parameters);
    execution how;
    how.parameters = chosen.parameters;
    how.threads = options.threads;
    how.store = options.store;
    buffers memory;
    memory.image = image.data;
    memory.table = tensor.data;
    memory.weights = weights ? weights->data : nullptr;
    memory.lookup = bins.rule() == bin_rule::lookup ? bins.table().data() : nullptr;
    chosen.record->enqueue(p, memory, how);
}

}  // namespace

void integral_histogram(const const_any_view& image, const binning& bins, const any_tensor_view& tensor,
                        const histogram_options& options) try {
    run(image, std::nullopt, bins, tensor, options);
} catch (...) {
    rethrow_as_ours();
}

void integral_histogram(const const_any_view& image, const const_any_view& weights, const binning& bins,
                        const any_tensor_view& tensor, const histogram_options& options) try {
    run(image, weights, bins, tensor, options);
} catch (...) {
    rethrow_as_ours();
}

support supports(const algorithm_info& algorithm, const view_shape& image, const binning& bins, dtype tensor,
                 table_layout layout, bool weighted, std::string_view parameters) {
    if (algorithm.what != operation::histogram) return {false, "it does not compute integral histograms"};
    const algorithm_record* record = find_record(algorithm.what, algorithm.name);
    if (record == nullptr) return {false, "it is not registered"};
    checked_span_bytes("image", image);
    const view_shape weights = packed_shape(dtype::f32, image.planes, image.rows, image.cols, image.channels);
    try {
        const problem p = make_histogram_problem(image, weighted ? std::optional<view_shape>(weights) : std::nullopt,
                                                 bins, packed_tensor(image, bins.bins(), tensor, layout), layout);
        return check_support(*record, p, parse_parameters(*record, parameters));
    } catch (const unsupported& e) {  // element types that no histogram has are an answer here, not a mistake
        return {false, e.what()};
    }
}

template <typename T>
void box_histograms(const const_any_tensor_view& tensor, std::span<const box> boxes, std::span<T> out,
                    table_layout layout, std::int64_t plane) {
    const tensor_view<const T> view = checked_tensor<T>(tensor, layout, plane);
    const auto bins = static_cast<std::size_t>(view.bins());
    if (out.size() != boxes.size() * bins)
        throw invalid_argument("out: has " + std::to_string(out.size()) + " elements, must have " +
                               std::to_string(boxes.size() * bins) + " (boxes x bins)");
    for (std::size_t i = 0; i < boxes.size(); ++i) try {
            check_box(boxes[i], table_view<const T>(view.bin(0, plane), layout));
        } catch (const invalid_argument& e) {
            throw invalid_argument("boxes[" + std::to_string(i) + "]: " + e.what());
        }
    // Bin by bin: the reads of one bin stay within its table, which may be far from the next one's.
    for (std::size_t b = 0; b < bins; ++b) {
        const table_view<const T> table(view.bin(static_cast<std::int64_t>(b), plane), layout);
        for (std::size_t i = 0; i < boxes.size(); ++i)
            out[i * bins + b] = detail::sum_of_checked_box(table, boxes[i], 0, 0);
    }
}

template <typename T>
void box_histogram(const const_any_tensor_view& tensor, const box& b, std::span<T> out, table_layout layout,
                   std::int64_t plane) {
    const tensor_view<const T> view = checked_tensor<T>(tensor, layout, plane);
    if (static_cast<std::int64_t>(out.size()) != view.bins())
        throw invalid_argument("out: has " + std::to_string(out.size()) + " elements, must have " +
                               std::to_string(view.bins()) + " (bins)");
    check_box(b, table_view<const T>(view.bin(0, plane), layout));
    for (std::int64_t k = 0; k < view.bins(); ++k)
        out[static_cast<std::size_t>(k)] =
            detail::sum_of_checked_box(table_view<const T>(view.bin(k, plane), layout), b, 0, 0);
}

template void box_histogram(const const_any_tensor_view&, const box&, std::span<std::uint16_t>, table_layout,
                            std::int64_t);
template void box_histogram(const const_any_tensor_view&, const box&, std::span<std::uint32_t>, table_layout,
                            std::int64_t);
template void box_histogram(const const_any_tensor_view&, const box&, std::span<float>, table_layout, std::int64_t);
template void box_histograms(const const_any_tensor_view&, std::span<const box>, std::span<std::uint16_t>, table_layout,
                             std::int64_t);
template void box_histograms(const const_any_tensor_view&, std::span<const box>, std::span<std::uint32_t>, table_layout,
                             std::int64_t);
template void box_histograms(const const_any_tensor_view&, std::span<const box>, std::span<float>, table_layout,
                             std::int64_t);

}  // namespace boxsum
