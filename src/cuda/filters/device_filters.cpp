#include "core/view_checks.hpp"
#include "cuda/filters/device_strips.hpp"
#include "cuda/filters/planned_filter.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "filters/filter_jobs.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/cuda/filters.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <initializer_list>
#include <string>
#include <type_traits>

namespace boxsum::cuda {
namespace {

// ---- what devices do not do yet -------------------------------------------------------------------------------------

[[noreturn]] void refuse(const std::string& argument_and_value) {
    throw unsupported(argument_and_value + ", which devices do not do yet");
}

void check_sampling(const filters::window_job& windows) {
    const dtype type = windows.shape.type;
    if (filters::computed_as(type) != type) refuse("image: type is " + std::string(name_of(type)));
    if (windows.some_rows) refuse("results: are some of the rows");
    if (windows.masked) refuse("mask: is given");
    if (windows.weighted) refuse("weights: are given");
    if (windows.nan != nan_mode::propagate) refuse("nan: is omit");
    if (windows.nodata) refuse("nodata: is given");
    if (windows.min_count > 1) refuse("min_count: is " + std::to_string(windows.min_count));
}

/// Of windows that are read from tables.
void check_options(const filters::window_job& windows) {
    check_sampling(windows);
    for (const border_mode border : {windows.rows.border, windows.cols.border})
        if (border == border_mode::mirror || border == border_mode::wrap)
            refuse("border: is " + std::string(name_of(border)));
    if (windows.rounding != rounding_mode::half_up) refuse("rounding: is floor");
}

void check_outputs(const std::optional<view_shape>& sum, const std::optional<view_shape>& count) {
    if (sum) refuse("sum: is given");
    if (count) refuse("count: is given");
}

// ---- what filters make of windows -----------------------------------------------------------------------------------

/// Whether the windows are made without a table; throws where they are not, and a table does not have them.
bool without_table(const filters::window_job& windows, bool squares) {
    check_sampling(windows);
    if (fused_supports(windows, false) && (!squares || fused_supports(windows, true))) return true;
    check_options(windows);
    return false;
}

/// Means of type `result`. Those of integers need no squares, others are made by the kernels that know them.
window_filter means_of(const filters::window_job& windows, dtype result) {
    const bool squares = result != windows.shape.type && !is_floating(windows.shape.type);
    if (!without_table(windows, squares))
        return {.windows = windows,
                .consume = [](const filter_step& at) { enqueue_means(at.task, at.results[0], at.stream); }};
    if (squares)
        return {.windows = windows, .squares = true, .fused = true, .consume = [](const filter_step& at) {
                    enqueue_fused_statistics(at.fused, {at.results[0], {}, {}}, at.stream);
                }};
    return {.windows = windows, .fused = true, .consume = [](const filter_step& at) {
                enqueue_fused_means(at.fused, at.results[0], at.stream);
            }};
}

/// Results are mean, variance and deviation. As on the CPU: a mean alone needs no squares, and a rounded one needs the
/// sum itself.
window_filter statistics_of(const filters::window_job& windows, const filters::statistics_shapes& results) {
    check_outputs(results.sum, results.count);
    if (!results.variance && !results.deviation) return means_of(windows, results.mean->type);
    const bool fused = without_table(windows, true);
    return {.windows = windows, .squares = true, .fused = fused, .consume = [fused](const filter_step& at) {
                window_results to{at.results[0], at.results[1], at.results[2]};
                if (to.mean.data != nullptr && !is_floating(to.mean.shape.type)) {
                    if (fused)
                        enqueue_fused_means(at.fused, to.mean, at.stream);
                    else
                        enqueue_means(at.task, to.mean, at.stream);
                    to.mean = {};
                }
                if (fused)
                    enqueue_fused_statistics(at.fused, to, at.stream);
                else
                    enqueue_statistics(at.task, to, at.stream);
            }};
}

window_filter threshold_of(const filters::threshold_job& job) {
    const bool wolf = job.method == threshold_method::wolf;
    if (without_table(job.windows, true))
        return {.windows = job.windows,
                .squares = true,
                .extremes = wolf,
                .fused = true,
                .consume = [job](const filter_step& at) {
                    enqueue_fused_threshold(at.fused, at.results[0], job, at.extremes, at.stream);
                }};
    if (job.method > threshold_method::wolf) refuse("method: is " + std::string(name_of(job.method)));
    if (job.output != threshold_output::zero_255) refuse("output: is not zero_255");
    return {.windows = job.windows,
            .squares = job.method != threshold_method::bradley,
            .extremes = wolf,
            .consume = [method = job.method, k = job.k, range = job.range](const filter_step& at) {
                enqueue_threshold(at.task, at.results[0], method, k, range, at.extremes, at.stream);
            }};
}

window_filter contrast_of(const filters::contrast_job& job) {
    const bool fused = without_table(job.windows, true);
    return {.windows = job.windows,
            .squares = true,
            .fused = fused,
            .consume = [fused, epsilon = job.epsilon](const filter_step& at) {
                if (fused)
                    enqueue_fused_contrast(at.fused, at.results[0], epsilon, at.stream);
                else
                    enqueue_contrast(at.task, at.results[0], epsilon, at.stream);
            }};
}

/// Windows of up to the job's.
window_filter variable_of(const filters::window_job& windows, std::int64_t largest) {
    check_options(windows);
    return {.windows = windows, .consume = [largest](const filter_step& at) {
                enqueue_variable_means(at.task, at.radius, largest, at.results[0], at.stream);
            }};
}

/// What a map may hold that has not been read: 2r + 1 squared is at most 2^46.
std::int64_t largest_of(const variable_inputs& inputs, border_mode border) {
    if (inputs.largest_radius) return *inputs.largest_radius;
    const view_shape& image = inputs.image.shape;
    std::int64_t most = inputs.radius.shape.type == dtype::u8    ? 255
                        : inputs.radius.shape.type == dtype::u16 ? 65535
                                                                 : 4194303;
    if (border == border_mode::shrink) most = std::min(most, std::max(image.rows, image.cols));
    return most;
}

// ---- arguments ------------------------------------------------------------------------------------------------------

filters::statistics_shapes shapes_of(const window_outputs& outputs, bool (*wanted)(const any_view&)) {
    const auto shape = [&](const any_view& v) { return wanted(v) ? std::optional(v.shape) : std::nullopt; };
    return {shape(outputs.mean), shape(outputs.variance), shape(outputs.deviation), shape(outputs.sum),
            shape(outputs.count)};
}

/// A filter with one result; `wanted` says whether a view is. Counts are refused.
filters::result_shapes shapes_of(const filter_outputs& outputs, bool (*wanted)(const any_view&)) {
    if (wanted(outputs.count)) check_outputs({}, outputs.count.shape);
    return {outputs.result.shape};
}

bool has_data(const any_view& v) {
    return v.data != nullptr;
}
bool has_rows(const any_view& v) {
    return v.shape.rows != 0;
}

void check_image(const const_any_view& image) {
    (void)current_device();  // without a device that is the first thing to say
    check_read("image", image);
}

}  // namespace

// ---- plans ----------------------------------------------------------------------------------------------------------

/// A view as it was planned; `name` is null for none.
struct planned_view {
    const char* name = nullptr;
    view_shape shape = {};
    std::size_t bytes = 0;

