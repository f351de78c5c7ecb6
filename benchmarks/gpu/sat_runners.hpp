#pragma once

#include "measure/buffer_sets.hpp"
#include "measure/device_race.hpp"

#include <boxsum/cuda/sat.hpp>
#include <boxsum/sat.hpp>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// What the sections of gpu_sat_bench time tables with, and compare them with.
namespace boxsum::bench {

/// Something to be timed: one launch on the buffers of a set.
struct runner {
    std::string name;
    device_launch launch;
};

/// Median microseconds a launch, for each runner; `graph`: the launches of a repetition come from a graph.
std::vector<double> times_of(const std::vector<runner>& runners, int launches, bool graph, cuda::stream_ref stream);

/// A plan with its workspace for the buffers of several sets, which outlive it. With squares where these have some.
class planned_table {
  public:
    planned_table(const buffer_sets& sets, const table_form& form, std::string_view algorithm, cuda::stream_ref stream);

    /// Of launch number i.
    void run(int i, cuda::stream_ref stream) const;
    /// Holds a reference to this.
    runner as_runner() const;

    const buffer_sets& sets() const { return sets_; }
    const table_form& form() const { return form_; }
    const cuda::sat_plan& plan() const { return plan_; }

    /// Once more on the buffers of the first set, all of whose tables are compared.
    std::string verdict(cuda::stream_ref stream) const;

  private:
    const buffer_sets& sets_;
    table_form form_;
    cuda::sat_plan plan_;
    mutable cuda::workspace workspace_;  ///< of the stream that it was made with
};

/// "equal", or where a table first differs from sums in 64-bit integers. Images hold integers (see buffer_sets), so
/// that every sum is exact.
std::string verdict_on(const const_any_view& image, const const_any_view& table, const table_form& form,
                       cuda::stream_ref stream, bool squares = false);

/// Kernels that read the images once and write the tables once, squares too, and nothing else. They hold a reference to
/// the sets.
std::vector<runner> streaming_kernels(const buffer_sets& sets);
/// The same, after a copy where pixels and sums have one type.
std::vector<runner> references(const buffer_sets& sets);

struct reference_time {
    std::string name;
    double us;
};

/// 32f32f is held against the copy, everything else against the best kernel with its traffic. `us` belongs to
/// `runners`, of which those before `first` are no references.
reference_time best_reference(type_pair types, const std::vector<runner>& runners, const std::vector<double>& us,
                              std::size_t first);

}  // namespace boxsum::bench
