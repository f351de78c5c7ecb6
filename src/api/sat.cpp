#include "api/registry.hpp"
#include "core/exhausted_memory.hpp"
#include "core/packed_views.hpp"
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

execution execution_of(const sat_options& options, const parameter_values& parameters) {
    execution how;
    how.parameters = parameters;
    how.threads = options.threads;
    how.store = options.store;
    return how;
}

}  // namespace

namespace {

/// The inputs and outputs as algorithms take them: rows and planes in any order, pixels side by side.
struct packed_call {
    packed_input image;
    packed_output sums, squares;
    packed_input above, left, squares_above, squares_left;
    sat_inputs inputs;
    sat_outputs outputs;

    packed_call(const sat_inputs& in, const sat_outputs& out)
        : image(in.image, has_packed_pixels),
          sums(out.sums.entries, has_packed_pixels),
          squares(out.squares.entries, has_packed_pixels),
          above(in.carries.above, has_packed_pixels),
          left(in.carries.left, has_packed_pixels),
          squares_above(in.squares_carries.above, has_packed_pixels),
          squares_left(in.squares_carries.left, has_packed_pixels),
          inputs{image.view(), {above.view(), left.view()}, {squares_above.view(), squares_left.view()}},
          outputs{{sums.view(), out.sums.form}, {squares.view(), out.squares.form}} {}

    std::size_t copied_bytes() const noexcept {
        return image.copied_bytes() + sums.copied_bytes() + squares.copied_bytes() + above.copied_bytes() +
               left.copied_bytes() + squares_above.copied_bytes() + squares_left.copied_bytes();
    }
};

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
    const problem p = make_problem(inputs, outputs);
    if (p.has_packed_pixels()) return decide(p, inputs, outputs, options);
    const packed_call packed(inputs, outputs);
    cpu_decision decision = decide(make_problem(packed.inputs, packed.outputs), packed.inputs, packed.outputs, options);
    decision.packed_bytes = packed.copied_bytes();
    return decision;
}

}  // namespace boxsum
