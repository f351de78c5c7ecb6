#pragma once

#include "core/algorithm_record.hpp"
#include "cuda/runtime/packed_copies.hpp"
#include "cuda/runtime/workspace_use.hpp"

#include <boxsum/cuda/sat.hpp>

#include <cstddef>
#include <memory>

namespace boxsum::cuda {

/// A problem and the record that computes it, made ready for the device that is current: what a plan holds beside its
/// checks of arguments. Immutable.
class planned_problem {
  public:
    planned_problem(const problem& p, const algorithm_record& record, const parameter_values& parameters);

    /// As kernels see it: of copies, where they do not take views as they are.
    const problem& what() const noexcept { return problem_; }
    /// Bytes of those copies.
    std::size_t packed_bytes() const noexcept { return copies_.bytes(); }
    const algorithm_record& record() const noexcept { return record_; }
    int device() const noexcept { return device_; }

    /// Of a whole workspace, header and all.
    std::size_t workspace_bytes() const noexcept { return workspace_bytes_; }

    /// Enqueues it on memory that was checked; makes the device current meanwhile.
    void enqueue(const buffers& memory, const workspace_use& workspace) const;

    /// The same in the first `bytes` of the workspace, where a caller within the library has more in it.
    void enqueue(const buffers& memory, const workspace_use& workspace, std::size_t bytes) const;

    /// The same, and looks at the workspace: for callers within the library, whose memory is their own.
    void enqueue(const buffers& memory, workspace& workspace, stream_ref stream) const {
        enqueue(memory, workspace_use(workspace, workspace_bytes_, device_, stream));
    }

  private:
    void run(const buffers& memory, const execution& how) const;
    void run_on_copies(const buffers& memory, execution how) const;

    problem problem_;
    packed_copies copies_;
    const algorithm_record& record_;
    parameter_values parameters_;
    int device_;
    std::unique_ptr<const prepared_problem> prepared_;  ///< null where the record has no `prepare`
    std::size_t record_bytes_, workspace_bytes_;
};

/// What a plan runs once its arguments are checked.
const planned_problem& planned(const sat_plan& plan) noexcept;

}  // namespace boxsum::cuda
