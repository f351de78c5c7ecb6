#include "api/cuda/cached_plan.hpp"
#include "api/cuda/sampled_plan.hpp"
#include "api/registry.hpp"
#include "api/sampled_sat.hpp"
#include "core/validate.hpp"
#include "core/view_checks.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/plan_cache.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/planned_problem.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "cuda/runtime/runtime.hpp"

#include <boxsum/cuda/sat.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace boxsum::cuda {
namespace {

problem problem_for(const sat_shapes& shapes) {
    const table_layout layout = shapes.form.layout;
    if (shapes.carries || shapes.squares_carries) check_plain_form("sums", shapes.form, "a part of a larger table");
    problem p = make_problem(shapes.image, shapes.sums, shapes.squares, shapes.form);
    if (shapes.in_place && layout != table_layout::inclusive)
        throw invalid_argument("in_place: needs layout inclusive, but that of sums is " + std::string(name_of(layout)));
    if (shapes.in_place && !same_place(shapes.image, shapes.sums))
        throw invalid_argument(
            "in_place: needs element size, extents and strides of the image and the table to be the same");
    p.in_place = shapes.in_place;
    set_carries(p, "carries", shapes.carries);
    set_carries(p, "squares_carries", shapes.squares_carries, true);
    return p;
}

std::string text_of(const std::optional<double>& nodata) {
    return nodata ? boxsum::text_of(*nodata) : "none";
}

std::string text_of(nan_mode nan) {
    return nan == nan_mode::propagate ? "propagate"
           : nan == nan_mode::omit    ? "omit"
                                      : std::to_string(static_cast<int>(nan));
}

// ---- the views of a run ---------------------------------------------------------------------------------------------

/// Everything about the views of a problem that needs no pointer.
class view_checks {
  public:
    view_checks(const problem& p, const sat_shapes& shapes, int device)
        : problem_(p), device_(device), sampled_(some_may_not_count(shapes)) {
        add("image", p.image, false);
        add("sums", p.table, true);
        if (p.squares) add("squares", *p.squares, true);
        const auto add_carries = [&](const char* above, const char* left, const carry_shapes& carries) {
            if (carries.above) add(above, *carries.above, false);
            if (carries.left) add(left, *carries.left, false);
        };
        add_carries("carries.above", "carries.left", p.carries);
        add_carries("squares_carries.above", "squares_carries.left", p.squares_carries);
        if (!sampled_) return;
        refused_ = {p.image.type, shapes.nan, shapes.nodata};
        masked_ = shapes.mask.has_value();
        weighted_ = shapes.weights.has_value();
        counted_ = shapes.counts.has_value();
        if (masked_) add("mask", *shapes.mask, false);
        if (weighted_) add("weights", *shapes.weights, false);
        if (counted_) add("counts", *shapes.counts, true);
    }

    /// Checks the views of a run, in as few instructions as that takes: a run should cost its launch. The memory of
    /// each argument.
    buffers operator()(const sat_inputs& in, const sat_outputs& out) const {
        if (sampled_ || some_may_not_count(in, out)) require_samples(in, out);
        require_given(out.squares.entries.data != nullptr, problem_.squares.has_value(), "squares");
        require_form("sums", out.sums.form);
        std::array<memory_range, 7> ranges = ranges_;
        std::size_t i = 0;
        const auto check = [&](const view_shape& shape, const void* data) {
            const planned_view& planned = views_[i];
            require_shape(ranges[i].argument, shape, planned.shape);
            ranges[i].data = data;
            check_range(ranges[i], planned.element, device_);
            ++i;
        };
        check(in.image.shape, in.image.data);
        check(out.sums.entries.shape, out.sums.entries.data);
        if (problem_.squares) {
            require_form("squares", out.squares.form);
            check(out.squares.entries.shape, out.squares.entries.data);
        }
        const auto check_carry = [&](const char* argument, const const_any_view& view, bool planned) {
            require_given(view.data != nullptr, planned, argument);
            if (planned) check(view.shape, view.data);
        };
        check_carry("carries.above", in.carries.above, problem_.carries.above.has_value());
        check_carry("carries.left", in.carries.left, problem_.carries.left.has_value());
        check_carry("squares_carries.above", in.squares_carries.above, problem_.squares_carries.above.has_value());
        check_carry("squares_carries.left", in.squares_carries.left, problem_.squares_carries.left.has_value());
        if (sampled_) {
            if (masked_) check(in.mask.shape, in.mask.data);
            if (weighted_) check(in.weights.shape, in.weights.data);
            if (counted_) check(out.counts.entries.shape, out.counts.entries.data);
        }

        if (problem_.in_place) {
            if (in.image.data != out.sums.entries.data)
                throw invalid_argument("sums: is not the image, but the plan was made in place");
            ranges[0].bytes = 0;  // meets no other range: the table's is the same
        }
        if (any_meet(std::span(ranges).first(i))) look_closer(in, out);
        buffers memory;
        memory.image = in.image.data;
        memory.table = out.sums.entries.data;
        memory.squares = out.squares.entries.data;
        memory.carries = {in.carries.above.data, in.carries.left.data};
        memory.squares_carries = {in.squares_carries.above.data, in.squares_carries.left.data};
        return memory;
    }

