#include "api/registry.hpp"
#include "core/checked_histograms.hpp"
#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
#include "core/tensor_checks.hpp"
#include "core/validate_histogram.hpp"
#include "core/view_checks.hpp"

#include <boxsum/error.hpp>
#include <boxsum/integral_histogram.hpp>

#include <string>

namespace boxsum {

void integral_histogram(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs,
                        const histogram_options& options) try {
    check_threads(options.threads);
    check_store(options.store);
    (void)make_histogram_problem(inputs, bins, outputs);
    const packed_input image(inputs.image, is_plain), weights(inputs.weights, is_plain);
    const problem p = make_histogram_problem({image.view(), weights.view()}, bins, outputs);
    const choice chosen = choose(p, backend::cpu, options.algorithm, options.parameters);
    execution how;
    how.parameters = chosen.parameters;
    how.threads = options.threads;
    how.store = options.store;
    buffers memory;
    memory.image = image.view().data;
    memory.table = outputs.histograms.entries.data;
    memory.weights = weights.view().data;
    memory.lookup = bins.rule() == bin_rule::lookup ? bins.table().data() : nullptr;
    chosen.record->enqueue(p, memory, how);
} catch (...) {
    rethrow_as_ours();
}

support supports(const algorithm_info& algorithm, const view_shape& image, const binning& bins, dtype entries,
                 table_form form, std::string_view parameters) {
    if (algorithm.what != operation::histogram) return {false, "it does not compute integral histograms"};
    const algorithm_record* record = find_record(algorithm.what, algorithm.name);
    if (record == nullptr) return {false, "it is not registered"};
    checked_reach("image", image, access::read);
    histogram_shapes shapes{image, packed_histograms(image, bins.bins(), entries, form)};
    if (entries == dtype::f32)
        shapes.weights = packed_shape(dtype::f32, image.planes, image.rows, image.cols, image.channels);
    try {
        const problem p = make_histogram_problem(shapes, bins);
        return check_support(*record, p, parse_parameters(*record, parameters));
    } catch (const unsupported& e) {  // element types that no histogram has are an answer here, not a mistake
        return {false, e.what()};
    }
}

template <typename T>
void box_histograms(const const_any_histogram_view& histograms, std::span<const box> boxes, std::span<T> out,
                    std::int64_t plane) {
    const histogram_view<const T> view = checked_histograms<T>(histograms, plane);
    const auto bins = static_cast<std::size_t>(view.bins());
    if (out.size() != boxes.size() * bins)
        throw invalid_argument("out: has " + std::to_string(out.size()) + " elements, must have " +
                               std::to_string(boxes.size() * bins) + " (boxes x bins)");
    check_boxes(boxes, view.image_rows(), view.image_cols());
    // Bin by bin: the reads of one bin stay within its table, which may be far from the next one's.
    for (std::size_t b = 0; b < bins; ++b) {
        const table_view<const T> table = view.bin(static_cast<std::int64_t>(b), plane);
        for (std::size_t i = 0; i < boxes.size(); ++i)
            out[i * bins + b] = detail::sum_of_checked_box(table, boxes[i], 0, 0);
    }
}

template <typename T>
void box_histogram(const const_any_histogram_view& histograms, const box& b, std::span<T> out, std::int64_t plane) {
    const histogram_view<const T> view = checked_histograms<T>(histograms, plane);
    if (static_cast<std::int64_t>(out.size()) != view.bins())
        throw invalid_argument("out: has " + std::to_string(out.size()) + " elements, must have " +
                               std::to_string(view.bins()) + " (bins)");
    check_box(b, view.image_rows(), view.image_cols());
    for (std::int64_t k = 0; k < view.bins(); ++k) {
        const table_view<const T> table = view.bin(k, plane);
        out[static_cast<std::size_t>(k)] = detail::sum_of_checked_box(table, b, 0, 0);
    }
}

void check_boxes(std::span<const box> boxes, std::int64_t image_rows, std::int64_t image_cols) {
    for (std::size_t i = 0; i < boxes.size(); ++i) try {
            check_box(boxes[i], image_rows, image_cols);
        } catch (const invalid_argument& e) {
            throw invalid_argument("boxes[" + std::to_string(i) + "]: " + e.what());
        }
}

template void box_histogram(const const_any_histogram_view&, const box&, std::span<std::uint16_t>, std::int64_t);
template void box_histogram(const const_any_histogram_view&, const box&, std::span<std::uint32_t>, std::int64_t);
template void box_histogram(const const_any_histogram_view&, const box&, std::span<float>, std::int64_t);
template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<std::uint16_t>,
                             std::int64_t);
template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<std::uint32_t>,
                             std::int64_t);
template void box_histograms(const const_any_histogram_view&, std::span<const box>, std::span<float>, std::int64_t);

}  // namespace boxsum
