#include "api/registry.hpp"
#include "core/exhausted_memory.hpp"
#include "core/validate.hpp"
#include "core/view_checks.hpp"

#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

#include <string>

namespace boxsum {

void sat(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options) try {
    if (options.threads < 0)
        throw invalid_argument("threads: is " + std::to_string(options.threads) + ", must be 0 (automatic) or more");
    check_store(options.store);
    const problem p = make_problem(inputs, outputs);
    const choice chosen = choose(p, backend::cpu, options.algorithm, options.parameters);
    execution how;
    how.parameters = chosen.parameters;
    how.threads = options.threads;
    how.store = options.store;
    chosen.record->enqueue(p, memory_of(inputs, outputs), how);
} catch (...) {
    rethrow_as_ours();
}

}  // namespace boxsum
