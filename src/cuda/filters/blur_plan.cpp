#include "core/view_checks.hpp"
#include "cuda/filters/blur_kernels.hpp"
#include "cuda/filters/device_strips.hpp"
#include "cuda/filters/filter_calls.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "filters/blur_job.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/cuda/variable_blur.hpp>
#include <boxsum/error.hpp>

#include <string>

namespace boxsum::cuda {
namespace {

std::int64_t largest_of(const variable_inputs& inputs) {
    if (inputs.largest_radius && *inputs.largest_radius < 0)
        throw invalid_argument("largest_radius: is " + std::to_string(*inputs.largest_radius) +
                               ", must not be negative");
    if (!inputs.largest_radius && inputs.radius.shape.type != dtype::u8)
        throw invalid_argument("largest_radius: is not given, and the host does not see what a map of " +
                               std::string(name_of(inputs.radius.shape.type)) + " on a device holds");
    return inputs.largest_radius.value_or(255);
}

}  // namespace

struct variable_blur_plan::state {
    planned_view image, radius, result;
    variable_blur_options options;
    std::int64_t largest;
    order_table<std::uint64_t> table;  ///< without memory
    std::size_t bytes;
    int device;

    state(const variable_inputs& inputs, const filter_outputs& outputs, const variable_blur_options& how)
        : options(how), largest(largest_of(inputs)), device(current_device()) {
        filters::check_blur(inputs, outputs, how);
        filters::require_exact_blur(inputs.image.shape.type, how.order, largest);
        const view_shape& s = inputs.image.shape;
        image = planned_view("image", s, access::read);
        radius = planned_view("radius", inputs.radius.shape, access::read);
        result = planned_view("result", outputs.result.shape, access::write);
        const std::int64_t reach = how.order * largest;
        table = {nullptr, s.rows + reach, s.cols + reach, s.channels, how.order};
        bytes = static_cast<std::size_t>(
            checked_span_bytes("image", packed_shape(dtype::u64, 1, table.rows, table.cols, table.channels)));
        bytes = (bytes + 255) / 256 * 256;
    }
};

variable_blur_plan::variable_blur_plan(const variable_inputs& inputs, const filter_outputs& outputs,
                                       const variable_blur_options& options)
    : state_(std::make_shared<const state>(inputs, outputs, options)) {}

std::size_t variable_blur_plan::workspace_bytes() const noexcept {
    return state_->bytes;
}

int variable_blur_plan::device() const noexcept {
    return state_->device;
}

void variable_blur_plan::run_async(const variable_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                                   stream_ref stream) const {
    const state& s = *state_;
    if (outputs.count.data != nullptr) throw unsupported("count: a blur of weighted pixels counts none");
    filters::refuse_samples(inputs.mask, inputs.weights, "a blur of weighted pixels");
    if (const std::int64_t largest = largest_of(inputs); largest != s.largest)
        throw invalid_argument("largest_radius: is " + std::to_string(largest) + ", but the plan was made for " +
                               std::to_string(s.largest));
    call_memory arguments(s.device);
    arguments.add(s.image, inputs.image);
    arguments.add(s.radius, inputs.radius);
    arguments.add(s.result, outputs.result);
    if (arguments.meet()) filters::check_blur_memory(inputs, outputs);
    const workspace_end held(workspace, s.bytes, s.bytes, s.device, stream);
    const device_scope scope(s.device);
    order_table<std::uint64_t> table = s.table;
    table.entries = reinterpret_cast<std::uint64_t*>(held.data());
    for (std::int64_t plane = 0; plane < s.image.shape.planes; ++plane) {
        enqueue_order_table(inputs.image, plane, table, stream);
        enqueue_blur(inputs, outputs.result, plane, table, s.largest, s.options.rounding, stream);
    }
    held.leave();
}

void variable_blur_async(const variable_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                         stream_ref stream, const variable_blur_options& options) {
    enqueue_unplanned<variable_blur_plan>(inputs, outputs, workspace, stream, options);
}

void variable_blur(const variable_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                   const variable_blur_options& options) {
    (void)current_device();  // without one that is the first thing to say
    filters::check_blur(inputs, outputs, options);
    filters::check_blur_memory(inputs, outputs);
    const device_scope scope(device_of(stream));
    views_on_device views(inputs.image.data, stream);
    variable_inputs in = inputs;
    in.image = views.input("image", inputs.image);
    in.radius = views.input("radius", inputs.radius);
    const filter_outputs to{views.output("result", outputs.result)};
    in.largest_radius = check_radii(inputs.radius, inputs.largest_radius, stream);
    workspace memory;
    views.run([&] { variable_blur_async(in, to, memory, stream, options); });
}

void circles_of_confusion_async(const const_any_view& depth, const any_view& radii, stream_ref stream,
                                const thin_lens& lens) {
    const device_scope scope(device_of(stream));
    filters::check_lens(depth, radii, lens);
    check_device_pointer("depth", depth.data, current_device());
    check_device_pointer("radii", radii.data, current_device());
    enqueue_circles(depth, radii, lens, stream);
}

void circles_of_confusion(const const_any_view& depth, const any_view& radii, stream_ref stream,
                          const thin_lens& lens) {
    circles_of_confusion_async(depth, radii, stream, lens);
    stream.synchronize();
}

}  // namespace boxsum::cuda
