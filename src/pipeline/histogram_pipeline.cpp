#include "api/registry.hpp"
#include "core/packed_views.hpp"
#include "core/tensor_checks.hpp"
#include "core/validate_histogram.hpp"
#include "core/view_checks.hpp"
#include "core/visit_histogram.hpp"
#include "pipeline/frame_pipeline.hpp"
#include "pipeline/frame_request.hpp"

#include <boxsum/histogram_pipeline.hpp>
#include <boxsum/table.hpp>

#include <optional>
#include <string>
#include <utility>

namespace boxsum {
namespace {

constexpr std::array<std::string_view, static_cast<std::size_t>(pipeline_stage::count)> stage_names{
    "read", "upload", "compute", "query", "download"};

constexpr int most_buffers = 8;

/// Whether some algorithm computes tensors of a region of this many pixels: types, binning, form, algorithm.
void check_computable(const frame_format& format, const binning& bins, std::int64_t rows, std::int64_t cols,
                      const pipeline_options& options) {
    const view_shape image = packed_shape(format.type, 1, rows, cols, 1);
    histogram_shapes shapes{image, packed_histograms(image, bins.bins(), options.entries, options.form)};
    if (options.entries == dtype::f32) shapes.weights = packed_shape(dtype::f32, 1, rows, cols, 1);
    const problem p = make_histogram_problem(shapes, bins);
    if (!options.device)  // a device's worker asks on its device
        (void)choose(p, backend::cpu, options.histogram.algorithm, options.histogram.parameters);
}

std::unique_ptr<detail::frame_pipeline> make(const frame_format& format, const binning& bins, frame_work work,
                                             frame_source source, const pipeline_options& options) {
    if (options.buffers < 1 || options.buffers > most_buffers)
        throw invalid_argument("buffers: is " + std::to_string(options.buffers) + ", must be 1 to " +
                               std::to_string(most_buffers));
    check_threads(options.histogram.threads);
    check_store(options.histogram.store);
    if (!contains(histogram_entries{}, options.entries))
        throw unsupported("entries: type is " + std::string(name_of(options.entries)) + ", must be 32u, 16u or 32f");
    if (!source) throw invalid_argument("source: is empty");
    if (format.rows < 1 || format.cols < 1)
        throw invalid_argument("format: extents are " + std::to_string(format.rows) + " x " +
                               std::to_string(format.cols) + ", must be at least 1 x 1");
    checked_span_bytes("format", packed_shape(options.entries == dtype::f32 ? dtype::f32 : format.type, 1, format.rows,
                                              format.cols, 1));
    detail::frame_plan plan;
    std::optional<box> region;
    if (work.planner) {
        plan.planner = std::move(work.planner);
        check_computable(format, bins, 1, 1, options);
    } else {
        detail::check_request(work.request, format, bins);
        region = detail::region_of(work.request, format);
        check_computable(format, bins, region->rows, region->cols, options);
        plan.request = std::make_shared<const frame_request>(std::move(work.request));
    }
    const detail::frame_job job{format, bins, options.entries, options.form, options.histogram, region};
    auto worker =
        options.device ? detail::make_cuda_frame_worker(job, *options.device) : detail::make_cpu_frame_worker(job);
    return std::make_unique<detail::frame_pipeline>(format, bins, std::move(plan), std::move(source), options.buffers,
                                                    std::move(worker));
}

/// Copies one plane of a batch to the memory of a pipeline's frame or its weights.
void copy_plane(const char* name, const const_any_view& batch, std::int64_t plane, const any_view& frame) {
    const view_shape &from = batch.shape, &to = frame.shape;
    if (from.type != to.type || from.rows != to.rows || from.cols != to.cols || from.channels != to.channels)
        throw invalid_argument(std::string(name) + ": frames are " + std::to_string(from.rows) + " x " +
                               std::to_string(from.cols) + " x " + std::to_string(from.channels) + " of " +
                               std::string(name_of(from.type)) + ", but the pipeline takes " + std::to_string(to.rows) +
                               " x " + std::to_string(to.cols) + " x " + std::to_string(to.channels) + " of " +
                               std::string(name_of(to.type)));
    const_any_view one = batch;
    one.data = static_cast<const std::byte*>(batch.data) + plane * from.plane_stride;
    one.shape.planes = 1;
    copy_elements(one, frame);
}

}  // namespace

std::string_view name_of(pipeline_stage stage) noexcept {
    return stage_names[static_cast<std::size_t>(stage)];
}

frame_source frames_of(const histogram_inputs& batch) {
    check_read("batch", batch.image);
    const bool weighted = is_set(batch.weights);
    if (weighted) {
        check_read("weights", batch.weights);
        if (batch.weights.shape.planes != batch.image.shape.planes)
            throw invalid_argument("weights: planes is " + std::to_string(batch.weights.shape.planes) +
                                   ", but that of batch is " + std::to_string(batch.image.shape.planes));
    }
    return [batch, weighted, plane = std::int64_t{0}](const frame_memory& frame) mutable {
        if (weighted != (frame.weights.data != nullptr))
            throw invalid_argument(weighted ? "weights: the batch has them, but the pipeline's entries are counts"
                                            : "weights: the pipeline adds them up, but the batch has none");
        if (plane == batch.image.shape.planes) return false;
        copy_plane("batch", batch.image, plane, frame.image);
        if (weighted) copy_plane("weights", batch.weights, plane, frame.weights);
        ++plane;
        return true;
    };
}

histogram_pipeline::histogram_pipeline(const frame_format& format, const binning& bins, frame_work work,
                                       frame_source source, const pipeline_options& options)
    : impl_(make(format, bins, std::move(work), std::move(source), options)) {}

histogram_pipeline::histogram_pipeline(histogram_pipeline&&) noexcept = default;
histogram_pipeline& histogram_pipeline::operator=(histogram_pipeline&&) noexcept = default;
histogram_pipeline::~histogram_pipeline() = default;

const frame_result* histogram_pipeline::next() {
    if (impl_ == nullptr) throw invalid_argument("histogram_pipeline: was moved from");
    return impl_->next();
}

pipeline_report histogram_pipeline::report() const {
    if (impl_ == nullptr) throw invalid_argument("histogram_pipeline: was moved from");
    return impl_->report();
}

const char* pipeline_error::what() const noexcept {
    return std::runtime_error::what();
}

}  // namespace boxsum
