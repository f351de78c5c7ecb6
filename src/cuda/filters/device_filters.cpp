#include "core/view_checks.hpp"
#include "cuda/filters/device_strips.hpp"
#include "cuda/filters/filter_calls.hpp"
#include "cuda/filters/planned_filter.hpp"
#include "cuda/filters/radius_tiles.hpp"
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

void check_type(const filters::window_job& windows) {
    const dtype type = windows.shape.type;
    if (filters::computed_as(type) != type) refuse("image: type is " + std::string(name_of(type)));
}

bool is_of_tables(border_mode border) {
    return border != border_mode::mirror && border != border_mode::wrap;
}

// ---- what filters make of windows -----------------------------------------------------------------------------------

/// Who makes the windows of a filter that wants squares or not, and sums or counts for results, or what tables know
/// nothing of. Those have what all pixels of integers come to, of any window, several times faster than sums in memory.
window_maker maker_of(const filters::window_job& windows, bool squares, bool extra) {
    check_type(windows);
    const bool plain = !windows.sampled() && !is_floating(windows.shape.type);
    if (plain && !extra && fused_supports(windows, false) && (!squares || fused_supports(windows, true)))
        return window_maker::fused;
    // What mirrors a single row, or column, repeats it, and mirrors the other axis all the same.
    if (plain && !extra && !windows.some_rows && windows.rounding == rounding_mode::half_up &&
        is_of_tables(windows.rows.border) && is_of_tables(windows.cols.border))
        return window_maker::tables;
    for (const auto& [what, extent] : {std::pair{"rows", windows.rows.extent}, {"cols", windows.cols.extent}})
        if (extent > largest_real_extent) refuse("image: " + std::string(what) + " is " + std::to_string(extent));
    return window_maker::real;
}

real_results real_results_of(const filter_step& at) {
    return {at.results[0], at.results[1], at.results[2], at.results[3], at.results[4]};
}

/// A mean alone needs no squares, unless it is one of integers that is not rounded and has fused kernels; a rounded one
/// needs the sum itself.
window_filter statistics_of(const filters::window_job& windows, const filters::statistics_shapes& results) {
    const bool spread = results.variance || results.deviation;
    const bool real_mean = results.mean && is_floating(results.mean->type);
    bool squares = spread;
    if (!squares && real_mean && !is_floating(windows.shape.type) && !windows.sampled()) squares = true;
    const window_maker maker = maker_of(windows, squares, results.sum || results.count);
    if (maker != window_maker::fused) squares = spread;
    window_filter filter{.windows = windows, .squares = squares, .maker = maker};
    switch (maker) {
        case window_maker::real:
            filter.consume = [](const filter_step& at) {
                enqueue_real_statistics(at.real, real_results_of(at), at.stream);
            };
            break;
        case window_maker::fused:
            filter.consume = [squares](const filter_step& at) {
                window_results to{at.results[0], at.results[1], at.results[2]};
                if (to.mean.data != nullptr && !is_floating(to.mean.shape.type)) {
                    enqueue_fused_means(at.fused, fused_sums_of(*at.fused.job, false), to.mean, at.stream);
                    to.mean = {};
                }
                if (squares) enqueue_fused_statistics(at.fused, to, at.stream);
            };
            break;
        case window_maker::tables:
            filter.consume = [spread](const filter_step& at) {
                window_results to{at.results[0], at.results[1], at.results[2]};
                if (to.mean.data != nullptr && (!spread || !is_floating(to.mean.shape.type))) {
                    enqueue_means(at.task, to.mean, at.stream);
                    to.mean = {};
                }
                if (spread) enqueue_statistics(at.task, to, at.stream);
            };
            break;
        case window_maker::tiles:
            break;  // of radii alone
    }
    return filter;
}

/// A filter with one result.
window_filter means_of(const filters::window_job& windows, const filters::result_shapes& results) {
    return statistics_of(windows, {.mean = results.result, .count = results.count});
}

