#include "core/view_checks.hpp"
#include "cuda/filters/filter_calls.hpp"
#include "cuda/filters/hessian_kernels.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "filters/blob_job.hpp"

#include <boxsum/cuda/blobs.hpp>
#include <boxsum/error.hpp>

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

namespace boxsum::cuda {
namespace {

std::size_t up(std::int64_t bytes) {
    return static_cast<std::size_t>((bytes + 255) / 256 * 256);
}

/// 8 bytes for each pixel of a plane.
std::size_t plane_bytes(const view_shape& image) {
    return up(checked_span_bytes("image", packed_shape(dtype::f64, 1, image.rows, image.cols, 1)));
}

/// Makes the table of a plane in `space`, and calls f(table).
template <typename F>
void with_table(const const_any_view& image, std::int64_t plane, std::byte* space, stream_ref stream, F&& f) {
    const auto made = [&]<typename Entry>(Entry* entries) {
        const order_table<Entry> table{entries, image.shape.rows, image.shape.cols, 1, 1};
        enqueue_order_table(image, plane, table, stream);
        f(table);
    };
    if (is_floating(image.shape.type))
        made(reinterpret_cast<double*>(space));
    else
        made(reinterpret_cast<std::uint64_t*>(space));
}

void check_hessian_memory(const blob_inputs& inputs, const hessian_outputs& outputs) {
    check_read("image", inputs.image);
    check_written("determinant", outputs.determinant);
    if (overlap(outputs.determinant, inputs.image)) throw invalid_argument("determinant: overlaps image");
}

}  // namespace

struct box_hessian_plan::state {
    planned_view image, determinant;
    hessian_scale scale;
    std::size_t bytes;
    int device;

