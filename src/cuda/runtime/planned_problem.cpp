#include "cuda/runtime/planned_problem.hpp"

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/device.hpp"
#include "cuda/runtime/runtime.hpp"
#include "cuda/workspace.hpp"

namespace boxsum::cuda {

namespace {

/// Copies lie behind what the record has, and start like that on a multiple of this.
constexpr std::size_t unit = 256;

}  // namespace

planned_problem::planned_problem(const problem& p, const algorithm_record& record, const parameter_values& parameters)
    : problem_(p),
      copies_(problem_),
      record_(record),
      parameters_(parameters),
      device_(current_device()),
      prepared_(record.prepare == nullptr ? nullptr : record.prepare(problem_, parameters)),
      record_bytes_(prepared_ != nullptr ? prepared_->workspace_bytes() : record.workspace_bytes(problem_, parameters)),
      workspace_bytes_(total_workspace_bytes(record, record_bytes_)) {
    if (copies_.bytes() != 0)
        workspace_bytes_ = workspace_header_bytes + (record_bytes_ + unit - 1) / unit * unit + copies_.bytes();
}

void planned_problem::enqueue(const buffers& memory, const workspace_use& workspace) const {
    enqueue(memory, workspace, workspace.bytes());
}

void planned_problem::enqueue(const buffers& memory, const workspace_use& workspace, std::size_t bytes) const {
    const device_scope scope(device_);
    const execution how = workspace.execution_of(parameters_, bytes);
    if (copies_.bytes() == 0)
        run(memory, how);
    else
        run_on_copies(memory, how);
}

void planned_problem::run(const buffers& memory, const execution& how) const {
    if (prepared_ != nullptr)
        prepared_->run(memory, how);
    else
        record_.enqueue(problem_, memory, how);
    restore_contract(record_, record_bytes_, how);
}

void planned_problem::run_on_copies(const buffers& memory, execution how) const {
    // Copies lie at the end, so that the record still has all before it: it zeroes what it has where its epochs end.
    const std::size_t all = how.workspace_bytes;
    how.workspace_bytes = (all - copies_.bytes()) / unit * unit;
    void* const space = static_cast<std::byte*>(how.workspace) + how.workspace_bytes;
    run(copies_.pack(memory, space, how.stream), how);
    copies_.unpack(memory, space, how.stream);
    BOXSUM_CUDA_TRY(cudaMemsetAsync(space, 0, all - how.workspace_bytes, how.stream.get()));
}

}  // namespace boxsum::cuda