window_filter threshold_of(const filters::threshold_job& job, const filters::result_shapes& results) {
    const bool wolf = job.method == threshold_method::wolf;
    window_filter filter{.windows = job.windows, .squares = true, .extremes = wolf};
    // Without tables fused kernels know every method and output.
    const bool fused = fused_supports(job.windows, false) && fused_supports(job.windows, true);
    const bool of_tables = job.method <= threshold_method::wolf && job.output == threshold_output::zero_255;
    filter.maker = maker_of(job.windows, true, results.count || (!fused && !of_tables));
    switch (filter.maker) {
        case window_maker::real:
            filter.consume = [job](const filter_step& at) {
                enqueue_real_threshold(at.real, real_results_of(at), job, at.extremes, at.stream);
            };
            break;
        case window_maker::fused:
            filter.consume = [job](const filter_step& at) {
                enqueue_fused_threshold(at.fused, at.results[0], job, at.extremes, at.stream);
            };
            break;
        case window_maker::tables:
            filter.squares = job.method != threshold_method::bradley;
            filter.consume = [method = job.method, k = job.k, range = job.range](const filter_step& at) {
                enqueue_threshold(at.task, at.results[0], method, k, range, at.extremes, at.stream);
            };
            break;
        case window_maker::tiles:
            break;
    }
    return filter;
}

window_filter contrast_of(const filters::contrast_job& job, const filters::result_shapes& results) {
    const window_maker maker = maker_of(job.windows, true, results.count.has_value());
    return {.windows = job.windows,
            .squares = true,
            .maker = maker,
            .consume = [maker, epsilon = job.epsilon](const filter_step& at) {
                switch (maker) {
                    case window_maker::real:
                        return enqueue_real_contrast(at.real, real_results_of(at), epsilon, at.stream);
                    case window_maker::fused:
                        return enqueue_fused_contrast(at.fused, at.results[0], epsilon, at.stream);
                    case window_maker::tables:
                        return enqueue_contrast(at.task, at.results[0], epsilon, at.stream);
                    case window_maker::tiles:
                        return;
                }
            }};
}

/// Windows of up to the job's.
window_filter variable_of(const filters::window_job& windows, const filters::result_shapes& results,
                          std::int64_t largest) {
    check_type(windows);
    if (radius_tiles_support(windows, largest, results.count.has_value()))
        return {.windows = windows, .maker = window_maker::tiles, .consume = [windows, largest](const filter_step& at) {
                    enqueue_radius_tiles(at.task, windows, at.real.mask, at.radius, largest, at.results[0],
                                         at.results[4], at.stream);
                }};
    if (windows.sampled() || windows.rounding != rounding_mode::half_up || results.count)
        return {.windows = windows, .consume = [windows, largest](const filter_step& at) {
                    enqueue_sampled_variable_means(at.task, windows, at.radius, largest, at.results[0], at.results[4],
                                                   at.stream);
                }};
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

/// A filter with one result; `wanted` says whether a view is.
filters::result_shapes shapes_of(const filter_outputs& outputs, bool (*wanted)(const any_view&)) {
    return {outputs.result.shape, wanted(outputs.count) ? std::optional(outputs.count.shape) : std::nullopt};
}

bool has_data(const any_view& v) {
    return v.data != nullptr;
}
bool has_rows(const any_view& v) {
    return v.shape.rows != 0;
}

void check_device() {
    (void)current_device();  // without one that is the first thing to say
}

template <typename Inputs>
filter_memory memory_of(const Inputs& inputs, const result_views& results) {
    const auto given = [](const const_any_view& v) { return v.shape.rows == 0 ? const_any_view{} : v; };
    filter_memory memory{inputs.image, results, {}, given(inputs.mask), given(inputs.weights)};
    if constexpr (std::is_same_v<Inputs, variable_inputs>) memory.radius = inputs.radius;
    return memory;
}

result_views results_of(const filter_outputs& outputs) {
    return {outputs.result, any_view{}, any_view{}, any_view{}, outputs.count};
}
result_views results_of(const window_outputs& outputs) {
    return {outputs.mean, outputs.variance, outputs.deviation, outputs.sum, outputs.count};
}

}  // namespace