    state(const blob_inputs& inputs, const hessian_outputs& outputs, const hessian_options& options)
        : scale(options.sigma, inputs.image.shape.type), device(current_device()) {
        filters::check_hessian(inputs.image.shape, outputs.determinant.shape, options);
        image = planned_view("image", inputs.image.shape, access::read);
        determinant = planned_view("determinant", outputs.determinant.shape, access::write);
        bytes = plane_bytes(image.shape);
    }
};

box_hessian_plan::box_hessian_plan(const blob_inputs& inputs, const hessian_outputs& outputs,
                                   const hessian_options& options)
    : state_(std::make_shared<const state>(inputs, outputs, options)) {}

std::size_t box_hessian_plan::workspace_bytes() const noexcept {
    return state_->bytes;
}

int box_hessian_plan::device() const noexcept {
    return state_->device;
}

void box_hessian_plan::run_async(const blob_inputs& inputs, const hessian_outputs& outputs, workspace& workspace,
                                 stream_ref stream) const {
    const state& s = *state_;
    call_memory arguments(s.device);
    arguments.add(s.image, inputs.image);
    arguments.add(s.determinant, outputs.determinant);
    if (arguments.meet()) check_hessian_memory(inputs, outputs);
    const workspace_end held(workspace, s.bytes, s.bytes, s.device, stream);
    const device_scope scope(s.device);
    for (std::int64_t plane = 0; plane < s.image.shape.planes; ++plane)
        with_table(inputs.image, plane, held.data(), stream,
                   [&](const auto& table) { enqueue_hessian(table, s.scale, outputs.determinant, plane, stream); });
    held.leave();
}

void box_hessian_async(const blob_inputs& inputs, const hessian_outputs& outputs, workspace& workspace,
                       stream_ref stream, const hessian_options& options) {
    enqueue_unplanned<box_hessian_plan>(inputs, outputs, workspace, stream, options);
}

void box_hessian(const blob_inputs& inputs, const hessian_outputs& outputs, stream_ref stream,
                 const hessian_options& options) {
    (void)current_device();  // without one that is the first thing to say
    filters::check_hessian(inputs.image.shape, outputs.determinant.shape, options);
    check_hessian_memory(inputs, outputs);
    const device_scope scope(device_of(stream));
    views_on_device views(inputs.image.data, stream);
    const blob_inputs in{views.input("image", inputs.image)};
    const hessian_outputs to{views.output("determinant", outputs.determinant)};
    workspace memory;
    views.run([&] { box_hessian_async(in, to, memory, stream, options); });
}

std::vector<blob> find_blobs(const blob_inputs& inputs, workspace& workspace, stream_ref stream,
                             const blob_options& options) {
    (void)current_device();
    filters::check_blobs(inputs.image.shape, options);
    check_read("image", inputs.image);
    if (workspace.device() < 0) workspace.reserve(0, stream);
    const device_scope scope(workspace.device());
    views_on_device views(inputs.image.data, stream);
    const const_any_view image = views.input("image", inputs.image);
    const view_shape& s = image.shape;
    const std::size_t plane = plane_bytes(s);
    const auto scales = static_cast<std::int64_t>(options.sigmas.size());
    const double threshold = filters::blob_threshold(options);
    // As many places as there are; as many again as are wanted, where that were too few.
    std::int64_t places = std::max<std::int64_t>(s.rows * s.cols / 16, 1024);
    filters::blob_maxima all;
    std::vector<hessian_maximum> list;
    for (bool again = true; again;) {
        const std::size_t list_bytes = up(places * static_cast<std::int64_t>(sizeof(hessian_maximum))),
                          bytes = 4 * plane + list_bytes + 256;
        workspace.reserve(bytes, stream);
        const workspace_end held(workspace, bytes, bytes, workspace.device(), stream);
        std::byte* const space = held.data();
        auto* const found = reinterpret_cast<hessian_maximum*>(space + 4 * plane);
        auto* const findings = reinterpret_cast<hessian_findings*>(space + 4 * plane + list_bytes);
        // Three scales in turn: that of the maxima, and those beside it.
        const auto determinants = [&](std::int64_t scale) {
            return reinterpret_cast<double*>(space + static_cast<std::size_t>(1 + scale % 3) * plane);
        };
        hessian_findings counted{};
        views.run([&] {
            enqueue_clear_findings(findings, stream);
            with_table(image, 0, space, stream, [&](const auto& table) {
                const view_shape packed = packed_shape(dtype::f64, 1, s.rows, s.cols, 1);
                for (std::int64_t i = 0; i <= scales; ++i) {
                    if (i < scales)
                        enqueue_hessian(table, {options.sigmas[static_cast<std::size_t>(i)], s.type},
                                        {determinants(i), packed}, 0, stream);
                    if (i == 0) continue;
                    enqueue_maxima({i > 1 ? determinants(i - 2) : nullptr, determinants(i - 1),
                                    i < scales ? determinants(i) : nullptr, s.rows, s.cols, i - 1},
                                   threshold, findings, found, places, stream);
                }
            });
            BOXSUM_CUDA_TRY(cudaMemcpyAsync(&counted, findings, sizeof counted, cudaMemcpyDeviceToHost, stream.get()));
        });
        const auto count = static_cast<std::int64_t>(counted.count);
        again = count > places;
        places = std::max(places, count);
        all.least = hessian_extreme(counted.least);
        all.most = hessian_extreme(counted.most);
        if (!again && count > 0) {
            list.resize(static_cast<std::size_t>(count));
            BOXSUM_CUDA_TRY(cudaMemcpyAsync(list.data(), found, list.size() * sizeof(hessian_maximum),
                                            cudaMemcpyDeviceToHost, stream.get()));
            stream.synchronize();
        }
        held.leave();
    }
    all.found.reserve(list.size());
    for (const hessian_maximum& m : list) {
        const auto scale = static_cast<std::size_t>(m.scale);
        all.found.push_back({{m.row, m.col, options.sigmas[scale], m.determinant}, scale});
    }
    return filters::blobs_of(std::move(all), options);
}

std::vector<blob> find_blobs(const blob_inputs& inputs, stream_ref stream, const blob_options& options) {
    (void)current_device();
    const device_scope scope(device_of(stream));
    workspace memory(0, stream);
    return find_blobs(inputs, memory, stream, options);
}

}  // namespace boxsum::cuda
