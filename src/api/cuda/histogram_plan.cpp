#include "api/registry.hpp"
#include "core/validate_histogram.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/histogram_lookup.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/planned_problem.hpp"
#include "cuda/runtime/pointer_checks.hpp"

#include <boxsum/cuda/histogram.hpp>
#include <boxsum/error.hpp>

namespace boxsum::cuda {

device_buffer upload_lookup(const binning& bins) {
    if (bins.rule() != bin_rule::lookup) return {};
    // On the legacy stream and waited for: from then on every stream may read it.
    const stream_ref stream = stream_ref::legacy_default();
    device_buffer table(bins.table().size_bytes(), stream);
    BOXSUM_CUDA_TRY(cudaMemcpyAsync(table.data(), bins.table().data(), table.size(), cudaMemcpyHostToDevice, nullptr));
    stream.synchronize();
    return table;
}

namespace {

void require_tensor(const tensor_shape& got, const tensor_shape& planned) {
    require_type("tensor", got.type, planned.type);
    require_planned("tensor", "planes", got.planes, planned.planes);
    require_planned("tensor", "bins", got.bins, planned.bins);
    require_planned("tensor", "rows", got.rows, planned.rows);
    require_planned("tensor", "cols", got.cols, planned.cols);
    require_planned("tensor", "row_stride", got.row_stride, planned.row_stride);
    if (planned.bins > 1) require_planned("tensor", "bin_stride", got.bin_stride, planned.bin_stride);
    if (planned.planes > 1) require_planned("tensor", "plane_stride", got.plane_stride, planned.plane_stride);
}

}  // namespace

struct histogram_plan::state {
    histogram_description what;
    binning bins;
    planned_problem planned;
    device_buffer lookup;

    void run(const const_any_view& image, const std::optional<const_any_view>& weights, const any_tensor_view& tensor,
             workspace& memory, stream_ref stream) const {
        const int device = planned.device();
        if (weights.has_value() != what.weights.has_value())
            throw invalid_argument(weights ? "weights: given, but the plan was made without"
                                           : "weights: not given, but the plan was made with them");
        require_shape("image", image.shape, what.image);
        if (weights) require_shape("weights", weights->shape, *what.weights);
        require_tensor(tensor.shape, what.tensor);
        (void)make_histogram_problem(image, weights, bins, tensor, planned.what().layout);  // pointers and overlap
        check_device_pointer("image", image.data, device);
        if (weights) check_device_pointer("weights", weights->data, device);
        check_device_pointer("tensor", tensor.data, device);
        buffers pointers;
        pointers.image = image.data;
        pointers.table = tensor.data;
        pointers.weights = weights ? weights->data : nullptr;
        pointers.lookup = static_cast<const std::uint16_t*>(lookup.data());
        planned.enqueue(pointers, memory, stream);
    }
};

histogram_plan::histogram_plan(const histogram_description& what, const binning& bins,
                               const histogram_options& options) {
    problem p = make_histogram_problem(what.image, what.weights, bins, what.tensor, options.layout);
    (void)current_device();  // says that there is none
    const choice chosen = choose(p, backend::cuda, options.algorithm, options.parameters);
    state_ = std::make_shared<const state>(
        state{what, bins, planned_problem(p, *chosen.record, chosen.parameters), upload_lookup(bins)});
}

std::size_t histogram_plan::workspace_bytes() const noexcept {
    return state_->planned.workspace_bytes();
}

const algorithm_info& histogram_plan::algorithm() const noexcept {
    return state_->planned.record().info;
}

int histogram_plan::device() const noexcept {
    return state_->planned.device();
}

void histogram_plan::run_async(const const_any_view& image, const any_tensor_view& tensor, workspace& workspace,
                               stream_ref stream) const {
    state_->run(image, std::nullopt, tensor, workspace, stream);
}

void histogram_plan::run_async(const const_any_view& image, const const_any_view& weights,
                               const any_tensor_view& tensor, workspace& workspace, stream_ref stream) const {
    state_->run(image, weights, tensor, workspace, stream);
}

}  // namespace boxsum::cuda
