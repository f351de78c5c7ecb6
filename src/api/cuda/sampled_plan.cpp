#include "api/cuda/sampled_plan.hpp"

#include "api/cuda/cached_plan.hpp"
#include "api/sampled_sat.hpp"
#include "core/validate.hpp"
#include "core/view_checks.hpp"
#include "cuda/queries/kept_samples.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/planned_problem.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "filters/sampling.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>

namespace boxsum::cuda {
namespace {

constexpr std::size_t unit = 256;  // rows of images in a workspace start on it, and so do these

void check_memory(const char* argument, const const_any_view& view, bool written, int device) {
    if (view.data == nullptr) return;
    const byte_reach reach = checked_reach(argument, view.shape, written ? access::write : access::read);
    check_range({argument, view.data, static_cast<std::size_t>(reach.bytes()), written, reach.first},
                size_of(view.shape.type), device);
}

bool given(const const_any_view& view) {
    return view.data != nullptr;
}

}  // namespace

sampled_call::image_in_workspace sampled_call::reserve(dtype type) {
    const view_shape& s = inputs_.image.shape;
    const auto element = static_cast<std::int64_t>(size_of(type)), whole = static_cast<std::int64_t>(unit);
    const std::int64_t row_stride = (s.cols * s.channels * element + whole - 1) / whole * whole;
    image_in_workspace made{{nullptr, {type, s.planes, s.rows, s.cols, s.channels, row_stride, s.rows * row_stride}},
                            work_bytes_};
    const byte_reach reach = checked_reach("image", made.view.shape, access::write);
    work_bytes_ += (static_cast<std::size_t>(reach.bytes()) + unit - 1) / unit * unit;
    return made;
}

sampled_call::sampled_call(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options, int device)
    : inputs_(inputs), outputs_(outputs), device_(device) {
    check_threads(options.threads);
    check_sampled(inputs, outputs);
    for (const auto& [name, view] :
         {std::pair{"image", inputs.image}, {"mask", inputs.mask}, {"weights", inputs.weights}})
        check_memory(name, view, false, device);
    for (const auto& [name, table] :
         {std::pair{"sums", outputs.sums}, {"squares", outputs.squares}, {"counts", outputs.counts}})
        check_memory(name, table.entries, true, device);

    const view_shape& s = inputs.image.shape;
    const bool weighted = given(inputs.weights), squares = outputs.squares.entries.data != nullptr,
               counted = outputs.counts.entries.data != nullptr;
    const bool as_it_is = !weighted && !given(inputs.mask) && !inputs.nodata &&
                          (inputs.nan == nan_mode::propagate || !is_floating(s.type));
    const auto plan_of = [&](const const_any_view& image, const any_table_view& sums,
                             const any_table_view& of_squares) {
        return cached_plan({.image = image}, {.sums = sums, .squares = of_squares}, options, device);
    };
    // Plans are of shapes, so any address will do for what has none yet, as long as nothing else is there.
    static constexpr double nowhere = 0;
    const auto to_be = [](const std::optional<image_in_workspace>& image) {
        return const_any_view{&nowhere, image->view.shape};
    };
    if (!as_it_is) pixels_ = reserve(weighted ? dtype::f64 : s.type);
    if (weighted && squares) squares_ = reserve(dtype::f64);
    if (weighted && counted) weights_ = reserve(dtype::f64);
    if (!weighted && counted) counts_ = reserve(dtype::u8);
    sums_plan_ =
        plan_of(as_it_is ? inputs.image : to_be(pixels_), outputs.sums, weighted ? any_table_view{} : outputs.squares);
    if (squares_) squares_plan_ = plan_of(to_be(squares_), outputs.squares, {});
    if (counted) counts_plan_ = plan_of(to_be(weighted ? weights_ : counts_), outputs.counts, {});
}

std::size_t sampled_call::workspace_bytes() const noexcept {
    std::size_t most = 0;
    for (const auto* plan : {&sums_plan_, &squares_plan_, &counts_plan_})
        if (*plan) most = std::max(most, (*plan)->workspace_bytes());
    return (most + unit - 1) / unit * unit + work_bytes_;
}

void sampled_call::run_async(workspace& memory, stream_ref stream) {
    const workspace_use use(memory, workspace_bytes(), device_, stream);
    const device_scope scope(device_);
    // At the end, so that the tables' algorithm has all before it: it zeroes what it has where its tags begin again.
    const std::size_t before = (use.bytes() - work_bytes_) / unit * unit;
    auto* const work = static_cast<std::byte*>(use.data()) + before;
    for (auto* image : {&pixels_, &counts_, &squares_, &weights_})
        if (*image) (*image)->view.data = work + (*image)->at;
    const auto view_of = [](const std::optional<image_in_workspace>& image) {
        return image ? image->view : any_view{};
    };
    const bool weighted = given(inputs_.weights);
    kept_images kept{.counts = view_of(counts_), .squares = view_of(squares_), .weights = view_of(weights_)};
    (weighted ? kept.sums : kept.pixels) = view_of(pixels_);
    std::optional<double> nodata;
    if (inputs_.nodata) nodata = filters::as_pixel(*inputs_.nodata, inputs_.image.shape.type);
    if (work_bytes_ > 0) enqueue_kept(inputs_, nodata, kept, stream);

    const auto make = [&](const sat_plan& plan, const const_any_view& image, const any_table_view& sums,
                          const any_table_view& of_squares) {
        buffers of;
        of.image = image.data;
        of.table = sums.entries.data;
        of.squares = of_squares.entries.data;
        planned(plan).enqueue(of, use, before);
    };
    make(*sums_plan_, pixels_ ? const_any_view(pixels_->view) : inputs_.image, outputs_.sums,
         weighted ? any_table_view{} : outputs_.squares);
    if (squares_plan_) make(*squares_plan_, squares_->view, outputs_.squares, {});
    if (counts_plan_) make(*counts_plan_, (weighted ? *weights_ : *counts_).view, outputs_.counts, {});
    // Other plans tag words there and take any that are not zero for such.
    if (work_bytes_ > 0) BOXSUM_CUDA_TRY(cudaMemsetAsync(work, 0, use.bytes() - before, stream.get()));
}

}  // namespace boxsum::cuda
