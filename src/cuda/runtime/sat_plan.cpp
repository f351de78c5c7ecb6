#include "api/registry.hpp"
#include "core/validate.hpp"
#include "core/view_checks.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/plan_checks.hpp"
#include "cuda/runtime/pointer_checks.hpp"
#include "cuda/runtime/runtime.hpp"

#include <boxsum/error.hpp>

#include <algorithm>
#include <string>
#include <vector>

namespace boxsum::cuda {
namespace {

problem problem_for(const sat_description& what) {
    problem p = make_problem(what.image, what.table, what.squares, what.form);
    if (what.in_place && what.form.border() > 0)
        throw invalid_argument("form: is " + std::string(name_of(what.form.layout)) + ", but in place needs inclusive");
    p.in_place = what.in_place;
    return p;
}

/// The views of one run against the problem of the plan.
void check_views(const problem& planned, const const_any_view& image, const any_view& table,
                 const std::optional<any_view>& squares, int device) {
    if (squares.has_value() != planned.squares.has_value())
        throw invalid_argument(squares ? "squares: given, but the plan was made without"
                                       : "squares: not given, but the plan was made with them");
    require_shape("image", image.shape, planned.image);
    require_shape("sums", table.shape, planned.table);
    if (squares) require_shape("squares", squares->shape, *planned.squares);
    sat_outputs outputs{.sums = {table, planned.form()}};
    if (squares) outputs.squares = {*squares, planned.form()};
    const problem p = make_problem({.image = image}, outputs);
    if (p.in_place != planned.in_place)
        throw invalid_argument(p.in_place ? "sums: is the image, but the plan was not made in place"
                                          : "sums: is not the image, but the plan was made in place");
    check_device_pointer("image", image.data, device);
    check_device_pointer("sums", table.data, device);
    if (squares) check_device_pointer("squares", squares->data, device);
}

void check_apart(const workspace_ref& workspace, std::size_t needed, std::string_view argument,
                 const const_any_view& view) {
    check_apart(workspace, needed, argument, view.data, span_bytes(view.shape));
}

execution execution_for(const choice& chosen, const workspace_ref& workspace, std::size_t needed, stream_ref stream) {
    execution how;
    how.parameters = chosen.parameters;
    how.stream = stream;
    how.workspace = needed == 0 ? nullptr : workspace.data;
    how.workspace_bytes = needed == 0 ? 0 : workspace.bytes;
    return how;
}

buffers memory_of(const const_any_view& image, const any_view& table, const std::optional<any_view>& squares) {
    return {image.data, table.data, squares ? squares->data : nullptr};
}

}  // namespace

// ---- one shape ------------------------------------------------------------------------------------------------------

struct sat_plan::state {
    problem p;
    choice chosen;
    int device = 0;
    std::size_t workspace = 0;

