#pragma once

#include "program/record.hpp"
#include "sat/plan.hpp"

#include <boxsum/view.hpp>

#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace boxsum::bench {

/// A computation on the host, with where its result lies.
struct host_candidate {
    table_row row;  ///< what it is; times and check are filled in
    std::function<void()> run;
    const_any_view result;
    const_any_view expected;
    std::vector<std::pair<void*, std::size_t>> written = {};  ///< poisoned before it runs
};

/// Runs every candidate once on poisoned memory and compares; those that are right are timed in turn. A wrong one gets
/// no time and a check that says "wrong".
void check_and_race(std::vector<host_candidate>& candidates, const sat_bench_options& options);

/// The notes' box blur has windows of 17 x 17.
inline constexpr std::int64_t blur_radius = 8;

/// The mean of every window of (2 blur_radius + 1)^2 pixels of 8u, cut at the border, rounded half up, from the padded
/// 32u table of the image.
void blur_by_definition(const any_view& padded, const any_view& result);

/// Measures a case on the CPU: registered variants where `variants_too`, and the competitors that run there.
std::vector<table_row> measure_on_host(const sat_case& c, const sat_bench_options& options, bool variants_too);

}  // namespace boxsum::bench