    planned_view() = default;
    planned_view(const char* argument, const view_shape& s)
        : name(argument), shape(s), bytes(static_cast<std::size_t>(checked_span_bytes(argument, s))) {}
};

struct filter_plan::state {
    planned_filter filter;
    filters::part given;
    planned_view image, radius;
    std::array<planned_view, 3> results;

    state(const window_filter& f, const filters::part& part, const std::array<planned_view, 3>& to,
          const planned_view& radii = {})
        : filter(f, part.image.row_stride), given(part), image("image", part.image), radius(radii), results(to) {}

    /// `others`: results that no plan has. What is given to a run and not to its plan is an error, never ignored.
    template <typename Inputs>
    void run(const filter_memory& memory, const Inputs& inputs, std::initializer_list<any_view> others,
             workspace& workspace, stream_ref stream) const {
        if (inputs.at != given.at || inputs.whole != given.whole)
            throw invalid_argument("at: row is " + std::to_string(inputs.at.row) + " of " +
                                   std::to_string(inputs.whole.rows) + ", but the plan was made for " +
                                   std::to_string(given.at.row) + " of " + std::to_string(given.whole.rows));
        if constexpr (std::is_same_v<Inputs, filter_inputs>) {
            if (inputs.mask.data != nullptr) throw invalid_argument("mask: given, but the plan was made without");
            if (inputs.weights.data != nullptr) throw invalid_argument("weights: given, but the plan was made without");
            if (inputs.results != given.results)
                throw invalid_argument("results: rows " + std::to_string(inputs.results.first) + " to " +
                                       std::to_string(inputs.results.end) + ", but the plan was made for " +
                                       std::to_string(given.results.first) + " to " +
                                       std::to_string(given.results.end));
        }
        for (const any_view& other : others)
            if (other.data != nullptr) throw invalid_argument("outputs: have a result that the plan was made without");
        std::array<memory_range, 5> ranges;
        std::size_t count = 0;
        const auto check = [&](const planned_view& planned, const const_any_view& view, bool written) {
            require_shape(planned.name, view.shape, planned.shape);
            ranges[count] = {planned.name, view.data, planned.bytes, written};
            check_range(ranges[count++], size_of(planned.shape.type), filter.device());
        };
        check(image, memory.image, false);
        if (radius.name != nullptr) check(radius, memory.radius, false);
        for (std::size_t i = 0; i < results.size(); ++i) {
            const any_view& result = memory.results[i];
            if (results[i].name != nullptr)
                check(results[i], result, true);
            else if (result.data != nullptr)
                throw invalid_argument("outputs: have a result that the plan was made without");
        }
        if (any_meet(std::span(ranges).first(count))) check_apart(memory);
        filter.enqueue(memory, workspace, stream);
    }

