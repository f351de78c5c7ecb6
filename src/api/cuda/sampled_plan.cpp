#include "api/cuda/sampled_plan.hpp"

#include "core/view_checks.hpp"
#include "cuda/queries/kept_samples.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "filters/sampling.hpp"

#include <algorithm>
#include <cstdint>

namespace boxsum::cuda {
namespace {

constexpr std::size_t unit = 256;  // rows of images in a workspace start on it, and so do these

std::size_t whole_units(std::size_t bytes) {
    return (bytes + unit - 1) / unit * unit;
}

}  // namespace

sampled_plan::image_in_workspace sampled_plan::reserve(dtype type, const view_shape& like) {
    const std::int64_t row_bytes = like.cols * like.channels * static_cast<std::int64_t>(size_of(type)),
                       row_stride = static_cast<std::int64_t>(whole_units(static_cast<std::size_t>(row_bytes)));
    const image_in_workspace made{
        {type, like.planes, like.rows, like.cols, like.channels, row_stride, like.rows * row_stride}, image_bytes_};
    const byte_reach reach = checked_reach("image", made.shape, access::write);
    image_bytes_ += whole_units(static_cast<std::size_t>(reach.bytes()));
    return made;
}

sampled_plan::sampled_plan(const sat_shapes& shapes, const sat_options& options) {
    const view_shape& s = shapes.image;
    const bool weighted = shapes.weights.has_value();
    const bool as_it_is =
        !weighted && !shapes.mask && !shapes.nodata && (shapes.nan == nan_mode::propagate || !is_floating(s.type));
    nan_ = shapes.nan;
    if (shapes.nodata) nodata_ = filters::as_pixel(*shapes.nodata, s.type);
    if (!as_it_is) pixels_ = reserve(weighted ? dtype::f64 : s.type, s);
    if (weighted && shapes.squares) squares_ = reserve(dtype::f64, s);
    if (weighted && shapes.counts) weights_ = reserve(dtype::f64, s);
    if (!weighted && shapes.counts) counts_ = reserve(dtype::u8, s);

    sums_ = {.image = as_it_is ? s : pixels_->shape, .sums = shapes.sums, .form = shapes.form};
    if (!weighted) sums_.squares = shapes.squares;
    sums_.in_place = as_it_is && shapes.in_place;
    const auto plan_of = [&](const image_in_workspace& image, const view_shape& table) {
        return sat_plan({.image = image.shape, .sums = table, .form = shapes.form}, options);
    };
    if (squares_) squares_plan_ = plan_of(*squares_, *shapes.squares);
    if (shapes.counts) counts_plan_ = plan_of(weighted ? *weights_ : *counts_, *shapes.counts);
}

std::size_t sampled_plan::table_bytes(const planned_problem& sums) const noexcept {
    std::size_t most = sums.workspace_bytes();
    for (const auto* plan : {&squares_plan_, &counts_plan_})
        if (*plan) most = std::max(most, (*plan)->workspace_bytes());
    return whole_units(most);
}

std::size_t sampled_plan::workspace_bytes(const planned_problem& sums) const noexcept {
    return table_bytes(sums) + image_bytes_;
}

std::size_t sampled_plan::packed_bytes(const planned_problem& sums) const noexcept {
    std::size_t most = sums.packed_bytes();
    for (const auto* plan : {&squares_plan_, &counts_plan_})
        if (*plan) most = std::max(most, (*plan)->packed_bytes());
    return most;
}

void sampled_plan::run_async(const planned_problem& sums, const sat_inputs& inputs, const sat_outputs& outputs,
                             workspace& memory, stream_ref stream) const {
    const workspace_end space(memory, workspace_bytes(sums), image_bytes_, sums.device(), stream);
    space.use().want_clean(table_bytes(sums));
    const device_scope scope(sums.device());
    const auto view_of = [&](const std::optional<image_in_workspace>& image) {
        return image ? any_view{space.data() + image->at, image->shape} : any_view{};
    };
    kept_images kept{.counts = view_of(counts_), .squares = view_of(squares_), .weights = view_of(weights_)};
    (inputs.weights.data != nullptr ? kept.sums : kept.pixels) = view_of(pixels_);
    if (image_bytes_ > 0) {
        sat_inputs from = inputs;
        from.nan = nan_;  // a run may say by nodata what its plan does by nan
        enqueue_kept(from, nodata_, kept, stream);
    }

    const auto make = [&](const planned_problem& table, const void* image, void* entries, void* of_squares) {
        buffers of;
        of.image = image;
        of.table = entries;
        of.squares = of_squares;
        table.enqueue(of, space.use(), space.bytes_before());
    };
    make(sums, pixels_ ? view_of(pixels_).data : inputs.image.data, outputs.sums.entries.data,
         sums_.squares ? outputs.squares.entries.data : nullptr);
    if (squares_plan_) make(planned(*squares_plan_), kept.squares.data, outputs.squares.entries.data, nullptr);
    if (counts_plan_)
        make(planned(*counts_plan_), weights_ ? kept.weights.data : kept.counts.data, outputs.counts.entries.data,
             nullptr);
    space.leave();
}

}  // namespace boxsum::cuda
