#include "cuda/filters/filter_calls.hpp"
#include "cuda/filters/non_local_kernels.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/non_local_means.hpp>
#include <boxsum/error.hpp>

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

template <typename View>
View plane_of(const View& view, std::int64_t plane) {
    using byte = std::conditional_t<std::is_same_v<View, const_any_view>, const std::byte, std::byte>;
    View one = view;
    one.data = static_cast<byte*>(view.data) + (view.shape.planes > 1 ? plane * view.shape.plane_stride : 0);
    one.shape.planes = 1;
    one.shape.col_stride = view.shape.pixel_stride();
    return one;
}

}  // namespace

struct non_local_means_plan::state {
    planned_view image;
    filters::non_local_job job;
    planned_view result;
    int device;
    non_local_task task;
    parts_of_plane parts;

    state(const non_local_inputs& inputs, const filter_outputs& outputs, const non_local_rule& rule,
          const filter_options& options)
        : image("image", inputs.image.shape, access::read),
          job(filters::make_non_local_job(image.shape, outputs.result.shape, outputs.count.shape.rows != 0, rule,
                                          options)),
          result("result", outputs.result.shape, access::write),
          device(current_device()),
          task(make_non_local_task(job, image.shape)),
          parts(task, most_shared_bytes()) {}

    void enqueue(const const_any_view& from, const any_view& to, void* held, stream_ref stream) const {
        for (std::int64_t plane = 0; plane < image.shape.planes; ++plane) {
            non_local_task one = task;
            one.pixels = held;
            one.result = plane_of(to, plane);
            enqueue_held_pixels(one, plane_of(from, plane), job, stream);
            one.area = parts.fast;
            enqueue_byte_patches(one, stream);
            enqueue_non_local_means(one, parts.others, stream);
        }
    }
};

non_local_means_plan::non_local_means_plan(const non_local_inputs& inputs, const filter_outputs& outputs,
                                           const non_local_rule& rule, const filter_options& options)
    : state_([&] {
          filters::refuse_samples(inputs.mask, inputs.weights, filters::non_local_on_devices);
          return std::make_shared<const state>(inputs, outputs, rule, options);
      }()) {}

std::size_t non_local_means_plan::workspace_bytes() const noexcept {
    return (held_bytes(state_->task) + 255) / 256 * 256;
}

int non_local_means_plan::device() const noexcept {
    return state_->device;
}

void non_local_means_plan::run_async(const non_local_inputs& inputs, const filter_outputs& outputs,
                                     workspace& workspace, stream_ref stream) const {
    const state& s = *state_;
    if (outputs.count.data != nullptr) throw unsupported("count: non-local means on devices count none");
    filters::refuse_samples(inputs.mask, inputs.weights, filters::non_local_on_devices);
    call_memory arguments(s.device);
    arguments.add(s.image, inputs.image);
    arguments.add(s.result, outputs.result);
    if (arguments.meet()) filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    const std::size_t bytes = workspace_bytes();
    const workspace_end held(workspace, bytes, bytes, s.device, stream);
    const device_scope scope(s.device);
    s.enqueue(inputs.image, outputs.result, held.data(), stream);
    held.clear(stream);
}

// ---- without a plan -------------------------------------------------------------------------------------------------

void non_local_means_async(const non_local_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                           stream_ref stream, const non_local_rule& rule, const filter_options& options) {
    enqueue_unplanned<non_local_means_plan>(inputs, outputs, workspace, stream, rule, options);
}

void non_local_means(const non_local_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                     const non_local_rule& rule, const filter_options& options) {
    (void)current_device();  // without one that is the first thing to say
    filters::refuse_samples(inputs.mask, inputs.weights, filters::non_local_on_devices);
    (void)filters::make_non_local_job(inputs, outputs, rule, options);
    const device_scope scope(device_of(stream));
    views_on_device views(inputs.image.data, stream);
    const non_local_inputs in{views.input("image", inputs.image)};
    const filter_outputs to{views.output("result", outputs.result)};
    workspace memory;
    views.run([&] { non_local_means_async(in, to, memory, stream, rule, options); });
}

}  // namespace boxsum::cuda
