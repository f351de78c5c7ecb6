#pragma once

#include "core/algorithm_record.hpp"
#include "verify/conformance.hpp"

#include <boxsum/binning.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

/// Runs histogram records against a direct count. Used by the conformance tests and by `verify()`.
namespace boxsum {

/// What test images of histograms hold.
enum class histogram_pattern : std::uint8_t {
    random,    ///< over the range and somewhat beyond it
    edges,     ///< on the edges of bins, and one step of the type below and above
    one_bin,   ///< every pixel in the same bin: the largest counts, and empty tables beside them
    each_bin,  ///< pixel i in bin i % bins: a bin taken for its neighbour shows
    outside,  ///< half of the pixels below lo, at hi, above it, at the ends of the type; for floats NaN and infinities,
              ///< which weights then have too
};

std::string_view name_of(histogram_pattern p) noexcept;

/// One run of a record: types, binning, shape, memory layout and contents.
struct histogram_case {
    dtype input = dtype::u8;
    dtype tensor = dtype::u32;  ///< 32f: with weights
    table_layout layout = table_layout::inclusive;
    std::int64_t bins = 16;
    bin_rule rule = bin_rule::uniform;
    out_of_range outside = out_of_range::ignored;
    std::int64_t rows = 1;
    std::int64_t cols = 1;
    std::int64_t planes = 1;
    /// Elements between rows beyond the row itself; -1: rows start on 64-byte boundaries. In the tensor a positive gap
    /// also lies between bins and between planes.
    std::int64_t image_gap = 0;
    std::int64_t tensor_gap = 0;
    /// Elements before the first one, from a 64-byte boundary.
    std::int64_t image_offset = 0;
    std::int64_t tensor_offset = 0;
    histogram_pattern contents = histogram_pattern::random;
    std::uint64_t seed = 1;
    int threads = 0;
    store_policy store = store_policy::automatic;
};

std::string describe(const histogram_case& c);

/// The problem of a case, as check_histogram_record builds it.
problem problem_of(const histogram_case& c);

/// Runs a record on host memory: directly for CPU records, through copies for device records.
using histogram_runner = std::function<void(const algorithm_record&, const problem&, const buffers&, const execution&)>;

/// CPU records: calls enqueue.
void run_histogram_on_host(const algorithm_record& record, const problem& p, const buffers& memory,
                           const execution& how);

/// Builds the case on poisoned memory, runs the record with these parameters, and checks: every entry of the tensor
/// against a direct count, bytes around and between rows untouched, image and weights untouched. Nothing when all is
/// well, else what was wrong, with the first wrong entry. The case must be supported.
/// Sums of weights must obey |H' - H| <= gamma_k * H(|w|) with the record's k; those that are not finite are compared
/// by class.
std::optional<std::string> check_histogram_record(const algorithm_record& record, const histogram_case& c,
                                                  const parameter_values& parameters = {},
                                                  const histogram_runner& run = run_histogram_on_host);

/// The cases of one pair of types: layouts x shapes, with bins, rules, patterns and memory layouts rotated so that each
/// occurs with each layout.
std::vector<histogram_case> histogram_cases(dtype input, dtype tensor, effort e);

}  // namespace boxsum