  private:
    struct planned_view {
        view_shape shape;
        std::size_t element = 0;
    };

    void add(const char* argument, const view_shape& shape, bool written) {
        const byte_reach reach = checked_reach(argument, shape, written ? access::write : access::read);
        views_[count_] = {shape, size_of(shape.type)};
        ranges_[count_++] = {argument, nullptr, static_cast<std::size_t>(reach.bytes()), written, reach.first};
    }

    static void require_given(bool given, bool planned, const char* argument) {
        if (given == planned) return;
        throw invalid_argument(std::string(argument) + (planned ? ": not given, but the plan was made with it"
                                                                : ": given, but the plan was made without"));
    }

    /// Which pixels count.
    void require_samples(const sat_inputs& in, const sat_outputs& out) const {
        require_given(is_given(in.mask), masked_, "mask");
        require_given(is_given(in.weights), weighted_, "weights");
        require_given(out.counts.entries.data != nullptr, counted_, "counts");
        if (counted_) require_form("counts", out.counts.form);
        const refused_pixels refused(in.image.shape.type, in.nan, in.nodata);
        if (refused.nodata != refused_.nodata)
            throw invalid_argument("nodata: is " + text_of(refused.nodata) + ", but the plan was made for " +
                                   text_of(refused_.nodata));
        if (refused.nan != refused_.nan)
            throw invalid_argument("nan: is " + text_of(refused.nan) + ", but the plan was made for " +
                                   text_of(refused_.nan));
    }

    void require_form(const char* argument, const table_form& form) const {
        const table_form& planned = problem_.form;
        if (form.layout != planned.layout)
            throw invalid_argument(std::string(argument) + ": layout is " + std::string(name_of(form.layout)) +
                                   ", but the plan was made for " + std::string(name_of(planned.layout)));
        if (form.is_plain() && planned.is_plain()) return;
        const auto offsets = static_cast<std::size_t>(problem_.table.planes * problem_.table.channels);
        if (form.origin == planned.origin && (form.offsets == nullptr) == (planned.offsets == nullptr) &&
            (form.offsets == nullptr ? form.offset == planned.offset
                                     : std::equal(form.offsets, form.offsets + offsets, planned.offsets)))
            return;
        throw invalid_argument(std::string(argument) + ": the form is " + text_of(form) +
                               ", but the plan was made for " + text_of(planned) +
                               (form.offsets != nullptr && planned.offsets != nullptr ? " of other values" : ""));
    }

    /// Ranges meet: views may still lie between each other's rows.
    void look_closer(const sat_inputs& in, const sat_outputs& out) const {
        if (make_problem(in, out).in_place && !problem_.in_place)
            throw invalid_argument("sums: is the image, but the plan was not made in place");
        if (sampled_) check_sampled(in, out);
    }

    problem problem_;
    int device_;
    std::size_t count_ = 0;
    bool sampled_, masked_ = false, weighted_ = false, counted_ = false;
    refused_pixels refused_;
    std::array<planned_view, 7> views_{};  // carries, or what says which pixels count
    std::array<memory_range, 7> ranges_{};
};

}  // namespace

// ---- one shape ------------------------------------------------------------------------------------------------------

struct sat_plan::state {
    std::vector<double> offsets;  ///< those of the form, whose own may be gone when the plan runs
    planned_problem planned;      ///< where pixels may not count, of the table of sums
    view_checks check;
    std::unique_ptr<const sampled_plan> sampled;  ///< only there

    state(const problem& p, const sat_shapes& shapes, const choice& chosen)
        : offsets(offsets_of(p)),
          planned(with(offsets, p), *chosen.record, chosen.parameters),
          check(with(offsets, p), shapes, planned.device()) {}
    state(const problem& p, const sat_shapes& shapes, const choice& chosen, const problem& sums,
          std::unique_ptr<const sampled_plan> some)
        : planned(sums, *chosen.record, chosen.parameters),
          check(p, shapes, planned.device()),
          sampled(std::move(some)) {}

