#include "api/registry.hpp"
#include "core/exhausted_memory.hpp"
#include "core/validate.hpp"
#include "core/view_checks.hpp"

#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

#include <string>

namespace boxsum {
namespace {

void run(const const_any_view& image, const any_view& table, const std::optional<any_view>& squares,
         const sat_options& options) {
    if (options.threads < 0)
        throw invalid_argument("threads: is " + std::to_string(options.threads) + ", must be 0 (automatic) or more");
    check_store(options.store);
    const problem p = make_problem(image, table, squares, options.layout);
    const choice chosen = choose(p, backend::cpu, options.algorithm, options.parameters);
    execution how;
    how.parameters = chosen.parameters;
    how.threads = options.threads;
    how.store = options.store;
    chosen.record->enqueue(p, {image.data, table.data, squares ? squares->data : nullptr}, how);
}

}  // namespace

void sat(const const_any_view& image, const any_view& table, const sat_options& options) try {
    run(image, table, std::nullopt, options);
} catch (...) {
    rethrow_as_ours();
}

void sat(const const_any_view& image, const any_view& table, const any_view& squares, const sat_options& options) try {
    run(image, table, squares, options);
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
