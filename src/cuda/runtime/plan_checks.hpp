#pragma once

#include <boxsum/cuda/sat.hpp>
#include <boxsum/view.hpp>

#include <cstddef>
#include <string_view>

/// What a run of a plan checks of its arguments. All throw invalid_argument, naming argument and values.
namespace boxsum::cuda {

void require_planned(std::string_view argument, std::string_view what, std::int64_t value, std::int64_t planned);

void require_type(std::string_view argument, dtype got, dtype planned);

void require_shape(std::string_view argument, const view_shape& got, const view_shape& planned);

/// Large enough, aligned, memory of the device. Nothing where the plan needs none.
void check_workspace(const workspace_ref& workspace, std::size_t needed, int device);

/// The workspace does not overlap `bytes` bytes of an argument.
void check_apart(const workspace_ref& workspace, std::size_t needed, std::string_view argument, const void* data,
                 std::size_t bytes);

}  // namespace boxsum::cuda
