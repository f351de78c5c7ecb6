#include "cuda/filters/sampled_tables.hpp"

#include "cuda/queries/kept_samples.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/planned_problem.hpp"

#include <boxsum/cuda/memory.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>

namespace boxsum::cuda {
namespace {

using filters::window_job;

sat_plan plan_of(const view_shape& image, const view_shape& table) {
    return sat_plan(sat_shapes{.image = image, .sums = table, .form = {table_layout::padded}});
}

view_shape table_of(const view_shape& image, dtype type) {
    return device_shape(type, image.rows + 1, image.cols + 1, image.channels, image.planes);
}

}  // namespace

dtype count_type(const window_job& job) {
    return job.largest_window <= std::numeric_limits<std::uint32_t>::max() ? dtype::u32 : dtype::u64;
}

std::size_t sampled_tables::reserve(const view_shape& shape) {
    const std::size_t at = bytes_;
    bytes_ += (span_bytes(shape) + 255) / 256 * 256;
    return at;
}

sampled_tables::sampled_tables(const window_job& job, const view_shape& pixels, std::int64_t offset)
    : nan_(job.nan),
      nodata_(job.nodata),
      weighted_(job.weighted),
      summed_(device_shape(job.weighted ? dtype::f64 : pixels.type, pixels.rows, pixels.cols, pixels.channels)),
      flags_(device_shape(dtype::u8, pixels.rows, pixels.cols, pixels.channels, is_floating(pixels.type) ? 3 : 1)),
      counts_(table_of(flags_, count_type(job))),
      counts_plan_(plan_of(flags_, counts_)) {
    if (nodata_) *nodata_ += static_cast<double>(offset);
    (void)reserve(summed_);
    flags_at_ = reserve(flags_);
    counts_at_ = reserve(counts_);
    if (flags_.planes > 1) {
        any_infinite_at_ = bytes_;
        bytes_ += 256;
    }
    if (!weighted_) return;
    weighed_ = summed_;
    weights_ = table_of(weighed_, dtype::f64);
    weighed_at_ = reserve(weighed_);
    weights_at_ = reserve(weights_);
    weights_plan_.emplace(plan_of(weighed_, weights_));
}

std::size_t sampled_tables::workspace_bytes() const noexcept {
    return std::max(counts_plan_.workspace_bytes(), weights_plan_ ? weights_plan_->workspace_bytes() : 0);
}

const_any_view sampled_tables::enqueue(const sampled_pixels& pixels, void* space, const workspace_use& workspace,
                                       std::size_t workspace_bytes, stream_ref stream, sample_tables& to) const {
    auto* const memory = static_cast<std::byte*>(space);
    const any_view summed{memory, summed_}, weighed{memory + weighed_at_, weighed_};
    const auto flags = [&](std::int64_t plane) {
        any_view one{memory + flags_at_ + plane * flags_.plane_stride, flags_};
        one.shape.planes = 1;
        return one;
    };
    kept_images kept{.counts = flags(0)};
    (weighted_ ? kept.sums : kept.pixels) = summed;
    if (weighted_) kept.weights = weighed;
    if (flags_.planes > 1) {
        kept.positive = flags(1);
        kept.negative = flags(2);
        kept.any_infinite = reinterpret_cast<std::uint32_t*>(memory + any_infinite_at_);
        BOXSUM_CUDA_TRY(cudaMemsetAsync(kept.any_infinite, 0, sizeof *kept.any_infinite, stream.get()));
    }
    const sat_inputs inputs{.image = pixels.image, .mask = pixels.mask, .weights = pixels.weights, .nan = nan_};
    enqueue_kept(inputs, nodata_, kept, stream);
    const auto make = [&](const sat_plan& plan, const void* image, void* table) {
        buffers of;
        of.image = image;
        of.table = table;
        planned(plan).enqueue(of, workspace, workspace_bytes);
    };
    make(counts_plan_, memory + flags_at_, memory + counts_at_);
    to = {.counts = {memory + counts_at_, counts_}, .weights = {}, .any_infinite = kept.any_infinite};
    if (weighted_) {
        make(*weights_plan_, weighed.data, memory + weights_at_);
        to.weights = {memory + weights_at_, weights_};
    }
    return summed;
}

}  // namespace boxsum::cuda
