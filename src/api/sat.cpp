#include "api/packed_call.hpp"
#include "api/registry.hpp"
#include "api/sampled_sat.hpp"
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
    check_threads(options.threads);
    check_store(options.store);
}

void compute(const problem& p, const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options) {
    const choice chosen = choose(p, backend::cpu, options.algorithm, options.parameters);
    chosen.record->enqueue(p, memory_of(inputs, outputs), execution_of(options, chosen.parameters));
}

cpu_decision decide(const problem& p, const sat_inputs& inputs, const sat_outputs& outputs,
                    const sat_options& options) {
    const parameter_values parameters = parse_parameters(simd_sat_record, options.parameters);
    if (const support s = simd_sat_record.supports(p, parameters); !s)
        throw unsupported("algorithm 'simd': " + s.reason);
    return cpu::decision_of(p, memory_of(inputs, outputs), execution_of(options, parameters));
}

}  // namespace

void sat(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options) try {
    check_options(options);
    if (some_may_not_count(inputs, outputs)) return sampled_sat(inputs, outputs, options);
    const problem p = make_problem(inputs, outputs);
    if (p.has_packed_pixels()) return compute(p, inputs, outputs, options);
    const packed_call packed(inputs, outputs);
    compute(make_problem(packed.inputs, packed.outputs), packed.inputs, packed.outputs, options);
    packed.sums.unpack();
    packed.squares.unpack();
} catch (...) {
    rethrow_as_ours();
}

cpu_decision decide_sat(const sat_inputs& inputs, const sat_outputs& outputs, const sat_options& options) {
    check_options(options);
    check_all_count(shapes_of(inputs, outputs), "decide_sat()");
    const problem p = make_problem(inputs, outputs);
    if (p.has_packed_pixels()) return decide(p, inputs, outputs, options);
    const packed_call packed(inputs, outputs);
    cpu_decision decision = decide(make_problem(packed.inputs, packed.outputs), packed.inputs, packed.outputs, options);
    decision.packed_bytes = packed.copied_bytes();
    return decision;
}

}  // namespace boxsum
