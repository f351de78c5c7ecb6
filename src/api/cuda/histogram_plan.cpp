#include "api/registry.hpp"
#include "core/validate_histogram.hpp"
#include "core/view_checks.hpp"
#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/histogram_lookup.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/planned_problem.hpp"
#include "cuda/runtime/pointer_checks.hpp"

#include <boxsum/cuda/histogram.hpp>
#include <boxsum/error.hpp>

#include <string>
#include <utility>

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

struct histogram_plan::state {
    histogram_shapes shapes;
    binning bins;
    planned_problem planned;
    device_buffer lookup;

    /// On the device that is current.
    state(const histogram_shapes& s, const binning& b, const histogram_options& options)
        : shapes(s), bins(b), planned(plan_of(make_histogram_problem(s, b), options)), lookup(upload_lookup(b)) {}

  private:
    static planned_problem plan_of(const problem& p, const histogram_options& options) {
        check_threads(options.threads);
        (void)current_device();  // says that there is none
        const choice chosen = choose(packed(p), backend::cuda, options.algorithm, options.parameters);
        return {p, *chosen.record, chosen.parameters};
    }
};

histogram_plan::histogram_plan(std::shared_ptr<const state> made) noexcept : state_(std::move(made)) {}

histogram_plan::histogram_plan(const histogram_shapes& shapes, const binning& bins, const histogram_options& options)
    : histogram_plan(std::make_shared<const state>(shapes, bins, options)) {}

std::size_t histogram_plan::workspace_bytes() const noexcept {
    return state_->planned.workspace_bytes();
}

std::size_t histogram_plan::packed_bytes() const noexcept {
    return state_->planned.packed_bytes();
}

const algorithm_info& histogram_plan::algorithm() const noexcept {
    return state_->planned.record().info;
}

int histogram_plan::device() const noexcept {
    return state_->planned.device();
}

void histogram_plan::run_async(const histogram_inputs& inputs, const histogram_outputs& outputs, workspace& workspace,
                               stream_ref stream) const {
    const state& s = *state_;
    const bool weighted = is_set(inputs.weights);
    if (weighted != s.shapes.weights.has_value())
        throw invalid_argument(weighted ? "weights: given, but the plan was made without"
                                        : "weights: not given, but the plan was made with them");
    require_shape("image", inputs.image.shape, s.shapes.image);
    if (weighted) require_shape("weights", inputs.weights.shape, *s.shapes.weights);
    require_histograms(outputs.histograms.shape(), s.shapes.histograms);
    (void)make_histogram_problem(inputs, s.bins, outputs);  // pointers and overlap
    const int device = s.planned.device();
    check_device_pointer("image", inputs.image.data, device);
    if (weighted) check_device_pointer("weights", inputs.weights.data, device);
    check_device_pointer("histograms", outputs.histograms.entries.data, device);
    buffers pointers;
    pointers.image = inputs.image.data;
    pointers.table = outputs.histograms.entries.data;
    pointers.weights = inputs.weights.data;
    pointers.lookup = static_cast<const std::uint16_t*>(s.lookup.data());
    s.planned.enqueue(pointers, workspace, stream);
}

void integral_histogram_async(const histogram_inputs& inputs, const binning& bins, const histogram_outputs& outputs,
                              workspace& workspace, stream_ref stream, const histogram_options& options) {
    if (workspace.device() < 0) workspace.reserve(0, stream);
    const device_scope scope(workspace.device());
    const auto made = std::make_shared<histogram_plan::state>(shapes_of(inputs, outputs), bins, options);
    const histogram_plan plan(made);
    workspace.reserve(plan.workspace_bytes(), stream);
    made->lookup.set_stream(stream);  // given back behind the run, also where that fails
    plan.run_async(inputs, outputs, workspace, stream);
}

}  // namespace boxsum::cuda