// ---- plans ----------------------------------------------------------------------------------------------------------

using planned_results = std::array<planned_view, 5>;  ///< as result_views

planned_results planned(const filters::result_shapes& results) {
    return {planned_view("result", results.result, access::write),
            {},
            {},
            {},
            planned_view("count", results.count, access::write)};
}
planned_results planned(const filters::statistics_shapes& results) {
    const auto view = [](const char* name, const std::optional<view_shape>& s) {
        return planned_view(name, s, access::write);
    };
    return {view("mean", results.mean), view("variance", results.variance), view("deviation", results.deviation),
            view("sum", results.sum), view("count", results.count)};
}

struct filter_plan::state {
    filters::part given;
    planned_view image, radius, mask, weights;
    planned_results results;
    planned_filter filter;

    state(const window_filter& f, const filters::part& part, const planned_results& to, const planned_view& radii = {})
        : given(part),
          image("image", part.image, access::read),
          radius(radii),
          mask("mask", part.mask, access::read),
          weights("weights", part.weights, access::read),
          results(to),
          filter(f, views()) {}

    /// What was planned, without memory.
    filter_memory views() const {
        filter_memory all{{nullptr, image.shape}};
        all.radius.shape = radius.shape;
        all.mask.shape = mask.shape;
        all.weights.shape = weights.shape;
        for (std::size_t i = 0; i < results.size(); ++i) all.results[i].shape = results[i].shape;
        return all;
    }

    template <typename Inputs>
    void run(const filter_memory& memory, const Inputs& inputs, workspace& workspace, stream_ref stream) const {
        if (inputs.at != given.at || inputs.whole != given.whole)
            throw invalid_argument("at: row is " + std::to_string(inputs.at.row) + " of " +
                                   std::to_string(inputs.whole.rows) + ", but the plan was made for " +
                                   std::to_string(given.at.row) + " of " + std::to_string(given.whole.rows));
        if constexpr (std::is_same_v<Inputs, filter_inputs>) {
            if (inputs.results != given.results)
                throw invalid_argument("results: rows " + std::to_string(inputs.results.first) + " to " +
                                       std::to_string(inputs.results.end) + ", but the plan was made for " +
                                       std::to_string(given.results.first) + " to " +
                                       std::to_string(given.results.end));
        }
        call_memory arguments(filter.device());
        arguments.add(image, memory.image);
        if (radius.name != nullptr) arguments.add(radius, memory.radius);
        arguments.add_optional("mask", mask, memory.mask);
        arguments.add_optional("weights", weights, memory.weights);
        for (std::size_t i = 0; i < results.size(); ++i) {
            static constexpr const char* names[] = {"mean", "variance", "deviation", "sum", "count"};
            arguments.add_optional(names[i], results[i], memory.results[i]);
        }
        if (arguments.meet()) check_apart(memory);
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
            apart(results[i], memory.results[i], mask, memory.mask);
            apart(results[i], memory.results[i], weights, memory.weights);
            for (std::size_t j = 0; j < i; ++j) apart(results[i], memory.results[i], results[j], memory.results[j]);
        }
    }
};

std::size_t filter_plan::workspace_bytes() const noexcept {
    return state_->filter.workspace_bytes();
}

std::size_t filter_plan::packed_bytes() const noexcept {
    return state_->filter.packed_bytes();
}

int filter_plan::device() const noexcept {
    return state_->filter.device();
}

box_filter_plan::box_filter_plan(const filter_inputs& inputs, const filter_outputs& outputs,
                                 const filter_options& options)
    : filter_plan([&] {
          const filters::part given = filters::part_of(inputs);
          const filters::result_shapes shapes = shapes_of(outputs, has_rows);
          return std::make_shared<state>(means_of(filters::box_filter_job(given, shapes, options), shapes), given,
                                         planned(shapes));
      }()) {}

void box_filter_plan::run_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                                stream_ref stream) const {
    state_->run(memory_of(inputs, results_of(outputs)), inputs, workspace, stream);
}

