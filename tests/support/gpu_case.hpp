#pragma once

#include "api/registry.hpp"
#include "verify/conformance.hpp"
#include "verify/expectation.hpp"

#include <boxsum/cuda/sat.hpp>
#include <boxsum/sat.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace boxsum::test {

/// A conformance case with its memory on the device, for tests of the public API: fill, run any plan on it as often as
/// wanted, compare with the definition.
class gpu_case {
  public:
    gpu_case(const conformance_case& what, cuda::stream_ref stream);

    /// Another image of the same kind; the tables are poisoned again.
    void refill(std::uint64_t seed, cuda::stream_ref stream);

    sat_shapes shapes() const;
    sat_inputs inputs() const { return {image()}; }
    sat_outputs outputs() const;
    sat_options options(std::string_view algorithm = "auto") const;
    const problem& shape() const { return problem_; }

    const_any_view image() const { return {image_.data(), problem_.image}; }
    any_view table() const { return {problem_.in_place ? image_.data() : table_.data(), problem_.table}; }
    any_view squares() const { return {squares_.data(), *problem_.squares}; }
    bool has_squares() const { return problem_.squares.has_value(); }

    void run_async(const cuda::sat_plan& plan, cuda::workspace& workspace, cuda::stream_ref stream) const;

    /// Fetches the tables (waits) and compares; the first wrong entry, or nothing.
    std::optional<std::string> mismatch(const algorithm_info& algorithm, cuda::stream_ref stream) const;

    /// The table's bytes, gaps and all.
    std::vector<std::byte> table_bytes(cuda::stream_ref stream) const;

  private:
    conformance_case what_;
    problem problem_;
    cuda::device_buffer image_, table_, squares_;
    std::optional<expectation> sums_, square_sums_;
};

/// Built CUDA records for summed area tables.
std::vector<const algorithm_record*> cuda_records();

/// One packed plane, inclusive, random contents.
conformance_case plain_case(dtype input, dtype table, std::int64_t rows, std::int64_t cols);

}  // namespace boxsum::test
