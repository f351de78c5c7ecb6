#pragma once

#include <boxsum/algorithms.hpp>
#include <boxsum/export.hpp>

#include <cstdint>
#include <functional>
#include <string>

namespace boxsum BOXSUM_EXPORT {

/// What running one case of an algorithm against the definition gave.
struct verification {
    enum class outcome : std::uint8_t { passed, failed, skipped };

    std::string description;  ///< types, layout, shape, memory layout, contents
    outcome result = outcome::passed;
    std::string detail;  ///< the first wrong entry with what was expected, or why it was skipped
};

/// Which cases a verification runs.
enum class verification_cases : std::uint8_t {
    some,  ///< a short list: seconds
    all,   ///< that of the test suite: minutes
};

/// Totals of a verification.
struct verification_summary {
    std::int64_t passed = 0;
    std::int64_t failed = 0;
    std::int64_t skipped = 0;
};

/// Runs a registered algorithm on this machine against the definition in wide types, over all type pairs and triples
/// (histograms: inputs, binning rules and weights;
/// convolutions: kernels, borders and directions), layouts and a list of shapes, patterns and memory layouts,
/// comparing whole outputs on poisoned memory. `report` (may be empty) hears of every case. A case that the algorithm
/// does not support is skipped. Throws unsupported when the algorithm was not built, or its backend finds no device,
/// and invalid_argument for `cases` that are none.
verification_summary verify(const algorithm_info& algorithm, verification_cases cases = verification_cases::some,
                            const std::function<void(const verification&)>& report = {});

}  // namespace boxsum
