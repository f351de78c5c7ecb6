#include "core/view_checks.hpp"
#include "cuda/filters/non_local_kernels.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "cuda/runtime/workspace_use.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/memory.hpp>
#include <boxsum/cuda/non_local_means.hpp>
#include <boxsum/error.hpp>

#include <cuda_runtime_api.h>

#include <array>
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

template <typename View>
View plane_of(const View& view, std::int64_t plane) {
    using byte = std::conditional_t<std::is_same_v<View, const_any_view>, const std::byte, std::byte>;
    View one = view;
    one.data = static_cast<byte*>(view.data) + (view.shape.planes > 1 ? plane * view.shape.plane_stride : 0);
    one.shape.planes = 1;
    one.shape.col_stride = view.shape.pixel_stride();
    return one;
}

filters::non_local_job job_of(const view_shape& image, const filter_outputs& outputs, const non_local_rule& rule,
                              const filter_options& options) {
    checked_reach("image", image, access::read);
    const filters::non_local_job job =
        filters::make_non_local_job(image, outputs.result.shape, outputs.count.shape.rows != 0, rule, options);
    checked_reach("result", outputs.result.shape, access::write);
    return job;
}

}  // namespace

struct non_local_means_plan::state {
    view_shape image, result;
    filters::non_local_job job;
    byte_reach image_reach, result_reach;
    int device;
    non_local_task task;
    parts_of_plane parts;

    state(const non_local_inputs& inputs, const filter_outputs& outputs, const non_local_rule& rule,
          const filter_options& options)
        : image(inputs.image.shape),
          result(outputs.result.shape),
          job(job_of(image, outputs, rule, options)),
          image_reach(checked_reach("image", image, access::read)),
          result_reach(checked_reach("result", result, access::write)),
          device(current_device()),
          task(make_non_local_task(job, image)),
          parts(task, most_shared_bytes()) {}

    void enqueue(const const_any_view& from, const any_view& to, void* held, stream_ref stream) const {
        for (std::int64_t plane = 0; plane < image.planes; ++plane) {
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
    : state_(std::make_shared<const state>(inputs, outputs, rule, options)) {}

std::size_t non_local_means_plan::workspace_bytes() const noexcept {
    return (held_bytes(state_->task) + 255) / 256 * 256;
}

int non_local_means_plan::device() const noexcept {
    return state_->device;
}

void non_local_means_plan::run_async(const non_local_inputs& inputs, const filter_outputs& outputs,
                                     workspace& workspace, stream_ref stream) const {
    const state& s = *state_;
    require_shape("image", inputs.image.shape, s.image);
    require_shape("result", outputs.result.shape, s.result);
    if (outputs.count.data != nullptr) throw unsupported("count: non-local means count none");
    const auto range = [](const char* name, const void* data, const byte_reach& reach, bool written) {
        return memory_range{name, data, static_cast<std::size_t>(reach.bytes()), written, reach.first};
    };
    const std::array ranges{range("image", inputs.image.data, s.image_reach, false),
                            range("result", outputs.result.data, s.result_reach, true)};
    check_range(ranges[0], size_of(s.image.type), s.device);
    check_range(ranges[1], size_of(s.result.type), s.device);
    if (any_meet(ranges)) filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    const std::size_t bytes = workspace_bytes();
    const workspace_use use(workspace, bytes, s.device, stream);
    const device_scope scope(s.device);
    // At its end, zero again behind the work: so plans of tables want to find it.
    const std::size_t before = (use.bytes() - bytes) / 256 * 256;
    auto* const held = static_cast<std::byte*>(use.data()) + before;
    s.enqueue(inputs.image, outputs.result, held, stream);
    BOXSUM_CUDA_TRY(cudaMemsetAsync(held, 0, use.bytes() - before, stream.get()));
}

// ---- without a plan -------------------------------------------------------------------------------------------------

void non_local_means_async(const non_local_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                           stream_ref stream, const non_local_rule& rule, const filter_options& options) {
    if (workspace.device() < 0) workspace.reserve(0, stream);
    const device_scope scope(workspace.device());
    const non_local_means_plan plan(inputs, outputs, rule, options);
    workspace.reserve(plan.workspace_bytes(), stream);
    plan.run_async(inputs, outputs, workspace, stream);
}

void non_local_means(const non_local_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                     const non_local_rule& rule, const filter_options& options) {
    (void)current_device();  // without one that is the first thing to say
    (void)filters::make_non_local_job(inputs, outputs, rule, options);
    const int device = device_of(stream);
    const device_scope scope(device);
    workspace memory;
    const bool host = is_host_memory(inputs.image.data);
    if (is_host_memory(outputs.result.data) != host)
        throw invalid_argument(host ? "result: is device memory, but the image is host memory"
                                    : "result: is host memory, but the image is device memory");
    const filter_outputs to{outputs.result};
    if (host) {
        const auto on_device = [](const view_shape& s) {
            return device_shape(s.type, s.rows, s.cols, s.channels, s.planes);
        };
        const view_shape in = on_device(inputs.image.shape), out = on_device(outputs.result.shape);
        const device_buffer image(span_bytes(in), stream), result(span_bytes(out), stream);
        const any_view d_image{image.data(), in}, d_result{result.data(), out};
        copy(inputs.image, d_image, stream);
        non_local_means_async({d_image}, {d_result}, memory, stream, rule, options);
        copy(d_result, outputs.result, stream);
    } else {
        non_local_means_async(inputs, to, memory, stream, rule, options);
    }
    stream.synchronize();
}

}  // namespace boxsum::cuda
