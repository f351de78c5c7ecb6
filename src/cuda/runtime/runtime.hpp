#pragma once

#include "core/algorithm_record.hpp"

#include <boxsum/cuda/stream.hpp>

#include <cstddef>

/// Records in raw memory, for those who bring their own: tests, benchmarks and what plans share with them.
namespace boxsum::cuda {

/// Workspace of a record for a problem: the header and what the record asks for; 0 for a record that needs neither.
std::size_t total_workspace_bytes(const algorithm_record& record, std::size_t record_bytes);

/// Splits a whole workspace (in `how.workspace`, `how.workspace_bytes`) into the header and what is behind it.
execution behind_header(execution how);

/// Enqueued behind a record's kernels: what a record that leaves scratch may have written becomes zero again.
void restore_contract(const algorithm_record& record, std::size_t record_bytes, const execution& how);

/// Runs a supported problem of a CUDA record on an initialised workspace (the whole, as for behind_header) and keeps
/// the workspace contract.
void enqueue_in_workspace(const algorithm_record& record, const problem& p, const buffers& memory, execution how);

/// Makes fresh memory a workspace: zeroes it, header and all.
void initialize_workspace_async(void* workspace, std::size_t bytes, stream_ref stream);

}  // namespace boxsum::cuda