    static std::vector<double> offsets_of(const problem& p) {
        const double* const first = p.form.offsets;
        return first == nullptr ? std::vector<double>()
                                : std::vector<double>(first, first + p.table.planes * p.table.channels);
    }
    static problem with(const std::vector<double>& offsets, problem p) {
        if (p.form.offsets != nullptr) p.form.offsets = offsets.data();
        return p;
    }
};

sat_plan::sat_plan(const sat_shapes& shapes, const sat_options& options) {
    check_threads(options.threads);
    const problem p = problem_for(shapes);
    const bool sampled = some_may_not_count(shapes);
    if (sampled) check_sampled(shapes);
    (void)current_device();  // says that there is none
    const auto chosen = [&](const problem& what) {
        return choose(packed(what), backend::cuda, options.algorithm, options.parameters);
    };
    if (!sampled) {
        state_ = std::make_shared<const state>(p, shapes, chosen(p));
        return;
    }
    auto some = std::make_unique<const sampled_plan>(shapes, options);
    const problem sums = problem_for(some->sums());
    state_ = std::make_shared<const state>(p, shapes, chosen(sums), sums, std::move(some));
}

sat_plan::sat_plan(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options)
    : sat_plan(shapes_of(inputs, outputs), options) {}

std::size_t sat_plan::workspace_bytes() const noexcept {
    const planned_problem& planned = state_->planned;
    return state_->sampled ? state_->sampled->workspace_bytes(planned) : planned.workspace_bytes();
}

std::size_t sat_plan::packed_bytes() const noexcept {
    const planned_problem& planned = state_->planned;
    return state_->sampled ? state_->sampled->packed_bytes(planned) : planned.packed_bytes();
}

const algorithm_info& sat_plan::algorithm() const noexcept {
    return state_->planned.record().info;
}

int sat_plan::device() const noexcept {
    return state_->planned.device();
}

void sat_plan::run_async(const sat_inputs& inputs, const sat_outputs& outputs, workspace& workspace,
                         stream_ref stream) const {
    const planned_problem& planned = state_->planned;
    const buffers memory = state_->check(inputs, outputs);
    if (state_->sampled) return state_->sampled->run_async(planned, inputs, outputs, workspace, stream);
    planned.enqueue(memory, workspace, stream);
}

const planned_problem& planned(const sat_plan& plan) noexcept {
    return plan.state_->planned;
}

// ---- a list of shapes -----------------------------------------------------------------------------------------------

struct sat_list_plan::state {
    std::vector<problem> problems;
    std::vector<view_checks> checks;
    choice chosen;
    int device = 0;
    bool together = false;
    std::vector<planned_problem> planned;  ///< where the algorithm does not take the list as one
    std::size_t record_bytes = 0;          ///< where it does
    std::size_t workspace = 0;
};

namespace {

std::string indexed(std::string_view name, std::size_t i) {
    return std::string(name) + "[" + std::to_string(i) + "]: ";
}

/// Memory of one entry, whose shape is checked.
struct placed_view {
    std::uintptr_t begin, end;
    const void* data;
    const view_shape* shape;
    std::size_t index;
    bool written;
};

/// Throws where a table overlaps an image, a carry or a table of another entry; within one entry view_checks has
/// looked.
void check_entries_apart(std::span<const sat_inputs> inputs, std::span<const sat_outputs> outputs) {
    std::vector<placed_view> placed;
    placed.reserve(3 * inputs.size());
    const auto place = [&](const auto& view, std::size_t i, bool written) {
        if (view.data == nullptr) return;
        const byte_reach reach = checked_reach("view", view.shape, written ? access::write : access::read);
        const auto begin = reinterpret_cast<std::uintptr_t>(view.data) - static_cast<std::uintptr_t>(-reach.first);
        placed.push_back(
            {begin, begin + static_cast<std::uintptr_t>(reach.bytes()), view.data, &view.shape, i, written});
    };
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const sat_inputs& in = inputs[i];
        place(in.image, i, false);
        for (const const_any_view* carry :
             {&in.carries.above, &in.carries.left, &in.squares_carries.above, &in.squares_carries.left})
            place(*carry, i, false);
        place(outputs[i].sums.entries, i, true);
        place(outputs[i].squares.entries, i, true);
    }
    std::sort(placed.begin(), placed.end(),
              [](const placed_view& a, const placed_view& b) { return a.begin < b.begin; });
    for (auto a = placed.begin(); a != placed.end(); ++a)
        for (auto b = a + 1; b != placed.end() && b->begin < a->end; ++b)
            if (a->index != b->index && (a->written || b->written) &&
                overlap({a->data, *a->shape}, {b->data, *b->shape}))
                throw invalid_argument(indexed("outputs", a->written ? a->index : b->index) + "overlaps entry " +
                                       std::to_string(a->written ? b->index : a->index) + " of the list");
}

