#include "api/registry.hpp"

#include "cpu/convolve/records.hpp"
#include "cpu/histogram/records.hpp"
#include "cpu/records.hpp"
#include "cuda/convolve/records.hpp"
#include "cuda/histogram/records.hpp"
#include "cuda/production/records.hpp"
#include "cuda/zoo/records.hpp"
#include "reference/records.hpp"

#include <boxsum/cuda/device.hpp>
#include <boxsum/error.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>

namespace boxsum {
namespace {

constexpr std::array sat_records{
    &simd_sat_record,
    &reference_sat_record,
    &sat_fast_record,
    // src/cuda/zoo: by the time they take at 16384 x 16384 (docs/algorithms.md, "All of them")
    &sat_1r1w_skss_lb_record,
    &sat_1r1w_skss_record,
    &sat_2r1w_record,
    &sat_outwards_record,  // of src/cuda/production
    &sat_partial_column_row_record,
    &sat_1r1w_hybrid_record,
    &sat_ha_han_record,
    &sat_2r2w_optimal_record,
    &sat_scanrow_column_record,
    &sat_brlt_scanrow_record,
    &sat_scanrow_brlt_record,
    &sat_opencv_scan_scan_record,
    &sat_1r1w_record,
    &sat_2r2w_record,
    &sat_harris_transpose_record,
    &sat_bilgic_record,
    &sat_hensley_record,
};

constexpr std::array histogram_records{
    &cpu_histogram_record,
    &sequential_histogram_record,
    &reference_histogram_record,
    &histogram_fast_record,
    // src/cuda/histogram: by the paper's figure 7
    &histogram_wf_tis_record,
    &histogram_cw_tis_record,
    &histogram_cw_sts_record,
    &histogram_cw_b_record,
};

constexpr std::array convolve_records{
    &simd_convolve_record,  &reference_convolve_record, &convolve_systolic_record,
    &convolve_tiled_record, &convolve_ssam_record,      &convolve_direct_record,
};

std::string read_environment() {
    const char* const text = std::getenv("BOXSUM_ALGORITHM");
    return text == nullptr ? "" : text;
}

constinit std::atomic<const std::string*> environment{nullptr};

/// Whoever comes first at the same time reads the same. No guarded static, which a fork may leave taken.
const std::string& environment_text() {
    const std::string* known = environment.load(std::memory_order_acquire);
    if (known != nullptr) return *known;
    auto* const text = new std::string(read_environment());
    if (environment.compare_exchange_strong(known, text, std::memory_order_acq_rel)) return *text;
    delete text;
    return *known;
}

/// The entry of BOXSUM_ALGORITHM ("sat:fast,histogram:wf-tis") for an operation; empty when unset or not named.
std::string_view algorithm_from_environment(operation what) {
    std::string_view rest = environment_text();
    while (!rest.empty()) {
        const std::string_view entry = rest.substr(0, rest.find(','));
        rest.remove_prefix(entry.size() + (entry.size() < rest.size() ? 1 : 0));
        const std::size_t colon = entry.find(':');
        if (colon == std::string_view::npos ||
            std::ranges::none_of(operations, [&](operation o) { return name_of(o) == entry.substr(0, colon); }))
            throw invalid_argument("BOXSUM_ALGORITHM: entry '" + std::string(entry) +
                                   "' is not operation:algorithm with operation sat, histogram or convolve");
        if (entry.substr(0, colon) == name_of(what)) return entry.substr(colon + 1);
    }
    return {};
}

/// In messages.
std::string describe(const problem& p) {
    const std::string types = p.squares ? name_of(p.triple()) : name_of(p.types());
    return p.what == operation::convolve ? types : types + ", " + std::string(name_of(p.form.layout));
}

[[noreturn]] void refuse(std::string_view name, const problem& p, const support& s) {
    throw unsupported("algorithm '" + std::string(name) + "' does not support this problem (" + describe(p) +
                      "): " + s.reason);
}

}  // namespace

void reread_environment() {
    delete environment.exchange(new std::string(read_environment()), std::memory_order_acq_rel);
}

std::span<const algorithm_record* const> registry(operation what) {
    if (what == operation::sat) return sat_records;
    if (what == operation::histogram) return histogram_records;
    return convolve_records;
}

const algorithm_record* find_record(operation what, std::string_view name) noexcept {
    for (const algorithm_record* record : registry(what))
        if (record->info.name == name) return record;
    return nullptr;
}

support check_support(const algorithm_record& record, const problem& p, const parameter_values& values) {
    if (!record.info.built) return {false, "its kernels were not built into this library"};
    if (record.info.where == backend::cuda && cuda::device_count() == 0) return {false, "there is no CUDA device"};
    if (p.in_place && !record.info.in_place) return {false, "it does not work in place"};
    if (p.has_carries() && !record.info.carries)
        return {false, "it takes no carries, so it cannot make a part of a larger table"};
    if (!p.form.is_plain() && !record.shifts) return {false, "it makes no tables with an offset or an origin"};
    return record.supports(p, values);
}

choice choose(const problem& p, backend where, std::string_view algorithm, std::string_view parameters) {
    const std::string_view forced = algorithm == "auto" ? algorithm_from_environment(p.what) : std::string_view();
    const std::string_view name = forced.empty() ? algorithm : forced;
    if (name != "auto") {
        const algorithm_record* record = find_record(p.what, name);
        if (record == nullptr) {
            std::string known;
            for (const algorithm_record* r : registry(p.what))
                known.append(known.empty() ? "" : ", ").append(r->info.name);
            throw unsupported("algorithm: no " + std::string(name_of(p.what)) + " algorithm is named '" +
                              std::string(name) + "'; there are " + known);
        }
        if (record->info.where != where)
            throw unsupported("algorithm '" + std::string(name) + "' runs on " +
                              std::string(name_of(record->info.where)) + ", but the call is for " +
                              std::string(name_of(where)));
        const parameter_values values = parse_parameters(*record, parameters);
        if (const support s = check_support(*record, p, values); !s) refuse(name, p, s);
        return {record, values};
    }
    if (!parameters.empty())
        throw invalid_argument("parameters: '" + std::string(parameters) + "' given without naming an algorithm");
    std::string reasons;
    for (const algorithm_record* record : registry(p.what)) {
        if (record->info.where != where) continue;
        const support s = check_support(*record, p, {});
        if (s) return {record, {}};
        reasons.append(reasons.empty() ? "" : "; ").append(record->info.name).append(": ").append(s.reason);
    }
    throw unsupported("no " + std::string(name_of(p.what)) + " algorithm on " + std::string(name_of(where)) +
                      " supports this problem (" + describe(p) + ")" + (reasons.empty() ? "" : ": " + reasons));
}

}  // namespace boxsum