local_statistics_plan::local_statistics_plan(const filter_inputs& inputs, const window_outputs& outputs,
                                             const filter_options& options)
    : filter_plan([&] {
          const filters::part given = filters::part_of(inputs);
          const filters::statistics_shapes shapes = shapes_of(outputs, has_rows);
          return std::make_shared<state>(statistics_of(filters::statistics_job(given, shapes, options), shapes), given,
                                         planned(shapes));
      }()) {}

void local_statistics_plan::run_async(const filter_inputs& inputs, const window_outputs& outputs, workspace& workspace,
                                      stream_ref stream) const {
    state_->run(memory_of(inputs, results_of(outputs)), inputs, workspace, stream);
}

adaptive_threshold_plan::adaptive_threshold_plan(const filter_inputs& inputs, const filter_outputs& outputs,
                                                 const threshold_rule& rule, const filter_options& options)
    : filter_plan([&] {
          const filters::part given = filters::part_of(inputs);
          const filters::result_shapes shapes = shapes_of(outputs, has_rows);
          return std::make_shared<state>(
              threshold_of(filters::make_threshold_job(given, shapes, rule, options), shapes), given, planned(shapes));
      }()) {}

void adaptive_threshold_plan::run_async(const filter_inputs& inputs, const filter_outputs& outputs,
                                        workspace& workspace, stream_ref stream) const {
    state_->run(memory_of(inputs, results_of(outputs)), inputs, workspace, stream);
}

local_contrast_plan::local_contrast_plan(const filter_inputs& inputs, const filter_outputs& outputs,
                                         const contrast_rule& rule, const filter_options& options)
    : filter_plan([&] {
          const filters::part given = filters::part_of(inputs);
          const filters::result_shapes shapes = shapes_of(outputs, has_rows);
          return std::make_shared<state>(contrast_of(filters::make_contrast_job(given, shapes, rule, options), shapes),
                                         given, planned(shapes));
      }()) {}

void local_contrast_plan::run_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                                    stream_ref stream) const {
    state_->run(memory_of(inputs, results_of(outputs)), inputs, workspace, stream);
}

variable_box_filter_plan::variable_box_filter_plan(const variable_inputs& inputs, const filter_outputs& outputs,
                                                   const filter_options& options)
    : filter_plan([&] {
          const filters::part given = filters::part_of(inputs);
          filters::check_radius_map(inputs.radius.shape, given, inputs.largest_radius);
          const std::int64_t largest = largest_of(inputs, options.border);
          const filters::result_shapes shapes = shapes_of(outputs, has_rows);
          return std::make_shared<state>(
              variable_of(filters::variable_job(given, inputs.radius.shape, shapes, largest, options), shapes, largest),
              given, planned(shapes), planned_view("radius", inputs.radius.shape, access::read));
      }()) {}

void variable_box_filter_plan::run_async(const variable_inputs& inputs, const filter_outputs& outputs,
                                         workspace& workspace, stream_ref stream) const {
    state_->run(memory_of(inputs, results_of(outputs)), inputs, workspace, stream);
}

// ---- calls that enqueue ---------------------------------------------------------------------------------------------

void box_filter_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                      stream_ref stream, const filter_options& options) {
    enqueue_unplanned<box_filter_plan>(inputs, outputs, workspace, stream, options);
}

void local_statistics_async(const filter_inputs& inputs, const window_outputs& outputs, workspace& workspace,
                            stream_ref stream, const filter_options& options) {
    enqueue_unplanned<local_statistics_plan>(inputs, outputs, workspace, stream, options);
}

void adaptive_threshold_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                              stream_ref stream, const threshold_rule& rule, const filter_options& options) {
    enqueue_unplanned<adaptive_threshold_plan>(inputs, outputs, workspace, stream, rule, options);
}

void local_contrast_async(const filter_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                          stream_ref stream, const contrast_rule& rule, const filter_options& options) {
    enqueue_unplanned<local_contrast_plan>(inputs, outputs, workspace, stream, rule, options);
}