    /// Ranges meet: views may still lie between each other's rows.
    void check_apart(const filter_memory& memory) const {
        const auto apart = [](const planned_view& a, const const_any_view& x, const planned_view& b,
                              const const_any_view& y) {
            if (a.name != nullptr && b.name != nullptr && overlap(x, y))
                throw invalid_argument(std::string(a.name) + ": overlaps " + b.name);
        };
        for (std::size_t i = 0; i < results.size(); ++i) {
            apart(results[i], memory.results[i], image, memory.image);
            apart(results[i], memory.results[i], radius, memory.radius);
            for (std::size_t j = 0; j < i; ++j) apart(results[i], memory.results[i], results[j], memory.results[j]);
        }
    }
};

std::size_t filter_plan::workspace_bytes() const noexcept {
    return state_->filter.workspace_bytes();
}

int filter_plan::device() const noexcept {
    return state_->filter.device();
}

box_filter_plan::box_filter_plan(const filter_inputs& inputs, const filter_outputs& outputs,
                                 const filter_options& options)
    : filter_plan(std::make_shared<state>(
          means_of(filters::box_filter_job(filters::part_of(inputs), shapes_of(outputs, has_rows), options),
                   outputs.result.shape.type),
          filters::part_of(inputs),
          std::array{planned_view("result", outputs.result.shape), planned_view(), planned_view()})) {}

void box_filter_plan::run_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                                stream_ref stream) const {
    state_->run({inputs.image, {outputs.result}}, inputs, {outputs.count}, workspace, stream);
}

