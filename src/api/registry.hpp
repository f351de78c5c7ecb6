#pragma once

#include "core/algorithm_record.hpp"

#include <span>
#include <string_view>

namespace boxsum {

/// Every record, best first within its operation: an explicit list, so that nothing registers itself and nothing is
/// dropped by a linker. The order is the order of preference of `choose`.
std::span<const algorithm_record* const> registry(operation what);

/// Nothing for an unknown name.
const algorithm_record* find_record(operation what, std::string_view name) noexcept;

/// The support of a record that may not be built or may not do in-place work.
support check_support(const algorithm_record& record, const problem& p, const parameter_values& values);

struct choice {
    const algorithm_record* record = nullptr;
    parameter_values parameters;
};

/// The record for a problem on a backend: by name, or for "auto" the one that BOXSUM_ALGORITHM names for this operation
/// and else the first of the registry that supports the problem. Throws unsupported for an unknown name, a name of
/// another backend or one that does not support the problem, with its reason; invalid_argument for parameters that the
/// record lacks ("auto" takes none).
choice choose(const problem& p, backend where, std::string_view algorithm, std::string_view parameters);

/// For tests: the environment is read at the first choice, and again here. No choice may be under way.
void reread_environment();

}  // namespace boxsum
