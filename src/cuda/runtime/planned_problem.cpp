#include "cuda/runtime/planned_problem.hpp"

#include "cuda/runtime/device.hpp"
#include "cuda/runtime/runtime.hpp"

namespace boxsum::cuda {

planned_problem::planned_problem(const problem& p, const algorithm_record& record, const parameter_values& parameters)
    : problem_(p),
      record_(record),
      parameters_(parameters),
      device_(current_device()),
      prepared_(record.prepare == nullptr ? nullptr : record.prepare(p, parameters)),
      record_bytes_(prepared_ != nullptr ? prepared_->workspace_bytes() : record.workspace_bytes(p, parameters)),
      workspace_bytes_(total_workspace_bytes(record, record_bytes_)) {}

void planned_problem::enqueue(const buffers& memory, const workspace_use& workspace) const {
    enqueue(memory, workspace, workspace.bytes());
}

void planned_problem::enqueue(const buffers& memory, const workspace_use& workspace, std::size_t bytes) const {
    const device_scope scope(device_);
    const execution how = workspace.execution_of(parameters_, bytes);
    if (prepared_ != nullptr)
        prepared_->run(memory, how);
    else
        record_.enqueue(problem_, memory, how);
    restore_contract(record_, record_bytes_, how);
}

}  // namespace boxsum::cuda