/// One algorithm for all: the choice for the first image, if it serves the others, else the first that serves all.
choice choose_for_all(const std::vector<problem>& problems, const sat_options& options) {
    const choice first = choose(packed(problems[0]), backend::cuda, options.algorithm, options.parameters);
    const auto refused = [&](const choice& c) -> std::string {
        for (std::size_t i = 0; i < problems.size(); ++i)
            if (const support s = check_support(*c.record, packed(problems[i]), c.parameters); !s)
                return indexed("shapes", i) + "algorithm '" + std::string(c.record->info.name) +
                       "' does not support it: " + s.reason;
        return {};
    };
    const std::string reason = refused(first);
    if (reason.empty()) return first;
    if (options.algorithm == "auto")
        for (const algorithm_record* record : registry(operation::sat))
            if (record->info.where == backend::cuda)
                if (const choice other{record, {}}; refused(other).empty()) return other;
    throw unsupported(reason);
}

std::vector<sat_shapes> shapes_of_all(std::span<const sat_inputs> inputs, std::span<const sat_outputs> outputs) {
    if (inputs.size() != outputs.size())
        throw invalid_argument("outputs: has " + std::to_string(outputs.size()) + " entries, but inputs has " +
                               std::to_string(inputs.size()));
    std::vector<sat_shapes> shapes;
    for (std::size_t i = 0; i < inputs.size(); ++i) try {
            shapes.push_back(shapes_of(inputs[i], outputs[i]));
        } catch (const invalid_argument& e) {
            throw invalid_argument(indexed("outputs", i) + e.what());
        }
    return shapes;
}

}  // namespace

sat_list_plan::sat_list_plan(std::span<const sat_shapes> shapes, const sat_options& options) {
    check_threads(options.threads);
    if (shapes.empty()) throw invalid_argument("shapes: an empty list");
    auto made = std::make_shared<state>();
    made->device = current_device();
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        try {
            check_plain_form("sums", shapes[i].form, "a list of images");
            check_all_count(shapes[i], "a list of images");
            made->problems.push_back(problem_for(shapes[i]));
        } catch (const invalid_argument& e) {
            throw invalid_argument(indexed("shapes", i) + e.what());
        } catch (const unsupported& e) {
            throw unsupported(indexed("shapes", i) + e.what());
        }
        const problem &p = made->problems.back(), &first = made->problems.front();
        if (p.triple() != first.triple() || p.squares.has_value() != first.squares.has_value())
            throw invalid_argument(
                indexed("shapes", i) + "types are " + (p.squares ? name_of(p.triple()) : name_of(p.types())) +
                ", but those of the first are " + (first.squares ? name_of(first.triple()) : name_of(first.types())));
        if (shapes[i].form != shapes[0].form)
            throw invalid_argument(indexed("shapes", i) + "layout is " + std::string(name_of(p.form.layout)) +
                                   ", but that of the first is " + std::string(name_of(first.form.layout)));
        made->checks.emplace_back(p, shapes[i], made->device);
    }
    made->chosen = choose_for_all(made->problems, options);
    const algorithm_record& record = *made->chosen.record;
    made->together =
        record.enqueue_list != nullptr && std::all_of(made->problems.begin(), made->problems.end(),
                                                      [](problem p) { return packed_copies(p).bytes() == 0; });
    if (made->together) {
        made->record_bytes = record.list_workspace_bytes(made->problems, made->chosen.parameters);
        made->workspace = total_workspace_bytes(record, made->record_bytes);
    } else {
        for (const problem& p : made->problems) {
            made->planned.emplace_back(p, record, made->chosen.parameters);
            made->workspace = std::max(made->workspace, made->planned.back().workspace_bytes());
        }
    }
    state_ = std::move(made);
}

sat_list_plan::sat_list_plan(std::span<const sat_inputs> inputs, std::span<const sat_outputs> outputs,
                             const sat_options& options)
    : sat_list_plan(shapes_of_all(inputs, outputs), options) {}

