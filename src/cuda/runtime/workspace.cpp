#include "cuda/workspace.hpp"

#include "cuda/runtime/cuda_try.hpp"
#include "cuda/runtime/runtime.hpp"

#include <boxsum/error.hpp>

#include <string>

namespace boxsum::cuda {

std::size_t total_workspace_bytes(const algorithm_record& record, std::size_t record_bytes) {
    if (record.leaves == workspace_content::scratch && record_bytes == 0) return 0;
    return workspace_header_bytes + record_bytes;
}

execution behind_header(execution how) {
    if (how.workspace == nullptr || how.workspace_bytes < workspace_header_bytes) {
        how.workspace = nullptr;
        how.workspace_bytes = 0;
        return how;
    }
    how.header = static_cast<workspace_header*>(how.workspace);
    how.workspace = static_cast<std::byte*>(how.workspace) + workspace_header_bytes;
    how.workspace_bytes -= workspace_header_bytes;
    return how;
}

void restore_contract(const algorithm_record& record, std::size_t record_bytes, const execution& how) {
    if (record.leaves == workspace_content::scratch && record_bytes > 0)
        BOXSUM_CUDA_TRY(cudaMemsetAsync(how.workspace, 0, record_bytes, how.stream.get()));
}

void enqueue_in_workspace(const algorithm_record& record, const problem& p, const buffers& memory, execution how) {
    how = behind_header(how);
    record.enqueue(p, memory, how);
    if (record.leaves == workspace_content::scratch)
        restore_contract(record, record.workspace_bytes(p, how.parameters), how);
}

void initialize_workspace_async(workspace_ref workspace, stream_ref stream) {
    if (workspace.bytes == 0) return;
    if (workspace.data == nullptr) throw invalid_argument("workspace: data is null");
    BOXSUM_CUDA_TRY(cudaMemsetAsync(workspace.data, 0, workspace.bytes, stream.get()));
}

}  // namespace boxsum::cuda
