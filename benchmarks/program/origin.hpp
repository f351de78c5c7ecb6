#pragma once

#include "program/record.hpp"

#include <boxsum/types.hpp>

#include <string>

namespace boxsum::bench {

/// What this run is of: commit (`commit` if given, else the environment variable BOXSUM_COMMIT, for copies without a
/// history, else git's, with whether the tree has changes outside results/), versions, machine. `device`: of the GPU,
/// not read for the CPU. Throws cli::usage_error for a commit that is no full hash.
run_origin origin_of(const std::string& commit, backend where, int device);

/// "2026-11-21T09:27:52Z"
std::string now_utc();

}  // namespace boxsum::bench
