#include "cuda/filters/filter_calls.hpp"
#include "cuda/filters/non_local_kernels.hpp"
#include "cuda/filters/planned_filter.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/non_local_means.hpp>
#include <boxsum/error.hpp>

#include <optional>
#include <string>
#include <vector>

namespace boxsum::cuda {
namespace {

/// What kernels for bytes take, and what remains.
struct parts_of_plane {
    pixel_area fast;
    std::vector<pixel_area> others;

    parts_of_plane(const non_local_task& task, std::size_t shared_bytes) {
        const pixel_area all{0, task.rows, 0, task.cols};
        if (!byte_patches_support(task, shared_bytes)) {
            others.push_back(all);
            return;
        }
        fast = all;
        if (!task.shrinks) return;
        // Whose windows and patches end before the image does.
        fast = {task.search.above + task.patch.above, task.rows - task.search.below - task.patch.below,
                task.search.left + task.patch.left, task.cols - task.search.right - task.patch.right};
        if (fast.empty()) {
            fast = {};
            others.push_back(all);
            return;
        }
        others = {{0, fast.first_row, 0, task.cols},
                  {fast.end_row, task.rows, 0, task.cols},
                  {fast.first_row, fast.end_row, 0, fast.first_col},
                  {fast.first_row, fast.end_row, fast.end_col, task.cols}};
    }
};

/// A plane, of what has one for all the only one; nothing of what is not given.
template <typename View>
View plane_of(const View& view, std::int64_t plane) {
    if (view.data == nullptr) return {};
    View one = rows_of(view, view.shape.planes > 1 ? plane : 0, 0, view.shape.rows);
    one.shape.col_stride = view.shape.pixel_stride();
    return one;
}

filters::result_shapes shapes_of(const filter_outputs& outputs) {
    return {outputs.result.shape, outputs.count.shape.rows != 0 ? std::optional(outputs.count.shape) : std::nullopt};
}

}  // namespace

struct non_local_means_plan::state {
    planned_view image, mask, weights, result, count;
    filters::non_local_call call;
    int device;
    non_local_task task;
    parts_of_plane parts;
    sampled_patches patches;  ///< where pixels may not count

    state(const filters::part& given, const filters::result_shapes& results, const non_local_rule& rule,
          const filter_options& options)
        : image("image", given.image, access::read),
          mask("mask", given.mask, access::read),
          weights("weights", given.weights, access::read),
          result("result", results.result, access::write),
          count("count", results.count, access::write),
          call(filters::non_local_call_of(given, results, rule, options)),
          device(current_device()),
          task(make_non_local_task(call.job, image.shape)),
          parts(task, most_shared_bytes()),
          patches(make_sampled_patches(call, image.shape, most_shared_bytes())) {}

    std::size_t bytes() const { return ((call.sampled ? sampled_bytes(patches) : held_bytes(task)) + 255) / 256 * 256; }

    void enqueue(const non_local_inputs& inputs, const filter_outputs& outputs, void* held, stream_ref stream) const {
        for (std::int64_t plane = 0; plane < image.shape.planes; ++plane) {
            const non_local_inputs from{plane_of(inputs.image, plane), plane_of(inputs.mask, plane),
                                        plane_of(inputs.weights, plane)};
            const filter_outputs to{plane_of(outputs.result, plane), plane_of(outputs.count, plane)};
            if (call.sampled) {
                enqueue_sampled_patches(patches, call, from, to, held, stream);
                continue;
            }
            non_local_task one = task;
            one.pixels = held;
            one.result = to.result;
            enqueue_held_pixels(one, from.image, call.job, stream);
            one.area = parts.fast;
            enqueue_byte_patches(one, stream);
            enqueue_non_local_means(one, parts.others, stream);
        }
    }
};

non_local_means_plan::non_local_means_plan(const non_local_inputs& inputs, const filter_outputs& outputs,
                                           const non_local_rule& rule, const filter_options& options)
    : state_(std::make_shared<const state>(filters::part_of(inputs), shapes_of(outputs), rule, options)) {}

std::size_t non_local_means_plan::workspace_bytes() const noexcept {
    return state_->bytes();
}

int non_local_means_plan::device() const noexcept {
    return state_->device;
}

void non_local_means_plan::run_async(const non_local_inputs& inputs, const filter_outputs& outputs,
                                     workspace& workspace, stream_ref stream) const {
    const state& s = *state_;
    call_memory arguments(s.device);
    arguments.add(s.image, inputs.image);
    arguments.add_optional("mask", s.mask, inputs.mask);
    arguments.add_optional("weights", s.weights, inputs.weights);
    arguments.add(s.result, outputs.result);
    arguments.add_optional("count", s.count, outputs.count);
    if (arguments.meet()) filters::check_memory(inputs, outputs);
    const std::size_t bytes = workspace_bytes();
    const workspace_end held(workspace, bytes, bytes, s.device, stream);
    const device_scope scope(s.device);
    s.enqueue(inputs, outputs, held.data(), stream);
    held.leave();
}

// ---- without a plan -------------------------------------------------------------------------------------------------

void non_local_means_async(const non_local_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                           stream_ref stream, const non_local_rule& rule, const filter_options& options) {
    enqueue_unplanned<non_local_means_plan>(inputs, outputs, workspace, stream, rule, options);
}

void non_local_means(const non_local_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                     const non_local_rule& rule, const filter_options& options) {
    (void)current_device();  // without one that is the first thing to say
    (void)filters::make_non_local_call(inputs, outputs, rule, options);
    const device_scope scope(device_of(stream));
    views_on_device views(inputs.image.data, stream);
    const auto input = [&](const char* name, const const_any_view& view) {
        return view.shape.rows == 0 ? const_any_view{} : views.input(name, view);
    };
    const non_local_inputs in{views.input("image", inputs.image), input("mask", inputs.mask),
                              input("weights", inputs.weights)};
    filter_outputs to{views.output("result", outputs.result)};
    if (outputs.count.data != nullptr) to.count = views.output("count", outputs.count);
    workspace memory;
    views.run([&] { non_local_means_async(in, to, memory, stream, rule, options); });
}

}  // namespace boxsum::cuda