local_statistics_plan::local_statistics_plan(const filter_inputs& inputs, const window_outputs& outputs,
                                             const filter_options& options)
    : filter_plan([&] {
          const filters::statistics_shapes shapes = shapes_of(outputs, has_rows);
          const auto view = [](const char* name, const std::optional<view_shape>& shape) {
              return shape ? planned_view(name, *shape) : planned_view();
          };
          return std::make_shared<state>(
              statistics_of(filters::statistics_job(filters::part_of(inputs), shapes, options), shapes),
              filters::part_of(inputs),
              std::array{view("mean", shapes.mean), view("variance", shapes.variance),
                         view("deviation", shapes.deviation)});
      }()) {}

void local_statistics_plan::run_async(const filter_inputs& inputs, const window_outputs& outputs, workspace& workspace,
                                      stream_ref stream) const {
    state_->run({inputs.image, {outputs.mean, outputs.variance, outputs.deviation}}, inputs,
                {outputs.sum, outputs.count}, workspace, stream);
}

adaptive_threshold_plan::adaptive_threshold_plan(const filter_inputs& inputs, const filter_outputs& outputs,
                                                 const threshold_rule& rule, const filter_options& options)
    : filter_plan(std::make_shared<state>(
          threshold_of(
              filters::make_threshold_job(filters::part_of(inputs), shapes_of(outputs, has_rows), rule, options)),
          filters::part_of(inputs),
          std::array{planned_view("result", outputs.result.shape), planned_view(), planned_view()})) {}

void adaptive_threshold_plan::run_async(const filter_inputs& inputs, const filter_outputs& outputs,
                                        workspace& workspace, stream_ref stream) const {
    state_->run({inputs.image, {outputs.result}}, inputs, {outputs.count}, workspace, stream);
}

local_contrast_plan::local_contrast_plan(const filter_inputs& inputs, const filter_outputs& outputs,
                                         const contrast_rule& rule, const filter_options& options)
    : filter_plan(std::make_shared<state>(
          contrast_of(
              filters::make_contrast_job(filters::part_of(inputs), shapes_of(outputs, has_rows), rule, options)),
          filters::part_of(inputs),
          std::array{planned_view("result", outputs.result.shape), planned_view(), planned_view()})) {}

void local_contrast_plan::run_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                                    stream_ref stream) const {
    state_->run({inputs.image, {outputs.result}}, inputs, {outputs.count}, workspace, stream);
}

variable_box_filter_plan::variable_box_filter_plan(const variable_inputs& inputs, const filter_outputs& outputs,
                                                   const filter_options& options)
    : filter_plan([&] {
          const filters::part given = filters::part_of(inputs);
          filters::check_radius_map(inputs.radius.shape, given, inputs.largest_radius);
          const std::int64_t largest = largest_of(inputs, options.border);
          return std::make_shared<state>(
              variable_of(
                  filters::variable_job(given, inputs.radius.shape, shapes_of(outputs, has_rows), largest, options),
                  largest),
              given, std::array{planned_view("result", outputs.result.shape), planned_view(), planned_view()},
              planned_view("radius", inputs.radius.shape));
      }()) {}

void variable_box_filter_plan::run_async(const variable_inputs& inputs, const filter_outputs& outputs,
                                         workspace& workspace, stream_ref stream) const {
    state_->run({inputs.image, {outputs.result}, inputs.radius}, inputs, {outputs.count}, workspace, stream);
}

// ---- calls that enqueue ---------------------------------------------------------------------------------------------

namespace {

/// On the device of the workspace, and where that has none, of the stream.
template <typename Plan, typename Inputs, typename Outputs, typename... Rules>
void enqueue(const Inputs& inputs, const Outputs& outputs, workspace& workspace, stream_ref stream,
             const Rules&... rules) {
    if (workspace.device() < 0) workspace.reserve(0, stream);
    const device_scope scope(workspace.device());
    const Plan plan(inputs, outputs, rules...);
    workspace.reserve(plan.workspace_bytes(), stream);
    plan.run_async(inputs, outputs, workspace, stream);
}

}  // namespace

