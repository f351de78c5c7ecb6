#pragma once

#include "core/algorithm_record.hpp"

#include <span>

namespace boxsum::test {

/// Records that compute the right table and then spoil it the way real kernels go wrong. The conformance cases must
/// reject each of them, for every type pair.
std::span<const algorithm_record* const> broken_records();

/// Records that are right for whole images and wrong for parts of larger ones: part_cases() must reject each of them,
/// for every type pair.
std::span<const algorithm_record* const> broken_part_records();

/// Spoils only the table of squares: rejected by the triples.
extern const algorithm_record broken_squares_record;

}  // namespace boxsum::test