    void run(const const_any_view& image, const any_view& table, const std::optional<any_view>& squares,
             const workspace_ref& memory, stream_ref stream) const {
        check_views(p, image, table, squares, device);
        check_workspace(memory, workspace, device);
        check_apart(memory, workspace, "image", image);
        check_apart(memory, workspace, "sums", table);
        if (squares) check_apart(memory, workspace, "squares", *squares);
        check_stream(stream, device);
        const device_scope scope(device);
        enqueue_in_workspace(*chosen.record, p, memory_of(image, table, squares),
                             execution_for(chosen, memory, workspace, stream));
    }
};

sat_plan::sat_plan(const sat_description& what, const sat_options& options) {
    auto made = std::make_shared<state>();
    made->device = current_device();
    made->p = problem_for(what);
    made->chosen = choose(made->p, backend::cuda, options.algorithm, options.parameters);
    const algorithm_record& record = *made->chosen.record;
    made->workspace = total_workspace_bytes(record, record.workspace_bytes(made->p, made->chosen.parameters));
    state_ = std::move(made);
}

std::size_t sat_plan::workspace_bytes() const noexcept {
    return state_->workspace;
}

const algorithm_info& sat_plan::algorithm() const noexcept {
    return state_->chosen.record->info;
}

int sat_plan::device() const noexcept {
    return state_->device;
}

void sat_plan::run_async(const const_any_view& image, const any_view& table, workspace_ref workspace,
                         stream_ref stream) const {
    state_->run(image, table, std::nullopt, workspace, stream);
}

void sat_plan::run_async(const const_any_view& image, const any_view& table, const any_view& squares,
                         workspace_ref workspace, stream_ref stream) const {
    state_->run(image, table, squares, workspace, stream);
}

// ---- a list of shapes -----------------------------------------------------------------------------------------------

struct sat_list_plan::state {
    std::vector<problem> problems;
    choice chosen;
    int device = 0;
    bool together = false;
    std::size_t record_bytes = 0;
    std::size_t workspace = 0;
};

namespace {

std::string indexed(std::string_view name, std::size_t i) {
    return std::string(name) + "[" + std::to_string(i) + "]: ";
}

struct placed_view {
    const_any_view view;
    std::uintptr_t begin, end;
    std::size_t index;
    bool written;
};

/// Throws where a table overlaps an image or a table of another entry; within one entry check_views has looked.
void check_entries_apart(std::span<const const_any_view> images, std::span<const any_view> tables,
                         std::span<const any_view> squares) {
    std::vector<placed_view> placed;
    const auto place = [&](const const_any_view& view, std::size_t i, bool written) {
        const auto begin = reinterpret_cast<std::uintptr_t>(view.data);
        placed.push_back({view, begin, begin + span_bytes(view.shape), i, written});
    };
    for (std::size_t i = 0; i < images.size(); ++i) place(images[i], i, false);
    for (std::size_t i = 0; i < tables.size(); ++i) place(tables[i], i, true);
    for (std::size_t i = 0; i < squares.size(); ++i) place(squares[i], i, true);
    std::sort(placed.begin(), placed.end(),
              [](const placed_view& a, const placed_view& b) { return a.begin < b.begin; });
    for (auto a = placed.begin(); a != placed.end(); ++a)
        for (auto b = a + 1; b != placed.end() && b->begin < a->end; ++b)
            if (a->index != b->index && (a->written || b->written) && overlap(a->view, b->view))
                throw invalid_argument(indexed("tables", a->written ? a->index : b->index) + "overlaps entry " +
                                       std::to_string(a->written ? b->index : a->index) + " of the list");
}

/// One algorithm for all: the choice for the first image, if it serves the others, else the first that serves all.
choice choose_for_all(const std::vector<problem>& problems, const sat_options& options) {
    const choice first = choose(problems[0], backend::cuda, options.algorithm, options.parameters);
    const auto refused = [&](const choice& c) -> std::string {
        for (std::size_t i = 0; i < problems.size(); ++i)
            if (const support s = check_support(*c.record, problems[i], c.parameters); !s)
                return indexed("what", i) + "algorithm '" + std::string(c.record->info.name) +
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

}  // namespace

sat_list_plan::sat_list_plan(std::span<const sat_description> what, const sat_options& options) {
    if (what.empty()) throw invalid_argument("what: an empty list");
    auto made = std::make_shared<state>();
    made->device = current_device();
    for (std::size_t i = 0; i < what.size(); ++i) {
        try {
            made->problems.push_back(problem_for(what[i]));
        } catch (const invalid_argument& e) {
            throw invalid_argument(indexed("what", i) + e.what());
        }
        const problem &p = made->problems.back(), &first = made->problems.front();
        if (p.triple() != first.triple() || p.squares.has_value() != first.squares.has_value())
            throw invalid_argument(
                indexed("what", i) + "types are " + (p.squares ? name_of(p.triple()) : name_of(p.types())) +
                ", but those of the first are " + (first.squares ? name_of(first.triple()) : name_of(first.types())));
        if (p.form() != first.form())
            throw invalid_argument(indexed("what", i) + "form is " + std::string(name_of(p.layout)) +
                                   ", but that of the first is " + std::string(name_of(first.layout)));
    }
    made->chosen = choose_for_all(made->problems, options);
    const algorithm_record& record = *made->chosen.record;
    made->together = record.enqueue_list != nullptr;
    if (made->together)
        made->record_bytes = record.list_workspace_bytes(made->problems, made->chosen.parameters);
    else
        for (const problem& p : made->problems)
            made->record_bytes = std::max(made->record_bytes, record.workspace_bytes(p, made->chosen.parameters));
    made->workspace = total_workspace_bytes(record, made->record_bytes);
    state_ = std::move(made);
}

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

void sat_list_plan::run_async(std::span<const const_any_view> images, std::span<const any_view> tables,
                              std::span<const any_view> squares, workspace_ref workspace, stream_ref stream) const {
    const std::size_t count = state_->problems.size();
    const auto require_count = [&](std::string_view argument, std::size_t got) {
        if (got != count)
            throw invalid_argument(std::string(argument) + ": has " + std::to_string(got) +
                                   " entries, but the plan was made for " + std::to_string(count));
    };
    require_count("images", images.size());
    require_count("tables", tables.size());
    if (state_->problems[0].squares || !squares.empty()) require_count("squares", squares.size());

    check_workspace(workspace, state_->workspace, state_->device);
    std::vector<buffers> memory;
    for (std::size_t i = 0; i < count; ++i) try {
            const std::optional<any_view> square = squares.empty() ? std::nullopt : std::optional<any_view>(squares[i]);
            check_views(state_->problems[i], images[i], tables[i], square, state_->device);
            check_apart(workspace, state_->workspace, "image", images[i]);
            check_apart(workspace, state_->workspace, "sums", tables[i]);
            if (square) check_apart(workspace, state_->workspace, "squares", *square);
            memory.push_back(memory_of(images[i], tables[i], square));
        } catch (const invalid_argument& e) {
            throw invalid_argument(indexed("images", i) + e.what());
        }
    check_entries_apart(images, tables, squares);
    check_stream(stream, state_->device);

    const device_scope scope(state_->device);
    const algorithm_record& record = *state_->chosen.record;
    const execution how = execution_for(state_->chosen, workspace, state_->workspace, stream);
    if (!state_->together) {
        for (std::size_t i = 0; i < count; ++i) enqueue_in_workspace(record, state_->problems[i], memory[i], how);
        return;
    }
    record.enqueue_list(state_->problems, memory, behind_header(how));
    restore_contract(record, state_->record_bytes, behind_header(how));
}

// ---- one call -------------------------------------------------------------------------------------------------------

namespace {

/// The plan is made for the device of the memory, which need not be the current one.
int device_of(stream_ref stream, int current) {
    return stream.get() == nullptr ? current : stream_device(stream);
}

}  // namespace

void sat(const sat_inputs& inputs, const sat_outputs& outputs, stream_ref stream, const sat_options& options) {
    if (make_problem(inputs, outputs).has_carries())
        throw unsupported("carries: no algorithm on cuda makes parts of larger tables");
    const device_scope scope(device_of(stream, current_device()));
    const any_view &sums = outputs.sums.entries, &squares = outputs.squares.entries;
    const bool with_squares = squares.data != nullptr;
    const sat_plan plan(with_squares ? describe(inputs.image, sums, squares, outputs.sums.form)
                                     : describe(inputs.image, sums, outputs.sums.form),
                        options);
    const device_buffer workspace(plan.workspace_bytes(), stream);
    initialize_workspace_async(workspace, stream);
    if (with_squares)
        plan.run_async(inputs.image, sums, squares, workspace, stream);
    else
        plan.run_async(inputs.image, sums, workspace, stream);
    stream.synchronize();
}

}  // namespace boxsum::cuda
