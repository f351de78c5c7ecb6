#include "api/registry.hpp"
#include "verify/conformance.hpp"
#include "verify/convolve_conformance.hpp"
#include "verify/device_runner.hpp"
#include "verify/histogram_conformance.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/error.hpp>
#include <boxsum/verify.hpp>

namespace boxsum {
namespace {

record_runner runner_for(const algorithm_record& record) {
    return record.info.where == backend::cuda ? cuda::device_runner() : run_on_host;
}

/// Counts and reports one case. `check` returns what was wrong, or nothing.
template <typename Check>
void verify_case(std::string description, const support& s, Check check, verification_summary& summary,
                 const std::function<void(const verification&)>& report) {
    verification v;
    v.description = std::move(description);
    if (!s) {
        v.result = verification::outcome::skipped;
        v.detail = s.reason;
        ++summary.skipped;
    } else if (const std::optional<std::string> wrong = check()) {
        v.result = verification::outcome::failed;
        v.detail = *wrong;
        ++summary.failed;
    } else {
        ++summary.passed;
    }
    if (report) report(v);
}

verification_summary verify_histograms(const algorithm_record& record, const histogram_runner& run, effort e,
                                       const std::function<void(const verification&)>& report) {
    verification_summary summary;
    for (const dtype input : {dtype::u8, dtype::u16, dtype::s32, dtype::f32})
        for (const dtype tensor : {dtype::u32, dtype::u16, dtype::f32})
            for (const histogram_case& c : histogram_cases(input, tensor, e))
                verify_case(
                    describe(c), check_support(record, problem_of(c), {}),
                    [&] { return check_histogram_record(record, c, {}, run); }, summary, report);
    return summary;
}

verification_summary verify_convolutions(const algorithm_record& record, effort e,
                                         const std::function<void(const verification&)>& report) {
    if (record.info.where == backend::cuda && cuda::device_count() == 0)
        throw unsupported("algorithm '" + std::string(record.info.name) + "': there is no CUDA device");
    verification_summary summary;
    for (const convolve_case& c : convolve_cases(e))
        verify_case(
            describe(c), supports_case(record, c), [&] { return check_convolution(record, c); }, summary, report);
    return summary;
}

void verify_types(const algorithm_record& record, const record_runner& run, effort e, dtype input, dtype table,
                  std::optional<dtype> squares, verification_summary& summary,
                  const std::function<void(const verification&)>& report) {
    for (const conformance_case& c : conformance_cases(record, input, table, squares, e))
        verify_case(
            describe(c), check_support(record, problem_of(c), {}), [&] { return check_record(record, c, {}, run); },
            summary, report);
}

}  // namespace

verification_summary verify(const algorithm_info& algorithm, verification_cases cases,
                            const std::function<void(const verification&)>& report) {
    if (cases != verification_cases::some && cases != verification_cases::all)
        throw invalid_argument("cases: is " + std::to_string(static_cast<int>(cases)) + ", not a verification_cases");
    const algorithm_record* record = find_record(algorithm.what, algorithm.name);
    if (record == nullptr)
        throw unsupported("algorithm '" + std::string(algorithm.name) + "' of operation " +
                          std::string(name_of(algorithm.what)) + " cannot be verified");
    if (!record->info.built)
        throw unsupported("algorithm '" + std::string(record->info.name) +
                          "': its kernels were not built into this library");
    const effort e = cases == verification_cases::all ? effort::full : effort::quick;
    if (record->info.what == operation::convolve) return verify_convolutions(*record, e, report);
    if (record->info.what == operation::histogram) {
        const bool on_device = record->info.where == backend::cuda;
        const histogram_runner run = on_device ? cuda::device_histogram_runner() : run_histogram_on_host;
        return verify_histograms(*record, run, e, report);
    }
    const record_runner run = runner_for(*record);
    verification_summary summary;
    for (const type_pair types : type_pairs())
        verify_types(*record, run, e, types.input, types.table, {}, summary, report);
    for (const squares_triple types : squares_triples())
        verify_types(*record, run, e, types.input, types.table, types.squares, summary, report);
    return summary;
}

}  // namespace boxsum
