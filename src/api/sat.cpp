#include "api/registry.hpp"
#include "core/exhausted_memory.hpp"
#include "core/validate.hpp"
#include "core/view_checks.hpp"
#include "cpu/decision.hpp"
#include "cpu/records.hpp"

#include <boxsum/cpu.hpp>
#include <boxsum/error.hpp>
#include <boxsum/sat.hpp>

#include <string>

namespace boxsum {
namespace {

void check_options(const sat_options& options) {
    if (options.threads < 0)
        throw invalid_argument("threads: is " + std::to_string(options.threads) + ", must be 0 (automatic) or more");
    check_store(options.store);
}

execution execution_of(const sat_options& options, const parameter_values& parameters) {
    execution how;
    how.parameters = parameters;
    how.threads = options.threads;
    how.store = options.store;
    return how;
}

}  // namespace

void sat(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options) try {
    check_options(options);
    const problem p = make_problem(inputs, outputs);
    const choice chosen = choose(p, backend::cpu, options.algorithm, options.parameters);
    chosen.record->enqueue(p, memory_of(inputs, outputs), execution_of(options, chosen.parameters));
} catch (...) {
    rethrow_as_ours();
}

cpu_decision decide_sat(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options) {
    check_options(options);
    const problem p = make_problem(inputs, outputs);
    const parameter_values parameters = parse_parameters(simd_sat_record, options.parameters);
    if (const support s = simd_sat_record.supports(p, parameters); !s)
        throw unsupported("algorithm 'simd': " + s.reason);
    return cpu::decision_of(p, memory_of(inputs, outputs), execution_of(options, parameters));
}

}  // namespace boxsum
