#pragma once

#include "core/problem.hpp"

#include <boxsum/algorithms.hpp>
#include <boxsum/cuda/stream.hpp>
#include <boxsum/sat.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace boxsum {

/// One chosen value per parameter of a record, as an index into `parameter::values`; all zero is the default.
struct parameter_values {
    std::array<std::uint8_t, 8> choice{};

    friend bool operator==(const parameter_values&, const parameter_values&) = default;
};

/// What a record needs beside the problem to run it once.
struct execution {
    parameter_values parameters;

    // CPU records
    int threads = 0;  ///< 0: by size
    store_policy store = store_policy::automatic;

    // CUDA records; see workspace_content and src/cuda/workspace.hpp for what a workspace holds between calls
    cuda::stream_ref stream = cuda::stream_ref::legacy_default();
    void* workspace = nullptr;  ///< device memory behind the header, aligned to 256 bytes
    /// Of all the memory behind the header: at least the record's workspace_bytes(), and the same in every call that
    /// uses this workspace.
    std::size_t workspace_bytes = 0;
    struct workspace_header* header = nullptr;  ///< device memory; for records that tag their words
};

/// What a CUDA record leaves in its workspace, where later calls of other records, shapes and types find it. A fresh
/// workspace is all zero, and nobody clears it between calls of tagged records.
enum class workspace_content : std::uint8_t {
    scratch,  ///< anything: the runtime zeroes the record's workspace_bytes() behind it, on the same stream
    tagged,   ///< words that carry the epoch of the workspace header, whatever the shape or type: no clearing
};

/// What an algorithm costs on one problem, as its paper counts: element accesses of device memory (or of main memory)
/// per image element, kernel launches, and the largest number of threads of a launch.
struct algorithm_cost {
    double reads_per_element = 0;
    double writes_per_element = 0;
    std::int64_t launches = 0;
    std::int64_t threads = 0;
};

/// A problem made ready for the device that was current: everything of a call but its memory, so that running it is a
/// launch and what depends on pointers. Immutable; any number of threads and streams may run one.
class prepared_problem {
  public:
    virtual ~prepared_problem() = default;

    /// Device workspace in bytes, without the header.
    virtual std::size_t workspace_bytes() const noexcept = 0;

    /// As `algorithm_record::enqueue` of the problem and parameters that were prepared; those of `how` are not read.
    virtual void run(const buffers&, const execution& how) const = 0;
};

/// A record is data: what the public window shows (`info`), and the functions that run it. Tests, benchmarks and the
/// tool enumerate records and never list an algorithm by hand. The data half is host-only and present in every build;
/// where the kernels were not compiled the functions are null (`info.built` is false).
struct algorithm_record {
    algorithm_info info;

    /// Whether this record computes this problem with these parameters (on the current device). Cheap.
    support (*supports)(const problem&, const parameter_values&) = nullptr;

    /// Device workspace in bytes, without the header; 0 for none. CPU records keep their scratch (at most 1 MB a
    /// thread) to themselves.
    std::size_t (*workspace_bytes)(const problem&, const parameter_values&) = nullptr;

    /// Runs a supported problem: CPU records compute and return; CUDA records enqueue on the stream and neither
    /// allocate nor synchronise.
    void (*enqueue)(const problem&, const buffers&, const execution&) = nullptr;

    /// CUDA records, optional: plans run this instead of `enqueue`. Null: the runtime enqueues.
    std::unique_ptr<const prepared_problem> (*prepare)(const problem&, const parameter_values&) = nullptr;

    /// Whether it makes tables of forms with an offset or an origin.
    bool shifts = false;

    /// CUDA records: what calls leave behind in the workspace.
    workspace_content leaves = workspace_content::scratch;

    /// CUDA records, optional: images of any shapes in one launch. All problems have the same element types, layout and
    /// presence of squares, and each is supported. Descriptors travel as kernel parameters, so that a graph replays
    /// them; a list that is too long for one launch takes several. Null: the runtime enqueues image by image.
    std::size_t (*list_workspace_bytes)(std::span<const problem>, const parameter_values&) = nullptr;
    void (*enqueue_list)(std::span<const problem>, std::span<const buffers>, const execution&) = nullptr;

    /// The k of the error bound |T' - T| <= gamma_k * SAT(|x|): the longest chain of additions that leads to one entry.
    std::int64_t (*addition_depth)(const problem&, const parameter_values&) = nullptr;

    /// Costs as the paper counts them; null where nobody counted.
    algorithm_cost (*cost)(const problem&, const parameter_values&) = nullptr;

    /// The value of a parameter, by position.
    std::string_view value(const parameter_values& values, std::size_t position) const {
        return info.parameters[position].values[values.choice[position]];
    }
};

/// At most rows + cols, the depth of any row-then-column or look-back order.
inline std::int64_t serial_addition_depth(const problem& p, const parameter_values&) {
    return p.image.rows + p.image.cols;
}

/// "name=value,name=value" against a record's list. Throws invalid_argument for an unknown name or value.
parameter_values parse_parameters(const algorithm_record& record, std::string_view text);

/// The inverse, every parameter named.
std::string format_parameters(const algorithm_record& record, const parameter_values& values);

}  // namespace boxsum