void box_filter_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                      stream_ref stream, const filter_options& options) {
    enqueue<box_filter_plan>(inputs, outputs, workspace, stream, options);
}

void local_statistics_async(const filter_inputs& inputs, const window_outputs& outputs, workspace& workspace,
                            stream_ref stream, const filter_options& options) {
    enqueue<local_statistics_plan>(inputs, outputs, workspace, stream, options);
}

void adaptive_threshold_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                              stream_ref stream, const threshold_rule& rule, const filter_options& options) {
    enqueue<adaptive_threshold_plan>(inputs, outputs, workspace, stream, rule, options);
}

void local_contrast_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                          stream_ref stream, const contrast_rule& rule, const filter_options& options) {
    enqueue<local_contrast_plan>(inputs, outputs, workspace, stream, rule, options);
}

void variable_box_filter_async(const variable_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                               stream_ref stream, const filter_options& options) {
    enqueue<variable_box_filter_plan>(inputs, outputs, workspace, stream, options);
}

// ---- calls that wait, on host memory too ----------------------------------------------------------------------------

void box_filter(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                const filter_options& options) {
    check_image(inputs.image);
    const filters::window_job job =
        filters::box_filter_job(filters::part_of(inputs), shapes_of(outputs, has_data), options);
    filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    execute(means_of(job, outputs.result.shape.type), {inputs.image, {outputs.result}}, stream);
}

void local_statistics(const filter_inputs& inputs, const window_outputs& outputs, stream_ref stream,
                      const filter_options& options) {
    check_image(inputs.image);
    const filters::statistics_shapes shapes = shapes_of(outputs, has_data);
    const filters::window_job job = filters::statistics_job(filters::part_of(inputs), shapes, options);
    filters::check_results({{"image", inputs.image}},
                           {{"mean", outputs.mean}, {"variance", outputs.variance}, {"deviation", outputs.deviation}});
    execute(statistics_of(job, shapes), {inputs.image, {outputs.mean, outputs.variance, outputs.deviation}}, stream);
}

void adaptive_threshold(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                        const threshold_rule& rule, const filter_options& options) {
    check_image(inputs.image);
    const filters::threshold_job job =
        filters::make_threshold_job(filters::part_of(inputs), shapes_of(outputs, has_data), rule, options);
    filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    execute(threshold_of(job), {inputs.image, {outputs.result}}, stream);
}

void local_contrast(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                    const contrast_rule& rule, const filter_options& options) {
    check_image(inputs.image);
    const filters::contrast_job job =
        filters::make_contrast_job(filters::part_of(inputs), shapes_of(outputs, has_data), rule, options);
    filters::check_results({{"image", inputs.image}}, {{"result", outputs.result}});
    execute(contrast_of(job), {inputs.image, {outputs.result}}, stream);
}

void variable_box_filter(const variable_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                         const filter_options& options) {
    check_image(inputs.image);
    check_view("radius", inputs.radius);
    const filters::part given = filters::part_of(inputs);
    filters::check_radius_map(inputs.radius.shape, given, inputs.largest_radius);
    const std::int64_t found = check_radii(inputs.radius, inputs.largest_radius, stream);
    const std::int64_t largest = inputs.largest_radius.value_or(found);
    const filters::window_job job =
        filters::variable_job(given, inputs.radius.shape, shapes_of(outputs, has_data), largest, options);
    filters::check_results({{"image", inputs.image}, {"radius", inputs.radius}}, {{"result", outputs.result}});
    execute(variable_of(job, largest), {inputs.image, {outputs.result}, inputs.radius}, stream);
}

}  // namespace boxsum::cuda