void variable_box_filter_async(const variable_inputs& inputs, const filter_outputs& outputs, workspace& workspace,
                               stream_ref stream, const filter_options& options) {
    enqueue_unplanned<variable_box_filter_plan>(inputs, outputs, workspace, stream, options);
}

// ---- calls that wait, on host memory too ----------------------------------------------------------------------------

namespace {

/// What check() of filters.hpp's calls is on the CPU, for results `named` that are written.
void check_memory(const filter_inputs& inputs, std::initializer_list<filters::named_view> results) {
    filters::check_results({{"image", inputs.image}, {"mask", inputs.mask}, {"weights", inputs.weights}}, results);
}

}  // namespace

void box_filter(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                const filter_options& options) {
    check_device();
    filters::check_inputs(inputs);
    const filters::result_shapes shapes = shapes_of(outputs, has_data);
    const filters::window_job job = filters::box_filter_job(filters::part_of(inputs), shapes, options);
    check_memory(inputs, {{"result", outputs.result}, {"count", outputs.count}});
    execute(means_of(job, shapes), memory_of(inputs, results_of(outputs)), stream);
}

void local_statistics(const filter_inputs& inputs, const window_outputs& outputs, stream_ref stream,
                      const filter_options& options) {
    check_device();
    filters::check_inputs(inputs);
    const filters::statistics_shapes shapes = shapes_of(outputs, has_data);
    const filters::window_job job = filters::statistics_job(filters::part_of(inputs), shapes, options);
    check_memory(inputs, {{"mean", outputs.mean},
                          {"variance", outputs.variance},
                          {"deviation", outputs.deviation},
                          {"sum", outputs.sum},
                          {"count", outputs.count}});
    filter_memory memory = memory_of(inputs, results_of(outputs));
    memory.first_result = "mean";
    execute(statistics_of(job, shapes), memory, stream);
}

void adaptive_threshold(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                        const threshold_rule& rule, const filter_options& options) {
    check_device();
    filters::check_inputs(inputs);
    const filters::result_shapes shapes = shapes_of(outputs, has_data);
    const filters::threshold_job job = filters::make_threshold_job(filters::part_of(inputs), shapes, rule, options);
    check_memory(inputs, {{"result", outputs.result}, {"count", outputs.count}});
    execute(threshold_of(job, shapes), memory_of(inputs, results_of(outputs)), stream);
}

void local_contrast(const filter_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                    const contrast_rule& rule, const filter_options& options) {
    check_device();
    filters::check_inputs(inputs);
    const filters::result_shapes shapes = shapes_of(outputs, has_data);
    const filters::contrast_job job = filters::make_contrast_job(filters::part_of(inputs), shapes, rule, options);
    check_memory(inputs, {{"result", outputs.result}, {"count", outputs.count}});
    execute(contrast_of(job, shapes), memory_of(inputs, results_of(outputs)), stream);
}

void variable_box_filter(const variable_inputs& inputs, const filter_outputs& outputs, stream_ref stream,
                         const filter_options& options) {
    check_device();
    check_read("image", inputs.image);
    check_read("radius", inputs.radius);
    if (inputs.mask.shape.rows != 0) check_read("mask", inputs.mask);
    if (inputs.weights.shape.rows != 0) check_read("weights", inputs.weights);
    const filters::part given = filters::part_of(inputs);
    filters::check_radius_map(inputs.radius.shape, given, inputs.largest_radius);
    const std::int64_t found = check_radii(inputs.radius, inputs.largest_radius, stream);
    const std::int64_t largest = inputs.largest_radius.value_or(found);
    const filters::result_shapes shapes = shapes_of(outputs, has_data);
    const filters::window_job job = filters::variable_job(given, inputs.radius.shape, shapes, largest, options);
    filters::check_results(
        {{"image", inputs.image}, {"radius", inputs.radius}, {"mask", inputs.mask}, {"weights", inputs.weights}},
        {{"result", outputs.result}, {"count", outputs.count}});
    execute(variable_of(job, shapes, largest), memory_of(inputs, results_of(outputs)), stream);
}

}  // namespace boxsum::cuda