std::size_t sat_list_plan::workspace_bytes() const noexcept {
    return state_->workspace;
}

const algorithm_info& sat_list_plan::algorithm() const noexcept {
    return state_->chosen.record->info;
}

int sat_list_plan::device() const noexcept {
    return state_->device;
}

bool sat_list_plan::together() const noexcept {
    return state_->together;
}

void sat_list_plan::run_async(std::span<const sat_inputs> inputs, std::span<const sat_outputs> outputs,
                              workspace& workspace, stream_ref stream) const {
    const state& s = *state_;
    const std::size_t count = s.problems.size();
    const auto require_count = [&](const char* argument, std::size_t got) {
        if (got != count)
            throw invalid_argument(std::string(argument) + ": has " + std::to_string(got) +
                                   " entries, but the plan was made for " + std::to_string(count));
    };
    require_count("inputs", inputs.size());
    require_count("outputs", outputs.size());
    std::vector<buffers> memory;
    memory.reserve(count);
    for (std::size_t i = 0; i < count; ++i) try {
            memory.push_back(s.checks[i](inputs[i], outputs[i]));
        } catch (const invalid_argument& e) {
            throw invalid_argument("entry " + std::to_string(i) + " of the list: " + e.what());
        }
    check_entries_apart(inputs, outputs);

    const workspace_use use(workspace, s.workspace, s.device, stream);
    if (!s.together) {
        for (std::size_t i = 0; i < count; ++i) s.planned[i].enqueue(memory[i], use);
        return;
    }
    const device_scope scope(s.device);
    const algorithm_record& record = *s.chosen.record;
    const execution how = use.execution_of(s.chosen.parameters);
    record.enqueue_list(s.problems, memory, how);
    restore_contract(record, s.record_bytes, how);
}

// ---- without a plan -------------------------------------------------------------------------------------------------

namespace {

/// What a plan is made of, but offsets: others may lie at that address the next time.
struct sat_key {
    sat_shapes shapes;
    std::string algorithm, parameters;

    friend bool operator==(const sat_key&, const sat_key&) = default;
};

}  // namespace

sat_plan cached_plan(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options, int device) {
    check_threads(options.threads);                                // a plan that is found does not depend on them
    static auto* const cache = new plan_cache<sat_key, sat_plan>;  // outlives the driver
    const sat_shapes shapes = shapes_of(inputs, outputs);
    const auto make = [&] { return sat_plan(shapes, options); };
    if (shapes.form.offsets == nullptr)
        return cache->find({shapes, options.algorithm, options.parameters}, device, make);
    const device_scope scope(device);
    return make();
}

namespace {

/// Workspaces of calls that have ended: nothing is under way in them, so any stream of their device may take one.
class workspace_pool {
  public:
    workspace take(int device, stream_ref stream) {
        const std::lock_guard lock(mutex_);
        for (auto w = idle_.begin(); w != idle_.end(); ++w)
            if (w->device() == device) {
                workspace taken = std::move(*w);
                idle_.erase(w);
                return taken;
            }
        return {0, stream};
    }

    /// The stream has been waited for.
    void give_back(workspace&& done) {
        if (done.bytes() > most_bytes) return;
        const std::lock_guard lock(mutex_);
        if (idle_.size() < most_workspaces) idle_.push_back(std::move(done));
    }

  private:
    static constexpr std::size_t most_workspaces = 16, most_bytes = std::size_t{64} << 20;

    std::mutex mutex_;
    std::vector<workspace> idle_;
};

}  // namespace

void sat_async(const sat_inputs& inputs, const sat_outputs& outputs, workspace& workspace, stream_ref stream,
               const sat_options& options) {
    if (workspace.device() < 0) workspace.reserve(0, stream);
    const sat_plan plan = cached_plan(inputs, outputs, options, workspace.device());
    workspace.reserve(plan.workspace_bytes(), stream);
    plan.run_async(inputs, outputs, workspace, stream);
}

void sat(const sat_inputs& inputs, const sat_outputs& outputs, stream_ref stream, const sat_options& options) {
    static auto* const pool = new workspace_pool;
    const device_scope scope(device_of(stream));
    workspace memory = pool->take(current_device(), stream);
    hand_over_idle(memory, stream);
    sat_async(inputs, outputs, memory, stream, options);
    stream.synchronize();
    hand_over_idle(memory, stream_ref::legacy_default());
    pool->give_back(std::move(memory));
}

}  // namespace boxsum::cuda
